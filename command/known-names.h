/* SPDX-License-Identifier: MIT */
/* known-names.h - names of addresses that stay known from one reading of a recording to the
 * next.
 *
 *      reading 1    asks for 900 addresses    ──►  a worker reads the files, in its time
 *      reading 2    700 of them have names    ◄──  700 answers so far
 *
 * So a reading that may not wait is never late: what has no name yet is shown by its address.
 * New addresses are looked up together, and after a pause of as long as the last ones took: then
 * the worker takes half of a processor at most. */
#ifndef TT_KNOWN_NAMES_H
#define TT_KNOWN_NAMES_H

#include "profile.h"
#include "symbols.h"

struct tt_known_names;

/* NULL: no memory. */
struct tt_known_names *tt_known_names_new(void);
void tt_known_names_free(struct tt_known_names *);

/* From now on, names of new addresses are waited for no longer than that (less than 0: for all of
 * them). */
void tt_known_names_wait(struct tt_known_names *, int ms);

/* Asks for the names of a profile's blocks, whose options have what tt_names_ask fills in.
 * 0 or -TT_ERR_MEMORY. */
int tt_known_names_ask(struct tt_known_names *, const struct tt_profile *,
                       const struct tt_symbols_options *, int no_inlines);

/* The answer for a block of it, as of tt_worker_ask; valid until the next tt_known_names_ask.
 * 0: it is not known yet. */
int tt_known_names_find(const struct tt_known_names *, const struct tt_block_info *,
                        int no_inlines, struct tt_spots *);

#endif
