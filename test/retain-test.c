/* SPDX-License-Identifier: MIT */
/* needs: internals */
/* retain-test.c - sets of retainers, of random heaps: against an oracle that asks of each
 * retainer alone what it reaches without passing another one. */
#include <stdio.h>

#include "figures.h"
#include "recorded.h"
#include "tap.h"

enum { OBJECTS = 300, REFERENCES = 3, BLOCKS = 14, ROOTS = 6, HEAPS = 40 };

static struct object {
    struct object *reference[REFERENCES];
    tt_retainers set;
    size_t bytes;
    int retains;    /* 1 + index of its block; 0: it is no retainer */
    unsigned truth; /* a bit for each block */
    int seen;
} heap[OBJECTS];
static struct object *root[ROOTS];
static tt_block block[BLOCKS];
static uint64_t dice;

static unsigned throw(unsigned n)
{
    dice = dice * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(dice >> 33) % n;
}

static void make_heap(unsigned density, unsigned retainers)
{
    for (int i = 0; i < OBJECTS; i++) {
        heap[i] = (struct object){.bytes = 8 + 8 * throw(20)};
        for (int k = 0; k < REFERENCES; k++)
            if (throw(100) < density)
                heap[i].reference[k] = &heap[throw(OBJECTS)];
        if (throw(100) < retainers)
            heap[i].retains = 1 + (int) throw(BLOCKS);
    }
    for (int i = 0; i < ROOTS; i++)
        root[i] = &heap[throw(OBJECTS)];
}

/* ── The oracle ───────────────────────────────────────────────────────────────────── */

static void reach(struct object *o, int round)
{
    if (!o || o->seen == round)
        return;
    o->seen = round;
    for (int k = 0; !o->retains && k < REFERENCES; k++)
        reach(o->reference[k], round);
}

static void find_truth(void)
{
    unsigned char alive[OBJECTS] = {0};
    int round = 0, found = 1;

    for (int i = 0; i < ROOTS; i++) { /* a root has a separate block */
        round++;
        reach(root[i], round);
        for (int k = 0; k < OBJECTS; k++)
            if (heap[k].seen == round)
                heap[k].truth |= 1u << i, alive[k] |= 1;
    }
    while (found) { /* retainers that are alive themselves */
        found = 0;
        for (int i = 0; i < OBJECTS; i++) {
            if (!heap[i].retains || alive[i] != 1)
                continue;
            found = alive[i] = 2;
            round++;
            for (int k = 0; k < REFERENCES; k++)
                reach(heap[i].reference[k], round);
            for (int k = 0; k < OBJECTS; k++)
                if (heap[k].seen == round) {
                    heap[k].truth |= 1u << (heap[i].retains - 1);
                    alive[k] |= !alive[k];
                }
        }
    }
}

static const char *true_name(unsigned truth, char text[64])
{
    int used = 0;

    text[0] = '\0';
    if (__builtin_popcount(truth) > 8)
        return "MANY";
    for (int i = 0; i < BLOCKS; i++)
        if (truth & 1u << i)
            used += sprintf(text + used, used ? ",%c" : "%c", 'a' + i);
    return text;
}

static uint64_t true_bytes(const char *name)
{
    uint64_t bytes = 0;
    char text[64];

    for (int i = 0; i < OBJECTS; i++)
        if (heap[i].truth && strcmp(true_name(heap[i].truth, text), name) == 0)
            bytes += heap[i].bytes;
    return bytes;
}

/* ── What a runtime does ──────────────────────────────────────────────────────────── */

static void retain(struct object *o, tt_block by)
{
    tt_retainers set = o ? tt_retainers_with(o->set, by) : 0;

    if (!o || set == o->set)
        return;
    o->set = set;
    for (int k = 0; k < REFERENCES; k++)
        retain(o->reference[k], o->retains ? block[o->retains - 1] : by);
}

static void walk_heap(void)
{
    tt_gc_begin(4);
    for (int i = 0; i < ROOTS; i++)
        retain(root[i], block[i]);
    for (int i = 0; i < OBJECTS; i++)
        if (heap[i].set)
            tt_retained(heap[i].set, heap[i].bytes);
    tt_gc_end();
}

/* ── What the recording says ──────────────────────────────────────────────────────── */

struct said {
    char name[64];
    int64_t bytes;
};

/* The last amounts by label; returns how many. */
static int read_said(struct said *said, int room)
{
    struct recorded r = recorded_here();
    int64_t point[TT_BAND_POINTS];
    int n = 0;

    if (!CHECK_INT(r.error, 0))
        return 0;
    for (uint32_t i = 0; i < r.picture.strands; i++)
        for (const struct tt_band *b = NULL;
             n < room && (b = tt_picture_band(&r.picture, r.picture.strand[i], b));) {
            if (b->flags != TT_BAND_RETAINERS)
                continue;
            snprintf(said[n].name, sizeof said->name, "%s",
                     tt_picture_type(&r.picture, b->key));
            said[n].bytes = 0;
            tt_band_points(b, point);
            for (int k = 0; k < TT_BAND_POINTS; k++)
                said[n].bytes += point[k];
            n += said[n].bytes != 0;
        }
    recorded_free(&r);
    return n;
}

