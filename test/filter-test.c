/* SPDX-License-Identifier: MIT */
/* filter-test.c - filters against brute force: paths as lists of blocks, changed by hand.
 *
 * The oracle has a row for every path with its figures.  A filter of it goes over the rows
 * and gives each another path, or none; rows that have come to the same path are summed. */
#include "query.h"
#include "random-profile.h"
#include "tap.h"
#include "view.h"

enum { CASES = 10000, PRUNED = MODEL_BLOCKS, ROWS = MODEL_PATHS + 8 };

/* ── The oracle ───────────────────────────────────────────────────────────────────── */

struct row {
    int depth, block[MODEL_DEPTH + 1];
    uint64_t self[MODEL_STRANDS][MODEL_METRICS], elsewhere[MODEL_STRANDS][MODEL_METRICS];
};

struct oracle {
    const struct model *m;
    struct row row[ROWS];
    int rows, of_one_strand;
};

static const char *block_name(const struct oracle *o, int block)
{
    return block == PRUNED ? "[pruned]" : o->m->block[block].info.name;
}

/* A name; "x*": what begins so; "/x/": what contains it. */
static int is_like(const struct oracle *o, int block, const char *pattern)
{
    const char *name = block_name(o, block);
    size_t length = strlen(pattern);
    char inner[32] = "";

    if (pattern[0] == '/') {
        memcpy(inner, pattern + 1, length - 2);
        return strstr(name, inner) != NULL;
    }
    if (pattern[length - 1] == '*')
        return strncmp(name, pattern, length - 1) == 0;
    return strcmp(name, pattern) == 0;
}

static int first_like(const struct oracle *o, const struct row *r, const char *pattern)
{
    for (int i = 0; i < r->depth; i++)
        if (is_like(o, r->block[i], pattern))
            return i;
    return -1;
}

static void add_row(struct oracle *o, const struct row *r)
{
    struct row *to = NULL;

    for (int i = 0; i < o->rows; i++)
        if (o->row[i].depth == r->depth &&
            memcmp(o->row[i].block, r->block, (size_t)r->depth * sizeof *r->block) == 0)
            to = &o->row[i];
    if (!to) {
        o->row[o->rows++] = *r;
        return;
    }
    for (int s = 0; s < MODEL_STRANDS; s++)
        for (int k = 0; k < MODEL_METRICS; k++) {
            to->self[s][k] += r->self[s][k];
            to->elsewhere[s][k] += r->elsewhere[s][k];
        }
}

static void oracle_init(struct oracle *o, const struct model *m)
{
    *o = (struct oracle){.m = m};
    for (int i = 0; i < m->paths; i++) {
        struct row r = {.depth = m->path[i].depth};
        memcpy(r.block, m->path[i].block, sizeof m->path[i].block);
        memcpy(r.self, m->path[i].self.of, sizeof r.self);
        memcpy(r.elsewhere, m->path[i].elsewhere.of, sizeof r.elsewhere);
        add_row(o, &r);
    }
}

static uint64_t row_sum(const struct row *r, int metric)
{
    uint64_t sum = 0;

    for (int s = 0; s < MODEL_STRANDS; s++)
        sum += r->self[s][metric] + r->elsewhere[s][metric];
    return sum;
}

static uint64_t row_self(const struct row *r, int metric)
{
    uint64_t sum = 0;

    for (int s = 0; s < MODEL_STRANDS; s++)
        sum += r->self[s][metric];
    return sum;
}

static int begins_with(const struct row *r, const struct row *prefix, int depth)
{
    return r->depth >= depth &&
           memcmp(r->block, prefix->block, (size_t)depth * sizeof *r->block) == 0;
}

/* What the first `depth` blocks of a path have, with all below. */
static uint64_t total_of(const struct oracle *o, const struct row *r, int depth,
                         int metric)
{
    uint64_t sum = 0;

    for (int i = 0; i < o->rows; i++)
        if (begins_with(&o->row[i], r, depth))
            sum += row_sum(&o->row[i], metric);
    return sum;
}

static uint64_t grand_total(const struct oracle *o, int metric)
{
    struct row root = {0};

    return total_of(o, &root, 0, metric);
}

