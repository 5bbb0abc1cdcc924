/* SPDX-License-Identifier: MIT */
/* view-block.c - one block, or a sequence of them, with its callers and callees.
 *
 * The figure beside another block is the cost that removing its call of this one, or this
 * one's call of it, would save: the cost of all paths that contain the call, each counted
 * once.  A sequence a;b;c is a stretch of the path; callers are the blocks before a,
 * callees are called by c.  Calls by arcs are calls from where the arc begins, whatever
 * path they led back into. */
#include <stdlib.h>
#include <string.h>

#include "edges.h"
#include "identity.h"
#include "metric-view.h"
#include "sorted.h"
#include "statistics.h"
#include "view-order.h"
#include "view.h"
#include "views.h"

struct side { /* what a block at either end of the sequence adds up to */
    uint64_t inclusive, inclusive_low, calls, by_arcs;
    uint32_t until, block;
    int is_known; /* by the tree, and not by arcs alone */
    struct tt_times_row times;
};

struct prefix {           /* the first blocks of the sequence */
    unsigned char *match; /* of each block: may it be the last of them?  To be freed */
    struct tt_figures figures;
    uint32_t until;
};

struct passing {
    const struct tt_metric_view *l;
    struct tt_table *t;
    struct tt_columns c;
    uint32_t edge_share, by_arcs;
    struct tt_vector prefix; /* struct prefix */
    struct side *in, *out;   /* of each block */
    struct tt_vector arrivals;
    struct tt_walk walk;
    uint32_t arc; /* the next one by where it comes from */
};

static struct prefix *prefix_at(const struct passing *s, size_t i)
{
    return (struct prefix *)s->prefix.item + i;
}

/* ── The sequence ─────────────────────────────────────────────────────────────────── */

static int read_sequence(struct passing *s, struct tt_query *q)
{
    const char *text = tt_query_other(q, "sequence"), *end;
    struct prefix *p;
    int error = 0, is_sequence = text != NULL;

    if (!text)
        text = q->block;
    if (!text)
        return tt_query_wrong(
            q, "the view 'block' wants a block, as --block PATTERN, or --sequence 'A;B'");
    for (end = text; !error && end; text = end + 1) {
        end = is_sequence ? strchr(text, ';') : NULL;
        size_t length = end ? (size_t)(end - text) : strlen(text);
        char *part = strndup(text, length);
        p = part ? tt_vector_add(&s->prefix, 1) : NULL;
        if (!p) {
            free(part);
            return -TT_ERR_MEMORY;
        }
        p->figures.has = TT_HAS_ALL;
        error = tt_view_blocks(s->l->p, q, part, &p->match);
        free(part);
        if (!end)
            break;
    }
    return error;
}

/* Does the path, down to `depth`, end in the first `length` blocks of the sequence? */
static int ends_in(const struct passing *s, uint32_t depth, size_t length)
{
    if (length > (size_t)depth + 1)
        return 0;
    for (size_t i = 0; i < length; i++) {
        uint32_t context = s->walk.path[depth - i];
        if (!prefix_at(s, length - 1 - i)->match[tt_block_of(s->l->p, context)])
            return 0;
    }
    return 1;
}

/* ── Counting ─────────────────────────────────────────────────────────────────────── */

static void add_times(const struct passing *s, struct side *side, uint32_t row)
{
    size_t first, end;

    if (!s->l->has_times)
        return;
    end = tt_times_range(s->l->p, row, &first);
    for (; first < end; first++)
        if (s->l->p->times[first].strand == TT_NONE)
            tt_times_add(&side->times, &s->l->p->times[first], NULL);
}

static uint64_t tree_calls(const struct passing *s, uint32_t c)
{
    const struct tt_metric_view *l = s->l;
    uint64_t calls, arrived;

    if (l->choice.calls == TT_NONE)
        return 0;
    calls = tt_self_of(&l->p->metric[l->choice.calls], c);
    arrived = tt_calls_at(&s->arrivals, c);
    return calls > arrived ? calls - arrived : 0;
}

static void add_side(const struct passing *s, struct side *side, uint32_t c)
{
    side->is_known = 1;
    side->calls += tree_calls(s, c);
    add_times(s, side, c);
    if (c < side->until)
        return;
    side->until = tt_end_of(s->l->p, c);
    side->inclusive += tt_metric_view_total(s->l, c);
    side->inclusive_low += tt_metric_view_total_low(s->l, c);
}

static void add_prefix(const struct passing *s, struct prefix *p, uint32_t c)
{
    p->figures.self += tt_self_of(s->l->main, c);
    p->figures.self_low += tt_self_low_of(s->l->main, c);
    p->figures.calls += tree_calls(s, c);
    if (c < p->until)
        return;
    p->until = tt_end_of(s->l->p, c);
    p->figures.inclusive += tt_metric_view_total(s->l, c);
    p->figures.inclusive_low += tt_metric_view_total_low(s->l, c);
}

