/* SPDX-License-Identifier: MIT */
/* filter-test.c - filters against brute force, in figures and in views; laws; edges. */
#include "filter-oracle.h"
#include "filter.h"
#include "metric-view.h"
#include "view.h"

enum { CASES = TAP_CASES(10000), STEPS = 80 };

static const char *const patterns[] = {"main", "parse", "gc",  "list",     "Eval", "a;b",
                                       "p*",   "/a/",   "/s/", "[pruned]", "none"};

static const struct {
    const char *text;
    unsigned strands;
} strand_patterns[] = {{"main", 1},        {"rank:1", 2}, {"rank:2", 4}, {"pool", 4},
                       {"host:h", 3},      {"h", 3},      {"pid:7", 3},  {"process:p", 7},
                       {"thread:[12]", 3}, {"name:p*", 4}};

static int apply(const struct tt_profile *p, const struct step *step, int steps,
                 struct tt_filtered *f)
{
    struct tt_query q;
    int error = 0;

    *f = (struct tt_filtered){.profile = p};
    tt_query_init(&q, NULL);
    for (int i = 0; !error && i < steps; i++)
        error = tt_query_set(&q, step_key(&step[i]), step[i].text);
    if (!error)
        error = tt_filter_apply(p, &q, f);
    if (error)
        fprintf(stderr, "# %s\n", q.error);
    tt_query_fini(&q);
    return error;
}

/* ── Figures ──────────────────────────────────────────────────────────────────────── */

/* The profile's metric for one of the model's; one without any figure may be gone. */
static uint32_t metric_in(const struct tt_profile *p, const struct model *m, int metric)
{
    for (uint32_t i = 0; i < p->metrics; i++)
        if (strcmp(p->metric[i].name, m->metric[metric].name) == 0 &&
            p->metric[i].flags == m->metric[metric].flags)
            return i;
    return TT_NONE;
}

/* Every context has the figures of its path, and together they have all there is. */
static void check_contexts(const struct model *m, const struct tt_profile *p, int metric)
{
    static const struct model_path none;
    const uint32_t id = metric_in(p, m, metric);
    const struct tt_metric_columns *k = &p->metric[id];
    uint64_t sum = 0;

    for (uint32_t c = 0; id != TT_NONE && c < p->contexts; c++) {
        const struct model_path *path = model_path_of(m, p, c);
        path = path ? path : &none;
        CHECK_INT(tt_self_of(k, c), model_sum(&path->self, metric));
        CHECK_INT(tt_elsewhere_of(k, c), model_sum(&path->elsewhere, metric));
        CHECK_INT(tt_self_of(k, c) - tt_self_low_of(k, c), model_sum(&path->own, metric));
        sum += tt_self_of(k, c) + tt_elsewhere_of(k, c);
    }
    for (int i = 0; i < m->paths; i++)
        sum -= model_cost(&m->path[i], metric);
    CHECK_INT(sum, 0);
    CHECK_INT(id == TT_NONE ? 0 : tt_grand_total(p, k), model_grand_total(m, metric));
}

static const struct model_arc *arc_of(const struct model *m, const struct tt_profile *p,
                                      const struct tt_arc_row *a)
{
    const struct model_path *from = model_path_of(m, p, a->from);
    const struct model_path *to = model_path_of(m, p, a->to);

    for (int i = 0; i < m->arcs; i++)
        if (&m->path[m->arc[i].from] == from && &m->path[m->arc[i].to] == to &&
            m->arc[i].block == model_block_of(m, p, a->block))
            return &m->arc[i];
    return NULL;
}

static void check_arcs(const struct model *m, const struct tt_profile *p)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < p->arcs; i++) {
        const struct model_arc *a = arc_of(m, p, &p->arc[i]);
        CHECK_INT(p->arc[i].calls, a ? model_arc_calls(a) : 0);
        sum += p->arc[i].calls;
    }
    for (int i = 0; i < m->arcs; i++)
        sum -= model_arc_calls(&m->arc[i]);
    CHECK_INT(sum, 0);
}

