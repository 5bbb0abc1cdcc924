/* SPDX-License-Identifier: MIT */
/* switch-test.c - functions switched on and off: their counts, against an oracle.
 *
 * Each function counts itself, in its thread; what was recorded of it while it was on for
 * certain must be the same. */
#include <execinfo.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "tallytree-switch.h"
#include "tap.h"

/* T: its last call is a jump.  F: the oracle counts its callees. */
#define T __attribute__((noinline, patchable_function_entry(5)))
#ifdef __clang__
#define F T __attribute__((disable_tail_calls))
#else
#define F T __attribute__((noclone, optimize("no-optimize-sibling-calls")))
#endif

static volatile int sink, zero;
static uint64_t called; /* of all functions here */
#define COUNT() __atomic_fetch_add(&called, 1, __ATOMIC_RELAXED)

struct figures {
    uint64_t calls, timed;
    size_t depth;
};

static int add(const struct tt_visited *v, void *arg)
{
    struct figures *f = arg;

    if (v->block.kind == TT_KIND_FUNCTION && v->depth) {
        f->calls += v->calls;
        f->timed += v->activations;
        f->depth = v->depth > f->depth ? v->depth : f->depth;
    }
    return 0;
}

static struct figures recorded(void)
{
    struct figures f = {0, 0, 0};

    (void)tt_visit(add, &f);
    return f;
}

static int begin(const char *options)
{
    called = 0;
    return CHECK_INT(tt_start(options), 0) & CHECK_INT(tt_functions_on(NULL, NULL), 0);
}

static struct figures end(void)
{
    struct figures f;

    CHECK_INT(tt_functions_off(NULL), 0);
    f = recorded();
    CHECK_INT(tt_stop(), 0);
    return f;
}

/* ── Calls ────────────────────────────────────────────────────────────────────────── */

F static int leaf(int x)
{
    COUNT();
    return x + zero;
}
F static int twice(int x)
{
    COUNT();
    return leaf(x) + leaf(x + 1);
}
F static int fib(int n)
{
    COUNT();
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

TEST(nothing_is_counted_until_it_is_switched_on)
{
    CHECK_INT(tt_start("hooks=calls"), 0);
    sink = twice(1);
    CHECK_INT(recorded().calls, 0);
    CHECK_INT(tt_stop(), 0);
}

TEST(calls_are_counted_while_it_is_on)
{
    struct tt_switched s;

    CHECK_INT(tt_start("hooks=calls"), 0);
    CHECK_INT(tt_functions_on(NULL, &s), 0);
    CHECK(s.on >= 3 && s.on == s.sites);
    CHECK(s.reason == NULL);
    for (int i = 0; i < 100; i++)
        sink = twice(i) & 1;
    CHECK_INT(recorded().calls, 300);
    CHECK_INT(tt_functions_off(&s), 0);
    CHECK_INT(s.on, 0);
    sink = twice(1);
    CHECK_INT(recorded().calls, 300);
    CHECK_INT(tt_stop(), 0);
}

TEST(recursion_is_counted_in_every_mode)
{
    static const char *const modes[] = {"hooks=calls", "hooks=exact", "hooks=every=16",
                                        "scopes=calls,hooks=exact"};

    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        if (!begin(modes[i]))
            return;
        CHECK_INT(fib(20), 6765);
        CHECK_INT(end().calls, called);
    }
}

/* For `twice`, and for the function that it calls at two places: the first call, and each
 * eighth. */
TEST(each_nth_call_is_timed)
{
    struct figures f;

    if (!begin("hooks=every=8"))
        return;
    for (int i = 0; i < 1000; i++)
        sink = twice(i) & 1;
    f = end();
    CHECK_INT(f.calls, 3000);
    CHECK_INT(f.timed, 1 + 1000 / 8 + 1 + 2000 / 8);
}

/* All calls but those from here go through one arc, which leads back. */
TEST(each_nth_call_is_timed_where_recursion_is_cut)
{
    struct figures f;

    if (!begin("hooks=every=16,recursion=block"))
        return;
    for (int i = 0; i < 100; i++)
        CHECK_INT(fib(8), 21);
    f = end();
    CHECK_INT(f.calls, called);
    CHECK_INT(f.timed, 1 + 100 / 16 + 1 + (called - 100) / 16);
}

TEST(what_is_only_sampled_is_not_counted)
{
    if (!begin("hooks=sampled"))
        return;
    CHECK_INT(fib(20), 6765);
    CHECK_INT(end().calls, 0);
}

