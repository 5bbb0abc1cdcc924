/* SPDX-License-Identifier: MIT */
/* view-tree-test.c - views of contexts against the oracle: tree, flame, callers; and
 * figures beside the tree: strands, series, space. */
#include <math.h>

#include "identity.h"
#include "view-oracle.h"
#include "view.h"

enum { CASES = TAP_CASES(1500) };

/* ── Tree and flame ───────────────────────────────────────────────────────────────── */

static uint64_t own_of(const struct oracle *o, int path)
{
    struct item above = item_of(o->m, path);
    uint64_t sum = 0;

    for (int i = 0; i < o->items; i++)
        if (is_stretch(&o->item[i], 0, above.block, above.length))
            sum += o->item[i].own;
    return sum;
}

static uint64_t total_of(const struct oracle *o, int path)
{
    struct item above = item_of(o->m, path);
    uint64_t sum = 0;

    for (int i = 0; i < o->items; i++)
        if (is_stretch(&o->item[i], 0, above.block, above.length) &&
            (o->item[i].path >= 0 || o->item[i].length > above.length))
            sum += o->item[i].self + o->item[i].elsewhere;
    return sum;
}

static int path_at(const struct answer *a, size_t i, const struct random_case *r)
{
    const struct model_path *p = model_path_of(r->m, &r->p,
                                               (uint32_t)amount(a, i, "context"));

    return p ? (int)(p - r->m->path) : -1;
}

/* A row is its self and its children, remainders included; returns the row after them. */
static size_t check_children(const struct answer *a, size_t i)
{
    uint32_t depth = tt_table_row_at(&a->t, i)->depth;
    uint64_t sum = amount(a, i, "self"), low = amount(a, i, "self_low");
    size_t end = i + 1;

    for (; end < tt_table_rows(&a->t); end++) {
        const struct tt_row *row = tt_table_row_at(&a->t, end);
        if (row->depth <= depth)
            break;
        if (row->depth == depth + 1)
            sum += amount(a, end, "inclusive");
        if (row->depth == depth + 1)
            low += amount(a, end, "inclusive_low");
    }
    CHECK_INT(amount(a, i, "inclusive"), sum);
    CHECK_INT(amount(a, i, "inclusive_low"), low);
    return end;
}

static void check_context(const struct answer *a, size_t i, const struct random_case *r)
{
    int path = path_at(a, i, r);
    const struct model_path *p = &r->m->path[path < 0 ? 0 : path];

    if (!CHECK(path >= 0))
        return;
    check_figures(a, i, &r->o, model_sum(&p->self, r->metric), total_of(&r->o, path));
    check_brackets(a, i, model_sum(&p->self, r->metric) - model_sum(&p->own, r->metric),
                   total_of(&r->o, path) - own_of(&r->o, path));
    CHECK_INT(tt_table_row_at(&a->t, i)->depth, p->depth);
    CHECK_INT(block_at(a, i, r->m, &r->p), model_block_at(p));
    if (r->metric != r->m->calls && r->m->calls >= 0)
        CHECK_INT(amount(a, i, "calls"), model_sum(&p->self, r->m->calls));
    (void)check_children(a, i);
}

/* What is above each row in the table is above it in the tree. */
static void check_nesting(const struct answer *a, const struct random_case *r)
{
    int above[MODEL_DEPTH + 2] = {0};

    for (size_t i = 0; i < tt_table_rows(&a->t); i++) {
        uint32_t depth = tt_table_row_at(&a->t, i)->depth;
        int path;
        if (role_of(a, i) != TT_ROW_ENTRY)
            continue;
        path = path_at(a, i, r);
        if (depth)
            CHECK(model_begins_with(&r->m->path[path], &r->m->path[above[depth - 1]]));
        above[depth] = path;
    }
}

/* How many are larger, or as large and earlier in preorder, of those not too deep. */
static int rank_of(const struct random_case *r, const uint64_t *total,
                   const unsigned char *deep, uint32_t context)
{
    int rank = 0;

    for (uint32_t c = 0; c < r->p.contexts; c++)
        rank += !deep[c] && (total[c] > total[context] ||
                             (total[c] == total[context] && c < context));
    return rank;
}

