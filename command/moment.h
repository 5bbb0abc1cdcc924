/* SPDX-License-Identifier: MIT */
/* moment.h - what is recorded, as it was at one moment. */
#ifndef TT_MOMENT_H
#define TT_MOMENT_H

#include "input.h"
#include "query.h"

enum tt_moment_state {
    TT_MOMENT_RUNNING,
    TT_MOMENT_ENDED,
    TT_MOMENT_GONE /* its processes are no more, and did not end it */
};

struct tt_moment {
    struct tt_input in;
    double time; /* when reading began: seconds of a clock that never goes back */
    enum tt_moment_state state;
    struct tt_filtered filtered; /* what tt_moment_filter has made */
    uint64_t filters;            /* what it was asked for then; 0: nothing yet */
};

double tt_moment_clock(void);
/* Complains and returns NULL when it cannot be read. */
struct tt_moment *tt_moment_read(char *const *paths, int count);
void tt_moment_free(struct tt_moment *);
/* Applies the filters of a query, unless that was done for the same `filters`, a number
 * above 0 that changes with them.  As tt_filter_apply. */
int tt_moment_filter(struct tt_moment *, struct tt_query *, uint64_t filters);
/* Are both of one run of one program?  The figures of another run have begun anew. */
int tt_moment_is_of(const struct tt_moment *, const struct tt_moment *other);
/* Is no process of a recording that had not been ended there any more?  Only for this host
 * can that be said; on others they run. */
int tt_moment_is_gone(const struct tt_profile *);

/* Is it there?  A process that nobody has waited for yet is no more, though it has its number
 * still. */
int tt_moment_is_alive(uint64_t pid);

/* Puts the path of the recording that a process is writing into `path`.  Complains and
 * returns -TT_ERR_FILE when it writes none, or may not be looked at. */
int tt_moment_find(long pid, char *path, size_t size);

#endif
