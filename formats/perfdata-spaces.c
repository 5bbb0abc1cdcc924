/* SPDX-License-Identifier: MIT */
/* perfdata-spaces.c - the mappings of each process over time.
 *
 *      process ──┐
 *      process ──┴─▶ map  [region] [region] …      shared from fork to the first change
 *      thread: its name
 *
 * A new mapping covers older ones, also after exec: until the new program runs, samples
 * still belong to the call in the old one. */
#include <string.h>

#include "perfdata-spaces.h"
#include "perfdata.h"

enum { KERNEL = 0 };

struct process {
    uint32_t map, threads; /* map: 0: none so far */
};

struct thread {
    uint32_t comm;
};

static struct tt_perfdata_map *map_at(const struct tt_perfdata_spaces *s, uint32_t map)
{
    return (struct tt_perfdata_map *)s->map.item + map;
}

/* Makes a map with one user; 0: no memory. */
static uint32_t new_map(struct tt_perfdata_spaces *s)
{
    struct tt_perfdata_map *map;
    uint32_t i;

    if (s->free.count) {
        i = ((const uint32_t *)s->free.item)[--s->free.count];
        map = map_at(s, i);
    } else {
        i = (uint32_t)s->map.count;
        map = tt_vector_add(&s->map, 1);
        if (!map)
            return 0;
        tt_vector_init(&map->region, s->memory, sizeof(struct tt_perfdata_region));
    }
    map->users = 1;
    map->version = ++s->version;
    return i;
}

static int leave_map(struct tt_perfdata_spaces *s, uint32_t i)
{
    struct tt_perfdata_map *map = map_at(s, i);

    if (!i || --map->users)
        return 0;
    tt_vector_fini(&map->region);
    tt_vector_init(&map->region, s->memory, sizeof(struct tt_perfdata_region));
    return tt_vector_push(&s->free, &(uint32_t){i});
}

int tt_perfdata_spaces_init(struct tt_perfdata_spaces *s, const struct tt_memory *memory)
{
    s->memory = memory;
    tt_vector_init(&s->process, memory, sizeof(struct process));
    tt_vector_init(&s->thread, memory, sizeof(struct thread));
    tt_vector_init(&s->free, memory, sizeof(uint32_t));
    tt_vector_init(&s->map, memory, sizeof(struct tt_perfdata_map));
    tt_pairs_init(&s->by_pid, memory);
    tt_pairs_init(&s->by_tid, memory);
    (void)new_map(s);
    return s->map.count == KERNEL + 1 ? 0 : -TT_ERR_MEMORY;
}

static struct process *get_process(struct tt_perfdata_spaces *s, uint32_t pid)
{
    int is_new;
    struct process *p = tt_pairs_item(&s->by_pid, &s->process, pid, 0, &is_new);

    if (p && is_new)
        p->threads = 1;
    return p;
}

static struct thread *get_thread(struct tt_perfdata_spaces *s, uint32_t tid)
{
    int is_new;
    struct thread *t = tt_pairs_item(&s->by_tid, &s->thread, tid, 0, &is_new);

    if (t && is_new)
        t->comm = TT_NONE;
    return t;
}

/* ── Regions ──────────────────────────────────────────────────────────────────────── */

const struct tt_perfdata_map *tt_perfdata_kernel(const struct tt_perfdata_spaces *s)
{
    return map_at(s, KERNEL);
}

