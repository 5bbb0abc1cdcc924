/* SPDX-License-Identifier: MIT */
/* print.c - any table as text for a terminal.
 *
 * Two passes: the first makes every cell's text and measures it, the second pads.  Columns
 * of figures come first, right-aligned; the name is last, and takes what is left. */
#include "print.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ── Units ────────────────────────────────────────────────────────────────────────── */

struct unit {
    const char *of, *name; /* of: the unit of the exact figure */
    double size;
};

static const struct unit units[] = {
    {"ns", "s", 1e9},
    {"ns", "ms", 1e6},
    {"ns", "µs", 1e3},
    {"ns", "ns", 1},
    {"bytes", "TiB", 1024.0 * 1024 * 1024 * 1024},
    {"bytes", "GiB", 1024.0 * 1024 * 1024},
    {"bytes", "MiB", 1024.0 * 1024},
    {"bytes", "KiB", 1024},
    {"bytes", "B", 1},
};

/* The largest unit in which the largest figure is at least 1. */
static struct unit choose_unit(const char *unit, double largest)
{
    struct unit found = {unit, unit, 1};

    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strcmp(units[i].of, unit) != 0)
            continue;
        found = units[i];
        if (largest >= found.size)
            break;
    }
    return found;
}

/* ── Cells ────────────────────────────────────────────────────────────────────────── */

enum { CELL = 64, COLUMNS_MOST = 64 };

struct shown { /* a column as it is printed, perhaps two of the table in one */
    size_t column, low, error; /* low, error: SIZE_MAX when there is none */
    struct unit unit;
    size_t width;
    int right;
};

struct printing {
    struct tt_text *out;
    const struct tt_table *t;
    struct shown shown[COLUMNS_MOST];
    size_t count, name; /* name: a column of the table; SIZE_MAX: none */
    uint32_t width;
    int color;
};

static double magnitude(const struct tt_column *c, const union tt_value *v)
{
    switch (c->type) {
    case TT_COLUMN_AMOUNT:
        return (double)v->n;
    case TT_COLUMN_CHANGE:
        return fabs((double)v->change);
    case TT_COLUMN_REAL:
    case TT_COLUMN_SHARE:
        return fabs(v->real);
    case TT_COLUMN_TEXT:
        break;
    }
    return 0;
}

/* Scaled units have three figures behind the point; counts have none. */
static void format_amount(char cell[CELL], double x, const struct unit *u, int sign)
{
    int digits = u->size > 1 ? 3 : 0;

    (void)snprintf(cell, CELL, sign ? "%+.*f" : "%.*f", digits, x / u->size);
}

static void format_value(char cell[CELL], const struct tt_column *c,
                         const union tt_value *v, const struct unit *u)
{
    switch (c->type) {
    case TT_COLUMN_AMOUNT:
        if (u->size > 1)
            format_amount(cell, (double)v->n, u, 0);
        else
            (void)snprintf(cell, CELL, "%llu", (unsigned long long)v->n);
        break;
    case TT_COLUMN_CHANGE:
        format_amount(cell, (double)v->change, u, 1);
        break;
    case TT_COLUMN_REAL:
        (void)snprintf(cell, CELL, "%.3f", v->real / u->size);
        break;
    case TT_COLUMN_SHARE:
        (void)snprintf(cell, CELL, "%.2f %%", v->real * 100);
        break;
    case TT_COLUMN_TEXT:
        (void)snprintf(cell, CELL, "%s", v->text);
        break;
    }
}

static void append(char cell[CELL], const char *mark, const char *more)
{
    size_t length = strlen(cell);

    (void)snprintf(cell + length, CELL - length, "%s%s", mark, more);
}

/* "12.3–14.1", or "14.1" where both read the same; with '!' when they are far apart. */
static void add_low(const struct printing *p, const struct shown *s, size_t row,
                    char cell[CELL])
{
    const struct tt_column *c = tt_table_column_at(p->t, s->column);
    const union tt_value *high = tt_table_value(p->t, row, s->column);
    const union tt_value *low = s->low == SIZE_MAX ? NULL
                                                   : tt_table_value(p->t, row, s->low);
    char least[CELL];

    if (!low || !high)
        return;
    format_value(least, c, low, &s->unit);
    if (strcmp(least, cell) != 0) {
        append(least, "–", cell);
        memcpy(cell, least, CELL);
    }
    if (magnitude(c, low) < 0.8 * magnitude(c, high))
        append(cell, "!", "");
}

