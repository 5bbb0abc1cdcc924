/* SPDX-License-Identifier: MIT */
/* view-test.c - views of blocks, and of calls between them, against the oracle. */
#include "view-oracle.h"
#include "view.h"

enum { CASES = TAP_CASES(1500) };

/* ── Flat ─────────────────────────────────────────────────────────────────────────── */

static void check_low(const struct answer *a, size_t i, const struct oracle *o, int block)
{
    if (tt_table_find(&a->t, "self_low") == TT_NONE) {
        CHECK_INT(true_own(o, &block, 1, 1), 0);
        return;
    }
    CHECK_INT(amount(a, i, "self_low"), block_self_low(o, block));
    CHECK_INT(amount(a, i, "inclusive_low"), block_inclusive_low(o, block));
}

/* Activations of a block by whatever edge. */
static void check_times(const struct answer *a, size_t i, const struct model *m,
                        int block)
{
    uint64_t count = 0, sum = 0, least = UINT64_MAX, most = 0;
    double square = 0, mean;

    if (tt_table_find(&a->t, "average") == TT_NONE)
        return;
    for (int j = 0; j < m->paths + m->arcs; j++)
        for (int s = 0; s < m->strands; s++) {
            const struct model_times *t = j < m->paths ? &m->path[j].times[s]
                                                       : &m->arc[j - m->paths].times[s];
            int callee = j < m->paths ? model_block_at(&m->path[j])
                                      : m->arc[j - m->paths].block;
            if (callee != block || !t->count)
                continue;
            count += t->count;
            sum += t->sum;
            square += (double)t->square;
            least = t->min < least ? t->min : least;
            most = t->max > most ? t->max : most;
        }
    CHECK_INT(has(a, i, "average"), count != 0);
    if (!count)
        return;
    mean = (double)sum / (double)count;
    CHECK(is_near(real_at(a, i, "average"), mean));
    CHECK_INT(amount(a, i, "min"), least);
    CHECK_INT(amount(a, i, "max"), most);
    mean = square / (double)count - mean * mean;
    CHECK(is_near(real_at(a, i, "deviation") * real_at(a, i, "deviation") + 1, mean + 1));
}

/* If filters have removed the information which block was evicted, a row has the
 * total. */
static uint64_t unknown_elsewhere(const struct oracle *o)
{
    uint64_t evicted = 0, beside = 0;

    for (int i = 0; i < o->items; i++)
        evicted += o->item[i].elsewhere;
    for (int b = 0; b < o->m->blocks; b++)
        beside += beside_of(o, b, o->metric);
    return evicted - beside;
}

static void check_flat(const struct answer *a, const struct random_case *r)
{
    uint64_t seen = 0, calls = 0;

    for (size_t i = 0; i < tt_table_rows(&a->t); i++) {
        int b = block_at(a, i, r->m, &r->p);
        calls += role_of(a, i) == TT_ROW_ENTRY ? amount(a, i, "calls") : 0;
        if (role_of(a, i) == TT_ROW_ENTRY) {
            check_figures(a, i, &r->o, block_self(&r->o, b), block_inclusive(&r->o, b));
            check_low(a, i, &r->o, b);
            check_times(a, i, r->m, b);
            if (r->metric != r->m->calls && r->m->calls >= 0)
                CHECK_INT(amount(a, i, "calls"), block_calls(&r->o, b));
            CHECK_INT(seen >> (b + 1) & 1, 0);
            seen |= 1ull << (b + 1);
        } else if (role_of(a, i) == TT_ROW_REMAINDER) {
            CHECK_STR(text_at(a, i, "name"), "[elsewhere below]");
            CHECK_INT(amount(a, i, "self"), unknown_elsewhere(&r->o));
        } else {
            CHECK_INT(amount(a, i, "self"), r->o.total);
        }
    }
    for (int b = -1; b < r->m->blocks; b++)
        if (!(seen >> (b + 1) & 1))
            CHECK_INT(block_self(&r->o, b) + block_calls(&r->o, b), 0);
    CHECK_INT(sum_of(a, "self"), r->o.total);
    for (int i = 0; i < r->m->paths && r->m->calls >= 0; i++)
        calls += model_sum(&r->m->path[i].elsewhere, r->m->calls);
    for (int b = 0; b < r->m->blocks; b++)
        calls -= beside_of(&r->o, b, r->m->calls);
    if (tt_table_find(&a->t, "calls") != TT_NONE)
        CHECK_INT(calls, r->o.total_calls);
}