/* Exactly those that a query wants are shown. */
static void check_choice(const struct answer *a, const struct random_case *r, int limit,
                         int percent, int depth)
{
    uint64_t total[MODEL_PATHS], least;
    unsigned char shown[MODEL_PATHS] = {0}, deep[MODEL_PATHS] = {0};

    for (uint32_t c = 0; c < r->p.contexts; c++) {
        const struct model_path *p = model_path_of(r->m, &r->p, c);
        total[c] = p ? total_of(&r->o, (int)(p - r->m->path)) : 0;
        deep[c] = depth && p && p->depth > depth;
    }
    least = ((uint64_t)percent * r->o.total + 99) / 100;
    for (size_t i = 0; i < tt_table_rows(&a->t); i++)
        if (role_of(a, i) == TT_ROW_ENTRY)
            shown[amount(a, i, "context")]++;
    for (uint32_t c = 0; c < r->p.contexts; c++)
        CHECK_INT(shown[c], c == 0 || (!deep[c] && total[c] >= least &&
                                       (!limit || rank_of(r, total, deep, c) < limit)));
}

static void check_offsets(const struct answer *a)
{
    uint64_t next[MODEL_DEPTH + 3] = {0}, end[MODEL_DEPTH + 3] = {0};

    end[0] = amount(a, 0, "inclusive");
    for (size_t i = 0; i < tt_table_rows(&a->t); i++) {
        uint32_t depth = tt_table_row_at(&a->t, i)->depth;
        uint64_t from = amount(a, i, "offset"), wide = amount(a, i, "inclusive");
        CHECK_INT(from, next[depth]);
        CHECK(from + wide <= end[depth]);
        next[depth] = from + wide;
        next[depth + 1] = from;
        end[depth + 1] = from + wide;
    }
}

static void check_contexts(const struct answer *a, const struct random_case *r)
{
    for (size_t i = 0; i < tt_table_rows(&a->t); i++)
        if (role_of(a, i) == TT_ROW_ENTRY)
            check_context(a, i, r);
    check_nesting(a, r);
    CHECK_INT(sum_of(a, "self"), r->o.total);
}

TEST(the_tree_shows_the_largest_contexts_and_sums_up_the_others)
{
    struct random_case r = {0};

    while (next_case(&r, 1, tap_times(CASES))) {
        int limit = (int)(r.seed % 4) * (int)(r.seed % 7), depth = (int)(r.seed / 7 % 5);
        int percent = r.seed % 3 ? 0 : (int)(r.seed % 40);
        struct answer a;
        if (ask(&a, &r.p, "view=tree&limit=%d&threshold=%d%%&depth=%d&metric=%s", limit,
                percent, depth, metric_name(&r))) {
            check_contexts(&a, &r);
            if (r.o.total < 1ull << 38) /* or a rounded share decides */
                check_choice(&a, &r, limit, percent, depth);
        }
        for (size_t i = 0; i < tt_table_rows(&a.t); i++)
            for (size_t j = i + 1; j < tt_table_rows(&a.t); j++) {
                uint32_t depth_i = tt_table_row_at(&a.t, i)->depth;
                uint32_t depth_j = tt_table_row_at(&a.t, j)->depth;
                if (depth_j < depth_i)
                    break;
                if (depth_j == depth_i && role_of(&a, j) == TT_ROW_ENTRY)
                    CHECK(role_of(&a, i) == TT_ROW_ENTRY &&
                          amount(&a, i, "inclusive") >= amount(&a, j, "inclusive"));
            }
        answered(&a);
        say_case(&r);
    }
}

