/* SPDX-License-Identifier: MIT */
/* profile.c - opens a profile: checks an untrusted image, and points into it.
 *
 * Small parts are checked when it is opened.  The columns over contexts and the tables
 * beside them may be gigabytes, of which a view reads a few pages.  Those of a large
 * profile are checked only before code that reads all of them; code that reads single
 * contexts uses tt_block_of and tt_end_of, which stay within bounds in any case. */
#include "profile.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "checking.h"
#include "extras.h"
#include "sorted.h"

enum { CHECKED_AT_ONCE = 64 << 20 };

/* ── Sections ─────────────────────────────────────────────────────────────────────── */

/* The sections that there may be: the width of an item, how many there must be, and the
 * members, of the profile or of each metric, that are their address and number. */
enum count_rule { ANY, BLOCKS, METRICS, CONTEXTS, SUMS, ARCS, STRANDS, DIGESTS, EDGES };

#define WIDTH(type, member) sizeof *((const struct type *)0)->member
#define ONE(member, rule)                                                                \
    {                                                                                    \
        WIDTH(tt_profile, member), rule, 0, offsetof(struct tt_profile, member), 0, 0    \
    }
#define LIST(member, number)                                                             \
    {                                                                                    \
        WIDTH(tt_profile, member), ANY, 0, offsetof(struct tt_profile, member),          \
            offsetof(struct tt_profile, number),                                         \
            sizeof((const struct tt_profile *)0)->number                                 \
    }
#define EACH(member, rule)                                                               \
    {                                                                                    \
        WIDTH(tt_metric_columns, member), rule, 1,                                       \
            offsetof(struct tt_metric_columns, member), 0, 0                             \
    }

static const struct section_rule {
    uint32_t width;
    enum count_rule count;
    int by_metric;
    size_t at, number, number_size;
} section_rules[TT_SECTIONS] = {
    [TT_SECTION_STRINGS] = LIST(strings, strings_size),
    [TT_SECTION_FACTS] = LIST(fact, facts),
    [TT_SECTION_BLOCKS] = ONE(block, BLOCKS),
    [TT_SECTION_METRICS] = {.width = sizeof(struct tt_metric_row), .count = METRICS},
    [TT_SECTION_CONTEXT_BLOCK] = ONE(block_of, CONTEXTS),
    [TT_SECTION_CONTEXT_SIZE] = ONE(size_of, CONTEXTS),
    [TT_SECTION_SELF] = EACH(self, SUMS),
    [TT_SECTION_ELSEWHERE] = EACH(elsewhere, SUMS),
    [TT_SECTION_LOW] = EACH(low, SUMS),
    [TT_SECTION_MISSED] = EACH(missed, CONTEXTS),
    [TT_SECTION_ARCS] = ONE(arc, ARCS),
    [TT_SECTION_BLOCK_FIGURES] = EACH(block, BLOCKS),
    [TT_SECTION_TIMES] = LIST(times, many_times),
    [TT_SECTION_BINS] = LIST(bin, bins),
    [TT_SECTION_ACTIVATIONS] = LIST(activation, activations),
    [TT_SECTION_SLOW] = LIST(slow, slows),
    [TT_SECTION_STRAND_ROWS] = ONE(strand, STRANDS),
    [TT_SECTION_ENTRIES] = LIST(entry, entries),
    [TT_SECTION_SPREAD] = EACH(spread, CONTEXTS),
    [TT_SECTION_SPREAD_SELF] = EACH(spread_self, CONTEXTS),
    [TT_SECTION_SPACE] = LIST(space, spaces),
    [TT_SECTION_SERIES] = LIST(series, many_series),
    [TT_SECTION_POINTS] = LIST(point, points),
    [TT_SECTION_DIGEST] = ONE(digest, DIGESTS),
    [TT_SECTION_DIGEST_LEAST] = ONE(digest_least, METRICS),
    [TT_SECTION_DIGEST_SELF] = EACH(digest_self, DIGESTS),
    [TT_SECTION_DIGEST_ELSEWHERE] = EACH(digest_elsewhere, DIGESTS),
    [TT_SECTION_DIGEST_LOW] = EACH(digest_low, DIGESTS),
    [TT_SECTION_BLOCK_CONTEXTS] = ONE(contexts_of, BLOCKS),
    [TT_SECTION_BLOCK_TALLIES] = EACH(tally, BLOCKS),
    [TT_SECTION_EDGES] = ONE(edge, EDGES),
    [TT_SECTION_EDGE_TALLIES] = EACH(edge_tally, EDGES),
};

