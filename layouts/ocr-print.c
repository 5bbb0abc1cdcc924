/* SPDX-License-Identifier: MIT */
/* ocr-print.c - OCR's flat profile and call graph, in its own columns.
 *
 * A line is a list of items with one blank between them, each padded to its column; with
 * statistics columns are wider and every line has a second one below it. */
#include "ocr-print.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sorted.h"
#include "statistics.h"
#include "text.h"

/* ── Items ────────────────────────────────────────────────────────────────────────── */

enum { ITEM = 96 };

struct line {
    struct tt_text *out;
    int begun;
};

static void put(struct line *l, const char *item)
{
    tt_text_printf(l->out, "%s%s", l->begun ? " " : "", item);
    l->begun = 1;
}

static __attribute__((format(printf, 2, 3))) void put_format(struct line *l,
                                                             const char *format, ...)
{
    char item[2 * ITEM];
    va_list list;

    va_start(list, format);
    (void)vsnprintf(item, sizeof item, format, list);
    va_end(list);
    put(l, item);
}

static void end_line(struct line *l)
{
    tt_text_printf(l->out, "\n");
    l->begun = 0;
}

/* Centred: the larger part of an odd rest goes right; or left, if `word` is a text that a
 * column of odd width has as a whole. */
static const char *centred(char out[ITEM], const char *text, int width, int word)
{
    int pad = width - (int)strlen(text), left = pad / 2 + (word ? pad & width & 1 : 0);

    if (pad <= 0)
        (void)snprintf(out, ITEM, "%s", text);
    else
        (void)snprintf(out, ITEM, "%*s%s%*s", left, "", text, pad - left, "");
    return out;
}

static const char *number(char out[ITEM], double x, int width)
{
    char text[ITEM];

    (void)snprintf(text, sizeof text, "%.6f", x);
    return centred(out, text, width, 0);
}

/* A whole number of units, in ms, with all digits. */
static const char *ms_text(char text[ITEM], const struct ocr *o, int64_t x)
{
    uint64_t size = x < 0 ? 0 - (uint64_t)x : (uint64_t)x;

    (void)snprintf(text, ITEM, "%s%llu.%06llu", x < 0 ? "-" : "",
                   (unsigned long long)(size / o->ms),
                   (unsigned long long)(size % o->ms * (1000000 / o->ms)));
    return text;
}

static const char *ms(char out[ITEM], const struct ocr *o, int64_t x, int width)
{
    char text[ITEM];

    return centred(out, ms_text(text, o, x), width, 0);
}

static const char *count(char out[ITEM], int64_t x, int width)
{
    char text[ITEM];

    (void)snprintf(text, sizeof text, "%lld", (long long)x);
    return centred(out, text, width, 0);
}

/* Mean and population deviation over the threads. */
static const char *spread(char out[ITEM], const struct ocr *o, const struct ocr_sum *s,
                          const struct ocr_entry *e, enum ocr_value v, int width)
{
    double n = s->threads, unit = v == OCR_CALLS ? 1 : (double)o->ms;
    char text[ITEM];

    (void)snprintf(text, sizeof text, "(%.6f, %.6f)", (double)e->value[v] / n / unit,
                   sqrt(e->spread[v] / n) / unit);
    return centred(out, text, width, 1);
}

static const char *bracketed(char out[ITEM], const char *inner, int width)
{
    char text[ITEM];

    (void)snprintf(text, sizeof text, "[%.*s]", ITEM - 3, inner);
    return centred(out, text, width, 1);
}

/* ── A section ────────────────────────────────────────────────────────────────────── */

struct section {
    const struct ocr *o;
    const struct ocr_sum *s;
    const struct ocr_style *style;
    struct line line;
    int wide, wide_count;       /* columns of times, and of calls */
    char gap[ITEM];             /* as wide as the column of recursion, or "" */
    int64_t total;              /* self time of all functions */
    uint32_t *function, *place; /* the blocks in order; each block's place, from 1 */
    uint32_t functions;
    enum ocr_value recurse; /* the value shown in brackets */
};

static double share(const struct section *c, int64_t x)
{
    return c->total > 0 ? (double)x / (double)c->total * 100 : 0;
}