TEST(a_flame_view_is_in_preorder_and_says_where_each_row_stands)
{
    struct random_case r = {0};

    while (next_case(&r, 60000, tap_times(CASES))) {
        int limit = (int)(r.seed % 4) * (int)(r.seed % 7), depth = (int)(r.seed / 7 % 5);
        int percent = r.seed % 3 ? 0 : (int)(r.seed % 40);
        uint64_t last = 0;
        struct answer a;
        if (ask(&a, &r.p, "view=flame&limit=%d&threshold=%d%%&depth=%d&metric=%s", limit,
                percent, depth, metric_name(&r))) {
            check_contexts(&a, &r);
            check_offsets(&a);
            if (r.o.total < 1ull << 38)
                check_choice(&a, &r, limit, percent, depth);
        }
        for (size_t i = 0; i < tt_table_rows(&a.t); i++) {
            if (role_of(&a, i) != TT_ROW_ENTRY)
                continue;
            CHECK(i == 0 || amount(&a, i, "context") > last);
            last = amount(&a, i, "context");
        }
        answered(&a);
        say_case(&r);
    }
}

TEST(a_flame_view_may_begin_at_any_context)
{
    struct random_case r = {0};

    while (next_case(&r, 70000, 200)) {
        uint32_t start = (uint32_t)(r.seed % r.p.contexts);
        struct answer a;
        if (ask(&a, &r.p, "view=flame&limit=0&threshold=0&context=%u&metric=%s", start,
                metric_name(&r))) {
            const struct model_path *p = model_path_of(r.m, &r.p, start);
            CHECK_INT(amount(&a, 0, "context"), start);
            CHECK_INT(amount(&a, 0, "offset"), 0);
            CHECK_INT(amount(&a, 0, "inclusive"), total_of(&r.o, (int)(p - r.m->path)));
            CHECK_INT(sum_of(&a, "self"), amount(&a, 0, "inclusive"));
            check_offsets(&a);
        }
        answered(&a);
        say_case(&r);
    }
}

/* The names on the way to a context, asked of the profile and not of a path. */
static void put_names(const struct tt_profile *p, uint32_t context, char *out,
                      size_t size)
{
    size_t n = 0;

    for (uint32_t c = 0; c <= context && n < size; c++)
        if (context < tt_end_of(p, c))
            n += (size_t)snprintf(out + n, size - n, "%s;",
                                  tt_block_name(p, tt_block_of(p, c)));
}

/* Looks for the same path in a profile of other contexts; is it there? */
static int check_elsewhere(const struct tt_profile *p, uint32_t context,
                           const struct tt_profile *other, const char *path)
{
    static char names[2][1 << 16];
    uint32_t there;

    CHECK_INT(tt_path_find(other, strtoull(path, NULL, 16), context, p->memory, &there),
              0);
    if (there == TT_NONE)
        return 0;
    put_names(p, context, names[0], sizeof names[0]);
    put_names(other, there, names[1], sizeof names[1]);
    CHECK_STR(names[1], names[0]);
    return there != context;
}

static int check_paths(const struct random_case *r, const struct tt_profile *other)
{
    int moved = 0;
    struct answer a, b;

    if (!ask(&a, &r->p, "view=tree&limit=0&threshold=0&metric=%s", metric_name(r)))
        return 0;
    for (size_t i = 0; i < tt_table_rows(&a.t); i += 1 + tt_table_rows(&a.t) / 8) {
        const char *path = text_at(&a, i, "path");
        uint32_t context = (uint32_t)amount(&a, i, "context");
        if (role_of(&a, i) != TT_ROW_ENTRY)
            continue;
        /* The number is only where to look first. */
        if (ask(&b, &r->p, "view=flame&limit=1&context=%u%%23%s",
                (context + (uint32_t)(r->seed % 2)) % r->p.contexts, path))
            CHECK_INT(amount(&b, 0, "context"), context);
        answered(&b);
        moved += check_elsewhere(&r->p, context, other, path);
    }
    answered(&a);
    return moved;
}

TEST(a_path_is_the_same_context_in_every_profile_whatever_its_number)
{
    struct random_case r = {0};
    int moved = 0;

    while (next_case(&r, 90000, 200)) {
        struct model *m = model_random(r.seed + 1);
        struct tt_profile other;
        if (model_open(m, 0, &other)) {
            moved += check_paths(&r, &other);
            model_close(&other);
        }
        model_free(m);
        say_case(&r);
    }
    CHECK(moved > 100);
}

