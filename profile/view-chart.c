/* SPDX-License-Identifier: MIT */
/* view-chart.c - what one thread did, in the order of time: contexts over columns of time.
 *
 *      samples  ab ab ab ac ac      ab a  a        the thread's stretches: lanes.h
 *      columns │     │     │     │     │     │     of one length
 *      depth 0 ├─ a ───────┤     ├─ a ───────┤
 *      depth 1 ├─ b ─┤─ c ─┤     ├─ b ─┤           neighbours of one context are one row
 *
 * In each column the path begins at the context that ran longest there, and goes on to the
 * longest callee as long as callees have at least half of its time.  In a column in which the
 * thread only waited, waits count instead.  So a range of any length is at most as many rows
 * as there are columns, times the depth, and each row has its true time in these columns. */
#include <stdlib.h>
#include <string.h>

#include "assertion.h"
#include "lanes.h"
#include "range.h"
#include "samples.h"
#include "sorted.h"
#include "view-order.h"
#include "view.h"
#include "views.h"

enum { OWN_COLUMNS = 100, COLUMNS_MAX = 4000, OWN_LIMIT = 20000, NS = 1000000000 };
enum column { FROM, TO, RAN, WAITED, BLOCK };

struct box {
    uint32_t context, depth, first, end; /* columns: [first, end) */
    uint64_t ran, waited;
};

struct here { /* a context in the column at hand; `next`: the next one of its depth */
    uint64_t ran, waited, below; /* below: of callees, of what counts in this column */
    uint64_t gaps[2];            /* the parts of `ran` and `waited` without a sample */
    uint32_t best, next;
};

struct tree { /* of each context */
    uint32_t parent, depth;
};

struct chart {
    const struct tt_profile *p;
    struct tt_table *t;
    struct tt_range run, span;
    uint32_t columns, strand;
    int runs, failed;           /* runs: it ran in this column; failed: no memory */
    int closes_gaps;            /* short ones between samples of one thread */
    struct tt_stretch *stretch; /* of the strand */
    size_t stretches, next;     /* next: the first that no column has seen */
    uint64_t shift;
    struct tree *tree;      /* owned, as all below */
    struct here *here;      /* of each context */
    uint32_t *first;        /* of each depth: a context in this column, + 1 */
    uint32_t *open;         /* of each depth: its box that may go on, + 1 */
    uint32_t *path;         /* of this column */
    struct tt_vector box;   /* struct box */
    struct tt_vector reach; /* numbers of stretches that reach into the next column */
};

/* ── The thread ───────────────────────────────────────────────────────────────────── */

/* For how long it ran; or of threads that never ran, waited. */
static uint64_t length_of(const struct tt_lanes *l, uint32_t strand, int waits)
{
    const struct tt_stretch *s = l->stretch.item;
    uint64_t sum = 0;

    for (size_t i = l->lane[strand].first; i < l->lane[strand].end; i++)
        sum += (s[i].wait != TT_WAIT_NONE) == waits ? s[i].to - s[i].from : 0;
    return sum;
}

/* The busiest of those wanted; TT_NONE: there is none. */
static uint32_t find_strand(const struct tt_lanes *l, const unsigned char *wanted)
{
    uint64_t most[2] = {0, 0};
    uint32_t found = TT_NONE;

    for (uint32_t i = 0; i < l->lanes; i++) {
        const uint64_t of[2] = {length_of(l, i, 0), length_of(l, i, 1)};
        if (!wanted[i])
            continue;
        if (found == TT_NONE || of[0] > most[0] ||
            (of[0] == most[0] && of[1] > most[1])) {
            found = i;
            memcpy(most, of, sizeof most);
        }
    }
    return found;
}

static int by_start(const void *a, const void *b)
{
    const struct tt_stretch *x = a, *y = b;

    return TT_ORDER(x->from, y->from) ?: TT_ORDER(x->to, y->to)
           ?: TT_ORDER(x->context, y->context);
}