TEST(the_flat_view_agrees_with_a_look_at_every_path)
{
    struct random_case r = {0};

    while (next_case(&r, 1, tap_times(CASES))) {
        struct answer a;
        if (ask(&a, &r.p, "view=flat&limit=0&metric=%s", metric_name(&r)))
            check_flat(&a, &r);
        for (size_t i = 1; i < tt_table_rows(&a.t); i++)
            if (role_of(&a, i) == TT_ROW_ENTRY && role_of(&a, i - 1) == TT_ROW_ENTRY)
                CHECK(amount(&a, i - 1, "self") >= amount(&a, i, "self"));
        answered(&a);
        say_case(&r);
    }
}

static int leads_through(const struct oracle *o, const struct item *x, const char *part)
{
    for (int i = 0; i < x->length; i++)
        if (x->block[i] >= 0 && strstr(o->m->block[x->block[i]].info.name, part))
            return 1;
    return 0;
}

/* The amount of the note; 0: there is none. */
static uint64_t noted_paths(const struct tt_table *t)
{
    for (size_t i = 0; i < t->note.count; i++) {
        const struct tt_note *n = tt_table_note_at(t, i);
        if (strcmp(n->kind, "paths") == 0 && CHECK_INT(n->arguments, 4))
            return ((const struct tt_argument *)t->argument.item)[n->first + 2].value.n;
    }
    return 0;
}

TEST(paths_through_some_blocks_are_summed_up_once_each)
{
    static const char *const parts[] = {"a", "parse", "s", "gc"};
    struct random_case r = {0};
    int some = 0;

    while (next_case(&r, 1, tap_times(CASES))) {
        const char *part = parts[r.seed % (sizeof parts / sizeof *parts)];
        uint64_t want = 0;
        struct answer a;
        for (int i = 0; i < r.o.items; i++)
            if (leads_through(&r.o, &r.o.item[i], part))
                want += r.o.item[i].self + r.o.item[i].elsewhere;
        if (!want)
            continue; /* perhaps no block has such a name, which is an error */
        if (ask(&a, &r.p, "view=flat&block=%%2F%s%%2F&metric=%s", part, metric_name(&r)))
            CHECK_INT(noted_paths(&a.t), want);
        some++;
        answered(&a);
        say_case(&r);
    }
    CHECK(some > 50 || tap.failed);
}

TEST(rows_that_are_cut_off_are_summed_up)
{
    static const char *const views[] = {"flat", "graph", "groups", "lines"};
    struct random_case r = {0};

    while (next_case(&r, 40000, tap_times(CASES))) {
        uint64_t pick = r.seed + (uint64_t)r.metric;
        const char *view = views[pick % 4];
        struct answer a;
        int shown = 0, limit = 1 + (int)(pick % 4);
        if (ask(&a, &r.p, "view=%s&limit=%d&threshold=%d%%&metric=%s", view, limit,
                (int)(pick % 3) * 7, metric_name(&r))) {
            CHECK_INT(sum_of(&a, "self"), r.o.total);
            for (size_t i = 0; i < tt_table_rows(&a.t); i++) {
                double share = real_at(&a, i, "self_share");
                if (real_at(&a, i, "inclusive_share") > share)
                    share = real_at(&a, i, "inclusive_share");
                shown += role_of(&a, i) == TT_ROW_ENTRY;
                if (role_of(&a, i) == TT_ROW_ENTRY)
                    CHECK(share >= 0.07 * (double)(pick % 3) - 1e-9 || !r.o.total);
            }
            CHECK(shown <= limit);
        }
        answered(&a);
        say_case(&r);
    }
}

