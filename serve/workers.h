/* SPDX-License-Identifier: MIT */
/* workers.h - threads that do what takes long, so that those that serve connections do not. */
#ifndef TT_WORKERS_H
#define TT_WORKERS_H

#include <pthread.h>

enum { TT_WORKERS = 8 }; /* a browser asks six things at a time of one host */

struct tt_job { /* a part of the giver's structure */
    void (*run)(struct tt_job *);
    struct tt_job *next;
};

struct tt_workers {
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t come;
    struct tt_job *first, **end;
    int is_ending;
    unsigned threads;
    pthread_t thread[TT_WORKERS];
};

/* 0, or -1 with errno if there is no thread at all. */
int tt_workers_start(struct tt_workers *);
/* The job is done in its turn.  -1: they are ending, and it is not. */
int tt_workers_give(struct tt_workers *, struct tt_job *);
/* They end after the last job that was given, and take no others; again does nothing. */
void tt_workers_end(struct tt_workers *);
int tt_workers_are_ending(struct tt_workers *);

#endif
