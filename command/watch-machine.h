/* SPDX-License-Identifier: MIT */
/* watch-machine.h - a recording of all processes, for as long as `tallytree top -a` shows it.
 *
 *      this process ──── starts, reads ────► TMPDIR/.tallytree-top.PID.live/machine.PID
 *        └─ recorder ─── writes ───────────►   it removes the folder when either process ends
 *
 * The recording has 16 MiB at most, so that reading it stays cheap. */
#ifndef TT_WATCH_MACHINE_H
#define TT_WATCH_MACHINE_H

#include <limits.h>
#include <sys/types.h>

struct tt_watched_machine {
    pid_t recorder; /* 0: none */
    char recording[PATH_MAX];
    char files
        [PATH_MAX]; /* a folder with copies of files of containers; there may be none */
};

/* 0, or a negative error after a complaint. */
int tt_watch_machine(struct tt_watched_machine *);
/* Has the recorder ended by itself, as when it was killed? */
int tt_watched_machine_is_gone(struct tt_watched_machine *);
void tt_unwatch_machine(struct tt_watched_machine *);

#endif
