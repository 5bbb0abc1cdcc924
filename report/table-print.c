/* SPDX-License-Identifier: MIT */
/* table-print.c - any table as text for a terminal.
 *
 * Two passes: the first makes every cell's text and measures it, the second pads.
 * Columns of figures come first, right-aligned; the name is last, and takes the remaining
 * width.  The length of a line is bounded whatever the depth of its row, so a tree of a
 * million levels does not print a quadratic number of blanks. */
#include "table-print.h"

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

void tt_text_amount(struct tt_text *out, uint64_t n, const char *unit)
{
    struct unit u = choose_unit(unit, (double)n);

    if (u.size > 1)
        tt_text_printf(out, "%.3f", (double)n / u.size);
    else
        tt_text_printf(out, "%llu", (unsigned long long)n);
    if (*u.name) {
        tt_text_put(out, " ");
        tt_text_show(out, u.name, SIZE_MAX);
    }
}

/* ── Cells ────────────────────────────────────────────────────────────────────────── */

enum {
    FULL = 2048,     /* bytes of a name with the part that distinguishes it */
    CELL = 128,      /* a bracket of two figures of 20 digits, and an error */
    NAME_LEAST = 8,  /* columns that a name gets on the narrowest terminal */
    NAME_ROOM = 30,  /* below that, columns that can be spared make room for it */
    TEXT_LEAST = 12, /* and that a text before it gets */
    WIDE = 100,      /* for rules and indentation when lines have no end */
    SIDE_INDENT = 4  /* of callers and callees */
};

struct shown { /* a printed column, which may combine three of the table */
    size_t column, low, error; /* low, error: SIZE_MAX when there is none */
    struct unit unit;
    size_t width, errors; /* errors: what the widest of them takes */
    size_t units;         /* the same of units that cells have */
    int is_text;
};