static int strand_of(const struct model *m, const struct tt_strand_row *s)
{
    for (int i = 0; i < m->strands; i++)
        if (m->strand[i].pid == s->pid && m->strand[i].thread == s->thread)
            return i;
    return -1;
}

/* Figures by strand, of contexts. */
static void check_entries(const struct model *m, const struct tt_profile *p, int metric)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < p->entries; i++) {
        const struct tt_entry *e = &p->entry[i];
        const struct model_path *path;
        if (e->row >= p->contexts || e->metric != metric_in(p, m, metric))
            continue;
        path = model_path_of(m, p, (uint32_t)e->row);
        if (CHECK(path != NULL))
            CHECK_INT(e->amount,
                      path->self.of[strand_of(m, &p->strand[e->strand])][metric]);
        sum += e->amount;
    }
    for (int i = 0; i < m->paths; i++)
        sum -= model_sum(&m->path[i].self, metric);
    CHECK(sum == 0 || !p->entries);
}

static void check_strands(const struct model *m, const struct tt_profile *p,
                          unsigned strands)
{
    unsigned seen = 0;

    for (uint32_t i = 0; i < p->strands; i++)
        seen |= 1u << strand_of(m, &p->strand[i]);
    CHECK_INT(seen, strands);
}

/* Activations of all strands together. */
static void check_times(const struct model *m, const struct tt_profile *p)
{
    uint64_t count = 0;

    for (size_t i = 0; i < p->many_times; i++) {
        const struct tt_times_row *t = &p->times[i];
        const struct model_path *path = NULL;
        const struct model_arc *arc = NULL;
        struct model_times sum[MODEL_STRANDS] = {0};
        if (t->strand != TT_NONE)
            continue;
        if (t->row < p->contexts)
            path = model_path_of(m, p, t->row);
        else
            arc = arc_of(m, p, &p->arc[t->row - p->contexts]);
        if (!CHECK(path || arc))
            continue;
        for (int s = 0; s < m->strands; s++) {
            struct model_times one[MODEL_STRANDS] = {path ? path->times[s]
                                                          : arc->times[s]};
            add_times(sum, one);
        }
        CHECK_INT(t->count, sum->count);
        CHECK_INT(t->sum, sum->sum);
        CHECK_INT(t->min, sum->min);
        CHECK_INT(t->max, sum->max);
        CHECK_INT(t->square.low, sum->square);
        CHECK_INT(t->children, sum->children);
        CHECK_INT(t->recursive, sum->recursive);
        count += t->count;
    }
    for (int s = 0; s < m->strands; s++) {
        for (int i = 0; i < m->paths; i++)
            count -= m->path[i].times[s].count;
        for (int i = 0; i < m->arcs; i++)
            count -= m->arc[i].times[s].count;
    }
    CHECK_INT(count, 0);
}

static void check_space(const struct model *m, const struct tt_profile *p)
{
    uint64_t bytes[MODEL_PATHS] = {0}, points = 0;

    for (int i = 0; i < m->spaces; i++)
        bytes[m->space[i].path] += m->space[i].bytes;
    for (size_t i = 0; i < p->spaces; i++) {
        const struct model_path *path = model_path_of(m, p, p->space[i].context);
        if (CHECK(path != NULL))
            bytes[path - m->path] -= p->space[i].bytes;
    }
    for (int i = 0; i < m->paths; i++)
        CHECK_INT(bytes[i], 0);
    for (int i = 0; i < m->points; i++)
        points += m->point[i].amount;
    for (size_t i = 0; i < p->points; i++)
        points -= p->point[i].amount;
    CHECK_INT(points, 0);
}

/* ── Views ────────────────────────────────────────────────────────────────────────── */

struct looking {
    const struct answer *a;
    const struct oracle *o;
    const struct tt_profile *p;
};

static int row_block(const struct looking *l, size_t i)
{
    return block_at(l->a, i, l->o->m, l->p);
}

static int has_calls(const struct looking *l)
{
    return tt_table_find(&l->a->t, "calls") != TT_NONE;
}

