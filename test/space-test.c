/* SPDX-License-Identifier: MIT */
/* needs: internals */
/* space-test.c - objects: no report is lost, whoever makes it, in any thread, and however
 * little room there is. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>

#include "figures.h"
#include "objects.h"
#include "recorded.h"
#include "rows.h"
#include "tallytree.h"
#include "tap.h"

struct sums {
    int64_t made, freed, alive; /* bytes */
    int64_t number, overhead;
    int64_t below;  /* made, by what was evicted */
    int64_t series; /* at its end */
};

static void sum_row(void *arg, const struct tt_space *row, const struct tt_objects *alive)
{
    struct sums *s = arg;
    uint32_t from = row->key >> TT_SPACE_FROM_SHIFT;

    if (from == 0xff) {
        s->made += (int64_t)row->all.bytes;
        s->number += (int64_t)row->all.number;
        s->overhead += (int64_t)row->all.overhead;
        if (row->kind == TT_CELL_SPACE_BELOW)
            s->below += (int64_t)row->all.bytes;
    }
    if (row->flags == 0xff)
        s->freed += (int64_t)row->all.bytes;
    s->alive += row->flags == 0xff ? -(int64_t)alive->bytes : (int64_t)alive->bytes;
}

/* Sums up a block's contexts, or all if `name` is NULL. */
static struct sums sums_of(const struct recorded *r, const char *name)
{
    const struct tt_picture *p = &r->picture;
    struct sums s = {0};

    CHECK_INT(r->error, 0);
    for (uint32_t i = 0; !r->error && i < p->contexts; i++) {
        uint32_t block = p->context[i].block;
        if (!name ||
            (block != UINT32_MAX && strcmp(p->block[block].info.name, name) == 0))
            tt_picture_space(p, p->context[i].cell, sum_row, &s);
    }
    for (uint32_t i = 0; !r->error && !name && i < p->blocks; i++) {
        const struct tt_type_record *t = p->block[i].type;
        if (!t)
            continue;
        s.made += (int64_t)t->bytes;
        s.number += (int64_t)t->number;
        s.overhead += (int64_t)t->overhead;
        s.freed += (int64_t)t->freed.bytes;
        s.alive += (int64_t)t->bytes - (int64_t)t->freed.bytes;
    }
    for (uint32_t i = 0; !r->error && i < p->strands; i++)
        for (const struct tt_band *b = NULL; (b = tt_picture_band(p, p->strand[i], b));) {
            int64_t point[TT_BAND_POINTS];
            (void)tt_band_points(b, point);
            for (int k = 0; k < TT_BAND_POINTS; k++)
                s.series += point[k];
        }
    return s;
}

static struct sums sums_here(const char *name)
{
    struct recorded r = recorded_here();
    struct sums s = sums_of(&r, name);

    recorded_free(&r);
    return s;
}

static tt_block block(const char *name) { return tt_block_get(name, NULL, 0, 0); }

/* One of w is recorded, by chance: the standard error of n of them is sqrt(n (w - 1)), and by
 * six of it two in a thousand million are off. */
static void check_sampled(const char *name, size_t bytes, uint64_t weight)
{
    enum { EVENTS = 40000, OVERHEAD = 3 };
    static tt_context made[EVENTS];
    tt_type type = tt_type_get("sampled");
    tt_mark mark = tt_push(tt_block_get(name, NULL, 0, 0));
    double off, number = 0;
    struct sums s;

    for (int i = 0; i < EVENTS; i++) {
        made[i] = tt_alloc(type, bytes, OVERHEAD);
        number += made[i] != TT_NOWHERE;
    }
    tt_pop(mark);
    s = sums_here(name);
    off = (double)s.number - EVENTS;
    CHECK(off * off <= 36. * EVENTS * (double)(weight - 1));
    CHECK_INT(s.number, number * (double)weight);
    CHECK_INT(s.made, s.number * (int64_t)bytes);
    CHECK_INT(s.overhead, s.number * OVERHEAD);
    CHECK_INT(s.alive, s.made);
    for (int i = 0; i < EVENTS; i += 2)
        tt_free(made[i], type, bytes, OVERHEAD, 0);
    s = sums_here(name);
    off = (double)s.freed - (double)EVENTS / 2 * (double)bytes;
    CHECK(off * off <=
          36. * EVENTS / 2 * (double)(weight - 1) * (double)bytes * (double)bytes);
    for (int i = 1; i < EVENTS; i += 2)
        tt_free(made[i], type, bytes, OVERHEAD, 0);
    s = sums_here(name);
    CHECK_INT(s.alive, 0);
    CHECK_INT(s.freed, s.made);
}

