/* SPDX-License-Identifier: MIT */
/* naming-test.c - blocks that become chains of others: every figure goes where it belongs.
 *
 * The oracle knows contexts by their paths as texts, and goes through lists. */
#include <stdlib.h>

#include "add-profile.h"
#include "failing.h"
#include "finish.h"
#include "naming.h"
#include "random-profile.h"
#include "tap.h"

enum { CASES = TAP_CASES(1500), LINKS = 3, WORDS = 5, TEXT = 2048, ROWS = 512 };

/* ── Names ────────────────────────────────────────────────────────────────────────── */

struct names { /* of each block of the model: how many links, and which words */
    int count[MODEL_BLOCKS], word[MODEL_BLOCKS][LINKS];
    const struct model *m;
    struct tt_block_info chain[LINKS];
};

static const struct tt_block_info words[WORDS] = {
    {.name = "f", .module = "/bin/x", .file = "f.c", .line = 1, .kind = TT_KIND_FUNCTION},
    {.name = "g", .module = "/bin/x", .file = "f.c", .line = 9, .kind = TT_KIND_FUNCTION},
    {.name = "h", .module = "/bin/x", .kind = TT_KIND_FUNCTION},
    {.name = "f", .module = "/bin/y", .kind = TT_KIND_FUNCTION},
    {.name = "main", .file = "main.c", .line = 3}, /* as a block that there is */
};

static int is_same(const struct tt_block_info *a, const struct tt_block_info *b)
{
    return strcmp(a->name, b->name) == 0 && a->line == b->line &&
           a->column == b->column && a->offset == b->offset &&
           strcmp(a->module ? a->module : "", b->module ? b->module : "") == 0;
}

static size_t chain_of(void *arg, const struct tt_block_info *info,
                       const struct tt_block_info **chain)
{
    struct names *n = arg;

    for (int b = 0; b < n->m->blocks; b++) {
        if (!is_same(info, &n->m->block[b].info))
            continue;
        for (int i = 0; i < n->count[b]; i++)
            n->chain[i] = words[n->word[b][i]];
        *chain = n->chain;
        return (size_t)n->count[b];
    }
    return 0;
}

static void make_names(struct names *n, struct model *m)
{
    n->m = m;
    for (int b = 0; b < m->blocks; b++) {
        n->count[b] = model_below(m, LINKS + 1);
        for (int i = 0; i < n->count[b]; i++)
            n->word[b][i] = model_below(m, WORDS);
    }
}

static int rename_profile(struct names *n, const struct tt_profile *p,
                          struct tt_profile *named)
{
    const struct tt_naming naming = {.chain = chain_of, .arg = n};
    struct tt_builder *b = tt_builder_new(NULL);
    void *image = NULL;
    size_t size = 0;
    int error = tt_builder_named(b, p, &naming);

    if (!error)
        error = tt_builder_finish(b, &image, &size);
    tt_builder_free(b);
    memset(named, 0, sizeof *named);
    return !error && tt_profile_open(named, image, size, NULL) == 0 &&
           tt_profile_check(named) == 0;
}

/* ── Texts ────────────────────────────────────────────────────────────────────────── */

static void put_info(char *text, const struct tt_block_info *x)
{
    size_t at = strlen(text);

    (void)snprintf(text + at, TEXT - at, "/%s,%s,%s,%u,%u,%llu", x->name,
                   x->module ? x->module : "", x->file ? x->file : "", x->line, x->column,
                   (unsigned long long)x->offset);
}

static void put_block(char *text, const struct tt_profile *p, uint32_t block)
{
    const struct tt_block_row *r = &p->block[block];

    put_info(text, &(struct tt_block_info){.name = p->strings + r->name,
                                           .module = p->strings + r->module,
                                           .file = p->strings + r->file,
                                           .line = r->line,
                                           .column = r->column,
                                           .offset = r->offset});
}

/* The links from `from` to before `to` of what a block becomes. */
static void put_links(char *text, const struct names *n, int block, int from, int to)
{
    if (!n->count[block] && from == 0)
        put_info(text, &n->m->block[block].info);
    for (int i = from; i < n->count[block] && i < to; i++)
        put_info(text, &words[n->word[block][i]]);
}

/* Writes a model's path, up to the first link of its last block, or to the last one. */
static void path_text(char *text, const struct names *n, int path, int is_entry)
{
    const struct model_path *p = &n->m->path[path];

    *text = 0;
    for (int i = 0; i < p->depth; i++)
        put_links(text, n, p->block[i], 0, is_entry && i + 1 == p->depth ? 1 : LINKS);
}