static void add_context(struct passing *s)
{
    const struct tt_walk *w = &s->walk;
    const size_t length = s->prefix.count;

    for (size_t i = 1; i <= length; i++)
        if (ends_in(s, w->depth, i))
            add_prefix(s, prefix_at(s, i - 1), w->context);
    if (w->depth >= length && ends_in(s, w->depth, length))
        add_side(s, &s->in[tt_block_of(s->l->p, w->path[w->depth - length])], w->context);
    if (w->depth && ends_in(s, w->depth - 1, length))
        add_side(s, &s->out[tt_block_of(s->l->p, w->context)], w->context);
}

static void add_arc_side(const struct passing *s, struct side *side, uint32_t arc,
                         uint64_t cost)
{
    side->calls += s->l->p->arc[arc].calls;
    side->by_arcs += s->l->p->arc[arc].calls;
    add_times(s, side, s->l->p->contexts + arc);
    side->is_known |= cost != 0;
    if (s->walk.context >= side->until) {
        side->inclusive += cost;
        side->inclusive_low += cost;
    }
}

/* Adds a call from the current context.  If it was dropped, and the metric is calls, it
 * is a leaf with one unit of cost for each call. */
static void add_arc(struct passing *s, uint32_t arc)
{
    const struct tt_arc_row *a = &s->l->p->arc[arc];
    const struct tt_walk *w = &s->walk;
    const size_t length = s->prefix.count;
    int is_leaf = (s->l->main->flags & TT_METRIC_CALLS) && tt_arc_is_dropped(s->l->p, a);
    uint64_t cost = is_leaf ? a->calls : 0;

    for (size_t i = 1; i <= length; i++) {
        struct prefix *p = prefix_at(s, i - 1);
        if (!p->match[a->block] || (i > 1 && !ends_in(s, w->depth, i - 1)))
            continue;
        p->figures.calls += a->calls;
        p->figures.self += cost;
        p->figures.self_low += cost;
        if (w->context >= p->until) {
            p->figures.inclusive += cost;
            p->figures.inclusive_low += cost;
        }
        if (i == length && w->depth + 1 >= length)
            add_arc_side(s, &s->in[tt_block_of(s->l->p, w->path[w->depth + 1 - length])],
                         arc, cost);
    }
    if (ends_in(s, w->depth, length))
        add_arc_side(s, &s->out[a->block], arc, cost);
}

/* Notes which blocks were added up, and how to ask about one of them. */
static void note_matches(const struct passing *s, const unsigned char *match,
                         uint32_t matches)
{
    enum { NAMED = 4 };
    const struct tt_profile *p = s->l->p;
    const char *list = "";
    uint32_t named = 0;

    for (uint32_t b = 0; b < p->blocks && named < NAMED; b++) {
        const char *file = tt_profile_string(p, p->block[b].file);
        const char *module = tt_profile_string(p, p->block[b].module);
        char id[TT_IDENTITY_SIZE];
        if (!match[b])
            continue;
        tt_identity_text(tt_block_identity(p, b), id);
        list = tt_table_text(s->t, "%s%s%s%s%.80s#%s", list, named++ ? ", " : "",
                             *file ? file : module, *file || *module ? ":" : "",
                             tt_block_name(p, b), id);
        if (!list)
            return;
    }
    tt_table_note(s->t, "added up", "%u blocks match and are added up as one: %s%-s",
                  matches, list, matches > NAMED ? ", …" : "");
}

/* Adds figures that belong to a block alone, but not to a sequence of several. */
static void add_beside(struct passing *s)
{
    const struct tt_block_figures *f = s->l->main->block;
    const struct tt_block_figures *calls = s->l->calls ? s->l->calls->block : NULL;
    struct prefix *p = prefix_at(s, 0);
    uint32_t matches = 0, last = 0;

    if (s->prefix.count > 1)
        return;
    for (uint32_t b = 0; b < s->l->p->blocks; b++) {
        if (!p->match[b])
            continue;
        matches++;
        last = b;
        p->figures.self += f ? f[b].beside : 0;
        p->figures.self_low += f ? f[b].beside : 0;
        p->figures.calls += calls ? calls[b].beside : 0;
    }
    if (matches == 1 && f) {
        p->figures.inclusive += f[last].hidden;
        p->figures.inclusive_low += f[last].hidden;
    }
    if (p->figures.inclusive < p->figures.self)
        p->figures.inclusive = p->figures.self;
    if (p->figures.inclusive_low < p->figures.self_low)
        p->figures.inclusive_low = p->figures.self_low;
    if (matches > 1)
        note_matches(s, p->match, matches);
}