TEST(samples_of_objects_stand_for_all_and_are_freed_with_their_weight)
{
    CHECK(tt_start("calls,space-rate=no") != 0);
    CHECK_INT(tt_start("calls,space-rate=1000,series=type+block"), 0);
    check_sampled("tiny", 8, 128);
    check_sampled("small", 40, 32);
    check_sampled("half", 999, 2);
    check_sampled("large", 1000, 1);
    CHECK_INT(sums_here(NULL).series, 0);
    CHECK_INT(tt_stop(), 0);
    CHECK_INT(tt_start("calls"), 0);
    check_sampled("all", 1, 1);
    CHECK_INT(tt_stop(), 0);
}

TEST(an_object_that_was_picked_counts_for_as_many_as_it_stands_for)
{
    tt_type type = tt_type_get("picked");

    CHECK_INT(tt_object_weight(8), 1);
    CHECK_INT(tt_start("calls,space-rate=1000"), 0);
    CHECK_INT(tt_object_weight(8), 128);
    CHECK_INT(tt_object_weight(1000), 1);
    for (uint64_t i = 1; i <= 100; i++)
        CHECK(tt_object_picked(i, type, 8, 1) != TT_NOWHERE);
    for (uint64_t i = 1; i <= 200; i += 2) /* half of them were not picked */
        tt_object_free(i);
    CHECK_INT(sums_here("picked").number, 0); /* it is a type */
    CHECK_INT(sums_here(NULL).number, 100 * 128);
    CHECK_INT(sums_here(NULL).made, 100 * 128 * 8);
    CHECK_INT(sums_here(NULL).overhead, 100 * 128);
    CHECK_INT(sums_here(NULL).freed, 50 * 128 * 8);
    CHECK_INT(tt_stop(), 0);
}

TEST(objects_are_charged_to_the_context_that_made_them)
{
    tt_type pair = tt_type_get("pair");
    tt_mark f, g;
    tt_context made;

    CHECK_INT(tt_type_get("pair"), pair);
    CHECK(tt_alloc(pair, 1, 0) == TT_NOWHERE); /* off */
    CHECK_INT(tt_start("calls"), 0);
    f = tt_push(block("f"));
    made = tt_alloc(pair, 16, 2);
    CHECK(made == tt_context_capture());
    g = tt_push(block("g"));
    (void)tt_alloc(pair, 100, 0);
    CHECK(tt_alloc_at(made, pair, 7, 0) == made);
    errno = 17;
    tt_free(made, pair, 16, 2, 0);
    CHECK_INT(errno, 17);
    tt_free(TT_NOWHERE, pair, 16, 2, 0);
    tt_pop(g);
    tt_pop(f);
    CHECK_INT(sums_here("f").made, 23);
    CHECK_INT(sums_here("f").freed, 16);
    CHECK_INT(sums_here("f").alive, 7);
    CHECK_INT(sums_here("f").overhead, 2);
    CHECK_INT(sums_here("g").made, 100);
    CHECK_INT(sums_here(NULL).number, 3);
    tt_stop();
}