static void fold(const struct oracle *o, struct row *r, const char *pattern)
{
    int kept = 0;

    if (r->depth && is_like(o, r->block[r->depth - 1], pattern) && o->m->calls >= 0)
        for (int s = 0; s < MODEL_STRANDS; s++)
            r->self[s][o->m->calls] = r->elsewhere[s][o->m->calls] = 0;
    for (int i = 0; i < r->depth; i++)
        if (!is_like(o, r->block[i], pattern))
            r->block[kept++] = r->block[i];
    r->depth = kept;
}

static void prune_from(struct row *r, int at)
{
    r->block[at] = PRUNED;
    r->depth = at + 1;
}

static void prune_small(const struct oracle *o, struct row *r, int metric, uint64_t least)
{
    for (int i = 1; i <= r->depth; i++)
        if (total_of(o, r, i, metric) < least) {
            prune_from(r, i - 1);
            return;
        }
}

/* A strand's figures are the model's; the other ones' are taken away. */
static void keep_strand(struct row *r, int strand)
{
    for (int s = 0; s < MODEL_STRANDS; s++)
        if (s != strand) {
            memset(r->self[s], 0, sizeof r->self[s]);
            memset(r->elsewhere[s], 0, sizeof r->elsewhere[s]);
        }
}

struct step {
    enum tt_filter_kind kind;
    char text[64];      /* the query's value */
    int strand, metric; /* metric: of a prune by size; -1: by name */
    uint64_t least;
};

static void oracle_apply(struct oracle *o, const struct step *s)
{
    const struct oracle before = *o;

    o->rows = 0;
    o->of_one_strand |= s->kind == TT_FILTER_STRAND;
    for (int i = 0; i < before.rows; i++) {
        struct row r = before.row[i];
        int at = first_like(&before, &r, s->text);
        switch (s->kind) {
        case TT_FILTER_SELECT:
            if (at < 0)
                continue;
            break;
        case TT_FILTER_EXCLUDE:
            if (at >= 0)
                continue;
            break;
        case TT_FILTER_FOLD:
            fold(&before, &r, s->text);
            break;
        case TT_FILTER_PRUNE:
            if (s->metric >= 0)
                prune_small(&before, &r, s->metric, s->least);
            else if (at >= 0)
                prune_from(&r, at);
            break;
        case TT_FILTER_ROOT:
            if (at < 0)
                continue;
            memmove(r.block, r.block + at, (size_t)(r.depth - at) * sizeof *r.block);
            r.depth -= at;
            break;
        case TT_FILTER_STRAND:
            keep_strand(&r, s->strand);
            break;
        case TT_FILTERS:
            break;
        }
        add_row(o, &r);
    }
}

/* ── What was filtered ────────────────────────────────────────────────────────────── */

static int block_in_oracle(const struct oracle *o, const struct tt_profile *p, uint32_t b)
{
    int block = model_block_of(o->m, p, b);

    return block < 0 && strcmp(tt_block_name(p, b), "[pruned]") == 0 ? PRUNED : block;
}

static const struct row *row_at(const struct oracle *o, const struct tt_profile *p,
                                const struct tt_walk *w)
{
    for (int i = 0; i < o->rows; i++) {
        const struct row *r = &o->row[i];
        int same = r->depth == (int)w->depth;
        for (int j = 0; same && j < r->depth; j++)
            same = r->block[j] == block_in_oracle(o, p, tt_block_of(p, w->path[j + 1]));
        if (same)
            return r;
    }
    return NULL;
}

/* The profile's metric for one of the model's; those without any figure may be gone. */
static const struct tt_metric_columns *metric_of(const struct tt_profile *p,
                                                 const struct model *m, int metric)
{
    for (uint32_t i = 0; i < p->metrics; i++)
        if (strcmp(p->metric[i].name, m->metric[metric].name) == 0 &&
            p->metric[i].flags == m->metric[metric].flags)
            return &p->metric[i];
    return NULL;
}

/* Every context has its row's figures, and every row with figures its context. */
static void check_contexts(const struct oracle *o, const struct tt_profile *p)
{
    uint64_t seen[MODEL_METRICS] = {0};
    struct tt_walk w;

    if (!CHECK_INT(tt_walk_init(&w, p, 0), 0))
        return;
    while (tt_walk_next(&w)) {
        const struct row *r = row_at(o, p, &w);
        for (int k = 0; k < o->m->metrics; k++) {
            const struct tt_metric_columns *m = metric_of(p, o->m, k);
            if (!m)
                continue;
            CHECK_INT(tt_self_of(m, w.context), r ? row_self(r, k) : 0);
            CHECK_INT(tt_self_of(m, w.context) + tt_elsewhere_of(m, w.context),
                      r ? row_sum(r, k) : 0);
            seen[k] += tt_self_of(m, w.context) + tt_elsewhere_of(m, w.context);
        }
    }
    tt_walk_fini(&w);
    for (int k = 0; k < o->m->metrics; k++)
        CHECK_INT(seen[k], grand_total(o, k));
}

