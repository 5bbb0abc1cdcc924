/* SPDX-License-Identifier: MIT */
/* views.c - the one table of views and of the keys that only some of them know: parsers,
 * help pages, completions and the views themselves use it. */
#include "views.h"

#include <string.h>

static const struct tt_view_key no_keys[] = {{NULL, NULL, NULL, NULL}};

static const struct tt_view_key path_keys[] = {
    {"context", "PATH", NULL, "begin at this context (#ID or number)"},
    {"to", "PATH", NULL, "show only the path to this context"},
    {NULL, NULL, NULL, NULL},
};

static const struct tt_view_key block_keys[] = {
    {"sequence", "A;B;C", NULL, "match consecutive blocks of a path, not one block"},
    {NULL, NULL, NULL, NULL},
};

static const struct tt_view_key groups_keys[] = {
    {"rings", "YES", "0 1 no yes", "yes: only blocks that call each other or themselves"},
    {NULL, NULL, NULL, NULL},
};

static const struct tt_view_key lines_keys[] = {
    {"by", "WHAT", "line statement file", "line, statement or file"},
    {"file", "NAME", "@files", "only places in this file"},
    {"uncovered", "YES", "0 1 no yes", "yes: those that never ran, too"},
    {NULL, NULL, NULL, NULL},
};

static const struct tt_view_key assembly_keys[] = {
    {"bytes", "YES", "no yes", "yes: those of instructions"},
    {NULL, NULL, NULL, NULL},
};

static const struct tt_view_key strands_keys[] = {
    {"by", "WHAT",
     "strand context block rank rank-context wait process program cgroup container unit "
     "user",
     "strand, rank, context, block, rank-context; wait: of MPI"},
    {"context", "PATH", NULL, "show only this context (#ID or number)"},
    {NULL, NULL, NULL, NULL},
};

static const struct tt_view_key series_keys[] = {
    {"by", "WHAT", "label time", "label; time: all of them added up"},
    {"series", "NAME", NULL, "show the series NAME"},
    {NULL, NULL, NULL, NULL},
};

static const struct tt_view_key timeline_keys[] = {
    {"by", "WHAT", "strand process block state",
     "strand, process, block, or state: running and waiting"},
    {"buckets", "N", NULL, "parts of the time (default: 60)"},
    {NULL, NULL, NULL, NULL},
};

static const struct tt_view_key chart_keys[] = {
    {"span", "FROM..TO", NULL, "show this time, with samples that reach into it"},
    {"columns", "N", NULL, "parts of the time (default: 100)"},
    {"thread", "NAME", NULL, "a thread as 'timeline' names it (default: the busiest)"},
    {NULL, NULL, NULL, NULL},
};

static const struct tt_view_key space_keys[] = {
    {"by", "WHAT", "type generation both block", "type, generation, both or block"},
    {NULL, NULL, NULL, NULL},
};

static const struct tt_view_key slowest_keys[] = {
    {"by", "WHAT", "slowest last", "slowest; last: the last ones"},
    {NULL, NULL, NULL, NULL},
};

static const struct tt_view_key waits_keys[] = {
    {"by", "WHAT", "lock pair", "lock; pair: waiter, lock and holder"},
    {NULL, NULL, NULL, NULL},
};

static const struct tt_view_key whatif_keys[] = {
    {"speedup", "SHARE", NULL, "the block takes so much less: 50% (default: several)"},
    {NULL, NULL, NULL, NULL},
};

enum {
    BLOCK = TT_TAKES_BLOCK,
    SORT = TT_TAKES_SORT,
    LIMIT = TT_TAKES_LIMIT,
    DEPTH = TT_TAKES_DEPTH,
    THRESHOLD = TT_TAKES_THRESHOLD,
    METRIC = TT_TAKES_METRIC,
    ROWS = SORT | LIMIT | THRESHOLD | METRIC
};

