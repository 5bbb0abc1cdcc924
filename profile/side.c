/* SPDX-License-Identifier: MIT */
/* side.c - one side of a comparison.
 *
 * Figures by strand are read once, one unit at a time; only the sum, the largest and the
 * sum of squares of each row are kept. */
#include "side.h"

#include <string.h>

#include "add-profile.h"
#include "builder.h"
#include "finish.h"

/* Blocks are compared by name and file, as other properties change from build to
 * build. */
static void forget_place(struct tt_block_info *b)
{
    const char *slash = b->file ? strrchr(b->file, '/') : NULL;

    if (slash)
        b->file = slash + 1;
    b->module = "";
    b->line = b->column = b->length = 0;
    b->offset = 0;
}

static int rename_blocks(struct tt_side *s, const struct tt_profile *p)
{
    struct tt_builder *b = tt_builder_new(s->memory);
    int error = b ? tt_builder_renamed(b, p, forget_place) : -TT_ERR_MEMORY;

    error = error ?: tt_builder_finish(b, &s->image, &s->size);
    tt_builder_free(b);
    return error ?: tt_profile_open(&s->p, s->image, s->size, s->memory);
}

static int is_same_run(const struct tt_profile *p, uint32_t a, uint32_t b)
{
    const struct tt_strand_row *x = &p->strand[a], *y = &p->strand[b];

    return x->host == y->host && x->pid == y->pid && x->process == y->process;
}

static void count_runs(struct tt_side *s)
{
    for (uint32_t i = 0; i < s->p.strands; i++)
        s->runs += i == 0 || !is_same_run(&s->p, i - 1, i);
    if (!s->runs)
        s->runs = 1;
}

int tt_side_open(struct tt_side *s, const struct tt_profile *profile)
{
    int error = rename_blocks(s, profile);

    if (!error)
        count_runs(s);
    return error;
}

static int find_outermost(struct tt_side *s)
{
    uint32_t *open = tt_memory_get(s->memory, s->p.blocks * sizeof *open);
    struct tt_walk w;
    int error = tt_walk_init(&w, &s->p, 0);

    /* open: where the subtree of a block's outermost context ends */
    while (!error && open && tt_walk_next(&w)) {
        uint32_t block = tt_block_of(&s->p, w.context);
        s->outermost[w.context] = open[block] <= w.context;
        if (s->outermost[w.context])
            open[block] = tt_end_of(&s->p, w.context);
    }
    tt_walk_fini(&w);
    tt_memory_put(s->memory, open);
    return error || !open ? -TT_ERR_MEMORY : 0;
}

/* ── Figures ──────────────────────────────────────────────────────────────────────── */

static size_t amounts(const struct tt_side *s)
{
    return 2 * ((size_t)s->p.contexts + 1) + 2 * (size_t)s->p.blocks;
}

/* In `amount`: self of contexts; elsewhere of contexts; then blocks' beside and hidden. */
static void take_entry(struct tt_side *s, const struct tt_entry *e)
{
    const struct tt_profile *p = &s->p;
    uint64_t n = p->contexts, blocks = n + p->arcs,
             wide = blocks + 2 * (uint64_t)p->blocks;

    if (e->metric != s->metric)
        return;
    if (e->row < n)
        s->amount[e->row] += e->amount;
    else if (e->row >= blocks && e->row < wide)
        s->amount[2 * (n + 1) + e->row - blocks] += e->amount;
    else if (e->row >= wide && e->row < wide + n)
        s->amount[n + 1 + e->row - wide] += e->amount;
}

static void take_columns(struct tt_side *s)
{
    const struct tt_profile *p = &s->p;
    uint64_t n = p->contexts;

    for (uint32_t c = 0; c < n; c++) {
        s->amount[c] = tt_self_of(s->m, c);
        s->amount[n + 1 + c] = tt_elsewhere_of(s->m, c);
    }
    for (uint32_t b = 0; s->m->block && b < p->blocks; b++) {
        s->amount[2 * (n + 1) + b] = s->m->block[b].beside;
        s->amount[2 * (n + 1) + p->blocks + b] = s->m->block[b].hidden;
    }
}