static uint64_t block_self(const struct oracle *o, int block, int metric)
{
    uint64_t sum = 0;

    for (int i = 0; i < o->rows; i++) {
        const struct row *r = &o->row[i];
        if (r->depth && r->block[r->depth - 1] == block)
            sum += row_self(r, metric);
    }
    return sum;
}

static uint64_t block_inclusive(const struct oracle *o, int block, int metric)
{
    uint64_t sum = 0;

    for (int i = 0; i < o->rows; i++) {
        int there = 0;
        for (int j = 0; j < o->row[i].depth; j++)
            there |= o->row[i].block[j] == block;
        sum += there ? row_sum(&o->row[i], metric) : 0;
    }
    return sum;
}

/* The flat view of what was filtered, in a metric that is not of calls: those have
 * dropped pushes beside their contexts.  Not of a strand alone: figures of blocks that
 * stand beside the tree stay where paths do. */
static void check_flat(const struct oracle *o, const struct tt_profile *p, int metric,
                       const char *name)
{
    struct tt_query q;
    struct tt_table t;

    tt_query_init(&q, NULL);
    CHECK_INT(tt_query_set(&q, "metric", name), 0);
    CHECK_INT(tt_query_set(&q, "limit", "all"), 0);
    if (CHECK_INT(tt_view(p, &q, &t), 0)) {
        uint32_t self = tt_table_find(&t, "self"), all = tt_table_find(&t, "inclusive");
        uint32_t block = tt_table_find(&t, "block");
        for (size_t i = 0; i < tt_table_rows(&t); i++) {
            const union tt_value *b = tt_table_value(&t, i, block);
            int which = b ? block_in_oracle(o, p, (uint32_t)b->n) : -1;
            if (!b || which < 0 || tt_table_row_at(&t, i)->role != TT_ROW_ENTRY)
                continue;
            CHECK_INT(tt_table_value(&t, i, self)->n, block_self(o, which, metric));
            CHECK_INT(tt_table_value(&t, i, all)->n, block_inclusive(o, which, metric));
        }
    }
    tt_table_fini(&t);
    tt_query_fini(&q);
}

/* ── Cases ────────────────────────────────────────────────────────────────────────── */

static const char *const words[TT_FILTERS] = {
    [TT_FILTER_SELECT] = "select", [TT_FILTER_EXCLUDE] = "exclude",
    [TT_FILTER_FOLD] = "fold",     [TT_FILTER_PRUNE] = "prune",
    [TT_FILTER_ROOT] = "root",     [TT_FILTER_STRAND] = "strand",
};

static const char *const patterns[] = {"main", "parse", "gc",  "list", "eval",
                                       "p*",   "/a/",   "/s/", "none"};

/* The strand filter only comes where figures are kept by strand. */
static void random_step(struct model *m, const struct oracle *o,
                        const struct tt_profile *p, struct step *s)
{
    *s = (struct step){.kind = (enum tt_filter_kind)model_below(m, TT_FILTERS),
                       .metric = -1};
    if (s->kind == TT_FILTER_STRAND && p->entries && !o->of_one_strand) {
        s->strand = model_below(m, m->strands);
        (void)snprintf(s->text, sizeof s->text, "%s",
                       s->strand == 0   ? "main"
                       : s->strand == 1 ? "rank:1"
                                        : "pool");
        return;
    }
    if (s->kind == TT_FILTER_STRAND)
        s->kind = TT_FILTER_FOLD;
    (void)snprintf(s->text, sizeof s->text, "%s",
                   patterns[model_below(m, sizeof patterns / sizeof *patterns)]);
    if (s->kind == TT_FILTER_PRUNE && model_chance(m, 50)) {
        s->metric = model_below(m, m->metrics);
        s->least = 1 + (uint64_t)model_below(m, 60);
        if (model_chance(m, 30)) {
            double share = (1 + model_below(m, 99)) / 100.0;
            (void)snprintf(s->text, sizeof s->text, "%s<%.0f%%",
                           m->metric[s->metric].name, share * 100);
            s->least = (uint64_t)(share * (double)grand_total(o, s->metric) + 0.999999);
        } else {
            (void)snprintf(s->text, sizeof s->text, "%s<%llu", m->metric[s->metric].name,
                           (unsigned long long)s->least);
        }
    }
}

