/* SPDX-License-Identifier: MIT */
/* dominators.c - dominators of a graph, by Lengauer and Tarjan.
 *
 * Nodes are numbered in the order of a depth-first search.  The semidominator of a node
 * is the lowest number with a path to it through higher numbers alone.  With it, a second
 * pass from the highest number down finds the dominators.  Linked trees are compressed
 * during lookups. */
#include "dominators.h"

#include <string.h>

#include "tallytree.h"

enum { UNSEEN = UINT32_MAX };

struct search {
    const struct tt_graph *g;
    const struct tt_memory *memory;
    uint32_t *number;                       /* of each node, or UNSEEN */
    uint32_t *node;                         /* of each number */
    uint32_t *parent;                       /* of each number, in the search */
    uint32_t *semi, *ancestor, *label, *by; /* of each number */
    uint32_t *bucket, *next; /* of each number: whose semidominator it is */
    uint32_t *in_first, *in; /* edges backwards, of numbers */
    uint32_t *stack, *at; /* of the search: nodes and their next edges; of compressing */
    uint32_t count;
};

static uint32_t *get(struct search *s, size_t count, int *failed)
{
    uint32_t *p = tt_memory_get(s->memory, (count + 1) * sizeof *p);

    *failed |= !p;
    return p;
}

static void see(struct search *s, uint32_t node, uint32_t parent, uint32_t depth)
{
    s->number[node] = s->count;
    s->node[s->count] = node;
    s->parent[s->count] = parent;
    s->stack[depth] = node;
    s->at[depth] = s->g->first[node];
    s->count++;
}

/* Numbers the nodes that can be reached from `start`, which has an edge from the root. */
static void search_from(struct search *s, uint32_t start)
{
    uint32_t depth = 0;

    if (s->number[start] != UNSEEN)
        return;
    see(s, start, 0, 0);
    for (;;) {
        const uint32_t node = s->stack[depth];
        if (s->at[depth] == s->g->first[node + 1]) {
            if (!depth--)
                return;
            continue;
        }
        const uint32_t to = s->g->to[s->at[depth]++];
        if (s->number[to] == UNSEEN)
            see(s, to, s->number[node], ++depth);
    }
}

/* Sets bit 1 of `held` for the nodes that the search began at, beside the root: they get
 * an edge from the root. */
static void search_all(struct search *s, unsigned char *held)
{
    const struct tt_graph *g = s->g;

    memset(s->number, 0xff, g->nodes * sizeof *s->number);
    search_from(s, 0);
    for (uint32_t i = 0; i < g->first[g->nodes]; i++)
        held[g->to[i]] |= 2;
    for (int pass = 0; pass < 2; pass++) /* first those to which nothing leads */
        for (uint32_t n = 0; n < g->nodes; n++)
            if (s->number[n] == UNSEEN && (pass || !held[n])) {
                held[n] |= 1;
                search_from(s, n);
            }
}

static void reverse_edges(struct search *s)
{
    const struct tt_graph *g = s->g;

    for (uint32_t n = 0; n < g->nodes; n++)
        for (uint32_t e = g->first[n]; e < g->first[n + 1]; e++)
            s->in_first[s->number[g->to[e]] + 1]++;
    for (uint32_t n = 0; n < g->nodes; n++)
        s->in_first[n + 1] += s->in_first[n];
    for (uint32_t n = 0; n < g->nodes; n++)
        for (uint32_t e = g->first[n]; e < g->first[n + 1]; e++)
            s->in[--s->in_first[s->number[g->to[e]] + 1]] = s->number[n];
    /* Each entry is now one place too far up: move all down. */
    for (uint32_t n = 0; n < g->nodes; n++)
        s->in_first[n] = s->in_first[n + 1];
    s->in_first[g->nodes] = g->first[g->nodes];
}

/* The number with the lowest semidominator on the way up to the root of its tree. */
static uint32_t lowest(struct search *s, uint32_t v)
{
    uint32_t depth = 0;

    if (s->ancestor[v] == UNSEEN)
        return v;
    for (uint32_t u = v; s->ancestor[s->ancestor[u]] != UNSEEN; u = s->ancestor[u])
        s->stack[depth++] = u;
    while (depth--) {
        const uint32_t u = s->stack[depth], up = s->ancestor[u];
        if (s->semi[s->label[up]] < s->semi[s->label[u]])
            s->label[u] = s->label[up];
        s->ancestor[u] = s->ancestor[up];
    }
    return s->label[v];
}

static void dominate(struct search *s, const unsigned char *held)
{
    for (uint32_t v = 0; v < s->count; v++) {
        s->semi[v] = s->label[v] = v;
        s->ancestor[v] = s->bucket[v] = UNSEEN;
    }
    for (uint32_t v = s->count; v-- > 1;) {
        const uint32_t parent = s->parent[v];
        if (held[s->node[v]] & 1)
            s->semi[v] = 0;
        for (uint32_t e = s->in_first[v]; e < s->in_first[v + 1]; e++) {
            const uint32_t from = s->semi[lowest(s, s->in[e])];
            s->semi[v] = from < s->semi[v] ? from : s->semi[v];
        }
        s->next[v] = s->bucket[s->semi[v]];
        s->bucket[s->semi[v]] = v;
        s->ancestor[v] = parent;
        for (uint32_t u = s->bucket[parent]; u != UNSEEN; u = s->next[u]) {
            const uint32_t low = lowest(s, u);
            s->by[u] = s->semi[low] < s->semi[u] ? low : parent;
        }
        s->bucket[parent] = UNSEEN;
    }
    s->by[0] = 0;
    for (uint32_t v = 1; v < s->count; v++)
        if (s->by[v] != s->semi[v])
            s->by[v] = s->by[s->by[v]];
}

int tt_dominators_find(struct tt_dominators *d, const struct tt_graph *g,
                       const struct tt_memory *memory)
{
    const size_t n = g->nodes, edges = g->first[n];
    struct search s = {.g = g, .memory = memory};
    unsigned char *held = tt_memory_get(memory, n + 1);
    int failed = !held;
    uint32_t **const rows[] = {&s.number,   &s.node,     &s.parent, &s.semi,
                               &s.ancestor, &s.label,    &s.by,     &s.bucket,
                               &s.next,     &s.in_first, &s.stack,  &s.at};
    enum { ROWS = sizeof rows / sizeof *rows };

    *d = (struct tt_dominators){.memory = memory, .nodes = g->nodes};
    for (int i = 0; i < ROWS; i++)
        *rows[i] = get(&s, n, &failed);
    s.in = get(&s, edges, &failed);
    d->order = get(&s, n, &failed);
    d->by = get(&s, n, &failed);
    if (!failed) {
        search_all(&s, held);
        reverse_edges(&s);
        dominate(&s, held);
        for (uint32_t v = 0; v < g->nodes; v++) {
            d->order[v] = s.node[v];
            d->by[s.node[v]] = s.node[s.by[v]];
        }
    }
    for (int i = 0; i < ROWS; i++)
        tt_memory_put(memory, *rows[i]);
    tt_memory_put(memory, s.in);
    tt_memory_put(memory, held);
    return failed ? -TT_ERR_MEMORY : 0;
}