/* Rows have the true figures of their blocks; a block without a row has none. */
static void check_flat(const struct looking *l)
{
    unsigned seen = 0;

    for (size_t i = 0; i < tt_table_rows(&l->a->t); i++) {
        int b = row_block(l, i);
        if (role_of(l->a, i) != TT_ROW_ENTRY)
            continue;
        check_figures(l->a, i, l->o, block_self(l->o, b), block_inclusive(l->o, b));
        if (has_calls(l))
            CHECK_INT(amount(l->a, i, "calls"), block_calls(l->o, b));
        seen |= 1u << (b + 1);
    }
    for (int b = -1; b < l->o->m->blocks; b++)
        if (!(seen >> (b + 1) & 1))
            CHECK_INT(block_self(l->o, b) + (b < 0 ? 0 : block_inclusive(l->o, b)), 0);
}

static void check_graph(const struct looking *l)
{
    for (size_t i = 0; i < tt_table_rows(&l->a->t); i++) {
        int role = role_of(l->a, i), b = row_block(l, i), pair[2] = {b, b};
        uint32_t group = tt_table_row_at(&l->a->t, i)->group;
        if (role == TT_ROW_ENTRY)
            check_figures(l->a, i, l->o, block_self(l->o, b), block_inclusive(l->o, b));
        if (role != TT_ROW_CALLER && role != TT_ROW_CALLEE)
            continue;
        for (size_t j = 0; j < tt_table_rows(&l->a->t); j++)
            if (tt_table_row_at(&l->a->t, j)->group == group &&
                role_of(l->a, j) == TT_ROW_ENTRY)
                pair[role == TT_ROW_CALLER] = row_block(l, j);
        CHECK_INT(amount(l->a, i, "inclusive"), true_inclusive(l->o, pair, 2));
        if (has_calls(l))
            CHECK_INT(amount(l->a, i, "calls"), true_calls(l->o, pair, 2, 0));
        if (l->o->m->calls >= 0)
            CHECK_INT(amount(l->a, i, "by_arcs"), true_calls(l->o, pair, 2, 1));
    }
}

static void check_tree(const struct looking *l)
{
    static const struct model_path none;

    for (size_t i = 0; i < tt_table_rows(&l->a->t); i++) {
        const struct model_path *path;
        if (role_of(l->a, i) != TT_ROW_ENTRY)
            continue;
        path = model_path_of(l->o->m, l->p, (uint32_t)amount(l->a, i, "context"));
        path = path ? path : &none;
        CHECK_INT(amount(l->a, i, "self"), model_sum(&path->self, l->o->metric));
        CHECK_INT(amount(l->a, i, "inclusive"),
                  path == &none ? 0 : cost_below(l->o->m, path, l->o->metric));
    }
}

/* Self of a chain of callers: of what ends in it. */
static void check_callers(const struct looking *l)
{
    int reversed[MODEL_DEPTH + 3], chain[MODEL_DEPTH + 3];

    for (size_t i = 0; i < tt_table_rows(&l->a->t); i++) {
        int depth = (int)tt_table_row_at(&l->a->t, i)->depth;
        uint64_t self;
        if (role_of(l->a, i) != TT_ROW_ENTRY)
            continue;
        reversed[depth] = row_block(l, i);
        for (int j = 0; j <= depth; j++)
            chain[depth - j] = reversed[j];
        self = l->o->metric == l->o->m->calls ? true_calls(l->o, chain, depth + 1, 0)
                                              : true_self(l->o, chain, depth + 1);
        if (depth == 0)
            self += beside_of(l->o, *reversed, l->o->metric);
        CHECK_INT(amount(l->a, i, "self"), self);
    }
}

