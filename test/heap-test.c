/* SPDX-License-Identifier: MIT */
/* needs: internals */
/* heap-test.c - the collector of an allocator's events, with invented objects: its
 * tables, the live objects of each context, and threads that free objects of others. */
#include <pthread.h>
#include <stdlib.h>

#include "figures.h"
#include "graft.h"
#include "heap-alive.h"
#include "heap-table.h"
#include "heap.h"
#include "mappings.h"
#include "recorded.h"
#include "tap.h"

#define APART __attribute__((noinline))
#define SEEN(p) __asm__ volatile("" : : "r"(p) : "memory")

enum { THREADS = 6, USABLE = 8192 };

static uint64_t next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* ── Tables ───────────────────────────────────────────────────────────────────────── */

enum { KEYS = 6000 };

static uint64_t address_of(uint64_t key) { return 0x7f0000000000u + key * 16; }

TEST(the_table_has_what_was_put_there_and_not_taken_out)
{
    static uint64_t bytes[KEYS]; /* 0: it is not there */
    struct tt_object before = {0}, o;
    uint64_t state = 1;
    int wrong = 0;

    for (int i = 0; i < 200000; i++) {
        uint64_t key = next(&state) % KEYS, size = 1 + next(&state) % 1000;
        o = (struct tt_object){.address = address_of(key), .bytes = size, .number = 1};
        if (next(&state) % 2) {
            wrong += tt_heap_table_add(&o, &before) != (bytes[key] != 0);
            wrong += bytes[key] && before.bytes != bytes[key];
            bytes[key] = size;
        } else {
            wrong += tt_heap_table_remove(o.address, &before) != (bytes[key] != 0);
            wrong += bytes[key] && before.bytes != bytes[key];
            bytes[key] = 0;
        }
#ifdef TT_CHECKED
        if (i % 997 == 0)
            wrong += *tt_heap_table_check() != '\0';
#endif
    }
    CHECK_INT(wrong, 0);
    for (uint64_t key = 0; key < KEYS; key++) {
        wrong += tt_heap_table_remove(address_of(key), &o) != (bytes[key] != 0);
        wrong += tt_heap_table_remove(address_of(key), &o);
    }
    CHECK_INT(wrong, 0);
}

enum { SPOTS = 400, SPOT = 10 }; /* each byte weighs 3 */

/* Returns the bytes that are gone. */
static uint64_t take_places(uint64_t from, uint64_t to, uint64_t stamp)
{
    struct tt_heap_mapping whole, rest[2];
    uint64_t gone = 0;
    int rests;

    tt_mappings_lock();
    while ((rests = tt_mappings_take(from, to, stamp, &whole, rest)) >= 0) {
        gone += whole.object.bytes;
        for (int i = 0; i < rests; i++) {
            gone -= rest[i].object.bytes;
            CHECK_INT(tt_mappings_add(&rest[i]), 0);
        }
    }
    tt_mappings_unlock();
    return gone;
}

static void add_places(uint64_t from, uint64_t to)
{
    tt_mappings_lock();
    CHECK_INT(
        tt_mappings_add(&(struct tt_heap_mapping){
            {.address = from, .bytes = 3 * (to - from), .number = 1}, .size = to - from}),
        0);
    tt_mappings_unlock();
}

TEST(mappings_lose_exactly_the_places_that_are_taken)
{
    static char there[SPOTS * SPOT];
    uint64_t state = 1, wrong = 0;

    for (int i = 0; i < 20000; i++) {
        uint64_t from = next(&state) % SPOTS, to = from + 1 + next(&state) % 20, had = 0;
        to = (to < SPOTS ? to : SPOTS) * SPOT;
        from *= SPOT;
        for (uint64_t at = from; at < to; at++)
            had += (uint64_t)there[at] * 3;
        wrong += take_places(SPOT + from, SPOT + to, UINT64_MAX) != had;
        memset(there + from, i % 3 == 0, (size_t)(to - from));
        if (i % 3 == 0)
            add_places(SPOT + from, SPOT + to);
    }
    CHECK_INT(wrong, 0);
    (void)take_places(0, UINT64_MAX, UINT64_MAX);
    CHECK_INT(tt_mappings_any(), 0);
}

TEST(what_is_mapped_while_a_call_unmaps_stays)
{
    uint64_t before;

    add_places(1000, 1300);
    before = tt_mappings_now();
    CHECK_INT(take_places(1000, 1100, UINT64_MAX),
              300); /* the rest is as old as the whole */
    add_places(1000, 1100);
    CHECK_INT(take_places(900, 1200, before), 300);
    CHECK_INT(take_places(900, 1200, UINT64_MAX), 300);
    CHECK_INT(take_places(0, UINT64_MAX, before), 300);
    CHECK_INT(tt_mappings_any(), 0);
}