struct printing {
    struct tt_text *out;
    const struct tt_table *t;
    struct shown shown[TT_TABLE_COLUMNS];
    size_t count, name;    /* name: a column of the table; SIZE_MAX: none */
    uint32_t apart;        /* the same; UINT32_MAX: none */
    uint32_t back;         /* calls that led back into the path; the same */
    uint32_t estimated;    /* the row is a share; the same */
    size_t figures, names; /* columns that they take */
    size_t foot;           /* the first of the last rows that are sums */
    size_t spared;         /* columns that were left out for lack of room: the last */
    uint32_t width;
    int color, has_sides; /* sides: callers, callees */
    int has_changes;
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

/* Returns the unit of a cell: the column's, or a smaller one if the figure would have
 * less than two digits.  Changes have the unit of the figures beside them. */
static struct unit unit_of_cell(const struct printing *p, const struct shown *s,
                                const union tt_value *v)
{
    const struct tt_column *c = tt_table_column_at(p->t, s->column);
    const double size = magnitude(c, v);
    int is_small = size > 0 && size < 0.0095 * s->unit.size;

    return is_small && c->type != TT_COLUMN_SHARE && !p->has_changes
               ? choose_unit(c->unit, size)
               : s->unit;
}

/* Scaled figures have three decimals; counts have none, and are exact. */
static void format_value(char cell[CELL], const struct tt_column *c,
                         const union tt_value *v, const struct unit *u)
{
    const int is_scaled = u->size > 1;

    cell[0] = '\0';
    switch (c->type) {
    case TT_COLUMN_AMOUNT:
        if (is_scaled)
            (void)snprintf(cell, CELL, "%.3f", (double)v->n / u->size);
        else
            (void)snprintf(cell, CELL, "%llu", (unsigned long long)v->n);
        break;
    case TT_COLUMN_CHANGE:
        if (is_scaled)
            (void)snprintf(cell, CELL, "%+.3f", (double)v->change / u->size);
        else
            (void)snprintf(cell, CELL, "%+lld", (long long)v->change);
        break;
    case TT_COLUMN_REAL:
        (void)snprintf(cell, CELL, fabs(v->real) < 1e15 ? "%.3f" : "%.3e",
                       v->real / u->size);
        break;
    case TT_COLUMN_SHARE:
        (void)snprintf(cell, CELL, fabs(v->real) < 1e15 ? "%.2f %%" : "%.2e %%",
                       v->real * 100);
        break;
    case TT_COLUMN_TEXT:
        break;
    }
}

/* WIDTH: longer values extend to the right. */
static void append(char cell[CELL], const char *mark, const char *more, size_t width)
{
    size_t length = strlen(cell);

    (void)snprintf(cell + length, CELL - length, "%s%*s", mark, (int)width, more);
}

/* Pads units, so that figures with and without one are aligned. */
static void append_unit(char cell[CELL], const char *unit, size_t width)
{
    size_t length = strlen(cell), missing = width - tt_text_width(unit);

    (void)snprintf(cell + length, CELL - length, " %s%*s", unit, (int)missing, "");
}

/* "12.3–14.1", or "14.1" if both print alike; with '!' if they are far apart. */
static void add_low(const struct printing *p, const struct shown *s, size_t row,
                    const struct unit *unit, char cell[CELL])
{
    const struct tt_column *c = tt_table_column_at(p->t, s->column);
    const union tt_value *high = tt_table_value(p->t, row, s->column);
    const union tt_value *low = s->low == SIZE_MAX ? NULL
                                                   : tt_table_value(p->t, row, s->low);
    char least[CELL];

    if (!low || !high)
        return;
    format_value(least, c, low, unit);
    if (strcmp(least, cell) != 0) {
        append(least, "–", cell, 0);
        memcpy(cell, least, CELL);
    }
    if (magnitude(c, low) < 0.8 * magnitude(c, high))
        append(cell, "!", "", 0);
}

static size_t make_error(const struct printing *p, const struct shown *s, size_t row,
                         char text[CELL])
{
    const union tt_value *error = tt_table_value(p->t, row, s->error);

    text[0] = '\0';
    if (error)
        format_value(text, tt_table_column_at(p->t, s->error), error, &s->unit);
    return strlen(text);
}

/* Returns the text of a cell; for a text, the one in the table. */
static const char *make_cell(const struct printing *p, const struct shown *s, size_t row,
                             char cell[CELL])
{
    const struct tt_column *c = tt_table_column_at(p->t, s->column);
    const union tt_value *v = tt_table_value(p->t, row, s->column);
    struct unit unit;
    char error[CELL];

    cell[0] = '\0';
    if (!v)
        return cell;
    if (s->is_text)
        return v->text;
    unit = unit_of_cell(p, s, v);
    format_value(cell, c, v, &unit);
    add_low(p, s, row, &unit, cell);
    if (s->units)
        append_unit(cell, unit.size < s->unit.size ? unit.name : "", s->units);
    if (s->errors)
        append(cell, make_error(p, s, row, error) ? " ± " : "   ", error, s->errors);
    return cell;
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
    struct shown *last = NULL; /* what brackets and errors belong to */

    p->name = SIZE_MAX;
    p->apart = tt_table_find(t, "apart");
    p->back = tt_table_find(t, "by_arcs");
    p->estimated = tt_table_find(t, "estimated");
    for (size_t i = 0; i < tt_table_columns(t); i++) {
        const struct tt_column *c = tt_table_column_at(t, i);
        if (c->flags & (TT_COLUMN_LOW | TT_COLUMN_ERROR)) {
            if (last)
                *(c->flags & TT_COLUMN_LOW ? &last->low : &last->error) = i;
            continue;
        }
        last = NULL;
        if (c->flags & TT_COLUMN_NAME) {
            p->name = i;
        } else if (!(c->flags & TT_COLUMN_DETAIL) && is_used(p, i)) {
            last = &p->shown[p->count++];
            *last = (struct shown){.column = i,
                                   .low = SIZE_MAX,
                                   .error = SIZE_MAX,
                                   .is_text = c->type == TT_COLUMN_TEXT};
        }
    }
}

static void make_title(const struct printing *p, const struct shown *s, char cell[CELL])
{
    const struct tt_column *c = tt_table_column_at(p->t, s->column);
    int has_unit = c->type != TT_COLUMN_SHARE && !s->is_text && *s->unit.name &&
                   strcmp(s->unit.name, c->title) != 0;

    (void)snprintf(cell, CELL, "%s%s%s", c->title, has_unit ? " " : "",
                   has_unit ? s->unit.name : "");
}

static size_t larger(size_t a, size_t b) { return a > b ? a : b; }
static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

static double largest_of(const struct printing *p, const struct shown *s)
{
    const struct tt_column *c = tt_table_column_at(p->t, s->column);
    double largest = 0;

    for (size_t row = 0; row < tt_table_rows(p->t); row++) {
        const union tt_value *v = tt_table_value(p->t, row, s->column);
        if (v && magnitude(c, v) > largest)
            largest = magnitude(c, v);
    }
    return largest;
}

/* Changes have the unit of the figures beside them, unless it is so small that the
 * largest would have more than six digits. */
static void share_unit(struct printing *p, const char *unit)
{
    double change = 0, any = 0;

    for (size_t i = 0; i < p->count; i++) {
        const struct tt_column *c = tt_table_column_at(p->t, p->shown[i].column);
        double *most = c->type == TT_COLUMN_CHANGE ? &change : &any;
        if (strcmp(c->unit, unit) == 0)
            *most = fmax(*most, largest_of(p, &p->shown[i]));
    }
    for (size_t i = 0; i < p->count; i++)
        if (strcmp(tt_table_column_at(p->t, p->shown[i].column)->unit, unit) == 0)
            p->shown[i].unit = choose_unit(unit, fmax(change, any / 1000));
}

/* Chooses the unit of each column by its largest figure. */
static void choose_units(struct printing *p)
{
    const char *changing = NULL;

    for (size_t i = 0; i < p->count; i++) {
        const struct tt_column *c = tt_table_column_at(p->t, p->shown[i].column);
        p->shown[i].unit = choose_unit(c->unit, largest_of(p, &p->shown[i]));
        if (c->type == TT_COLUMN_CHANGE)
            changing = c->unit;
    }
    p->has_changes = changing != NULL;
    if (changing && *changing)
        share_unit(p, changing);
}

/* The width of a cell's widest unit. */
static size_t measure_units(const struct printing *p, const struct shown *s)
{
    size_t width = 0;

    for (size_t row = 0; !s->is_text && row < tt_table_rows(p->t); row++) {
        const union tt_value *v = tt_table_value(p->t, row, s->column);
        struct unit unit = v ? unit_of_cell(p, s, v) : s->unit;
        if (unit.size < s->unit.size)
            width = larger(width, tt_text_width(unit.name));
    }
    return width;
}

static void measure_column(const struct printing *p, struct shown *s)
{
    char cell[CELL];

    s->units = measure_units(p, s);
    for (size_t row = 0; s->error != SIZE_MAX && row < tt_table_rows(p->t); row++)
        s->errors = larger(s->errors, make_error(p, s, row, cell));
    for (size_t row = 0; row < tt_table_rows(p->t); row++)
        s->width = larger(s->width, tt_text_width(make_cell(p, s, row, cell)));
    if (s->is_text && p->width)
        s->width = smaller(s->width, larger(TEXT_LEAST, p->width / 4));
    make_title(p, s, cell);
    s->width = larger(s->width, tt_text_width(cell));
}

/* ── Names ────────────────────────────────────────────────────────────────────────── */

/* The indentation of a name: blanks by its depth, or the depth as a number if blanks
 * would take more than half the room. */
struct indent {
    size_t blanks;
    char depth[16];
};

static size_t name_room(const struct printing *p)
{
    if (!p->width)
        return SIZE_MAX;
    return larger(NAME_LEAST, p->width > p->figures ? p->width - p->figures : 0);
}

static struct indent indent_of(const struct printing *p, const struct tt_row *r)
{
    const size_t most = p->width ? name_room(p) / 2 : WIDE;
    struct indent in = {.blanks = 2 * (size_t)r->depth};