static uint64_t count_by_rule(const struct tt_profile *p, const struct tt_section *s)
{
    switch (section_rules[s->kind].count) {
    case BLOCKS:
        return p->blocks;
    case METRICS:
        return p->metrics;
    case CONTEXTS:
        return p->contexts;
    case SUMS:
        return (uint64_t)p->contexts + 1;
    case ARCS:
        return p->arcs;
    case STRANDS:
        return p->strands;
    case DIGESTS:
        return p->digests;
    case EDGES:
        return p->edges;
    default:
        return s->count;
    }
}

static int check_section(struct tt_profile *p, const struct tt_section *s, uint32_t i)
{
    const uint32_t end = p->edges     ? TT_SECTIONS
                         : p->digests ? TT_SECTION_EDGES
                                      : TT_SECTION_DIGEST;
    uint64_t bytes;

    if (s->kind == TT_SECTION_NONE || s->kind >= end)
        return tt_damaged(p, "section %u is of no known kind (%u)", i, s->kind);
    if (s->width != section_rules[s->kind].width || s->count != count_by_rule(p, s) ||
        (section_rules[s->kind].by_metric ? s->key >= p->metrics : s->key != 0))
        return tt_damaged(p, "section %u does not fit the header", i);
    if (__builtin_mul_overflow(s->count, (uint64_t)s->width, &bytes) || s->offset % 8 ||
        s->offset > p->size || bytes > p->size - s->offset)
        return tt_damaged(p, "section %u ends at byte %llu of %zu", i,
                          (unsigned long long)(s->offset + s->count * s->width), p->size);
    return 0;
}

/* Sets the pointer and the count of a section. */
static void take_section(struct tt_profile *p, const struct tt_section *s)
{
    const struct section_rule *rule = &section_rules[s->kind];
    const void *at = p->image + s->offset;
    const size_t count = (size_t)s->count; /* it fits, as what it counts does */
    const uint32_t brief = (uint32_t)count;
    char *of = rule->by_metric ? (char *)&p->metric[s->key] : (char *)p;

    if (s->kind == TT_SECTION_METRICS)
        return;
    memcpy(of + rule->at, &at, sizeof at);
    if (rule->number_size == sizeof brief)
        memcpy(of + rule->number, &brief, sizeof brief);
    else if (rule->number_size)
        memcpy(of + rule->number, &count, sizeof count);
}

/* ── What is in them ──────────────────────────────────────────────────────────────── */

static int check_strings(struct tt_profile *p)
{
    if (!p->strings || !p->strings_size || p->strings[0] != '\0' ||
        p->strings[p->strings_size - 1] != '\0')
        return tt_damaged(p, "damaged strings");
    for (uint32_t i = 0; i < p->facts; i++)
        if (!tt_is_string(p, p->fact[i].name) || !tt_is_string(p, p->fact[i].text) ||
            p->fact[i].rule >= TT_FACT_RULES)
            return tt_damaged(p, "damaged fact %u", i);
    for (uint32_t i = 0; i < p->strands; i++)
        if (!tt_is_string(p, p->strand[i].host) ||
            !tt_is_string(p, p->strand[i].process) ||
            !tt_is_string(p, p->strand[i].node) || !tt_is_string(p, p->strand[i].name) ||
            !tt_is_string(p, p->strand[i].labels))
            return tt_damaged(p, "damaged strand %u", i);
    return 0;
}

static int check_blocks(struct tt_profile *p)
{
    for (uint32_t i = 0; i < p->blocks; i++) {
        const struct tt_block_row *b = &p->block[i];
        if (!tt_is_string(p, b->name) || !tt_is_string(p, b->module) ||
            !tt_is_string(p, b->file))
            return tt_damaged(p, "damaged block %u", i);
        if (i > 1 && tt_block_compare(p, i - 1, p, i) >= 0)
            return tt_damaged(p, "block %u is not in order", i);
    }
    return 0;
}

