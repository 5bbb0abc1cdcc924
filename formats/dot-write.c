/* SPDX-License-Identifier: MIT */
/* dot-write.c - call graphs to be drawn: Graphviz's DOT, and Mermaid: writing.
 *
 * The boxes and lines are those of the view `graph`: the largest blocks, and between two
 * blocks the cost of all paths on which one calls the other.  A note says how much is
 * left out. */
#include <stdio.h>
#include <string.h>

#include "formats.h"
#include "utf8.h"
#include "view.h"
#include "views.h"
#include "writers.h"

enum { DOT_BOXES = 80, MERMAID_BOXES = 40 };
static const double LEAST_LINE = 0.001; /* of the total; below, nothing can be seen */

struct drawing {
    const struct tt_profile *p;
    struct tt_writer *w;
    struct tt_table table;
    const char *unit;
    uint32_t name, block, self, self_share, inclusive, share, calls; /* columns */
    unsigned char *is_shown; /* owned; of each block */
    int is_dot;
};

/* ── Texts ────────────────────────────────────────────────────────────────────────── */

/* Writes a string in quotes.  Escapes what has a meaning in the language; bytes that are
 * not UTF-8 become U+FFFD. */
static void put_quoted(const struct drawing *d, const char *text)
{
    uint32_t code;

    for (size_t size; *text; text += size ? size : 1) {
        size = tt_utf8(text, &code);
        if (!size)
            tt_put(d->w, "\xef\xbf\xbd");
        else if (code < ' ')
            tt_put_char(d->w, ' ');
        else if (d->is_dot && (*text == '"' || *text == '\\'))
            tt_putf(d->w, "\\%c", *text);
        else if (!d->is_dot && strchr("\"#<>&;`", *text))
            tt_putf(d->w, "#%d;", *text);
        else
            tt_put_bytes(d->w, text, size);
    }
}

static void put_amount(const struct drawing *d, uint64_t n)
{
    static const struct {
        const char *of, *unit;
        double size;
    } units[] = {
        {"ns", "s", 1e9},          {"ns", "ms", 1e6},
        {"ns", "us", 1e3},         {"bytes", "GiB", 1ull << 30},
        {"bytes", "MiB", 1 << 20}, {"bytes", "KiB", 1 << 10},
    };

    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(d->unit, units[i].of) == 0 && (double)n >= units[i].size) {
            tt_putf(d->w, "%.3f %s", (double)n / units[i].size, units[i].unit);
            return;
        }
    tt_put_number(d->w, n);
    if (*d->unit) {
        tt_put_char(d->w, ' ');
        put_quoted(d, d->unit);
    }
}

static uint64_t amount_at(const struct drawing *d, size_t row, uint32_t column)
{
    const union tt_value *v = column == TT_NONE ? NULL
                                                : tt_table_value(&d->table, row, column);

    return v ? v->n : 0;
}

static double share_at(const struct drawing *d, size_t row, uint32_t column)
{
    const union tt_value *v = tt_table_value(&d->table, row, column);

    return v ? v->real : 0;
}

static void put_share(const struct drawing *d, size_t row, uint32_t column)
{
    tt_putf(d->w, "%.2f %%", share_at(d, row, column) * 100);
}

/* ── Boxes and lines ──────────────────────────────────────────────────────────────── */

static void put_box(struct drawing *d, size_t row)
{
    const union tt_value *name = tt_table_value(&d->table, row, d->name);
    const char *newline = d->is_dot ? "\\n" : "<br/>";
    uint64_t block = amount_at(d, row, d->block);

    d->is_shown[block] = 1;
    tt_putf(d->w, d->is_dot ? "    b%llu [label=\"" : "    b%llu[\"",
            (unsigned long long)block);
    put_quoted(d, name && name->text ? name->text : "");
    tt_put(d->w, newline);
    put_amount(d, amount_at(d, row, d->inclusive));
    tt_put(d->w, ", ");
    put_share(d, row, d->share);
    if (amount_at(d, row, d->self)) {
        tt_put(d->w, newline);
        tt_put(d->w, "self ");
        put_amount(d, amount_at(d, row, d->self));
        tt_put(d->w, ", ");
        put_share(d, row, d->self_share);
    }
    if (d->is_dot) /* the larger its self share, the darker */
        tt_putf(d->w, "\", fillcolor=\"0.08 %.3f 1.0\"];\n",
                share_at(d, row, d->self_share));
    else
        tt_put(d->w, "\"]\n");
}

static void put_line(const struct drawing *d, uint64_t from, size_t row)
{
    uint64_t to = amount_at(d, row, d->block), calls = amount_at(d, row, d->calls);

    if (!d->is_shown[to] || share_at(d, row, d->share) < LEAST_LINE)
        return;
    tt_putf(d->w, d->is_dot ? "    b%llu -> b%llu [label=\"" : "    b%llu -->|\"",
            (unsigned long long)from, (unsigned long long)to);
    put_amount(d, amount_at(d, row, d->inclusive));
    if (calls)
        tt_putf(d->w, "%s%llu x", d->is_dot ? "\\n" : "<br/>", (unsigned long long)calls);
    if (d->is_dot)
        tt_putf(d->w, "\", penwidth=%.2f];\n", 0.5 + 4.5 * share_at(d, row, d->share));
    else
        tt_putf(d->w, "\"| b%llu\n", (unsigned long long)to);
}