static void context_text(char *text, const struct tt_profile *p, const struct tt_walk *w)
{
    *text = 0;
    for (uint32_t i = 1; i <= w->depth; i++)
        put_block(text, p, tt_block_of(p, w->path[i]));
}

/* ── Figures by text ──────────────────────────────────────────────────────────────── */

struct row {
    char text[TEXT];
    uint64_t amount[8];
};

struct rows {
    struct row *row;
    int count;
};

static struct row *row_of(struct rows *r, const char *text)
{
    for (int i = 0; i < r->count; i++)
        if (strcmp(r->row[i].text, text) == 0)
            return &r->row[i];
    if (r->count == ROWS)
        abort();
    memset(&r->row[r->count], 0, sizeof *r->row);
    (void)snprintf(r->row[r->count].text, TEXT, "%s", text);
    return &r->row[r->count++];
}

static void compare(struct rows *want, struct rows *got, const char *what, int seed)
{
    int same = 1;

    for (int i = 0; i < want->count; i++) {
        const struct row *w = &want->row[i], *g = row_of(got, w->text);
        if (memcmp(w->amount, g->amount, sizeof w->amount) != 0) {
            fprintf(stderr, "# %s of '%s', case %d: %llu %llu, not %llu %llu\n", what,
                    w->text, seed, (unsigned long long)g->amount[0],
                    (unsigned long long)g->amount[1], (unsigned long long)w->amount[0],
                    (unsigned long long)w->amount[1]);
            same = 0;
        }
    }
    CHECK(same);
    CHECK_INT(got->count, want->count); /* row_of has added what was missing */
}

/* ── What should be ───────────────────────────────────────────────────────────────── */

static void want_contexts(struct rows *want, const struct names *n, int metric)
{
    const struct model *m = n->m;
    char text[TEXT];

    for (int i = 0; i < m->paths; i++) {
        const struct model_path *p = &m->path[i];
        for (int links = 0; links <= LINKS && p->depth; links++) { /* all are there */
            *text = 0;
            for (int j = 0; j + 1 < p->depth; j++)
                put_links(text, n, p->block[j], 0, LINKS);
            put_links(text, n, p->block[p->depth - 1], 0, links < 1 ? 1 : links);
            (void)row_of(want, text);
        }
        path_text(text, n, i, metric == m->calls);
        row_of(want, text)->amount[0] += model_sum(&p->self, metric);
        row_of(want, text)->amount[2] += model_sum(&p->own, metric);
        path_text(text, n, i, 0);
        row_of(want, text)->amount[1] += model_sum(&p->elsewhere, metric);
    }
}

/* The last block of a path as a text. */
static void last_text(char *text, const struct names *n, int path, int is_entry)
{
    const struct model_path *p = &n->m->path[path];
    int block = p->depth ? p->block[p->depth - 1] : -1, last;

    *text = 0;
    if (block < 0)
        return;
    last = n->count[block] ? n->count[block] - 1 : 0;
    put_links(text, n, block, is_entry ? 0 : last, is_entry ? 1 : LINKS);
}

/* Arcs, and in `contexts` the calls of pushes that are dropped no longer. */
static void want_arcs(struct rows *want, struct rows *contexts, const struct names *n)
{
    const struct model *m = n->m;
    char from[TEXT], to[TEXT], block[TEXT], last[TEXT], text[3 * TEXT];

    for (int i = 0; i < m->arcs; i++) {
        const struct model_arc *a = &m->arc[i];
        int dropped = model_is_dropped(m, a);
        path_text(from, n, a->from, 0);
        path_text(to, n, a->to, !dropped);
        last_text(last, n, a->to, !dropped);
        *block = 0;
        put_links(block, n, a->block, 0, 1);
        (void)snprintf(text, TEXT, "%.600s > %.600s : %.200s", from, to, block);
        row_of(want, text)->amount[0] += model_arc_calls(a);
        if (dropped && contexts && strcmp(last, block) == 0)
            row_of(contexts, to)->amount[0] += model_arc_calls(a);
    }
}