static int is_recursive(const struct ocr_entry *e) { return e->value[OCR_RECURSE] > 0; }

static double average(const struct section *c, const struct ocr_entry *e,
                      enum ocr_value v)
{
    double calls = (double)e->value[OCR_CALLS];

    return calls > 0 ? (double)e->value[v] / calls / (double)c->o->ms : 0;
}

/* In floating point, with the same flaws as OCR's. */
static double deviation(const struct section *c, const struct ocr_entry *e)
{
    double n = (double)e->value[OCR_CALLS], mean = average(c, e, OCR_TOTAL), variance;

    if (!c->o->as_ocr)
        return tt_deviation((uint64_t)e->value[OCR_CALLS], (uint64_t)e->value[OCR_TOTAL],
                            &e->square) /
               (double)c->o->ms;
    variance = n > 0 ? tt_sum128_value(&e->flawed) / 1e12 / n - mean * mean : 0;
    return variance > 0 ? sqrt(variance) : 0;
}

static void put_recursion(struct section *c, const struct ocr_entry *e)
{
    char number_text[ITEM], text[ITEM];

    if (c->style->recurse && is_recursive(e))
        put(&c->line,
            bracketed(text, ms(number_text, c->o, e->value[c->recurse], 0), c->wide + 2));
    else
        put(&c->line, c->gap);
}

static void put_recursion_spread(struct section *c, const struct ocr_entry *e)
{
    char pair[ITEM], text[ITEM];

    if (c->style->recurse && is_recursive(e))
        put(&c->line,
            bracketed(text, spread(pair, c->o, c->s, e, c->recurse, 0), c->wide + 2));
    else
        put(&c->line, c->gap);
}

/* Names may be longer than any item. */
static void put_name(struct section *c, uint32_t block)
{
    put(&c->line, "");
    put(&c->line, tt_block_name(c->o->p, block));
    put_format(&c->line, "[%u]", c->place[block]);
}

/* ── The flat profile ─────────────────────────────────────────────────────────────── */

static void put_flat_heading(struct section *c)
{
    char text[ITEM], heading[ITEM];

    tt_text_printf(c->line.out, "\t--- Flat profile ---\n");
    if (c->style->stats) {
        put(&c->line, " ");
        put(&c->line, " ");
    }
    put(&c->line, "%Time ");
    put(&c->line, "");
    (void)snprintf(heading, sizeof heading, "Cum %s", c->style->unit);
    put(&c->line, centred(text, heading, c->wide, 1));
    put(&c->line, "");
    put(&c->line, c->gap);
    put(&c->line, "");
    (void)snprintf(heading, sizeof heading, "Self %s", c->style->unit);
    put(&c->line, centred(text, heading, c->wide, 1));
    put(&c->line, "");
    put(&c->line, centred(text, "Calls", c->wide_count, 1));
    put(&c->line, "");
    put(&c->line, centred(text, "Avg (Cum)", 16, 1));
    put(&c->line, "");
    put(&c->line, centred(text, "Std Dev (Cum)", 16, 1));
    if (c->style->average) {
        put(&c->line, "");
        put(&c->line, centred(text, "Avg (No Rec)", 16, 1));
    }
    if (c->style->all_calls) {
        put(&c->line, "");
        put(&c->line, centred(text, "All Calls", 12, 1));
    }
    end_line(&c->line);
}

static void put_flat_spread(struct section *c, const struct ocr_entry *e)
{
    char text[ITEM];

    put(&c->line, "\\      ");
    put_format(&c->line, "%s ", spread(text, c->o, c->s, e, OCR_NOT_RECURSIVE, c->wide));
    put_recursion_spread(c, e);
    put_format(&c->line, " %s", spread(text, c->o, c->s, e, OCR_SELF, c->wide));
    put_format(&c->line, " %s", spread(text, c->o, c->s, e, OCR_CALLS, c->wide_count));
    end_line(&c->line);
}