static int check_metrics(struct tt_profile *p, const struct tt_metric_row *row)
{
    for (uint32_t i = 0; i < p->metrics; i++) {
        struct tt_metric_columns *m = &p->metric[i];
        if (!row || !tt_is_string(p, row[i].name) || !tt_is_string(p, row[i].unit) ||
            !m->self)
            return tt_damaged(p, "damaged metric %u", i);
        m->name = tt_profile_string(p, row[i].name);
        m->unit = tt_profile_string(p, row[i].unit);
        m->flags = row[i].flags;
    }
    return 0;
}

/* Subtrees nest, and are no deeper than the header says. */
static int check_contexts(struct tt_profile *p)
{
    uint32_t *end, depth = 0;
    int error = 0;

    end = tt_memory_get(p->memory, ((size_t)p->depth + 1) * sizeof *end);
    if (!end)
        return -TT_ERR_MEMORY;
    for (uint32_t c = 0; !error && c < p->contexts; c++) {
        while (depth && end[depth - 1] <= c)
            depth--;
        if (p->block_of[c] >= p->blocks || (c && !p->block_of[c]) || !p->size_of[c] ||
            p->size_of[c] > (depth ? end[depth - 1] : p->contexts) - c ||
            depth > p->depth)
            error = tt_damaged(p, "damaged context %u", c);
        else
            end[depth++] = c + p->size_of[c];
    }
    tt_memory_put(p->memory, end);
    return error;
}

/* Does the digest have a column exactly if the profile has it? */
static int fits(const void *digest, const void *column) { return !digest == !column; }

static int check_digest_edges(struct tt_profile *p)
{
    if (p->edges && !p->edge)
        return tt_damaged(p, "a part of the digest is missing");
    for (uint32_t i = 0; p->edges && i < p->metrics; i++)
        if (!p->metric[i].edge_tally)
            return tt_damaged(p, "a part of the digest is missing");
    for (uint32_t i = 0; i < p->edges; i++) {
        const struct tt_edge_row *e = &p->edge[i];
        if (e->caller >= p->blocks || e->callee >= p->blocks ||
            (i && (e->caller < e[-1].caller ||
                   (e->caller == e[-1].caller && e->callee <= e[-1].callee))))
            return tt_damaged(p, "damaged edge %u of the digest", i);
    }
    return 0;
}

static int check_digest(struct tt_profile *p)
{
    uint32_t rows = 0, after = 0;

    if (!p->digests)
        return 0;
    if (!p->digest || (p->metrics && !p->digest_least) || !p->contexts_of)
        return tt_damaged(p, "a part of the digest is missing");
    for (uint32_t i = 0; i < p->metrics; i++) {
        const struct tt_metric_columns *m = &p->metric[i];
        if (!fits(m->digest_self, m->self) || !fits(m->tally, m->self) ||
            !fits(m->digest_elsewhere, m->elsewhere) || !fits(m->digest_low, m->low))
            return tt_damaged(p, "a part of the digest is missing");
    }
    for (; rows < p->digests && p->digest[rows].context != TT_NONE; rows++) {
        const struct tt_digest_row *r = &p->digest[rows];
        if (r->context < after || r->context >= p->contexts || r->block >= p->blocks ||
            !r->size || r->size > p->contexts - r->context)
            return tt_damaged(p, "damaged digest at context %u", r->context);
        after = r->context + 1;
    }
    p->digests = rows;
    return check_digest_edges(p);
}

static int is_figure(const struct tt_digest_figure *f, const uint64_t *sums,
                     uint32_t from, uint32_t to)
{
    return (f->own == sums[from + 1] - sums[from] && f->all == sums[to] - sums[from]);
}

/* Do the figures of the digest agree with the columns? */
static int check_digest_figures(struct tt_profile *p)
{
    for (uint32_t i = 0; i < p->digests; i++) {
        const struct tt_digest_row *r = &p->digest[i];
        const uint32_t from = r->context, to = from + r->size;
        int same = r->block == p->block_of[from] && r->size == p->size_of[from];
        for (uint32_t k = 0; same && k < p->metrics; k++) {
            const struct tt_metric_columns *m = &p->metric[k];
            same = is_figure(&m->digest_self[i], m->self, from, to) &&
                   (!m->elsewhere ||
                    is_figure(&m->digest_elsewhere[i], m->elsewhere, from, to)) &&
                   (!m->low || is_figure(&m->digest_low[i], m->low, from, to));
        }
        if (!same)
            return tt_damaged(p, "the digest of context %u does not match its figures",
                              from);
    }
    return 0;
}

