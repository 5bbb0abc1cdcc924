/* SPDX-License-Identifier: MIT */
/* v8-snapshot.c - heap snapshots of V8, as node and Chrome write them: reading.
 *
 *      {"snapshot": {"meta": {"node_fields": ["type", "name", …], "node_types": [[…], …],
 *                             "edge_fields": […], "edge_types": [[…], …]}, …},
 *       "nodes": [9, 1, 1, 0, 22, 0, …],      a fixed count of numbers each
 *       "edges": [1, 1, 7, …],                those of the first node, then of the next
 *       "strings": ["", …]}
 *
 * An object is placed below the one that keeps it alive, its dominator: its retained size
 * is its own and that of all objects below it.  Objects of one constructor at one place
 * are one context; an object right below one of the same kind is in that context too, as
 * in a list. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "dominators.h"
#include "formats.h"
#include "heap-figures.h"
#include "json-reader.h"

enum { MOST_FIELDS = 32 };

struct node {
    uint64_t size;
    uint32_t name; /* of the strings */
    uint32_t type;
};

struct fields { /* the position of each field in a node or an edge; UINT32_MAX: missing */
    uint32_t count, type, name, size, edges, to;
    struct tt_vector types; /* size_t: names, in `text` */
};

struct snapshot {
    struct tt_source *s;
    struct tt_builder *b;
    struct tt_json json;
    struct tt_heap_profile heap;
    struct fields node, edge;
    struct tt_vector text;      /* char: with a NUL after each */
    struct tt_vector nodes;     /* struct node */
    struct tt_vector first, to; /* uint32_t: the graph */
    struct tt_vector degree;    /* uint32_t: number of edges of each node, in the file */
    struct tt_vector strings;   /* size_t: of those that are names, in `text`; 0: none */
    struct tt_vector block;     /* uint32_t: of each string + 1 */
    struct tt_vector of_type;   /* uint32_t: of each type + 1 */
    int has_nodes, has_edges, has_strings;
};

/* Returns its place, from 1 on. */
static size_t keep_text(struct snapshot *x, const char *text)
{
    const size_t length = strlen(text) + 1, first = !x->text.count;
    char *to = tt_vector_add(&x->text, first + length);

    if (!to)
        return (void)tt_source_no_memory(x->s), 0;
    memcpy(to + first, text, length);
    return x->text.count - length;
}

static const char *text_at(const struct snapshot *x, size_t at)
{
    return (const char *)x->text.item + at;
}

/* ── What the numbers are ─────────────────────────────────────────────────────────── */

static void read_fields(struct snapshot *x, struct fields *f)
{
    static const struct {
        const char *name;
        size_t at;
    } names[] = {{"type", offsetof(struct fields, type)},
                 {"name", offsetof(struct fields, name)},
                 {"self_size", offsetof(struct fields, size)},
                 {"edge_count", offsetof(struct fields, edges)},
                 {"to_node", offsetof(struct fields, to)}};

    f->count = 0;
    for (tt_json_array(&x->json); tt_json_item(&x->json);) {
        (void)tt_json_string(&x->json);
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            if (tt_json_is(&x->json, names[i].name))
                *(uint32_t *)(void *)((char *)f + names[i].at) = f->count;
        if (++f->count > MOST_FIELDS)
            tt_json_wrong(&x->json, "there are too many fields");
    }
}

/* [["hidden", "array", …], "string", …]: the first list has the names of the types. */
static void read_types(struct snapshot *x, struct fields *f)
{
    struct tt_json *j = &x->json;

    if (!tt_json_array(j) || !tt_json_item(j))
        return;
    f->types.count = 0;
    for (tt_json_array(j); tt_json_item(j);) {
        const size_t at = tt_json_string(j) ? keep_text(x, j->text) : 0;
        tt_source_append(x->s, &f->types, &at);
    }
    tt_json_close(j);
}