TEST(a_collection_leaves_what_survives_it)
{
    tt_type pair = tt_type_get("pair");
    tt_context a, b;
    tt_mark f;

    CHECK_INT(tt_start("calls"), 0);
    f = tt_push(block("f"));
    a = tt_alloc(pair, 1, 0);
    b = tt_alloc(pair, 10, 0);
    (void)tt_alloc(pair, 100, 0);
    tt_gc_begin(0);
    tt_survive(a, pair, 1, 0, 0, 1);
    tt_survive(b, pair, 10, 0, 0, 0); /* stays where it is */
    tt_gc_end();
    CHECK_INT(sums_here("f").alive, 11);
    (void)tt_alloc(pair, 1000, 0);
    CHECK_INT(sums_here("f").alive, 1011);
    tt_gc_begin(0);
    tt_gc_end();
    CHECK_INT(sums_here("f").alive, 1); /* it is in generation 1 */
    tt_gc_begin(1);
    tt_survive(a, pair, 1, 0, 1, 2);
    tt_gc_end();
    CHECK_INT(sums_here("f").alive, 1);
    tt_gc_begin(2);
    tt_gc_end();
    CHECK_INT(sums_here("f").alive, 0);
    CHECK_INT(sums_here("f").made, 1111);
    CHECK_INT(sums_here("f").freed, 0);
    tt_pop(f);
    tt_stop();
}

TEST(a_paused_thread_makes_objects_of_which_nothing_is_known)
{
    tt_type pair = tt_type_get("pair");
    tt_context before, within;

    CHECK_INT(tt_start("calls"), 0);
    before = tt_alloc(pair, 1, 0);
    tt_pause();
    tt_pause();
    within = tt_alloc(pair, 10, 0);
    CHECK(within == TT_NOWHERE);
    CHECK(tt_alloc_at(0, pair, 10, 0) == TT_NOWHERE);
    tt_free(before, pair, 1, 0, 0);
    tt_resume();
    CHECK(tt_alloc(pair, 100, 0) == TT_NOWHERE);
    tt_resume();
    tt_free(within, pair, 10, 0, 0);
    (void)tt_alloc(pair, 1000, 0);
    CHECK_INT(sums_here(NULL).made, 1001);
    CHECK_INT(sums_here(NULL).freed, 1);
    tt_stop();
}

TEST(ages_are_powers_of_two)
{
    CHECK_INT(tt_age(0), TT_AGE(0));
    CHECK_INT(tt_age(1), TT_AGE(1));
    CHECK_INT(tt_age(7), TT_AGE(3));
    CHECK_INT(tt_age(8), TT_AGE(4));
    CHECK_INT(tt_age(UINT64_MAX), TT_AGE(63));
}

/* As cells of contexts are: one after the other, or with rows and other data between them. */
static uint32_t homes(uint32_t contexts, uint32_t apart, uint32_t mask)
{
    static char seen[1 << 16];
    uint32_t n = 0;

    memset(seen, 0, sizeof seen);
    for (uint32_t i = 0; i < contexts; i++) {
        char *s = &seen[tt_space_home(1000 + i * apart, 0xff01, 0xff) & mask];
        n += !*s;
        *s = 1;
    }
    return n;
}

TEST(rows_of_many_contexts_begin_at_different_places_of_the_index)
{
    enum { CONTEXTS = 10000, MASK = (1 << 15) - 1, RANDOM = 8600 }; /* n (1 - e^-x) / x */

    uint32_t crowded = 0;

    for (uint32_t apart = 1; apart < 200; apart++)
        crowded += homes(CONTEXTS, apart, MASK) < RANDOM * 9 / 10;
    CHECK_INT(crowded, 0);
}

TEST(a_type_is_no_block)
{
    tt_type pair = tt_type_get("pair");
    tt_mark m;

    CHECK_INT(tt_start("calls"), 0);
    m = tt_push(pair);
    tt_replace(pair);
    (void)tt_alloc(block("f"), 10, 0);
    (void)tt_alloc(12345678, 10, 0);
    (void)tt_alloc(0, 10, 0);
    tt_pop(m);
    CHECK_INT(sums_here(NULL).made, 0);
    tt_stop();
}

/* ── What is recorded ─────────────────────────────────────────────────────────────── */

static char folder[] = "/tmp/tallytree-space-XXXXXX", words[200];