static int rows_of(const struct tt_profile *p, uint32_t row)
{
    return row < (uint64_t)p->contexts + p->arcs;
}

static int check_edges(struct tt_profile *p)
{
    for (uint32_t i = 0; i < p->arcs; i++)
        if (p->arc[i].from >= p->contexts || p->arc[i].to >= p->contexts ||
            p->arc[i].block >= p->blocks)
            return tt_damaged(p, "arc %u leads nowhere", i);
    for (size_t i = 0; i < p->many_times; i++) {
        const struct tt_times_row *t = &p->times[i];
        if (!rows_of(p, t->row) || !tt_is_strand(p, t->strand) ||
            !tt_is_strand(p, t->min_strand) || !tt_is_strand(p, t->max_strand) ||
            (i && (t->row < t[-1].row ||
                   (t->row == t[-1].row && t->strand + 1 <= t[-1].strand + 1))))
            return tt_damaged(p, "damaged times %zu", i);
    }
    for (size_t i = 0; i < p->bins; i++)
        if (!rows_of(p, p->bin[i].row) || p->bin[i].bin > 63 ||
            (i && p->bin[i].row < p->bin[i - 1].row))
            return tt_damaged(p, "damaged histogram %zu", i);
    for (size_t i = 0; i < p->activations; i++) {
        const struct tt_activation_row *a = &p->activation[i];
        if (!rows_of(p, a->row) || !tt_is_strand(p, a->strand) || a->first > p->slows ||
            a->figures > p->slows - a->first || (i && a->row < a[-1].row))
            return tt_damaged(p, "damaged activation %zu", i);
        for (uint32_t j = 0; j < a->figures; j++)
            if (p->slow[a->first + j].block >= p->blocks ||
                p->slow[a->first + j].parent > j)
                return tt_damaged(p, "damaged activation %zu", i);
    }
    return 0;
}

/* Strands may be missing only where no strand has a figure. */
static int check_spread(struct tt_profile *p, const struct tt_spread *s)
{
    for (uint32_t c = 0; s && c < p->contexts; c++)
        if (s[c].count &&
            (s[c].min_strand >= p->strands || s[c].max_strand >= p->strands))
            return tt_damaged(p, "damaged spread of context %u", c);
    return 0;
}

static int check_entries(struct tt_profile *p)
{
    uint64_t rows = 3 * (uint64_t)p->contexts + p->arcs + 2 * (uint64_t)p->blocks;

    for (size_t i = 0; i < p->entries; i++) {
        const struct tt_entry *e = &p->entry[i];
        if (e->strand >= p->strands || e->metric >= p->metrics || e->row >= rows ||
            (i && e->strand < e[-1].strand))
            return tt_damaged(p, "damaged entry %zu", i);
    }
    for (uint32_t m = 0; m < p->metrics; m++)
        if (check_spread(p, p->metric[m].spread) ||
            check_spread(p, p->metric[m].spread_self))
            return -TT_ERR_FORMAT;
    return 0;
}

static int check_space(struct tt_profile *p)
{
    for (size_t i = 0; i < p->spaces; i++)
        if (p->space[i].context >= p->contexts || !tt_is_string(p, p->space[i].type))
            return tt_damaged(p, "damaged space row %zu", i);
    for (uint32_t i = 0; i < p->many_series; i++)
        if (!tt_is_string(p, p->series[i].name) || !tt_is_string(p, p->series[i].unit) ||
            !tt_is_string(p, p->series[i].label) || !tt_is_strand(p, p->series[i].strand))
            return tt_damaged(p, "damaged series %u", i);
    for (size_t i = 0; i < p->points; i++)
        if (p->point[i].series >= p->many_series || !tt_is_string(p, p->point[i].label) ||
            (i && (p->point[i].series < p->point[i - 1].series ||
                   (p->point[i].series == p->point[i - 1].series &&
                    p->point[i].time < p->point[i - 1].time))))
            return tt_damaged(p, "damaged point %zu", i);
    return 0;
}

/* ── The whole ────────────────────────────────────────────────────────────────────── */