TEST(a_view_is_sorted_by_the_column_that_was_asked_for)
{
    struct model *m = model_random(77);
    struct tt_profile p;
    struct answer a;

    if (!model_open(m, 0, &p))
        return (void)CHECK(0);
    CHECK(ask(&a, &p, "view=flat&sort=-inclusive"));
    CHECK(tt_table_rows(&a.t) > 4);
    for (size_t i = 1; i < tt_table_rows(&a.t); i++)
        if (role_of(&a, i) == TT_ROW_ENTRY)
            CHECK(amount(&a, i - 1, "inclusive") <= amount(&a, i, "inclusive"));
    answered(&a);
    CHECK(ask(&a, &p, "view=flat&sort=-name"));
    for (size_t i = 1; i < tt_table_rows(&a.t); i++)
        if (role_of(&a, i) == TT_ROW_ENTRY)
            CHECK(strcmp(text_at(&a, i - 1, "name"), text_at(&a, i, "name")) <= 0);
    answered(&a);
    tt_query_init(&a.q, NULL);
    CHECK_INT(tt_query_parse(&a.q, "view=flat&sort=inclusvie"), 0);
    CHECK_INT(tt_view(&p, &a.q, &a.t), -TT_ERR_OPTION);
    CHECK_STR(a.q.error, "there is no column 'inclusvie'; did you mean 'inclusive'?");
    answered(&a);
    tt_query_init(&a.q, NULL);
    CHECK_INT(tt_query_parse(&a.q, "view=flat&metric=cals"), 0);
    CHECK_INT(tt_view(&p, &a.q, &a.t), -TT_ERR_OPTION);
    CHECK_STR(a.q.error, "there is no metric 'cals'; did you mean 'calls'?");
    answered(&a);
    model_close(&p);
    model_free(m);
}

/* ── Graph ────────────────────────────────────────────────────────────────────────── */

static void check_edge(const struct answer *a, size_t i, const struct random_case *r,
                       int caller, int callee, int entry)
{
    const int pair[2] = {caller, callee};
    uint64_t inclusive = true_inclusive(&r->o, pair, 2);
    uint64_t whole = block_inclusive(&r->o, entry);

    CHECK(has_edge(&r->o, caller, callee));
    CHECK_INT(amount(a, i, "inclusive"), inclusive);
    if (whole && has(a, i, "edge_share"))
        CHECK(is_near(real_at(a, i, "edge_share"), (double)inclusive / (double)whole));
    CHECK(!has(a, i, "self"));
    check_brackets(a, i, 0, inclusive - true_own(&r->o, pair, 2, 1));
    if (r->metric != r->m->calls && r->m->calls >= 0)
        CHECK_INT(amount(a, i, "calls"), true_calls(&r->o, pair, 2, 0));
    if (r->m->calls >= 0)
        CHECK_INT(amount(a, i, "by_arcs"), true_calls(&r->o, pair, 2, 1));
}

static size_t count_edges(const struct oracle *o, int block, int as_callee)
{
    size_t count = 0;

    for (int other = -1; other < o->m->blocks; other++)
        count += (size_t)(as_callee ? has_edge(o, other, block)
                                    : has_edge(o, block, other));
    return count;
}

