/* SPDX-License-Identifier: MIT */
/* Turns for so many ms of CPU time in a block, exactly timed, and prints for how many ns the
 * system says that it waited for a processor meanwhile. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tallytree.h"

static unsigned long long waited(void)
{
    FILE *f = fopen("/proc/self/schedstat", "r");
    unsigned long long ran, waited = 0;

    if (!f || fscanf(f, "%llu %llu", &ran, &waited) != 2)
        waited = 0;
    if (f)
        fclose(f);
    return waited;
}

int main(int argc, char **argv)
{
    clock_t end;
    unsigned long long before, inner;

    before = waited();
    if (argc < 3 || tt_start(argv[1]) != 0)
        return 1;
    inner = waited();
    {
        TT_SCOPE("turn");
        end = clock() + (clock_t)(atof(argv[2]) * CLOCKS_PER_SEC / 1000);
        while (clock() < end)
            ;
    }
    inner = waited() - inner;
    if (tt_stop() != 0)
        return 1;
    printf("%llu %llu\n", inner, waited() - before);
    return 0;
}