static void read_meta(struct snapshot *x)
{
    struct tt_json *j = &x->json;

    for (tt_json_object(j); tt_json_key(j);)
        if (tt_json_is(j, "node_fields"))
            read_fields(x, &x->node);
        else if (tt_json_is(j, "edge_fields"))
            read_fields(x, &x->edge);
        else if (tt_json_is(j, "node_types"))
            read_types(x, &x->node);
        else if (tt_json_is(j, "edge_types"))
            read_types(x, &x->edge);
        else
            tt_json_skip(j);
}

static void read_head(struct snapshot *x)
{
    for (tt_json_object(&x->json); tt_json_key(&x->json);)
        if (tt_json_is(&x->json, "meta"))
            read_meta(x);
        else
            tt_json_skip(&x->json);
}

/* ── Nodes and edges ──────────────────────────────────────────────────────────────── */

/* Reads the numbers of the next node or edge.  1: there is one; 0: there are no more. */
static int read_row(struct snapshot *x, uint32_t count, uint64_t row[MOST_FIELDS])
{
    struct tt_json *j = &x->json;

    for (uint32_t i = 0; i < count; i++) {
        if (!tt_json_item(j)) {
            if (i)
                tt_json_wrong(j, "the last row lacks numbers");
            return 0;
        }
        row[i] = tt_json_whole(j);
    }
    return !tt_json_failed(j);
}

static void read_nodes(struct snapshot *x)
{
    const struct fields *f = &x->node;
    struct tt_json *j = &x->json;
    uint64_t row[MOST_FIELDS];

    tt_json_array(j);
    if (f->type >= f->count || f->name >= f->count || f->size >= f->count ||
        f->edges >= f->count)
        tt_json_wrong(j, "nodes have no type, name, self_size or edge_count");
    if (x->has_nodes++)
        tt_json_wrong(j, "the nodes are there twice");
    while (read_row(x, f->count, row)) {
        const struct node n = {row[f->size], (uint32_t)row[f->name],
                               (uint32_t)row[f->type]};
        const uint32_t degree = (uint32_t)row[f->edges];
        if (row[f->type] >= f->types.count || row[f->name] >= UINT32_MAX ||
            row[f->edges] >= UINT32_MAX || x->nodes.count >= UINT32_MAX / 2)
            tt_json_wrong(j, "a node is what it cannot be");
        tt_source_append(x->s, &x->nodes, &n);
        tt_source_append(x->s, &x->degree, &degree);
    }
}

/* A weak edge does not keep its target alive; a shortcut does so only from the root. */
static int is_held(const struct snapshot *x, uint64_t type, uint32_t from)
{
    const char *name = text_at(x, ((const size_t *)x->edge.types.item)[type]);

    return strcmp(name, "weak") != 0 && (strcmp(name, "shortcut") != 0 || !from);
}

static void read_edge(struct snapshot *x, uint32_t from, const uint64_t *row)
{
    const struct fields *f = &x->edge;
    const uint32_t to = (uint32_t)(row[f->to] / x->node.count);

    if (row[f->type] >= f->types.count || row[f->to] % x->node.count ||
        row[f->to] / x->node.count >= x->nodes.count)
        tt_json_wrong(&x->json, "an edge leads nowhere, or is of no type");
    else if (!is_held(x, row[f->type], from))
        return;
    else if (x->to.count < UINT32_MAX - 1)
        tt_source_append(x->s, &x->to, &to);
    else
        tt_source_no_memory(x->s);
}

