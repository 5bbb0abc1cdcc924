/* SPDX-License-Identifier: MIT */
/* digest.c - writes a digest into an image that is otherwise complete.
 *
 * The least size of a context is found by trial: a part of the total, doubled each time,
 * until all contexts of that size fit.  Totals never grow from a context to its children,
 * so a trial visits only the contexts that fit and their children. */
#include "digest.h"
#include "edges.h"
#include "metric-view.h"
#include "view.h"

enum { FEW = 4 };     /* edges are worth it where there are so many contexts for each */
enum { FINEST = 14 }; /* the least part of the total: 2^-14, some pixels of any screen */

struct digesting {
    struct tt_profile p; /* the image, without the digest */
    char *image;
    uint32_t rows, count; /* room, and how much of it is used */
    uint64_t *least;      /* in the image, as the next */
    struct tt_digest_row *row;
};

/* Returns a section of the image, to be written; NULL: there is none. */
static void *part(const struct digesting *d, enum tt_section_kind kind, uint32_t key)
{
    const struct tt_file_header *h = (const void *)d->image;
    const struct tt_section *s = (const void *)(h + 1);

    for (uint32_t i = 0; i < h->sections; i++)
        if (s[i].kind == (uint32_t)kind && s[i].key == key)
            return d->image + s[i].offset;
    return NULL;
}

/* ── Which contexts ───────────────────────────────────────────────────────────────── */

static int is_large(const struct digesting *d, uint32_t context)
{
    for (uint32_t m = 0; m < d->p.metrics; m++)
        if (tt_total_of(&d->p, &d->p.metric[m], context) >= d->least[m])
            return 1;
    return 0;
}

/* Do all large contexts fit? */
static int take_rows(struct digesting *d)
{
    const struct tt_profile *p = &d->p;

    d->count = 0;
    for (uint32_t c = 0; c < p->contexts;) {
        if (!is_large(d, c)) {
            c = tt_end_of(p, c);
            continue;
        }
        if (d->count == d->rows)
            return 0;
        d->row[d->count++] = (struct tt_digest_row){c, tt_block_of(p, c),
                                                    tt_end_of(p, c) - c};
        c++;
    }
    return 1;
}

static void choose_rows(struct digesting *d)
{
    int part = FINEST;

    do { /* nothing is larger than all: in the end there are no rows */
        for (uint32_t m = 0; m < d->p.metrics; m++)
            d->least[m] = (tt_total_of(&d->p, &d->p.metric[m], 0) >> part) + 1;
        part--;
    } while (!take_rows(d));
    for (uint32_t i = d->count; i < d->rows; i++)
        d->row[i] = (struct tt_digest_row){.context = TT_NONE};
}

/* ── Their figures ────────────────────────────────────────────────────────────────── */

static void fill_figures(const struct digesting *d, enum tt_section_kind kind,
                         uint32_t metric, const uint64_t *sums)
{
    struct tt_digest_figure *f = part(d, kind, metric);

    for (uint32_t i = 0; sums && i < d->count; i++) {
        uint32_t c = d->row[i].context;
        f[i] = (struct tt_digest_figure){sums[c + 1] - sums[c],
                                         sums[c + d->row[i].size] - sums[c]};
    }
}

static void fill_tallies(const struct digesting *d, uint32_t metric,
                         const struct tt_block_sum *sum)
{
    struct tt_block_tally *t = part(d, TT_SECTION_BLOCK_TALLIES, metric);
    uint32_t *contexts = part(d, TT_SECTION_BLOCK_CONTEXTS, 0);

    for (uint32_t b = 0; b < d->p.blocks; b++) {
        t[b] = (struct tt_block_tally){sum[b].self, sum[b].inclusive, sum[b].self_low,
                                       sum[b].inclusive_low};
        contexts[b] = (uint32_t)sum[b].contexts;
    }
}

static int fill_metric(const struct digesting *d, uint32_t metric)
{
    const struct tt_metric_columns *m = &d->p.metric[metric];
    struct tt_metric_view l = {.p = &d->p,
                               .memory = d->p.memory,
                               .main = m,
                               .choice = {.calls = TT_NONE, .samples = TT_NONE}};
    const size_t bytes = d->p.blocks * sizeof(struct tt_block_sum);
    struct tt_block_sum *sum = tt_memory_get(d->p.memory, bytes);
    int error = sum ? tt_context_sums(&l, sum) : -TT_ERR_MEMORY;

    if (!error) {
        fill_tallies(d, metric, sum);
        fill_figures(d, TT_SECTION_DIGEST_SELF, metric, m->self);
        fill_figures(d, TT_SECTION_DIGEST_ELSEWHERE, metric, m->elsewhere);
        fill_figures(d, TT_SECTION_DIGEST_LOW, metric, m->low);
    }
    tt_memory_put(d->p.memory, sum);
    return error;
}

/* ── Edges ────────────────────────────────────────────────────────────────────────── */

int tt_digest_edges(const struct tt_profile *tree, uint32_t *edges)
{
    struct tt_vector edge, tally;
    int error = tt_edges_tally(tree, &edge, &tally);

    *edges = edge.count <= tree->contexts / FEW ? (uint32_t)edge.count : 0;
    tt_vector_fini(&tally);
    tt_vector_fini(&edge);
    return error;
}

static int fill_edges(const struct digesting *d, uint32_t *edges)
{
    struct tt_edge_row *row = part(d, TT_SECTION_EDGES, 0);
    const uint32_t metrics = d->p.metrics;
    struct tt_vector edge, tally;
    const struct tt_edge *e;
    int error;

    *edges = 0;
    if (!row)
        return 0;
    error = tt_edges_tally(&d->p, &edge, &tally);
    e = edge.item;
    for (uint32_t i = 0; !error && i < edge.count; i++) {
        const struct tt_edge_tally *t = (struct tt_edge_tally *)tally.item +
                                        (size_t)e[i].id * metrics;
        row[i] = (struct tt_edge_row){.caller = e[i].caller,
                                      .callee = e[i].callee,
                                      .contexts = e[i].contexts,
                                      .calls = e[i].calls - e[i].by_arcs,
                                      .by_arcs = e[i].by_arcs};
        for (uint32_t m = 0; m < metrics; m++)
            ((struct tt_edge_tally *)part(d, TT_SECTION_EDGE_TALLIES, m))[i] = t[m];
    }
    *edges = error ? 0 : (uint32_t)edge.count;
    tt_vector_fini(&tally);
    tt_vector_fini(&edge);
    return error;
}

int tt_digest_fill(void *image, size_t size, uint32_t rows,
                   const struct tt_memory *memory)
{
    struct tt_file_header *h = image;
    struct tt_section *s = (void *)(h + 1);
    const uint32_t sections = h->sections, extras = s->reserved;
    struct digesting d = {.image = image, .rows = rows};
    uint32_t edges = 0;
    int error;

    while (h->sections && s[h->sections - 1].kind >= TT_SECTION_DIGEST)
        h->sections--;
    s->reserved = 0;
    error = tt_profile_open(&d.p, image, size, memory);
    h->sections = sections;
    s->reserved = extras;
    if (error)
        return error;
    d.least = part(&d, TT_SECTION_DIGEST_LEAST, 0);
    d.row = part(&d, TT_SECTION_DIGEST, 0);
    choose_rows(&d);
    for (uint32_t m = 0; !error && m < d.p.metrics; m++)
        error = fill_metric(&d, m);
    error = error ?: fill_edges(&d, &edges);
    tt_profile_close(&d.p);
    h->digests = rows;
    h->edges = edges;
    return error;
}
