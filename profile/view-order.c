/* SPDX-License-Identifier: MIT */
/* view-order.c - the order of a view's rows, and where they are cut off. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "assertion.h"
#include "metric-view.h"
#include "pattern.h"
#include "several.h"
#include "sorted.h"
#include "view-order.h"
#include "views.h"

/* ── What the query says ──────────────────────────────────────────────────────────── */

uint64_t tt_least_amount(double share, uint64_t total)
{
    /* rounding must not take one of 100 rows from a share that was written as 39 % */
    double least = ceil(share * (double)total * (1 - 1e-12));

    if (!(least > 0))
        return 0;
    return least < 18446744073709549568.0 ? (uint64_t)least : UINT64_MAX; /* < 2^64 */
}

enum { WORDS_MAX = 16, WORDS_SIZE = 200 };

/* Cuts a text at its blanks; returns how many words it has. */
static size_t cut_words(char *text, const char *words[WORDS_MAX])
{
    size_t count = 0;

    for (char *end = text; end; text = end) {
        TT_ASSERT(count < WORDS_MAX);
        words[count++] = text;
        end = strchr(text, ' ');
        if (end)
            *end++ = '\0';
    }
    return count;
}

int tt_view_word(struct tt_query *q, const char *view, const char *key)
{
    const char *value = tt_query_other(q, key), *words[WORDS_MAX], *near;
    char text[WORDS_SIZE];
    size_t count, at;
    int length;

    if (!value)
        return 0;
    length = snprintf(text, sizeof text, "%s",
                      tt_view_key_named(tt_view_named(view), key)->words);
    TT_ASSERT(length < WORDS_SIZE);
    (void)length;
    count = cut_words(text, words);
    for (size_t i = 0; i < count; i++)
        if (strcmp(words[i], value) == 0)
            return (int)i;
    near = tt_query_suggest(value, words, count);
    if (near)
        return tt_query_wrong(q, "%s has no '%.40s'; did you mean '%s'?", key, value,
                              near);
    (void)tt_query_wrong(q, "%s has no '%.40s'; it may be", key, value);
    for (size_t i = 0; i < count; i++) {
        at = strlen(q->error);
        (void)snprintf(q->error + at, sizeof q->error - at, "%s '%s'", i ? "," : "",
                       words[i]);
    }
    return -TT_ERR_OPTION;
}

int tt_view_blocks(const struct tt_profile *p, struct tt_query *q, const char *pattern,
                   unsigned char **wanted)
{
    char error[sizeof q->error] = "no memory";
    struct tt_pattern *x = tt_pattern_new(pattern, error, sizeof error);

    *wanted = NULL;
    if (!x)
        return tt_query_wrong(q, "%s", error);
    *wanted = tt_pattern_blocks(x, p);
    tt_pattern_free(x);
    if (!*wanted)
        return -TT_ERR_MEMORY;
    for (uint32_t b = 0; b < p->blocks; b++)
        if ((*wanted)[b])
            return 0;
    free(*wanted);
    *wanted = NULL;
    return tt_query_wrong(q, "no block matches '%.80s'", pattern);
}

/* ── Order ────────────────────────────────────────────────────────────────────────── */

/* The column that a query wants the rows sorted by, and which way. */
static int sort_column(struct tt_query *q, const struct tt_table *t, const char *own,
                       uint32_t *column, int *descending)
{
    const char *key = q->sort ? q->sort : own, *known[32], *near;
    size_t count = 0;

    *descending = *key != '-';
    key += *key == '-';
    *column = tt_table_find(t, key);
    if (*column != TT_NONE)
        return 0;
    for (; count < tt_table_columns(t) && count < sizeof known / sizeof *known; count++)
        known[count] = tt_table_column_at(t, count)->key;
    near = tt_query_suggest(key, known, count);
    if (near)
        return tt_query_wrong(q, "there is no column '%.40s'; did you mean '%s'?", key,
                              near);
    return tt_query_wrong(q, "there is no column '%.40s' to sort by", key);
}

