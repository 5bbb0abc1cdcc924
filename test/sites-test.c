/* SPDX-License-Identifier: MIT */
/* needs: internals */
/* sites-test.c - scopes that are a no-op until they are switched on. */
#define TT_SWITCHED
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "denied.h"
#include "sites.h"
#include "tap.h"
#include "visit.h"

#define ALONE __attribute__((noinline))

static ALONE void inner(void)
{
    TT_FUNCTION();
    __asm__ volatile("");
}

static ALONE void outer(void)
{
    TT_SCOPE("outer");
    inner();
    inner();
    inner();
}

TEST(scopes_are_recorded_from_the_start_to_the_stop)
{
    for (uint64_t i = 1; i < 20; i++) {
        outer();
        if (!CHECK_INT(tt_start(i & 1 ? "calls" : "exact"), 0))
            return;
        for (uint64_t j = 0; j < i; j++)
            outer();
        CHECK_INT(tt_stop(), 0);
        outer();
        CHECK_INT(visit_path("outer").calls, i);
        CHECK_INT(visit_path("outer;inner").calls, 3 * i);
        CHECK_INT(visit_block("inner").contexts, 1);
    }
}

static ALONE void hold_open(int which)
{
    TT_SCOPE("held");
    if (which == 0)
        CHECK_INT(tt_stop(), 0);
    inner();
    if (which == 1)
        CHECK_INT(tt_start("calls"), 0);
}

TEST(a_scope_that_is_left_while_off_is_not_in_the_next_recording)
{
    CHECK_INT(tt_start("calls"), 0);
    hold_open(0);
    CHECK_INT(visit_path("held").calls, 1);
    CHECK_INT(tt_start("calls"), 0);
    inner();
    CHECK_INT(tt_stop(), 0);
    CHECK_INT(visit_path("inner").calls, 1);
    CHECK_INT(visit_block("held").contexts, 0);
}

TEST(a_scope_that_was_entered_while_off_leaves_nothing_else)
{
    CHECK_INT(tt_start("calls"), 0);
    hold_open(2); /* what it stored on the stack is there still */
    CHECK_INT(tt_stop(), 0);
    hold_open(1);
    {
        TT_SCOPE("after");
        hold_open(2);
        CHECK_INT(tt_stop(), 0);
    }
    CHECK_INT(visit_path("after;held;inner").calls, 1);
    CHECK_INT(visit_block("held").contexts, 1);
}

/* ── Threads ──────────────────────────────────────────────────────────────────────── */

enum { THREADS = 8 };
static int over;

static uint64_t rounds; /* of all threads, when they are over */

static void *run_scopes(void *arg)
{
    while (!__atomic_load_n(&over, __ATOMIC_RELAXED)) {
        outer();
        __atomic_fetch_add(&rounds, 1, __ATOMIC_SEQ_CST);
    }
    return arg;
}

static uint64_t rounds_now(void) { return __atomic_load_n(&rounds, __ATOMIC_SEQ_CST); }

/* The soak runs it with more. */
static int toggles(void)
{
    const char *n = getenv("TT_TOGGLES");

    return n ? atoi(n) : tap_times(100);
}

/* Scopes go on one after the other, so the rounds of meanwhile may be seen in part, and so
 * may the one that each thread is in. */
static void check_sum(const char *name, uint64_t each, uint64_t least, uint64_t most)
{
    uint64_t calls = visit_block(name).calls;

    if (!CHECK(calls + each * THREADS >= each * least) ||
        !CHECK(calls <= each * (most + THREADS)))
        fprintf(stderr, "# %s: %llu, of %llu to %llu rounds\n", name,
                (unsigned long long)calls, (unsigned long long)least,
                (unsigned long long)most);
}

/* Rounds while scopes were certainly on; the recording has at least these, and at most
 * those while they may have been on. */
static uint64_t record_threads(const char *mode)
{
    uint64_t before = rounds_now(), begun, ended, after;

    if (!CHECK_INT(tt_start(mode), 0))
        return 0;
    begun = rounds_now();
    usleep(200);
    ended = rounds_now();
    CHECK_INT(tt_stop(), 0);
    after = rounds_now();
    check_sum("outer", 1, ended - begun, after - before);
    check_sum("inner", 3, ended - begun, after - before);
    return ended - begun;
}

TEST(threads_run_in_scopes_that_are_switched)
{
    pthread_t thread[THREADS];
    uint64_t seen = 0;

    over = 0;
    for (int i = 0; i < THREADS; i++)
        CHECK_INT(pthread_create(&thread[i], NULL, run_scopes, NULL), 0);
    for (int i = 0, n = toggles(); (i < n || !seen) && !tap.failed; i++)
        seen += record_threads(i & 1 ? "calls" : "exact");
    __atomic_store_n(&over, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    CHECK(seen > 0);
}

/* ── Modules ──────────────────────────────────────────────────────────────────────── */

static void *open_module(void (**run)(void))
{
    char path[4096];
    void *module;

    snprintf(path, sizeof path, "%s/test/sites-module.so", getenv("TT_BUILD"));
    module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    *run = NULL;
    if (module)
        *(void **)run = dlsym(module, "run_module");
    return module;
}

TEST(what_is_loaded_is_switched_and_what_is_unloaded_is_not_missed)
{
    void (*run)(void);
    void *module;

    if (!getenv("TT_BUILD"))
        SKIP("TT_BUILD is not set");
    for (int i = 0; i < 3; i++) { /* loaded before, while, and after it is on */
        module = i == 0 ? open_module(&run) : NULL;
        CHECK_INT(tt_start("calls"), 0);
        if (i == 1)
            module = open_module(&run);
        if (i < 2 && CHECK(module && run))
            run();
        if (i == 1)
            dlclose(module);
        CHECK_INT(tt_stop(), 0);
        if (i == 2)
            module = open_module(&run);
        if (i != 1 && CHECK(module && run)) {
            run();
            dlclose(module);
        }
        CHECK_INT(visit_path("run_module").calls, i < 2);
    }
}

/* ── Refusal ──────────────────────────────────────────────────────────────────────── */

static int goes_on_without(void)
{
    if (!deny(SYS_membarrier, NULL))
        return DENIED_NOT;
    outer();
    if (tt_start("calls") != -TT_ERR_CODE ||
        !strstr(tt_error_text(-TT_ERR_CODE), "membarrier") || tt_stop() != -TT_ERR_STATE)
        return 1;
    outer();
    return 0;
}

TEST(where_the_code_cannot_be_changed_a_start_says_so)
{
    int status = in_child(goes_on_without);

    if (status == DENIED_NOT)
        SKIP("no filter of system calls can be set here");
    CHECK_INT(status, 0);
}