TEST(only_those_of_a_name_are_switched_on)
{
    struct tt_switched s;

    CHECK_INT(tt_start("hooks=calls"), 0);
    CHECK_INT(tt_functions_on("tw?ce", &s), 0);
    CHECK_INT(s.on, 1);
    sink = twice(3) & 1;
    CHECK_INT(recorded().calls, 1);
    CHECK_INT(tt_functions_on("lea*", &s), 0);
    CHECK_INT(s.on, 1);
    sink = twice(3) & 1;
    CHECK_INT(recorded().calls, 3);
    CHECK_INT(tt_functions_on("nobody", &s), -TT_ERR_STATE);
    CHECK_STR(s.reason, "no function has such a name");
    CHECK_INT(s.on, 0);
    CHECK_INT(tt_functions_off(NULL), 0);
    CHECK_INT(tt_stop(), 0);
}

TEST(functions_are_switched_where_nothing_is_recorded)
{
    CHECK_INT(tt_functions_on(NULL, NULL), 0);
    CHECK_INT(fib(10), 55);
    CHECK_INT(tt_functions_off(NULL), 0);
}

/* ── Arguments and results ────────────────────────────────────────────────────────── */

typedef float eight __attribute__((vector_size(32)));
struct large {
    long word[9];
};

F static double sum(int n, ...)
{
    va_list list;
    double total = 0;

    va_start(list, n);
    for (int i = 0; i < n; i++)
        total += i & 1 ? va_arg(list, double) : (double)va_arg(list, int);
    va_end(list);
    return total;
}
F static struct large fill(long a, long b, long c, long d, long e, long f, long g, long h,
                           struct large from)
{
    struct large l = {{a, b, c, d, e, f, g, h, from.word[8]}};

    return l;
}
F static __int128 wide(__int128 x, double y) { return x * 3 + (int)y; }
F static long double longer(long double x, float y) { return x * 2 + (long double)y; }
F static _Complex double turned(_Complex double x) { return x * 2.0; }

/* With and without a first call's way, in each mode. */
static void check_values(void)
{
    struct large l = {{1, 2, 3, 4, 5, 6, 7, 8, 99}};

    for (int i = 0; i < 3; i++) {
        l = fill(1, 2, 3, 4, 5, 6, 7, 8 + i, l);
        CHECK_INT(l.word[7], 8 + i);
        CHECK_INT(l.word[8], 99);
        CHECK(sum(4, 1, 2.5, 3, 4.5) == 11);
        CHECK(wide((__int128)1 << 100, 7.5) == ((__int128)3 << 100) + 7);
        CHECK(longer(1.25L, 3.0f) == 5.5L);
        CHECK(__real__ turned(1.5) == 3);
    }
}

TEST(arguments_and_results_of_all_kinds_are_kept)
{
    static const char *const modes[] = {"hooks=calls", "hooks=exact", "hooks=sampled",
                                        "hooks=every=2", "exact,hooks=exact,histogram"};

    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        if (!begin(modes[i]))
            return;
        check_values();
        (void)end();
    }
}

F __attribute__((target("avx"))) static eight widest(eight a, eight b) { return a + b; }

__attribute__((target("avx"))) static float check_widest(void)
{
    eight a = {1, 2, 3, 4, 5, 6, 7, 8}, b = {8, 7, 6, 5, 4, 3, 2, 1}, c = {0};

    for (int i = 0; i < 3; i++)
        c += widest(a, b);
    return c[0] + c[7];
}

TEST(the_upper_halves_of_vectors_are_kept)
{
    if (!__builtin_cpu_supports("avx"))
        SKIP("this processor has no such vectors");
    if (!begin("hooks=exact"))
        return;
    CHECK(check_widest() == 54);
    (void)end();
    if (!begin("hooks=calls"))
        return;
    CHECK(check_widest() == 54);
    (void)end();
    if (!begin("hooks=every=2"))
        return;
    CHECK(check_widest() == 54);
    (void)end();
}