static const char *profile(const char *more)
{
    snprintf(words, sizeof words, "-profile=%s/profile%s", folder, more);
    return words;
}

TEST(the_flags_of_mlworks_want_profile)
{
    struct tt_options o;

    CHECK(mkdtemp(folder) != NULL);
    CHECK_INT(tt_start("profile-scan=5"), -TT_ERR_OPTION);
    CHECK_INT(tt_start("profile-depth=1"), -TT_ERR_OPTION);
    CHECK_INT(tt_start("profile-select=f"), -TT_ERR_OPTION);
    CHECK_INT(tt_start("profile-manner=7"), -TT_ERR_OPTION);
    CHECK_INT(tt_start(profile(",-profile-depth=16")), -TT_ERR_OPTION);
    CHECK_INT(tt_start(profile(",-profile-manner=1048576")), -TT_ERR_OPTION);
    CHECK_INT(tt_start(profile(",-profile-scan=often")), -TT_ERR_OPTION);
    CHECK_INT(tt_start("profile="), -TT_ERR_OPTION);
    CHECK_INT(tt_options_read(&o, profile(""), NULL), 0);
    CHECK_INT(o.profile.scan, 10);
    CHECK_INT(o.profile.depth, 0);
    CHECK_INT(o.profile.manner, 7);
    CHECK_INT(o.hz, 100);
    CHECK_INT(o.mode[TT_KIND_BLOCK], TT_MODE_CALLS);
    CHECK_INT(o.mode[TT_KIND_CENTRE], TT_MODE_SAMPLED);
    CHECK_INT(o.space, TT_SPACE_ALLOC | TT_SPACE_COPIES);
    CHECK_INT(tt_options_read(&o, profile(",-profile-manner=2"), NULL), 0);
    CHECK_INT(o.mode[TT_KIND_BLOCK], TT_MODE_SAMPLED);
    CHECK_INT(o.space, 0);
    CHECK_INT(tt_options_read(&o, profile(",-profile-scan=0,-profile-manner=261"), NULL),
              0);
    CHECK_INT(o.mode[TT_KIND_CENTRE], TT_MODE_CALLS);
    CHECK_INT(o.space, TT_SPACE_ALLOC | TT_SPACE_COPIES | TT_SPACE_TYPES);
    CHECK_INT(tt_start(profile(",-profile-depth=15")), 0);
    CHECK_INT(tt_stop(), 0);
    snprintf(words, sizeof words, "rm -rf %s", folder);
    CHECK_INT(system(words), 0);
}

static void allocate_as(const char *name, size_t bytes)
{
    tt_mark m = tt_push(block(name));

    (void)tt_alloc(tt_type_get("pair"), bytes, 0);
    tt_pop(m);
}

TEST(space_is_recorded_in_parts)
{
    struct recorded r;
    tt_context a;

    CHECK_INT(tt_start("calls,space=none"), 0);
    CHECK(tt_alloc(tt_type_get("pair"), 1, 0) == TT_NOWHERE);
    CHECK(tt_alloc_at(0, tt_type_get("pair"), 1, 0) == TT_NOWHERE);
    CHECK_INT(sums_here(NULL).made, 0);
    tt_stop();
    CHECK_INT(tt_start("calls,space=alloc"), 0);
    a = tt_alloc(tt_type_get("pair"), 1, 0);
    (void)tt_alloc(tt_type_get("other"), 10, 0);
    tt_gc_begin(0);
    tt_survive(a, tt_type_get("pair"), 1, 0, 0, 1);
    tt_gc_end();
    CHECK_INT(sums_here(NULL).made, 11);
    CHECK_INT(sums_here(NULL).alive, 0); /* what survived was not recorded */
    r = recorded_here();
    for (uint32_t i = 0; i < r.picture.strands; i++)
        for (const struct tt_band *b = NULL;
             (b = tt_picture_band(&r.picture, r.picture.strand[i], b));)
            CHECK_STR(tt_picture_type(&r.picture, b->key), "[any]");
    recorded_free(&r);
    tt_stop();
    CHECK_INT(tt_start("space=types+often"), -TT_ERR_OPTION);
}

