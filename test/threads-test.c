/* SPDX-License-Identifier: MIT */
/* needs: internals */
/* threads-test.c - any number of threads, fibers that move between them, deep stacks. */
#include <limits.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "recorded.h"
#include "tallytree.h"
#include "tap.h"

#if defined(__SANITIZE_THREAD__) /* keeps the whole stack of every event */
enum { MOST = 1000, SMALL_STACK = 1 << 20, DEEP = 1000000, SCOPES = 3000 };
enum { ROUNDS = PTHREAD_DESTRUCTOR_ITERATIONS - 1 }; /* in the last one it ends threads */
#elif defined(__SANITIZE_ADDRESS__)
enum { MOST = 2000, SMALL_STACK = 256 << 10, DEEP = 10000000, SCOPES = 1000000 };
#else
enum { MOST = 10000, SMALL_STACK = 64 << 10, DEEP = 10000000, SCOPES = 1000000 };
#endif
#if !defined(__SANITIZE_THREAD__)
enum { ROUNDS = PTHREAD_DESTRUCTOR_ITERATIONS };
#endif
enum { FEW = 1000, CALLS = 10, GROUP = 50 };

/* How many threads: all of them only with TT_LONG in the environment. */
static int count_threads(void) { return tap_is_long() ? MOST : FEW; }

static struct {
    pthread_mutex_t lock;
    pthread_cond_t came,
        opened; /* two: or each thread that comes would wake all others */
    int waiting, go;
} gate = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER,
          0, 0};

static void call_some(void)
{
    for (int i = 0; i < CALLS; i++) {
        TT_SCOPE("scope");
        tt_pop(tt_push(tt_block_get("block", "", 0, 0)));
    }
}

static int start_thread(pthread_t *thread, void *(*run)(void *), void *arg, size_t stack)
{
    pthread_attr_t attributes;
    int error;

    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, stack);
    error = pthread_create(thread, &attributes, run, arg);
    pthread_attr_destroy(&attributes);
    return error;
}

/* Nothing is gone that is not counted as lost. */
static void check_counts(uint64_t calls)
{
    struct recorded r = recorded_here();
    uint64_t scope, block, lost;

    if (CHECK_INT(r.error, 0)) {
        scope = recorded_calls(&r, "scope");
        block = recorded_calls(&r, "block");
        lost = recorded_lost_pushes(&r) + r.picture.header->lost_calls;
        CHECK(scope <= calls && block <= calls);
        CHECK_INT(scope + block + lost, 2 * calls);
    } else {
        fprintf(stderr, "# %s\n", r.picture.error);
    }
    recorded_free(&r);
}

static int expects_losses;

static void check_nothing_lost(void)
{
    struct recorded r = recorded_here();

    if (!r.error && !expects_losses)
        CHECK_INT(recorded_lost_pushes(&r) + r.picture.header->lost_calls, 0);
    recorded_free(&r);
}

/* ── At once ──────────────────────────────────────────────────────────────────────── */

static void *stand_in_line(void *arg)
{
    call_some();
    pthread_mutex_lock(&gate.lock);
    gate.waiting++;
    pthread_cond_signal(&gate.came);
    while (!gate.go)
        pthread_cond_wait(&gate.opened, &gate.lock);
    pthread_mutex_unlock(&gate.lock);
    call_some();
    return arg;
}

static const char *run_at_once(const char *options)
{
    static pthread_t thread[MOST];
    const int many = count_threads();
    int started = 0;

    gate.waiting = gate.go = 0;
    CHECK_INT(tt_start(options), 0);
    while (started < many &&
           start_thread(&thread[started], stand_in_line, NULL, SMALL_STACK) == 0)
        started++;
    pthread_mutex_lock(&gate.lock);
    while (gate.waiting < started)
        pthread_cond_wait(&gate.came, &gate.lock);
    pthread_mutex_unlock(&gate.lock);
    check_counts((uint64_t)started * CALLS);
    pthread_mutex_lock(&gate.lock);
    gate.go = 1;
    pthread_cond_broadcast(&gate.opened);
    pthread_mutex_unlock(&gate.lock);
    for (int i = 0; i < started; i++)
        pthread_join(thread[i], NULL);
    check_counts((uint64_t)started * CALLS * 2);
    check_nothing_lost();
    CHECK_INT(tt_stop(), 0);
    check_counts((uint64_t)started * CALLS * 2);
    return started < many ? "the machine does not allow so many threads" : NULL;
}

