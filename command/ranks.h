/* SPDX-License-Identifier: MIT */
/* ranks.h - a command that a launcher of parallel programs has started several times. */
#ifndef TT_RANKS_H
#define TT_RANKS_H

#include <limits.h>
#include <stddef.h>

struct tt_ranks {
    unsigned rank, size;  /* of all */
    unsigned round;       /* of the work, from 0 */
    const char *launcher; /* the variable that has the number of ranks */
    char folder[PATH_MAX];
    int is_cut_off; /* could not write that it has failed */
    char key[17];   /* of this job: the names of its files begin with it */
};

/* Was this process started as one of several?  By the environment of Open MPI, of launchers that
 * speak PMI, and of Slurm. */
int tt_ranks_find(struct tt_ranks *);

/* Waits until all ranks are there, in a hidden folder beside `out`.  Complains. */
int tt_ranks_meet(struct tt_ranks *, const char *out);

/* Publishes bytes of this rank in this round; reads those of another one, which are mapped and
 * then gone from the folder.  Reading waits, and ends with an error when a rank has failed. */
int tt_ranks_put(const struct tt_ranks *, const char *name, const void *bytes,
                 size_t size);
int tt_ranks_get(const struct tt_ranks *, const char *name, unsigned of, void **bytes,
                 size_t *size);

/* This round is in vain: the others need not go on.  Is it? */
void tt_ranks_stop(const struct tt_ranks *);
int tt_ranks_is_stopped(const struct tt_ranks *);
/* This rank has failed; rank 0 says why. */
void tt_ranks_fail(struct tt_ranks *, const char *why);
/* Rank 0: complains of a rank that has failed, if there is one, and returns an error then. */
int tt_ranks_failure(const struct tt_ranks *);

/* Rank 0: all begin another round. */
int tt_ranks_repeat(struct tt_ranks *);
/* The other ranks: waits until rank 0 has said whether there is one. */
int tt_ranks_wait(struct tt_ranks *);
/* Rank 0 ends with this status, and all others with it; returns it. */
int tt_ranks_end(const struct tt_ranks *, int status);

#endif
