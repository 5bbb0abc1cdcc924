/* SPDX-License-Identifier: MIT */
/* recursion.c - the worst case of recursion for a tree, and how true the result is.
 *
 *      recursion PUSHES COPY [DUMP]
 *
 * Random walks (walk.h) are done twice: by the oracle, without a cap, and by the runtime,
 * under a clock that only the walk moves.  So each figure can be compared with the true
 * one.  PUSHES is the length of the capped walks; COPY a file to write recordings to,
 * DUMP the command that prints the blocks of one.  Exit status 1 if a check fails:
 *
 *   hot   contexts with 0.5 % of the ticks, self or inclusive: all are there under their
 *         path, each figure within 2 % or lacking no more than `missed`
 *   lost  contexts with 0.1 % that are not there: none
 *   sums  the root's total is all ticks; no context is there that the walk never made
 *   nodes as many as the budget allows at most; without a cap, exactly the oracle's tree
 *   block under the cap, each block's own calls, self and inclusive ticks are exact */
#include "oracle.h"
#include "tallytree.h"
#include "walk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CAPPED_NODES = 65536, UNCAPPED_PUSHES = 1000000 };

struct subject {
    enum walk_kind kind;
    unsigned blocks, pushes;
    int capped;
};

static struct oracle oracle;
static struct walk walk;
static const char *copy_path, *dump_command; /* dump_command NULL: blocks go unchecked */

/* What a comparison found; everything that is not 0 from `hot_off` on is a failure. */
static struct findings {
    double pair; /* ns */
    uint64_t contexts, hot, elsewhere, blocks;
    double worst; /* of the hot ones: what it lacks, in % of the truth */
    uint64_t hot_off, lost, strange, unequal, missing, blocks_off;
    int64_t ticks_off;
} found;

/* ── The two passes ───────────────────────────────────────────────────────────────── */

static void run_oracle(const struct subject *s)
{
    uint32_t nodes[WALK_DEPTH + 1] = {0}, blocks[WALK_DEPTH + 1] = {0};

    oracle_init(&oracle, s->blocks);
    walk_init(&walk, s->kind, s->blocks);
    for (unsigned pushes = 0; pushes < s->pushes;) {
        walk_step(&walk);
        if (walk.block) {
            nodes[walk.depth] = oracle_push(&oracle, nodes[walk.depth - 1], walk.block);
            blocks[walk.depth] = walk.block;
            pushes++;
        } else
            oracle_pop(&oracle, blocks[walk.depth + 1]);
        oracle_tick(&oracle, nodes[walk.depth], walk.ticks);
    }
    for (; walk.depth > 0; walk.depth--)
        oracle_pop(&oracle, blocks[walk.depth]);
    oracle_add_up(&oracle);
}

/* The walk alone, to be subtracted. */
static double run_nothing(const struct subject *s)
{
    double start;

    walk_init(&walk, s->kind, s->blocks);
    start = bench_thread_time();
    for (unsigned pushes = 0; pushes < s->pushes; pushes += walk.block != 0)
        walk_step(&walk);
    return bench_thread_time() - start;
}

static double run_runtime(const struct subject *s, const tt_block *blocks)
{
    tt_mark marks[WALK_DEPTH + 1];
    double start;

    walk_init(&walk, s->kind, s->blocks);
    start = bench_thread_time();
    for (unsigned pushes = 0; pushes < s->pushes;) {
        walk_step(&walk);
        if (walk.block) {
            marks[walk.depth] = tt_push(blocks[walk.block]);
            pushes++;
        } else
            tt_pop(marks[walk.depth + 1]);
        tt_tick(walk.ticks);
    }
    for (; walk.depth > 0; walk.depth--)
        tt_pop(marks[walk.depth]);
    return bench_thread_time() - start;
}

/* ── Contexts ─────────────────────────────────────────────────────────────────────── */

static uint64_t share(double percent)
{
    return (uint64_t)((double)oracle.ticks * percent / 100);
}

