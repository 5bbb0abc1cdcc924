/* SPDX-License-Identifier: MIT */
/* main.c - lazy [--profile WORDS] [--results WORDS] [--space | --use] [--retainers]
 *               [--heap FILE] [--cafs-at-top] [--young BYTES] [--figures] FILE
 *
 * WORDS are those of tt_start; with --results the program is called by tt_profile_call, and
 * what that says is printed.  With --space every object is told of too; with --use also when
 * it is looked at, and then the profiler keeps where it was made, and not the object.  With
 * --retainers (and series=retainers among the WORDS) it is said for whose sake objects are
 * alive; --heap writes them to a file, as they were when that was said last. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lazy.h"

struct wishes {
    const char *words, *results, *file;
    int space, use, retainers, figures;
    size_t young;
};

static int read_arguments(struct wishes *w, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--space") == 0)
            w->space = 1;
        else if (strcmp(argv[i], "--use") == 0)
            w->use = 1;
        else if (strcmp(argv[i], "--retainers") == 0)
            w->retainers = 1;
        else if (strcmp(argv[i], "--heap") == 0 && i + 1 < argc)
            heap_file = argv[++i];
        else if (strcmp(argv[i], "--figures") == 0)
            w->figures = 1;
        else if (strcmp(argv[i], "--cafs-at-top") == 0)
            cafs_at_top = 1;
        else if (strcmp(argv[i], "--profile") == 0 && i + 1 < argc)
            w->words = argv[++i];
        else if (strcmp(argv[i], "--results") == 0 && i + 1 < argc)
            w->results = argv[++i];
        else if (strcmp(argv[i], "--young") == 0 && i + 1 < argc)
            w->young = strtoul(argv[++i], NULL, 10);
        else if (argv[i][0] == '-' || w->file)
            return -1;
        else
            w->file = argv[i];
    }
    return w->file && w->young >= 4096 ? 0 : -1;
}

/* What the machine itself knows, to hold the profile against. */
static void print_figures(void)
{
    struct heap_figures f = heap_figures();

    fprintf(stderr, "deepest %zu\nmost %zu\nalive %zu\npeak %zu\ncollections",
            machine_deepest(), f.most, f.alive, f.peak);
    for (int i = 0; i < GENERATIONS; i++)
        fprintf(stderr, " %lu", f.collections[i]);
    fputc('\n', stderr);
}

/* ── A program that looks at its own profile ──────────────────────────────────────── */

struct run {
    struct function *program;
    int status;
};

static void run(void *arg)
{
    struct run *r = arg;

    r->status = program_run(r->program);
}

/* What a program that failed had done until then is told as well. */
static void run_for_results(struct run *r, const char *words)
{
    struct tt_results *results;
    int error = tt_profile_call(words, run, r, &results);

    if (error)
        fprintf(stderr, "lazy: --results: %s\n", tt_error_text(error));
    if (!results)
        return;
    fprintf(stderr, "%10s%12s%12s  function\n", "calls", "allocated", "copied");
    for (size_t i = 0; i < results->functions; i++) {
        const struct tt_function_result *f = &results->function[i];
        fprintf(stderr, "%10llu%12llu%12llu  %s\n", (unsigned long long)f->calls,
                (unsigned long long)f->allocated, (unsigned long long)f->copied,
                f->block.name);
    }
    tt_results_free(results);
}

int main(int argc, char **argv)
{
    struct wishes w = {.young = 256 << 10};
    struct run r = {NULL, 0};
    int error;

    if (read_arguments(&w, argc, argv) != 0) {
        fputs("usage: lazy [--profile WORDS] [--results WORDS] [--space | --use] "
              "[--retainers]\n            [--heap FILE] [--cafs-at-top] [--young BYTES] "
              "[--figures] FILE\n",
              stderr);
        return 2;
    }
    r.program = program_read(w.file);
    if (!r.program)
        return 2;
    error = w.words ? tt_start(w.words) : 0;
    if (error) {
        fprintf(stderr, "lazy: --profile %s: %s\n", w.words, tt_error_text(error));
        return 2;
    }
    profiled = w.words || w.results;
    use_profiled = profiled && w.use;
    retainers_profiled = profiled && w.retainers;
    space_profiled = profiled && (w.space || w.use || w.retainers);
    heap_start(w.young);
    if (w.results)
        run_for_results(&r, w.results);
    else
        run(&r);
    if (w.words)
        tt_stop();
    if (w.figures)
        print_figures();
    return r.status;
}