static void put_flat_line(struct section *c, uint32_t block)
{
    const struct ocr_entry *e = &c->s->function[block];
    char text[ITEM], other[ITEM];

    if (c->style->stats)
        put(&c->line, "/");
    put_format(&c->line, "%-5.2f ", share(c, e->value[OCR_SELF]));
    put_format(&c->line, " %s ", ms(text, c->o, e->value[OCR_NOT_RECURSIVE], c->wide));
    put_recursion(c, e);
    put_format(&c->line, " %s", ms(text, c->o, e->value[OCR_SELF], c->wide));
    put_format(&c->line, " %s", count(text, e->value[OCR_CALLS], c->wide_count));
    put_format(&c->line, " %s  %s ", number(text, average(c, e, OCR_TOTAL), 16),
               number(other, deviation(c, e), 16));
    if (c->style->average)
        put_format(&c->line, "%s ", number(text, average(c, e, OCR_NOT_RECURSIVE), 16));
    if (c->style->all_calls)
        put_format(&c->line, "%s ", count(text, (int64_t)e->true_calls, 12));
    put(&c->line, tt_block_name(c->o->p, block));
    put_format(&c->line, "%s [%u]", is_recursive(e) ? "R" : " ", c->place[block]);
    end_line(&c->line);
    if (c->style->stats)
        put_flat_spread(c, e);
}

/* ── The call graph ───────────────────────────────────────────────────────────────── */

static const struct section *sorting; /* qsort has no argument to pass it by */

/* Indices of functions or pairs: the largest value first. */
static int by_value(const struct ocr_entry *e, enum ocr_value v, const void *a,
                    const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return TT_ORDER(e[y].value[v], e[x].value[v]) ?: TT_ORDER(x, y);
}

static int by_self(const void *a, const void *b)
{
    return by_value(sorting->s->function, OCR_SELF, a, b);
}

static int by_time(const void *a, const void *b)
{
    return by_value(sorting->s->function,
                    sorting->style->shipped ? OCR_TOTAL : OCR_NOT_RECURSIVE, a, b);
}

static int by_pair_total(const void *a, const void *b)
{
    return by_value(sorting->s->pair, OCR_TOTAL, a, b);
}

static int by_pair_self(const void *a, const void *b)
{
    return by_value(sorting->s->pair, OCR_SELF, a, b);
}

/* "called/of all", with a column's width for each of them. */
static void put_called(struct section *c, int64_t called, int64_t all)
{
    char text[ITEM], other[ITEM], left[ITEM], right[ITEM];

    (void)snprintf(text, sizeof text, " %12lld", (long long)called);
    (void)snprintf(other, sizeof other, "%-12lld", (long long)all);
    put_format(&c->line, "%s/%s", centred(left, text, c->wide_count, 1),
               centred(right, other, c->wide_count, 1));
}

static void put_called_spread(struct section *c, const struct ocr_entry *called,
                              const struct ocr_entry *all)
{
    char text[ITEM], other[ITEM];

    put_format(&c->line, " %s/%s",
               spread(text, c->o, c->s, called, OCR_CALLS, c->wide_count),
               spread(other, c->o, c->s, all, OCR_CALLS, c->wide_count));
}

static void put_margin(struct section *c, const char *mark)
{
    if (c->style->stats)
        put(&c->line, mark);
    put(&c->line, "              ");
}

/* Time below a call, as shown for callers: with the calls to itself. */
static enum ocr_value below_callers(const struct section *c, uint32_t block)
{
    return !c->style->shipped && is_recursive(&c->s->function[block]) ? OCR_TOTAL
                                                                      : OCR_CHILDREN;
}

static enum ocr_value below_callees(const struct section *c, const struct ocr_entry *e)
{
    return !c->style->shipped && is_recursive(e) ? OCR_BELOW : OCR_DESCENDANTS;
}

static void put_caller(struct section *c, uint32_t pair)
{
    const struct ocr_entry *e = &c->s->pair[pair];
    uint32_t block = c->o->pair[pair].child, caller = c->o->pair[pair].parent;
    enum ocr_value below = below_callers(c, block);
    char text[ITEM];

    put_margin(c, "/");
    put(&c->line, ms(text, c->o, e->value[OCR_SELF], c->wide));
    put_format(&c->line, " %s ", ms(text, c->o, e->value[below], c->wide));
    put(&c->line, c->gap);
    put_called(c, e->value[OCR_CALLS], c->s->function[block].value[OCR_CALLS]);
    put_name(c, caller);
    end_line(&c->line);
    if (!c->style->stats)
        return;
    put_margin(c, "\\");
    put(&c->line, spread(text, c->o, c->s, e, OCR_SELF, c->wide));
    put_format(&c->line, " %s", spread(text, c->o, c->s, e, below, c->wide));
    put(&c->line, c->gap);
    put_called_spread(c, e, &c->s->function[block]);
    end_line(&c->line);
}