TEST(a_number_stays_with_its_key)
{
    struct tt_keys keys = {0};
    int wrong = 0;

    for (uint32_t i = 1; i < 20000; i++)
        tt_keys_add(&keys, i * 0x9e3779b97f4a7c15u | 1, i);
    for (uint32_t i = 1; i < 20000; i++)
        wrong += tt_keys_find(&keys, i * 0x9e3779b97f4a7c15u | 1) != i;
    CHECK_INT(wrong, 0);
    CHECK_INT(tt_keys_find(&keys, 2), 0);
    tt_keys_clear(&keys);
    CHECK_INT(tt_keys_find(&keys, 0x9e3779b97f4a7c15u), 0);
    tt_keys_fini(&keys);
}

/* ── Events ───────────────────────────────────────────────────────────────────────── */

static size_t usable(void *p)
{
    (void)p;
    return USABLE;
}

static void begin(uint64_t rate, const char *options)
{
    static int there;

    if (!there++)
        tt_graft_init();
    tt_heap_start(rate, 7, usable);
    CHECK_INT(tt_start(options), 0);
    __atomic_store_n(&tt_heap_on, 1, __ATOMIC_RELEASE);
}

static void end(void)
{
    tt_heap_stop();
    CHECK_INT(tt_stop(), 0);
}

/* From stacks of different depths, so that there are several sites. */
static APART void make_at(uint64_t key, size_t size, unsigned depth)
{
    struct tt_caller caller = TT_CALLER();

    if (depth)
        make_at(key, size, depth - 1);
    else if (tt_heap_wants(size))
        tt_heap_made((void *)address_of(key), size, (enum tt_heap_type)(size % 3),
                     &caller);
    SEEN(&caller);
}

static void forget(uint64_t key)
{
    if (tt_heap_maybe((void *)address_of(key)))
        tt_heap_gone((void *)address_of(key));
}

struct sums {
    uint64_t number, made, freed, overhead;
    uint64_t live; /* as the recording's own sum has it */
    struct recorded_held held;
    uint64_t most[TT_PARTS + 1];
    uint32_t maxima;
    int64_t series; /* what the bands of types end with */
};

static void sum_row(void *arg, const struct tt_space *row, const struct tt_objects *alive)
{
    struct sums *s = arg;

    (void)alive;
    if (row->key >> TT_SPACE_FROM_SHIFT == TT_NO_GENERATION) {
        s->number += row->all.number;
        s->made += row->all.bytes;
        s->overhead += row->all.overhead;
    } else {
        s->freed += row->all.bytes;
    }
}

static void sum_series(struct sums *s, const struct tt_picture *p)
{
    int64_t point[TT_BAND_POINTS];

    for (const struct tt_band *b = NULL; (b = tt_picture_band(p, NULL, b)) != NULL;) {
        if (b->flags != TT_BAND_TYPE)
            continue;
        (void)tt_band_points(b, point);
        for (int i = 0; i < TT_BAND_POINTS; i++)
            s->series += point[i];
    }
}

static struct sums sums_here(void)
{
    struct recorded r = recorded_here();
    const struct tt_picture *p = &r.picture;
    struct sums s = {0};

    if (!CHECK_INT(r.error, 0))
        return s;
    for (uint32_t i = 0; i < p->contexts; i++)
        tt_picture_space(p, p->context[i].cell, sum_row, &s);
    for (uint32_t i = 0; i < p->blocks; i++)
        if (p->block[i].type) {
            s.number += p->block[i].type->number;
            s.made += p->block[i].type->bytes;
            s.freed += p->block[i].type->freed.bytes;
            s.overhead += p->block[i].type->overhead;
        }
    if (p->space) {
        s.live = p->space->live;
        s.maxima = tt_picture_maxima(p);
        for (uint32_t i = 0; i < s.maxima; i++)
            s.most[i] = tt_picture_maximum(p, i).most;
        s.held = recorded_held(&r);
        sum_series(&s, p);
    }
    recorded_free(&r);
    return s;
}

static int is_near(uint64_t figure, uint64_t truth)
{
    const uint64_t far = figure > truth ? figure - truth : truth - figure;

    return far <= truth / 256;
}

static void check_now(const struct sums *s, uint64_t live)
{
    CHECK_INT(s->made - s->freed, live);
    CHECK_INT(s->live, live);
    CHECK_INT(s->held.now, live);
    CHECK_INT(s->series, live);
    CHECK(s->maxima > 0);
}

static void check_sums(const struct sums *s, uint64_t live)
{
    check_now(s, live);
    for (uint32_t i = 0; i < s->maxima; i++)
        CHECK_INT(s->held.then[i], s->most[i]);
}