static int wants_f(const struct tt_block_info *info, void *arg)
{
    ++*(int *)arg;
    return info->name[0] == 'f';
}

TEST(objects_of_chosen_blocks_alone_are_recorded)
{
    int asked = 0;

    CHECK_INT(tt_select(wants_f, &asked), 0);
    CHECK_INT(tt_start("calls"), 0);
    allocate_as("f1", 1);
    allocate_as("g1", 10);
    (void)tt_alloc(tt_type_get("pair"), 1000, 0); /* the root is no block */
    allocate_as("f2", 100);
    CHECK_INT(sums_here(NULL).made, 101);
    CHECK(asked >= 3);
    asked = 0;
    CHECK_INT(tt_select(NULL, NULL), 0);
    allocate_as("g1", 10000);
    CHECK_INT(sums_here(NULL).made, 10101);
    CHECK_INT(tt_select(wants_f, &asked), 0); /* while it runs */
    allocate_as("g1", 10);
    allocate_as("f1", 1);
    CHECK_INT(sums_here(NULL).made, 10102);
    CHECK(asked >= 3);
    tt_stop();
    CHECK_INT(tt_select(NULL, NULL), 0);
}

/* ── Little room ──────────────────────────────────────────────────────────────────── */

static uint64_t state = 1;

static uint32_t dice(uint32_t sides)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((state >> 33) % sides);
}

enum { LIVE = 2000, EVENTS = 200000 };

struct object {
    tt_context origin;
    tt_type type;
    uint32_t bytes;
};

/* Goes about in a tree far too large for its budget, and makes and frees objects there. */
static void wander(struct object *live, struct sums *truth, int events)
{
    tt_block name[40];
    tt_type type[5];
    tt_mark open[24];
    int depth = 0;

    for (int i = 0; i < 40; i++)
        name[i] = block((char[]){'b', (char)('a' + i / 10), (char)('0' + i % 10), 0});
    for (int i = 0; i < 5; i++)
        type[i] = tt_type_get((char[]){'t', (char)('a' + i), 0});
    for (int i = 0; i < events; i++) {
        struct object *o = &live[dice(LIVE)];
        if (depth < 24 && dice(100) < 50)
            open[depth++] = tt_push(name[dice(40)]);
        else if (depth)
            tt_pop(open[--depth]);
        if (o->bytes) {
            tt_free(o->origin, o->type, o->bytes, 1, 0);
            truth->freed += o->bytes;
            o->bytes = 0;
        } else {
            o->bytes = dice(100) + 1;
            o->type = type[dice(5)];
            o->origin = tt_alloc(o->type, o->bytes, 1);
            truth->made += o->bytes;
            truth->number++;
            truth->overhead++;
        }
    }
    while (depth)
        tt_pop(open[--depth]);
}

static void check_sums(const struct sums *got, const struct sums *truth)
{
    CHECK_INT(got->made, truth->made);
    CHECK_INT(got->freed, truth->freed);
    CHECK_INT(got->number, truth->number);
    CHECK_INT(got->overhead, truth->overhead);
    CHECK_INT(got->alive, truth->made - truth->freed);
}

TEST(eviction_loses_no_byte)
{
    static const char *const budgets[] = {"calls,budget=128K", "calls,budget=2000nodes",
                                          "exact,budget=512K", "calls,budget=64nodes"};
    static struct object live[LIVE];

    for (int i = 0; i < 4; i++) {
        struct sums truth = {0}, got;
        struct recorded r;
        memset(live, 0, sizeof live);
        CHECK_INT(tt_start(budgets[i]), 0);
        wander(live, &truth, tap_times(EVENTS));
        r = recorded_here();
        CHECK(recorded_evictions(&r) > 0);
        got = sums_of(&r, NULL);
        check_sums(&got, &truth);
        CHECK_INT(got.series, got.alive);
        CHECK(got.below > 0);
        recorded_free(&r);
        tt_stop();
    }
}

