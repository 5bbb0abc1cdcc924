/* SPDX-License-Identifier: MIT */
/* table.c - the answer of a view: columns, rows, notes. */
#include "table.h"

#include "assertion.h"
#include "format.h"
#include "sorted.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *tt_row_role_word(enum tt_row_role role)
{
    static const char *const words[] = {"entry",   "caller",    "callee",
                                        "heading", "remainder", "total"};

    TT_ASSERT((size_t)role < sizeof words / sizeof *words);
    return words[role];
}

void tt_table_init(struct tt_table *t, const char *view, const struct tt_memory *m)
{
    *t = (struct tt_table){.view = view};
    tt_vector_init(&t->column, m, sizeof(struct tt_column));
    tt_vector_init(&t->row, m, sizeof(struct tt_row));
    tt_vector_init(&t->value, m, sizeof(union tt_value));
    tt_vector_init(&t->note, m, sizeof(struct tt_note));
    tt_vector_init(&t->argument, m, sizeof(struct tt_argument));
    tt_vector_init(&t->piece, m, sizeof(char *));
}

static char **piece_at(const struct tt_table *t, size_t i)
{
    return (char **)t->piece.item + i;
}

void tt_table_fini(struct tt_table *t)
{
    for (size_t i = 0; i < t->piece.count; i++)
        tt_memory_put(t->piece.memory, *piece_at(t, i));
    tt_vector_fini(&t->piece);
    tt_vector_fini(&t->argument);
    tt_vector_fini(&t->note);
    tt_vector_fini(&t->value);
    tt_vector_fini(&t->row);
    tt_vector_fini(&t->column);
}

void tt_table_column(struct tt_table *t, const char *key, const char *title,
                     const char *unit, enum tt_column_type type, uint32_t flags)
{
    if (t->row.count || t->column.count >= TT_TABLE_COLUMNS ||
        tt_vector_push(&t->column, &(struct tt_column){key, title, unit, type, flags}) !=
            0)
        t->failed = 1;
}

void tt_table_row(struct tt_table *t, enum tt_row_role role, uint32_t depth,
                  uint32_t group)
{
    size_t first = t->value.count;

    if (t->failed || !tt_vector_add(&t->value, t->column.count) ||
        tt_vector_push(&t->row, &(struct tt_row){role, depth, group, 0, ~0ull, first}) !=
            0)
        t->failed = 1;
}

void tt_table_left(struct tt_table *t, uint64_t rows)
{
    if (t->row.count && !t->failed)
        ((struct tt_row *)t->row.item)[t->row.count - 1].left = rows;
}

/* Returns the place of the last row's value; NULL if the table has failed. */
static union tt_value *set_value(struct tt_table *t, uint32_t column)
{
    struct tt_row *r;

    TT_ASSERT(t->failed || column == TT_NONE || column < t->column.count);
    if (t->failed || column >= t->column.count || !t->row.count)
        return NULL;
    r = (struct tt_row *)t->row.item + t->row.count - 1;
    r->missing &= ~(1ull << column);
    return (union tt_value *)t->value.item + r->first + column;
}

void tt_table_amount(struct tt_table *t, uint32_t column, uint64_t n)
{
    union tt_value *v = set_value(t, column);

    if (v)
        v->n = n;
}

void tt_table_change(struct tt_table *t, uint32_t column, int64_t change)
{
    union tt_value *v = set_value(t, column);

    if (v)
        v->change = change;
}

void tt_table_real(struct tt_table *t, uint32_t column, double real)
{
    union tt_value *v = isfinite(real) ? set_value(t, column) : NULL;

    if (v)
        v->real = real;
}

void tt_table_string(struct tt_table *t, uint32_t column, const char *text)
{
    union tt_value *v = text ? set_value(t, column) : NULL;

    if (v)
        v->text = text;
}