static void put_entry(struct section *c, uint32_t block)
{
    const struct ocr_entry *e = &c->s->function[block];
    enum ocr_value below = !c->style->shipped && is_recursive(e) ? OCR_NOT_RECURSIVE
                                                                 : OCR_DESCENDANTS;
    char text[ITEM], other[ITEM];

    if (c->style->stats)
        put(&c->line, "/");
    put_format(&c->line, "[%3u]  %6.2f  %s  %s ", c->place[block],
               share(c, e->value[OCR_NOT_RECURSIVE]),
               ms(text, c->o, e->value[OCR_SELF], c->wide),
               ms(other, c->o, e->value[below], c->wide));
    put_recursion(c, e);
    (void)count(other, e->value[OCR_CALLS], 12);
    put_format(&c->line, " %s", centred(text, other, c->wide_count * 2 + 1, 1));
    put_name(c, block);
    end_line(&c->line);
    if (!c->style->stats)
        return;
    put_margin(c, "\\");
    put(&c->line, spread(text, c->o, c->s, e, OCR_SELF, c->wide));
    put_format(&c->line, " %s", spread(text, c->o, c->s, e, below, c->wide));
    put_recursion_spread(c, e);
    put_format(&c->line, " %s",
               spread(text, c->o, c->s, e, OCR_CALLS, c->wide_count * 2 + 1));
    end_line(&c->line);
}

static void put_callee(struct section *c, uint32_t pair)
{
    const struct ocr_entry *e = &c->s->pair[pair];
    uint32_t block = c->o->pair[pair].child;
    enum ocr_value below = below_callees(c, e);
    char text[ITEM];

    put_margin(c, "/");
    put(&c->line, ms(text, c->o, e->value[OCR_SELF], c->wide));
    put_format(&c->line, " %s ", ms(text, c->o, e->value[below], c->wide));
    put_recursion(c, e);
    put_called(c, e->value[OCR_CALLS], c->s->function[block].value[OCR_CALLS]);
    put_name(c, block);
    end_line(&c->line);
    if (!c->style->stats)
        return;
    put_margin(c, "\\");
    put(&c->line, spread(text, c->o, c->s, e, OCR_SELF, c->wide));
    put_format(&c->line, " %s", spread(text, c->o, c->s, e, below, c->wide));
    put_recursion_spread(c, e);
    put_called_spread(c, e, &c->s->function[block]);
    end_line(&c->line);
}

/* The pairs of every function, as its callers or callees, one function after the other. */
struct grouped {
    uint32_t *pair, *start;
};

static int group_pairs(struct section *c, struct grouped *g, int callers)
{
    const struct ocr *o = c->o;
    uint32_t sum = 0;

    g->pair = tt_memory_get(o->memory, o->pairs * sizeof *g->pair);
    g->start = tt_memory_get(o->memory, (o->p->blocks + 2) * sizeof *g->start);
    if (!g->pair || !g->start)
        return -TT_ERR_MEMORY;
#define KEY(i) (callers ? o->pair[i].child : o->pair[i].parent)
    for (uint32_t i = 0; i < o->pairs; i++)
        g->start[KEY(i) + 2]++;
    for (uint32_t b = 0; b < o->p->blocks + 2; b++)
        sum = g->start[b] += sum;
    for (uint32_t i = 0; i < o->pairs; i++)
        g->pair[g->start[KEY(i) + 1]++] = i;
#undef KEY
    sorting = c;
    for (uint32_t b = 0; b < o->p->blocks; b++)
        qsort(g->pair + g->start[b], g->start[b + 1] - g->start[b], sizeof *g->pair,
              callers ? by_pair_total : by_pair_self);
    return 0;
}

static void free_grouped(const struct section *c, struct grouped *g)
{
    tt_memory_put(c->o->memory, g->pair);
    tt_memory_put(c->o->memory, g->start);
}