static void make_cell(const struct printing *p, const struct shown *s, size_t row,
                      char cell[CELL])
{
    const struct tt_column *c = tt_table_column_at(p->t, s->column);
    const union tt_value *v = tt_table_value(p->t, row, s->column), *error = NULL;
    char text[CELL];

    cell[0] = '\0';
    if (!v)
        return;
    format_value(cell, c, v, &s->unit);
    add_low(p, s, row, cell);
    if (s->error != SIZE_MAX)
        error = tt_table_value(p->t, row, s->error);
    if (error) {
        format_value(text, tt_table_column_at(p->t, s->error), error, &s->unit);
        append(cell, " ± ", text);
    }
}

/* ── Columns ──────────────────────────────────────────────────────────────────────── */

static int is_used(const struct printing *p, size_t column)
{
    for (size_t i = 0; i < tt_table_rows(p->t); i++)
        if (tt_table_value(p->t, i, column))
            return 1;
    return 0;
}

static void choose_columns(struct printing *p)
{
    const struct tt_table *t = p->t;

    p->name = SIZE_MAX;
    for (size_t i = 0; i < tt_table_columns(t) && p->count < COLUMNS_MOST; i++) {
        const struct tt_column *c = tt_table_column_at(t, i);
        struct shown *s = &p->shown[p->count];
        if ((c->flags & TT_COLUMN_LOW) && p->count)
            p->shown[p->count - 1].low = i;
        else if ((c->flags & TT_COLUMN_ERROR) && p->count)
            p->shown[p->count - 1].error = i;
        else if (c->flags & TT_COLUMN_NAME)
            p->name = i;
        else if (!(c->flags & TT_COLUMN_DETAIL) && is_used(p, i)) {
            *s = (struct shown){.column = i, .low = SIZE_MAX, .error = SIZE_MAX};
            s->right = c->type != TT_COLUMN_TEXT;
            p->count++;
        }
    }
}

static void title(const struct printing *p, const struct shown *s, char cell[CELL])
{
    const struct tt_column *c = tt_table_column_at(p->t, s->column);
    int has_unit = c->type != TT_COLUMN_SHARE && c->type != TT_COLUMN_TEXT &&
                   *s->unit.name && strcmp(s->unit.name, c->title) != 0;

    (void)snprintf(cell, CELL, "%s%s%s", c->title, has_unit ? " " : "",
                   has_unit ? s->unit.name : "");
}

static void measure(struct printing *p)
{
    char cell[CELL];

    for (size_t i = 0; i < p->count; i++) {
        struct shown *s = &p->shown[i];
        const struct tt_column *c = tt_table_column_at(p->t, s->column);
        double largest = 0;
        for (size_t row = 0; row < tt_table_rows(p->t); row++) {
            const union tt_value *v = tt_table_value(p->t, row, s->column);
            if (v && magnitude(c, v) > largest)
                largest = magnitude(c, v);
        }
        s->unit = choose_unit(c->unit, largest);
        title(p, s, cell);
        s->width = tt_text_width(cell);
        for (size_t row = 0; row < tt_table_rows(p->t); row++) {
            make_cell(p, s, row, cell);
            if (tt_text_width(cell) > s->width)
                s->width = tt_text_width(cell);
        }
    }
}

/* ── Lines ────────────────────────────────────────────────────────────────────────── */

static void put_cell(struct printing *p, const struct shown *s, const char *cell)
{
    size_t pad = s->width - tt_text_width(cell);

    if (s->right)
        tt_text_repeat(p->out, ' ', pad);
    tt_text_put(p->out, cell);
    if (!s->right)
        tt_text_repeat(p->out, ' ', pad);
    tt_text_put(p->out, "  ");
}

/* How many bytes of `s` the first (or, counted from the end, last) `width` columns are. */
static size_t bytes_of(const char *s, size_t width, int from_end)
{
    size_t length = strlen(s), seen = 0, i;

    if (!from_end) {
        for (i = 0; i < length; i++)
            if (((unsigned char)s[i] & 0xc0) != 0x80 && seen++ == width)
                break;
        return i;
    }
    for (i = length; i > 0 && seen < width; i--)
        seen += ((unsigned char)s[i - 1] & 0xc0) != 0x80;
    return length - i;
}