/* A sample may be anywhere in what it stands for: a gap that is shorter than the stretch
 * before it is not known to be one.  The times of events are known. */
static uint64_t drawn_to(const struct chart *v, size_t i)
{
    const struct tt_stretch *s = &v->stretch[i];

    if (v->closes_gaps && i + 1 < v->stretches && s[1].from > s->to &&
        s[1].from - s->to < s->to - s->from)
        return s[1].from;
    return s->to;
}

static int take_strand(struct chart *v, struct tt_lanes *l, struct tt_query *q,
                       const unsigned char *wanted)
{
    const char *name = tt_query_other(q, "thread");
    struct tt_stretch *s = l->stretch.item;

    v->strand = find_strand(l, wanted);
    if (v->strand == TT_NONE)
        return tt_query_wrong(q, "no thread is called '%.80s'; 'timeline' lists them",
                              name ? name : "");
    v->stretch = s ? s + l->lane[v->strand].first : NULL;
    v->stretches = l->lane[v->strand].end - l->lane[v->strand].first;
    v->shift = l->shift;
    if (v->stretches && v->p->strand[v->strand].members > 1)
        qsort(v->stretch, v->stretches, sizeof *s, by_start);
    else
        v->closes_gaps = tt_fact_text(v->p, TT_FACT_BEGAN) == NULL;
    return 0;
}

/* ── A column ─────────────────────────────────────────────────────────────────────── */

static uint64_t edge_of(const struct chart *v, uint32_t column)
{
    const uint64_t length = v->span.to - v->span.from;

    return v->span.from + (uint64_t)((unsigned __int128)length * column / v->columns);
}

static void find_tree(struct chart *v)
{
    for (uint32_t c = 0; c < v->p->contexts; c++)
        for (uint32_t k = c + 1, end = tt_end_of(v->p, c); k < end;
             k = tt_end_of(v->p, k))
            v->tree[k] = (struct tree){c, v->tree[c].depth + 1};
}

static struct here *visit(struct chart *v, uint32_t context)
{
    const uint32_t depth = v->tree[context].depth;
    struct here *h = &v->here[context];

    TT_ASSERT(depth <= v->p->depth);
    if (!h->ran && !h->waited) {
        h->next = v->first[depth];
        v->first[depth] = context + 1;
    }
    return h;
}

static uint64_t shifted(const struct chart *v, uint64_t time)
{
    return time < v->shift ? 0 : time - v->shift;
}

static void add_stretch(struct chart *v, size_t i, uint64_t from, uint64_t to)
{
    const struct tt_stretch *s = &v->stretch[i];
    const uint64_t begin = shifted(v, s->from), known = shifted(v, s->to),
                   end = shifted(v, drawn_to(v, i));
    struct here *h;

    from = begin > from ? begin : from;
    to = end < to ? end : to;
    if (from >= to)
        return;
    h = visit(v, s->context);
    if (s->wait)
        h->waited += to - from;
    else
        h->ran += to - from;
    if (to > known)
        h->gaps[s->wait != TT_WAIT_NONE] += to - (from > known ? from : known);
    v->runs |= !s->wait;
}

/* Those that reach into this column, and those that begin in it. */
static void add_stretches(struct chart *v, uint64_t from, uint64_t to)
{
    uint32_t *reach;
    size_t kept = 0;

    while (v->next < v->stretches && v->stretch[v->next].from < to + v->shift) {
        if (drawn_to(v, v->next) > from + v->shift) {
            const uint32_t at = (uint32_t)v->next;
            v->failed |= tt_vector_push(&v->reach, &at) != 0;
            if (v->failed)
                return;
        }
        v->next++;
    }
    reach = v->reach.item;
    for (size_t i = 0; i < v->reach.count; i++) {
        add_stretch(v, reach[i], from, to);
        if (drawn_to(v, reach[i]) > to + v->shift)
            reach[kept++] = reach[i];
    }
    v->reach.count = kept;
}