TEST(many_threads_at_once_are_counted_in_mode_calls)
{
    const char *why = run_at_once("calls");
    if (why)
        SKIP(why);
}

TEST(many_threads_at_once_are_counted_in_mode_exact)
{
    const char *why = run_at_once("exact");
    if (why)
        SKIP(why);
}

TEST(many_threads_at_once_fit_into_a_tiny_budget)
{
    const char *why;

    expects_losses = 1;
    why = run_at_once("calls,budget=1M");
    expects_losses = 0;
    if (why)
        SKIP(why);
}

/* ── One after the other ──────────────────────────────────────────────────────────── */

static void *call_and_end(void *arg)
{
    char name[16];

    snprintf(name, sizeof name, "worker %d", *(int *)arg % 3);
    tt_thread_name(name);
    call_some();
    return NULL;
}

static void run_in_groups(const char *options)
{
    pthread_t thread[GROUP];
    const int many = count_threads();
    int number[GROUP];

    CHECK_INT(tt_start(options), 0);
    for (int i = 0; i < many / GROUP; i++) {
        for (int j = 0; j < GROUP; j++) {
            number[j] = j;
            if (!CHECK_INT(
                    start_thread(&thread[j], call_and_end, &number[j], SMALL_STACK), 0))
                return;
        }
        for (int j = 0; j < GROUP; j++)
            pthread_join(thread[j], NULL);
    }
    check_counts((uint64_t)many * CALLS);
    check_nothing_lost();
    CHECK_INT(tt_stop(), 0);
}

static uint64_t count_members(const char *name)
{
    struct recorded r = recorded_here();
    uint64_t members = 0;

    for (uint32_t i = 0; !r.error && i < r.picture.strands; i++)
        if (strcmp(r.picture.strand[i]->name, name) == 0)
            members += r.picture.strand[i]->members;
    recorded_free(&r);
    return members;
}

TEST(many_short_threads_are_counted_in_mode_calls) { run_in_groups("calls"); }
TEST(many_short_threads_are_counted_in_mode_exact) { run_in_groups("exact,histogram"); }
TEST(many_short_threads_become_rows_under_a_small_budget)
{
    run_in_groups("exact,budget=1M");
    CHECK_INT(count_members("worker 0") + count_members("worker 1") +
                  count_members("worker 2"),
              (uint64_t)count_threads());
}
TEST(many_short_threads_fit_into_the_tiniest_budget)
{
    expects_losses = 1;
    run_in_groups("calls,budget=128K");
    run_in_groups("exact,budget=64nodes");
    expects_losses = 0;
}

static void *name_itself(void *arg)
{
    tt_thread_name(arg);
    call_some();
    return NULL;
}

TEST(threads_are_known_by_their_names)
{
    static char name[80] = "a name of more than thirty-one bytes, which is cut";
    pthread_t thread;

    CHECK_INT(tt_start("calls"), 0);
    call_some();
    CHECK_INT(start_thread(&thread, name_itself, name, SMALL_STACK), 0);
    pthread_join(thread, NULL);
    CHECK_INT(count_members("main"), 1);
    name[31] = '\0';
    CHECK_INT(count_members(name), 1);
    CHECK_INT(tt_stop(), 0);
}

/* ── Fibers ───────────────────────────────────────────────────────────────────────── */

enum { FIBERS = 64, DRIVERS = 4, SWITCHES = 2000 };
static struct {
    tt_fiber *fiber;
    tt_mark mark[4];
    int depth, taken;
} fibers[FIBERS];
static tt_block fiber_block[4];
static uint64_t fiber_pushes[4];