int tt_view_sort(struct tt_query *q, struct tt_table *t, const char *own)
{
    uint32_t column;
    int descending, error;

    if (t->failed)
        return -TT_ERR_MEMORY;
    error = sort_column(q, t, own, &column, &descending);
    if (error)
        return error;
    if (q->since) /* many have had nothing since: they keep the view's own order */
        tt_table_sort(t, tt_table_find(t, own), 1);
    tt_table_sort(t, column, descending);
    return t->failed ? -TT_ERR_MEMORY : 0;
}

struct sort_key {
    uint32_t parent, row; /* parent: a row + 1; 0: none */
    uint32_t last;        /* 1: no value; 2: a remainder; 3: the total */
    int descending;
    uint64_t number; /* in the order of the figures, upwards */
    const char *text;
};

static int compare_keys(const void *a, const void *b)
{
    const struct sort_key *x = a, *y = b;
    int value = x->text && y->text ? strcmp(x->text, y->text)
                                   : TT_ORDER(x->number, y->number);

    return TT_ORDER(x->parent, y->parent) ?: TT_ORDER(x->last, y->last)
           ?: (x->descending ? -value : value) ?: TT_ORDER(x->row, y->row);
}

static void take_value(struct sort_key *k, const struct tt_table *t, uint32_t column)
{
    const struct tt_row *row = tt_table_row_at(t, k->row);
    const union tt_value *value = tt_table_value(t, k->row, column);
    uint64_t bits;

    if (row->role == TT_ROW_REMAINDER || row->role == TT_ROW_TOTAL) {
        k->last = row->role == TT_ROW_TOTAL ? 3 : 2;
        return;
    }
    k->last = !value;
    if (!value)
        return;
    switch (tt_table_column_at(t, column)->type) {
    case TT_COLUMN_TEXT:
        k->text = value->text;
        break;
    case TT_COLUMN_AMOUNT:
        k->number = value->n;
        break;
    case TT_COLUMN_CHANGE:
        k->number = (uint64_t)value->change ^ (uint64_t)1 << 63;
        break;
    default: /* the bits of floating figures have the right order, except the sign */
        memcpy(&bits, &value->real, sizeof bits);
        k->number = bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
        break;
    }
}

/* The parent of each row is the last one above it that is less deep. */
static void find_parents(const struct tt_table *t, struct sort_key *k, uint32_t *above)
{
    for (uint32_t i = 0; i < tt_table_rows(t); i++) {
        uint32_t depth = tt_table_row_at(t, i)->depth;
        k[i].row = i;
        k[i].parent = depth ? above[depth - 1] : 0;
        above[depth] = i + 1;
    }
}

/* Puts rows after their parents, in the order of their keys. */
static void arrange(const struct sort_key *k, uint32_t rows, const struct tt_row *from,
                    struct tt_row *to, uint32_t *start, uint32_t *next, uint32_t *code)
{
    uint32_t level = 0, placed = 0;

    for (uint32_t i = 0; i < rows; i++)
        start[k[i].parent + 1]++;
    for (uint32_t i = 0; i <= rows; i++)
        start[i + 1] += start[i];
    code[0] = next[0] = 0;
    for (;;) {
        if (next[level] < start[code[level] + 1]) {
            uint32_t row = k[next[level]++].row;
            to[placed++] = from[row];
            level++;
            code[level] = row + 1;
            next[level] = start[row + 1];
        } else if (level-- == 0) {
            return;
        }
    }
}