/* What counts in the column: the time that it ran, or if there is none, that it waited. */
static uint64_t count_of(const struct chart *v, const struct here *h)
{
    return v->runs ? h->ran : h->waited;
}

/* Adds each context to its caller, the deepest first, and finds the longest callee. */
static void add_up(struct chart *v)
{
    for (uint32_t d = v->p->depth; d > 0; d--)
        for (uint32_t c = v->first[d]; c; c = v->here[c - 1].next) {
            const struct here *h = &v->here[c - 1];
            const uint64_t count = count_of(v, h);
            const uint32_t parent = v->tree[c - 1].parent;
            struct here *up = visit(v, parent);
            const uint64_t best = up->best ? count_of(v, &v->here[up->best]) : 0;
            up->ran += h->ran;
            up->waited += h->waited;
            up->gaps[0] += h->gaps[0];
            up->gaps[1] += h->gaps[1];
            up->below += count;
            if (count > best || (count == best && count && c - 1 < up->best))
                up->best = c - 1;
        }
}

/* Returns how many contexts it has.  The root is left out, unless the path ends there. */
static uint32_t choose_path(struct chart *v)
{
    uint32_t length = 0;

    for (uint32_t c = 0; count_of(v, &v->here[c]);) {
        const struct here *h = &v->here[c];
        const uint64_t own = count_of(v, h) - h->below;
        if (c)
            v->path[length++] = c;
        if (!h->best || h->below < own)
            break;
        c = h->best;
    }
    if (!length && (v->here[0].ran || v->here[0].waited))
        v->path[length++] = 0;
    return length;
}

static void clear_column(struct chart *v)
{
    for (uint32_t d = 0; d <= v->p->depth; d++) {
        for (uint32_t c = v->first[d], next; c; c = next) {
            next = v->here[c - 1].next;
            v->here[c - 1] = (struct here){0};
        }
        v->first[d] = 0;
    }
}

/* Goes on with the boxes of the same contexts in the column before; others begin here. */
static void draw_path(struct chart *v, uint32_t column, uint32_t length)
{
    int goes_on = 1;

    for (uint32_t d = 0; d < length; d++) {
        const struct here *h = &v->here[v->path[d]];
        struct box *b = v->box.item;
        b = v->open[d] ? b + v->open[d] - 1 : NULL;
        goes_on = goes_on && b && b->end == column && b->context == v->path[d];
        if (!goes_on) {
            b = tt_vector_add(&v->box, 1);
            v->failed |= !b;
            if (!b)
                return;
            *b = (struct box){v->path[d], d, column, column, 0, 0};
            v->open[d] = (uint32_t)v->box.count;
        }
        b->end = column + 1;
        b->ran += h->ran - h->gaps[0];
        b->waited += h->waited - h->gaps[1];
    }
}

static int find_boxes(struct chart *v)
{
    for (uint32_t i = 0; i < v->columns && !v->failed; i++) {
        v->runs = 0;
        add_stretches(v, edge_of(v, i), edge_of(v, i + 1));
        add_up(v);
        draw_path(v, i, choose_path(v));
        clear_column(v);
    }
    return v->failed ? -TT_ERR_MEMORY : 0;
}

/* ── Rows ─────────────────────────────────────────────────────────────────────────── */

static int by_place(const void *a, const void *b)
{
    const struct box *x = a, *y = b;

    return TT_ORDER(x->first, y->first) ?: TT_ORDER(x->depth, y->depth);
}

