/* SPDX-License-Identifier: MIT */
/* live-snapshot.h - what is recorded, as it was at one moment. */
#ifndef TT_LIVE_SNAPSHOT_H
#define TT_LIVE_SNAPSHOT_H

#include "input.h"
#include "query.h"

enum tt_live_snapshot_state {
    TT_LIVE_SNAPSHOT_RUNNING,
    TT_LIVE_SNAPSHOT_ENDED,
    TT_LIVE_SNAPSHOT_GONE /* its processes are no more, and did not end it */
};

struct tt_live_snapshot {
    struct tt_input in;
    double time; /* when reading began: seconds of a clock that never goes back */
    enum tt_live_snapshot_state state;
    struct tt_filtered filtered; /* what tt_live_snapshot_filter has made */
    uint64_t filters;            /* what it was asked for then; 0: nothing yet */
};

double tt_live_snapshot_clock(void);
/* Complains and returns NULL when it cannot be read. */
struct tt_live_snapshot *tt_live_snapshot_read(char *const *paths, int count);
void tt_live_snapshot_free(struct tt_live_snapshot *);
/* Applies the filters of a query, unless that was done for the same `filters`, a number
 * above 0 that changes with them.  As tt_filter_apply. */
int tt_live_snapshot_filter(struct tt_live_snapshot *, struct tt_query *,
                            uint64_t filters);
/* Are both of one run of one program?  The figures of another run have begun again. */
int tt_live_snapshot_is_of(const struct tt_live_snapshot *,
                           const struct tt_live_snapshot *other);
/* Is no process of a recording that had not been ended there any more?  Only for this host
 * can that be said; on others they run. */
int tt_live_snapshot_is_gone(const struct tt_profile *);

/* Is it there?  A process that nobody has waited for yet is no more, though it has its number
 * still. */
int tt_live_snapshot_is_alive(uint64_t pid);

/* Puts the path of the recording that a process is writing into `path`.  Complains and
 * returns -TT_ERR_FILE when it writes none, or may not be looked at. */
int tt_live_snapshot_find(long pid, char *path, size_t size);

#endif
