/* SPDX-License-Identifier: MIT */
/* heap-guest.c WHAT [N] - allocates in all the ways that a program can, and knows what it
 * has done: it prints its own figures where they are known. */
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef __clang__
#define KEPT __attribute__((noinline))
#else
#define KEPT __attribute__((noinline, noclone))
#endif

enum { SLOTS = 4096, EACH = 4000 };
static void *slot[SLOTS];
static void *volatile keep;

static unsigned next(unsigned *s) { return (*s = *s * 1664525u + 1013904223u) >> 8; }

/* ── One of each ──────────────────────────────────────────────────────────────────── */

KEPT static void *leaf(size_t size)
{
    keep = malloc(size);
    return keep;
}

KEPT static void leak(void)
{
    for (int i = 0; i < 10; i++)
        (void)leaf(100);
    __asm__ volatile("");
}

KEPT static void churn(void)
{
    for (int i = 0; i < 1000; i++)
        free(leaf(50));
    __asm__ volatile("");
}

KEPT static void grow(void)
{
    char *p = NULL;

    for (size_t i = 1; i <= 100; i++) {
        p = realloc(p, i * 100);
        keep = p;
    }
    free(p);
}

KEPT static void top(void)
{
    void *a[50];

    for (int i = 0; i < 50; i++)
        a[i] = leaf(10000);
    for (int i = 0; i < 50; i++)
        free(a[i]);
    __asm__ volatile("");
}

KEPT static void rare(void)
{
    void *p = NULL;

    keep = p = calloc(3, 7);
    free(p);
    keep = p = reallocarray(NULL, 5, 9);
    free(p);
    keep = p = aligned_alloc(64, 640);
    free(p);
    keep = p = memalign(128, 77);
    free(p);
    if (posix_memalign(&p, 256, 99) == 0)
        free(p);
    keep = p = valloc(55);
    free(p);
    p = malloc(10);
    keep = realloc(p, SIZE_MAX / 2); /* fails: p is as it was */
    free(p);
    free(NULL);
    p = malloc(0);
    keep = p;
    free(p);
}

static int each(void)
{
    leak();
    churn();
    grow();
    top();
    rare();
    return 0;
}

/* ── At odd times ─────────────────────────────────────────────────────────────────── */

static int odd;

static __attribute__((constructor)) void early(void)
{
    keep = malloc(1001);
    free(keep);
    keep = strdup("kept from before main");
}

static __attribute__((destructor)) void late(void)
{
    if (!odd)
        return;
    keep = malloc(1002);
    free(keep);
    if (write(1, "late\n", 5) != 5)
        _exit(9);
}

static void at_exit(void)
{
    keep = malloc(1003);
    free(keep);
}

static volatile sig_atomic_t rang;

static void handle(int number)
{
    (void)number;
    keep = malloc(1004);
    free(keep);
    rang++;
}

static int odd_times(void)
{
    odd = 1;
    (void)atexit(at_exit);
    (void)signal(SIGUSR1, handle);
    for (int i = 0; i < 100; i++)
        (void)raise(SIGUSR1);
    printf("%d signals\n", (int)rang);
    return 5;
}

/* A handler that comes at any moment, while the program does anything but allocate. */
static int any_time(void)
{
    unsigned long n = 0;

    (void)signal(SIGALRM, handle);
    (void)ualarm(200, 200);
    while (rang < 2000)
        n += (unsigned long)getppid();
    (void)ualarm(0, 0);
    return n ? 0 : 1;
}

/* ── Threads ──────────────────────────────────────────────────────────────────────── */

static pthread_key_t key;

static void end(void *p)
{
    free(p);
    keep = p = malloc(1005);
    free(p);
}

/* What one thread makes another frees. */
static void *work(void *arg)
{
    unsigned s = (unsigned)(uintptr_t)arg;
    void *p;

    (void)pthread_setspecific(key, malloc(33));
    for (int i = 0; i < EACH; i++) {
        p = malloc(next(&s) % 300);
        if (next(&s) % 8 == 0)
            p = realloc(p, next(&s) % 1000 + 1);
        free(__atomic_exchange_n(&slot[next(&s) % SLOTS], p, __ATOMIC_ACQ_REL));
    }
    return malloc(7);
}

