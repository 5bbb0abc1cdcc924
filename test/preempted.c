/* SPDX-License-Identifier: MIT */
/* Turns for so many ms of CPU time in a block, exactly timed, and prints for how many ns the
 * system says that it waited for a processor meanwhile: the program, or with a third argument
 * that many threads, one after the other, each of which has ended before the next begins. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tallytree.h"

static double ms;
static unsigned long long inner;

static unsigned long long waited(const char *whose)
{
    FILE *f = fopen(whose, "r");
    unsigned long long ran, waited = 0;

    if (!f || fscanf(f, "%llu %llu", &ran, &waited) != 2)
        waited = 0;
    if (f)
        fclose(f);
    return waited;
}

static unsigned long long clock_of(clockid_t id)
{
    struct timespec t;

    clock_gettime(id, &t);
    return (unsigned long long)t.tv_sec * 1000000000u + (unsigned long long)t.tv_nsec;
}

/* The ns in which the process had no processor, since some moment. */
static unsigned long long off_processor(void)
{
    return clock_of(CLOCK_MONOTONIC) - clock_of(CLOCK_PROCESS_CPUTIME_ID);
}

static void *turn(void *unused)
{
    const char *own = "/proc/thread-self/schedstat";
    unsigned long long before = waited(own);
    clock_t end = clock() + (clock_t)(ms * CLOCKS_PER_SEC / 1000);

    {
        TT_SCOPE("turn");
        while (clock() < end)
            ;
    }
    inner += waited(own) - before;
    return unused;
}

int main(int argc, char **argv)
{
    const char *own = "/proc/self/schedstat";
    unsigned long long before = waited(own), most = off_processor();
    pthread_t thread;

    if (argc < 3 || tt_start(argv[1]) != 0)
        return 1;
    ms = atof(argv[2]);
    if (argc == 3)
        (void)turn(NULL);
    for (int i = argc > 3 ? atoi(argv[3]) : 0; i > 0; i--)
        if (pthread_create(&thread, NULL, turn, NULL) != 0 ||
            pthread_join(thread, NULL) != 0)
            return 1;
    if (tt_stop() != 0)
        return 1;
    /* One thread after the other: while one runs, it does not wait. */
    most = off_processor() - most;
    printf("%llu %llu\n", inner, waited(own) - before + (argc > 3 ? most : 0));
    return 0;
}
