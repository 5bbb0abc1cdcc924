/* SPDX-License-Identifier: MIT */
/* tiny.c - W1: a loop over a function that does next to nothing. */
#include "marks.h"
#include "workload.h"

static ALONE long tiny(long x)
{
    MARK("tiny");

    __asm__ volatile("" : "+r"(x));
    x++;
    __asm__ volatile("" : "+r"(x));
    return x;
}

long work(long calls)
{
    long x = 0;

    for (long i = 0; i < calls; i++)
        x = tiny(x);
    return x;
}