static void check_sums_of_threads(const struct sums *s, uint64_t live)
{
    check_now(s, live);
    for (uint32_t i = 0; i < s->maxima; i++)
        CHECK(is_near(s->held.then[i], s->most[i]));
}

TEST(what_is_alive_adds_up_at_every_moment)
{
    static size_t size[KEYS];
    uint64_t state = 3, live = 0, most = 0, made = 0, number = 0;
    struct sums s;

    begin(0, "sampled,series=type+block");
    for (int i = 0; i < 60000; i++) {
        uint64_t key = next(&state) % KEYS;
        if (size[key] && next(&state) % 8) {
            forget(key);
            live -= size[key];
            size[key] = 0;
        } else { /* what was there has gone unseen */
            live -= size[key];
            size[key] = 1 + next(&state) % 4000;
            make_at(key, size[key], (unsigned)(next(&state) % 9));
            live += size[key];
            made += size[key];
            number++;
        }
        most = live > most ? live : most;
        if (i % 20000 == 10000) {
            s = sums_here();
            check_sums(&s, live);
        }
    }
    s = sums_here();
    check_sums(&s, live);
    CHECK_INT(s.made, made);
    CHECK_INT(s.number, number);
    CHECK_INT(s.overhead, number * USABLE - made);
    for (uint32_t i = 0; i < s.maxima; i++)
        CHECK(s.most[i] <= most + 4000);
    for (uint64_t key = 0; key < KEYS; key++)
        forget(key);
    s = sums_here();
    check_sums(&s, 0);
    end();
}

TEST(an_object_that_moves_is_one)
{
    struct tt_caller caller = TT_CALLER();
    struct tt_heap_move m;
    struct sums s;

    begin(0, "sampled,series=type+block");
    make_at(1, 100, 0);
    tt_heap_move(&m, (void *)address_of(1));
    tt_heap_moved(&m, (void *)address_of(2), 300, TT_HEAP_REALLOC, &caller);
    tt_heap_move(&m, (void *)address_of(2));
    tt_heap_moved(&m, NULL, 1000, TT_HEAP_REALLOC, &caller); /* there was no memory */
    s = sums_here();
    CHECK_INT(s.number, 2);
    check_sums(&s, 300);
    tt_heap_move(&m, (void *)address_of(2));
    tt_heap_freed(&m);
    forget(2); /* it is not known any more */
    s = sums_here();
    CHECK_INT(s.freed, 400);
    check_sums(&s, 0);
    end();
}

TEST(samples_stand_for_all)
{
    enum { RATE = 1000, SIZE = 50, EVENTS = 200000 };
    struct sums s;

    begin(RATE, "sampled,series=type+block");
    for (uint64_t i = 0; i < EVENTS; i++)
        make_at(i, SIZE, (unsigned)(i % 5));
    for (uint64_t i = 0; i < EVENTS / 2; i++)
        forget(i);
    s = sums_here();
    /* Some 9754 are sampled: four standard errors are 4 %. */
    CHECK(s.made > EVENTS * SIZE / 100 * 96 && s.made < EVENTS * SIZE / 100 * 104);
    CHECK(s.number > EVENTS / 100 * 96 && s.number < EVENTS / 100 * 104);
    CHECK(s.freed > EVENTS * SIZE / 200 * 94 && s.freed < EVENTS * SIZE / 200 * 106);
    check_sums(&s, s.made - s.freed);
    for (uint64_t i = EVENTS / 2; i < EVENTS; i++)
        forget(i);
    s = sums_here();
    check_sums(&s, 0);
    end();
}

/* A refused event, and a failed one, leave the distance to the next sample to chance. */
TEST(an_object_after_events_that_do_not_count_is_as_likely_sampled_as_any)
{
    enum { RATE = 4096, SIZE = 16, ROUNDS = 1000 };
    struct tt_caller caller = TT_CALLER();
    struct sums s;

    begin(RATE, "sampled,series=none");
    for (uint64_t i = 0; i < ROUNDS; i++) {
        tt_heap_window(UINT64_MAX - 1, 0);
        make_at(0, 1 << 20, 0);
        tt_heap_window(0, 0);
        make_at(2 * i + 1, SIZE, 0);
        if (tt_heap_wants(1 << 20))
            tt_heap_made(NULL, 1 << 20, TT_HEAP_MALLOC, &caller);
        make_at(2 * i + 2, SIZE, 0);
    }
    s = sums_here();
    CHECK(s.made < 10 * 2 * ROUNDS * SIZE); /* some 8 samples */
    for (uint64_t i = 1; i <= 2 * ROUNDS; i++)
        forget(i);
    end();
}

/* ── Threads ──────────────────────────────────────────────────────────────────────── */

