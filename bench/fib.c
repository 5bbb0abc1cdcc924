/* SPDX-License-Identifier: MIT */
/* fib.c - W2: a recursion that branches. */
#include "marks.h"
#include "workload.h"

static ALONE long fib(long n)
{
    MARK("fib");
    long left, right;

    if (n < 2)
        return 1;
    left = fib(n - 1);
    __asm__ volatile("" : "+r"(left));
    right = fib(n - 2);
    __asm__ volatile("" : "+r"(right));
    return left + right;
}

/* fib(n) makes 2 fib(n) - 1 calls. */
long work(long calls)
{
    long done = 0;

    while (done < calls)
        done += 2 * fib(20) - 1;
    return done;
}
