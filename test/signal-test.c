/* SPDX-License-Identifier: MIT */
/* needs: internals */
/* signal-test.c - handlers that push, in the middle of whatever they interrupt.
 *
 * What main records is all there, whatever comes in between.  What a handler records is
 * there too, or counted as lost, when it interrupted the profiler's slow path. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>

#include "recorded.h"
#include "strand.h"
#include "tallytree.h"
#include "tap.h"

enum { BLOCKS = 40, DEPTH = 12, STACK = 1 << 20 };

static tt_block main_block[BLOCKS], handler_block;
static uint64_t scopes, pushes[BLOCKS];    /* counted by main */
static uint64_t handled, handler_attempts; /* by handlers, which interrupt each other */
static uint32_t dice_state = 1;

static uint32_t dice(uint32_t sides)
{
    dice_state = dice_state * 1664525u + 1013904223u;
    return (dice_state >> 8) % sides;
}

static void make_blocks(void)
{
    char name[16];

    for (int i = 0; i < BLOCKS; i++) {
        snprintf(name, sizeof name, "main %d", i);
        main_block[i] = tt_block_get(name, "", 0, 0);
    }
    handler_block = tt_block_get("handler push", "", 0, 0);
}

static __attribute__((noinline)) void handler_inner(void)
{
    TT_SCOPE("handler scope");
    tt_pop(tt_push(handler_block));
}

static void on_signal(int signal)
{
    (void)signal;
    __atomic_fetch_add(&handled, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&handler_attempts, 3, __ATOMIC_RELAXED);
    TT_SCOPE("handler");
    handler_inner();
}

/* Recurses and makes new contexts. */
static __attribute__((noinline)) void recurse(int depth)
{
    uint32_t i = dice(BLOCKS);
    tt_mark mark;

    TT_SCOPE("recurse");
    scopes++;
    pushes[i]++;
    mark = tt_push(main_block[i]);
    if (depth)
        recurse(depth - 1);
    tt_pop(mark);
    if (depth > 3 && dice(2))
        recurse(depth - 3);
}

static void install(int flags)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART | flags};

    sigaction(SIGALRM, &action, NULL);
    sigaction(SIGUSR1, &action, NULL);
}

static void storm(long us)
{
    struct itimerval timer = {{0, us}, {0, us}};

    setitimer(ITIMER_REAL, &timer, NULL);
}

/* For handlers that may take longer than a storm pauses. */
static void signal_once(long us)
{
    struct itimerval timer = {{0, 0}, {0, us}};

    setitimer(ITIMER_REAL, &timer, NULL);
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void check_counts(void)
{
    struct recorded r = recorded_here();
    char name[16];
    uint64_t by_handler;

    if (!CHECK_INT(r.error, 0))
        return;
    for (int i = 0; i < BLOCKS; i++) {
        snprintf(name, sizeof name, "main %d", i);
        if (!CHECK_INT(recorded_calls(&r, name), pushes[i]))
            break;
    }
    CHECK_INT(recorded_calls(&r, "recurse"), scopes);
    by_handler = recorded_calls(&r, "handler") + recorded_calls(&r, "handler scope") +
                 recorded_calls(&r, "handler push");
    CHECK_INT(by_handler + recorded_lost_pushes(&r) + r.picture.header->lost_calls,
              handler_attempts);
    CHECK(recorded_calls(&r, "handler") <= handled);
    recorded_free(&r);
}

/* Main works, and is interrupted by a timer and by its own raise. */
static void weather(const char *options, int flags)
{
    double end;

    make_blocks();
    memset(pushes, 0, sizeof pushes);
    scopes = handled = handler_attempts = 0;
    CHECK_INT(tt_start(options), 0);
    install(flags);
    storm(1000);
    end = now() + 0.1;
    for (int i = 0; i < tap_times(200) || now() < end; i++) {
        TT_SCOPE("work");
        recurse(DEPTH);
        raise(SIGUSR1);
    }
    storm(0);
    CHECK(handled > 0);
    check_counts();
    CHECK_INT(tt_stop(), 0);
    check_counts();
}

TEST(a_storm_loses_nothing_in_mode_calls) { weather("calls", 0); }
TEST(a_storm_loses_nothing_in_mode_exact) { weather("exact", 0); }
TEST(a_storm_loses_nothing_in_mode_every) { weather("every=8", 0); }
TEST(a_storm_loses_nothing_in_mode_calls_while_contexts_are_evicted)
{
    weather("calls,budget=256nodes", 0);
}
TEST(a_storm_loses_nothing_in_mode_exact_while_contexts_are_evicted)
{
    weather("exact,budget=256nodes", 0);
}
TEST(a_storm_loses_nothing_in_mode_calls_without_any_folding)
{
    weather("calls,recursion=none,budget=2M", 0);
}
TEST(a_storm_loses_nothing_where_arcs_hide_blocks)
{
    weather("exact,recursion=block,budget=1M", 0);
}

/* ── Times ────────────────────────────────────────────────────────────────────────── */

/* Uses few blocks, so that most activations take a known path. */
static void wander(int depth)
{
    tt_mark mark = tt_push(main_block[dice(6)]);

    if (depth)
        wander(depth - 1);
    tt_pop(mark);
    if (depth > 2 && dice(2))
        wander(depth - 2);
}

static uint64_t time_of(const struct tt_picture *p, const struct tt_picture_context *c)
{
    const struct tt_times *t = tt_picture_times(p, c);

    return t ? t->sum - t->recursive : 0;
}

/* A block's activations say how long it was on the true stack; and so does what was charged to
 * the contexts below it, with what arcs hid from them. */
static void check_inclusive(const struct recorded *r)
{
    for (uint32_t b = 0; b < r->picture.blocks; b++) {
        uint64_t time = 0;
        for (uint32_t i = 0; i < r->picture.contexts; i++)
            if (r->picture.context[i].block == b)
                time += time_of(&r->picture, &r->picture.context[i]);
        CHECK_INT(r->picture.block[b].inclusive, time);
    }
}

TEST(inclusive_times_are_those_of_activations_where_arcs_hide_blocks)
{
    static const char *const options[] = {"exact,recursion=block", "exact",
                                          "exact,recursion=cycle",
                                          "exact,recursion=none"};
    struct recorded r;

    make_blocks();
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        CHECK_INT(tt_start(options[i]), 0);
        for (int n = 0; n < 3000; n++)
            wander(n % 8);
        CHECK_INT(tt_stop(), 0);
        r = recorded_here();
        if (CHECK_INT(r.error, 0))
            check_inclusive(&r);
        CHECK_INT(recorded_evictions(&r), 0);
        recorded_free(&r);
    }
}