TEST(a_path_that_is_not_there_is_an_error_and_no_other_context)
{
    struct random_case r = {0};

    while (next_case(&r, 95000, 20)) {
        struct tt_query q;
        struct tt_table t;
        tt_query_init(&q, NULL);
        CHECK_INT(tt_query_parse(&q, "view=tree&context=1%230123456789abcdef"), 0);
        CHECK_INT(tt_view(&r.p, &q, &t), -TT_ERR_OPTION);
        CHECK(strstr(q.error, "no context has the path '1#0123") != NULL);
        tt_table_fini(&t);
        tt_query_fini(&q);
    }
}

/* ── Callers ──────────────────────────────────────────────────────────────────────── */

/* What a chain of callers costs: of the block at its end, where paths end in the chain. */
struct chain_sum {
    uint64_t self, inclusive, calls, self_own, inclusive_own, inclusive_low;
};

static struct chain_sum sum_chain(const struct oracle *o, const int *chain, int length)
{
    struct chain_sum sum = {0};
    int block = chain[length - 1], counts_calls = o->metric == o->m->calls;

    for (int i = 0; i < o->items; i++) {
        const struct item *x = &o->item[i];
        int above = 0;
        if (!ends_with(x, chain, length))
            continue;
        for (int j = 0; j + 1 < x->length; j++)
            above |= x->block[j] == block;
        sum.self += counts_calls ? 0 : x->self;
        sum.self_own += x->own;
        if (!above)
            sum.inclusive_own += x->path >= 0 ? own_of(o, x->path) : 0;
        if (!above)
            sum.inclusive += x->path >= 0 ? total_of(o, x->path) : x->self;
    }
    sum.calls = true_calls(o, chain, length, 0);
    if (counts_calls)
        sum.self = sum.calls;
    if (length == 1) {
        sum.self += beside_of(o, block, o->metric);
        sum.calls += beside_of(o, block, o->m->calls);
        sum.inclusive += hidden_of(o, block);
    }
    sum.inclusive_low = sum.inclusive - sum.inclusive_own;
    if (length == 1) {
        sum.inclusive_low = at_least(sum.inclusive_low, sum.self - sum.self_own);
        sum.inclusive = at_least(sum.inclusive, sum.self);
    }
    return sum;
}

/* All callers of a chain together, the root left out: paths that begin go no further. */
static struct chain_sum sum_callers(const struct oracle *o, const int *chain, int length)
{
    struct chain_sum all = {0};
    int longer[MODEL_DEPTH + 3];

    memcpy(longer + 1, chain, (size_t)length * sizeof *chain);
    for (int b = 0; b < o->m->blocks && length <= MODEL_DEPTH; b++) {
        struct chain_sum one;
        longer[0] = b;
        one = sum_chain(o, longer, length + 1);
        all.self += one.self;
        all.inclusive += one.inclusive;
        all.calls += one.calls;
    }
    return all;
}

/* The callers below a row: those that are shown and the remainder are all there are. */
static void check_callers(const struct answer *a, size_t i, const struct random_case *r,
                          const int *chain, int length)
{
    struct chain_sum all = sum_callers(&r->o, chain, length), seen = {0};
    uint32_t depth = tt_table_row_at(&a->t, i)->depth;

    for (size_t j = i + 1; j < tt_table_rows(&a->t); j++) {
        const struct tt_row *row = tt_table_row_at(&a->t, j);
        if (row->depth <= depth || row->role == TT_ROW_TOTAL)
            break;
        if (row->depth != depth + 1)
            continue;
        if (strcmp(text_at(a, j, "name"), "[elsewhere below]") == 0) {
            CHECK_INT(amount(a, j, "self"),
                      beside_of(&r->o, chain[length - 1], r->metric));
            continue;
        }
        seen.self += amount(a, j, "self");
        seen.inclusive += amount(a, j, "inclusive");
        seen.calls += amount(a, j, "calls");
    }
    CHECK_INT(seen.self, all.self);
    CHECK_INT(seen.inclusive, all.inclusive);
    if (tt_table_find(&a->t, "calls") != TT_NONE)
        CHECK_INT(seen.calls, all.calls);
}

