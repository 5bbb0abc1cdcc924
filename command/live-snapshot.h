/* SPDX-License-Identifier: MIT */
/* live-snapshot.h - a snapshot of a running recording. */
#ifndef TT_LIVE_SNAPSHOT_H
#define TT_LIVE_SNAPSHOT_H

#include "filter.h"
#include "input.h"
#include "name-blocks.h"
#include "query.h"

enum tt_live_snapshot_state {
    TT_LIVE_SNAPSHOT_RUNNING,
    TT_LIVE_SNAPSHOT_ENDED,
    TT_LIVE_SNAPSHOT_GONE /* its processes are no more, and did not end it */
};

struct tt_live_snapshot {
    struct tt_input in;
    double time; /* of its figures: seconds of a clock that never goes back */
    enum tt_live_snapshot_state state;
    struct tt_filtered filtered; /* what tt_live_snapshot_filter has made */
    uint64_t filters;            /* what it was asked for then; 0: nothing yet */
};

double tt_live_snapshot_clock(void);
/* With the names that are wanted.  Complains and returns NULL if it cannot be read. */
struct tt_live_snapshot *tt_live_snapshot_read(char *const *paths, int count,
                                               struct tt_names_wanted *);
void tt_live_snapshot_free(struct tt_live_snapshot *);
/* Applies the filters of a query, unless that was done for the same `filters`, a number
 * above 0 that changes with the filters.  As tt_filter_apply. */
int tt_live_snapshot_filter(struct tt_live_snapshot *, struct tt_query *,
                            uint64_t filters);
/* Are both of one run of one program?  The figures of another run began again. */
int tt_live_snapshot_is_of(const struct tt_live_snapshot *,
                           const struct tt_live_snapshot *other);
/* Have all processes of an unfinished recording ended?  Known only for this host; on
 * others they are taken to be running. */
int tt_live_snapshot_is_gone(const struct tt_profile *);

/* Is the process running?  A zombie is not, although its number is still in use. */
int tt_live_snapshot_is_alive(uint64_t pid);

/* Writes the path of the recording that a process is writing to `path`.  Complains and
 * returns -TT_ERR_FILE if there is none, or it may not be inspected. */
int tt_live_snapshot_find(long pid, char *path, size_t size);

#endif
