/* SPDX-License-Identifier: MIT */
/* mappings.c - the recorded mappings of the program, by their places.
 *
 * An array, from the highest place to the lowest: the system maps downwards, so a new one mostly
 * comes last.  The oldest one is then the first: it has room before it, too, and the shorter part
 * moves. */
#include "mappings.h"

#include <string.h>
#include <sys/mman.h>

#include "brief-lock.h"

enum { FIRST_ROOM = 256 };

static struct {
    uint32_t lock;
    struct tt_heap_mapping *all, *item; /* what is mapped, and the first one in it */
    uint64_t count, room;
    uint64_t stamp; /* of the last one that was added */
} maps;

void tt_mappings_lock(void) { tt_brief_lock(&maps.lock); }

void tt_mappings_unlock(void) { tt_brief_unlock(&maps.lock); }

uint64_t tt_mappings_now(void) { return __atomic_load_n(&maps.stamp, __ATOMIC_ACQUIRE); }

int tt_mappings_any(void) { return __atomic_load_n(&maps.count, __ATOMIC_RELAXED) != 0; }

/* In the middle, so that there is room at both ends. */
static int make_room(void)
{
    const uint64_t room = maps.room ? 2 * maps.room : FIRST_ROOM,
                   before = (room - maps.count) / 2;
    struct tt_heap_mapping *all;

    if (maps.item > maps.all && maps.item + maps.count < maps.all + maps.room)
        return 0;
    if (maps.count * 2 < maps.room) {
        memmove(maps.all + (maps.room - maps.count) / 2, maps.item,
                maps.count * sizeof *all);
        maps.item = maps.all + (maps.room - maps.count) / 2;
        return 0;
    }
    all = mmap(NULL, room * sizeof *all, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if ((void *)all == MAP_FAILED)
        return -1;
    if (maps.all) {
        memcpy(all + before, maps.item, maps.count * sizeof *all);
        munmap(maps.all, maps.room * sizeof *all);
    }
    maps.all = all;
    maps.item = all + before;
    maps.room = room;
    return 0;
}

/* The first that begins below the address, or their number. */
static uint64_t first_below(uint64_t address)
{
    uint64_t low = 0, high = maps.count;

    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (maps.item[middle].object.address >= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int tt_mappings_add(const struct tt_heap_mapping *m)
{
    struct tt_heap_mapping *at;
    uint64_t i;

    TT_ASSERT(maps.lock && m->size);
    if (make_room() != 0)
        return -1;
    i = first_below(m->object.address);
    if (i < maps.count / 2) {
        memmove(maps.item - 1, maps.item, i * sizeof *at);
        maps.item--;
    } else {
        at = maps.item + i;
        memmove(at + 1, at, (maps.count - i) * sizeof *at);
    }
    at = maps.item + i;
    *at = *m;
    if (!at->stamp) {
        at->stamp = maps.stamp + 1;
        __atomic_store_n(&maps.stamp, at->stamp, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&maps.count, maps.count + 1, __ATOMIC_RELAXED);
    return 0;
}

/* The part [from, to) of a mapping. */
static struct tt_heap_mapping part_of(const struct tt_heap_mapping *m, uint64_t from,
                                      uint64_t to)
{
    struct tt_heap_mapping part = *m;

    part.object.address = from;
    part.size = to - from;
    part.object.bytes = (uint64_t)((unsigned __int128)m->object.bytes * part.size /
                                   m->size);
    return part;
}

static void remove_at(uint64_t i)
{
    struct tt_heap_mapping *at = maps.item + i;

    TT_ASSERT(i < maps.count);
    if (i < maps.count / 2) {
        memmove(maps.item + 1, maps.item, i * sizeof *at);
        maps.item++;
    } else {
        memmove(at, at + 1, (maps.count - i - 1) * sizeof *at);
    }
    __atomic_store_n(&maps.count, maps.count - 1, __ATOMIC_RELAXED);
}

int tt_mappings_take(uint64_t from, uint64_t to, uint64_t stamp,
                     struct tt_heap_mapping *whole, struct tt_heap_mapping rest[2])
{
    struct tt_heap_mapping *m = maps.item + first_below(to),
                           *end = maps.item + maps.count;
    uint64_t begin, after;
    int rests = 0;

    TT_ASSERT(maps.lock);
    while (m < end && m->object.address + m->size > from && m->stamp > stamp)
        m++;
    if (m >= end || m->object.address + m->size <= from)
        return -1;
    *whole = *m;
    begin = m->object.address;
    after = begin + m->size;
    if (begin < from)
        rest[rests++] = part_of(m, begin, from);
    if (after > to)
        rest[rests++] = part_of(m, to, after);
    remove_at((uint64_t)(m - maps.item));
    return rests;
}

void tt_mappings_free(void) { maps.lock = TT_BRIEF_FREE; }

/* Another thread may have been changing them at the fork: they are leaked. */
void tt_mappings_forked(void)
{
    maps.lock = TT_BRIEF_FREE;
    maps.all = maps.item = NULL;
    maps.count = maps.room = 0;
}