/* Distinct chains that have any figure, of the longest length on. */
static int count_chains(const struct oracle *o)
{
    static struct item chain[4 * MODEL_PATHS * MODEL_DEPTH];
    int count = 0;

    for (int i = 0; i < o->items + o->many_calls; i++) {
        const struct item *x = i < o->items ? &o->item[i] : &o->call[i - o->items];
        for (int length = 1; length <= x->length; length++) {
            const int *end = x->block + x->length - length;
            struct chain_sum sum = sum_chain(o, end, length);
            int is_new = sum.self || sum.calls || (*end >= 0 && sum.inclusive);
            if (length > 1 && *end < 0)
                break;
            for (int j = 0; is_new && j < count; j++)
                is_new = chain[j].length != length || !ends_with(&chain[j], end, length);
            if (!is_new)
                continue;
            chain[count].length = length;
            memcpy(chain[count++].block, end, (size_t)length * sizeof *end);
        }
    }
    for (int b = 0; b < o->m->blocks; b++) { /* those that are nowhere in the tree */
        int is_new = block_self(o, b) || block_inclusive(o, b) || block_calls(o, b);
        for (int j = 0; is_new && j < count; j++)
            is_new = chain[j].length != 1 || chain[j].block[0] != b;
        if (is_new) {
            chain[count].length = 1;
            chain[count++].block[0] = b;
        }
    }
    return count;
}

TEST(callers_agree_with_a_look_at_every_path_that_ends_so)
{
    struct random_case r = {0};

    while (next_case(&r, 80000, tap_times(CASES))) {
        int limit = (int)(r.seed % 3) * (int)(r.seed % 11), rows = 0;
        int reversed[MODEL_DEPTH + 3], chain[MODEL_DEPTH + 3];
        struct answer a;
        if (!ask(&a, &r.p, "view=callers&limit=%d&threshold=0&metric=%s", limit,
                 metric_name(&r)))
            continue;
        for (size_t i = 0; i < tt_table_rows(&a.t); i++) {
            int depth = (int)tt_table_row_at(&a.t, i)->depth;
            struct chain_sum sum;
            if (role_of(&a, i) != TT_ROW_ENTRY)
                continue;
            rows++;
            reversed[depth] = block_at(&a, i, r.m, &r.p);
            for (int j = 0; j <= depth; j++)
                chain[depth - j] = reversed[j];
            sum = sum_chain(&r.o, chain, depth + 1);
            check_figures(&a, i, &r.o, sum.self, sum.inclusive);
            check_brackets(&a, i, sum.self - sum.self_own, sum.inclusive_low);
            if (tt_table_find(&a.t, "calls") != TT_NONE)
                CHECK_INT(amount(&a, i, "calls"), sum.calls);
            if (!limit)
                check_callers(&a, i, &r, chain, depth + 1);
        }
        CHECK_INT(rows, limit && limit < count_chains(&r.o) ? limit : count_chains(&r.o));
        answered(&a);
        say_case(&r);
    }
}

TEST(the_blocks_of_an_inverted_tree_add_up_and_its_remainders_are_what_is_not_shown)
{
    struct random_case r = {0};

    while (next_case(&r, 90000, tap_times(CASES))) {
        uint64_t sum = 0, least;
        int percent = (int)(r.seed % 30), depth = (int)(r.seed % 4);
        struct answer a;
        if (!ask(&a, &r.p, "view=callers&limit=0&threshold=%d%%&depth=%d&metric=%s",
                 percent, depth, metric_name(&r)))
            continue;
        least = ((uint64_t)percent * r.o.total + 99) / 100;
        for (size_t i = 0; i < tt_table_rows(&a.t); i++) {
            const struct tt_row *row = tt_table_row_at(&a.t, i);
            if (row->depth == 0 && row->role != TT_ROW_TOTAL)
                sum += amount(&a, i, "self");
            CHECK(!depth || row->role != TT_ROW_ENTRY || row->depth < (uint32_t)depth);
            if (row->role == TT_ROW_ENTRY && r.o.total < 1ull << 38)
                CHECK(amount(&a, i, "self") >= least);
        }
        CHECK_INT(sum, r.o.total);
        answered(&a);
        say_case(&r);
    }
}

