/* SPDX-License-Identifier: MIT */
/* day.c - a simulated day: threads that are sampled 250 times a second, by their own clock.
 *
 *      day OUT [HOURS]     writes the recording OUT, and prints how long that took
 *
 * Each sample goes through tt_sample into the log, as in a program that ran for so long; the
 * threads wait for each other every ten simulated seconds.  A hundred phases an hour have their own
 * shares of paths. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "tallytree.h"

enum { THREADS = 8, HZ = 250, NS = 1000000000, BLOCKS = 60, DEPTH = 16, PHASE = 36 };

static tt_block block[BLOCKS];
static pthread_barrier_t together;
static unsigned seconds;

static double wall_time(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / NS;
}

static uint32_t dice(uint64_t *state, uint32_t sides)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((*state >> 33) % sides);
}

struct stack {
    tt_mark mark[DEPTH];
    uint32_t depth;
};

/* Returns from some, and calls some: callees depend on the depth and the phase. */
static void walk(struct stack *s, uint64_t *state, uint32_t phase)
{
    const uint32_t returns = dice(state, 4), calls = dice(state, 4);

    for (uint32_t i = 0; i < returns && s->depth > 1; i++)
        tt_pop(s->mark[--s->depth]);
    for (uint32_t i = 0; i < calls && s->depth < DEPTH; i++) {
        const uint32_t callee = s->depth * 3 +
                                (s->depth % 3 ? phase : dice(state, 3)) % 3;
        s->mark[s->depth++] = tt_push(block[callee % BLOCKS]);
    }
}

static void *run(void *arg)
{
    const unsigned number = (unsigned)(uintptr_t)arg;
    struct stack s = {.depth = 0};
    uint64_t state = number + 1;
    char name[16];

    (void)snprintf(name, sizeof name, "worker %u", number);
    tt_thread_name(name);
    s.mark[s.depth++] = tt_push(block[BLOCKS - 1]);
    for (unsigned second = 0; second < seconds; second++) {
        for (int i = 0; i < HZ; i++) {
            walk(&s, &state, second / PHASE);
            tt_sample(NS / HZ);
        }
        if (second % 10 == 9)
            pthread_barrier_wait(&together);
    }
    while (s.depth)
        tt_pop(s.mark[--s.depth]);
    return NULL;
}

int main(int count, char **words)
{
    const double hours = count > 2 ? atof(words[2]) : 24;
    pthread_t thread[THREADS];
    char options[4200], name[16];
    struct stat file;
    double took = wall_time();

    if (count < 2)
        return 2;
    seconds = (unsigned)(hours * 3600);
    (void)snprintf(options, sizeof options, "calls,clock=caller:1000000000,output=%s",
                   words[1]);
    if (tt_start(options) != 0 || pthread_barrier_init(&together, NULL, THREADS) != 0)
        return 2;
    for (int i = 0; i < BLOCKS; i++) {
        (void)snprintf(name, sizeof name, "step %d", i);
        block[i] = tt_block_get(name, "", 0, 0);
    }
    for (uintptr_t i = 0; i < THREADS; i++)
        if (pthread_create(&thread[i], NULL, run, (void *)i) != 0)
            return 2;
    for (int i = 0; i < THREADS; i++)
        (void)pthread_join(thread[i], NULL);
    if (tt_stop() != 0 || stat(words[1], &file) != 0)
        return 2;
    took = wall_time() - took;
    printf("%.0f million samples in %.0f s; the recording has %.1f MB\n",
           (double)seconds * HZ * THREADS / 1e6, took, (double)file.st_size / 1e6);
    return 0;
}
