/* SPDX-License-Identifier: MIT */
/* embedded-profile-test.c - a packed profile is unpacked unchanged, and damage is an
 * error or a profile. */
#include "embedded-profile.h"
#include "finish.h"
#include "random-profile.h"
#include "tap.h"

enum { ROUNDS = 200 };

/* The same image, when there is nothing in it that packing leaves out. */
static int comes_out(const struct tt_profile *p, size_t *bytes)
{
    struct tt_vector embedded;
    void *image = NULL;
    size_t size = 0;
    int same;

    tt_vector_init(&embedded, NULL, 1);
    same = CHECK_INT(tt_embedded_pack(p, &embedded), 0) &&
           CHECK_INT(
               tt_embedded_unpack(embedded.item, embedded.count, NULL, &image, &size),
               0) &&
           CHECK_INT(size, p->size) && CHECK(memcmp(image, p->image, size) == 0);
    *bytes = embedded.count;
    tt_memory_put(NULL, image);
    tt_vector_fini(&embedded);
    return same;
}

TEST(a_packed_profile_becomes_the_image_it_was_made_of)
{
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        struct model *m = model_random(seed);
        struct tt_profile p;
        size_t bytes;
        if (!CHECK(model_open(m, seed, &p)) || !comes_out(&p, &bytes))
            return;
        CHECK(bytes < p.size);
        model_close(&p);
        model_free(m);
    }
}

/* Figures of 64 bits, and sums of them that go round. */
TEST(the_greatest_figures_come_out_too)
{
    static const uint64_t amount[] = {0,       1,          127,     128,        16383,
                                      1 << 14, 1ull << 35, 1 << 21, UINT64_MAX, 5};
    struct tt_builder *b = tt_builder_new(NULL);
    uint32_t metric = tt_builder_metric(b, "bytes", "bytes", TT_METRIC_SPACE), at;
    struct tt_profile p;
    void *image;
    size_t size, bytes;

    at = TT_BUILDER_ROOT;
    for (size_t i = 0; i < sizeof amount / sizeof *amount; i++) {
        char name[8];
        (void)snprintf(name, sizeof name, "b%zu", i);
        at = tt_builder_context(
            b, at, tt_builder_block(b, &(struct tt_block_info){.name = name}));
        tt_builder_add(b, TT_ROLE_SELF, at, metric, amount[i]);
        tt_builder_missed(b, at, metric, amount[i]);
    }
    CHECK_INT(tt_builder_finish(b, &image, &size), 0);
    tt_builder_free(b);
    CHECK_INT(tt_profile_open(&p, image, size, NULL), 0);
    (void)comes_out(&p, &bytes);
    tt_profile_close(&p);
    tt_memory_put(NULL, image);
}

TEST(texts_that_no_view_shows_are_left_out)
{
    struct tt_builder *b = tt_builder_new(NULL);
    struct tt_profile p, q;
    struct tt_vector embedded;
    void *image, *again;
    size_t size;

    tt_builder_fact(b, "order", TT_FACT_EACH, 0, "as it was in the file");
    tt_builder_fact(b, "program", TT_FACT_EACH, 1, "demo");
    tt_builder_fact(b, TT_SERIES_CLOCK, TT_FACT_EACH, 0, "days");
    CHECK_INT(tt_builder_finish(b, &image, &size), 0);
    tt_builder_free(b);
    CHECK_INT(tt_profile_open(&p, image, size, NULL), 0);
    tt_vector_init(&embedded, NULL, 1);
    CHECK_INT(tt_embedded_pack(&p, &embedded), 0);
    CHECK_STR(tt_fact_text(&p, "order"), "as it was in the file");
    CHECK_INT(tt_embedded_unpack(embedded.item, embedded.count, NULL, &again, &size), 0);
    CHECK_INT(tt_profile_open(&q, again, size, NULL), 0);
    CHECK_STR(tt_fact_text(&q, "order"), "");
    CHECK_STR(tt_fact_text(&q, "program"), "demo");
    CHECK_STR(tt_fact_text(&q, TT_SERIES_CLOCK), "days");
    tt_profile_close(&q);
    tt_profile_close(&p);
    tt_vector_fini(&embedded);
    tt_memory_put(NULL, again);
    tt_memory_put(NULL, image);
}

/* A copy that ends where it ends, so that a step too far is seen. */
static void try_bytes(const char *bytes, size_t count)
{
    char *copy = malloc(count ? count : 1);
    struct tt_profile p;
    void *image = NULL;
    size_t size = 0;
    int error;

    memcpy(copy, bytes, count);
    error = tt_embedded_unpack(copy, count, NULL, &image, &size);
    CHECK(error == 0 || error == -TT_ERR_FORMAT);
    CHECK((error == 0) == (image != NULL));
    if (!error && tt_profile_open(&p, image, size, NULL) == 0)
        tt_profile_close(&p);
    tt_memory_put(NULL, image);
    free(copy);
}

TEST(no_damage_does_more_than_give_an_error)
{
    struct model *m = model_random(7);
    struct tt_vector embedded;
    struct tt_profile p;
    char *bytes;

    tt_vector_init(&embedded, NULL, 1);
    if (!CHECK(model_open(m, 0, &p)) || !CHECK_INT(tt_embedded_pack(&p, &embedded), 0))
        return;
    bytes = embedded.item;
    for (size_t count = 0; count < embedded.count; count++)
        try_bytes(bytes, count);
    for (size_t at = 0; at < embedded.count; at++)
        for (int bit = 0; bit < 8; bit += 3) {
            bytes[at] = (char)(bytes[at] ^ 1 << bit);
            try_bytes(bytes, embedded.count);
            bytes[at] = (char)(bytes[at] ^ 1 << bit);
        }
    tt_vector_fini(&embedded);
    model_close(&p);
    model_free(m);
}
