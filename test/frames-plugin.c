/* SPDX-License-Identifier: MIT */
/* frames-plugin.c - a plug-in that frames-workload opens, calls and closes. */
#include <stdlib.h>

int plugin_work(int (*compare)(const void *, const void *));

int plugin_work(int (*compare)(const void *, const void *))
{
    int n[64];

    for (int i = 0; i < 64; i++)
        n[i] = (i * 7919) % 64;
    qsort(n, 64, sizeof *n, compare);
    return n[10];
}