/* ── Strands ──────────────────────────────────────────────────────────────────────── */

static uint64_t strand_total(const struct random_case *r, int s, int metric)
{
    uint64_t sum = 0;

    for (int i = 0; metric >= 0 && i < r->m->paths; i++)
        sum += r->m->path[i].self.of[s][metric] + r->m->path[i].elsewhere.of[s][metric];
    for (int i = 0; metric >= 0 && metric == r->m->calls && i < r->m->arcs; i++)
        if (model_is_dropped(r->m, &r->m->arc[i]))
            sum += r->m->arc[i].calls[s];
    return sum;
}

static uint64_t strand_own(const struct random_case *r, int s)
{
    uint64_t sum = 0;

    for (int i = 0; i < r->m->paths; i++)
        sum += r->m->path[i].own.of[s][r->metric];
    return sum;
}

static int strand_at(const struct answer *a, size_t i, const struct model *m)
{
    for (int s = 0; s < m->strands; s++)
        if (amount(a, i, "pid") == m->strand[s].pid &&
            amount(a, i, "thread") == m->strand[s].thread)
            return s;
    return -1;
}

static const char *const strand_names[MODEL_STRANDS] = {"rank 0 main", "rank 1 thread 2",
                                                        "rank 2 pool"};

static void check_identity(const struct answer *a, size_t i, const struct model *m, int s)
{
    const struct tt_strand_info *info = &m->strand[s];

    CHECK_STR(text_at(a, i, "name"), strand_names[s]);
    CHECK_STR(text_at(a, i, "host"), info->host);
    CHECK_STR(text_at(a, i, "process"), info->process);
    CHECK_INT(amount(a, i, "rank"), info->rank);
    CHECK_INT(amount(a, i, "members"), info->members);
    CHECK_INT(has(a, i, "least"), info->members > 1);
    CHECK_INT(amount(a, i, "least"), info->least);
    CHECK_INT(amount(a, i, "most"), info->most);
    CHECK_INT(amount(a, i, "least_thread"), info->least_thread);
    CHECK_INT(amount(a, i, "most_thread"), info->most_thread);
}

TEST(strands_have_what_was_added_to_them)
{
    struct random_case r = {0};

    while (next_case(&r, 100000, 500)) {
        int rows = 0;
        struct answer a;
        if (ask(&a, &r.p, "view=strands&metric=%s", metric_name(&r)))
            CHECK_INT(sum_of(&a, "self"), r.o.total);
        for (size_t i = 0; i < tt_table_rows(&a.t); i++) {
            int s = strand_at(&a, i, r.m);
            if (role_of(&a, i) != TT_ROW_ENTRY || !CHECK(s >= 0))
                continue;
            rows++;
            CHECK_INT(amount(&a, i, "self"), strand_total(&r, s, r.metric));
            check_identity(&a, i, r.m, s);
            if (tt_table_find(&a.t, "self_low") != TT_NONE)
                CHECK_INT(amount(&a, i, "self_low"),
                          strand_total(&r, s, r.metric) - strand_own(&r, s));
            if (tt_table_find(&a.t, "calls") != TT_NONE)
                CHECK_INT(amount(&a, i, "calls"), strand_total(&r, s, r.m->calls));
        }
        CHECK_INT(rows, r.p.strands);
        answered(&a);
        say_case(&r);
    }
}

/* A strand that has that figure; `is_known` 0: none is given. */
static void check_whose(const struct answer *a, size_t i, const char *key,
                        const uint64_t *of, int strands, uint64_t n, int is_known)
{
    int is_right = !is_known && !has(a, i, key);

    for (int s = 0; is_known && s < strands; s++)
        is_right |= of[s] == n && strcmp(text_at(a, i, key), strand_names[s]) == 0;
    CHECK(is_right);
}