static int threads(int n)
{
    pthread_t t[1000];
    void *result;

    (void)pthread_key_create(&key, end);
    for (int i = 0; i < n; i++)
        if (pthread_create(&t[i], NULL, work, (void *)(uintptr_t)(i + 1)) != 0)
            return 1;
    for (int i = 0; i < n; i++) {
        (void)pthread_join(t[i], &result);
        free(result);
    }
    puts("done");
    return 0;
}

/* ── Children ─────────────────────────────────────────────────────────────────────── */

static void *fill(void *arg)
{
    unsigned s = 9;

    while (!__atomic_load_n((int *)arg, __ATOMIC_ACQUIRE))
        free(malloc(next(&s) % 100));
    return NULL;
}

/* Forks while another thread allocates; children free objects of others. */
static int forks(int n)
{
    int stop = 0, status, bad = 0;
    void *p = malloc(500);
    pthread_t t;

    (void)pthread_create(&t, NULL, fill, &stop);
    for (int i = 0; i < n; i++) {
        pid_t child = fork();
        if (child == 0) {
            free(p);
            keep = malloc(300);
            exit(3);
        }
        bad += waitpid(child, &status, 0) != child || !WIFEXITED(status) ||
               WEXITSTATUS(status) != 3;
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    (void)pthread_join(t, NULL);
    free(p);
    printf("%d of %d children went wrong\n", bad, n);
    return bad != 0;
}

/* ── Sampling ─────────────────────────────────────────────────────────────────────── */

KEPT static void small(void)
{
    for (int i = 0; i < 400000; i++)
        free(leaf(64));
    __asm__ volatile("");
}

KEPT static void large(void)
{
    for (int i = 0; i < 2000; i++)
        (void)leaf(8192);
    __asm__ volatile("");
}

static int sampled(void)
{
    small();
    large();
    return 0;
}

/* ── Waves ────────────────────────────────────────────────────────────────────────── */

enum { NAP = 60 };

static double clock_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void nap(void) { (void)usleep(NAP * 1000); }

static void fill_slots(int n, unsigned seed)
{
    for (int i = 0; i < n; i++)
        slot[i] = malloc(200 + next(&seed) % 1600);
}

static void empty_slots(int n)
{
    for (int i = 0; i < n; i++) {
        free(slot[i]);
        slot[i] = NULL;
    }
}

KEPT static void first(void) { fill_slots(1000, 1); }
KEPT static void second(void) { fill_slots(2000, 2); }
KEPT static void third(void) { fill_slots(1500, 3); }

/* Says whether the tops are far enough apart for each to be in a separate part of the
 * run: on a busy machine they may not be. */
static int waves(void)
{
    static void (*const wave[])(void) = {first, second, third};
    double start = clock_now(), top[3], far = 1e9;

    for (int i = 0; i < 3; i++) {
        nap();
        wave[i]();
        top[i] = clock_now();
        if (i && top[i] - top[i - 1] < far)
            far = top[i] - top[i - 1];
        nap();
        empty_slots(2000);
    }
    nap();
    printf("%s\n", far > (clock_now() - start + 0.02) / 4 ? "apart" : "close");
    return 0;
}

/* 300 objects of 1000 bytes, of which 100 are freed; then it is killed. */
static int killed(void)
{
    for (int i = 0; i < 300; i++)
        slot[i] = leaf(1000);
    for (int i = 0; i < 100; i++)
        free(slot[i]);
    nap();
    free(leaf(5000));
    kill(getpid(), SIGKILL);
    return 1;
}

/* What comes in the middle is alive in the end. */
static int late_and_early(int n)
{
    double start = clock_now();

    while (clock_now() - start < 0.3 * n) {
        free(malloc(10));
        nap();
    }
    keep = leaf(70000);
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int n = argc > 2 ? atoi(argv[2]) : 8;

    if (strcmp(what, "each") == 0)
        return each();
    if (strcmp(what, "odd") == 0)
        return odd_times();
    if (strcmp(what, "any") == 0)
        return any_time();
    if (strcmp(what, "threads") == 0)
        return threads(n > 1000 ? 1000 : n);
    if (strcmp(what, "forks") == 0)
        return forks(n);
    if (strcmp(what, "sampled") == 0)
        return sampled();
    if (strcmp(what, "waves") == 0)
        return waves();
    if (strcmp(what, "killed") == 0)
        return killed();
    if (strcmp(what, "late") == 0)
        return late_and_early(n);
    return strcmp(what, "nothing") == 0 ? 0 : 2;
}
