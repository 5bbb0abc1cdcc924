/* SPDX-License-Identifier: MIT */
/* frames-quiet.c - code that says how it is left in .debug_frame alone: recursion, calls back
 * from a library, jumps, a signal on another stack, saved registers, large frames.
 *
 *      frames-quiet ROUNDS    0: stops itself, and goes a few */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile unsigned sink;
static jmp_buf back;

static __attribute__((noinline)) unsigned leaf(unsigned n)
{
    return n * 1103515245u + sink;
}

static __attribute__((noinline)) unsigned recurse(unsigned n, unsigned a, unsigned b)
{
    unsigned c = leaf(a), d = leaf(b + c), e = leaf(d ^ n);

    if (n == 0)
        return c + d + e;
    return recurse(n - 1, d, e) + leaf(c) * d + e;
}

static __attribute__((noinline)) unsigned large(unsigned n)
{
    char room[9000];

    memset(room, (int)n, sizeof room);
    sink += leaf((unsigned char)room[n % sizeof room]);
    return (unsigned)room[sink % sizeof room] + recurse(4, n, 3);
}

static __attribute__((noinline)) unsigned sized(unsigned n)
{
    char *room = __builtin_alloca(n + 16);

    memset(room, 1, n + 16);
    sink += leaf((unsigned)room[n]);
    return (unsigned)room[sink % n];
}

static __attribute__((noinline)) unsigned add(unsigned n, ...)
{
    unsigned sum = 0;
    va_list l;

    va_start(l, n);
    while (n--)
        sum += leaf(va_arg(l, unsigned));
    va_end(l);
    return sum;
}

static int compare(const void *a, const void *b)
{
    unsigned x = leaf(*(const unsigned *)a), y = leaf(*(const unsigned *)b);

    return x < y ? -1 : x > y;
}

static __attribute__((noinline)) void jump(unsigned n)
{
    sink += leaf(n);
    if (n > 9)
        return;
    if (n == 0)
        longjmp(back, 1);
    jump(n - 1);
    sink++;
}

static void on_signal(int number) { sink += recurse(3, (unsigned)number, 1); }

static void work(void)
{
    unsigned t[64];

    sink += recurse(12, 1, 2) + large(7) + sized(300) + add(7, 1, 2, 3, 4, 5, 6, 7);
    for (unsigned i = 0; i < 64; i++)
        t[i] = leaf(i * 7919);
    qsort(t, 64, sizeof *t, compare);
    if (setjmp(back) == 0)
        jump(9);
    raise(SIGUSR1);
}

int main(int argc, char **argv)
{
    static char room[1 << 16];
    const stack_t stack = {.ss_sp = room, .ss_size = sizeof room};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    int rounds = argc > 1 && atoi(argv[1]) ? atoi(argv[1]) : 3;

    sigaltstack(&stack, NULL);
    sigaction(SIGUSR1, &action, NULL);
    if (argc > 1 && strcmp(argv[1], "0") == 0)
        raise(SIGSTOP);
    while (rounds--)
        work();
    return (int)(sink & 0);
}
