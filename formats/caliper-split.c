/* SPDX-License-Identifier: MIT */
/* caliper-split.c - the json-split that Caliper writes for other tools: reading.
 *
 *      {"data": [[0, 0.5, 7], [1, 0.25, null]],       a row's cells, by column: a number,
 *       "columns": ["path", "time", "rank"],          or a node
 *       "column_metadata": [{"is_value": false}, {"is_value": true, …}, …],
 *       "nodes": [{"label": "main", "column": "path"},
 *                 {"label": "init", "column": "path", "parent": 0}]}
 *
 * Rows come first and are read last, so the text is kept.  If there is a column `path`,
 * its nodes are the contexts.  Otherwise the nodes of all columns are, each column's
 * nodes below those of the column before. */
#include <string.h>

#include "caliper.h"
#include "json-reader.h"

struct column {
    size_t name, unit; /* in `text` */
    int is_value, is_path, is_known;
    struct tt_caliper_column figure;
};

struct node {
    uint32_t parent, context; /* parent: TT_NONE: none */
    size_t label;
};

struct cell { /* of the row that was read last */
    enum tt_json_kind kind;
    size_t text;
};

struct split {
    struct tt_caliper shared;
    struct tt_source *s;
    const char *all;
    size_t size;
    struct tt_vector column, node, cell, text; /* text: char */
    uint64_t at[4];                            /* of each part; 0: it is missing */
};

enum part { DATA, COLUMNS, METADATA, NODES };

static void keep(struct split *x, const struct tt_json *j, size_t *at)
{
    char *to = tt_vector_add(&x->text, j->length + 1);

    if (!to) {
        tt_source_no_memory(j->s);
        return;
    }
    memcpy(to, j->text, j->length + 1);
    *at = x->text.count - j->length - 1;
}

static const char *text_at(const struct split *x, size_t at)
{
    return (const char *)x->text.item + at;
}

static struct column *column_at(const struct split *x, size_t i)
{
    return (struct column *)x->column.item + i;
}

/* ── Columns ──────────────────────────────────────────────────────────────────────── */

static void read_names(struct split *x, struct tt_json *j)
{
    for (tt_json_array(j); tt_json_item(j);) {
        struct column *c = tt_vector_add(&x->column, 1);
        if (!c) {
            tt_source_no_memory(j->s);
            return;
        }
        c->is_value = 1;
        if (tt_json_string(j))
            keep(x, j, &c->name);
        c->unit = c->name + j->length; /* "" */
    }
}

static void read_column(struct split *x, struct tt_json *j, struct column *c)
{
    for (tt_json_object(j); tt_json_key(j);)
        if (tt_json_is(j, "is_value")) {
            const enum tt_json_kind kind = tt_json_value(j);
            c->is_value = kind == TT_JSON_TRUE;
            if (kind != TT_JSON_TRUE && kind != TT_JSON_FALSE)
                tt_json_wrong(j, "is_value is true or false");
        } else if (!tt_json_is(j, "attribute.unit")) {
            tt_json_skip(j);
        } else if (tt_json_string(j)) {
            keep(x, j, &c->unit);
        }
}

static void read_metadata(struct split *x, struct tt_json *j)
{
    size_t i = 0;
    int has_path = 0;

    for (tt_json_array(j); tt_json_item(j);)
        if (i < x->column.count)
            read_column(x, j, column_at(x, i++));
        else
            tt_json_wrong(j, "there are fewer columns than this");
    if (i < x->column.count)
        tt_json_wrong(j, "a column has no metadata");
    for (i = 0; i < x->column.count; i++)
        has_path |= !column_at(x, i)->is_value &&
                    strcmp(text_at(x, column_at(x, i)->name), "path") == 0;
    for (i = 0; i < x->column.count; i++)
        column_at(x, i)->is_path = !column_at(x, i)->is_value &&
                                   (!has_path || strcmp(text_at(x, column_at(x, i)->name),
                                                        "path") == 0);
}

/* ── Nodes ────────────────────────────────────────────────────────────────────────── */

static struct node *node_at(const struct split *x, uint32_t i)
{
    return (struct node *)x->node.item + i;
}

