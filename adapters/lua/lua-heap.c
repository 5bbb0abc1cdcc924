/* SPDX-License-Identifier: MIT */
/* lua-heap.c - wraps a universe's allocator: forgets freed functions and, with --heap,
 * charges objects to the function that made them, with their types.
 *
 * Lua passes the type of a new object to the allocator; memory that grows (a table's
 * array, a string's or a stack's) is "memory".
 *
 *      made ──▶ dice: not picked ──▶ nothing
 *                     picked ──▶ waits for a sample ──▶ recorded at the sample's function
 *      freed ─▶ among those picked?
 *
 * With call events, an object's function is known at once.  Without, a sample at the next
 * instruction finds it, which costs far more than an object does: so one object of many
 * is recorded, and counts for the others. */
#include <stdlib.h>
#include <string.h>

#include "lua-watch.h"

enum { UPVALUE = LUA_TTHREAD + 1, PROTOTYPE };

static const char *const names[] = {[0] = "memory",
                                    [LUA_TSTRING] = "string",
                                    [LUA_TTABLE] = "table",
                                    [LUA_TFUNCTION] = "function",
                                    [LUA_TUSERDATA] = "userdata",
                                    [LUA_TTHREAD] = "thread",
                                    [UPVALUE] = "upvalue",
                                    [PROTOTYPE] = "prototype"};
enum { TYPES = sizeof names / sizeof *names };
static tt_type types[TYPES];

static tt_type type_of(size_t tag) { return types[tag < TYPES && names[tag] ? tag : 0]; }

/* ── Those that were picked ───────────────────────────────────────────────────────── */

/* A hash table with few entries: a lookup of a missing one mostly ends at once. */
static uint32_t home_of(const struct picked *p, uintptr_t at)
{
    return (uint32_t)(at * 0x9e3779b97f4a7c15u >> 32) & (p->size - 1);
}

static uint32_t slot_of(const struct picked *p, uintptr_t at)
{
    uint32_t i = home_of(p, at);

    while (p->slot[i] && p->slot[i] != at)
        i = (i + 1) & (p->size - 1);
    return i;
}

static int grow_picked(struct picked *p)
{
    struct picked grown = {.size = p->size ? p->size * 2 : 1024};

    grown.slot = calloc(grown.size, sizeof *grown.slot);
    if (!grown.slot)
        return -1;
    for (uint32_t i = 0; i < p->size; i++)
        if (p->slot[i])
            grown.slot[slot_of(&grown, p->slot[i])] = p->slot[i];
    free(p->slot);
    p->slot = grown.slot;
    p->size = grown.size;
    return 0;
}

static int keep_picked(struct picked *p, uintptr_t at)
{
    uint32_t i;

    if (p->count * 4 >= p->size && grow_picked(p) != 0)
        return -1;
    i = slot_of(p, at);
    p->count += !p->slot[i];
    p->slot[i] = at;
    return 0;
}

/* Entries after it that would not be found any more move up.  Returns 1 if it was
 * there. */
static int drop_picked(struct picked *p, uintptr_t at)
{
    uint32_t hole, i;

    if (!p->size || !p->slot[hole = i = slot_of(p, at)])
        return 0;
    p->count--;
    while (p->slot[i = (i + 1) & (p->size - 1)])
        if (((i - home_of(p, p->slot[i])) & (p->size - 1)) >=
            ((i - hole) & (p->size - 1))) {
            p->slot[hole] = p->slot[i];
            hole = i;
        }
    p->slot[hole] = 0;
    return 1;
}

/* Picks one of many, a power of two. */
static int is_picked(struct picked *p, size_t size)
{
    uint64_t others = size <= SMALL ? p->others[size] : tt_object_weight(size) - 1;

    if (!others)
        return 1;
    p->dice = p->dice * 6364136223846793005u + 1442695040888963407u;
    return (p->dice >> 33 & others) == 0;
}

/* ── Objects ──────────────────────────────────────────────────────────────────────── */

void tt_lua_heap_tell(struct watch *w)
{
    const struct waiting *it = w->picked.waiting;

    for (; w->picked.waits; w->picked.waits--, it++)
        (void)tt_object_picked(it->at, it->type, it->size, 0);
}

