/* SPDX-License-Identifier: MIT */
/* read-ranks.h - files that several ranks read. */
#ifndef TT_READ_RANKS_H
#define TT_READ_RANKS_H

#include "ranks.h"
#include "reading.h"

/* Reads this rank's part of the files, adds what the ranks below it have read, and passes the sum on.
 * At rank 0: as tt_read_by_jobs does.  At the others: TT_READING_MANY, or an error without a complaint,
 * and rank 0 has the result. */
int tt_read_by_ranks(struct tt_files_read *, const struct tt_file_list *, int *again);

#endif