    if (r->role == TT_ROW_CALLER || r->role == TT_ROW_CALLEE)
        in.blanks += SIDE_INDENT;
    if (in.blanks <= most)
        return in;
    in.blanks = most;
    if (r->depth)
        (void)snprintf(in.depth, sizeof in.depth, "[%u] ", r->depth);
    return in;
}

static const char *name_of(const struct printing *p, size_t row)
{
    const union tt_value *v = p->name == SIZE_MAX ? NULL
                                                  : tt_table_value(p->t, row, p->name);

    return v ? v->text : NULL;
}

static const union tt_value *value_at(const struct printing *p, size_t row,
                                      uint32_t column)
{
    return column == UINT32_MAX ? NULL : tt_table_value(p->t, row, column);
}

/* A name that several blocks have is followed by the part that distinguishes them.  Marks
 * before it: calls led back into the path, or figures are estimates. */
static const char *full_name(const struct printing *p, size_t row, char full[FULL])
{
    const char *name = name_of(p, row);
    const union tt_value *apart = value_at(p, row, p->apart),
                         *back = value_at(p, row, p->back),
                         *estimated = value_at(p, row, p->estimated);

    if (!name || (!apart && !back && !estimated))
        return name;
    (void)snprintf(full, FULL, "%s%s%s%s%s%s", back ? "↺ " : "", estimated ? "≈ " : "",
                   name, apart ? " (" : "", apart ? apart->text : "", apart ? ")" : "");
    return full;
}

static void put_name(const struct printing *p, size_t row)
{
    const struct indent in = indent_of(p, tt_table_row_at(p->t, row));
    const size_t before = in.blanks + strlen(in.depth), room = name_room(p);
    char full[FULL];

    tt_text_repeat(p->out, ' ', in.blanks);
    tt_text_put(p->out, in.depth);
    tt_text_show(p->out, full_name(p, row, full),
                 room > before + NAME_LEAST ? room - before : NAME_LEAST);
}

static void measure_names(struct printing *p)
{
    char full[FULL];

    p->names = 0;
    for (size_t row = 0; row < tt_table_rows(p->t); row++) {
        const struct indent in = indent_of(p, tt_table_row_at(p->t, row));
        const char *name = full_name(p, row, full);
        if (name)
            p->names = larger(p->names,
                              in.blanks + strlen(in.depth) + tt_text_width(name));
    }
}

/* Moves a column after the shown ones, to those that are not shown. */
static void spare_column(struct printing *p, size_t i)
{
    const struct shown spared = p->shown[i];

    p->figures -= spared.width + 2;
    p->count--;
    memmove(&p->shown[i], &p->shown[i + 1], (p->count + p->spared - i) * sizeof spared);
    p->shown[p->count + p->spared++] = spared;
}

static void make_room(struct printing *p)
{
    for (size_t i = p->count; i-- > 0;) {
        measure_names(p);
        if (!p->width || p->figures + smaller(p->names, NAME_ROOM) <= p->width)
            return;
        if (tt_table_column_at(p->t, p->shown[i].column)->flags & TT_COLUMN_SPARE)
            spare_column(p, i);
    }
    measure_names(p);
}

static void measure(struct printing *p)
{
    const struct tt_table *t = p->t;

    choose_units(p);
    for (size_t i = 0; i < p->count; i++) {
        measure_column(p, &p->shown[i]);
        p->figures += p->shown[i].width + 2;
    }
    make_room(p);
    for (size_t row = 0; row < tt_table_rows(t); row++) {
        const struct tt_row *r = tt_table_row_at(t, row);
        p->has_sides |= r->role == TT_ROW_CALLER || r->role == TT_ROW_CALLEE;
    }
    for (p->foot = tt_table_rows(t); p->foot; p->foot--) {
        const struct tt_row *r = tt_table_row_at(t, p->foot - 1);
        if ((r->role != TT_ROW_REMAINDER && r->role != TT_ROW_TOTAL) || r->depth ||
            r->group)
            break;
    }
}

/* ── Lines ────────────────────────────────────────────────────────────────────────── */

static void put_cell(struct printing *p, const struct shown *s, const char *cell)
{
    size_t shown;

    if (!s->is_text)
        tt_text_repeat(p->out, ' ', s->width - smaller(s->width, tt_text_width(cell)));
    shown = tt_text_show(p->out, cell, s->width);
    if (s->is_text)
        tt_text_repeat(p->out, ' ', s->width - shown);
    tt_text_put(p->out, "  ");
}

static const char *color_of(enum tt_row_role role)
{
    switch (role) {
    case TT_ROW_HEADING:
    case TT_ROW_TOTAL:
        return "\033[1m";
    case TT_ROW_CALLER:
    case TT_ROW_CALLEE:
    case TT_ROW_REMAINDER:
        return "\033[2m";
    case TT_ROW_ENTRY:
        break;
    }
    return "";
}

static void put_row(struct printing *p, size_t row)
{
    const char *color = p->color ? color_of(tt_table_row_at(p->t, row)->role) : "";
    char cell[CELL];

    tt_text_put(p->out, color);
    for (size_t i = 0; i < p->count; i++)
        put_cell(p, &p->shown[i], make_cell(p, &p->shown[i], row, cell));
    if (name_of(p, row))
        put_name(p, row);
    tt_text_put(p->out, *color ? "\033[0m\n" : "\n");
}

static void put_titles(struct printing *p)
{
    char cell[CELL];

    if (p->color)
        tt_text_put(p->out, "\033[4m");
    for (size_t i = 0; i < p->count; i++) {
        make_title(p, &p->shown[i], cell);
        put_cell(p, &p->shown[i], cell);
    }
    if (p->name != SIZE_MAX)
        tt_text_put(p->out, tt_table_column_at(p->t, p->name)->title);
    tt_text_put(p->out, p->color ? "\033[0m\n" : "\n");
}

static void put_rule(struct printing *p)
{
    size_t width = smaller(p->figures + p->names, p->width ? p->width : WIDE);

    if (p->color)
        tt_text_put(p->out, "\033[2m");
    while (width--)
        tt_text_put(p->out, "─");
    tt_text_put(p->out, p->color ? "\033[0m\n" : "\n");
}

static int begins_group(const struct tt_table *t, size_t row)
{
    const struct tt_row *r = tt_table_row_at(t, row);

    return r->group != r[-1].group &&
           (r->role == TT_ROW_CALLER || r[-1].role == TT_ROW_CALLEE ||
            r[-1].role == TT_ROW_ENTRY);
}

/* A rule precedes sums, and entries with callers or callees.  A blank line separates
 * other groups and parts. */
static void put_break(struct printing *p, size_t row)
{
    if (row == 0)
        return;
    if (row == p->foot)
        put_rule(p);
    else if (tt_table_row_at(p->t, row)->role == TT_ROW_HEADING)
        tt_text_put(p->out, "\n");
    else if (begins_group(p->t, row) && p->has_sides)
        put_rule(p);
    else if (begins_group(p->t, row))
        tt_text_put(p->out, "\n");
}

static void put_spared(const struct printing *p)
{
    struct tt_text text;

    tt_text_init(&text, p->out->bytes.memory);
    tt_text_put(&text, "columns without room: ");
    for (size_t i = p->spared; i-- > 0;) {
        tt_text_put(&text,
                    tt_table_column_at(p->t, p->shown[p->count + i].column)->title);
        tt_text_put(&text, i ? ", " : "");
    }
    tt_text_wrap(p->out, tt_text_string(&text), p->width);
    p->out->failed |= text.failed;
    tt_text_fini(&text);
}

static void put_notes(const struct printing *p)
{
    const struct tt_table *t = p->t;

    if (t->note.count || p->spared)
        tt_text_put(p->out, "\n");
    for (size_t i = 0; i < t->note.count; i++)
        tt_text_wrap(p->out, tt_table_note_at(t, i)->text, p->width);
    if (p->spared)
        put_spared(p);
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
        put_break(&p, row);
        put_row(&p, row);
    }
    put_notes(&p);
}
