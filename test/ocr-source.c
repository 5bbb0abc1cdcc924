/* SPDX-License-Identifier: MIT */
/* ocr-source.c - scopes as OCR's sources have them: with and without semicolons, jumped
 * over, left by return and forgotten.  It is C and C++; ocr-macros.t builds it in many
 * ways, and runs the part that its argument names. */
#include "profiler/profiler.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifdef OCR_RUNTIME_PROFILER
#define TICK(n) tt_tick(n)
#else
#define TICK(n) ((void)0)
#endif

/* ── The chain of OCR's document ──────────────────────────────────────────────────── */

static int a(int step);

static int c(void)
{
    START_PROFILE(C)
    TICK(8);
    RETURN_PROFILE(a(16))
}

static int b(void)
{
    int got;
    START_PROFILE(B);
    TICK(2);
    got = a(4);
    RETURN_PROFILE(got);
}

static int a(int step)
{
    START_PROFILE(A);
    TICK(step);
    if (step == 16)
        RETURN_PROFILE(1);
    RETURN_PROFILE(step == 1 ? b() : c());
}

static void chain(void) { printf("%d\n", a(1)); }

/* ── Calls of itself ──────────────────────────────────────────────────────────────── */

static void direct(int n)
{
    START_PROFILE(D);
    TICK(n);
    if (n < 5)
        direct(n + 1);
    EXIT_PROFILE
    TICK(100); /* is of the one around it */
}

static int deep(int n);

static int deep_other(int n)
{
    START_PROFILE(even);
    TICK(1);
    RETURN_PROFILE(deep(n - 1));
}

static int deep(int n)
{
    START_PROFILE(odd);
    TICK(1);
    if (n > 0)
        RETURN_PROFILE(deep_other(n - 1));
    RETURN_PROFILE(0);
}

/* ── Pauses ───────────────────────────────────────────────────────────────────────── */

static void child(void)
{
    START_PROFILE(child);
    TICK(1);
    EXIT_PROFILE;
}

static void forgets(void)
{
    START_PROFILE(forgets);
    TICK(1);
    PAUSE_PROFILE;
    TICK(50);
    RETURN_PROFILE();
}

static void pauses(void)
{
    START_PROFILE(grandparent);
    TICK(1);
    {
        START_PROFILE(parent);
        TICK(4);
        PAUSE_PROFILE
        child();
        RESUME_PROFILE
        TICK(4);
        EXIT_PROFILE;
    }
    TICK(1);
    forgets();
    TICK(1);
    EXIT_PROFILE;
}

/* ── A runtime's scopes and a user's ──────────────────────────────────────────────── */

static void hal(void)
{
    START_PROFILE(hal_send);
    TICK(1);
    EXIT_PROFILE;
}

static void api(void)
{
    START_PROFILE(api_EventCreate);
    TICK(10);
    hal();
    EXIT_PROFILE;
}

static void helper(void)
{
    START_PROFILE(helper);
    TICK(100);
    api();
    EXIT_PROFILE;
}

static void user(void)
{
    START_PROFILE(userCode);
    TICK(1000);
    api();
    helper();
    EXIT_PROFILE;
}

static void worker(void)
{
    START_PROFILE(worker);
    TICK(10000);
    hal();
    user();
    api();
    EXIT_PROFILE;
}

/* ── Jumps ────────────────────────────────────────────────────────────────────────── */

static jmp_buf out;

static void thrower(int n)
{
    START_PROFILE(thrower);
    TICK(1);
    if (n == 0)
        longjmp(out, 1);
    if (n > 0)
        thrower(n - 1);
    helper();
    EXIT_PROFILE;
}

static void catcher(void)
{
    START_PROFILE(catcher);
    if (setjmp(out) == 0)
        thrower(3);
    TICK(1);
    helper();
    EXIT_PROFILE;
}

#ifdef __cplusplus
static void jumped_over(int n)
{
    START_PROFILE(jumped);
    TICK(1);
    if (n)
        throw n;
    EXIT_PROFILE;
}

static void jumps(void)
{
    START_PROFILE(jumps);
    for (int i = 0; i < 4; i++)
        try {
            jumped_over(i & 1);
        } catch (int) {
            TICK(1);
        }
    catcher();
    EXIT_PROFILE;
}
#else
static void jumped_over(int n)
{
    if (n)
        goto over;
    START_PROFILE(jumped);
    TICK(1);
    EXIT_PROFILE;
over:
    TICK(1);
}

static void jumps(void)
{
    START_PROFILE(jumps);
    for (int i = 0; i < 4; i++)
        jumped_over(i & 1);
    catcher();
    EXIT_PROFILE;
}
#endif

/* ── Time, and ends without warning ───────────────────────────────────────────────── */

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Prints the least and the most ms that the scope may have lasted. */
static void lasts(void)
{
    double before = now(), first, last;
    {
        START_PROFILE(lasts);
        first = last = now();
        while (last - first < 200)
            last = now();
        EXIT_PROFILE;
    }
    printf("%f %f\n", last - first, now() - before);
}

static pthread_barrier_t all_in;

static void *thread(void *name)
{
    START_PROFILE(thread);
    for (int i = 0; i < 10; i++) {
        START_PROFILE(round);
        TICK(2);
        EXIT_PROFILE;
    }
    if (name)
        pthread_barrier_wait(&all_in);
    while (name)
        pause();
    RETURN_PROFILE(NULL);
}

static void threads(int ends)
{
    pthread_t id;

    pthread_barrier_init(&all_in, NULL, 4);
    for (int i = 0; i < 3; i++) {
        pthread_create(&id, NULL, thread, ends ? NULL : &all_in);
        if (ends)
            pthread_join(id, NULL);
    }
    if (!ends)
        pthread_barrier_wait(&all_in);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    static char program[] = "/bin/echo", word[] = "executed";
    char *const command[] = {program, word, NULL};

    if (strcmp(what, "chain") == 0)
        chain();
    else if (strcmp(what, "direct") == 0)
        direct(1);
    else if (strcmp(what, "deep") == 0)
        printf("%d\n", deep(10000));
    else if (strcmp(what, "pauses") == 0)
        pauses();
    else if (strcmp(what, "worker") == 0)
        worker();
    else if (strcmp(what, "jumps") == 0)
        jumps();
    else if (strcmp(what, "lasts") == 0)
        lasts();
    else
        threads(strcmp(what, "threads") == 0);
    if (strcmp(what, "killed") == 0)
        raise(SIGKILL);
    else if (strcmp(what, "aborts") == 0)
        abort();
    else if (strcmp(what, "exec") == 0)
        execv(program, command);
    return 0;
}