static void check_group(const struct answer *a, const struct random_case *r, size_t first,
                        size_t entry, size_t end)
{
    int b = block_at(a, entry, r->m, &r->p);

    check_figures(a, entry, &r->o, block_self(&r->o, b), block_inclusive(&r->o, b));
    CHECK_INT(entry - first, count_edges(&r->o, b, 1));
    CHECK_INT(end - entry - 1, count_edges(&r->o, b, 0));
    for (size_t i = first; i < entry; i++) {
        check_edge(a, i, r, block_at(a, i, r->m, &r->p), b, b);
        if (i > first)
            CHECK(amount(a, i - 1, "inclusive") <= amount(a, i, "inclusive"));
    }
    for (size_t i = entry + 1; i < end; i++) {
        check_edge(a, i, r, b, block_at(a, i, r->m, &r->p), b);
        if (i > entry + 1)
            CHECK(amount(a, i - 1, "inclusive") >= amount(a, i, "inclusive"));
    }
}

TEST(the_graph_agrees_with_a_look_at_every_path)
{
    struct random_case r = {0};

    while (next_case(&r, 10000, tap_times(CASES))) {
        struct answer a;
        size_t end, entry, entries = 0;
        if (ask(&a, &r.p, "view=graph&limit=0&metric=%s", metric_name(&r)))
            CHECK_INT(sum_of(&a, "self"), r.o.total);
        for (size_t i = 0; i < tt_table_rows(&a.t); i = end) {
            uint32_t group = tt_table_row_at(&a.t, i)->group;
            entry = tt_table_rows(&a.t);
            for (end = i; end < tt_table_rows(&a.t); end++) {
                if (tt_table_row_at(&a.t, end)->group != group || (end > i && !group))
                    break;
                if (role_of(&a, end) == TT_ROW_ENTRY)
                    entry = end;
            }
            if (group && CHECK(entry < end))
                check_group(&a, &r, i, entry, end);
            entries += group != 0;
        }
        for (int b = -1; b < r.m->blocks; b++) {
            int is_there = b < 0;
            for (int i = 0; i < r.m->paths; i++)
                is_there |= model_has(&r.m->path[i], b);
            entries -= is_there || block_self(&r.o, b) || block_inclusive(&r.o, b) ||
                       block_calls(&r.o, b);
        }
        CHECK_INT(entries, 0);
        answered(&a);
        say_case(&r);
    }
}

/* ── Block ────────────────────────────────────────────────────────────────────────── */

/* A sequence has names, which several blocks may share; at its ends are blocks. */
static int is_like(const struct model *m, const struct item *x, int from, const int *name,
                   int length)
{
    if (from < 0 || from + length > x->length)
        return 0;
    for (int i = 0; i < length; i++) {
        int block = x->block[from + i];
        if (block < 0 || strcmp(m->block[block].info.name, m->block[name[i]].info.name))
            return 0;
    }
    return 1;
}

enum where { ALONE, BEFORE, BEHIND };

/* Does the sequence begin at `from`, with `other` where it should be? */
static int is_found(const struct model *m, const struct item *x, int from,
                    const int *name, int length, enum where where, int other)
{
    if (!is_like(m, x, from, name, length))
        return 0;
    if (where == BEFORE)
        return from > 0 && x->block[from - 1] == other;
    if (where == BEHIND)
        return from + length < x->length && x->block[from + length] == other;
    return 1;
}

struct found {
    uint64_t self, inclusive, calls, by_arcs, self_own, inclusive_own, inclusive_low;
    int is_there;
};

static struct found find_sequence(const struct oracle *o, const int *name, int length,
                                  enum where where, int other)
{
    int behind = where == BEHIND;
    struct found f = {0};

    for (int i = 0; i < o->items; i++) {
        const struct item *x = &o->item[i];
        int any = 0;
        for (int from = 0; from < x->length; from++)
            any |= is_found(o->m, x, from, name, length, where, other);
        f.inclusive += any ? x->self + x->elsewhere : 0;
        f.inclusive_own += any ? x->own : 0;
        f.is_there |= any && x->path >= 0;
        if (is_found(o->m, x, x->length - length - behind, name, length, where, other)) {
            f.self += x->self;
            f.self_own += x->own;
        }
    }
    for (int i = 0; i < o->many_calls; i++) {
        const struct item *x = &o->call[i];
        if (!is_found(o->m, x, x->length - length - behind, name, length, where, other))
            continue;
        f.calls += x->self;
        f.by_arcs += x->path < 0 ? x->self : 0;
    }
    return f;
}

