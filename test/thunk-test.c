/* SPDX-License-Identifier: MIT */
/* thunk-test.c - the way from the fast path to the slow one leaves no traces in the
 * function around it, and code that reads the stack meanwhile sees where it came from. */
#include <signal.h>
#include <ucontext.h>
#include <unwind.h>

#include "stepping.h"
#include "tap.h"
#include "visit.h"

#define NOINLINE __attribute__((noinline, noclone))
#ifdef __clang__
#undef NOINLINE
#define NOINLINE __attribute__((noinline))
#endif

static const char *const options[] = {
    "calls", "sampled", "every=2", "exact", "exact,histogram", "exact,clock=monotonic"};
enum { OPTIONS = sizeof options / sizeof *options };

/* ── Registers and the memory below the stack pointer ─────────────────────────────── */

static NOINLINE double mix(long a, long b, long c, long d, long e, long f, double x,
                           double y, double z, double u, double v, double w)
{
    TT_SCOPE("mix");
    return (double)(a + 2 * b + 4 * c + 8 * d + 16 * e + 32 * f) + x / 2 + y / 4 + z / 8 +
           u / 16 + v / 32 + w / 64;
}

static NOINLINE long double mix_long(long double x, long double y)
{
    long double z = x * y;

    TT_SCOPE("mix long");
    return z - x + y;
}

/* A leaf, as far as the compiler can see: these variables are below the stack pointer. */
static NOINLINE long sum_of_locals(long seed)
{
    volatile long local[12];
    long sum = 0;

    for (int i = 0; i < 12; i++)
        local[i] = seed << i;
    {
        TT_SCOPE("outer");
        sum = local[11];
        TT_SCOPE("inner");
        sum += local[10];
    }
    for (int i = 0; i < 10; i++)
        sum += local[i];
    return sum;
}

static void check_values(void)
{
    for (long i = 1; i < 200; i++) {
        double di = (double)i;

        if (!CHECK(mix(i, i, i, i, i, i, di, di, di, di, di, di) ==
                   63 * di + di * 63 / 64) ||
            !CHECK(mix_long((long double)i, 3) == (long double)(2 * i + 3)) ||
            !CHECK_INT(sum_of_locals(i), i * 4095))
            return;
    }
}

TEST(a_scope_keeps_the_values_of_the_function_around_it)
{
    check_values();
    for (int i = 0; i < OPTIONS; i++) {
        CHECK_INT(tt_start(options[i]), 0);
        check_values();
        CHECK_INT(tt_stop(), 0);
        check_values();
    }
}

/* ── The stack, seen from each single instruction ─────────────────────────────────── */

#if defined(__x86_64__) && defined(__GLIBC__) /* what unwinds is in its libgcc */

static volatile int steps, strays;
static volatile uintptr_t stray; /* where the last one was */

static NOINLINE long stepped(long x)
{
    TT_SCOPE("stepped");
    return x + 1;
}

static NOINLINE long step_through(long x)
{
    set_stepping(1);
    x = stepped(x);
    set_stepping(0);
    return x + 1;
}

struct walk {
    int frames, found;
};

static _Unwind_Reason_Code look_at_frame(struct _Unwind_Context *context, void *arg)
{
    struct walk *walk = arg;
    void *function = _Unwind_FindEnclosingFunction((void *)_Unwind_GetIP(context));

    if (function == (void *)(uintptr_t)step_through)
        walk->found = 1;
    return walk->found || ++walk->frames > 30 ? _URC_END_OF_STACK : _URC_NO_REASON;
}

static void on_step(int number, siginfo_t *info, void *context)
{
    const ucontext_t *at = context;
    struct walk walk = {0, 0};

    (void)number, (void)info;
    (void)_Unwind_Backtrace(look_at_frame, &walk);
    steps = steps + 1;
    if (!walk.found) {
        strays = strays + 1;
        stray = (uintptr_t)at->uc_mcontext.gregs[16]; /* rip */
    }
}

TEST(the_stack_can_be_unwound_from_every_instruction_of_a_scope)
{
    struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO}, before;

    sigaction(SIGTRAP, &action, &before);
    for (int i = 0; i < OPTIONS; i++) {
        CHECK_INT(tt_start(options[i]), 0);
        for (int j = 0; j < 3; j++)
            (void)stepped(j);
        for (int j = 0; j < 3; j++)
            CHECK_INT(step_through(j), j + 2);
        CHECK_INT(tt_stop(), 0);
        if (!CHECK_INT(strays, 0)) {
            printf("# %s: %d of %d, the last at %p\n", options[i], strays, steps,
                   (void *)stray);
            break;
        }
    }
    CHECK(steps > 0);
    sigaction(SIGTRAP, &before, NULL);
}

#endif