/* All that a compiler may rely on when it knows what a function changes. */
static uint64_t lose(const char *options)
{
    uint64_t lost = 0;

    if (!begin(options))
        return 1;
    for (int i = 0; i < 4; i++)
        __asm__ volatile(
            "movq $1, %%rax\n\tmovq $2, %%rcx\n\tmovq $3, %%rdx\n\tmovq $4, %%rsi\n\t"
            "movq $5, %%r8\n\tmovq $6, %%r9\n\tmovq $7, %%r10\n\tmovq $8, %%r11\n\t"
            "movq $9, %%rdi\n\tmovq %%rsp, %%rbx\n\tandq $-16, %%rsp\n\tcall *%1\n\t"
            "movq %%rbx, %%rsp\n\t"
            "subq $2, %%rcx\n\tsubq $3, %%rdx\n\tsubq $4, %%rsi\n\tsubq $5, %%r8\n\t"
            "subq $6, %%r9\n\tsubq $7, %%r10\n\tsubq $8, %%r11\n\tsubq $9, %%rdi\n\t"
            "orq %%rcx, %0\n\torq %%rdx, %0\n\torq %%rsi, %0\n\torq %%rdi, %0\n\t"
            "orq %%r8, %0\n\torq %%r9, %0\n\torq %%r10, %0\n\torq %%r11, %0"
            : "+r"(lost)
            : "r"((void (*)(void))leaf)
            : "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11",
              "memory", "cc");
    (void)end();
    return lost;
}

TEST(no_register_is_lost)
{
    CHECK_INT(lose("hooks=calls"), 0);
    CHECK_INT(lose("hooks=every=2"), 0);
}

/* ── Ways out ─────────────────────────────────────────────────────────────────────── */

static jmp_buf back;

F static void jump(int depth)
{
    COUNT();
    if (depth == zero)
        longjmp(back, 1);
    if (depth > zero)
        jump(depth - 1);
    sink = 0;
}
F static int catch_jump(int depth)
{
    COUNT();
    if (setjmp(back) == 0)
        jump(depth);
    return leaf(depth);
}

TEST(longjmp_goes_through_and_leaves_the_tree_right)
{
    struct figures f;

    for (int mode = 0; mode < 2; mode++) {
        if (!begin(mode ? "hooks=exact" : "hooks=calls"))
            return;
        for (int i = 0; i < 1000; i++)
            CHECK_INT(catch_jump(i % 7), i % 7);
        f = end();
        CHECK_INT(f.calls, called);
        CHECK(f.depth < 12);
    }
}

TEST(longjmp_goes_through_what_is_switched_meanwhile)
{
    CHECK_INT(tt_start("hooks=calls"), 0);
    for (int i = 0; i < 500; i++) {
        if (setjmp(back) == 0) {
            CHECK_INT(tt_functions_on(NULL, NULL), 0);
            jump(i % 5);
        }
        CHECK_INT(tt_functions_off(NULL), 0);
        CHECK_INT(catch_jump(3), 3);
    }
    CHECK_INT(tt_stop(), 0);
}

/* What is on the stack when it goes off returns all the same, and the reverse. */
F static int around(int depth, int on)
{
    COUNT();
    if (depth)
        return around(depth - 1, on) + 1;
    if (on)
        CHECK_INT(tt_functions_on(NULL, NULL), 0);
    else
        CHECK_INT(tt_functions_off(NULL), 0);
    return leaf(0);
}

TEST(what_is_running_returns_when_it_is_switched)
{
    for (int round = 0; round < 3; round++) {
        if (!begin("hooks=calls"))
            return;
        CHECK_INT(around(9, 0), 0 + 9);
        CHECK_INT(around(9, 1), 0 + 9);
        CHECK_INT(around(9, 0), 0 + 9);
        CHECK_INT(tt_stop(), 0);
        CHECK_INT(around(9, 1), 0 + 9);
        CHECK_INT(tt_functions_off(NULL), 0);
    }
}

TEST(what_is_running_returns_when_the_recording_ends)
{
    if (!begin("hooks=calls"))
        return;
    CHECK_INT(around(3, 1), 3);
    CHECK_INT(tt_stop(), 0);
    CHECK_INT(around(3, 1), 3);
    CHECK_INT(tt_start("hooks=exact"), 0);
    CHECK_INT(around(3, 1), 3);
    (void)end();
}

T static int last(int n)
{
    COUNT();
    return n;
}
T static int middle(int n)
{
    COUNT();
    return last(n + 1);
}
T static int even(int n);
T static int odd(int n)
{
    COUNT();
    return n == 0 ? 0 : even(n - 1);
}
T static int even(int n)
{
    COUNT();
    return n == 0 ? 1 : odd(n - 1);
}

TEST(tail_calls_are_counted_and_take_no_room)
{
    struct figures f;

    for (int mode = 0; mode < 2; mode++) {
        if (!begin(mode ? "hooks=exact" : "hooks=calls"))
            return;
        for (int i = 0; i < 10; i++)
            CHECK_INT(middle(i), i + 1);
        CHECK_INT(even(100000), 1);
        f = end();
        CHECK_INT(f.calls, called);
        CHECK(f.depth <= 4);
    }
}