/* Figures of every strand: their least, greatest, mean and deviation, in two passes. */
static void check_spread(const struct answer *a, size_t i, const uint64_t *of,
                         int strands)
{
    uint64_t least = UINT64_MAX, most = 0;
    double sum = 0, square = 0, mean;
    int have = 0;

    for (int s = 0; s < strands; s++) {
        least = of[s] < least ? of[s] : least;
        most = of[s] > most ? of[s] : most;
        sum += (double)of[s];
        have += of[s] != 0;
    }
    mean = sum / strands;
    for (int s = 0; s < strands; s++)
        square += ((double)of[s] - mean) * ((double)of[s] - mean);
    CHECK_INT(amount(a, i, "spread_min"), least);
    CHECK_INT(amount(a, i, "spread_max"), most);
    CHECK_INT(amount(a, i, "strands"), have);
    check_whose(a, i, "min_strand", of, strands, least, have == strands);
    check_whose(a, i, "max_strand", of, strands, most, have > 0);
    CHECK(is_near(real_at(a, i, "spread_mean"), mean));
    CHECK(is_near(real_at(a, i, "spread_deviation"), sqrt(square / strands)));
    if (mean > 0)
        CHECK(is_near(real_at(a, i, "imbalance"), (double)most / mean - 1));
}

TEST(contexts_and_blocks_spread_over_strands_as_their_figures_do)
{
    struct random_case r = {0};

    while (next_case(&r, 110000, 500)) {
        int by_block = (int)(r.seed & 1), strands = (int)r.p.strands;
        struct answer a;
        if (strands != r.m->strands)
            continue; /* one of them has no figure, and was not there */
        if (!ask(&a, &r.p, "view=strands&by=%s&limit=0&threshold=0&metric=%s",
                 by_block ? "block" : "context", metric_name(&r)))
            continue;
        for (size_t i = 0; i < tt_table_rows(&a.t); i++) {
            uint64_t of[MODEL_STRANDS] = {0};
            int b = block_at(&a, i, r.m, &r.p);
            if (role_of(&a, i) != TT_ROW_ENTRY)
                continue;
            for (int s = 0; s < strands; s++) {
                for (int j = 0; j < r.m->paths; j++) {
                    const struct model_path *p = &r.m->path[j];
                    if (by_block ? model_block_at(p) == b
                                 : model_begins_with(p, &r.m->path[path_at(&a, i, &r)]))
                        of[s] += p->self.of[s][r.metric] +
                                 (by_block ? 0 : p->elsewhere.of[s][r.metric]);
                }
                for (int j = 0; by_block && r.metric == r.m->calls && j < r.m->arcs; j++)
                    if (r.m->arc[j].block == b && model_is_dropped(r.m, &r.m->arc[j]))
                        of[s] += r.m->arc[j].calls[s];
                if (by_block && b >= 0)
                    of[s] += r.m->block[b].beside.of[s][r.metric];
            }
            check_spread(&a, i, of, strands);
        }
        answered(&a);
        say_case(&r);
    }
}

/* ── Space and series ─────────────────────────────────────────────────────────────── */

static const char *block_name_of(const struct model *m, int path)
{
    int b = model_block_at(&m->path[path]);

    return b < 0 ? "[root]" : m->block[b].info.name;
}

static const char *const space_keys[] = {
    "number",          "bytes",        "overhead",    "copied_number", "copied_bytes",
    "copied_overhead", "freed_number", "freed_bytes", "freed_overhead"};
enum { SPACE_KEYS = sizeof space_keys / sizeof *space_keys };

/* Is it what the row is about? */
static int is_of_row(const struct answer *a, size_t i, const struct model *m,
                     const struct model_space *s, const char *by)
{
    const char *name = text_at(a, i, "name");
    uint64_t from = has(a, i, "from") ? amount(a, i, "from") : TT_NONE;
    uint64_t to = has(a, i, "to") ? amount(a, i, "to") : TT_NONE;
    int is_type = strncmp(name, s->type, strlen(s->type)) == 0;
    int is_generation = from == s->from && to == s->to;

    if (strcmp(by, "block") == 0)
        return strcmp(name, block_name_of(m, s->path)) == 0;
    return (*by == 'g' || is_type) && (*by == 't' || is_generation);
}