static void go_about(int pushes)
{
    tt_mark open[24];
    int depth = 0;

    for (int i = 0; i < pushes; i++)
        if (depth < 24 && dice(100) < 60)
            open[depth++] = tt_push(block((char[]){'b', (char)('a' + dice(40)), 0}));
        else if (depth)
            tt_pop(open[--depth]);
    while (depth)
        tt_pop(open[--depth]);
}

TEST(what_is_told_again_goes_where_its_context_went)
{
    enum { HOT = 12, ROUNDS = 60 };
    const int rounds = tap_times(ROUNDS);
    tt_type type = tt_type_get("hot");
    struct sums truth = {0}, got;
    struct recorded r;

    CHECK_INT(tt_start("calls,recursion=none,budget=512K"), 0);
    for (int i = 0; i < rounds; i++) {
        tt_context at[HOT];
        tt_mark outer = tt_push(block("outer"));
        for (int k = 0; k < HOT; k++) {
            tt_mark inner = tt_push(block((char[]){'h', (char)('a' + (i + k) % 40), 0}));
            at[k] = tt_alloc(type, 5, 1);
            tt_pop(inner);
        }
        tt_pop(outer);
        for (int again = 0; again < 3; again++) {
            for (int k = 0; k < HOT; k++) {
                CHECK(tt_alloc_at(at[k], type, 3, 1) == at[k]);
                tt_free(at[k], type, 2, 1, 0);
            }
            go_about(4000);
        }
        truth.made += HOT * (5 + 3 * 3);
        truth.freed += HOT * 3 * 2;
        truth.number += HOT * 4;
        truth.overhead += HOT * 4;
    }
    r = recorded_here();
    CHECK(recorded_evictions(&r) > 0);
    got = sums_of(&r, NULL);
    check_sums(&got, &truth);
    CHECK_INT(got.series, got.alive);
    recorded_free(&r);
    tt_stop();
}

/* ── Threads ──────────────────────────────────────────────────────────────────────── */

#ifdef __SANITIZE_THREAD__ /* threads that wait for the lock of a series take minutes */
enum { THREADS = 8, TRADES = 2000 };
#else
enum { THREADS = 8, TRADES = 20000 };
#endif

static struct exchange {
    pthread_mutex_t lock;
    struct object live[LIVE];
    struct sums truth;
} exchange = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Makes objects that other threads free, and the other way round. */
static void *trade(void *arg)
{
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g"};
    uint64_t mine = (uintptr_t)arg;
    tt_type type = tt_type_get("goods");

    for (int i = 0; i < TRADES; i++) {
        struct object o, *place;
        tt_mark m;
        mine = mine * 6364136223846793005u + 1442695040888963407u;
        m = tt_push(block(names[mine >> 33 & 3]));
        (void)tt_push(block(names[(mine >> 40) % 7]));
        o.bytes = (uint32_t)(mine >> 50) % 100 + 1;
        o.origin = tt_alloc(type, o.bytes, 1);
        pthread_mutex_lock(&exchange.lock);
        place = &exchange.live[(mine >> 20) % LIVE];
        exchange.truth.made += o.bytes;
        exchange.truth.number++;
        exchange.truth.overhead++;
        exchange.truth.freed += place->bytes;
        struct object old = *place;
        *place = o;
        pthread_mutex_unlock(&exchange.lock);
        if (old.bytes)
            tt_free(old.origin, type, old.bytes, 1, tt_age(old.bytes));
        tt_pop(m);
    }
    return NULL;
}

/* What is held now, and at each maximum, of all holdings. */
static void check_held(uint64_t alive)
{
    struct recorded r = recorded_here();
    struct recorded_held held = recorded_held(&r);
    uint64_t most = 0;

    if (CHECK_INT(r.error, 0))
        CHECK_INT(r.picture.space->live, alive);
    CHECK_INT(held.now, alive);
    for (uint32_t i = 0; !r.error && i < tt_picture_maxima(&r.picture); i++) {
        CHECK_INT(held.then[i], tt_picture_maximum(&r.picture, i).most);
        most = held.then[i] > most ? held.then[i] : most;
    }
    CHECK(most >= held.now);
    recorded_free(&r);
}