static int check_header(struct tt_profile *p, const struct tt_file_header *h)
{
    if (p->size < 8 || memcmp(h->magic, TT_PROFILE_MAGIC, 8) != 0)
        return tt_damaged(p, "this is not a profile");
    if (p->size < sizeof *h)
        return tt_damaged(p, "cut off in the header, at %zu bytes", p->size);
    if (!h->version || h->version > TT_PROFILE_VERSION || h->header_size != sizeof *h ||
        h->section_size != sizeof(struct tt_section))
        return tt_damaged(p, "a profile of version %u; this reads versions up to %u",
                          h->version, TT_PROFILE_VERSION);
    if (h->size != p->size)
        return tt_damaged(p, "cut off: %zu of %llu bytes are there", p->size,
                          (unsigned long long)h->size);
    if (h->sections > (p->size - sizeof *h) / sizeof(struct tt_section))
        return tt_damaged(p, "damaged header");
    if ((uint64_t)h->contexts + h->arcs > UINT32_MAX - 2 || h->depth >= h->contexts)
        return tt_damaged(p, "damaged header");
    p->contexts = h->contexts;
    p->arcs = h->arcs;
    p->blocks = h->blocks;
    p->metrics = h->metrics;
    p->strands = h->strands;
    p->depth = h->depth;
    p->digests = h->version > 1 ? h->digests : 0;
    p->edges = h->version > 2 && p->digests ? h->edges : 0;
    return 0;
}

static int read_sections(struct tt_profile *p, const struct tt_file_header *h)
{
    const struct tt_section *s = (const struct tt_section *)(const void *)(h + 1);
    const struct tt_metric_row *metrics = NULL;
    int error = 0;

    for (uint32_t i = 0; !error && i < h->sections; i++)
        error = check_section(p, &s[i], i);
    if (error)
        return error;
    /* One more than there are metrics: sections of no metric point there. */
    if (h->metrics > h->sections)
        return tt_damaged(p, "damaged header");
    p->metric = tt_memory_get(p->memory, ((size_t)p->metrics + 1) * sizeof *p->metric);
    if (!p->metric)
        return -TT_ERR_MEMORY;
    for (uint32_t i = 0; i < h->sections; i++) {
        take_section(p, &s[i]);
        if (s[i].kind == TT_SECTION_METRICS)
            metrics = (const struct tt_metric_row *)(const void *)(p->image +
                                                                   s[i].offset);
    }
    if ((error = tt_extras_read(p, h, s)))
        return error;
    if ((p->blocks && !p->block) || (p->arcs && !p->arc) || (p->strands && !p->strand))
        return tt_damaged(p, "a section is missing");
    if ((error = check_strings(p)) || (error = check_blocks(p)) ||
        (error = check_metrics(p, metrics)))
        return error;
    if (!p->block_of || !p->size_of || !p->contexts || !p->blocks ||
        p->size_of[0] != p->contexts || p->block_of[0] != 0)
        return tt_damaged(p, "no contexts");
    if ((error = check_digest(p)))
        return error;
    return p->size < CHECKED_AT_ONCE ? tt_profile_check(p) : 0;
}

int tt_profile_check(struct tt_profile *p)
{
    int error;

    if (p->checked)
        return 0;
    error = check_contexts(p);
    error = error ?: check_digest_figures(p);
    error = error ?: check_edges(p);
    error = error ?: check_entries(p);
    error = error ?: check_space(p);
    error = error ?: tt_extras_check(p);
    p->checked = !error;
    return error;
}

int tt_profile_open(struct tt_profile *p, const void *image, size_t size,
                    const struct tt_memory *memory)
{
    int error;

    memset(p, 0, sizeof *p);
    p->image = image;
    p->size = size;
    p->memory = memory;
    error = check_header(p, image);
    error = error ?: read_sections(p, image);
    if (error == -TT_ERR_MEMORY)
        (void)tt_damaged(p, "no memory");
    if (error)
        tt_profile_close(p);
    return error;
}

void tt_profile_close(struct tt_profile *p)
{
    tt_memory_put(p->memory, p->metric);
    p->metric = NULL;
    p->image = NULL;
}

/* ── Questions ────────────────────────────────────────────────────────────────────── */

int tt_profile_is_summary(const struct tt_profile *p)
{
    uint64_t any = 0;

    for (uint32_t i = 0; i < p->metrics; i++)
        any |= (p->metric[i].spread || p->metric[i].block) |
               tt_grand_total(p, &p->metric[i]);
    return p->strands > 1 && !p->entries && any;
}