/* How many levels there are room for.  Uses `first`, as no column is left. */
static uint32_t levels_within(const struct chart *v, const struct tt_query *q)
{
    const struct box *b = v->box.item;
    const uint32_t limit = tt_limit(q, OWN_LIMIT), depth = q->depth ? q->depth : TT_NONE;
    uint32_t *count = v->first, deepest = 0, levels = 0, sum = 0;

    for (size_t i = 0; i < v->box.count; i++)
        deepest = b[i].depth > deepest ? b[i].depth : deepest;
    memset(count, 0, (deepest + 1) * sizeof *count);
    for (size_t i = 0; i < v->box.count; i++)
        count[b[i].depth]++;
    for (; levels <= deepest && count[levels] && levels != depth; levels++) {
        if (count[levels] > limit - sum)
            break;
        sum += count[levels];
    }
    return levels;
}

static void add_times(struct chart *v, uint64_t from, uint64_t to, uint64_t ran,
                      uint64_t waited)
{
    tt_table_amount(v->t, FROM, from - v->run.from);
    tt_table_amount(v->t, TO, to - v->run.from);
    tt_table_amount(v->t, RAN, ran);
    if (waited)
        tt_table_amount(v->t, WAITED, waited);
}

static void add_row(struct chart *v, const struct tt_columns *c, uint32_t context,
                    const struct box *b)
{
    tt_table_row(v->t, TT_ROW_ENTRY, b->depth, 0);
    add_times(v, edge_of(v, b->first), edge_of(v, b->end), b->ran, b->waited);
    tt_block_cells(v->p, v->t, c, tt_block_of(v->p, b->context));
    tt_table_amount(v->t, context, b->context);
}

static void add_total(struct chart *v, const struct tt_columns *c)
{
    const struct box *b = v->box.item;
    uint64_t ran = 0, waited = 0;

    for (size_t i = 0; i < v->box.count; i++) {
        ran += b[i].depth ? 0 : b[i].ran;
        waited += b[i].depth ? 0 : b[i].waited;
    }
    tt_table_row(v->t, TT_ROW_TOTAL, 0, 0);
    add_times(v, v->span.from, v->span.to, ran, waited);
    tt_table_string(v->t, c->name, "total");
}

static void add_rows(struct chart *v, const struct tt_query *q)
{
    const uint32_t levels = levels_within(v, q);
    const struct box *b = v->box.item;
    const char *unit = v->p->metric[tt_samples_metric(v->p)].unit;
    struct tt_columns c;
    uint32_t context;
    uint64_t more = 0;

    tt_table_column(v->t, "from", "from", "ns", TT_COLUMN_AMOUNT, 0);
    tt_table_column(v->t, "to", "to", "ns", TT_COLUMN_AMOUNT, 0);
    tt_table_column(v->t, "ran", "ran", unit, TT_COLUMN_AMOUNT, 0);
    tt_table_column(v->t, "waited", "waited", unit, TT_COLUMN_AMOUNT, 0);
    tt_block_columns(v->t, &c);
    context = (uint32_t)tt_table_columns(v->t);
    tt_table_column(v->t, "context", "context", "", TT_COLUMN_AMOUNT, TT_COLUMN_DETAIL);
    tt_vector_sort(&v->box, by_place);
    for (size_t i = 0; i < v->box.count; i++)
        if (b[i].depth < levels)
            add_row(v, &c, context, &b[i]);
        else
            more++;
    if (more) {
        tt_table_row(v->t, TT_ROW_REMAINDER, 0, 0);
        tt_table_string(v->t, c.name,
                        tt_table_text(v->t, "%llu deeper", (unsigned long long)more));
        tt_table_left(v->t, more);
    }
    add_total(v, &c);
}

/* ── The view ─────────────────────────────────────────────────────────────────────── */

static void find_wanted(const struct chart *v, struct tt_query *q, unsigned char *wanted)
{
    const char *name = tt_query_other(q, "thread");

    for (uint32_t i = 0; i < v->p->strands; i++)
        wanted[i] = !name || strcmp(tt_strand_name(v->t, v->p, i), name) == 0;
}