static void read_node(struct split *x, struct tt_json *j)
{
    struct node n = {.parent = TT_NONE, .label = SIZE_MAX, .context = TT_NONE};

    for (tt_json_object(j); tt_json_key(j);)
        if (tt_json_is(j, "label")) {
            if (tt_json_string(j))
                keep(x, j, &n.label);
        } else if (tt_json_is(j, "parent")) {
            const uint64_t parent = tt_json_whole_or(j, UINT64_MAX);
            if (parent != UINT64_MAX && parent >= x->node.count)
                tt_json_wrong(j, "a node's parent is not before it");
            n.parent = parent == UINT64_MAX ? TT_NONE : (uint32_t)parent;
        } else {
            tt_json_skip(j);
        }
    if (n.label == SIZE_MAX)
        tt_json_wrong(j, "this node has no label");
    tt_source_append(j->s, &x->node, &n);
}

static void read_nodes(struct split *x, struct tt_json *j)
{
    for (tt_json_array(j); tt_json_item(j);)
        read_node(x, j);
}

/* ── Rows ─────────────────────────────────────────────────────────────────────────── */

/* The path of a node below a context.  Below the root it is worked out once. */
static uint32_t enter(struct split *x, uint32_t from, uint32_t index)
{
    uint32_t up = index, context = from;
    struct tt_vector path;

    tt_vector_init(&path, x->s->memory, sizeof(uint32_t));
    for (; up != TT_NONE; up = node_at(x, up)->parent) {
        if (from == TT_BUILDER_ROOT && node_at(x, up)->context != TT_NONE) {
            context = node_at(x, up)->context;
            break;
        }
        if (tt_vector_push(&path, &up) != 0) {
            context = TT_NONE;
            break;
        }
    }
    while (path.count && context != TT_NONE) {
        struct node *n = node_at(x, ((uint32_t *)path.item)[--path.count]);
        context = tt_caliper_context(&x->shared, context, text_at(x, n->label));
        if (from == TT_BUILDER_ROOT)
            n->context = context;
    }
    tt_vector_fini(&path);
    return context;
}

static void read_cells(struct split *x, struct tt_json *j)
{
    x->cell.count = 0;
    for (tt_json_array(j); tt_json_item(j);) {
        struct cell c = {.text = 0};
        if (x->cell.count == x->column.count)
            tt_json_wrong(j, "a row has more cells than there are columns");
        c.kind = tt_json_value(j);
        if (c.kind == TT_JSON_OBJECT || c.kind == TT_JSON_ARRAY)
            tt_json_wrong(j, "a cell is a number, a string or null");
        if (c.kind == TT_JSON_NUMBER)
            keep(x, j, &c.text);
        tt_source_append(j->s, &x->cell, &c);
    }
    if (x->cell.count < x->column.count)
        tt_json_wrong(j, "a row has fewer cells than there are columns");
}

/* Finds the node that a cell in a column of nodes refers to; TT_NONE: none. */
static uint32_t node_of(struct split *x, struct tt_json *j, const struct cell *c)
{
    const uint32_t index = c->kind == TT_JSON_NUMBER
                               ? tt_caliper_number(text_at(x, c->text))
                               : TT_NONE;

    if (c->kind == TT_JSON_NUMBER && index >= x->node.count)
        tt_json_wrong(j, "a row is of a node that is not there");
    return index;
}

/* Finds the context, the rank and the thread of a row. */
static uint32_t take_keys(struct split *x, struct tt_json *j)
{
    const struct cell *cell = x->cell.item;
    uint32_t rank = TT_NONE, thread = TT_NONE, node = TT_NONE, number,
             context = TT_BUILDER_ROOT;
    enum tt_caliper_kind whose;

    for (size_t i = 0; !tt_json_failed(j) && i < x->cell.count; i++) {
        struct column *c = column_at(x, i);
        if (!c->is_value)
            node = node_of(x, j, &cell[i]);
        if (tt_json_failed(j) || cell[i].kind != TT_JSON_NUMBER)
            continue;
        number = tt_caliper_number(
            text_at(x, c->is_value ? cell[i].text : node_at(x, node)->label));
        whose = tt_caliper_whose(text_at(x, c->name));
        if (whose == TT_CALIPER_RANK)
            rank = number;
        else if (whose == TT_CALIPER_THREAD)
            thread = number;
        else if (c->is_path && (context = enter(x, context, node)) == TT_NONE)
            tt_source_no_memory(j->s);
    }
    if (!tt_json_failed(j) && (rank != x->shared.rank || thread != x->shared.thread))
        (void)tt_caliper_strand(&x->shared, rank, thread);
    return context;
}

