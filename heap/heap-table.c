/* SPDX-License-Identifier: MIT */
/* heap-table.c - the data of each live object, by its address.
 *
 * There are many tables, each with a lock, so threads seldom wait for each other.  They
 * use open addressing (open-table.h) and are at most half full. */
#include "heap-table.h"

#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "brief-lock.h"
#include "open-table.h"

enum { FIRST = 512 };

struct tt_heap_shard tt_heap_shard[1 << TT_HEAP_SHARDS_BITS];
uint32_t tt_heap_classes[TT_HEAP_CLASSES];
int tt_heap_classed;

static void count_class(uint64_t address, uint32_t change)
{
    if (tt_heap_classed)
        (void)__atomic_fetch_add(&tt_heap_classes[tt_heap_class(address)], change,
                                 __ATOMIC_RELAXED);
}

/* ── Places ───────────────────────────────────────────────────────────────────────── */

static uint64_t home(uint64_t address, uint64_t mask)
{
    return tt_heap_place(tt_heap_hash(address), mask);
}

/* The place of the address, or the free one where it belongs. */
static struct tt_object *find(struct tt_object *o, uint64_t mask, uint64_t address)
{
    return &o[tt_open_find(o, sizeof *o, mask, home, address)];
}

static int grow(struct tt_heap_shard *s)
{
    uint64_t size = s->object ? 2 * (s->mask + 1) : FIRST;
    struct tt_object *o = mmap(NULL, size * sizeof *o, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if ((void *)o == MAP_FAILED)
        return -1;
    for (uint64_t i = 0; s->object && i <= s->mask; i++)
        if (s->object[i].address)
            *find(o, size - 1, s->object[i].address) = s->object[i];
    if (s->object)
        munmap(s->object, (s->mask + 1) * sizeof *o);
    s->object = o;
    s->mask = size - 1;
    return 0;
}

static void remove_place(struct tt_heap_shard *s, struct tt_object *o)
{
    struct tt_object *all = s->object;
    const uint64_t mask = s->mask;
    uint64_t hole = (uint64_t)(o - all), from;

    TT_ASSERT(o->address && s->count > 0 && hole <= mask);
    while ((from = tt_open_next(all, sizeof *all, mask, home, hole)) != hole) {
        all[hole] = all[from];
        hole = from;
    }
    all[hole].address = 0;
    s->count--;
}

/* ── The table ────────────────────────────────────────────────────────────────────── */

int tt_heap_table_add(const struct tt_object *object, struct tt_object *before)
{
    struct tt_heap_shard *s = tt_heap_shard_of(object->address);
    struct tt_object *o;
    int there = 0;

    TT_ASSERT(object->address); /* 0 is a free place */
    tt_brief_lock(&s->lock);
    if ((!s->object || s->count * 2ull > s->mask) && grow(s) != 0 &&
        (!s->object || s->count >= s->mask)) {
        tt_brief_unlock(&s->lock);
        return -1;
    }
    TT_ASSERT(s->count <= s->mask);
    o = find(s->object, s->mask, object->address);
    there = o->address != 0;
    if (there)
        *before = *o;
    if (!there)
        count_class(object->address, 1);
    s->count += !there;
    *o = *object;
    tt_brief_unlock(&s->lock);
    return there;
}

int tt_heap_table_remove(uint64_t address, struct tt_object *out)
{
    struct tt_heap_shard *s = tt_heap_shard_of(address);
    struct tt_object *o;
    int there = 0;

    tt_brief_lock(&s->lock);
    if (s->object) {
        o = find(s->object, s->mask, address);
        there = o->address != 0;
        *out = *o;
        if (there) {
            remove_place(s, o);
            count_class(address, -1u);
        }
    }
    tt_brief_unlock(&s->lock);
    return there;
}

void tt_heap_table_free(void)
{
    for (unsigned i = 0; i < 1u << TT_HEAP_SHARDS_BITS; i++)
        tt_heap_shard[i].lock = TT_BRIEF_FREE;
}

void tt_heap_table_forked(void)
{
    for (unsigned i = 0; i < 1u << TT_HEAP_SHARDS_BITS; i++) {
        struct tt_heap_shard *s = &tt_heap_shard[i];
        if (s->object)
            munmap(s->object, (s->mask + 1) * sizeof *s->object);
        *s = (struct tt_heap_shard){0};
    }
    memset(tt_heap_classes, 0, sizeof tt_heap_classes);
}

/* ── Check ────────────────────────────────────────────────────────────────────────── */

#ifdef TT_CHECKED
static const char *wrong_shard(const struct tt_heap_shard *s, uint32_t *classes)
{
    uint32_t count = 0;

    for (uint64_t i = 0; s->object && i <= s->mask; i++) {
        const struct tt_object *o = &s->object[i];
        if (!o->address)
            continue;
        if (tt_heap_shard_of(o->address) != s)
            return "an object of the heap is in another shard";
        if (find(s->object, s->mask, o->address) != o)
            return "an object of the heap is not found, or is there twice";
        classes[tt_heap_class(o->address)]++;
        count++;
    }
    return count == s->count && (!count || count <= s->mask)
               ? ""
               : "a shard of the heap's objects is miscounted";
}

const char *tt_heap_table_check(void)
{
    static uint32_t classes[TT_HEAP_CLASSES];
    const char *wrong = "";

    memset(classes, 0, sizeof classes);
    for (unsigned i = 0; !*wrong && i < 1u << TT_HEAP_SHARDS_BITS; i++)
        wrong = wrong_shard(&tt_heap_shard[i], classes);
    if (!*wrong && tt_heap_classed &&
        memcmp(classes, tt_heap_classes, sizeof classes) != 0)
        wrong = "a class of addresses is miscounted";
    return wrong;
}
#endif
