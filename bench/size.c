/* SPDX-License-Identifier: MIT */
/* size.c - how large a recording and its process become as a run grows.
 *
 *      size PUSHES FILE
 *
 * Runs of 1, 10 and 100 times PUSHES, of a recursion that any tree holds in three
 * contexts, and of twenty functions that call each other at random and fill any budget.
 * Exit status 1 when a file outgrows the budget of 64 MiB, or what a process needs beyond
 * an empty one by more than an eighth, which a pass of eviction borrows; or when those of
 * the tame recursion grow at all. */
#include "tallytree.h"
#include "walk.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FUNCTIONS = 20, BUDGET = 64 << 20, SLACK = 256 << 10 };

static const char *output;

typedef void subject(long pushes);

static long fib(long n)
{
    TT_FUNCTION();
    return n < 2 ? 1 : fib(n - 1) + fib(n - 2);
}

static void run_nothing(long pushes) { (void)pushes; }

static void run_fib(long pushes)
{
    for (long done = 0; done < pushes;)
        done += 2 * fib(20) - 1;
}

static void run_walk(long pushes)
{
    static struct walk walk;
    tt_mark marks[WALK_DEPTH + 1];
    tt_block blocks[FUNCTIONS + 1];
    char name[16];

    for (int b = 1; b <= FUNCTIONS; b++) {
        snprintf(name, sizeof name, "b%d", b);
        blocks[b] = tt_block_get(name, NULL, 0, 0);
    }
    walk_init(&walk, WALK_UNIFORM, FUNCTIONS);
    for (long done = 0; done < pushes; done += walk.block != 0) {
        walk_step(&walk);
        if (walk.block)
            marks[walk.depth] = tt_push(blocks[walk.block]);
        else
            tt_pop(marks[walk.depth + 1]);
    }
}

struct sizes {
    long file, disk, memory; /* bytes */
};

/* In a separate process, for the memory's sake. */
static int measure(subject *run, long pushes, struct sizes *sizes)
{
    char options[4096];
    struct rusage usage;
    struct stat file;
    int status;
    pid_t child;

    snprintf(options, sizeof options, "exact,output=%s", output);
    unlink(output);
    fflush(NULL);
    child = fork();
    if (child == 0) {
        status = tt_start(options);
        run(pushes);
        _exit(status != 0 || tt_stop() != 0);
    }
    if (child < 0 || wait4(child, &status, 0, &usage) < 0 || status != 0 ||
        stat(output, &file) != 0)
        return -1;
    *sizes = (struct sizes){(long)file.st_size, (long)file.st_blocks * 512,
                            usage.ru_maxrss * 1024};
    return 0;
}

static int run_rows(const char *name, subject *run, long pushes, int tame, long empty)
{
    struct sizes first = {0, 0, 0}, sizes;
    int failures = 0;

    for (int times = 1; times <= 100; times *= 10) {
        int fails;

        if (measure(run, pushes * times, &sizes)) {
            printf("| %-8s | %4d | FAIL: it did not end well |\n", name, times);
            return 1;
        }
        sizes.memory -= empty;
        if (times == 1)
            first = sizes;
        fails = sizes.file > BUDGET || sizes.memory > BUDGET + BUDGET / 8 ||
                (tame && sizes.file > first.file) ||
                (tame && sizes.memory > first.memory + SLACK);
        printf("| %-8s | %4d | %6.1f | %10.1f | %10.1f | %10.1f | %-6s |\n", name, times,
               (double)pushes * times / 1e6, (double)sizes.file / 1024,
               (double)sizes.disk / 1024, (double)sizes.memory / 1024,
               fails ? "FAIL" : "ok");
        failures += fails;
    }
    return failures;
}

int main(int argc, char **argv)
{
    struct sizes empty;
    long pushes = argc > 2 ? atol(argv[1]) : 0;
    int failures;

    if (pushes <= 0)
        return 2;
    output = argv[2];
    printf(
        "| calls    |    × | M      |   file KiB |   disk KiB | memory KiB | checks |\n"
        "|:---------|-----:|-------:|-----------:|-----------:|-----------:|:-------|\n");
    if (measure(run_nothing, 0, &empty)) {
        printf("| nothing  | FAIL: it did not end well |\n");
        return 1;
    }
    printf("| nothing  |    - |      - | %10.1f | %10.1f | %10.1f | -      |\n",
           (double)empty.file / 1024, (double)empty.disk / 1024,
           (double)empty.memory / 1024);
    failures = run_rows("fib", run_fib, pushes, 1, empty.memory);
    failures += run_rows("random", run_walk, pushes, 0, empty.memory);
    unlink(output);
    return failures > 0;
}