/* Pushes that were dropped count in a prune by a share of all calls; they have no row. */
static int has_drops(const struct model *m)
{
    for (int i = 0; i < m->arcs; i++)
        if (model_is_dropped(m, &m->arc[i]))
            return 1;
    return 0;
}

static int apply(const struct tt_profile *p, const struct step *s, int steps,
                 struct tt_filtered *f)
{
    struct tt_query q;
    int error = 0;

    tt_query_init(&q, NULL);
    for (int i = 0; i < steps; i++)
        error |= tt_query_set(&q, words[s[i].kind], s[i].text);
    CHECK_INT(error, 0);
    error = tt_filter_apply(p, &q, f);
    if (error && error != -TT_ERR_OPTION)
        fprintf(stderr, "# %s\n", q.error);
    tt_query_fini(&q);
    return error;
}

static void check_case(uint64_t seed)
{
    enum { STEPS = 4 };
    struct model *m = model_random(seed);
    struct step step[STEPS];
    struct tt_profile p;
    struct tt_filtered f;
    struct oracle o;
    int steps = 0, failed = tap.failed;

    if (!CHECK(model_open(m, 0, &p)))
        return;
    oracle_init(&o, m);
    for (int wanted = model_below(m, STEPS + 1); steps < wanted; steps++) {
        random_step(m, &o, &p, &step[steps]);
        if (step[steps].metric >= 0 && step[steps].metric == m->calls && has_drops(m))
            break;
        oracle_apply(&o, &step[steps]);
    }
    if (CHECK_INT(apply(&p, step, steps, &f), 0)) {
        int metric = m->metrics - 1;
        check_contexts(&o, f.profile);
        if (steps > o.of_one_strand && metric != m->calls)
            check_flat(&o, f.profile, metric, m->metric[metric].name);
        tt_filter_close(&f, NULL);
    }
    if (tap.failed != failed) {
        fprintf(stderr, "# seed %llu:", (unsigned long long)seed);
        for (int i = 0; i < steps; i++)
            fprintf(stderr, " %s=%s", words[step[i].kind], step[i].text);
        fprintf(stderr, "\n");
    }
    model_close(&p);
    model_free(m);
}

TEST(ten_thousand_random_filters_agree_with_brute_force)
{
    for (uint64_t seed = 1; seed <= CASES && tap.failed < 20; seed++)
        check_case(seed);
}

/* ── Laws ─────────────────────────────────────────────────────────────────────────── */

static uint64_t total_after(const struct tt_profile *p, enum tt_filter_kind kind,
                            const char *pattern, const char *metric)
{
    struct step s = {.kind = kind, .metric = -1};
    struct tt_filtered f;
    uint64_t total = 0;
    uint32_t m;

    (void)snprintf(s.text, sizeof s.text, "%s", pattern);
    if (!CHECK_INT(apply(p, &s, 1, &f), 0))
        return 0;
    m = tt_metric_find(f.profile, metric);
    if (m != TT_NONE)
        total = tt_grand_total(f.profile, &f.profile->metric[m]);
    tt_filter_close(&f, NULL);
    return total;
}

TEST(select_and_exclude_part_the_total_and_fold_and_prune_keep_it)
{
    for (uint64_t seed = 1; seed <= 500; seed++) {
        struct model *m = model_random(seed);
        const char *metric = m->metric[m->metrics - 1].name;
        struct tt_profile p;
        uint64_t all;
        if (!CHECK(model_open(m, 0, &p)))
            return;
        all = tt_grand_total(&p, &p.metric[tt_metric_find(&p, metric)]);
        for (size_t i = 0;
             m->metrics - 1 != m->calls && i < sizeof patterns / sizeof *patterns; i++) {
            CHECK_INT(total_after(&p, TT_FILTER_SELECT, patterns[i], metric) +
                          total_after(&p, TT_FILTER_EXCLUDE, patterns[i], metric),
                      all);
            CHECK_INT(total_after(&p, TT_FILTER_FOLD, patterns[i], metric), all);
            CHECK_INT(total_after(&p, TT_FILTER_PRUNE, patterns[i], metric), all);
        }
        model_close(&p);
        model_free(m);
    }
}