const struct tt_named_view tt_views[] = {
    {"flat", tt_view_flat, TT_VIEW_SEVERAL, ROWS | BLOCK, no_keys,
     "each block: self, inclusive, calls"},
    {"graph", tt_view_graph, TT_VIEW_SEVERAL, ROWS | BLOCK, no_keys,
     "each block between its callers and its callees"},
    {"tree", tt_view_tree, TT_VIEW_SEVERAL, ROWS | DEPTH, path_keys,
     "contexts from the root, the largest first"},
    {"callers", tt_view_callers, TT_VIEW_SEVERAL, ROWS | BLOCK | DEPTH, no_keys,
     "each block, then its callers"},
    {"block", tt_view_block, TT_VIEW_ONE, BLOCK | LIMIT | METRIC, block_keys,
     "one block: its callers and callees"},
    {"groups", tt_view_groups, TT_VIEW_ONE, ROWS, groups_keys,
     "mutually recursive blocks, combined"},
    {"flame", tt_view_flame, TT_VIEW_ONE, LIMIT | DEPTH | THRESHOLD | METRIC, path_keys,
     "contexts in preorder, small ones combined"},
    {"lines", tt_view_lines, TT_VIEW_ONE, ROWS, lines_keys, "locations: file and line"},
    {"assembly", tt_view_assembly, TT_VIEW_ONE, ROWS | BLOCK, assembly_keys,
     "instructions of functions, with their figures"},
    {"source", tt_view_source, TT_VIEW_ONE, BLOCK | LIMIT | METRIC, no_keys,
     "source text of functions, with figures by line"},
    {"strands", tt_view_strands, TT_VIEW_ONE, ROWS | DEPTH, strands_keys,
     "threads, processes, ranks, and how they differ"},
    {"series", tt_view_series, TT_VIEW_ONE, LIMIT | THRESHOLD, series_keys,
     "figures over time"},
    {"timeline", tt_view_timeline, TT_VIEW_TIME, LIMIT | THRESHOLD | METRIC,
     timeline_keys, "use over time, of each thread or block"},
    {"chart", tt_view_chart, TT_VIEW_TIME, LIMIT | DEPTH | METRIC, chart_keys,
     "what a thread did over time"},
    {"parallel", tt_view_parallel, TT_VIEW_TIME, BLOCK | ROWS, no_keys,
     "how many threads ran while each block ran"},
    {"whatif", tt_view_whatif, TT_VIEW_ONE, BLOCK, whatif_keys,
     "the run's time if a block were faster"},
    {"bursts", tt_view_bursts, TT_VIEW_TIME, LIMIT | METRIC, no_keys,
     "stretches in which a block ran more than in the rest"},
    {"space", tt_view_space, TT_VIEW_ONE, SORT | LIMIT | THRESHOLD, space_keys,
     "objects by type and generation"},
    {"slowest", tt_view_slowest, TT_VIEW_ONE, BLOCK | LIMIT, slowest_keys,
     "the slowest activations of marked blocks"},
    {"waits", tt_view_locks, TT_VIEW_ONE, ROWS, waits_keys,
     "locks, pipes, children: waits, and what ended them"},
    {"header", tt_view_header, TT_VIEW_SEVERAL, METRIC, no_keys,
     "how it was recorded, and its limits"},
    {NULL, NULL, TT_VIEW_ONE, 0, NULL, NULL},
};

_Static_assert(sizeof tt_views / sizeof *tt_views <= TT_VIEWS_MAX, "raise the maximum");

const struct tt_named_view *tt_view_named(const char *name)
{
    const struct tt_named_view *v = tt_views;

    while (v->name && strcmp(v->name, name) != 0)
        v++;
    return v->name ? v : NULL;
}

const struct tt_view_key *tt_view_key_named(const struct tt_named_view *v,
                                            const char *name)
{
    const struct tt_view_key *k = v->key;

    while (k->name && strcmp(k->name, name) != 0)
        k++;
    return k->name ? k : NULL;
}

static const struct {
    const char *name;
    unsigned bit;
} shared_keys[] = {
    {"block", BLOCK},     {"sort", SORT},           {"limit", LIMIT},
    {"nodecount", LIMIT}, {"depth", DEPTH},         {"threshold", THRESHOLD},
    {"metric", METRIC},   {"sample_index", METRIC},
};

int tt_view_takes(const struct tt_named_view *v, const char *key)
{
    if (tt_view_key_named(v, key) || strcmp(key, "by") == 0) /* of groups, in all views */
        return 1;
    for (size_t i = 0; i < sizeof shared_keys / sizeof *shared_keys; i++)
        if (strcmp(shared_keys[i].name, key) == 0)
            return (v->takes & shared_keys[i].bit) != 0;
    for (const struct tt_named_view *other = tt_views; other->name; other++)
        if (tt_view_key_named(other, key))
            return 0;
    return 1;
}