static void put_rows(struct drawing *d)
{
    size_t rows = tt_table_rows(&d->table);

    for (size_t i = 0; i < rows; i++)
        if (tt_table_row_at(&d->table, i)->role == TT_ROW_ENTRY)
            put_box(d, i);
    for (size_t i = 0; i < rows; i++) {
        const struct tt_row *row = tt_table_row_at(&d->table, i);
        uint64_t from = amount_at(d, i, d->block);
        if (row->role != TT_ROW_ENTRY)
            continue;
        for (size_t k = i + 1;
             k < rows && tt_table_row_at(&d->table, k)->role == TT_ROW_CALLEE; k++)
            put_line(d, from, k);
    }
}

/* Writes how much is left out. */
static void put_rest(const struct drawing *d)
{
    for (size_t i = 0; i < tt_table_rows(&d->table); i++) {
        const union tt_value *name = tt_table_value(&d->table, i, d->name);
        const struct tt_row *row = tt_table_row_at(&d->table, i);
        if (row->role != TT_ROW_REMAINDER || row->group)
            continue;
        tt_put(d->w, d->is_dot ? "    rest [shape=plaintext, label=\"" : "    rest[\"");
        put_quoted(d, name && name->text ? name->text : "");
        tt_put(d->w, ": self ");
        put_amount(d, amount_at(d, i, d->self));
        tt_put(d->w, d->is_dot ? "\"];\n" : "\"]\n");
        return;
    }
}

/* ── The whole ────────────────────────────────────────────────────────────────────── */

static void find_columns(struct drawing *d)
{
    d->name = tt_table_find(&d->table, "name");
    d->block = tt_table_find(&d->table, "block");
    d->self = tt_table_find(&d->table, "self");
    d->self_share = tt_table_find(&d->table, "self_share");
    d->inclusive = tt_table_find(&d->table, "inclusive");
    d->share = tt_table_find(&d->table, "inclusive_share");
    d->calls = tt_table_find(&d->table, "calls");
    d->unit = tt_table_column_at(&d->table, d->inclusive)->unit;
}

static void put_all(struct drawing *d, const char *metric)
{
    const char *program = tt_profile_program(d->p);

    if (d->is_dot) {
        tt_put(d->w, "digraph profile {\n    label=\"");
        put_quoted(d, program ? program : "");
        tt_put(d->w, program && *program ? ": " : "");
        put_quoted(d, metric);
        tt_put(d->w, "\";\n    node [shape=box, style=filled, fillcolor=white];\n");
    } else {
        tt_put(d->w, "flowchart TD\n");
    }
    put_rows(d);
    put_rest(d);
    tt_put(d->w, d->is_dot ? "}\n" : "");
}

static int draw(struct tt_export *e, struct tt_writer *w, int is_dot)
{
    struct drawing d = {.p = e->profile, .w = w, .is_dot = is_dot};
    uint32_t metric = tt_export_metric(e);
    struct tt_query q;
    char limit[8];
    int error;

    if (metric == TT_NONE)
        return -TT_ERR_OPTION;
    tt_query_init(&q, d.p->memory);
    tt_table_init(&d.table, "graph", d.p->memory);
    (void)snprintf(limit, sizeof limit, "%d", is_dot ? DOT_BOXES : MERMAID_BOXES);
    error = tt_query_set(&q, "limit", limit);
    error = error ?: tt_query_set(&q, "metric", d.p->metric[metric].name);
    error = error ?: tt_view_graph(d.p, &q, &d.table);
    d.is_shown = error ? NULL : tt_memory_get(d.p->memory, d.p->blocks + 1);
    if (error)
        (void)snprintf(e->error, sizeof e->error, "%s", q.error);
    else if (d.table.failed || !d.is_shown)
        error = -TT_ERR_MEMORY;
    if (!error) {
        find_columns(&d);
        put_all(&d, d.p->metric[metric].name);
    }
    tt_memory_put(d.p->memory, d.is_shown);
    tt_table_fini(&d.table);
    tt_query_fini(&q);
    return error;
}

static int write_dot(struct tt_export *e, struct tt_writer *w) { return draw(e, w, 1); }
static int write_mermaid(struct tt_export *e, struct tt_writer *w)
{
    return draw(e, w, 0);
}

const struct tt_format tt_format_dot = {
    .name = "dot",
    .about = "a call graph for Graphviz",
    .write = write_dot,
};
const struct tt_format tt_format_mermaid = {
    .name = "mermaid",
    .about = "a call graph for Mermaid",
    .write = write_mermaid,
};