static void read_edges(struct snapshot *x)
{
    const struct fields *f = &x->edge;
    const uint32_t *degree = x->degree.item;
    struct tt_json *j = &x->json;
    uint64_t row[MOST_FIELDS];
    uint32_t *first;

    tt_json_array(j);
    if (f->type >= f->count || f->to >= f->count)
        tt_json_wrong(j, "edges have no type or to_node");
    if (!x->has_nodes || x->has_edges++)
        tt_json_wrong(j, "the edges do not follow the nodes");
    first = tt_vector_add(&x->first, x->nodes.count + 1);
    if (!first) {
        tt_source_no_memory(x->s);
        return;
    }
    for (size_t n = 0; !tt_json_failed(j) && n < x->nodes.count; n++) {
        first[n] = (uint32_t)x->to.count;
        for (uint32_t i = 0; !tt_json_failed(j) && i < degree[n]; i++)
            if (read_row(x, f->count, row))
                read_edge(x, (uint32_t)n, row);
            else
                tt_json_wrong(j, "there are fewer edges than nodes have");
    }
    if (tt_json_failed(j))
        return;
    first[x->nodes.count] = (uint32_t)x->to.count;
    if (tt_json_item(j))
        tt_json_wrong(j, "there are more edges than nodes have");
}

/* ── Names ────────────────────────────────────────────────────────────────────────── */

static int has_type(const struct snapshot *x, uint32_t type, const char *name)
{
    return strcmp(text_at(x, ((const size_t *)x->node.types.item)[type]), name) == 0;
}

/* Objects have the name of their constructor; the name of other nodes is their
 * content. */
static int is_named(const struct snapshot *x, uint32_t type)
{
    return has_type(x, type, "object") || has_type(x, type, "native") ||
           has_type(x, type, "synthetic");
}

static void read_strings(struct snapshot *x)
{
    struct tt_json *j = &x->json;
    const struct node *n = x->nodes.item;
    uint32_t most = 0;
    size_t *at, i = 0;

    tt_json_array(j);
    if (!x->has_nodes || x->has_strings++)
        tt_json_wrong(j, "the strings do not follow the nodes");
    for (size_t k = 0; k < x->nodes.count; k++)
        if (is_named(x, n[k].type) && n[k].name >= most)
            most = n[k].name + 1;
    if (most > x->nodes.count * 64 + 1000000)
        tt_json_wrong(j, "a node has no name");
    at = most && !tt_json_failed(j) ? tt_vector_add(&x->strings, most) : NULL;
    if (most && (!at || !tt_vector_add(&x->block, most))) {
        tt_source_no_memory(x->s);
        return;
    }
    for (size_t k = 0; k < x->nodes.count; k++)
        if (is_named(x, n[k].type))
            at[n[k].name] = 1;
    for (; tt_json_item(j); i++)
        if (i >= most || !at[i])
            tt_json_skip(j);
        else if (tt_json_string(j))
            at[i] = keep_text(x, j->text);
    if (i < most)
        tt_json_wrong(j, "a node has a name that there is not");
}

static uint32_t make_block(struct snapshot *x, const char *name)
{
    return tt_frames_block(&x->heap.names, name, strlen(name));
}

/* Uses the names that Chrome's tools show. */
static uint32_t block_of(struct snapshot *x, const struct node *n)
{
    static const struct {
        const char *type, *name;
    } names[] = {{"hidden", "(system)"},
                 {"code", "(compiled code)"},
                 {"closure", "Function"},
                 {"regexp", "RegExp"}};
    int is_one = is_named(x, n->type);
    uint32_t *known = is_one ? (uint32_t *)x->block.item + n->name
                             : (uint32_t *)x->of_type.item + n->type;
    const char *name = text_at(x, is_one ? ((const size_t *)x->strings.item)[n->name]
                                         : ((const size_t *)x->node.types.item)[n->type]);
    char text[200];

    if (*known)
        return *known - 1;
    if (is_one) {
        *known = make_block(x, *name ? name : "(unnamed)") + 1;
        return *known - 1;
    }
    (void)snprintf(text, sizeof text, "(%.190s)", name);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i].type) == 0)
            (void)snprintf(text, sizeof text, "%s", names[i].name);
    *known = make_block(x, text) + 1;
    return *known - 1;
}

/* ── The tree ─────────────────────────────────────────────────────────────────────── */

struct place {
    uint32_t context, block;
};

static int add_contexts(struct snapshot *x, const struct tt_dominators *d,
                        struct place *place)
{
    const struct node *n = x->nodes.item;
    int error = 0;