TEST(threads_free_what_others_made)
{
    static const char *const budgets[] = {
        "calls", "calls,budget=256K", "calls,budget=300nodes",
        "calls,space=alloc+types+peak", "calls,series=none,space=alloc+types+peak"};

    for (int i = 0; i < 5; i++) {
        pthread_t thread[THREADS];
        struct sums got;
        memset(exchange.live, 0, sizeof exchange.live);
        memset(&exchange.truth, 0, sizeof exchange.truth);
        CHECK_INT(tt_start(budgets[i]), 0);
        for (int round = 0; round < 3; round++) {
            for (uintptr_t j = 0; j < THREADS; j++)
                CHECK_INT(pthread_create(&thread[j], NULL, trade,
                                         (void *)(j + 1 + 100 * (uintptr_t)round)),
                          0);
            for (int j = 0; j < THREADS; j++)
                pthread_join(thread[j], NULL);
        }
        got = sums_here(NULL);
        if (i < 3)
            check_sums(&got, &exchange.truth);
        if (i < 2) /* with less, some threads have no strand and thus no series */
            CHECK_INT(got.series, got.alive);
        if (i >= 3)
            check_held((uint64_t)(exchange.truth.made - exchange.truth.freed));
        tt_stop();
    }
}

TEST(who_learns_late_of_a_survivor_tells_it_after_the_collection)
{
    tt_type pair = tt_type_get("pair");
    tt_context a;

    CHECK_INT(tt_start("calls,space=alloc+copies+types+peak,series=type"), 0);
    a = tt_alloc(pair, 1, 0);
    (void)tt_alloc(pair, 10, 0);
    tt_gc_begin(0);
    tt_gc_end();
    tt_survive(a, pair, 1, 0, 0, 1);
    (void)tt_alloc(pair, 100, 0);
    CHECK_INT(sums_here(NULL).alive, 101);
    CHECK_INT(sums_here(NULL).series, 101);
    check_held(101);
    tt_gc_begin(0);
    tt_gc_end();
    CHECK_INT(sums_here(NULL).alive, 1);
    CHECK_INT(sums_here(NULL).series, 1);
    check_held(1);
    tt_survive(a, pair, 1, 0, 1, 2); /* by itself: that generation was not collected */
    CHECK_INT(sums_here(NULL).series, 1);
    CHECK_INT(tt_stop(), 0);
}

static sem_t handled;
static tt_type handler_type;
static tt_context handler_origin[1000];
static volatile int handler_count;

static void allocate_in_handler(int signal)
{
    (void)signal;
    if (handler_count < 1000)
        handler_origin[handler_count] = tt_alloc(handler_type, 1, 0);
    handler_count++;
    sem_post(&handled);
}

static void *disturb(void *arg)
{
    pthread_t victim = *(pthread_t *)arg;

    for (int i = 0; i < 1000; i++) {
        pthread_kill(victim, SIGUSR1);
        while (sem_wait(&handled) != 0)
            ;
    }
    return NULL;
}

TEST(a_signal_handler_may_allocate_wherever_it_interrupts)
{
    static struct object live[LIVE];
    struct sigaction action = {.sa_handler = allocate_in_handler};
    struct sums truth = {0}, got;
    pthread_t self = pthread_self(), other;

    sem_init(&handled, 0, 0);
    sigaction(SIGUSR1, &action, NULL);
    handler_type = tt_type_get("handled");
    handler_count = 0;
    memset(live, 0, sizeof live);
    CHECK_INT(tt_start("calls,budget=1M"), 0);
    (void)tt_alloc(handler_type, 0, 0); /* its name is there */
    CHECK_INT(pthread_create(&other, NULL, disturb, &self), 0);
    while (handler_count < 1000)
        wander(live, &truth, 1000);
    pthread_join(other, NULL);
    got = sums_here(NULL);
    CHECK_INT(got.made, truth.made + 1000);
    CHECK_INT(got.number, truth.number + 1001);
    CHECK_INT(got.freed, truth.freed);
    for (int i = 0; i < 1000; i++)
        tt_free(handler_origin[i], handler_type, 1, 0, 0);
    CHECK_INT(sums_here(NULL).freed, truth.freed + 1000);
    tt_stop();
    signal(SIGUSR1, SIG_DFL);
}

