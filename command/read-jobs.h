/* SPDX-License-Identifier: MIT */
/* read-jobs.h - files that several processes read. */
#ifndef TT_READ_JOBS_H
#define TT_READ_JOBS_H

#include "reading.h"

/* Reads all files by so many processes, at most TT_JOBS_MAX.  0, or a complaint and an error, or
 * TT_READING_MANY; *again: one process has to do it. */
int tt_read_by_jobs(struct tt_files_read *, const struct tt_file_list *, unsigned jobs,
                    int *again);

#endif