static void check_view(const struct model *m, const struct tt_profile *p, int metric,
                       unsigned which)
{
    static const struct {
        const char *name;
        void (*check)(const struct looking *);
    } views[] = {{"flat", check_flat},
                 {"graph", check_graph},
                 {"tree", check_tree},
                 {"callers", check_callers}};
    struct oracle o;
    struct answer a;

    oracle_init(&o, m, metric);
    if (ask(&a, p, "view=%s&metric=%s&limit=0&threshold=0", views[which % 4].name,
            m->metric[metric].name)) {
        views[which % 4].check(&(struct looking){&a, &o, p});
        if (which % 4 != 3) /* rows of callers are parts of those above them */
            CHECK_INT(sum_of(&a, "self"), o.total);
    }
    answered(&a);
}

/* ── Cases ────────────────────────────────────────────────────────────────────────── */

struct filter_case {
    uint64_t seed;
    struct model *m;
    struct tt_profile p;
    struct step step[STEPS];
    int steps;
    unsigned strands; /* that are left */
};

static void say_steps(const struct filter_case *c)
{
    fprintf(stderr, "# seed %llu:", (unsigned long long)c->seed);
    for (int i = 0; i < c->steps; i++)
        fprintf(stderr, " %s=%s", step_key(&c->step[i]), c->step[i].text);
    fprintf(stderr, "\n");
}

/* Shares are of what the filters before have left. */
static void random_size(struct model *m, struct step *s)
{
    const char *name;

    s->metric = model_below(m, m->metrics);
    name = m->metric[s->metric].name;
    s->least = 1 + (uint64_t)model_below(m, 60);
    if (model_chance(m, 50)) {
        int percent = 1 + model_below(m, 99);
        uint64_t total = model_grand_total(m, s->metric);
        (void)snprintf(s->text, sizeof s->text, "%s<%d%%", name, percent);
        s->least = total / 100 * (uint64_t)percent +
                   (total % 100 * (uint64_t)percent + 99) / 100;
    } else {
        (void)snprintf(s->text, sizeof s->text, "%s<%llu", name,
                       (unsigned long long)s->least);
    }
}

static void random_step(struct filter_case *c, struct step *s)
{
    const size_t pick = (size_t)model_below(c->m, 1000);

    *s = (struct step){.kind = (enum tt_filter_kind)model_below(c->m, TT_FILTER_TIME),
                       .metric = -1};
    if (s->kind == TT_FILTER_STRAND) {
        size_t i = pick % (sizeof strand_patterns / sizeof *strand_patterns);
        s->strands = strand_patterns[i].strands & c->strands;
        (void)snprintf(s->text, sizeof s->text, "%s", strand_patterns[i].text);
        if (!s->strands)
            s->kind = TT_FILTER_FOLD;
        else
            c->strands = s->strands;
    }
    if (s->kind != TT_FILTER_STRAND)
        (void)snprintf(s->text, sizeof s->text, "%s",
                       patterns[pick % (sizeof patterns / sizeof *patterns)]);
    if (s->kind == TT_FILTER_PRUNE && model_chance(c->m, 50))
        random_size(c->m, s);
}

/* Centres in a row are applied together, to what there was before the first of them. */
static void apply_to_model(struct filter_case *c, struct step *s)
{
    static struct model first;
    const uint64_t state = c->m->state;

    if (s->kind == TT_FILTER_CENTRE && c->steps && s[-1].kind == TT_FILTER_CENTRE) {
        s->before = s - 1;
        *c->m = first;
        c->m->state = state;
    }
    first = *c->m;
    step_model(c->m, s);
}

static void check_case(struct filter_case *c)
{
    const struct tt_profile *p;
    struct tt_filtered f;
    int metric = c->m->metrics - 1 - (int)(c->seed % (uint64_t)c->m->metrics);

    if (!CHECK_INT(apply(&c->p, c->step, c->steps, &f), 0))
        return;
    p = f.profile;
    for (int k = 0; k < c->m->metrics; k++) {
        check_contexts(c->m, p, k);
        check_entries(c->m, p, k);
    }
    check_arcs(c->m, p);
    check_strands(c->m, p, c->strands);
    check_times(c->m, p);
    check_space(c->m, p);
    if (metric_in(p, c->m, metric) != TT_NONE)
        check_view(c->m, p, metric, (unsigned)(c->seed / 3));
    tt_filter_close(&f, NULL);
}

