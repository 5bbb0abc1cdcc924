/* SPDX-License-Identifier: MIT */
/* needs: internals */
/* told-test.c - what is told of objects on the fast path comes to the same as in general. */
#include "recorded.h"
#include "tallytree.h"
#include "tap.h"

static tt_block block(const char *name) { return tt_block_get(name, NULL, 0, 0); }

static uint64_t mixed(uint64_t x, uint64_t more)
{
    x = (x ^ more) * 0xd6e8feb86659fd93u;
    return x ^ x >> 32;
}

struct told {
    const struct tt_picture *picture;
    uint32_t context;
    uint64_t rows, bands; /* sums, in whatever order */
};

static uint64_t path_of(const struct told *told)
{
    const struct tt_picture *p = told->picture;
    uint64_t x = 1;

    for (uint32_t i = told->context; i != UINT32_MAX; i = p->context[i].parent)
        if (p->context[i].block != UINT32_MAX)
            x = mixed(x, (unsigned char)p->block[p->context[i].block].info.name[0]);
    return x;
}

/* Ages are of how fast it went. */
static void add_row(void *arg, const struct tt_space *row, const struct tt_objects *alive)
{
    struct told *told = arg;
    uint32_t from = row->key >> TT_SPACE_FROM_SHIFT;
    uint64_t way = mixed(path_of(told), row->key & TT_KEY_BLOCK);

    way = mixed(way, from & 0x80 && from != 0xff ? 0x80 : from);
    way = mixed(way, row->flags);
    told->rows += way * (row->all.number + 3 * row->all.bytes + 5 * row->all.overhead +
                         7 * alive->number + 11 * alive->bytes);
}

static struct told told_here(void)
{
    struct recorded r = recorded_here();
    const struct tt_picture *p = &r.picture;
    struct told told = {.picture = p};
    int64_t point[TT_BAND_POINTS];

    CHECK_INT(r.error, 0);
    for (told.context = 0; told.context < p->contexts; told.context++)
        tt_picture_space(p, p->context[told.context].cell, add_row, &told);
    for (const struct tt_band *b = NULL; (b = tt_picture_band(p, p->strand[0], b));) {
        (void)tt_band_points(b, point);
        for (int k = 0; k < TT_BAND_POINTS; k++)
            told.bands += mixed(b->key, b->flags) * (uint64_t)point[k];
    }
    recorded_free(&r);
    return told;
}

static int is_even(const struct tt_block_info *info, void *arg)
{
    (void)arg;
    return info->name[0] % 2 == 0;
}

enum { TELLERS = 512, OBJECT_SIZES = 2000 };
struct teller {
    uint32_t state;
    tt_type type[2];
    struct made {
        tt_context origin;
        size_t bytes;
        tt_type type;
        unsigned generation;
    } made[TELLERS];
};

static uint32_t next_of(struct teller *t, uint32_t below)
{
    t->state = t->state * 1664525u + 1013904223u;
    return (t->state >> 8) % below;
}

static void tell_of_one(struct teller *t)
{
    struct made *m = &t->made[next_of(t, TELLERS)];

    if (m->bytes && next_of(t, 4) == 0 && m->generation < 3) {
        tt_survive(m->origin, m->type, m->bytes, 1, m->generation, m->generation + 1);
        m->generation++;
        return;
    }
    if (m->bytes)
        tt_free(m->origin, m->type, m->bytes, 1,
                m->generation ? m->generation : TT_AGE(next_of(t, 3)));
    m->type = t->type[next_of(t, 2)];
    m->bytes = 1 + next_of(t, OBJECT_SIZES);
    m->generation = 0;
    m->origin = tt_alloc(m->type, m->bytes, 1);
}

static void tell_of_a_number(struct teller *t)
{
    const uint64_t id = 1 + next_of(t, TELLERS);

    if (next_of(t, 2))
        tt_object_free(id);
    else
        (void)tt_object_new(id, t->type[id % 2], 10 * id, id % 3);
}

static void do_something_else(struct teller *t)
{
    static int paused;

    switch (next_of(t, 8)) {
    case 0:
        if (!paused)
            tt_gc_begin(next_of(t, 3));
        tt_gc_end();
        break;
    case 1:
        CHECK_INT(tt_select(next_of(t, 2) ? is_even : NULL, NULL), 0);
        break;
    case 2:
        CHECK_INT(paused ? tt_resume() : tt_pause(), 0);
        paused = !paused;
        break;
    default:
        if (paused)
            CHECK_INT(tt_resume(), 0);
        paused = 0;
    }
}

static struct told tell_at_random(const char *options, uint32_t seed)
{
    static const char *const names[] = {"a", "b", "c", "d"};
    struct teller *t = calloc(1, sizeof *t);
    struct told told;

    t->state = seed;
    t->type[0] = tt_type_get("pair");
    t->type[1] = tt_type_get("string");
    CHECK_INT(tt_start(options), 0);
    for (int i = 0; i < 4000; i++) {
        tt_mark m = tt_push(block(names[next_of(t, 4)]));
        tt_mark inner = tt_push(block(names[next_of(t, 4)]));
        for (uint32_t k = next_of(t, 20); k; k--)
            tell_of_one(t);
        tt_pop(inner);
        for (uint32_t k = next_of(t, 4); k; k--)
            tell_of_a_number(t);
        if (next_of(t, 40) == 0)
            do_something_else(t);
        tt_pop(m);
    }
    while (tt_resume() == 0)
        ;
    CHECK_INT(tt_select(NULL, NULL), 0);
    told = told_here();
    tt_stop();
    free(t);
    return told;
}

TEST(what_is_told_fast_comes_to_the_same_as_what_is_told_in_general)
{
    for (uint32_t seed = 1; seed <= 5; seed++) {
        struct told fast = tell_at_random("calls,recursion=none", seed),
                    general = tell_at_random(
                        "calls,recursion=none,space=alloc+copies+types+peak", seed);
        CHECK(fast.rows != 0);
        CHECK_INT(fast.rows, general.rows);
        CHECK_INT(fast.bands, general.bands);
    }
}