static int choose_columns(struct chart *v, struct tt_query *q)
{
    const char *text = tt_query_other(q, "columns");
    const uint64_t length = v->span.to - v->span.from;
    char *end;
    unsigned long n = text ? strtoul(text, &end, 10) : OWN_COLUMNS;

    if (text && (*text < '1' || *text > '9' || *end || n > COLUMNS_MAX))
        return tt_query_wrong(q, "'columns' wants a number from 1 to %d, not '%.40s'",
                              COLUMNS_MAX, text);
    v->columns = n < length ? (uint32_t)n : (uint32_t)length;
    return 0;
}

static int choose_span(struct chart *v, struct tt_query *q)
{
    const char *text = tt_query_other(q, "span");
    char reason[120];

    v->run = tt_range_of_run(v->p);
    v->span = tt_range_shown(v->p);
    if (text && tt_range_find(v->p, text, &v->span, reason, sizeof reason) != 0)
        return tt_query_wrong(q, "span: %s", reason);
    if (v->span.is_outside)
        return tt_query_wrong(q, "span: a chart has one range, FROM..TO");
    return 0;
}

/* What a sample stands for. */
static void add_note(const struct chart *v)
{
    uint64_t samples = 0, weight = 0;

    for (size_t i = 0; i < v->p->samples; i++) {
        const struct tt_sample_row *s = &v->p->sample[i];
        if (s->strand != v->strand || !tt_range_has(v->p, &v->span, s))
            continue;
        samples++;
        weight += s->weight;
    }
    tt_table_note(
        v->t, "chart",
        "time: thread %s, %u columns of %.6g s; %llu samples by time, of %.6g s "
        "on average",
        tt_strand_name(v->t, v->p, v->strand), v->columns,
        (double)(v->span.to - v->span.from) / v->columns / NS,
        (unsigned long long)samples, samples ? (double)weight / (double)samples / NS : 0);
}

static int fill(struct chart *v, struct tt_query *q)
{
    const struct tt_memory *m = q->memory;
    const size_t depths = (size_t)v->p->depth + 1;
    int error = -TT_ERR_MEMORY;

    v->tree = tt_memory_get(m, v->p->contexts * sizeof *v->tree);
    v->here = tt_memory_get(m, v->p->contexts * sizeof *v->here);
    v->first = tt_memory_get(m, 3 * depths * sizeof *v->first);
    if (v->tree && v->here && v->first) {
        v->open = v->first + depths;
        v->path = v->open + depths;
        find_tree(v);
        error = find_boxes(v);
    }
    if (!error) {
        add_rows(v, q);
        add_note(v);
    }
    tt_memory_put(m, v->first);
    tt_memory_put(m, v->here);
    tt_memory_put(m, v->tree);
    return error;
}

int tt_view_chart(const struct tt_profile *p, struct tt_query *q, struct tt_table *t)
{
    struct chart v = {.p = p, .t = t};
    unsigned char *wanted;
    struct tt_lanes lanes;
    int error;

    if (q->sort)
        return tt_query_wrong(q, "the view 'chart' is in the order of time");
    if (tt_lanes_check_lengths(p, q) != 0 || choose_span(&v, q) != 0 ||
        choose_columns(&v, q) != 0)
        return -TT_ERR_OPTION;
    tt_vector_init(&v.box, q->memory, sizeof(struct box));
    tt_vector_init(&v.reach, q->memory, sizeof(uint32_t));
    wanted = tt_memory_get(q->memory, p->strands);
    if (!wanted)
        return -TT_ERR_MEMORY;
    find_wanted(&v, q, wanted);
    error = tt_lanes_init(&lanes, p, tt_lanes_are_whole(q), wanted, q->memory);
    error = error ?: take_strand(&v, &lanes, q, wanted);
    tt_memory_put(q->memory, wanted);
    error = error ?: fill(&v, q);
    tt_vector_fini(&v.reach);
    tt_vector_fini(&v.box);
    tt_lanes_fini(&lanes);
    return error;
}