static __attribute__((format(printf, 2, 0))) const char *keep(struct tt_table *t,
                                                              const char *format,
                                                              va_list list)
{
    va_list again;
    char **piece;
    char *text = NULL;
    int length;

    va_copy(again, list);
    length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    piece = length >= 0 && !t->failed ? tt_vector_add(&t->piece, 1) : NULL;
    if (piece)
        text = tt_memory_get(t->piece.memory, (size_t)length + 1);
    if (!text) {
        t->piece.count -= piece != NULL;
        t->failed = 1;
        return "";
    }
    (void)vsnprintf(text, (size_t)length + 1, format, list);
    *piece = text;
    return text;
}

const char *tt_table_text(struct tt_table *t, const char *format, ...)
{
    const char *text;
    va_list list;

    va_start(list, format);
    text = keep(t, format, list);
    va_end(list);
    return text;
}

/* ── Notes ────────────────────────────────────────────────────────────────────────── */

static uint64_t next_amount(const char *size, va_list *list)
{
    if (strncmp(size, "ll", 2) == 0)
        return va_arg(*list, unsigned long long);
    if (*size == 'z')
        return va_arg(*list, size_t);
    return *size == 'l' ? va_arg(*list, unsigned long) : va_arg(*list, unsigned);
}

/* Reads the argument of the conversion at `flags`, behind its '%'. */
static struct tt_argument next_argument(struct tt_table *t, const char *flags,
                                        va_list *list)
{
    const char *size = flags + strspn(flags, "-.0123456789"),
               *type = size + strspn(size, "lz");
    struct tt_argument a = {.type = TT_COLUMN_TEXT};

    switch (*type) {
    case 'u':
        a.type = TT_COLUMN_AMOUNT;
        a.value.n = next_amount(size, list);
        break;
    case 'd':
        TT_ASSERT(type == size);
        a.type = TT_COLUMN_CHANGE;
        a.value.change = va_arg(*list, int);
        break;
    case 'f':
    case 'g':
        a.type = TT_COLUMN_REAL;
        a.value.real = va_arg(*list, double);
        break;
    default:
        TT_ASSERT(*type == 's');
        a.value.text = tt_table_text(t, "%s", va_arg(*list, const char *));
    }
    return a;
}

static void keep_arguments(struct tt_table *t, const char *format, va_list *list)
{
    const char *at = format;

    while ((at = strchr(at, '%'))) {
        at++;
        if (*at != '%') {
            const struct tt_argument a = next_argument(t, at, list);
            if (*at != '-' && tt_vector_push(&t->argument, &a) != 0)
                t->failed = 1;
        }
        at++;
    }
}

void tt_table_note(struct tt_table *t, const char *kind, const char *format, ...)
{
    const size_t first = t->argument.count;
    const char *text;
    struct tt_note note;
    va_list list;

    va_start(list, format);
    text = keep(t, format, list);
    va_end(list);
    va_start(list, format);
    keep_arguments(t, format, &list);
    va_end(list);
    note = (struct tt_note){kind, text, first, t->argument.count - first};
    if (t->failed || tt_vector_push(&t->note, &note) != 0)
        t->failed = 1;
}

const struct tt_note *tt_table_note_at(const struct tt_table *t, size_t i)
{
    return (const struct tt_note *)t->note.item + i;
}

const struct tt_column *tt_table_column_at(const struct tt_table *t, size_t i)
{
    return (const struct tt_column *)t->column.item + i;
}

const struct tt_row *tt_table_row_at(const struct tt_table *t, size_t i)
{
    return (const struct tt_row *)t->row.item + i;
}

const union tt_value *tt_table_value(const struct tt_table *t, size_t row, size_t column)
{
    const struct tt_row *r = tt_table_row_at(t, row);

    if (r->missing & 1ull << column)
        return NULL;
    return (const union tt_value *)t->value.item + r->first + column;
}

uint32_t tt_table_find(const struct tt_table *t, const char *key)
{
    for (uint32_t i = 0; i < t->column.count; i++)
        if (strcmp(tt_table_column_at(t, i)->key, key) == 0)
            return i;
    return UINT32_MAX;
}