static void self_of_rows(struct tt_side *s)
{
    const struct tt_profile *p = &s->p;

    memset(s->row, 0, s->rows * sizeof *s->row);
    for (uint32_t c = 0; c < p->contexts; c++)
        s->row[s->by_context ? c : tt_block_of(p, c)] += s->amount[c];
    for (uint32_t b = 0; !s->by_context && b < p->blocks; b++)
        s->row[b] += s->amount[2 * ((size_t)p->contexts + 1) + b];
}

/* Computes running sums of self and elsewhere together, in place of self. */
static void total_of_rows(struct tt_side *s)
{
    const struct tt_profile *p = &s->p;
    uint64_t sum = 0, n = p->contexts;

    for (uint32_t c = 0; c <= n; c++) {
        uint64_t here = s->amount[c] + s->amount[n + 1 + c];
        s->amount[c] = sum;
        sum += here;
    }
    memset(s->row, 0, s->rows * sizeof *s->row);
    for (uint32_t c = 0; c < n; c++) {
        uint64_t total = s->amount[tt_end_of(p, c)] - s->amount[c];
        if (s->by_context)
            s->row[c] = total;
        else if (s->outermost[c])
            s->row[tt_block_of(p, c)] += total;
    }
    for (uint32_t b = 0; !s->by_context && b < p->blocks; b++)
        s->row[b] += s->amount[2 * (n + 1) + p->blocks + b];
}

static void add_unit(struct tt_side *s, struct tt_figure *f)
{
    for (uint32_t i = 0; i < s->rows; i++) {
        double x = (double)s->row[i];
        f[i].sum += s->row[i];
        if (s->row[i] > f[i].most)
            f[i].most = s->row[i];
        f[i].sample.count++;
        f[i].sample.sum += x;
        f[i].sample.square += x * x;
    }
}

static void end_unit(struct tt_side *s)
{
    self_of_rows(s);
    add_unit(s, s->self);
    total_of_rows(s);
    add_unit(s, s->total);
    if (s->amount[s->p.contexts] > s->longest)
        s->longest = s->amount[s->p.contexts];
    s->busy += s->amount[s->p.contexts] > 0;
    memset(s->amount, 0, amounts(s) * sizeof *s->amount);
}

/* Entries are sorted by strand, and the strands of a run are adjacent. */
static void add_units(struct tt_side *s)
{
    const struct tt_profile *p = &s->p;
    size_t i = 0;

    if (!p->entries) {
        take_columns(s);
        end_unit(s);
        return;
    }
    for (uint32_t strand = 0; strand < p->strands; strand++) {
        for (; i < p->entries && p->entry[i].strand == strand; i++)
            take_entry(s, &p->entry[i]);
        if (!s->by_run || strand + 1 == p->strands || !is_same_run(p, strand, strand + 1))
            end_unit(s);
    }
}

int tt_side_read(struct tt_side *s)
{
    const struct tt_memory *m = s->memory;
    uint32_t samples = tt_metric_find(&s->p, "samples");

    s->rows = s->by_context ? s->p.contexts : s->p.blocks;
    s->whole = tt_grand_total(&s->p, s->m);
    if ((s->m->flags & TT_METRIC_SAMPLED) && samples != TT_NONE)
        s->samples = tt_grand_total(&s->p, &s->p.metric[samples]);
    s->self = tt_memory_get(m, s->rows * sizeof *s->self);
    s->total = tt_memory_get(m, s->rows * sizeof *s->total);
    s->outermost = tt_memory_get(m, s->p.contexts);
    s->amount = tt_memory_get(m, amounts(s) * sizeof *s->amount);
    s->row = tt_memory_get(m, s->rows * sizeof *s->row);
    if (!s->self || !s->total || !s->outermost || !s->amount || !s->row ||
        find_outermost(s) != 0)
        return -TT_ERR_MEMORY;
    add_units(s);
    return 0;
}

void tt_side_fini(struct tt_side *s)
{
    const struct tt_memory *m = s->memory;

    tt_memory_put(m, s->row);
    tt_memory_put(m, s->amount);
    tt_memory_put(m, s->outermost);
    tt_memory_put(m, s->total);
    tt_memory_put(m, s->self);
    tt_profile_close(&s->p);
    tt_memory_put(m, s->image);
}