static int count(struct passing *s)
{
    const struct tt_profile *p = s->l->p;
    int error = tt_walk_init(&s->walk, p, 0);

    while (!error && tt_walk_next(&s->walk)) {
        add_context(s);
        for (; s->arc < p->arcs && p->arc[s->arc].from <= s->walk.context; s->arc++)
            if (p->arc[s->arc].from == s->walk.context)
                add_arc(s, s->arc);
    }
    tt_walk_fini(&s->walk);
    if (!error)
        add_beside(s);
    return error;
}

/* ── From a digest ────────────────────────────────────────────────────────────────── */

static void add_edge(struct side *side, const struct tt_edge *e)
{
    side->is_known = e->contexts || e->inclusive;
    side->inclusive = e->inclusive;
    side->inclusive_low = e->inclusive_low;
    side->calls = e->calls;
    side->by_arcs = e->by_arcs;
}

/* Returns the block, if there is only one, and a digest has its edges; otherwise
 * TT_NONE. */
static uint32_t kept_block(const struct passing *s)
{
    const unsigned char *match = prefix_at(s, 0)->match;
    uint32_t found = TT_NONE;

    if (s->prefix.count > 1 || !tt_edges_are_kept(s->l))
        return TT_NONE;
    for (uint32_t b = 0; b < s->l->p->blocks; b++) {
        if (!match[b])
            continue;
        if (found != TT_NONE)
            return TT_NONE;
        found = b;
    }
    return found;
}

static int take_edges(struct passing *s, uint32_t block)
{
    const struct tt_profile *p = s->l->p;
    struct tt_block_sum *sum = tt_block_sums(p, &s->l->choice, s->l->memory);
    struct tt_vector edges, times;
    const struct tt_edge *e;
    int error = sum ? 0 : -TT_ERR_MEMORY;

    if (!error)
        prefix_at(s, 0)->figures = tt_figures_of_sum(&sum[block]);
    tt_memory_put(s->l->memory, sum);
    if (error)
        return error;
    error = tt_edges_find(s->l, prefix_at(s, 0)->match, &edges, &times);
    e = edges.item;
    for (size_t i = 0; !error && i < edges.count; i++) {
        if (e[i].callee == block)
            add_edge(&s->in[e[i].caller], &e[i]);
        if (e[i].caller == block)
            add_edge(&s->out[e[i].callee], &e[i]);
    }
    tt_vector_fini(&times);
    tt_vector_fini(&edges);
    return error;
}

/* ── Rows ─────────────────────────────────────────────────────────────────────────── */

static int compare_sides(const void *a, const void *b)
{
    const struct side *x = *(const struct side *const *)a;
    const struct side *y = *(const struct side *const *)b;

    return TT_ORDER(y->inclusive, x->inclusive) ?: TT_ORDER(y->calls, x->calls)
           ?: TT_ORDER(x->block, y->block);
}

static void add_side_row(struct passing *s, const struct side *side,
                         enum tt_row_role role)
{
    const uint64_t whole = prefix_at(s, s->prefix.count - 1)->figures.inclusive;
    struct tt_figures f = {.has = TT_HAS_CALLS | (side->is_known ? TT_HAS_INCLUSIVE : 0),
                           .inclusive = side->inclusive,
                           .inclusive_low = side->inclusive_low,
                           .calls = side->calls,
                           .times = &side->times};

    tt_table_row(s->t, role, 0, 1);
    tt_metric_view_figures(s->l, s->t, &s->c, &f);
    if (side->is_known)
        tt_table_real(s->t, s->edge_share,
                      whole ? (double)side->inclusive / (double)whole : 0);
    if (side->by_arcs)
        tt_table_amount(s->t, s->by_arcs, side->by_arcs);
    tt_block_cells(s->l->p, s->t, &s->c, side->block);
}

/* Adds the largest; callers in ascending order, so that the largest is nearest to the
 * block. */
static int add_sides(struct passing *s, struct side *sides, enum tt_row_role role,
                     uint32_t limit)
{
    const uint32_t blocks = s->l->p->blocks;
    const struct side **sorted = tt_memory_get(s->l->memory, blocks * sizeof *sorted);
    uint32_t found = 0, shown;

    if (!sorted)
        return -TT_ERR_MEMORY;
    for (uint32_t b = 0; b < blocks; b++) {
        sides[b].block = b;
        if (sides[b].is_known || sides[b].calls)
            sorted[found++] = &sides[b];
    }
    qsort(sorted, found, sizeof *sorted, compare_sides);
    shown = found < limit ? found : limit;
    for (uint32_t i = 0; i < shown; i++)
        add_side_row(s, sorted[role == TT_ROW_CALLER ? shown - 1 - i : i], role);
    if (found > shown)
        tt_table_note(s->t, role == TT_ROW_CALLER ? "more callers" : "more callees",
                      "%u more %-s", found - shown,
                      role == TT_ROW_CALLER ? "callers" : "callees");
    tt_memory_put(s->l->memory, sorted);
    return 0;
}