/* Takes whichever fiber is free, goes one step up or down its stack, and leaves it. */
static void *drive(void *seed)
{
    uint32_t dice = *(uint32_t *)seed;

    for (int i = 0; i < SWITCHES; i++) {
        uint32_t n = (dice = dice * 1664525u + 1013904223u) >> 16;
        n %= FIBERS;
        if (__atomic_exchange_n(&fibers[n].taken, 1, __ATOMIC_ACQUIRE))
            continue;
        TT_SCOPE("driver");
        tt_fiber_switch(fibers[n].fiber);
        if (fibers[n].depth == 4 || (fibers[n].depth && dice & 0x8000)) {
            tt_pop(fibers[n].mark[--fibers[n].depth]);
        } else {
            int depth = fibers[n].depth++;
            fibers[n].mark[depth] = tt_push(fiber_block[depth]);
            __atomic_fetch_add(&fiber_pushes[depth], 1, __ATOMIC_RELAXED);
        }
        tt_fiber_switch(NULL);
        __atomic_store_n(&fibers[n].taken, 0, __ATOMIC_RELEASE);
    }
    return NULL;
}

static void move_fibers(const char *options)
{
    static const char *const names[] = {"f0", "f1", "f2", "f3"};
    uint32_t seed[DRIVERS];
    pthread_t thread[DRIVERS];
    struct recorded r;

    CHECK_INT(tt_start(options), 0);
    for (int i = 0; i < 4; i++)
        fiber_block[i] = tt_block_get(names[i], "", 0, 0);
    memset(fiber_pushes, 0, sizeof fiber_pushes);
    memset(fibers, 0, sizeof fibers);
    for (int i = 0; i < FIBERS; i++)
        fibers[i].fiber = tt_fiber_new();
    for (uint32_t i = 0; i < DRIVERS; i++) {
        seed[i] = i;
        start_thread(&thread[i], drive, &seed[i], 1 << 20);
    }
    for (int i = 0; i < DRIVERS; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; i < FIBERS; i++)
        tt_fiber_free(fibers[i].fiber);
    r = recorded_here();
    if (CHECK_INT(r.error, 0))
        for (int i = 0; i < 4; i++)
            CHECK_INT(recorded_calls(&r, names[i]), fiber_pushes[i]);
    /* A fiber has the same path in every thread. */
    for (uint32_t i = 0; !r.error && i < r.picture.contexts; i++)
        if (r.picture.context[i].depth > 1)
            CHECK(strcmp(r.picture.block[r.picture.context[i].block].info.name, "f0") !=
                  0);
    recorded_free(&r);
    CHECK_INT(tt_stop(), 0);
}

TEST(fibers_keep_their_stacks_on_every_thread_in_mode_calls) { move_fibers("calls"); }
TEST(fibers_keep_their_stacks_on_every_thread_in_mode_exact) { move_fibers("exact"); }
TEST(fibers_keep_their_stacks_under_a_tiny_budget)
{
    move_fibers("exact,budget=128nodes");
}

/* ── Deep stacks ──────────────────────────────────────────────────────────────────── */

static void push_deep(const char *options, int count, uint32_t blocks)
{
    const uint32_t frames = (uint32_t)count;
    tt_block block[2] = {tt_block_get("even", "", 0, 0), tt_block_get("odd", "", 0, 0)};
    struct recorded r;
    tt_mark base, mark;

    CHECK_INT(tt_start(options), 0);
    tt_thread_name("deep"); /* a mark is of a stack: now there is one */
    base = tt_mark_get();
    mark = tt_push(block[0]);
    for (uint32_t i = 1; i < frames; i++)
        tt_push(block[i % blocks]);
    tt_pop(mark);
    CHECK(tt_mark_get() == base);
    r = recorded_here();
    CHECK_INT(r.error, 0);
    CHECK_INT(recorded_calls(&r, "even") + recorded_lost_pushes(&r), frames / blocks);
    CHECK_INT(recorded_calls(&r, "odd"), blocks == 2 ? frames / 2 : 0);
    CHECK_INT(recorded_lost_pushes(&r), 0);
    recorded_free(&r);
    CHECK_INT(tt_stop(), 0);
}

