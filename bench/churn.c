/* SPDX-License-Identifier: MIT */
/* churn.c PAIRS LIVE [THREADS] - objects of mixed sizes, from fifty stacks some twenty-five
 * deep.
 *
 * W4: each stack makes thirty-two objects, then the next stack does.  They replace older ones in
 * a ring of LIVE objects.  Each thread (default: 1) makes its part of the pairs, in its part of the
 * ring.  It says on stderr what a pair of malloc and free took, in ns of the threads'
 * CPU time. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define APART __attribute__((noinline, noclone))

enum { BATCH = 32, DEPTH = 22 };

static __thread void **ring;
static __thread unsigned long place;
static __thread unsigned state = 1;
static unsigned long places;
static long pairs;

static unsigned next(void)
{
    state = state * 1664525u + 1013904223u;
    return state >> 8;
}

/* Mostly small: up to 128 bytes, up to 1 KB, up to 8 KB. */
static size_t size_of_next(void)
{
    unsigned class = next() % 16, n = next();

    return class < 10 ? 16 + n % 113 : class < 15 ? 128 + n % 897 : 1024 + n % 7169;
}

static APART void fill(void)
{
    for (int i = 0; i < BATCH; i++) {
        void **at = &ring[place++ % places];
        free(*at);
        *at = malloc(size_of_next());
        *(volatile char *)*at = 1;
    }
}

/* Two ways to go deeper, chosen by the bits of the path; they differ, or they would be one
 * function. */
static APART void even(unsigned path, int depth);
static APART void odd(unsigned path, int depth);

#define WAY(name, instruction)                                                           \
    static APART void name(unsigned path, int depth)                                     \
    {                                                                                    \
        if (depth == 0)                                                                  \
            fill();                                                                      \
        else if (path >> depth % 16 & 1)                                                 \
            odd(path, depth - 1);                                                        \
        else                                                                             \
            even(path, depth - 1);                                                       \
        __asm__ volatile(instruction ::: "memory");                                      \
    }
WAY(even, "")
WAY(odd, "nop")

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Stores the CPU time that it took. */
static void *run(void *took)
{
    double begin;

    ring = calloc(places, sizeof *ring);
    if (!ring)
        exit(2);
    begin = now();
    for (long i = 0; i < pairs; i += BATCH)
        even(next() % 50 * 2654435761u >> 12, DEPTH);
    *(double *)took = now() - begin;
    return NULL;
}

int main(int argc, char **argv)
{
    enum { THREADS_MAX = 1024 };
    static pthread_t thread[THREADS_MAX];
    static double took[THREADS_MAX];
    const int threads = argc > 3 ? atoi(argv[3]) : 1;
    double all = 0;

    pairs = argc > 1 ? atol(argv[1]) : 1000000;
    places = argc > 2 ? strtoul(argv[2], NULL, 10) : 4096;
    if (threads < 1 || threads > THREADS_MAX)
        return 2;
    pairs /= threads;
    places = (places + (unsigned)threads - 1) / (unsigned)threads;
    for (int i = 1; i < threads; i++)
        if (pthread_create(&thread[i], NULL, run, &took[i]) != 0)
            return 2;
    run(&took[0]);
    for (int i = 1; i < threads; i++)
        (void)pthread_join(thread[i], NULL);
    for (int i = 0; i < threads; i++)
        all += took[i];
    fprintf(stderr, "pair %.2f\n", all / (double)pairs / threads);
    return 0;
}