TEST(what_was_hidden_and_cannot_be_seen_is_said)
{
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct model *m = model_random(seed);
        struct step s = {.kind = TT_FILTER_EXCLUDE, .text = "none", .metric = -1};
        struct tt_filtered f;
        struct tt_profile p;
        uint64_t hidden = 0, said = 0;
        if (!CHECK(model_open(m, 0, &p)) || !CHECK_INT(apply(&p, &s, 1, &f), 0))
            return;
        for (int i = 0; i < m->blocks; i++)
            for (int k = 0; k < m->metrics; k++)
                hidden += model_sum(&m->block[i].hidden, k);
        for (uint32_t i = 0; i < f.profile->facts; i++)
            if (strcmp(tt_profile_string(f.profile, f.profile->fact[i].name),
                       "hidden.unseen") == 0)
                said += f.profile->fact[i].number;
        CHECK_INT(said, hidden);
        tt_filter_close(&f, NULL);
        model_close(&p);
        model_free(m);
    }
}

/* ── Edges ────────────────────────────────────────────────────────────────────────── */

TEST(a_filter_that_cannot_be_has_a_reason)
{
    struct model *m = model_random(3);
    struct tt_filtered f;
    struct tt_profile p;
    struct tt_query q;

    if (!CHECK(model_open(m, 0, &p)))
        return;
    for (int i = 0; i < 2; i++) {
        tt_query_init(&q, NULL);
        if (tt_query_set(&q, i ? "strand" : "select", i ? "nobody" : "/(/") == 0)
            CHECK_INT(tt_filter_apply(&p, &q, &f), -TT_ERR_OPTION);
        CHECK(q.error[0] != '\0');
        tt_query_fini(&q);
    }
    model_close(&p);
    model_free(m);
}

TEST(a_chain_of_a_million_is_filtered_like_any_other)
{
    enum { DEEP = 1000000 };
    struct tt_builder *b = tt_builder_new(NULL);
    uint32_t block[2] = {tt_builder_block(b, &(struct tt_block_info){.name = "f"}),
                         tt_builder_block(b, &(struct tt_block_info){.name = "g"})};
    uint32_t metric = tt_builder_metric(b, "time", "ns", TT_METRIC_TIME), at = 0;
    struct tt_profile p;
    void *image;
    size_t size;

    for (int i = 0; i < DEEP; i++) {
        at = tt_builder_context(b, at, block[i % 2]);
        tt_builder_add(b, TT_ROLE_SELF, at, metric, 1);
    }
    CHECK_INT(tt_builder_finish(b, &image, &size), 0);
    tt_builder_free(b);
    if (!CHECK_INT(tt_profile_open(&p, image, size, NULL), 0))
        return;
    CHECK_INT(total_after(&p, TT_FILTER_SELECT, "g", "time"), DEEP - 1);
    CHECK_INT(total_after(&p, TT_FILTER_FOLD, "g", "time"), DEEP);
    CHECK_INT(total_after(&p, TT_FILTER_ROOT, "g", "time"), DEEP - 1);
    CHECK_INT(total_after(&p, TT_FILTER_PRUNE, "time<50%", "time"), DEEP);
    CHECK_INT(total_after(&p, TT_FILTER_EXCLUDE, "g", "time"), 1);
    model_close(&p);
}

static long left;

static void *get(void *arg, size_t size)
{
    (void)arg;
    return left-- > 0 ? calloc(1, size) : NULL;
}

static void put(void *arg, void *piece, size_t size)
{
    (void)arg;
    (void)size;
    free(piece);
}

TEST(every_allocation_of_a_filter_may_fail)
{
    static const struct tt_memory memory = {get, put, NULL};
    struct model *m = model_random(11);
    struct tt_profile p;
    int done = 0;

    if (!CHECK(model_open(m, 0, &p)))
        return;
    for (long n = 0; !done; n++) {
        struct tt_filtered f;
        struct tt_query q;
        int error;
        left = 1000000;
        tt_query_init(&q, &memory);
        error = tt_query_set(&q, "fold", "p*") | tt_query_set(&q, "prune", "/a/");
        left = n;
        if (!error)
            error = tt_filter_apply(&p, &q, &f);
        CHECK(!error || error == -TT_ERR_MEMORY);
        done = !error;
        if (done)
            tt_filter_close(&f, &memory);
        left = 1000000;
        tt_query_fini(&q);
    }
    model_close(&p);
    model_free(m);
}