TEST(millions_of_frames_of_one_block) { push_deep("calls", tap_times(DEEP), 1); }
TEST(millions_of_frames_of_two_blocks) { push_deep("calls", tap_times(DEEP), 2); }
TEST(millions_of_timed_frames_of_one_block) { push_deep("exact", tap_times(DEEP), 1); }
TEST(millions_of_timed_frames_of_two_blocks) { push_deep("exact", tap_times(DEEP), 2); }
TEST(two_million_frames_without_folding_fill_the_budget_and_no_more)
{
    push_deep("calls,recursion=none,budget=1M", 2000000, 2);
}

static __attribute__((noinline)) int enter_deep(int depth)
{
    TT_SCOPE("deep");
    return depth ? enter_deep(depth - 1) + 1 : 0;
}

static void *enter_deeply(void *arg)
{
    *(int *)arg = enter_deep(SCOPES - 1);
    return NULL;
}

TEST(a_million_scopes_one_in_the_other)
{
    static const char *const options[] = {"calls", "exact"};
    pthread_t thread;
    struct recorded r;
    int depth = 0;

    for (int i = 0; i < 2; i++) {
        CHECK_INT(tt_start(options[i]), 0);
        if (start_thread(&thread, enter_deeply, &depth, (size_t)SCOPES << 10) != 0) {
            tt_stop();
            SKIP("this machine gives no stack of 1 GB");
        }
        pthread_join(thread, NULL);
        CHECK_INT(depth, SCOPES - 1);
        r = recorded_here();
        CHECK_INT(recorded_calls(&r, "deep"), SCOPES);
        recorded_free(&r);
        CHECK_INT(tt_stop(), 0);
    }
}

static pthread_key_t last_key;

/* Waits for the last round of destructors, as allocators do. */
static void call_last(void *round)
{
    if ((uintptr_t)round < ROUNDS)
        pthread_setspecific(last_key, (char *)round + 1);
    else
        call_some();
}

/* `arg`: no call before its end. */
static void *end_late(void *arg)
{
    pthread_setspecific(last_key, (void *)1);
    if (!arg)
        call_some();
    return arg;
}

static void call_first(void *round)
{
    (void)round;
    call_some();
}

/* Of each thread, all memory is unmapped before the recording stops. */
TEST(threads_call_only_while_they_end)
{
    const size_t size = 1 << 20;
    struct recorded r;

    CHECK_INT(tt_start("calls"), 0);
    CHECK_INT(pthread_key_create(&last_key, call_first), 0);
    for (int i = 0; i < 5; i++) {
        void *stack = mmap(NULL, size, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        pthread_attr_t a;
        pthread_t thread;
        pthread_attr_init(&a);
        CHECK_INT(pthread_attr_setstack(&a, stack, size), 0);
        CHECK_INT(pthread_create(&thread, &a, end_late, &r), 0);
        pthread_join(thread, NULL);
        munmap(stack, size);
        pthread_attr_destroy(&a);
    }
    r = recorded_here();
    CHECK_INT(recorded_calls(&r, "block"), 5 * CALLS);
    recorded_free(&r);
    CHECK_INT(tt_stop(), 0);
    pthread_key_delete(last_key);
}

/* The program's key is older than the runtime's, or younger: its destructor is the first or
 * the last in a round. */
TEST(threads_call_while_they_end)
{
    pthread_t thread;
    struct recorded r;

    for (int i = 0; i < 2; i++) {
        CHECK_INT(pthread_key_create(&last_key, call_last), 0);
        CHECK_INT(tt_start("calls"), 0);
        CHECK_INT(start_thread(&thread, end_late, NULL, 1 << 20), 0);
        pthread_join(thread, NULL);
        r = recorded_here();
        CHECK(recorded_calls(&r, "block") >= CALLS);
        CHECK(recorded_calls(&r, "block") <= 2 * CALLS);
        recorded_free(&r);
        CHECK_INT(tt_stop(), 0);
        pthread_key_delete(last_key);
    }
}