/* ── Signals ──────────────────────────────────────────────────────────────────────── */

static volatile int handled;

F static void handler(int number)
{
    COUNT();
    (void)number;
    handled += leaf(1) && twice(2);
}

/* What is interrupted loses no call; of a handler's own those are lost that come while the
 * profiler is busy.  Returns how many of them were counted. */
static uint64_t check_handled(uint64_t calls, uint64_t own)
{
    CHECK(calls >= own);
    CHECK(calls <= __atomic_load_n(&called, __ATOMIC_RELAXED));
    return calls >= own ? calls - own : 1;
}

TEST(signal_handlers_are_counted_on_their_own_stacks_too)
{
    static char stack[64 << 10];
    const stack_t other = {.ss_sp = stack, .ss_size = sizeof stack},
                  none = {.ss_flags = SS_DISABLE};
    struct sigaction action = {.sa_handler = handler}, old;
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    struct itimerspec often = {{0, 200000}, {0, 200000}};
    enum { OWN = 1973 + 8 }; /* calls in a round, without the handlers' */
    uint64_t more;

    for (int on_stack = 0; on_stack < 2; on_stack++) {
        action.sa_flags = on_stack ? SA_ONSTACK : 0;
        CHECK_INT(sigaltstack(&other, NULL), 0);
        CHECK_INT(sigaction(SIGUSR1, &action, &old), 0);
        CHECK_INT(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
        CHECK_INT(timer_settime(timer, 0, &often, NULL), 0);
        more = 0;
        for (int i = 0; (i < 50 || !more) && !tap.failed; i++) {
            if (!begin(i & 1 ? "hooks=exact" : "hooks=calls"))
                return;
            CHECK_INT(fib(15), 610);
            CHECK_INT(catch_jump(5), 5);
            more += check_handled(end().calls, OWN);
        }
        CHECK_INT(timer_delete(timer), 0);
        CHECK_INT(sigaction(SIGUSR1, &old, NULL), 0);
        CHECK_INT(sigaltstack(&none, NULL), 0);
    }
}

/* ── Stacks ───────────────────────────────────────────────────────────────────────── */

static ucontext_t main_context, coroutine[2];

F static int yield(int self, int depth)
{
    COUNT();
    if (depth)
        return yield(self, depth - 1) + 1;
    swapcontext(&coroutine[self], &main_context);
    return leaf(0);
}

F static void run_coroutine(int self)
{
    COUNT();
    for (int i = 0; i < 300; i++)
        CHECK_INT(yield(self, i % (5 + self)), i % (5 + self));
}

TEST(coroutines_on_stacks_of_their_own_find_back)
{
    enum { SIZE = 256 << 10 };
    char *stack = malloc(2 * SIZE);
    struct figures f;

    if (!CHECK(stack) || !begin("hooks=calls"))
        return;
    for (int i = 0; i < 2; i++) {
        CHECK_INT(getcontext(&coroutine[i]), 0);
        coroutine[i].uc_stack.ss_sp = stack + i * SIZE;
        coroutine[i].uc_stack.ss_size = SIZE;
        coroutine[i].uc_link = &main_context;
        makecontext(&coroutine[i], (void (*)(void))run_coroutine, 1, i);
    }
    for (int i = 0; i < 301; i++)
        for (int c = 0; c < 2; c++) {
            CHECK_INT(swapcontext(&main_context, &coroutine[c]), 0);
            CHECK_INT(twice(1), 3);
        }
    f = end();
    CHECK_INT(f.calls, called);
    free(stack);
}

F static int trace(void **frame, int depth)
{
    int n;

    if (depth) {
        n = trace(frame, depth - 1);
        sink = 0;
        return n;
    }
    n = backtrace(frame, 32);
    sink = 0;
    return n;
}

TEST(unwinders_see_whole_stacks)
{
    void *off[32], *on[32];
    int n = trace(off, 5), m;

    if (!begin("hooks=calls"))
        return;
    m = trace(on, 5);
    (void)end();
    CHECK(n > 8);
    CHECK_INT(m, n + 6); /* the thunks */
    CHECK(m > 2 && n > 2 && on[m - 1] == off[n - 1] && on[m - 2] == off[n - 2]);
}

/* ── Threads ──────────────────────────────────────────────────────────────────────── */

enum { THREADS = 8 };
static int stop;

static void *work(void *arg)
{
    do {
        CHECK_INT(fib(8), 21);
        CHECK_INT(even(9), 0);
        CHECK_INT(twice(5), 11);
        check_values();
    } while (!__atomic_load_n(&stop, __ATOMIC_RELAXED));
    return arg;
}

/* $TT_TOGGLES: number of rounds, for a longer test. */
TEST(threads_run_while_functions_are_switched)
{
    const char *wanted = getenv("TT_TOGGLES");
    int toggles = wanted ? atoi(wanted) / 2 : 150;
    pthread_t thread[THREADS];
    uint64_t before, after;
    struct figures f;

    stop = 0;
    CHECK_INT(tt_start("hooks=calls"), 0);
    for (int i = 0; i < THREADS; i++)
        CHECK_INT(pthread_create(&thread[i], NULL, work, NULL), 0);
    for (int i = 0; i < toggles; i++) {
        CHECK_INT(tt_functions_on(i % 3 ? NULL : "*e*", NULL), 0);
        CHECK_INT(tt_functions_off(NULL), 0);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    before = recorded().calls;
    called = 0;
    CHECK_INT(tt_functions_on(NULL, NULL), 0);
    CHECK_INT(fib(12), 144);
    CHECK_INT(tt_functions_off(NULL), 0);
    f = recorded();
    after = f.calls;
    CHECK_INT(after - before, called);
    CHECK(f.depth < 20);
    CHECK_INT(tt_stop(), 0);
}

static void *count_on(void *arg)
{
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
        CHECK_INT(fib(8), 21);
    return arg;
}

static uint64_t called_now(void) { return __atomic_load_n(&called, __ATOMIC_SEQ_CST); }

/* Counts calls while functions were certainly on; the recording of each period has at
 * least these, and at most those while they may have been on.  A thread may have reported
 * one half of a call, and be late with that of an earlier period. */
static uint64_t check_once(void)
{
    uint64_t recorded_before = recorded().calls, before = called_now(), begun, ended,
             after, calls;

    CHECK_INT(tt_functions_on(NULL, NULL), 0);
    begun = called_now();
    usleep(100);
    ended = called_now();
    CHECK_INT(tt_functions_off(NULL), 0);
    after = called_now();
    calls = recorded().calls - recorded_before;
    CHECK(calls + 2 * THREADS >= ended - begun);
    CHECK(calls <= after - before + 2 * THREADS);
    return ended - begun;
}

TEST(each_time_that_it_is_on_counts_what_is_called)
{
    const char *wanted = getenv("TT_TOGGLES");
    int toggles = wanted ? atoi(wanted) / 2 : 50;
    pthread_t thread[THREADS];
    uint64_t seen = 0;

    stop = 0;
    CHECK_INT(tt_start("hooks=calls"), 0);
    for (int i = 0; i < THREADS; i++)
        CHECK_INT(pthread_create(&thread[i], NULL, count_on, NULL), 0);
    for (int i = 0; (i < toggles || !seen) && !tap.failed; i++)
        seen += check_once();
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    CHECK_INT(tt_stop(), 0);
    CHECK(seen > 0);
}

static void *work_once(void *arg)
{
    CHECK_INT(fib(10), 55);
    return arg;
}

TEST(every_call_of_every_thread_is_counted)
{
    pthread_t thread[THREADS];
    struct figures f;

    if (!begin("hooks=calls"))
        return;
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < THREADS; i++)
            CHECK_INT(pthread_create(&thread[i], NULL, work_once, NULL), 0);
        for (int i = 0; i < THREADS; i++)
            pthread_join(thread[i], NULL);
    }
    f = end();
    CHECK_INT(f.calls, called);
}

F static void exit_thread(int depth)
{
    if (depth == zero)
        pthread_exit(NULL);
    if (depth > zero)
        exit_thread(depth - 1);
    sink = 0;
}

static void *exit_within(void *arg)
{
    exit_thread(4);
    return arg;
}

TEST(a_thread_may_end_within_functions)
{
    pthread_t thread;

    if (!begin("hooks=calls"))
        return;
    for (int i = 0; i < 20; i++) {
        CHECK_INT(pthread_create(&thread, NULL, exit_within, NULL), 0);
        pthread_join(thread, NULL);
    }
    (void)end();
}

F static int child(void) { return fib(10) == 55 ? 7 : 1; }

TEST(a_child_of_fork_goes_on)
{
    int status;
    pid_t pid;

    if (!begin("hooks=calls"))
        return;
    for (int i = 0; i < 10; i++) {
        pid = fork();
        if (pid == 0)
            _exit(child());
        CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
        CHECK_INT(WEXITSTATUS(status), 7);
    }
    (void)end();
}