static void check_side(const struct answer *a, const struct random_case *r, size_t i,
                       const int *name, int length, enum where where)
{
    struct found f = find_sequence(&r->o, name, length, where,
                                   block_at(a, i, r->m, &r->p));

    CHECK(f.is_there || f.calls);
    CHECK_INT(amount(a, i, "inclusive"), f.inclusive);
    check_brackets(a, i, 0, f.inclusive - f.inclusive_own);
    if (r->metric != r->m->calls && r->m->calls >= 0)
        CHECK_INT(amount(a, i, "calls"), f.calls);
    CHECK_INT(amount(a, i, "by_arcs"), f.by_arcs);
}

/* What is evicted of a block, or hidden, belongs to blocks alone. */
static void add_block_parts(const struct oracle *o, const int *name, struct found *f)
{
    int matches = 0, last = 0;

    for (int b = 0; b < o->m->blocks; b++)
        if (strcmp(o->m->block[b].info.name, o->m->block[*name].info.name) == 0) {
            f->self += beside_of(o, b, o->metric);
            f->calls += beside_of(o, b, o->m->calls);
            matches++;
            last = b;
        }
    if (matches == 1)
        f->inclusive += hidden_of(o, last);
    f->inclusive_low = at_least(f->inclusive - f->inclusive_own, f->self - f->self_own);
    f->inclusive = at_least(f->inclusive, f->self);
}

static void check_block(const struct answer *a, const struct random_case *r,
                        const int *name, int length)
{
    size_t ins = 0, outs = 0;

    for (size_t i = 0; i < tt_table_rows(&a->t); i++) {
        uint32_t depth = tt_table_row_at(&a->t, i)->depth;
        struct found f;
        if (role_of(a, i) == TT_ROW_CALLER) {
            check_side(a, r, i, name, length, BEFORE);
            ins++;
        } else if (role_of(a, i) == TT_ROW_CALLEE) {
            check_side(a, r, i, name, length, BEHIND);
            outs++;
        } else if (role_of(a, i) == TT_ROW_ENTRY) {
            f = find_sequence(&r->o, name, (int)depth + 1, ALONE, 0);
            f.inclusive_low = f.inclusive - f.inclusive_own;
            if (length == 1)
                add_block_parts(&r->o, name, &f);
            CHECK_INT(amount(a, i, "inclusive"), f.inclusive);
            check_brackets(a, i, f.self - f.self_own, f.inclusive_low);
            if ((int)depth + 1 == length)
                CHECK_INT(amount(a, i, "self"), f.self);
            if (r->metric != r->m->calls && r->m->calls >= 0)
                CHECK_INT(amount(a, i, "calls"), f.calls);
        }
    }
    for (int other = -1; other < r->m->blocks; other++) {
        struct found in = find_sequence(&r->o, name, length, BEFORE, other);
        struct found out = find_sequence(&r->o, name, length, BEHIND, other);
        ins -= in.is_there || in.calls;
        outs -= out.is_there || out.calls;
    }
    CHECK_INT(ins, 0);
    CHECK_INT(outs, 0);
    CHECK_INT(sum_of(a, "self"), r->o.total);
}