uint64_t tt_grand_total(const struct tt_profile *p, const struct tt_metric_columns *m)
{
    uint64_t total = m->self[p->contexts] - m->self[0] +
                     tt_sum_of(m->elsewhere, 0, p->contexts);

    for (uint32_t i = 0; (m->flags & TT_METRIC_CALLS) && i < p->arcs; i++)
        if (tt_arc_is_dropped(p, &p->arc[i]))
            total += p->arc[i].calls;
    return total;
}

static uint32_t metric_with_flag(const struct tt_profile *p, uint32_t flag)
{
    for (uint32_t i = 0; i < p->metrics; i++)
        if (p->metric[i].flags & flag)
            return i;
    return TT_NONE;
}

static uint32_t metric_named(const struct tt_profile *p, const char *name)
{
    for (uint32_t i = 0; i < p->metrics; i++)
        if (strcmp(p->metric[i].name, name) == 0)
            return i;
    for (uint32_t i = 0; i < p->metrics; i++) {
        const char *own = p->metric[i].name;
        const size_t length = strlen(own);
        if (p->metric[i].flags & TT_METRIC_SAMPLED && strncmp(own, name, length) == 0 &&
            strcmp(name + length, TT_SAMPLED_NAME) == 0)
            return i;
    }
    return TT_NONE;
}

/* Of several times, as files of other tools have them, that of the recording comes first. */
static uint32_t clock_metric(const struct tt_profile *p)
{
    const uint32_t time = metric_named(p, "time");

    return time != TT_NONE && p->metric[time].flags & TT_METRIC_TIME ? time : TT_NONE;
}

static uint32_t metric_of_file(const struct tt_profile *p)
{
    const char *name = tt_fact_text(p, TT_FACT_METRIC);

    return name ? metric_named(p, name) : TT_NONE;
}

/* The default metric among those with figures; if there are none, among those that the
 * profile had before filters. */
static uint32_t first_metric(const struct tt_profile *p)
{
    const uint32_t wanted[] = {clock_metric(p),
                               metric_of_file(p),
                               metric_with_flag(p, TT_METRIC_TIME),
                               metric_named(p, "samples"),
                               metric_with_flag(p, TT_METRIC_SPACE),
                               metric_named(p, "calls")};
    enum { WANTED = sizeof wanted / sizeof *wanted };
    uint32_t otherwise = p->metrics ? 0 : TT_NONE;

    for (int i = WANTED; i-- > 0;)
        if (wanted[i] != TT_NONE)
            otherwise = wanted[i];
    for (int i = 0; i < WANTED; i++)
        if (wanted[i] != TT_NONE && tt_grand_total(p, &p->metric[wanted[i]]))
            return wanted[i];
    for (uint32_t i = 0; i < p->metrics; i++)
        if (tt_grand_total(p, &p->metric[i]))
            return i;
    return otherwise;
}

uint32_t tt_series_find(const struct tt_profile *p, const char *name)
{
    for (uint32_t i = 0; i < p->many_series; i++)
        if (strcmp(tt_profile_string(p, p->series[i].name), name) == 0)
            return i;
    return TT_NONE;
}

uint32_t tt_metric_find(const struct tt_profile *p, const char *name)
{
    uint32_t m;

    if (!name)
        return p->usual ? p->usual - 1 : first_metric(p);
    m = metric_named(p, name);
    if (m == TT_NONE && strcmp(name, "ticks") == 0)
        m = metric_named(p, "time");
    else if (m == TT_NONE && strcmp(name, "time") == 0)
        m = metric_named(p, "ticks");
    return m;
}

static const struct tt_fact *find_fact(const struct tt_profile *p, const char *name)
{
    for (uint32_t i = 0; i < p->facts; i++)
        if (strcmp(tt_profile_string(p, p->fact[i].name), name) == 0)
            return &p->fact[i];
    return NULL;
}

uint64_t tt_fact_number(const struct tt_profile *p, const char *name)
{
    const struct tt_fact *f = find_fact(p, name);

    return f ? f->number : 0;
}

const char *tt_fact_text(const struct tt_profile *p, const char *name)
{
    const struct tt_fact *f = find_fact(p, name);

    return f ? tt_profile_string(p, f->text) : NULL;
}