/* ── On alternate stacks ──────────────────────────────────────────────────────────── */

struct stacks {
    const char *options;
    char *alternate;
};

static void *weather_aside(void *arg)
{
    const struct stacks *s = arg;
    stack_t alternate = {.ss_sp = s->alternate, .ss_size = STACK};
    stack_t none = {.ss_flags = SS_DISABLE};
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    CHECK_INT(sigaltstack(&alternate, NULL), 0);
    weather(s->options, SA_ONSTACK);
    CHECK_INT(sigaltstack(&none, NULL), 0);
    return NULL;
}

/* The stack of the handlers above the thread's in memory, or below it. */
static void weather_on_stacks(const char *options, int above)
{
    char *memory = mmap(NULL, 2 * STACK, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct stacks s = {options, memory + (above ? STACK : 0)};
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t set, old;

    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, memory + (above ? 0 : STACK), STACK);
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &set, &old); /* the timer's signals are the thread's */
    CHECK_INT(pthread_create(&thread, &attributes, weather_aside, &s), 0);
    pthread_join(thread, NULL);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attributes);
    munmap(memory, 2 * STACK);
}

TEST(a_handler_on_a_stack_above_loses_nothing_in_mode_calls)
{
    weather_on_stacks("calls", 1);
}
TEST(a_handler_on_a_stack_above_loses_nothing_in_mode_exact)
{
    weather_on_stacks("exact", 1);
}
TEST(a_handler_on_a_stack_below_loses_nothing_in_mode_calls)
{
    weather_on_stacks("calls", 0);
}
TEST(a_handler_on_a_stack_below_loses_nothing_in_mode_exact)
{
    weather_on_stacks("exact", 0);
}
TEST(a_handler_on_a_stack_above_loses_nothing_while_contexts_are_evicted)
{
    weather_on_stacks("calls,budget=128nodes", 1);
}

/* ── What a handler may call besides ──────────────────────────────────────────────── */

static volatile int wrong_answers;

static void on_signal_call_all(int signal)
{
    int saved = errno;

    (void)signal;
    tt_sample(1);
    tt_tick(1);
    tt_context context = tt_context_capture();
    (void)tt_context_block(context);
    int error = tt_write("/nonexistent/folder/file");
    if (error != -TT_ERR_BUSY && error != -TT_ERR_FILE)
        wrong_answers = wrong_answers + 1;
    __atomic_fetch_add(&handled, 1, __ATOMIC_RELAXED);
    signal_once(1000); /* a copy may take longer than that */
    errno = saved;
}

