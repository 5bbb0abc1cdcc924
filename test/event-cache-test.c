/* SPDX-License-Identifier: MIT */
/* needs: internals */
/* event-cache-test.c - objects reported on the fast path have the same figures as on the
 * general one; and reports of threads without a strand. */
#include <pthread.h>

#include "figures.h"
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
    int paused;
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
    switch (next_of(t, 8)) {
    case 0:
        if (!t->paused)
            tt_gc_begin(next_of(t, 3));
        tt_gc_end();
        break;
    case 1:
        CHECK_INT(tt_select(next_of(t, 2) ? is_even : NULL, NULL), 0);
        break;
    case 2:
        CHECK_INT(t->paused ? tt_resume() : tt_pause(), 0);
        t->paused = !t->paused;
        break;
    default:
        if (t->paused)
            CHECK_INT(tt_resume(), 0);
        t->paused = 0;
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
        CHECK(fast.rows != 0 && fast.bands != 0);
        CHECK_INT(fast.rows, general.rows);
        CHECK_INT(fast.bands, general.bands);
    }
}

/* ── Without a strand ─────────────────────────────────────────────────────────────── */

static pthread_key_t over_key;
static tt_context over_origin[2];
static tt_type over_type;

/* The runtime's own destructor has run: its key is older. */
static void free_late(void *arg)
{
    (void)arg;
    tt_free(over_origin[0], over_type, 100, 0, 0);
    tt_free(over_origin[1], over_type, 30, 0, 0);
}

static void *end_late(void *arg)
{
    CHECK_INT(pthread_setspecific(over_key, arg), 0);
    tt_pop(tt_push(block("late")));
    return NULL;
}

static uint64_t alive_here(void)
{
    struct recorded r = recorded_here();
    uint64_t live = r.picture.space ? r.picture.space->live : UINT64_MAX;

    recorded_free(&r);
    return live;
}

TEST(what_a_thread_frees_that_is_over_is_not_alive_any_more)
{
    pthread_t thread;
    tt_mark m;

#ifdef __SANITIZE_THREAD__
    SKIP("the sanitizer is gone before the last destructors");
#endif
    over_type = tt_type_get("over");
    CHECK_INT(tt_start("calls,space=alloc+types+peak"), 0);
    m = tt_push(block("makes"));
    over_origin[0] = tt_alloc(over_type, 100, 0);
    (void)tt_alloc(over_type, 1000, 0);
    tt_pop(m);
    over_origin[1] = 0; /* of the root, where nothing was made */
    CHECK_INT(pthread_key_create(&over_key, free_late), 0);
    CHECK_INT(pthread_create(&thread, NULL, end_late, &over_type), 0);
    pthread_join(thread, NULL);
    CHECK_INT(alive_here(), 1000);
    m = tt_push(block("makes"));
    (void)tt_alloc(over_type, 90, 0); /* less than was most */
    tt_pop(m);
    CHECK_INT(alive_here(), 1090);
    tt_stop();
    pthread_key_delete(over_key);
}
