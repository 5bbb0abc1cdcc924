/* SPDX-License-Identifier: MIT */
/* hooks.cpp - a program that counts its own calls, and leaves functions in every way; it is
 * compiled with the compiler's hooks, and what is recorded is compared with what it prints.
 * With an argument it loads that library and calls its plugged(). */
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <pthread.h>
#include <stdexcept>

#define APART __attribute__((noinline, noclone, optimize("no-optimize-sibling-calls")))
#define TAIL __attribute__((noinline))

extern "C" {
enum {
    FIB,
    LEAF,
    JUMP,
    EVEN,
    ODD,
    RUN,
    THROWS,
    CATCHES,
    MIXED,
    SPIN,
    WORK,
    PLUGGED,
    TICK,
    TOCK,
    SWINGS,
    WITHIN,
    AROUND,
    COUNTED
};
static unsigned long calls[COUNTED];
static const char *const names[] = {
    "fib",  "leaf", "jump",    "even", "odd",  "run",    "throws", "catches", "mixed",
    "spin", "work", "plugged", "tick", "tock", "swings", "within", "around"};
#define COUNT(what) __atomic_fetch_add(&calls[what], 1, __ATOMIC_RELAXED)

static jmp_buf place;
static volatile unsigned sink;

APART int fib(int n)
{
    COUNT(FIB);
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

APART int leaf(int x)
{
    COUNT(LEAF);
    return x * 3 + 1;
}

TAIL int odd(int n);

TAIL int even(int n)
{
    COUNT(EVEN);
    return n == 0 ? 1 : odd(n - 1);
}

TAIL int odd(int n)
{
    COUNT(ODD);
    return n == 0 ? 0 : even(n - 1);
}

APART void jump(int depth)
{
    char room[100];

    COUNT(JUMP);
    memset(room, depth, sizeof room);
    if (depth == 0)
        longjmp(place, 1);
    jump(depth - 1);
    sink += (unsigned)room[3];
}

APART void throws(int depth)
{
    COUNT(THROWS);
    if (depth == 0)
        throw std::runtime_error("bottom");
    throws(depth - 1);
    sink++;
}

APART int catches(int depth)
{
    COUNT(CATCHES);
    try {
        throws(depth);
    } catch (const std::exception &) {
        return leaf(depth);
    }
    return 0;
}

/* All registers that have arguments, and the stack. */
APART double mixed(double a, double b, double c, double d, float e, float f, double g,
                   double h, long i, long j, long k, long l, long m, long n, long o)
{
    COUNT(MIXED);
    return a + b * 2 + c * 3 + d * 4 + (double)(e * 5) + (double)(f * 6) + g * 7 + h * 8 +
           (double)(i * 9 + j * 10 + k * 11 + l * 12 + m * 13 + n * 14 + o * 15);
}

APART void spin(int n)
{
    COUNT(SPIN);
    while (n--)
        sink = sink * 1103515245u + 12345u;
}

APART void work(int n)
{
    COUNT(WORK);
    for (int i = 0; i < n; i++)
        spin(20000);
}

/* Both are called from one place, and end in a jump to the hook where there is one. */
TAIL void tick(int n)
{
    COUNT(TICK);
    sink += (unsigned)n;
}

TAIL void tock(int n)
{
    COUNT(TOCK);
    sink ^= (unsigned)n;
}

APART void swings(int n)
{
    static void (*volatile const way[])(int) = {tick, tock};

    COUNT(SWINGS);
    for (int i = 0; i < n; i++) {
        way[i & 1](i);
        sink += (unsigned)mixed(1, 2, 3, 4, 5, 6, 7, 8, i, 10, 11, 12, 13, 14, 15);
    }
}

#ifdef INLINED /* only -finstrument-functions reports these */
static inline __attribute__((always_inline)) int within(int x)
{
    COUNT(WITHIN);
    return x * 5;
}

APART int around(int x)
{
    COUNT(AROUND);
    return within(x) + within(x + 1);
}
#endif

APART void *run(void *arg)
{
    COUNT(RUN);
    fib(10);
    return arg;
}
}

int main(int argc, char **argv)
{
    pthread_t thread[4];
    double sum = 0;
    void *plugin;

    for (auto &t : thread)
        pthread_create(&t, nullptr, run, nullptr);
    for (auto &t : thread)
        pthread_join(t, nullptr);
    for (int i = 0; i < 100; i++) {
        if (!setjmp(place))
            jump(5);
        sum += catches(i % 7) + leaf(i);
        sum += mixed(1, 2, 3, 4, 5, 6, 7, 8, i, 10, 11, 12, 13, 14, 15);
    }
    sum += fib(18) + even(101) + odd(100);
    work(2000);
    swings(10);
#ifdef INLINED
    sum += around(7);
#endif
    for (int i = 1; i < argc; i++) {
        plugin = dlopen(argv[i], RTLD_NOW);
        if (!plugin)
            return 2;
        for (int j = 0; j < 3; j++)
            calls[PLUGGED] += (unsigned long)((int (*)(int))dlsym(plugin, "plugged"))(
                                  j) != 0;
        dlclose(plugin);
    }
    printf("%f\n", sum);
    for (int i = 0; i < COUNTED; i++)
        if (calls[i])
            printf("%s %lu\n", names[i], calls[i]);
    return 3;
}