/* ── Sorting ──────────────────────────────────────────────────────────────────────── */

/* Rows that are sorted as one: an entry with its callers before it and its callees after
 * it. */
struct bundle {
    size_t first, end;
    const union tt_value *value; /* of its entry; NULL: missing */
    enum tt_column_type type;
    int descending;
};

static int compare_values(const struct bundle *a, const struct bundle *b)
{
    switch (a->type) {
    case TT_COLUMN_TEXT:
        return strcmp(a->value->text, b->value->text);
    case TT_COLUMN_AMOUNT:
        return TT_ORDER(a->value->n, b->value->n);
    case TT_COLUMN_CHANGE:
        return TT_ORDER(a->value->change, b->value->change);
    case TT_COLUMN_REAL:
    case TT_COLUMN_SHARE:
        break;
    }
    return TT_ORDER(a->value->real, b->value->real);
}

static int compare_bundles(const void *x, const void *y)
{
    const struct bundle *a = x, *b = y;
    int order = 0;

    if (a->value && b->value)
        order = compare_values(a, b);
    else if (a->value || b->value)
        return a->value ? -1 : 1;
    if (a->descending)
        order = -order;
    return order ?: TT_ORDER(a->first, b->first);
}

static int is_of_group(const struct tt_row *r)
{
    return r->role == TT_ROW_ENTRY || r->role == TT_ROW_CALLER ||
           r->role == TT_ROW_CALLEE;
}

/* Returns the end of the rows from `first` on that stay together: a group with callers or
 * callees, or else a single row. */
static size_t bundle_end(const struct tt_table *t, size_t first,
                         const struct tt_row **entry)
{
    const struct tt_row *r = t->row.item;
    size_t end = first;

    *entry = NULL;
    while (end < t->row.count && is_of_group(&r[end]) && r[end].group == r[first].group) {
        if (r[end].role == TT_ROW_ENTRY) {
            if (*entry)
                break;
            *entry = &r[end];
        } else if (*entry && r[end].role == TT_ROW_CALLER) {
            break;
        }
        end++;
    }
    return end;
}

static void sort_stretch(struct tt_table *t, struct bundle *b, size_t count,
                         struct tt_row *sorted)
{
    struct tt_row *r = t->row.item;
    size_t first, at = 0;

    if (count < 2)
        return;
    first = b[0].first;
    qsort(b, count, sizeof *b, compare_bundles);
    for (size_t i = 0; i < count; i++)
        for (size_t j = b[i].first; j < b[i].end; j++)
            sorted[at++] = r[j];
    memcpy(r + first, sorted, at * sizeof *r);
}

void tt_table_sort(struct tt_table *t, uint32_t column, int descending)
{
    const struct tt_memory *m = t->row.memory;
    const size_t rows = t->row.count;
    struct bundle *b = tt_memory_get(m, rows * sizeof *b);
    struct tt_row *sorted = tt_memory_get(m, rows * sizeof *sorted);
    size_t count = 0, end;

    for (size_t i = 0; b && sorted && i < rows; i = end) {
        const struct tt_row *r = tt_table_row_at(t, i), *entry;
        end = bundle_end(t, i, &entry);
        if (!is_of_group(r) || end == i) {
            sort_stretch(t, b, count, sorted);
            count = 0;
            end = i + 1;
            continue;
        }
        b[count++] = (struct bundle){
            .first = i,
            .end = end,
            .value = entry
                         ? tt_table_value(
                               t, (size_t)(entry - (struct tt_row *)t->row.item), column)
                         : NULL,
            .type = tt_table_column_at(t, column)->type,
            .descending = descending};
    }
    if (b && sorted)
        sort_stretch(t, b, count, sorted);
    else
        t->failed = 1;
    tt_memory_put(m, sorted);
    tt_memory_put(m, b);
}