/* Returns the first region that ends after an address. */
static size_t first_behind(const struct tt_perfdata_map *map, uint64_t address)
{
    const struct tt_perfdata_region *r = map->region.item;
    size_t low = 0, high = map->region.count;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (r[mid].end <= address)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

const struct tt_perfdata_region *tt_perfdata_find(const struct tt_perfdata_map *map,
                                                  uint64_t address)
{
    const struct tt_perfdata_region *r = map->region.item;
    size_t at = first_behind(map, address);

    return at < map->region.count && r[at].start <= address ? r + at : NULL;
}

/* Puts a region into the map.  Parts of others that it does not cover are kept. */
static int put(struct tt_perfdata_map *map, const struct tt_perfdata_region *new)
{
    struct tt_vector *v = &map->region;
    size_t at = first_behind(map, new->start), behind = at, kept = 1;
    struct tt_perfdata_region *r = v->item, piece[3];

    piece[0] = *new;
    if (at < v->count && r[at].start < new->start) {
        piece[0] = r[at];
        piece[0].end = new->start;
        piece[kept++] = *new;
    }
    while (behind < v->count && r[behind].start < new->end)
        behind++;
    if (behind > at && r[behind - 1].end > new->end) {
        piece[kept] = r[behind - 1];
        piece[kept].offset += new->end - piece[kept].start;
        piece[kept++].start = new->end;
    }
    if (at + kept > behind) {
        size_t more = at + kept - behind, tail = v->count - behind;
        if (!tt_vector_add(v, more))
            return -TT_ERR_MEMORY;
        r = v->item;
        memmove(r + behind + more, r + behind, tail * sizeof *r);
    } else {
        memmove(r + at + kept, r + behind, (v->count - behind) * sizeof *r);
        v->count -= behind - at - kept;
    }
    memcpy(r + at, piece, kept * sizeof *r);
    return 0;
}

/* Returns a map of the process that is not shared, so that it can be changed. */
static struct tt_perfdata_map *own_map(struct tt_perfdata_spaces *s, struct process *p)
{
    struct tt_perfdata_map *map = map_at(s, p->map), *old;
    struct tt_perfdata_region *to;
    uint32_t i;

    if (p->map && map->users == 1) {
        map->version = ++s->version;
        return map;
    }
    i = new_map(s);
    if (!i)
        return NULL;
    map = map_at(s, i);
    old = map_at(s, p->map);
    if (p->map && old->region.count) {
        to = tt_vector_add(&map->region, old->region.count);
        if (!to)
            return NULL;
        memcpy(to, old->region.item, old->region.count * sizeof *to);
    }
    if (leave_map(s, p->map) != 0)
        return NULL;
    p->map = i;
    return map_at(s, i);
}

int tt_perfdata_mapped(struct tt_perfdata_spaces *s, uint32_t pid, int is_kernel,
                       const struct tt_perfdata_region *region)
{
    struct process *p = is_kernel ? NULL : get_process(s, pid);
    struct tt_perfdata_map *map = is_kernel ? map_at(s, KERNEL)
                                  : p       ? own_map(s, p)
                                            : NULL;

    if (!map)
        return -TT_ERR_MEMORY;
    return region->start < region->end ? put(map, region) : 0;
}

const struct tt_perfdata_map *tt_perfdata_space(struct tt_perfdata_spaces *s,
                                                uint32_t pid)
{
    struct process *p = get_process(s, pid);

    if (p && !p->map && !own_map(s, p))
        return NULL;
    return p ? map_at(s, p->map) : NULL;
}

/* ── Threads ──────────────────────────────────────────────────────────────────────── */

/* The number of a process may be used again after it has ended. */
static int forked_process(struct tt_perfdata_spaces *s, uint32_t pid, uint32_t parent,
                          int with_maps)
{
    struct process *p = get_process(s, pid), *from;
    uint32_t map = 0;
    int error;

    if (!p)
        return -TT_ERR_MEMORY;
    error = leave_map(s, p->map);
    p->map = 0;
    p->threads = 1;
    if (with_maps) {
        from = get_process(s, parent);
        if (!from)
            return -TT_ERR_MEMORY;
        map = from->map;
        p = get_process(s, pid);
    }
    if (map && p) {
        map_at(s, map)->users++;
        p->map = map;
    }
    return error;
}

int tt_perfdata_forked(struct tt_perfdata_spaces *s, uint32_t pid, uint32_t parent,
                       uint32_t tid, uint32_t parent_tid, int with_maps)
{
    struct thread *t = get_thread(s, parent_tid);
    uint32_t comm = t ? t->comm : TT_NONE;
    struct process *p;

    t = t ? get_thread(s, tid) : NULL;
    if (!t)
        return -TT_ERR_MEMORY;
    t->comm = comm;
    if (pid != parent)
        return forked_process(s, pid, parent, with_maps);
    p = get_process(s, pid);
    if (p)
        p->threads++;
    return p ? 0 : -TT_ERR_MEMORY;
}

int tt_perfdata_exited(struct tt_perfdata_spaces *s, uint32_t pid)
{
    struct process *p = get_process(s, pid);
    uint32_t map;

    if (!p)
        return -TT_ERR_MEMORY;
    if (p->threads && --p->threads)
        return 0;
    map = p->map;
    p->map = 0;
    return leave_map(s, map);
}

int tt_perfdata_called(struct tt_perfdata_spaces *s, uint32_t tid, uint32_t comm)
{
    struct thread *t = get_thread(s, tid);

    if (!t)
        return -TT_ERR_MEMORY;
    t->comm = comm;
    return 0;
}

uint32_t tt_perfdata_comm(const struct tt_perfdata_spaces *s, uint32_t tid)
{
    const uint32_t *i = tt_pairs_find(&s->by_tid, tid, 0);

    return i ? ((const struct thread *)s->thread.item)[*i - 1].comm : TT_NONE;
}