/* A share of more than 2^40 is not exact enough for a figure at its edge. */
static int is_exact(const struct model *m)
{
    for (int k = 0; k < m->metrics; k++)
        if (model_grand_total(m, k) >> 40)
            return 0;
    return 1;
}

/* Up to so many filters; 0: there is no such case. */
static int run_case(uint64_t seed, int most)
{
    static struct filter_case c;

    c = (struct filter_case){.seed = seed, .m = model_random(seed)};
    c.strands = (1u << c.m->strands) - 1;
    if (!is_exact(c.m)) {
        model_free(c.m);
        return 0;
    }
    if (!CHECK(model_open(c.m, 0, &c.p)))
        return 0;
    for (int wanted = model_below(c.m, most + 1); c.steps < wanted; c.steps++) {
        random_step(&c, &c.step[c.steps]);
        apply_to_model(&c, &c.step[c.steps]);
    }
    check_case(&c);
    if (tap.failed)
        say_steps(&c);
    model_close(&c.p);
    model_free(c.m);
    return 1;
}

TEST(ten_thousand_random_filters_agree_with_brute_force)
{
    int done = 0;

    for (uint64_t seed = 1; done < CASES && !tap.failed; seed++)
        done += run_case(seed, 4);
}

TEST(many_filters_take_several_walks_and_do_the_same)
{
    for (uint64_t seed = 500000; seed < 500000 + TAP_CASES(300) && !tap.failed; seed++)
        (void)run_case(seed, STEPS);
}

/* ── Laws ─────────────────────────────────────────────────────────────────────────── */

static struct step by_name(enum tt_filter_kind kind, const char *pattern)
{
    struct step s = {.kind = kind, .metric = -1};

    (void)snprintf(s.text, sizeof s.text, "%s", pattern);
    return s;
}

static uint64_t total_after(const struct tt_profile *p, enum tt_filter_kind kind,
                            const char *pattern, const struct model *m, int metric)
{
    struct step s = by_name(kind, pattern);
    struct tt_filtered f;
    uint64_t total = 0;
    uint32_t id;

    if (!CHECK_INT(apply(p, &s, 1, &f), 0))
        return 0;
    id = metric_in(f.profile, m, metric);
    if (id != TT_NONE)
        total = tt_grand_total(f.profile, &f.profile->metric[id]);
    tt_filter_close(&f, NULL);
    return total;
}

TEST(select_and_exclude_part_the_total_and_fold_and_prune_keep_it)
{
    for (uint64_t seed = 1; seed <= TAP_CASES(500); seed++) {
        struct model *m = model_random(seed);
        const char *pattern = patterns[seed % (sizeof patterns / sizeof *patterns)];
        struct tt_profile p;
        if (!CHECK(model_open(m, 0, &p)))
            return;
        for (int k = 0; k < m->metrics; k++) {
            uint64_t all = model_grand_total(m, k);
            CHECK_INT(total_after(&p, TT_FILTER_SELECT, pattern, m, k) +
                          total_after(&p, TT_FILTER_EXCLUDE, pattern, m, k),
                      all);
            CHECK_INT(total_after(&p, TT_FILTER_PRUNE, pattern, m, k), all);
            CHECK_INT(total_after(&p, TT_FILTER_PRUNE, "10%", m, k), all);
            if (k != m->calls)
                CHECK_INT(total_after(&p, TT_FILTER_FOLD, pattern, m, k), all);
        }
        model_close(&p);
        model_free(m);
    }
}

/* Folds every block that is neither of these. */
static int others_folded(const struct model *m, const char *a, const char *b,
                         struct step *out)
{
    int count = 0;

    for (int i = 0; i < m->blocks; i++)
        if (!is_like(m, i, a) && !is_like(m, i, b))
            out[count++] = by_name(TT_FILTER_FOLD, m->block[i].info.name);
    return count;
}

