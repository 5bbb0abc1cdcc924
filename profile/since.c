/* SPDX-License-Identifier: MIT */

#include "since.h"
#include "metric-view.h"
#include "view.h"
/* since.c - the growth since another reading of the same recording.
 *
 * Blocks, and the children of a context, are sorted by their identities; so a merge of
 * two readings finds what is the same in both:
 *
 *      now      main  parse  print  run        then: main  parse  run
 *      number   0     1      2      3                0     1      2
 *      then     0     1      -      2
 *
 * A block or context that was not there then had no figures. */

static uint32_t *new_numbers(const struct tt_metric_view *l, size_t count)
{
    return tt_memory_get(l->memory, count * sizeof(uint32_t));
}

/* ── The same things in two readings ──────────────────────────────────────────────── */

/* The root is first in both; it is not sorted with the others. */
static void match_blocks(const struct tt_profile *p, const struct tt_profile *then,
                         uint32_t *match)
{
    uint32_t at = 1;

    match[0] = 0;
    for (uint32_t b = 1; b < p->blocks; b++) {
        int order = -1;
        while (at < then->blocks && (order = tt_block_compare(then, at, p, b)) < 0)
            at++;
        match[b] = at < then->blocks && order == 0 ? at : TT_NONE;
    }
}

/* Matches the children of c, whose match is known. */
static void match_children(const struct tt_profile *p, uint32_t c,
                           const struct tt_profile *then, const uint32_t *block,
                           uint32_t *match)
{
    uint32_t at = match[c] == TT_NONE ? 0 : match[c] + 1,
             end = match[c] == TT_NONE ? 0 : tt_end_of(then, match[c]);

    for (uint32_t child = c + 1; child < tt_end_of(p, c); child = tt_end_of(p, child)) {
        uint32_t wanted = block[tt_block_of(p, child)];
        match[child] = TT_NONE;
        if (wanted == TT_NONE)
            continue;
        while (at < end && tt_block_of(then, at) < wanted)
            at = tt_end_of(then, at);
        if (at < end && tt_block_of(then, at) == wanted)
            match[child] = at;
    }
}

/* ── What was then ────────────────────────────────────────────────────────────────── */

/* Makes the view of the earlier reading, in the same metric; it may not have that
 * metric. */
static int look_back(struct tt_since *s, const struct tt_profile *p,
                     const struct tt_metric_view *l)
{
    struct tt_metric_choice choice = {
        .main = tt_metric_find(p, l->main->name), .calls = TT_NONE, .samples = TT_NONE};

    if (choice.main != TT_NONE && strcmp(p->metric[choice.main].name, l->main->name) == 0)
        s->was_there = 1;
    else
        return 0;
    choice.calls = l->calls ? tt_metric_find(p, l->calls->name) : TT_NONE;
    choice.column = &p->metric[choice.main];
    choice.total = tt_grand_total(p, choice.column);
    return tt_metric_view_of_choice(&s->then, p, &choice, l->memory);
}

int tt_since_init(struct tt_metric_view *l, const struct tt_query *q)
{
    struct tt_since *s;
    int error;

    if (!q->since)
        return 0;
    s = l->since = tt_memory_get(l->memory, sizeof *s);
    if (!s)
        return -TT_ERR_MEMORY;
    s->seconds = q->seconds;
    s->blocks = l->p->blocks;
    s->contexts = l->p->contexts;
    tt_vector_init(&s->then.drop, l->memory, sizeof(struct tt_arc_calls));
    error = look_back(s, q->since, l);
    if (!error && s->was_there && !(s->block = new_numbers(l, s->blocks)))
        error = -TT_ERR_MEMORY;
    if (!error && s->was_there)
        match_blocks(l->p, q->since, s->block);
    return error;
}

void tt_since_fini(struct tt_metric_view *l)
{
    struct tt_since *s = l->since;

    if (!s)
        return;
    if (s->sum)
        tt_memory_put(l->memory, s->sum);
    tt_memory_put(l->memory, s->context);
    tt_memory_put(l->memory, s->block);
    tt_vector_fini(&s->then.drop);
    tt_memory_put(l->memory, s);
    l->since = NULL;
}

int tt_since_blocks(const struct tt_metric_view *l)
{
    struct tt_since *s = l->since;

    if (!s || !s->was_there || s->sum)
        return 0;
    s->sum = tt_block_sums(s->then.p, &s->then.choice, l->memory);
    return s->sum ? 0 : -TT_ERR_MEMORY;
}

int tt_since_contexts(const struct tt_metric_view *l)
{
    struct tt_since *s = l->since;

    if (!s || !s->was_there || s->context)
        return 0;
    s->context = new_numbers(l, s->contexts);
    if (!s->context)
        return -TT_ERR_MEMORY;
    for (uint32_t c = 0; c < s->contexts; c++) /* the root's own is 0 */
        match_children(l->p, c, s->then.p, s->block, s->context);
    return 0;
}

/* ── Figures ──────────────────────────────────────────────────────────────────────── */

void tt_since_figures(struct tt_figures *f, const struct tt_figures *then)
{
    if ((f->has & TT_HAS_SELF) && f->self >= then->self) {
        f->self_since = f->self - then->self;
        f->has |= TT_HAS_SELF_SINCE;
    }
    if ((f->has & TT_HAS_INCLUSIVE) && f->inclusive >= then->inclusive) {
        f->inclusive_since = f->inclusive - then->inclusive;
        f->has |= TT_HAS_INCLUSIVE_SINCE;
    }
}

void tt_since_block(const struct tt_metric_view *l, uint32_t block, struct tt_figures *f)
{
    const struct tt_since *s = l->since;
    struct tt_figures then = {0};

    if (!s)
        return;
    if (s->sum && s->block[block] != TT_NONE)
        then = tt_figures_of_sum(&s->sum[s->block[block]]);
    tt_since_figures(f, &then);
}

void tt_since_context(const struct tt_metric_view *l, uint32_t context,
                      struct tt_figures *f)
{
    const struct tt_since *s = l->since;
    struct tt_figures then = {0};

    if (!s)
        return;
    if (s->context && s->context[context] != TT_NONE) {
        then.self = tt_self_of(s->then.main, s->context[context]);
        then.inclusive = tt_metric_view_total(&s->then, s->context[context]);
    }
    tt_since_figures(f, &then);
}

void tt_since_total(const struct tt_metric_view *l, struct tt_figures *f)
{
    struct tt_figures then = {0};

    if (!l->since)
        return;
    then.self = then.inclusive = l->since->was_there ? l->since->then.choice.total : 0;
    tt_since_figures(f, &then);
}
