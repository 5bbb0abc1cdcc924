/* SPDX-License-Identifier: MIT */
/* digest-test.c - with a digest every answer is the same as without, byte by byte; its
 * figures are those of the columns; and if it has everything that is needed, nothing else
 * is read. */
#include "digest.h"

#include "failing.h"
#include "finish.h"
#include "random-profile.h"
#include "table-json.h"
#include "table-print.h"
#include "tap.h"
#include "view.h"

enum { CASES = TAP_CASES(1500) };

static int open_with(const struct model *m, uint32_t rows, struct tt_profile *p)
{
    struct tt_builder *b = tt_builder_new(NULL);
    void *image = NULL;
    size_t size = 0;

    model_build(m, 0, b);
    tt_builder_digest(b, rows);
    if (CHECK_INT(tt_builder_finish(b, &image, &size), 0) &&
        !CHECK_INT(tt_profile_open(p, image, size, NULL), 0))
        tt_memory_put(NULL, image);
    tt_builder_free(b);
    return p->image != NULL;
}

static void answer(const struct tt_profile *p, const char *text, struct tt_text *out)
{
    struct tt_query q;
    struct tt_table t;

    tt_query_init(&q, NULL);
    tt_text_init(out, NULL);
    if (CHECK_INT(tt_query_parse(&q, text), 0) && CHECK_INT(tt_view(p, &q, &t), 0)) {
        tt_text_json(out, &t, p);
        tt_table_fini(&t);
    }
    tt_query_fini(&q);
}

static void check_same(const struct tt_profile *p, const struct tt_profile *q,
                       const char *text)
{
    struct tt_text one, other;

    answer(p, text, &one);
    answer(q, text, &other);
    if (!CHECK(strcmp(tt_text_string(&one), tt_text_string(&other)) == 0))
        printf("# %s\n", text);
    tt_text_fini(&one);
    tt_text_fini(&other);
}

/* Another question each time, of the views that a digest is for. */
static void random_query(struct model *m, const struct tt_profile *p, char text[200])
{
    static const char *const views[] = {"flame", "tree",   "flat", "strands&by=context",
                                        "graph", "groups", "block"},
                             *const shares[] = {"0",    "0.0001", "0.01",
                                                "0.05", "0.2",    "1"},
                             *const limits[] = {"all", "1", "2", "3", "7", "20"};
    const int view = model_below(m, 7);
    int length = snprintf(text, 200, "view=%s&metric=%s", views[view],
                          p->metric[model_below(m, (int)p->metrics)].name);

    if (view == 6) { /* what begins with a bracket is no set of letters */
        const char *name = tt_block_name(p, (uint32_t)model_below(m, (int)p->blocks));
        (void)snprintf(text + length, 200 - (size_t)length, "&block=%s%s%s",
                       *name == '[' ? "\\" : "", name, model_chance(m, 20) ? "*" : "");
        return;
    }
    if (model_chance(m, 80))
        length += snprintf(text + length, 200 - (size_t)length, "&threshold=%s",
                           shares[model_below(m, 6)]);
    if (model_chance(m, 60))
        length += snprintf(text + length, 200 - (size_t)length, "&limit=%s",
                           limits[model_below(m, 6)]);
    if (view > 1)
        return;
    if (model_chance(m, 30))
        length += snprintf(text + length, 200 - (size_t)length, "&depth=%d",
                           model_below(m, 5));
    if (model_chance(m, 30))
        (void)snprintf(text + length, 200 - (size_t)length, "&%s=%d",
                       model_chance(m, 50) ? "context" : "to",
                       model_below(m, (int)p->contexts));
}

TEST(answers_are_the_same_with_a_digest)
{
    for (uint64_t seed = 1; seed <= (uint64_t)tap_times(CASES); seed++) {
        struct model *m = model_random(seed);
        struct tt_profile plain, digested;
        char text[200];
        if (!CHECK(model_open(m, 0, &plain)) ||
            !open_with(m, 1 + (uint32_t)model_below(m, m->paths + 3), &digested))
            return;
        for (int i = 0; plain.metrics && i < 8; i++) {
            random_query(m, &plain, text);
            check_same(&plain, &digested, text);
        }
        model_close(&plain);
        model_close(&digested);
        model_free(m);
    }
}

/* ── What is in it ────────────────────────────────────────────────────────────────── */

