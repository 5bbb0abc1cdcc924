/* SPDX-License-Identifier: MIT */
/* hooks-signal.c - a program that counts its own calls, whose handlers evict what those whom
 * they interrupt are looking for; it is compiled with the compiler's hooks and recorded with a
 * small budget, and what is recorded is compared with what it prints.
 *
 *      many ─┬─ 5 ─┬─ …      each function calls three that lie 64 apart: however large a
 *            ├─ 69 ─ …       table is, they share a bucket
 *            └─ 133 ─ …
 *
 * It ends when its handlers were called so often that most contexts have been evicted. */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

enum { THREADS = 3, APART = 64, WAYS = 3, DEPTH = 6, SIGNALS = 4000 };
#define QUIET __attribute__((no_instrument_function, noinline))
#define COUNTED __attribute__((noinline))

struct counts {
    uint64_t function[WAYS * APART], handler;
};
static struct counts all; /* of threads that have ended */
static __thread struct counts counts;
static __thread uint32_t state;
static int handled, stop;

static QUIET uint32_t draw(uint32_t below)
{
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % below;
}

/* ── What is interrupted ──────────────────────────────────────────────────────────── */

static int step(int depth);

/* All of them alike, but not the same. */
#define FUNCTION(n)                                                                      \
    COUNTED int f##n(int depth);                                                         \
    COUNTED int f##n(int depth)                                                          \
    {                                                                                    \
        counts.function[n]++;                                                            \
        return step(depth) ^ n;                                                          \
    }
#define ADDRESS(n) f##n,
#define NAME(n) "f" #n,
#define EIGHT(m, n) m(n##0) m(n##1) m(n##2) m(n##3) m(n##4) m(n##5) m(n##6) m(n##7)
#define SET(m, n)                                                                        \
    EIGHT(m, n##0)                                                                       \
    EIGHT(m, n##1)                                                                       \
    EIGHT(m, n##2)                                                                       \
    EIGHT(m, n##3) EIGHT(m, n##4) EIGHT(m, n##5) EIGHT(m, n##6) EIGHT(m, n##7)
#define ALL(m) SET(m, 0) SET(m, 01) SET(m, 02)

ALL(FUNCTION)
static int (*const function[])(int) = {ALL(ADDRESS)};
static const char *const names[] = {ALL(NAME)};
_Static_assert(sizeof function == WAYS * APART * sizeof *function, "as many as counts");

static QUIET uint32_t any(void) { return 5 + APART * draw(WAYS); }

static QUIET int step(int depth)
{
    int sum = 0;

    for (int i = 0; depth && i < 2; i++) {
        sum += function[any()](depth - 1);
        sum += function[any()](0);
    }
    return sum;
}

static QUIET void *work(void *arg)
{
    state = (uint32_t)(uintptr_t)arg;
    for (uint32_t i = 0; i < WAYS * APART; i++) /* each has its block */
        (void)function[i](0);
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
        (void)function[any()](DEPTH);
    for (int i = 0; i < WAYS * APART; i++)
        __atomic_fetch_add(&all.function[i], counts.function[i], __ATOMIC_RELAXED);
    __atomic_fetch_add(&all.handler, counts.handler, __ATOMIC_RELAXED);
    return arg;
}

/* ── Signal handlers ──────────────────────────────────────────────────────────────── */

/* Contexts that are new mostly, each time in another order. */
#define HANDLER(n) COUNTED void h##n(int depth);
#define BODY(n)                                                                          \
    COUNTED void h##n(int depth)                                                         \
    {                                                                                    \
        static __thread uint32_t next;                                                   \
        if (depth)                                                                       \
            handler[(n + next++) % 32](depth - 1);                                       \
        __asm__ volatile("" ::: "memory"); /* no tail call */                            \
    }
#define HADDRESS(n) h##n,
#define HANDLERS(m) EIGHT(m, 0) EIGHT(m, 01) EIGHT(m, 02) EIGHT(m, 03)

HANDLERS(HANDLER)
static void (*const handler[])(int) = {HANDLERS(HADDRESS)};
HANDLERS(BODY)

COUNTED void handle(int depth);
COUNTED void handle(int depth)
{
    static __thread uint32_t next;

    counts.handler++;
    handler[next++ % 32](depth);
}

static QUIET void on_signal(int number)
{
    (void)number;
    handle(3);
    __atomic_fetch_add(&handled, 1, __ATOMIC_RELAXED);
}

int QUIET main(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    pthread_t thread[THREADS];

    if (sigaction(SIGUSR1, &action, NULL) != 0)
        return 2;
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&thread[i], NULL, work, (void *)(uintptr_t)(i + 1)) != 0)
            return 2;
    while (__atomic_load_n(&handled, __ATOMIC_RELAXED) < SIGNALS) {
        for (int i = 0; i < THREADS; i++)
            (void)pthread_kill(thread[i], SIGUSR1);
        usleep(50);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; i < WAYS * APART; i++)
        printf("%s %llu\n", names[i], (unsigned long long)all.function[i]);
    printf("handle %llu\n", (unsigned long long)all.handler);
    return 3;
}