static int sort_tree(struct tt_table *t, uint32_t column, int descending)
{
    const uint32_t rows = (uint32_t)tt_table_rows(t);
    const struct tt_memory *m = t->row.memory;
    uint32_t deepest = 0, *levels, *start;
    struct sort_key *k = tt_memory_get(m, rows * sizeof *k);
    struct tt_row *to = tt_memory_get(m, rows * sizeof *to);

    for (uint32_t i = 0; i < rows; i++)
        if (tt_table_row_at(t, i)->depth > deepest)
            deepest = tt_table_row_at(t, i)->depth;
    start = tt_memory_get(m, ((size_t)rows + 2) * sizeof *start);
    levels = tt_memory_get(m, ((size_t)deepest + 2) * 2 * sizeof *levels);
    if (k && to && start && levels && rows) {
        find_parents(t, k, levels);
        for (uint32_t i = 0; i < rows; i++) {
            k[i].descending = descending;
            take_value(&k[i], t, column);
        }
        qsort(k, rows, sizeof *k, compare_keys);
        arrange(k, rows, t->row.item, to, start, levels, levels + deepest + 2);
        memcpy(t->row.item, to, rows * sizeof *to);
    }
    tt_memory_put(m, levels);
    tt_memory_put(m, start);
    tt_memory_put(m, to);
    tt_memory_put(m, k);
    return k && to && start && levels ? 0 : -TT_ERR_MEMORY;
}

int tt_view_sort_tree(struct tt_query *q, struct tt_table *t, const char *own)
{
    uint32_t column;
    int descending, error;

    if (t->failed)
        return -TT_ERR_MEMORY;
    error = sort_column(q, t, own, &column, &descending);
    if (!error && q->since)
        error = sort_tree(t, tt_table_find(t, own), 1);
    return error ?: sort_tree(t, column, descending);
}

/* ── Cut ──────────────────────────────────────────────────────────────────────────── */

static uint64_t amount_at(const struct tt_table *t, size_t row, uint32_t column)
{
    const union tt_value *value = column == TT_NONE ? NULL
                                                    : tt_table_value(t, row, column);

    return value ? value->n : 0;
}

static int is_above(const struct tt_table *t, size_t row, const struct tt_columns *c,
                    uint64_t least)
{
    return amount_at(t, row, c->self) >= least ||
           amount_at(t, row, c->inclusive) >= least;
}

/* Rows of one group are adjacent, around the group's entry. */
static size_t end_of_group(const struct tt_table *t, size_t first, size_t *entry)
{
    size_t end = first + 1;

    *entry = first;
    while (tt_table_row_at(t, first)->group && end < tt_table_rows(t) &&
           tt_table_row_at(t, end)->group == tt_table_row_at(t, first)->group)
        end++;
    for (size_t i = first; i < end; i++)
        if (tt_table_row_at(t, i)->role == TT_ROW_ENTRY)
            *entry = i;
    return end;
}

void tt_view_cut(const struct tt_metric_view *l, struct tt_table *t,
                 const struct tt_columns *c, uint32_t limit, double threshold)
{
    const uint64_t least = tt_least_amount(threshold, l->choice.total);
    struct tt_figures rest = {.has = TT_HAS_CALLS};
    size_t kept = 0, entry, end;
    uint32_t shown = 0, more = 0;
    struct tt_row *row = t->row.item;
    struct tt_several_figures others = {{0}, {0}};

    for (size_t i = 0; i < tt_table_rows(t); i = end) {
        end = end_of_group(t, i, &entry);
        if (shown < limit && is_above(t, entry, c, least)) {
            memmove(row + kept, row + i, (end - i) * sizeof *row);
            kept += end - i;
            shown++;
            continue;
        }
        more++;
        for (uint32_t k = 1; k < l->several.count; k++) {
            others.self[k] += amount_at(t, entry, c->several + 2 * (k - 1));
            others.inclusive[k] = others.self[k];
        }
        rest.self += amount_at(t, entry, c->self);
        rest.self_low += amount_at(t, entry, c->self_low);
        rest.calls += amount_at(t, entry, c->calls);
        rest.self_since += amount_at(t, entry, c->self_since);
        if (c->self_since != TT_NONE && tt_table_value(t, entry, c->self_since))
            rest.has |= TT_HAS_SELF_SINCE;
    }
    t->row.count = kept;
    if (!more)
        return;
    tt_metric_view_remainder(l, t, c, 0, 0, tt_table_text(t, "%u more", more), &rest);
    tt_table_left(t, more);
    tt_several_fill(l, t, c, &others);
}