/* Adds each prefix of the sequence; the self of the whole sequence and of all else adds
 * up. */
static void add_entries(struct passing *s, const char *text)
{
    const size_t length = s->prefix.count;

    for (size_t i = 0; i < length; i++) {
        struct tt_figures f = prefix_at(s, i)->figures;
        const char *end = text;
        uint32_t block = 0, matches = 0;
        for (size_t j = 0; length > 1 && j <= i; j++)
            end = strchr(end, ';') ? strchr(end, ';') + 1 : end + strlen(end) + 1;
        for (uint32_t b = 0; b < s->l->p->blocks; b++)
            if (prefix_at(s, i)->match[b] && ++matches)
                block = b;
        if (i + 1 < length)
            f.has &= ~(unsigned)TT_HAS_SELF;
        tt_table_row(s->t, TT_ROW_ENTRY, (uint32_t)i, 1);
        tt_metric_view_figures(s->l, s->t, &s->c, &f);
        if (length == 1 && matches == 1)
            tt_block_cells(s->l->p, s->t, &s->c, block);
        else
            tt_table_string(
                s->t, s->c.name,
                length == 1 ? text
                            : tt_table_text(s->t, "%.*s", (int)(end - text - 1), text));
    }
}

static void add_others(struct passing *s)
{
    const struct tt_figures *own = &prefix_at(s, s->prefix.count - 1)->figures;
    const struct tt_metric_columns *m = s->l->main;
    const uint32_t n = s->l->p->contexts;
    struct tt_figures f = {.self = s->l->choice.total - own->self};

    f.self_low = tt_sum_of(m->low ? m->low : m->self, 0, n) +
                 tt_sum_of(m->elsewhere, 0, n) + tt_calls_between(&s->l->drop, 0, n) -
                 own->self_low;
    tt_metric_view_remainder(s->l, s->t, &s->c, 0, 0, "[all else]", &f);
}

static int fill(struct passing *s, struct tt_query *q)
{
    const char *sequence = tt_query_other(q, "sequence");
    const uint32_t limit = tt_limit(q, 0);
    const uint32_t block = kept_block(s);
    int error = block == TT_NONE ? tt_arrivals_find(s->l, &s->arrivals)
                                 : take_edges(s, block);

    if (!error && block == TT_NONE)
        error = count(s);
    if (error)
        return error;
    tt_metric_view_columns(s->l, s->t, &s->c);
    tt_table_column(s->t, "edge_share", "of entry", "", TT_COLUMN_SHARE, 0);
    s->edge_share = (uint32_t)tt_table_columns(s->t) - 1;
    s->by_arcs = tt_back_column(s->t);
    tt_block_columns(s->t, &s->c);
    error = add_sides(s, s->in, TT_ROW_CALLER, limit);
    add_entries(s, sequence ? sequence : q->block);
    error = error ?: add_sides(s, s->out, TT_ROW_CALLEE, limit);
    add_others(s);
    tt_metric_view_sum_row(s->l, s->t, &s->c);
    tt_view_notes(s->l->p, &s->l->choice, s->t);
    tt_back_note(s->l->p, s->t, s->by_arcs);
    return error;
}

int tt_view_block(const struct tt_profile *p, struct tt_query *q, struct tt_table *t)
{
    struct tt_metric_view l;
    struct passing s = {.l = &l, .t = t};
    int error = tt_metric_view_init(&l, p, q);

    tt_vector_init(&s.prefix, q->memory, sizeof(struct prefix));
    tt_vector_init(&s.arrivals, q->memory, sizeof(struct tt_arc_calls));
    if (!error && q->sort)
        error = tt_query_wrong(q, "the view 'block' cannot be sorted");
    error = error ?: read_sequence(&s, q);
    s.in = tt_memory_get(q->memory, p->blocks * sizeof *s.in);
    s.out = tt_memory_get(q->memory, p->blocks * sizeof *s.out);
    if (!error)
        error = s.in && s.out ? fill(&s, q) : -TT_ERR_MEMORY;
    tt_memory_put(q->memory, s.out);
    tt_memory_put(q->memory, s.in);
    for (size_t i = 0; i < s.prefix.count; i++)
        free(prefix_at(&s, i)->match);
    tt_vector_fini(&s.arrivals);
    tt_vector_fini(&s.prefix);
    tt_metric_view_fini(&l);
    return error;
}
