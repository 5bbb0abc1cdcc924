/* SPDX-License-Identifier: MIT */
/* jobs.h - work that several processes do at the same time. */
#ifndef TT_JOBS_H
#define TT_JOBS_H

enum { TT_JOBS_MAX = 256 };

/* Starts `jobs` processes, from 1 to TT_JOBS_MAX.  Each does work(arg, its number), ends, and dies
 * with this process; meanwhile(arg) is called here again and again.  0 when all have ended; a
 * complaint and a negative error if one was killed or cannot be started. */
int tt_jobs_run(unsigned jobs, void (*work)(void *arg, unsigned job),
                void (*meanwhile)(void *arg), void *arg);

#endif
