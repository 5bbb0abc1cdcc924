/* SPDX-License-Identifier: MIT */
/* ranks.c - merges profiles of many ranks: how long it takes, in how much memory.
 *
 *      ranks RANKS CONTEXTS
 *
 * Ranks' profiles are made one after the other, with CONTEXTS contexts each, nine tenths
 * of them the same in all, with separate figures; none is kept.  All are added to one
 * builder, as `tallytree merge` does, and the program prints how memory and time grow
 * with their number; the sum is checked.  Then it measures one step of MPI_Finalize: two
 * sums of many ranks become one.  Exit status 1 if a figure is wrong, or memory grows
 * with the number of ranks. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "add-profile.h"
#include "builder.h"
#include "finish.h"
#include "summary.h"

enum { BLOCKS = 5000, VARIANTS = 16, METRICS = 2, FIRST = 100 };

static uint32_t contexts;

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* Megabytes in use; the process's own statistics have the maximum. */
static double memory_now(void)
{
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");

    if (f) {
        if (fscanf(f, "%*s %ld", &pages) != 1)
            pages = 0;
        fclose(f);
    }
    return (double)pages * (double)sysconf(_SC_PAGESIZE) / (1 << 20);
}

/* ── A rank ───────────────────────────────────────────────────────────────────────── */

struct variant {
    void *image;
    size_t size;
    struct tt_profile p;
};

static uint32_t add_block(struct tt_builder *b, uint32_t i)
{
    char name[32];

    snprintf(name, sizeof name, "function_%05u", i);
    return tt_builder_block(b, &(struct tt_block_info){.name = name, .file = "solver.c"});
}

/* A tree of chains that begin at random contexts, as a program's do. */
static int make_variant(struct variant *v, uint32_t number)
{
    struct tt_builder *b = tt_builder_new(NULL);
    uint32_t *id = malloc(contexts * sizeof *id), time, calls;
    uint64_t common = 1, own = number + 1000;
    int error;

    time = tt_builder_metric(b, "time", "ns", TT_METRIC_TIME);
    calls = tt_builder_metric(b, "calls", "", TT_METRIC_CALLS);
    tt_builder_strand(b, &(struct tt_strand_info){.host = "node",
                                                  .process = "solver",
                                                  .node = "",
                                                  .name = "main",
                                                  .pid = 1,
                                                  .thread = 1,
                                                  .rank = 0,
                                                  .members = 1});
    id[0] = TT_BUILDER_ROOT;
    for (uint32_t c = 1; c < contexts; c++) {
        int is_own = c >= contexts / 10 * 9;
        uint64_t *state = is_own ? &own : &common;
        uint32_t above = next_random(state) % 4 ? c - 1
                                                : (uint32_t)(next_random(state) % c);
        if (is_own && above >= contexts / 10 * 9)
            above = (uint32_t)(next_random(state) % (contexts / 10 * 9));
        id[c] = tt_builder_context(b, id[above],
                                   add_block(b, (uint32_t)(next_random(state) % BLOCKS)));
        tt_builder_add(b, TT_ROLE_SELF, id[c], time, 1);
        tt_builder_add(b, TT_ROLE_SELF, id[c], calls, 1);
    }
    free(id);
    error = tt_builder_finish(b, &v->image, &v->size);
    tt_builder_free(b);
    return error ? error : tt_profile_open(&v->p, v->image, v->size, NULL);
}

/* Gives a variant another rank's number and figures, in its image; their sums. */
static void become_rank(struct variant *v, uint32_t rank, uint64_t sum[METRICS])
{
    struct tt_strand_row *s = (struct tt_strand_row *)(uintptr_t)v->p.strand;
    uint64_t state = rank + 1;

    s->rank = rank;
    s->pid = rank + 1000;
    for (uint32_t m = 0; m < v->p.metrics; m++) {
        uint64_t *self = (uint64_t *)(uintptr_t)v->p.metric[m].self;
        uint64_t at = 0;
        for (uint32_t c = 0; c < v->p.contexts; c++) {
            self[c] = at;
            at += next_random(&state) % 1000;
        }
        self[v->p.contexts] = at;
        sum[m] += at;
    }
}

/* ── All of them ──────────────────────────────────────────────────────────────────── */

static int is_right(const struct tt_profile *p, const uint64_t sum[METRICS],
                    uint32_t ranks)
{
    int right = p->metrics == METRICS && p->strands == ranks;

    for (uint32_t m = 0; right && m < METRICS; m++)
        right = tt_grand_total(p, &p->metric[m]) == sum[m];
    if (!right)
        printf("not ok: the sum of %u ranks is wrong\n", ranks);
    return right;
}

