/* SPDX-License-Identifier: MIT */
/* push-follow.h - the profiles of a chain that were not sent so far. */
#ifndef TT_PUSH_FOLLOW_H
#define TT_PUSH_FOLLOW_H

#include "chain.h"
#include "memory.h"

struct tt_follow {
    const char *folder;    /* borrowed: of the chain */
    const char *queue;     /* borrowed: its folder has the state */
    char state[PATH_MAX];  /* the file with what was taken */
    struct tt_vector span; /* struct tt_dates: taken */
    struct tt_dates next;
};

/* Follows a chain; what was taken is kept in the folder `queue`.  Complains as of "push" and
 * returns a negative error; it has to be closed in any case. */
int tt_follow_open(struct tt_follow *, const char *folder, const char *queue);
void tt_follow_close(struct tt_follow *);

/* Finds the earliest profile whose time was not taken, of several the one with the most: 1, and
 * its path; 0: there is none.  Then it complains of one whose time was taken in part. */
int tt_follow_next(struct tt_follow *, char path[PATH_MAX]);
/* It is taken: the same time will not be found again, here or after a restart. */
void tt_follow_took(struct tt_follow *);

#endif