static int is_in(const struct tt_profile *p, uint32_t context)
{
    for (uint32_t i = 0; i < p->digests; i++)
        if (p->digest[i].context == context)
            return 1;
    return 0;
}

static void check_rows(const struct tt_profile *p)
{
    for (uint32_t c = 0; c < p->contexts; c++)
        for (uint32_t k = 0; k < p->metrics; k++)
            if (tt_total_of(p, &p->metric[k], c) >= p->digest_least[k])
                CHECK(is_in(p, c));
    for (uint32_t i = 0; i < p->digests; i++)
        for (uint32_t c = 0; c < p->digest[i].context; c++)
            if (tt_end_of(p, c) > p->digest[i].context)
                CHECK(is_in(p, c)); /* its parents */
}

TEST(a_digest_has_all_that_is_large_and_its_parents)
{
    uint64_t rows = 0, full = 0;

    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct model *m = model_random(seed);
        uint32_t room = 1 + (uint32_t)model_below(m, m->paths);
        struct tt_profile p;
        if (!open_with(m, room, &p))
            return;
        check_rows(&p);
        rows += p.digests;
        full += p.digests == room;
        model_close(&p);
        model_free(m);
    }
    CHECK(rows > 1000 && full > 10);
}

/* ── Nothing else is looked at ────────────────────────────────────────────────────── */

/* A copy of running sums, of which nothing is right but the ends. */
static uint64_t *spoil(const uint64_t *sums, uint32_t contexts)
{
    uint64_t *copy = malloc(((size_t)contexts + 1) * sizeof *copy);

    for (uint32_t i = 0; i <= contexts; i++)
        copy[i] = i && i < contexts ? 12345 * (uint64_t)i : sums[i];
    return copy;
}

static void spoil_all(struct tt_profile *p)
{
    for (uint32_t k = 0; k < p->metrics; k++) {
        struct tt_metric_columns *m = &p->metric[k];
        const uint64_t **column[] = {&m->self, &m->elsewhere, &m->low};
        for (int i = 0; i < 3; i++)
            if (*column[i])
                *column[i] = spoil(*column[i], p->contexts);
    }
}

static void free_spoiled(struct tt_profile *p)
{
    for (uint32_t k = 0; k < p->metrics; k++) {
        free((void *)(uintptr_t)p->metric[k].self);
        free((void *)(uintptr_t)p->metric[k].elsewhere);
        free((void *)(uintptr_t)p->metric[k].low);
    }
}

TEST(views_of_what_is_large_look_at_nothing_else)
{
    static const char *const views[] = {
        "flat",  "flame&threshold=0.001", "tree&threshold=0.001", "header",
        "graph", "block&block=\\[root]"};
    int looked = 0, graphs = 0;

    for (uint64_t seed = 1; seed <= 600; seed++) {
        struct model *m = model_random(seed);
        struct tt_profile whole, spoiled;
        if (!open_with(m, 64, &whole) || !open_with(m, 64, &spoiled))
            return;
        spoil_all(&spoiled);
        for (uint32_t k = 0; !m->arcs && k < whole.metrics; k++)
            for (int i = 0; whole.digests > 5 && i < 6; i++) {
                char text[100];
                if (i >= 4 && (!whole.edges || whole.many_times))
                    continue;
                graphs += i == 4;
                (void)snprintf(text, sizeof text, "view=%s&metric=%s", views[i],
                               whole.metric[k].name);
                check_same(&whole, &spoiled, text);
                looked++;
            }
        free_spoiled(&spoiled);
        model_close(&whole);
        model_close(&spoiled);
        model_free(m);
    }
    CHECK(looked > 100 && graphs > 40);
}

/* ── No memory ────────────────────────────────────────────────────────────────────── */

TEST(a_digest_that_finds_no_memory_leaves_nothing_behind)
{
    struct model *m = model_random(3);
    int error = -TT_ERR_MEMORY;

    for (long n = 1; error && n < 5000; n++) {
        struct tt_builder *b;
        void *image = NULL;
        size_t size = 0;
        failing_after = n;
        b = tt_builder_new(&failing);
        if (!b)
            continue;
        model_build(m, 0, b);
        tt_builder_digest(b, 8);
        error = tt_builder_finish(b, &image, &size);
        tt_builder_free(b);
        CHECK_INT(failing_pieces, image != NULL);
        CHECK_INT(error, image ? 0 : -TT_ERR_MEMORY);
        tt_memory_put(&failing, image);
    }
    CHECK_INT(error, 0);
    model_free(m);
}