TEST(what_goes_in_and_out_of_a_sequence_agrees_with_a_look_at_every_path)
{
    struct random_case r = {0};

    while (next_case(&r, 20000, tap_times(CASES))) {
        const struct model_path *at = &r.m->path[r.seed % (uint64_t)r.m->paths];
        int length = 1 + (int)(r.seed % 3), name[3], from;
        char text[200] = "";
        struct answer a;
        if (at->depth < length)
            continue;
        from = (int)(r.seed / 3 % (uint64_t)(at->depth - length + 1));
        for (int i = 0; i < length; i++) {
            const char *word = r.m->block[at->block[from + i]].info.name;
            name[i] = at->block[from + i];
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s",
                     i ? ";" : "", strcmp(word, "a;b") ? word : "a%3Fb");
        }
        if (ask(&a, &r.p, "view=block&%s=%s&metric=%s", length > 1 ? "sequence" : "block",
                text, metric_name(&r)))
            check_block(&a, &r, name, length);
        answered(&a);
        say_case(&r);
    }
}

/* ── Groups and lines ─────────────────────────────────────────────────────────────── */

/* Which blocks lead to which, in any number of calls. */
static void find_reach(const struct oracle *o, int reach[][MODEL_BLOCKS + 1])
{
    const int n = o->m->blocks + 1;

    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            reach[i][j] = i == j || has_edge(o, i - 1, j - 1);
    for (int k = 0; k < n; k++)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                reach[i][j] |= reach[i][k] && reach[k][j];
}

/* Sets of blocks that lead to each other, of several blocks or of one that calls itself. */
static int count_rings(const struct oracle *o, int reach[][MODEL_BLOCKS + 1])
{
    int rings = 0;

    for (int b = 0; b <= o->m->blocks; b++) {
        int is_first = 1, is_ring = has_edge(o, b - 1, b - 1);
        for (int c = 0; c <= o->m->blocks; c++) {
            const int together = c != b && reach[b][c] && reach[c][b];
            is_ring |= together;
            is_first &= !(together && c < b);
        }
        rings += is_ring && is_first;
    }
    return rings;
}

/* A set of blocks as one: what lies on the paths that have any of them. */
static void check_set(const struct answer *a, size_t i, const struct oracle *o,
                      const int *is_in)
{
    uint64_t self = 0, inclusive = 0, calls = 0, self_low = 0, inclusive_low = 0;

    for (int j = 0; j < o->items; j++) {
        int any = 0;
        for (int k = 0; k < o->item[j].length; k++)
            any |= is_in[o->item[j].block[k] + 1];
        inclusive += any ? o->item[j].self + o->item[j].elsewhere : 0;
        inclusive_low += any ? o->item[j].self + o->item[j].elsewhere - o->item[j].own
                             : 0;
    }
    for (int b = -1; b < o->m->blocks; b++) {
        if (!is_in[b + 1])
            continue;
        self += block_self(o, b);
        self_low += block_self_low(o, b);
        calls += block_calls(o, b);
        if (block_inclusive(o, b) > inclusive)
            inclusive = block_inclusive(o, b);
        if (block_inclusive_low(o, b) > inclusive_low)
            inclusive_low = block_inclusive_low(o, b);
    }
    inclusive = at_least(inclusive, self);
    inclusive_low = at_least(inclusive_low, self_low);
    check_figures(a, i, o, self, inclusive);
    check_brackets(a, i, self_low, inclusive_low);
    if (tt_table_find(&a->t, "calls") != TT_NONE)
        CHECK_INT(amount(a, i, "calls"), calls);
}

static void check_inside(const struct answer *a, size_t i, const struct oracle *o,
                         const int *is_in)
{
    uint64_t inside = 0;

    for (int b = -1; b < o->m->blocks; b++)
        for (int c = -1; c < o->m->blocks; c++) {
            const int pair[2] = {b, c};
            if (is_in[b + 1] && is_in[c + 1])
                inside += true_calls(o, pair, 2, 0);
        }
    CHECK_INT(amount(a, i, "calls_inside"), inside);
}