/* ── The end of a thread ──────────────────────────────────────────────────────────── */

static pthread_key_t late_key;
static tt_context late_origin;

static void allocate_late(void *arg)
{
    late_origin = tt_alloc(*(tt_type *)arg, 5, 0);
    if (pthread_setspecific(late_key, arg) != 0)
        late_origin = TT_NOWHERE;
}

static void *end_with_destructors(void *arg)
{
    (void)tt_alloc(*(tt_type *)arg, 5, 0);
    pthread_setspecific(late_key, arg);
    return NULL;
}

TEST(a_thread_whose_destructors_run_still_allocates)
{
    static tt_type type;
    pthread_t thread;

#ifdef __SANITIZE_THREAD__
    SKIP("the sanitizer is gone before the last destructors");
#endif
    type = tt_type_get("late");
    CHECK_INT(pthread_key_create(&late_key, allocate_late), 0);
    CHECK_INT(tt_start("calls"), 0);
    CHECK_INT(pthread_create(&thread, NULL, end_with_destructors, &type), 0);
    pthread_join(thread, NULL);
    CHECK(late_origin != TT_NOWHERE);
    CHECK(sums_here(NULL).number >= 2);
    CHECK_INT(sums_here(NULL).made, sums_here(NULL).number * 5);
    tt_stop();
    pthread_key_delete(late_key);
}

/* ── Objects with numbers ─────────────────────────────────────────────────────────── */

enum { NUMBERS = 20000 };

/* Its own numbers; those that are even stay. */
static void check_objects(void)
{
#ifdef TT_CHECKED
    CHECK_STR(tt_objects_check(), "");
#endif
}

static void *make_numbered(void *arg)
{
    uint64_t base = (uintptr_t)arg * NUMBERS;
    tt_type type = tt_type_get("numbered");
    tt_mark m = tt_push(block("numbers"));

    for (uint64_t i = 1; i <= NUMBERS; i++) {
        (void)tt_object_new(base + i, type, 3, 1);
        tt_object_use(base + i);
        if (i % 2)
            tt_object_free(base + i);
        if (i % 4096 == 0)
            check_objects();
    }
    tt_pop(m);
    return NULL;
}

TEST(objects_with_numbers_are_remembered_by_all_threads)
{
    pthread_t thread[THREADS];

    CHECK_INT(tt_start("calls"), 0);
    for (uintptr_t j = 0; j < THREADS; j++)
        CHECK_INT(pthread_create(&thread[j], NULL, make_numbered, (void *)j), 0);
    for (int j = 0; j < THREADS; j++)
        pthread_join(thread[j], NULL);
    CHECK_INT(sums_here(NULL).made, 3 * NUMBERS * THREADS);
    CHECK_INT(sums_here(NULL).alive, 3 * NUMBERS * THREADS / 2);
    tt_object_free(1); /* is gone */
    tt_object_free(0);
    tt_gc_begin(0);
    tt_object_survive(2, NUMBERS * THREADS + 7, TT_NEXT);
    tt_object_survive(4, 0, 0);
    tt_gc_end();
    check_objects();
    CHECK_INT(sums_here("numbers").alive, 6);
    for (uint64_t i = 1; i <= NUMBERS * THREADS; i++)
        tt_object_free(i); /* but these two the collection took all */
    CHECK_INT(sums_here("numbers").alive, 3);
    tt_object_free(NUMBERS * THREADS + 7);
    CHECK_INT(sums_here("numbers").alive, 0);
    check_objects();
    CHECK_INT(sums_here("numbers").freed, 3 * NUMBERS * THREADS / 2 + 6);
    tt_stop();
}
