/* SPDX-License-Identifier: MIT */
/* serve-program.c - records to its argument: a round of work for each line of its input. */
#include <stdio.h>
#include <tallytree.h>

static void f(void)
{
    TT_FUNCTION();
    tt_tick(100);
}

static void g(void)
{
    TT_FUNCTION();
    tt_tick(50);
    for (int i = 0; i < 3; i++)
        f();
}

int main(int argc, char **argv)
{
    char line[80];

    if (argc < 2 || tt_start(argv[1]) != 0)
        return 1;
    while (fgets(line, sizeof line, stdin)) {
        g();
        puts("done");
        fflush(stdout);
    }
    return tt_stop();
}