TEST(groups_are_the_sets_of_blocks_that_lead_to_each_other)
{
    struct random_case r = {0};

    while (next_case(&r, 30000, tap_times(CASES))) {
        int reach[MODEL_BLOCKS + 1][MODEL_BLOCKS + 1], rings = (int)(r.seed / 3 % 2),
                                                       rows = 0;
        struct answer a;
        find_reach(&r.o, reach);
        if (ask(&a, &r.p, "view=groups&limit=0&rings=%d&metric=%s", rings,
                metric_name(&r)) &&
            !rings)
            CHECK_INT(sum_of(&a, "self"), r.o.total);
        for (size_t i = 0; i < tt_table_rows(&a.t); i++) {
            int is_in[MODEL_BLOCKS + 1] = {0}, count = 0, first = 0;
            if (role_of(&a, i) != TT_ROW_ENTRY)
                continue;
            first = block_at(&a, i, r.m, &r.p);
            if (first == -2)
                first = block_at(&a, i + 1, r.m, &r.p);
            for (int b = 0; b <= r.m->blocks; b++)
                count += is_in[b] = reach[first + 1][b] && reach[b][first + 1];
            CHECK_INT(amount(&a, i, "members"), count);
            CHECK(!rings || count > 1 || has_edge(&r.o, first, first));
            rows++;
            for (int j = 1; count > 1 && j <= count; j++) {
                int b = block_at(&a, i + (size_t)j, r.m, &r.p);
                CHECK(is_in[b + 1]);
                CHECK_INT(role_of(&a, i + (size_t)j), TT_ROW_CALLEE);
                CHECK_INT(amount(&a, i + (size_t)j, "self"), block_self(&r.o, b));
            }
            check_set(&a, i, &r.o, is_in);
            if (r.m->calls >= 0)
                check_inside(&a, i, &r.o, is_in);
        }
        if (rings)
            CHECK_INT(rows, count_rings(&r.o, reach));
        answered(&a);
        say_case(&r);
    }
}

static int is_same_place(const struct model *m, int a, int b, const char *by)
{
    const struct tt_block_info *x = &m->block[a].info, *y = &m->block[b].info;
    const char *f = x->file ? x->file : "", *g = y->file ? y->file : "";

    if (strcmp(f, g) != 0 || (!*f && strcmp(x->name, y->name) != 0))
        return 0;
    if (!*f || strcmp(by, "file") == 0)
        return 1;
    if (strcmp(by, "line") == 0)
        return x->line == y->line;
    return a == b;
}

TEST(lines_are_all_blocks_of_one_place_and_uncovered_ones_can_be_seen)
{
    static const char *const by[] = {"line", "statement", "file"};
    struct random_case r = {0};

    while (next_case(&r, 50000, tap_times(CASES))) {
        const char *word = by[r.seed % 3];
        int uncovered = (int)(r.seed / 3 % 2), rows = 0, places = 0;
        struct answer a;
        if (ask(&a, &r.p, "view=lines&limit=0&by=%s&uncovered=%d&metric=%s", word,
                uncovered, metric_name(&r)))
            CHECK_INT(sum_of(&a, "self"), r.o.total);
        for (size_t i = 0; i < tt_table_rows(&a.t); i++) {
            int is_in[MODEL_BLOCKS + 1] = {0}, first = block_at(&a, i, r.m, &r.p);
            if (role_of(&a, i) != TT_ROW_ENTRY)
                continue;
            is_in[0] = first < 0;
            for (int b = 0; first >= 0 && b < r.m->blocks; b++)
                is_in[b + 1] = is_same_place(r.m, first, b, word);
            check_set(&a, i, &r.o, is_in);
            rows += first >= 0;
        }
        for (int b = 0; b < r.m->blocks; b++) {
            int is_first = 1, covered = uncovered;
            for (int c = 0; c < r.m->blocks; c++) {
                int is_same = is_same_place(r.m, b, c, word);
                is_first &= c >= b || !is_same;
                covered |= is_same && (block_self(&r.o, c) || block_calls(&r.o, c) ||
                                       block_inclusive(&r.o, c));
            }
            places += is_first && covered;
        }
        CHECK_INT(rows, places);
        answered(&a);
        say_case(&r);
    }
}