static int merge_all(struct variant *v, uint32_t ranks)
{
    struct tt_builder *b = tt_builder_new(NULL);
    uint64_t sum[METRICS] = {0};
    double taken = 0, first = 0, memory = 0;
    struct tt_profile p;
    void *image;
    size_t size;
    int good;

    printf("%10s %12s %14s %12s\n", "ranks", "seconds", "ms a rank", "memory, MB");
    for (uint32_t i = 0; i < ranks; i++) {
        struct variant *one = &v[i % VARIANTS];
        double start;
        become_rank(one, i, sum);
        start = now();
        if (tt_builder_profile(b, &one->p) != 0 || tt_builder_summarise(b) != 0)
            return 2;
        taken += now() - start;
        if (i + 1 == FIRST || i + 1 == FIRST * 10 || i + 1 == ranks) {
            memory = memory_now();
            first = first ? first : memory;
            printf("%10u %12.1f %14.2f %12.0f\n", i + 1, taken, taken / (i + 1) * 1000,
                   memory);
            fflush(stdout);
        }
    }
    if (tt_builder_finish(b, &image, &size) != 0 ||
        tt_profile_open(&p, image, size, NULL) != 0)
        return 2;
    tt_builder_free(b);
    printf("a rank's profile: %.1f MB; the sum: %u contexts, %.1f MB\n",
           (double)v->size / 1e6, p.contexts, (double)size / 1e6);
    good = is_right(&p, sum, ranks);
    /* a rank is a row of 96 bytes in the list of strands, and some of the builder's own */
    if (memory > 1.5 * first + ranks * 1e-3) {
        printf("not ok: memory grew from %.0f to %.0f MB\n", first, memory);
        good = 0;
    }
    tt_profile_close(&p);
    tt_memory_put(NULL, image);
    return !good;
}

/* ── One step of a tree ───────────────────────────────────────────────────────────── */

static int sum_of(struct variant *v, uint32_t from, uint32_t to, struct variant *made)
{
    struct tt_builder *b = tt_builder_new(NULL);
    uint64_t sum[METRICS] = {0};
    int error = 0;

    for (uint32_t i = from; !error && i < to; i++) {
        become_rank(&v[i % VARIANTS], i, sum);
        error = tt_builder_profile(b, &v[i % VARIANTS].p);
        if (!error)
            error = tt_builder_summarise(b);
    }
    if (!error)
        error = tt_builder_finish(b, &made->image, &made->size);
    tt_builder_free(b);
    return error ? error : tt_profile_open(&made->p, made->image, made->size, NULL);
}

/* Times the merge of two sums of that many ranks each. */
static int time_step(struct variant *v, uint32_t ranks)
{
    struct variant half[2], all;
    double start, taken;
    struct tt_builder *b;
    int error = sum_of(v, 0, ranks, &half[0]);

    if (!error)
        error = sum_of(v, ranks, 2 * ranks, &half[1]);
    if (error)
        return 2;
    start = now();
    b = tt_builder_new(NULL);
    for (int i = 0; !error && i < 2; i++) {
        error = tt_profile_check(&half[i].p);
        if (!error)
            error = tt_builder_profile(b, &half[i].p);
    }
    if (!error)
        error = tt_builder_summarise(b);
    if (!error)
        error = tt_builder_finish(b, &all.image, &all.size);
    tt_builder_free(b);
    taken = now() - start;
    if (error)
        return 2;
    printf("%10u %12.0f %14.1f %12.1f\n", ranks, taken * 1000, (double)half[1].size / 1e6,
           (double)all.size / 1e6);
    fflush(stdout);
    for (int i = 0; i < 2; i++) {
        tt_profile_close(&half[i].p);
        tt_memory_put(NULL, half[i].image);
    }
    tt_memory_put(NULL, all.image);
    return 0;
}

int main(int argc, char **argv)
{
    static struct variant v[VARIANTS];
    uint32_t ranks = argc > 2 ? (uint32_t)atoi(argv[1]) : 0;
    int status = 0;

    contexts = argc > 2 ? (uint32_t)atoi(argv[2]) : 0;
    if (ranks < FIRST || contexts < 1000) {
        fprintf(stderr, "usage: ranks RANKS CONTEXTS\n");
        return 2;
    }
    for (uint32_t i = 0; !status && i < VARIANTS; i++)
        status = make_variant(&v[i], i) ? 2 : 0;
    if (!status)
        status = merge_all(v, ranks);
    malloc_trim(0);
    if (!status)
        printf("%10s %12s %14s %12s\n", "two of", "ms a step", "MB sent", "MB come out");
    for (uint32_t n = 1; !status && n <= 64; n *= 4)
        status = time_step(v, n);
    for (uint32_t i = 0; i < VARIANTS; i++) {
        tt_profile_close(&v[i].p);
        tt_memory_put(NULL, v[i].image);
    }
    return status;
}