static void want_blocks(struct rows *want, const struct names *n, int metric)
{
    const struct model *m = n->m;
    char text[TEXT];

    for (int b = 0; b < m->blocks; b++) {
        int links = n->count[b] ? n->count[b] : 1;
        for (int i = 0; i < links; i++) {
            *text = 0;
            put_links(text, n, b, i, i + 1);
            row_of(want, text)->amount[0] += model_sum(&m->block[b].hidden, metric);
            if (i == (metric == m->calls ? 0 : links - 1))
                row_of(want, text)->amount[1] += model_sum(&m->block[b].beside, metric);
        }
    }
}

/* ── What is ──────────────────────────────────────────────────────────────────────── */

static void got_contexts(struct rows *got, const struct tt_profile *p,
                         const struct tt_metric_columns *m)
{
    char text[TEXT];
    struct tt_walk w;

    if (!CHECK(tt_walk_init(&w, p, 0) == 0))
        return;
    while (tt_walk_next(&w)) {
        context_text(text, p, &w);
        row_of(got, text)->amount[0] += tt_self_of(m, w.context);
        row_of(got, text)->amount[1] += tt_elsewhere_of(m, w.context);
        row_of(got, text)->amount[2] += tt_self_of(m, w.context) -
                                        tt_self_low_of(m, w.context);
    }
    tt_walk_fini(&w);
}

static void text_at(char *text, const struct tt_profile *p, uint32_t context)
{
    struct tt_walk w;

    *text = 0;
    if (!CHECK(tt_walk_init(&w, p, 0) == 0))
        return;
    while (tt_walk_next(&w))
        if (w.context == context)
            context_text(text, p, &w);
    tt_walk_fini(&w);
}

static void got_arcs(struct rows *got, const struct tt_profile *p)
{
    char from[TEXT], to[TEXT], block[TEXT], text[3 * TEXT];

    for (uint32_t i = 0; i < p->arcs; i++) {
        text_at(from, p, p->arc[i].from);
        text_at(to, p, p->arc[i].to);
        *block = 0;
        put_block(block, p, p->arc[i].block);
        (void)snprintf(text, TEXT, "%.600s > %.600s : %.200s", from, to, block);
        row_of(got, text)->amount[0] += p->arc[i].calls;
    }
}

static void got_blocks(struct rows *got, const struct tt_profile *p,
                       const struct tt_metric_columns *m)
{
    char text[TEXT];

    for (uint32_t b = 1; b < p->blocks; b++) {
        *text = 0;
        put_block(text, p, b);
        row_of(got, text)->amount[0] += m->block ? m->block[b].hidden : 0;
        row_of(got, text)->amount[1] += m->block ? m->block[b].beside : 0;
    }
}

/* ── Tests ────────────────────────────────────────────────────────────────────────── */

struct scratch {
    struct rows want, got;
};

static struct scratch *scratch_new(void)
{
    struct scratch *s = calloc(1, sizeof *s);

    s->want.row = calloc(ROWS, sizeof *s->want.row);
    s->got.row = calloc(ROWS, sizeof *s->got.row);
    return s;
}

static void scratch_free(struct scratch *s)
{
    free(s->want.row);
    free(s->got.row);
    free(s);
}

static void clear(struct scratch *s) { s->want.count = s->got.count = 0; }

static uint32_t metric_of(const struct tt_profile *p, const struct model *m, int metric)
{
    for (uint32_t i = 0; i < p->metrics; i++)
        if (strcmp(p->metric[i].name, m->metric[metric].name) == 0 &&
            p->metric[i].flags == m->metric[metric].flags)
            return i;
    return TT_NONE;
}

static void check_metric(struct scratch *s, const struct names *n,
                         const struct tt_profile *named, int metric, int seed)
{
    uint32_t id = metric_of(named, n->m, metric);

    if (id == TT_NONE)
        return;
    clear(s);
    want_contexts(&s->want, n, metric);
    if (metric == n->m->calls) {
        struct scratch *arcs = scratch_new();
        want_arcs(&arcs->want, &s->want, n);
        scratch_free(arcs);
    }
    got_contexts(&s->got, named, &named->metric[id]);
    (void)row_of(&s->want, ""); /* the root */
    compare(&s->want, &s->got, "contexts", seed);
    clear(s);
    want_blocks(&s->want, n, metric);
    got_blocks(&s->got, named, &named->metric[id]);
    compare(&s->want, &s->got, "blocks", seed);
}