/* Objects that somebody has made and anybody may free: a place is empty, or has a size. */
enum { PLACES = 512, TURNS = 8000 };

static struct {
    uint64_t place[PLACES];
    uint64_t made, freed, number, keys;
} common;

static void *trade(void *arg)
{
    uint64_t state = (uintptr_t)arg;

    for (int i = 0; i < TURNS; i++) {
        uint64_t *place = &common.place[next(&state) % PLACES], had,
                 size = 1 + next(&state) % 4000,
                 key = __atomic_add_fetch(&common.keys, 1, __ATOMIC_RELAXED);
        make_at(key, size, (unsigned)(next(&state) % 9));
        (void)__atomic_add_fetch(&common.made, size, __ATOMIC_RELAXED);
        (void)__atomic_add_fetch(&common.number, 1, __ATOMIC_RELAXED);
        had = __atomic_exchange_n(place, key << 16 | size, __ATOMIC_ACQ_REL);
        if (had) {
            forget(had >> 16);
            (void)__atomic_add_fetch(&common.freed, had & 0xffff, __ATOMIC_RELAXED);
        }
    }
    return NULL;
}

static void *look(void *arg)
{
    while (!__atomic_load_n((int *)arg, __ATOMIC_ACQUIRE)) {
        struct recorded r = recorded_here();
        CHECK_INT(r.error, 0);
        recorded_free(&r);
    }
    return NULL;
}

TEST(threads_free_what_others_made_and_end)
{
    pthread_t thread[THREADS], looker;
    int done = 0;
    struct sums s;

    begin(0, "sampled,series=type+block");
    common.keys = KEYS;
    CHECK_INT(pthread_create(&looker, NULL, look, &done), 0);
    for (int round = 0; round < 2; round++) {
        for (uintptr_t i = 0; i < THREADS; i++)
            CHECK_INT(pthread_create(&thread[i], NULL, trade,
                                     (void *)(10 * (uintptr_t)round + i)),
                      0);
        for (int i = 0; i < THREADS; i++)
            pthread_join(thread[i], NULL);
    }
    __atomic_store_n(&done, 1, __ATOMIC_RELEASE);
    pthread_join(looker, NULL);
    s = sums_here();
    CHECK_INT(s.number, common.number);
    CHECK_INT(s.made, common.made);
    CHECK_INT(s.freed, common.freed);
    check_sums_of_threads(&s, common.made - common.freed);
    for (int i = 0; i < PLACES; i++)
        if (common.place[i])
            forget(common.place[i] >> 16);
    s = sums_here();
    check_sums_of_threads(&s, 0);
    end();
}

/* Each event is one turn, under a lock that knows the truth. */
static struct {
    pthread_mutex_t lock;
    uint64_t state, live, most, made, number;
    size_t size[KEYS];
    int turn;
} turns = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void take_turn(void)
{
    uint64_t key = next(&turns.state) % KEYS, chance = next(&turns.state) % 8;

    if (turns.size[key] && chance < (turns.turn++ / 5000 % 2 ? 7 : 3)) {
        forget(key);
        turns.live -= turns.size[key];
        turns.size[key] = 0;
        return;
    }
    turns.live -= turns.size[key]; /* what was there has gone unseen */
    turns.size[key] = 1 + next(&turns.state) % 4000;
    make_at(key, turns.size[key], (unsigned)(next(&turns.state) % 9));
    turns.live += turns.size[key];
    turns.made += turns.size[key];
    turns.number++;
    turns.most = turns.live > turns.most ? turns.live : turns.most;
}

static void *take_turns(void *arg)
{
    for (int i = 0; i < TURNS; i++) {
        pthread_mutex_lock(&turns.lock);
        take_turn();
        pthread_mutex_unlock(&turns.lock);
    }
    return arg;
}

TEST(a_maximum_of_several_threads_is_right_to_a_256th)
{
    pthread_t thread[THREADS];
    struct sums s;

    begin(0, "sampled,series=none");
    for (uint64_t round = 1; round < 4; round++) {
        turns.state = round;
        for (int i = 0; i < THREADS; i++)
            CHECK_INT(pthread_create(&thread[i], NULL, take_turns, NULL), 0);
        for (int i = 0; i < THREADS; i++)
            pthread_join(thread[i], NULL);
        s = sums_here();
        CHECK_INT(s.number, turns.number);
        CHECK_INT(s.made, turns.made);
        CHECK_INT(s.made - s.freed, turns.live);
        CHECK_INT(s.held.now, turns.live);
        CHECK_INT(s.live, turns.live); /* as all threads but this one have ended */
        CHECK_INT(s.maxima, 1);
        CHECK(is_near(s.most[0], turns.most));
        CHECK(is_near(s.held.then[0], turns.most));
    }
    end();
}