const char *tt_profile_program(const struct tt_profile *p)
{
    const size_t prefix = strlen(TT_FACT_PROGRAM_BEGAN);
    const struct tt_fact *first = NULL;

    for (uint32_t i = 0; i < p->facts; i++)
        if (strncmp(tt_profile_string(p, p->fact[i].name), TT_FACT_PROGRAM_BEGAN,
                    prefix) == 0 &&
            (!first || p->fact[i].number < first->number))
            first = &p->fact[i];
    return first ? tt_profile_string(p, first->name) + prefix
                 : tt_fact_text(p, "program");
}

size_t tt_times_range(const struct tt_profile *p, uint32_t row, size_t *first)
{
    size_t high = p->many_times ? tt_first_from(&p->times->row, sizeof *p->times,
                                                p->many_times, row)
                                : 0;

    *first = high;
    while (high < p->many_times && p->times[high].row == row)
        high++;
    return high;
}

int tt_block_compare(const struct tt_profile *p, uint32_t block,
                     const struct tt_profile *q, uint32_t other)
{
    const struct tt_block_row *a = &p->block[block], *b = &q->block[other];

    return strcmp(p->strings + a->name, q->strings + b->name)
           ?: strcmp(p->strings + a->module, q->strings + b->module)
           ?: strcmp(p->strings + a->file, q->strings + b->file)
           ?: TT_ORDER(a->line, b->line) ?: TT_ORDER(a->column, b->column)
           ?: TT_ORDER(a->offset, b->offset) ?: TT_ORDER(a->length, b->length)
           ?: TT_ORDER(a->kind, b->kind);
}

const char *tt_kind_word(uint32_t i)
{
    static const char *const words[TT_KINDS] = {
        "block", "scope", "function", "statement", "native", "centre", "interpreted"};

    return i < TT_KINDS ? words[i] : "?";
}

struct tt_block_info tt_block_info_of(const struct tt_profile *p, uint32_t block)
{
    const struct tt_block_row *r = &p->block[block];

    return (struct tt_block_info){.name = p->strings + r->name,
                                  .module = p->strings + r->module,
                                  .file = p->strings + r->file,
                                  .kind = (enum tt_kind)r->kind,
                                  .line = r->line,
                                  .column = r->column,
                                  .length = r->length,
                                  .offset = r->offset};
}

/* ── Code without a name ──────────────────────────────────────────────────────────── */

int tt_is_nameless(const struct tt_block_info *b)
{
    const char *slash = strrchr(b->module, '/'), *base = slash ? slash + 1 : b->module;
    size_t length = strlen(base);
    char address[24];

    if (!*b->module || b->kind == TT_KIND_NATIVE)
        return *b->module != 0;
    if (b->kind != TT_KIND_FUNCTION || strncmp(b->name, base, length) != 0 ||
        b->name[length] != '+')
        return 0;
    (void)snprintf(address, sizeof address, "+0x%llx", (unsigned long long)b->offset);
    return strcmp(b->name + length, address) == 0;
}

int tt_block_is_nameless(const struct tt_profile *p, uint32_t block)
{
    const struct tt_block_row *r = &p->block[block];
    const struct tt_block_info info = {.kind = (enum tt_kind)r->kind,
                                       .name = p->strings + r->name,
                                       .module = p->strings + r->module,
                                       .offset = r->offset};

    return tt_is_nameless(&info);
}

/* ── Walk ─────────────────────────────────────────────────────────────────────────── */

int tt_walk_init(struct tt_walk *w, const struct tt_profile *p, uint32_t context)
{
    *w = (struct tt_walk){.p = p, .end = tt_end_of(p, context), .next = context};
    w->path = tt_memory_get(p->memory, ((size_t)p->depth + 1) * sizeof *w->path);
    return w->path ? 0 : -TT_ERR_MEMORY;
}

int tt_walk_next(struct tt_walk *w)
{
    uint32_t c = w->next, count = w->count;

    if (c >= w->end || !w->path)
        return 0;
    while (count && tt_end_of(w->p, w->path[count - 1]) <= c)
        count--;
    /* Deeper than the header says: damaged, and too large to be checked. */
    if (count > w->p->depth) {
        w->end = 0;
        return 0;
    }
    w->path[count] = w->context = c;
    w->depth = count;
    w->count = count + 1;
    w->next = c + 1;
    return 1;
}

void tt_walk_skip(struct tt_walk *w) { w->next = tt_end_of(w->p, w->context); }

void tt_walk_fini(struct tt_walk *w)
{
    tt_memory_put(w->p->memory, w->path);
    w->path = NULL;
}