TEST(a_handler_may_sample_tick_and_capture)
{
    struct sigaction action = {.sa_handler = on_signal_call_all, .sa_flags = SA_RESTART};
    double end;
    struct recorded r;
    uint64_t samples = 0;

    make_blocks();
    memset(pushes, 0, sizeof pushes);
    scopes = handled = 0;
    CHECK_INT(tt_start("calls,budget=256nodes,recursion=block"), 0);
    {
        TT_SCOPE("work");
        sigaction(SIGALRM, &action, NULL);
        signal_once(1000);
        end = now() + 0.3;
        while (now() < end)
            recurse(DEPTH);
        action.sa_handler = SIG_IGN;
        sigaction(SIGALRM, &action, NULL);
    }
    CHECK(handled > 0);
    r = recorded_here();
    if (CHECK_INT(r.error, 0)) {
        for (uint32_t i = 0; i < r.picture.contexts; i++)
            if (r.picture.context[i].block == UINT32_MAX)
                samples += r.picture.context[i].samples;
        for (uint32_t i = 0; i < r.picture.blocks; i++)
            samples += r.picture.block[i].samples;
        CHECK_INT(samples, handled);
        CHECK_INT(recorded_calls(&r, "recurse"), scopes);
    }
    recorded_free(&r);
    CHECK_INT(wrong_answers, 0);
    CHECK_INT(tt_stop(), 0);
}

/* Each time another one: it has to be put into the recording. */
static void on_signal_declare(int signal)
{
    char name[32];

    (void)signal;
    snprintf(name, sizeof name, "handler %d", (int)handled % 1000);
    tt_pop(tt_push(tt_block_get(name, "", 0, 0)));
    __atomic_fetch_add(&handled, 1, __ATOMIC_RELAXED);
}

TEST(a_handler_may_declare_and_push_while_its_thread_declares_and_copies)
{
    struct sigaction action = {.sa_handler = on_signal_declare, .sa_flags = SA_RESTART};
    char name[32];
    struct recorded r;
    uint64_t pushed = 0, by_handler = 0;
    double end;

    handled = 0;
    CHECK_INT(tt_start("calls"), 0);
    sigaction(SIGALRM, &action, NULL);
    storm(50);
    for (end = now() + 0.5; now() < end; pushed++) {
        snprintf(name, sizeof name, "declared %d", (int)pushed % 5000);
        tt_pop(tt_push(tt_block_get(name, "", 0, 0)));
        if (pushed % 1000 == 0)
            CHECK_INT(tt_write("/nonexistent/folder/file"), -TT_ERR_FILE);
    }
    storm(0);
    CHECK(handled > 0);
    r = recorded_here();
    if (CHECK_INT(r.error, 0)) {
        for (uint32_t i = 0; i < r.picture.blocks; i++)
            if (strncmp(r.picture.block[i].info.name, "handler", 7) == 0 ||
                strcmp(r.picture.block[i].info.name, "[other blocks]") == 0)
                by_handler += r.picture.block[i].calls;
            else if (strncmp(r.picture.block[i].info.name, "declared", 8) == 0)
                pushed -= r.picture.block[i].calls;
        CHECK_INT(pushed, 0);
        CHECK_INT(by_handler + recorded_lost_pushes(&r) + r.picture.header->lost_calls,
                  handled);
    }
    recorded_free(&r);
    CHECK_INT(tt_stop(), 0);
}

static void on_signal_charge(int signal)
{
    (void)signal;
    tt_sample(1);
    tt_tick(1);
    (void)tt_context_capture();
    __atomic_fetch_add(&handled, 1, __ATOMIC_RELAXED);
}

static __attribute__((noinline)) void stop_and_start_below(const char *options, int depth)
{
    TT_SCOPE("deep");
    if (depth) {
        stop_and_start_below(options, depth - 1);
        return;
    }
    tt_stop();
    tt_start(options);
    TT_SCOPE("again"); /* the thread gets a strand in the new recording */
}

TEST(a_handler_may_charge_while_its_thread_gets_a_strand)
{
    static const char *const options[] = {"calls", "exact"};
    struct sigaction action = {.sa_handler = on_signal_charge, .sa_flags = SA_RESTART};
    uint64_t rounds = 0;
    double end;

    handled = 0;
    CHECK_INT(tt_start(options[0]), 0);
    sigaction(SIGALRM, &action, NULL);
    storm(50);
    for (end = now() + 0.5; now() < end; rounds++)
        stop_and_start_below(options[rounds & 1], DEPTH);
    storm(0);
    CHECK(handled > 0);
    CHECK_INT(tt_stop(), 0);
}

TEST(what_is_pushed_after_a_handler_left_the_slow_path_for_good_is_counted_as_lost)
{
    struct recorded r;
    tt_block block = tt_block_get("pushed", "", 0, 0);

    CHECK_INT(tt_start("exact"), 0);
    tt_pop(tt_push(block));
    tt_self.thread->busy.work = 1; /* as longjmp leaves it */
    for (int i = 0; i < 5; i++)
        tt_pop(tt_push(block));
    tt_self.thread->busy.work = 0;
    r = recorded_here();
    CHECK_INT(recorded_calls(&r, "pushed"), 1);
    CHECK_INT(recorded_lost_pushes(&r), 5);
    recorded_free(&r);
    CHECK_INT(tt_stop(), 0);
}
