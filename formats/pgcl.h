/* SPDX-License-Identifier: MIT */
/* pgcl.h - what the two halves of pgcl share. */
#ifndef TT_PGCL_H
#define TT_PGCL_H

#include "formats.h"

/* Version 1 was written without the count of tail calls at first, and then with it. */
enum tt_pgcl_layout { TT_PGCL_2, TT_PGCL_1, TT_PGCL_1_SHORT, TT_PGCL_LAYOUTS };

/* The order of a file, so that it can be written as it was: a text of
 *
 *      layout modules centres entries  (length module)…  (module length name)…
 *      (centre children)…
 *
 * where a number is five bits a character: the lower ones first, from 'P' on, and the last
 * from '0' on.  A fact of this name, without a number: headers do not show it. */
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