static int agrees(void)
{
    static struct said said[512];
    uint64_t sum = 0, alive = 0;
    int n = read_said(said, 512), right = 1;

    for (int i = 0; i < n; i++) {
        sum += (uint64_t)said[i].bytes;
        if ((uint64_t)said[i].bytes != true_bytes(said[i].name)) {
            fprintf(stderr, "# '%s': %lld, and not %llu\n", said[i].name,
                    (long long)said[i].bytes,
                    (unsigned long long)true_bytes(said[i].name));
            right = 0;
        }
    }
    for (int i = 0; i < OBJECTS; i++)
        alive += heap[i].truth ? heap[i].bytes : 0;
    if (sum != alive)
        fprintf(stderr, "# in all %llu, and not %llu\n", (unsigned long long)sum,
                (unsigned long long)alive);
    return right && sum == alive && n > 0;
}

static void make_blocks(void)
{
    char name[2] = "a";

    for (int i = BLOCKS; i-- > 0;) { /* names in another order than numbers */
        name[0] = (char)('a' + i);
        block[i] = tt_block_get(name, "retain", 0, 0);
    }
}

TEST(random_heaps_are_retained_as_an_oracle_says)
{
    int many = 0, kinds = 0;

    make_blocks();
    for (unsigned i = 0; i < HEAPS; i++) {
        dice = i * 1000003 + 1;
        make_heap(20 + i, i % 4 * 12);
        CHECK_INT(tt_start("calls,series=type+retainers"), 0);
        walk_heap();
        find_truth();
        CHECK(agrees());
        CHECK_INT(tt_stop(), 0);
        many += true_bytes("MANY") > 0;
        kinds += true_bytes("a,b") > 0;
    }
    fprintf(stderr, "# MANY in %d heaps of %d, {a,b} in %d\n", many, HEAPS, kinds);
    CHECK(many > 3 && many < HEAPS && kinds > 1);
}

TEST(a_collection_replaces_what_the_last_one_said)
{
    tt_mark mark;

    make_blocks();
    CHECK_INT(tt_start("calls,series=retainers"), 0);
    mark = tt_push(block[0]);
    for (unsigned i = 0; i < 5; i++) {
        dice = i + 7;
        make_heap(40, 20);
        walk_heap();
        tt_gc_begin(0); /* a young one says nothing */
        tt_gc_end();
        find_truth();
        CHECK(agrees());
    }
    tt_pop(mark);
    CHECK_INT(tt_stop(), 0);
}

TEST(a_set_of_more_than_eight_is_all_of_them)
{
    tt_retainers set = 0, other = 0;

    make_blocks();
    CHECK_INT(tt_retainers_with(0, block[0]), 0); /* recording is off */
    CHECK_INT(tt_start("calls"), 0);
    CHECK_INT(tt_retainers_with(0, block[0]), 0); /* no set was requested */
    CHECK_INT(tt_stop(), 0);
    CHECK_INT(tt_start("calls,series=retainers"), 0);
    for (int i = 0; i < TT_RETAINERS; i++) {
        set = tt_retainers_with(set, block[i]);
        other = tt_retainers_with(other, block[TT_RETAINERS - 1 - i]);
        CHECK_INT(tt_retainers_with(set, block[i]), set);
    }
    CHECK_INT(set, other);
    CHECK_INT(tt_retainers_with(set, block[3]), set);
    other = tt_retainers_with(set, block[8]);
    CHECK(other != set);
    CHECK_INT(tt_retainers_with(other, block[9]), other);
    CHECK_INT(tt_retainers_with(other, block[0]), other);
    CHECK_INT(tt_retainers_with(set, 0), set);
    CHECK_INT(tt_retainers_with(0x7fffffff, block[0]), 0x7fffffff); /* never given out */
    tt_retained(set, 100);                                          /* no collection */
    CHECK_INT(tt_stop(), 0);
}

/* More sets than there are names for, and than there is room for. */
TEST(sets_without_room_are_others)
{
    static struct said said[1024];
    static tt_block own[400];
    int64_t sum = 0, others = 0;
    char name[16];
    int n;

    CHECK_INT(tt_start("calls,series=retainers"), 0);
    for (int i = 0; i < 400; i++) {
        snprintf(name, sizeof name, "own%d", i);
        own[i] = tt_block_get(name, "retain", 0, 0);
    }
    tt_gc_begin(0);
    for (int i = 0; i < 400; i++)
        for (int k = 0; k < i; k++)
            tt_retained(tt_retainers_with(tt_retainers_with(0, own[i]), own[k]), 1);
    tt_gc_end();
    n = read_said(said, 1024);
    for (int i = 0; i < n; i++) {
        sum += said[i].bytes;
        others += said[i].name[0] ? 0 : said[i].bytes;
    }
    fprintf(stderr, "# %d names, %lld of others\n", n, (long long)others);
    CHECK_INT(sum, 400 * 399 / 2);
    CHECK(n > 400 && n <= 501 && others > 0);
    CHECK_INT(tt_stop(), 0);
}