/* By generation, each event has separate rows. */
static int event_of(const struct model_space *s, const char *by)
{
    if (*by == 'g' || strcmp(by, "both") == 0 || s->from == TT_NONE)
        return 0;
    return s->to == TT_NONE ? 2 : 1;
}

/* Blocks with the same name have separate rows; here they are one. */
static uint64_t space_at(const struct answer *a, size_t i, const char *by,
                         const char *key)
{
    uint64_t sum = 0;

    if (strcmp(by, "block") != 0)
        return amount(a, i, key);
    for (size_t j = 0; j < tt_table_rows(&a->t); j++)
        if (role_of(a, j) == TT_ROW_ENTRY &&
            strcmp(text_at(a, i, "name"), text_at(a, j, "name")) == 0)
            sum += amount(a, j, key);
    return sum;
}

static void check_space(const struct answer *a, size_t i, const struct model *m,
                        const char *by)
{
    uint64_t want[SPACE_KEYS] = {0}, allocated = 0;

    for (int j = 0; j < m->spaces; j++) {
        const struct model_space *s = &m->space[j];
        uint64_t *to = want + 3 * (size_t)event_of(s, by);
        allocated += s->from == TT_NONE ? s->bytes : 0;
        if (!is_of_row(a, i, m, s, by))
            continue;
        to[0] += s->number;
        to[1] += s->bytes;
        to[2] += s->overhead;
    }
    for (int k = 0; k < SPACE_KEYS; k++)
        CHECK_INT(space_at(a, i, by, space_keys[k]), want[k]);
    if (allocated)
        CHECK(is_near(real_at(a, i, "share"),
                      (double)amount(a, i, "bytes") / (double)allocated));
}

TEST(space_adds_up_by_type_by_generation_and_by_block)
{
    static const char *const by[] = {"type", "block", "generation", "both"};
    struct random_case r = {0};

    while (next_case(&r, 120000, tap_times(CASES))) {
        const char *word = by[r.seed % 4];
        uint64_t bytes = 0;
        struct answer a;
        if (!r.m->spaces || !ask(&a, &r.p, "view=space&by=%s", word))
            continue;
        for (size_t i = 0; i < tt_table_rows(&a.t); i++)
            if (role_of(&a, i) == TT_ROW_ENTRY)
                check_space(&a, i, r.m, word);
        for (int j = 0; j < r.m->spaces; j++)
            bytes += event_of(&r.m->space[j], word) ? 0 : r.m->space[j].bytes;
        CHECK_INT(sum_of(&a, "bytes"), bytes);
        answered(&a);
        say_case(&r);
    }
}

TEST(a_series_adds_up_at_each_time_however_many_bands_are_shown)
{
    struct random_case r = {0};

    while (next_case(&r, 130000, tap_times(CASES))) {
        int limit = (int)(r.seed % 4);
        struct answer a;
        if (!r.m->points || !ask(&a, &r.p, "view=series&limit=%d", limit))
            continue;
        for (uint64_t time = 0; time < 5000; time += 1000) {
            uint64_t want = 0, got = 0;
            for (int j = 0; j < r.m->points; j++)
                want += r.m->point[j].time == time ? r.m->point[j].amount : 0;
            for (size_t i = 0; i < tt_table_rows(&a.t); i++)
                got += amount(&a, i, "time") == time ? amount(&a, i, "amount") : 0;
            CHECK_INT(got, want);
        }
        for (size_t i = 0; i < tt_table_rows(&a.t); i++) {
            uint64_t want = 0;
            for (int j = 0; j < r.m->points; j++)
                if (r.m->point[j].time == amount(&a, i, "time") &&
                    strcmp(r.m->point[j].label, text_at(&a, i, "name")) == 0)
                    want += r.m->point[j].amount;
            if (role_of(&a, i) == TT_ROW_ENTRY)
                CHECK_INT(amount(&a, i, "amount"), want);
        }
        answered(&a);
        say_case(&r);
    }
}
