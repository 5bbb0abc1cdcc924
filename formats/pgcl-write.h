/* SPDX-License-Identifier: MIT */
/* pgcl-write.h - the writer of Clean's profiles, and what the reader shares with it. */
#ifndef TT_PGCL_WRITE_H
#define TT_PGCL_WRITE_H

#include "formats.h"

/* The first files of version 1 had no count of tail calls; later ones have it. */
enum tt_pgcl_layout { TT_PGCL_2, TT_PGCL_1, TT_PGCL_1_SHORT, TT_PGCL_LAYOUTS };

/* The order of a file, so that it can be written unchanged: a text of
 *
 *      layout modules centres entries  (length module)…  (module length name)…
 *      (centre children)…
 *
 * where a number is five bits a character, the lower ones first: characters from 'P' on,
 * and the last from '0' on.  A fact of this name, without a number: headers do not show
 * it. */
#define TT_PGCL_ORDER "pgcl.order"
#define TT_PGCL_FREQUENCY "frequency.ticks a second"
#define TT_PGCL_OVERHEAD "overhead.ticks a thousand calls"

enum tt_pgcl_field {
    TT_PGCL_TICKS,
    TT_PGCL_WORDS,
    TT_PGCL_TAILS,
    TT_PGCL_STRICT,
    TT_PGCL_LAZY,
    TT_PGCL_CURRIED,
    TT_PGCL_FIELDS
};
extern const char *const tt_pgcl_metric[TT_PGCL_FIELDS]; /* their names */

int tt_pgcl_write(struct tt_export *, struct tt_writer *);

#endif