static void put_name(struct printing *p, const char *name, size_t indent, size_t used)
{
    size_t width = tt_text_width(name), room = p->width > used ? p->width - used : 0;

    if (p->width && indent + 8 > room)
        indent = room > 8 ? (room - 8) / 2 : 0;
    tt_text_repeat(p->out, ' ', indent);
    room = room > indent + 8 ? room - indent : 8;
    if (!p->width || width <= room) {
        tt_text_put(p->out, name);
        return;
    }
    tt_text_bytes(p->out, name, bytes_of(name, (room - 1) / 2, 0));
    tt_text_put(p->out, "…");
    width = bytes_of(name, room - 1 - (room - 1) / 2, 1);
    tt_text_bytes(p->out, name + strlen(name) - width, width);
}

static size_t figures_width(const struct printing *p)
{
    size_t width = 0;

    for (size_t i = 0; i < p->count; i++)
        width += p->shown[i].width + 2;
    return width;
}

static const char *color_of(enum tt_row_role role)
{
    switch (role) {
    case TT_ROW_HEADING:
        return "\033[1m";
    case TT_ROW_CALLER:
    case TT_ROW_CALLEE:
    case TT_ROW_REMAINDER:
        return "\033[2m";
    case TT_ROW_TOTAL:
        return "\033[1m";
    case TT_ROW_ENTRY:
        break;
    }
    return "";
}

static void put_row(struct printing *p, size_t row)
{
    const struct tt_row *r = tt_table_row_at(p->t, row);
    const union tt_value *name = p->name == SIZE_MAX ? NULL
                                                     : tt_table_value(p->t, row, p->name);
    const char *color = p->color ? color_of(r->role) : "";
    size_t indent = 2 * (size_t)r->depth;
    char cell[CELL];

    tt_text_put(p->out, color);
    for (size_t i = 0; i < p->count; i++) {
        make_cell(p, &p->shown[i], row, cell);
        put_cell(p, &p->shown[i], cell);
    }
    if (r->role == TT_ROW_CALLER || r->role == TT_ROW_CALLEE)
        indent += 4;
    if (name)
        put_name(p, name->text, indent, figures_width(p));
    tt_text_put(p->out, *color ? "\033[0m\n" : "\n");
}

static void put_titles(struct printing *p)
{
    char cell[CELL];

    if (p->color)
        tt_text_put(p->out, "\033[4m");
    for (size_t i = 0; i < p->count; i++) {
        title(p, &p->shown[i], cell);
        put_cell(p, &p->shown[i], cell);
    }
    if (p->name != SIZE_MAX)
        tt_text_put(p->out, tt_table_column_at(p->t, p->name)->title);
    tt_text_put(p->out, p->color ? "\033[0m\n" : "\n");
}

/* Groups that have callers or callees stand apart. */
static int begins_group(const struct tt_table *t, size_t row)
{
    const struct tt_row *r = tt_table_row_at(t, row);

    if (row == 0)
        return 0;
    if (r->role == TT_ROW_HEADING)
        return 1;
    return r->group != r[-1].group &&
           (r->role == TT_ROW_CALLER || r[-1].role == TT_ROW_CALLEE ||
            r[-1].role == TT_ROW_ENTRY);
}

void tt_text_table(struct tt_text *out, const struct tt_table *t, uint32_t width,
                   int color)
{
    struct printing p = {.out = out, .t = t, .width = width, .color = color};

    out->failed |= t->failed;
    choose_columns(&p);
    measure(&p);
    if (tt_table_rows(t))
        put_titles(&p);
    else
        tt_text_put(out, "nothing to show\n");
    for (size_t row = 0; row < tt_table_rows(t); row++) {
        if (begins_group(t, row))
            tt_text_put(out, "\n");
        put_row(&p, row);
    }
    for (size_t i = 0; i < t->note.count; i++)
        tt_text_printf(out, "%s%s\n", i ? "" : "\n", ((const char **)t->note.item)[i]);
}