TEST(every_figure_goes_to_the_right_end_of_a_chain)
{
    struct scratch *s = scratch_new();

    for (int seed = 0; seed < tap_times(CASES); seed++) {
        struct model *m = model_random((uint64_t)seed + 900000);
        struct tt_profile p, named;
        struct names n = {0};
        make_names(&n, m);
        if (!CHECK(model_open(m, 0, &p)) || !CHECK(rename_profile(&n, &p, &named)))
            return;
        for (int k = 0; k < m->metrics; k++)
            check_metric(s, &n, &named, k, seed);
        clear(s);
        want_arcs(&s->want, NULL, &n);
        got_arcs(&s->got, &named);
        compare(&s->want, &s->got, "arcs", seed);
        model_close(&named);
        model_close(&p);
        model_free(m);
    }
    scratch_free(s);
}

/* Activations by strand: all of them stay, and so do their sums. */
static void sum_of_times(const struct tt_profile *p, uint64_t sum[4])
{
    memset(sum, 0, 4 * sizeof *sum);
    for (size_t i = 0; i < p->many_times; i++)
        if (p->times[i].strand == TT_NONE) {
            sum[0] += p->times[i].count;
            sum[1] += p->times[i].sum;
            sum[2] += p->times[i].square.low;
            sum[3] += p->times[i].recursive;
        }
}

static void sum_of_space(const struct tt_profile *p, uint64_t sum[3])
{
    memset(sum, 0, 3 * sizeof *sum);
    for (size_t i = 0; i < p->spaces; i++) {
        sum[0] += p->space[i].number;
        sum[1] += p->space[i].bytes;
        sum[2] += p->space[i].overhead;
    }
}

/* Labels that come to have one name are one: their points are added up. */
static uint64_t sum_of_points(const struct tt_profile *p)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < p->points; i++)
        sum += p->point[i].amount;
    return sum;
}

/* Self of one strand. */
static uint64_t sum_of_strand(const struct tt_profile *p, uint32_t strand,
                              uint32_t metric)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < p->entries; i++)
        if (p->entry[i].strand == strand && p->entry[i].metric == metric &&
            p->entry[i].row < p->contexts)
            sum += p->entry[i].amount;
    return sum;
}

TEST(activations_space_and_what_strands_have_stay_what_they_are)
{
    for (int seed = 0; seed < tap_times(CASES); seed++) {
        struct model *m = model_random((uint64_t)seed + 800000);
        uint64_t before[4], after[4];
        struct tt_profile p, named;
        struct names n = {0};
        make_names(&n, m);
        if (!CHECK(model_open(m, 0, &p)) || !CHECK(rename_profile(&n, &p, &named)))
            return;
        sum_of_times(&p, before);
        sum_of_times(&named, after);
        CHECK(memcmp(before, after, 4 * sizeof *before) == 0);
        sum_of_space(&p, before);
        sum_of_space(&named, after);
        CHECK(memcmp(before, after, 3 * sizeof *before) == 0);
        CHECK_INT(sum_of_points(&named), sum_of_points(&p));
        CHECK(named.points <= p.points);
        CHECK_INT(named.strands, p.strands);
        for (uint32_t k = 0; k < p.metrics; k++)
            for (uint32_t i = 0; i < p.strands; i++)
                if (!(p.metric[k].flags & TT_METRIC_CALLS) && named.metrics == p.metrics)
                    CHECK_INT(sum_of_strand(&named, i, k), sum_of_strand(&p, i, k));
        model_close(&named);
        model_close(&p);
        model_free(m);
    }
}

TEST(without_names_a_profile_stays_byte_for_byte)
{
    for (int seed = 0; seed < 300; seed++) {
        struct model *m = model_random((uint64_t)seed);
        struct tt_profile p, named;
        struct names n = {.m = m};
        if (!CHECK(model_open(m, 0, &p)) || !CHECK(rename_profile(&n, &p, &named)))
            return;
        CHECK(named.size == p.size && memcmp(named.image, p.image, p.size) == 0);
        model_close(&named);
        model_close(&p);
        model_free(m);
    }
}

/* ── Slow activations ─────────────────────────────────────────────────────────────── */

static size_t two_or_none(void *arg, const struct tt_block_info *info,
                          const struct tt_block_info **chain)
{
    static const struct tt_block_info two[] = {{.name = "outer"}, {.name = "inner"}};

    (void)arg;
    *chain = two;
    return strcmp(info->name, "x") == 0 ? 2 : 0;
}