/* Takes the figures of a row, or its time. */
static void take_figures(struct split *x, struct tt_json *j, uint32_t context,
                         enum tt_caliper_kind kind)
{
    const struct cell *cell = x->cell.item;

    for (size_t i = 0; !tt_json_failed(j) && i < x->cell.count; i++) {
        struct column *c = column_at(x, i);
        const char *text = text_at(x, cell[i].text);
        if (!c->is_value || cell[i].kind != TT_JSON_NUMBER)
            continue;
        if (!c->is_known) /* a column of texts has no figures */
            c->figure = tt_caliper_column(&x->shared, text_at(x, c->name),
                                          text_at(x, c->unit));
        c->is_known = 1;
        if (c->figure.kind == kind && kind == TT_CALIPER_TIME)
            tt_caliper_time(&x->shared, &c->figure, text);
        else if (c->figure.kind == kind)
            (void)tt_caliper_add(&x->shared, &c->figure, context, text);
    }
}

static void read_rows(struct split *x, struct tt_json *j)
{
    const size_t kept = x->text.count;
    uint32_t context;

    for (tt_json_array(j); tt_json_item(j); x->text.count = kept) {
        x->shared.time = UINT64_MAX;
        read_cells(x, j);
        context = take_keys(x, j);
        take_figures(x, j, context, TT_CALIPER_TIME);
        take_figures(x, j, context, TT_CALIPER_METRIC);
    }
}

/* ── The file ─────────────────────────────────────────────────────────────────────── */

static void find_parts(struct split *x)
{
    static const char *const names[] = {"data", "columns", "column_metadata", "nodes"};
    struct tt_json_part p;

    tt_json_part_open(&p, x->s, x->all, x->size, 0);
    for (tt_json_object(&p.json); tt_json_key(&p.json);) {
        int i = DATA;
        while (i <= NODES && !tt_json_is(&p.json, names[i]))
            i++;
        if (i <= NODES)
            x->at[i] = tt_json_place(&p.json);
        else
            tt_json_skip(&p.json);
    }
    tt_json_end(&p.json);
    for (int i = DATA; i <= NODES; i++)
        if (!x->at[i])
            tt_json_wrong(&p.json, "the data, the columns, their metadata or the nodes "
                                   "are missing");
    tt_json_part_close(&p);
}

static void read_part(struct split *x, enum part part,
                      void (*read)(struct split *, struct tt_json *))
{
    struct tt_json_part p;

    if (tt_source_failed(x->s))
        return;
    tt_json_part_open(&p, x->s, x->all, x->size, x->at[part]);
    x->shared.s = &p.source;
    read(x, &p.json);
    x->shared.s = x->s;
    tt_json_part_close(&p);
}

static int read_split(struct tt_source *s, struct tt_builder *b)
{
    struct split x = {.s = s};
    int error = tt_source_all(s, &x.all, &x.size);

    if (error)
        return error;
    tt_caliper_init(&x.shared, s, b);
    tt_vector_init(&x.column, s->memory, sizeof(struct column));
    tt_vector_init(&x.node, s->memory, sizeof(struct node));
    tt_vector_init(&x.cell, s->memory, sizeof(struct cell));
    tt_vector_init(&x.text, s->memory, 1);
    find_parts(&x);
    read_part(&x, COLUMNS, read_names);
    read_part(&x, METADATA, read_metadata);
    read_part(&x, NODES, read_nodes);
    read_part(&x, DATA, read_rows);
    error = tt_source_failed(s);
    return error ?: tt_caliper_finish(&x.shared);
}

/* The first key is "data", with rows, or the columns are described early. */
static enum tt_match detect(const char *head, size_t size)
{
    static const char *const first[] = {"{", "\"data\"", ":", "[", "[", NULL};
    const char *at = head, *end = head + size;

    if (!size || *head != '{')
        return TT_MATCH_NO;
    if (memmem(head, size, "\"column_metadata\"", 17) &&
        memmem(head, size, "\"columns\"", 9))
        return TT_MATCH_YES;
    for (const char *const *word = first; *word; word++) {
        while (at < end && memchr(" \t\r\n", *at, 4))
            at++;
        if ((size_t)(end - at) < strlen(*word) || memcmp(at, *word, strlen(*word)) != 0)
            return TT_MATCH_NO;
        at += strlen(*word);
    }
    return TT_MATCH_MAYBE;
}

const struct tt_format tt_format_caliper = {
    .name = "caliper",
    .about = "Caliper's json-split",
    .detect = detect,
    .read = read_split,
};
