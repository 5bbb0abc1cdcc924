/* SPDX-License-Identifier: MIT */
/* read-listing.h - code and source text of recorded programs, from the files that ran. */
#ifndef TT_READ_LISTING_H
#define TT_READ_LISTING_H

#include "listing.h"
#include "name-blocks.h"
#include "source-text.h"

struct tt_read_listing;

/* Options for where files are searched; `source`: folders with source text.  Folders are
 * borrowed.  NULL: no memory. */
struct tt_read_listing *tt_read_listing_new(const struct tt_symbols_options *,
                                            const struct tt_source_folders *source);
void tt_read_listing_free(struct tt_read_listing *);
/* Forgets files that a running program has written on: names of generated code. */
void tt_read_listing_refresh(struct tt_read_listing *);

/* For a query; valid as long as its listing. */
const struct tt_listing *tt_read_listing_of(struct tt_read_listing *);

#endif