/* Pairs that this sum has, of two functions. */
static int is_shown(const struct section *c, uint32_t pair)
{
    const struct ocr_pair *p = &c->o->pair[pair];

    return p->parent != p->child && p->parent != 0 &&
           c->s->pair[pair].value[OCR_CALLS] > 0;
}

static void put_graph_heading(struct section *c)
{
    char text[ITEM];

    tt_text_printf(c->line.out, "\n\n\t--- Call-graph profile ---\n");
    if (c->style->stats)
        put(&c->line, " ");
    put(&c->line, "Index ");
    put(&c->line, centred(text, "%Time", 6, 1));
    put(&c->line, "");
    put(&c->line, centred(text, "Self", c->wide, 1));
    put(&c->line, "");
    put(&c->line, centred(text, "Descendant", c->wide, 1));
    put(&c->line, "");
    put(&c->line, c->gap);
    put(&c->line, "");
    put(&c->line, centred(text, "Called", c->wide_count * 2 + 1, 1));
    end_line(&c->line);
}

static void put_rule(struct section *c)
{
    for (int i = 0; i < (c->style->stats ? 220 : 110); i++)
        tt_text_printf(c->line.out, "-");
    tt_text_printf(c->line.out, "\n");
}

static int put_graph(struct section *c)
{
    struct grouped callers = {0}, callees = {0};
    int error = group_pairs(c, &callers, 1);

    error = error ?: group_pairs(c, &callees, 0);
    put_graph_heading(c);
    sorting = c;
    qsort(c->function, c->functions, sizeof *c->function, by_time);
    for (uint32_t i = 0; !error && i < c->functions; i++) {
        uint32_t block = c->function[i];
        for (uint32_t j = callers.start[block]; j < callers.start[block + 1]; j++)
            if (is_shown(c, callers.pair[j]))
                put_caller(c, callers.pair[j]);
        put_entry(c, block);
        for (uint32_t j = callees.start[block]; j < callees.start[block + 1]; j++)
            if (is_shown(c, callees.pair[j]))
                put_callee(c, callees.pair[j]);
        put_rule(c);
    }
    free_grouped(c, &callees);
    free_grouped(c, &callers);
    return error;
}

/* ── The whole ────────────────────────────────────────────────────────────────────── */

static int list_functions(struct section *c)
{
    const struct tt_profile *p = c->o->p;

    c->function = tt_memory_get(c->o->memory, p->blocks * sizeof *c->function);
    c->place = tt_memory_get(c->o->memory, p->blocks * sizeof *c->place);
    if (!c->function || !c->place)
        return -TT_ERR_MEMORY;
    for (uint32_t b = 1; b < p->blocks; b++)
        if (c->s->function[b].value[OCR_CALLS] > 0) {
            c->function[c->functions++] = b;
            c->total += c->s->function[b].value[OCR_SELF];
        }
    sorting = c;
    qsort(c->function, c->functions, sizeof *c->function, by_self);
    for (uint32_t i = 0; i < c->functions; i++)
        c->place[c->function[i]] = i + 1;
    return 0;
}

int tt_ocr_print(const struct ocr *o, const struct ocr_sum *s,
                 const struct ocr_style *style, const char *heading, struct tt_text *out)
{
    struct section c = {.o = o,
                        .s = s,
                        .style = style,
                        .line = {.out = out},
                        .wide = style->stats ? 36 : 16,
                        .wide_count = style->stats ? 36 : 12,
                        .recurse = style->shipped ? OCR_RECURSE : OCR_OWN};
    char text[ITEM];
    int error = list_functions(&c);

    if (style->recurse)
        (void)snprintf(c.gap, sizeof c.gap, "%*s", c.wide + 2, "");
    if (!error) {
        tt_text_printf(out, "%s\n\tTotal measured time: %s\n", heading,
                       ms_text(text, o, c.total));
        put_flat_heading(&c);
        for (uint32_t i = 0; i < c.functions; i++)
            put_flat_line(&c, c.function[i]);
        error = put_graph(&c);
        tt_text_printf(out, "\n");
    }
    tt_memory_put(o->memory, c.place);
    tt_memory_put(o->memory, c.function);
    return error;
}