/* Whether a figure is near enough to the truth, or lacks no more than is admitted. */
static int near_enough(uint64_t figure, uint64_t truth, uint64_t missed)
{
    double off = (double)figure - (double)truth;

    if (off <= 0 && -off <= (double)missed)
        return 1;
    return off <= 0.02 * (double)truth && off >= -0.02 * (double)truth;
}

static void check_hot(const struct tt_visited *v, const struct oracle_node *truth)
{
    double lacks = 100 * ((double)truth->total - (double)v->total) / (double)truth->total;

    found.hot++;
    if (lacks > found.worst)
        found.worst = lacks;
    if (!near_enough(v->total, truth->total, v->missed))
        found.hot_off++;
    else if (truth->self >= share(0.5) && !near_enough(v->self, truth->self, v->missed))
        found.hot_off++;
}

static uint8_t *seen;                  /* by node of the oracle */
static uint32_t place[WALK_DEPTH + 2]; /* the node of each block of the path */
static int exact;                      /* whether every figure must be equal */

/* Contexts come parents first, so the node of the parent is known. */
static int visit(const struct tt_visited *v, void *unused)
{
    const struct oracle_node *truth;
    uint32_t node = 0;

    (void)unused;
    if (v->depth == 0)
        found.ticks_off += (int64_t)v->total;
    else {
        unsigned block = (unsigned)atoi(v->path[v->depth - 1] + 1);

        if (v->depth <= WALK_DEPTH && (v->depth == 1 || place[v->depth - 1]))
            node = oracle_child(&oracle, place[v->depth - 1], block);
        if (v->depth <= WALK_DEPTH)
            place[v->depth] = node;
        found.contexts++;
        if (!node || seen[node]) {
            found.strange++;
            return 0;
        }
    }
    truth = &oracle.nodes[node];
    seen[node] = 1;
    found.elsewhere += v->elsewhere;
    found.unequal += exact && (v->self != truth->self || v->calls != truth->calls ||
                               v->total != truth->total);
    if (node && truth->total >= share(0.5))
        check_hot(v, truth);
    return 0;
}

static void check_contexts(void)
{
    seen = calloc(oracle.node_count, 1);
    if (!seen)
        abort();
    found.ticks_off = -(int64_t)oracle.ticks;
    tt_visit(visit, NULL);
    for (uint32_t i = 1; i < oracle.node_count; i++) {
        found.lost += !seen[i] && oracle.nodes[i].total >= share(0.1);
        found.missing += exact && !seen[i];
    }
}

/* ── Blocks ───────────────────────────────────────────────────────────────────────── */

static uint64_t field(const char *line, const char *name)
{
    const char *at = strstr(line, name);

    return at ? strtoull(at + strlen(name), NULL, 10) : UINT64_MAX;
}

static void check_block(const char *line)
{
    unsigned block;

    if (sscanf(line, "block\tb%u\t", &block) != 1 || block >= oracle.block_count)
        return;
    found.blocks++;
    found.blocks_off += field(line, "\tcalls=") != oracle.blocks[block].calls ||
                        field(line, "\tself=") != oracle.blocks[block].self ||
                        field(line, "\tinclusive=") != oracle.blocks[block].inclusive;
}

/* Blocks that were never called may or may not be listed. */
static void check_blocks(void)
{
    char command[4096], line[4096];
    uint64_t called = 0;
    FILE *dump;

    snprintf(command, sizeof command, "'%s' dump '%s'", dump_command, copy_path);
    dump = tt_write(copy_path) == 0 ? popen(command, "r") : NULL;
    while (dump && fgets(line, sizeof line, dump))
        check_block(line);
    for (uint32_t b = 1; b < oracle.block_count; b++)
        called += oracle.blocks[b].calls > 0;
    if (!dump || pclose(dump) != 0 || found.blocks < called)
        found.blocks_off++;
}

/* ── One subject, in a separate process ─────────────────────────────────────────── */

static int start(const struct subject *s, tt_block *blocks)
{
    char name[16];
    int error = tt_start(s->capped ? "exact,clock=caller,budget=65536nodes"
                                   : "exact,clock=caller,budget=4G");

    for (unsigned b = 1; b <= s->blocks; b++) {
        snprintf(name, sizeof name, "b%u", b);
        blocks[b] = tt_block_get(name, NULL, 0, 0);
    }
    if (error)
        fprintf(stderr, "tt_start: %s\n", tt_error_text(error));
    return error;
}