    place[0] = (struct place){TT_BUILDER_ROOT, TT_NONE};
    for (uint32_t i = 0; !error && i < d->nodes; i++) {
        const uint32_t node = d->order[i];
        const struct place *above = &place[d->by[node]];
        if (node) {
            const uint32_t block = block_of(x, &n[node]);
            place[node] = (struct place){
                above->block == block ? above->context
                                      : tt_builder_context(x->b, above->context, block),
                block};
        }
        if (place[node].context == TT_NONE)
            return tt_source_no_memory(x->s);
        error = tt_heap_add(&x->heap, TT_HEAP_LIVE_BYTES, place[node].context,
                            n[node].size);
        if (!error)
            error = tt_heap_add(&x->heap, TT_HEAP_LIVE_NUMBER, place[node].context, 1);
    }
    return error;
}

static int make_tree(struct snapshot *x)
{
    const struct tt_graph g = {(uint32_t)x->nodes.count, x->first.item, x->to.item};
    struct tt_dominators d;
    struct place *place;
    size_t size = x->nodes.count * sizeof *place;
    int error;

    if (!x->nodes.count)
        return tt_source_fail(x->s, "there are no nodes");
    if (!x->has_edges || !x->has_strings)
        return tt_source_fail(x->s, "there are no edges, or no strings");
    if (!tt_vector_add(&x->of_type, x->node.types.count) ||
        tt_dominators_find(&d, &g, x->s->memory) != 0)
        return tt_source_no_memory(x->s);
    place = tt_memory_get(x->s->memory, size);
    error = place ? add_contexts(x, &d, place) : tt_source_no_memory(x->s);
    tt_memory_put(x->s->memory, place);
    if (!error)
        tt_heap_finish(&x->heap, NULL);
    return error;
}

static int read_all(struct snapshot *x)
{
    struct tt_json *j = &x->json;

    for (tt_json_object(j); tt_json_key(j);)
        if (tt_json_is(j, "snapshot") && !x->has_nodes)
            read_head(x);
        else if (tt_json_is(j, "nodes"))
            read_nodes(x);
        else if (tt_json_is(j, "edges"))
            read_edges(x);
        else if (tt_json_is(j, "strings"))
            read_strings(x);
        else
            tt_json_skip(j);
    tt_json_end(j);
    return tt_json_failed(j) ? tt_json_failed(j) : make_tree(x);
}

static int read_snapshot(struct tt_source *s, struct tt_builder *b)
{
    struct snapshot x = {.s = s, .b = b};

    memset(&x.node, 0xff, offsetof(struct fields, types));
    memset(&x.edge, 0xff, offsetof(struct fields, types));
    x.node.count = x.edge.count = 0;
    tt_json_init(&x.json, s);
    tt_heap_init(&x.heap, s, b);
    tt_vector_init(&x.node.types, s->memory, sizeof(size_t));
    tt_vector_init(&x.edge.types, s->memory, sizeof(size_t));
    tt_vector_init(&x.text, s->memory, 1);
    tt_vector_init(&x.nodes, s->memory, sizeof(struct node));
    tt_vector_init(&x.first, s->memory, sizeof(uint32_t));
    tt_vector_init(&x.to, s->memory, sizeof(uint32_t));
    tt_vector_init(&x.degree, s->memory, sizeof(uint32_t));
    tt_vector_init(&x.strings, s->memory, sizeof(size_t));
    tt_vector_init(&x.block, s->memory, sizeof(uint32_t));
    tt_vector_init(&x.of_type, s->memory, sizeof(uint32_t));
    return read_all(&x);
}

static enum tt_match detect(const char *head, size_t size)
{
    return tt_match_if(tt_head_first(head, size) == '{' &&
                       tt_head_has(head, size, "\"snapshot\"") &&
                       tt_head_has(head, size, "\"node_fields\""));
}

const struct tt_format tt_format_snapshot = {
    .name = "heapsnapshot",
    .about = "heap snapshots of V8: what retains how much",
    .detect = detect,
    .read = read_snapshot,
};