TEST(costs_go_to_centres_as_if_all_others_were_folded)
{
    const int count = (int)(sizeof patterns / sizeof *patterns);
    int some = 0;

    for (uint64_t seed = 1; seed <= TAP_CASES(500); seed++) {
        struct model *m = model_random(seed);
        const char *a = patterns[seed % (uint64_t)count],
                   *b = patterns[seed / 3 % (uint64_t)count];
        const struct step centres[2] = {by_name(TT_FILTER_CENTRE, a),
                                        by_name(TT_FILTER_CENTRE, b)};
        struct step folds[MODEL_BLOCKS];
        struct tt_filtered by_centre, by_fold;
        struct tt_profile p;
        if (!CHECK(model_open(m, 0, &p)))
            return;
        if (!CHECK_INT(apply(&p, centres, 2, &by_centre), 0) ||
            !CHECK_INT(apply(&p, folds, others_folded(m, a, b, folds), &by_fold), 0))
            return;
        some += by_fold.image && by_centre.profile->contexts > 1;
        CHECK_INT(by_centre.profile->contexts, by_fold.profile->contexts);
        if (by_fold.image) /* something was folded */
            CHECK(by_centre.size == by_fold.size &&
                  memcmp(by_centre.image, by_fold.image, by_fold.size) == 0);
        tt_filter_close(&by_centre, NULL);
        tt_filter_close(&by_fold, NULL);
        model_close(&p);
        model_free(m);
    }
    CHECK(some > TAP_CASES(150));
}

/* Whatever is not pruned has the total that it had, and all that is large enough is there. */
static void check_pruned(const struct model *m, const struct tt_profile *p, int metric,
                         uint64_t least)
{
    const uint32_t id = metric_in(p, m, metric);
    const struct tt_metric_choice choice = {id, TT_NONE, TT_NONE, &p->metric[id], 0};
    unsigned char found[MODEL_PATHS] = {0};
    struct tt_metric_view lens;

    if (id == TT_NONE || !CHECK_INT(tt_metric_view_of_choice(&lens, p, &choice, NULL), 0))
        return;
    for (uint32_t c = 1; c < p->contexts; c++) {
        const struct model_path *path = model_path_of(m, p, c);
        if (strcmp(tt_block_name(p, tt_block_of(p, c)), "[pruned]") == 0 ||
            !CHECK(path != NULL))
            continue;
        CHECK_INT(tt_metric_view_total(&lens, c), cost_below(m, path, metric));
        found[path - m->path] = 1;
    }
    for (int i = 1; i < m->paths; i++)
        CHECK_INT(found[i], cost_below(m, &m->path[i], metric) >= least);
    tt_metric_view_fini(&lens);
}

TEST(what_stays_above_a_pruned_part_keeps_its_total)
{
    for (uint64_t seed = 1; seed <= TAP_CASES(500); seed++) {
        struct model *m = model_random(seed);
        const uint64_t least = 1 + seed % 90;
        struct step s = {.kind = TT_FILTER_PRUNE, .metric = 0};
        struct tt_filtered f;
        struct tt_profile p;
        (void)snprintf(s.text, sizeof s.text, "%s<%d", m->metric[0].name, (int)least);
        if (!CHECK(model_open(m, 0, &p)) || !CHECK_INT(apply(&p, &s, 1, &f), 0))
            return;
        check_pruned(m, f.profile, 0, least);
        tt_filter_close(&f, NULL);
        model_close(&p);
        model_free(m);
    }
}

TEST(what_was_hidden_and_cannot_be_seen_is_said)
{
    for (uint64_t seed = 1; seed <= TAP_CASES(200); seed++) {
        struct model *m = model_random(seed);
        const struct step s[2] = {by_name(TT_FILTER_FOLD, m->block[0].info.name),
                                  by_name(TT_FILTER_SELECT, "/./")};
        struct tt_filtered f;
        struct tt_profile p;
        uint64_t hidden = 0, said = 0;
        if (!CHECK(model_open(m, 0, &p)) || !CHECK_INT(apply(&p, s, 1 + seed % 2, &f), 0))
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