static int print_reason(uint64_t n, const char *reason)
{
    if (n)
        printf(" %lld %s;", (long long)n, reason);
    return n != 0;
}

static int print_reasons(const struct subject *s)
{
    uint64_t most = s->capped ? CAPPED_NODES : UINT64_MAX;

    return print_reason(found.hot_off, "hot ones off") |
           print_reason(found.lost, "lost") | print_reason(found.strange, "never made") |
           print_reason(found.unequal, "unequal") |
           print_reason(found.missing, "missing") |
           print_reason((uint64_t)found.ticks_off, "ticks off") |
           print_reason(found.blocks_off, "blocks off") |
           print_reason(found.contexts > most ? found.contexts - most : 0, "too many");
}

/* Returns whether a check failed. */
static int print_row(const struct subject *s)
{
    double all = (double)oracle.ticks;
    int failed;

    printf("| %-7s | %4u | %-6s | %5.1f | %7.1f | %8llu | %8u | %7.2f | %4llu | %7.2f |",
           s->kind == WALK_ZIPF ? "Zipf" : "uniform", s->blocks,
           s->capped ? "65536" : "none", s->pushes / 1e6, found.pair,
           (unsigned long long)found.contexts, oracle.node_count - 1,
           100 * (double)found.elsewhere / all, (unsigned long long)found.hot,
           found.worst);
    failed = print_reasons(s);
    printf(" %-6s |\n", failed ? "FAIL" : dump_command ? "ok" : "ok (-)");
    return failed;
}

static int run_subject(const struct subject *s)
{
    tt_block *blocks = calloc(s->blocks + 1, sizeof *blocks);
    double nothing;

    bench_pin();
    run_oracle(s);
    if (!blocks || start(s, blocks))
        return 1;
    exact = !s->capped;
    nothing = run_nothing(s);
    found.pair = (run_runtime(s, blocks) - nothing) / s->pushes;
    check_contexts();
    if (s->capped && dump_command)
        check_blocks();
    tt_stop();
    free(blocks);
    return print_row(s);
}

/* A crash is a failure like any other. */
static int run_apart(const struct subject *s)
{
    int status = 0;
    pid_t child;

    fflush(NULL);
    child = fork();
    if (child == 0) {
        status = run_subject(s);
        fflush(NULL);
        _exit(status);
    }
    if (child < 0 || waitpid(child, &status, 0) < 0)
        return 1;
    if (WIFSIGNALED(status))
        printf("| %-7s | %4u | %-6s | FAIL: killed by signal %d |\n",
               s->kind == WALK_ZIPF ? "Zipf" : "uniform", s->blocks,
               s->capped ? "65536" : "none", WTERMSIG(status));
    return status != 0;
}

int main(int argc, char **argv)
{
    static const unsigned blocks[] = {5, 10, 20, 50, 200, 1000};
    unsigned pushes = argc > 2 ? (unsigned)atoi(argv[1]) : 0;
    int failures = 0;

    if (pushes == 0)
        return 2;
    copy_path = argv[2];
    dump_command = argc > 3 ? argv[3] : NULL;
    printf(
        "| calls   |    N | budget |     M | ns/pair | contexts | oracle's | below %% |"
        "  hot | worst %% | checks |\n"
        "|:--------|-----:|:-------|------:|--------:|---------:|---------:|--------:|"
        "-----:|--------:|:-------|\n");
    for (int capped = 0; capped < 2; capped++)
        for (int kind = WALK_UNIFORM; kind <= WALK_ZIPF; kind++)
            for (unsigned i = 0; i < sizeof blocks / sizeof *blocks; i++) {
                unsigned most = capped || pushes < UNCAPPED_PUSHES ? pushes
                                                                   : UNCAPPED_PUSHES;
                struct subject s = {(enum walk_kind)kind, blocks[i], most, capped};

                failures += run_apart(&s);
            }
    unlink(copy_path);
    return failures > 0;
}