TEST(the_subtree_of_a_slow_activation_has_chains_too)
{
    const struct tt_naming naming = {.chain = two_or_none};
    struct tt_builder *b = tt_builder_new(NULL), *c;
    uint32_t x = tt_builder_block(b, &(struct tt_block_info){.name = "x"}),
             y = tt_builder_block(b, &(struct tt_block_info){.name = "y"}),
             at = tt_builder_context(b, TT_BUILDER_ROOT, y),
             time = tt_builder_metric(b, "time", "ns", TT_METRIC_TIME);
    const struct tt_slow_figure figure[] = {
        {.block = x, .calls = 2, .self = 10},
        {.block = y, .parent = 1, .calls = 3, .self = 4}};
    struct tt_profile p;
    void *image, *again;
    size_t size, bytes;

    tt_builder_add(b, TT_ROLE_SELF, at, time, 20);
    tt_builder_slow(b, 0, at, 1, 20, figure, 2, 0);
    if (!CHECK(tt_builder_finish(b, &image, &size) == 0 &&
               tt_profile_open(&p, image, size, NULL) == 0))
        return;
    tt_builder_free(b);
    c = tt_builder_new(NULL);
    CHECK_INT(tt_builder_named(c, &p, &naming), 0);
    tt_profile_close(&p);
    tt_memory_put(NULL, image);
    if (!CHECK(tt_builder_finish(c, &again, &bytes) == 0 &&
               tt_profile_open(&p, again, bytes, NULL) == 0 && tt_profile_check(&p) == 0))
        return;
    tt_builder_free(c);
    if (CHECK_INT(p.slows, 3)) {
        CHECK_STR(tt_block_name(&p, p.slow[0].block), "outer");
        CHECK_INT(p.slow[0].calls, 2);
        CHECK_INT(p.slow[0].self, 0);
        CHECK_STR(tt_block_name(&p, p.slow[1].block), "inner");
        CHECK_INT(p.slow[1].parent, 1);
        CHECK_INT(p.slow[1].calls, 0);
        CHECK_INT(p.slow[1].self, 10);
        CHECK_STR(tt_block_name(&p, p.slow[2].block), "y");
        CHECK_INT(p.slow[2].parent, 2);
        CHECK_INT(p.slow[2].calls, 3);
    }
    tt_profile_close(&p);
    tt_memory_put(NULL, again);
}

/* ── Facts, memory ────────────────────────────────────────────────────────────────── */

TEST(what_was_unresolved_before_is_said_anew)
{
    const struct tt_naming naming = {.chain = two_or_none};
    struct tt_builder *b = tt_builder_new(NULL), *c = tt_builder_new(NULL);
    struct tt_profile p;
    void *image, *again;
    size_t size, bytes;

    tt_builder_fact(b, "unresolved", TT_FACT_EACH, 3, "libm: there is no such file");
    tt_builder_fact(b, "host", TT_FACT_EACH, 1, "here");
    if (!CHECK(tt_builder_finish(b, &image, &size) == 0 &&
               tt_profile_open(&p, image, size, NULL) == 0))
        return;
    CHECK_INT(tt_builder_named(c, &p, &naming), 0);
    tt_profile_close(&p);
    if (!CHECK(tt_builder_finish(c, &again, &bytes) == 0 &&
               tt_profile_open(&p, again, bytes, NULL) == 0))
        return;
    CHECK(tt_fact_text(&p, "unresolved") == NULL);
    CHECK_STR(tt_fact_text(&p, "host"), "here");
    tt_profile_close(&p);
    tt_builder_free(b);
    tt_builder_free(c);
    tt_memory_put(NULL, image);
    tt_memory_put(NULL, again);
}

TEST(every_allocation_may_fail)
{
    struct model *m = model_random(17);
    struct names n = {0};
    const struct tt_naming naming = {.chain = chain_of, .arg = &n};
    struct tt_profile p;
    long enough = 0;

    make_names(&n, m);
    if (!CHECK(model_open(m, 0, &p)))
        return;
    for (long left = 0; !enough && left < 5000; left++) {
        struct tt_builder *b;
        void *image = NULL;
        size_t size = 0;
        failing_after = left;
        b = tt_builder_new(&failing);
        if (b && tt_builder_named(b, &p, &naming) == 0 &&
            tt_builder_finish(b, &image, &size) == 0)
            enough = left;
        tt_builder_free(b);
        tt_memory_put(&failing, image);
        CHECK_INT(failing_pieces, 0);
    }
    CHECK(enough > 30);
    model_close(&p);
    model_free(m);
}
