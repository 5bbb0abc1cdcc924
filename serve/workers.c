/* SPDX-License-Identifier: MIT */
/* workers.c - threads that do jobs, in the order in which they are given. */
#include "workers.h"

#include <errno.h>
#include <stddef.h>

static struct tt_job *next_job(struct tt_workers *w)
{
    struct tt_job *job;

    pthread_mutex_lock(&w->lock);
    while (!w->first && !w->is_ending)
        pthread_cond_wait(&w->come, &w->lock);
    job = w->first;
    if (job) {
        w->first = job->next;
        if (!w->first)
            w->end = &w->first;
    }
    pthread_mutex_unlock(&w->lock);
    return job;
}

static void *work(void *arg)
{
    struct tt_workers *w = arg;
    struct tt_job *job;

    while ((job = next_job(w)) != NULL)
        job->run(job);
    return NULL;
}

int tt_workers_start(struct tt_workers *w)
{
    *w = (struct tt_workers){.end = NULL};
    w->end = &w->first;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->come, NULL);
    for (; w->threads < TT_WORKERS; w->threads++) {
        const int error = pthread_create(&w->thread[w->threads], NULL, work, w);
        if (error && !w->threads) {
            w->is_ending = 1;
            errno = error;
            return -1;
        }
        if (error)
            break;
    }
    return 0;
}

int tt_workers_give(struct tt_workers *w, struct tt_job *job)
{
    int is_ending;

    pthread_mutex_lock(&w->lock);
    is_ending = w->is_ending;
    if (!is_ending) {
        job->next = NULL;
        *w->end = job;
        w->end = &job->next;
        pthread_cond_signal(&w->come);
    }
    pthread_mutex_unlock(&w->lock);
    return is_ending ? -1 : 0;
}

void tt_workers_end(struct tt_workers *w)
{
    pthread_mutex_lock(&w->lock);
    w->is_ending = 1;
    pthread_cond_broadcast(&w->come);
    pthread_mutex_unlock(&w->lock);
    while (w->threads)
        pthread_join(w->thread[--w->threads], NULL);
}

int tt_workers_are_ending(struct tt_workers *w)
{
    int is_ending;

    pthread_mutex_lock(&w->lock);
    is_ending = w->is_ending;
    pthread_mutex_unlock(&w->lock);
    return is_ending;
}