/* An object that was freed before its sample is dropped, as if it had not been picked. */
static int does_not_wait_any_more(struct picked *p, uintptr_t at)
{
    for (int i = 0; i < p->waits; i++)
        if (p->waiting[i].at == at) {
            p->waiting[i] = p->waiting[--p->waits];
            return 1;
        }
    return 0;
}

static void count_made(struct watch *w, uintptr_t at, tt_type type, size_t size)
{
    struct picked *p = &w->picked;

    if (!p->is_all && (!is_picked(p, size) || keep_picked(p, at) != 0))
        return;
    if (w->mode == MODE_SAMPLED && p->waits < WAITING && tt_lua_sample_soon(w))
        p->waiting[p->waits++] = (struct waiting){at, type, size};
    else
        (void)tt_object_picked(at, type, size, 0);
}

static void count_freed(struct watch *w, uintptr_t at)
{
    struct picked *p = &w->picked;

    if ((p->is_all || drop_picked(p, at)) && !does_not_wait_any_more(p, at))
        tt_object_free(at);
}

static void count_objects(struct watch *w, uintptr_t old, void *made, size_t tag,
                          size_t size)
{
    if (old)
        count_freed(w, old);
    if (made)
        count_made(w, (uintptr_t)made, type_of(old ? 0 : tag), size);
}

/* Threads are all of one size, and so are prototypes. */
static void note_size(struct watch *w, size_t tag, size_t size)
{
    if (tag == LUA_TTHREAD)
        w->thread_size = size;
    else if (tag == PROTOTYPE)
        w->prototype_size = size;
}

/* Memory that is about to be freed may be used for another function. */
static void forget(struct watch *w, void *old, size_t size)
{
    if (size == w->prototype_size && w->private_layout)
        tt_lua_block_forget(w, old);
    if (size == w->thread_size && w->mode == MODE_SAMPLED)
        tt_lua_sample_drop(w, old);
}

/* If reallocation fails, the old memory is unchanged. */
static void *allocate(void *arg, void *old, size_t old_size, size_t size)
{
    struct watch *w = arg;
    uintptr_t before = (uintptr_t)old;
    void *made;

    if (!old)
        note_size(w, old_size, size);
    else if (!size)
        forget(w, old, old_size);
    made = w->allocate(w->ud, old, old_size, size);
    if (w->heap && (made || !size))
        count_objects(w, before, made, old_size, size);
    if (w->mode == MODE_SAMPLED && (w->is_fresh || (!old && old_size == LUA_TTHREAD)))
        tt_lua_sample_add(w, !old && old_size == LUA_TTHREAD ? made : NULL);
    return made;
}

/* Without heap recording: handles only threads and prototypes, and the allocations after
 * a new thread; others are passed on directly. */
static void *pass(void *arg, void *old, size_t old_size, size_t size)
{
    const struct watch *w = arg;
    int is_ours = old ? !size &&
                            (old_size == w->thread_size || old_size == w->prototype_size)
                      : old_size == LUA_TTHREAD || old_size == PROTOTYPE;

    if (is_ours || w->is_fresh)
        return allocate(arg, old, old_size, size);
    return w->allocate(w->ud, old, old_size, size);
}

static lua_Alloc allocator_of(const struct watch *w) { return w->heap ? allocate : pass; }

void tt_lua_heap_begin(struct watch *w)
{
    int heap = w->heap;

    for (int i = 0; w->heap && i < TYPES; i++)
        if (names[i])
            types[i] = tt_type_get(names[i]);
    for (size_t i = 0; i <= SMALL; i++)
        w->picked.others[i] = (uint32_t)tt_object_weight(i) - 1;
    w->picked.is_all = tt_object_weight(0) == 1;
    w->picked.dice = (uintptr_t)w ^ 0x9e3779b97f4a7c15u;
    w->allocate = lua_getallocf(w->main, &w->ud);
    lua_setallocf(w->main, allocator_of(w), w);
    w->heap = 0;
    (void)luaL_loadstring(w->main, ""); /* shows the size of a prototype */
    lua_pop(w->main, 1);
    w->heap = heap;
}

void tt_lua_heap_end(struct watch *w)
{
    void *ud;

    if (lua_getallocf(w->main, &ud) == allocator_of(w) && ud == w)
        lua_setallocf(w->main, w->allocate, w->ud);
    tt_lua_heap_tell(w);
    free(w->picked.slot);
    memset(&w->picked, 0, sizeof w->picked);
}
