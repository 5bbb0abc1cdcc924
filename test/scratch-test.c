/* SPDX-License-Identifier: MIT */
/* scratch-test.c - memory for the engine that is in files keeps its content. */
#include "scratch.h"

#include <string.h>

#include "tap.h"

enum { MIB = 1 << 20 };

static unsigned char mark(size_t at) { return (unsigned char)(at * 2654435761u >> 24); }

static void fill(unsigned char *p, size_t size)
{
    for (size_t i = 0; i < size; i++)
        p[i] = mark(i);
}

static size_t differ(const unsigned char *p, size_t from, size_t to)
{
    size_t n = 0;

    for (size_t i = from; i < to; i++)
        n += p[i] != mark(i);
    return n;
}

static size_t nonzero(const unsigned char *p, size_t from, size_t to)
{
    size_t n = 0;

    for (size_t i = from; i < to; i++)
        n += p[i] != 0;
    return n;
}

/* Small ones, mapped ones, into a file, and from one file to another. */
TEST(a_piece_that_grows_keeps_what_is_in_it_and_is_zeroed_behind)
{
    static const size_t sizes[] = {1000,           MIB / 2,      2 * MIB, 5 * MIB + 123,
                                   40 * MIB + 777, 70 * MIB + 1, 90 * MIB};
    unsigned char *p = tt_memory_get(&tt_scratch, sizes[0]), *larger;

    for (size_t i = 1; CHECK(p != NULL) && i < sizeof sizes / sizeof *sizes; i++) {
        CHECK_INT(nonzero(p, i > 1 ? sizes[i - 2] : 0, sizes[i - 1]), 0);
        fill(p, sizes[i - 1]);
        larger = tt_memory_grow(&tt_scratch, p, sizes[i]);
        if (!CHECK(larger != NULL))
            break;
        p = larger;
        CHECK_INT(differ(p, 0, sizes[i - 1]), 0);
        CHECK_INT(nonzero(p, sizes[i - 1], sizes[i]), 0);
    }
    tt_memory_put(&tt_scratch, p);
}

TEST(what_lies_around_a_part_that_is_forgotten_stays)
{
    static const size_t sizes[] = {MIB / 4, 4 * MIB, 66 * MIB};

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const size_t size = sizes[i], from = 100, to = size / 4 * 3 + 5;
        unsigned char *p = tt_memory_get(&tt_scratch, size);
        if (!CHECK(p != NULL))
            return;
        fill(p, size);
        tt_memory_forget(&tt_scratch, p + from, to - from);
        tt_memory_forget(&tt_scratch, p + 7, 9); /* not a page */
        CHECK_INT(differ(p, 0, from), 0);
        CHECK_INT(differ(p, to, size), 0);
        fill(p, size); /* and it can be used again */
        CHECK_INT(differ(p, 0, size), 0);
        tt_memory_put(&tt_scratch, p);
    }
}

static size_t not_zero(const unsigned char *p, size_t size)
{
    size_t n = 0;

    for (size_t i = 0; i < size; i++)
        n += p[i] != 0;
    return n;
}

/* One after the other is in the place of the one before. */
TEST(pieces_that_are_used_again_are_zero_and_grow_zero)
{
    static const size_t sizes[] = {4 * MIB, MIB + 5,       2 * MIB,
                                   MIB,     3 * MIB + 100, MIB + 1};

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const size_t size = sizes[i], larger = size + 2 * MIB;
        unsigned char *p = tt_memory_get(&tt_scratch, size);
        if (!CHECK(p != NULL))
            return;
        CHECK_INT(not_zero(p, size), 0);
        fill(p, size);
        if (i % 2) {
            p = tt_memory_grow(&tt_scratch, p, larger);
            if (!CHECK(p != NULL))
                return;
            CHECK_INT(differ(p, 0, size), 0);
            CHECK_INT(not_zero(p + size, larger - size), 0);
            memset(p, 0xff, larger);
        }
        tt_memory_put(&tt_scratch, p);
    }
}

TEST(a_vector_that_is_given_up_behind_is_whole_ahead)
{
    enum { ITEMS = 400000 };
    struct item {
        uint32_t n[3];
    } * item;
    struct tt_vector v;
    size_t wrong = 0;

    tt_vector_init(&v, &tt_scratch, sizeof *item);
    item = tt_vector_add(&v, ITEMS);
    if (!CHECK(item != NULL))
        return;
    for (uint32_t i = 0; i < ITEMS; i++)
        item[i] = (struct item){{i, i * 7, ~i}};
    for (uint32_t i = 0; i < ITEMS; i++) {
        wrong += item[i].n[0] != i || item[i].n[1] != i * 7 || item[i].n[2] != ~i;
        tt_vector_forget(&v, i + 1);
    }
    CHECK_INT(wrong, 0);
    tt_vector_fini(&v);
}
