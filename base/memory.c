/* SPDX-License-Identifier: MIT */
/* memory.c - the engine's memory, and arrays that grow. */
#include "memory.h"

#include <stdlib.h>
#include <string.h>

#include "assertion.h"
#include "large-pages.h"
#include "tallytree.h"

/* Precedes each piece, so that a caller need not know its size to free it. */
struct head {
    _Alignas(16) size_t size; /* of both together */
    size_t mark;              /* its own address, mixed: in no other memory */
};

static size_t mark_of(const struct head *h) { return (size_t)(uintptr_t)h * 0x9e3779b1u; }

static void *begin_piece(struct head *h, size_t size)
{
    if (!h)
        return NULL;
    h->size = size;
    h->mark = mark_of(h);
    return h + 1;
}

static struct head *head_of(void *p)
{
    struct head *h = (struct head *)p - 1;

    TT_ASSERT(h->mark == mark_of(h)); /* else it was not got here, or was freed */
    h->mark = 0;
    return h;
}

void *tt_memory_get(const struct tt_memory *m, size_t size)
{
    if (__builtin_add_overflow(size, sizeof(struct head), &size))
        return NULL;
    return begin_piece(m && m->get ? m->get(m->arg, size) : tt_large_array(1, size),
                       size);
}

void tt_memory_put(const struct tt_memory *m, void *p)
{
    struct head *h = p ? head_of(p) : NULL;

    if (h && m && m->put)
        m->put(m->arg, h, h->size);
    else
        free(h);
}

char *tt_memory_text(const struct tt_memory *m, const char *text, size_t length)
{
    char *copy = tt_memory_get(m, length + 1);

    if (copy)
        memcpy(copy, text, length);
    return copy;
}

void *tt_memory_grow(const struct tt_memory *m, void *p, size_t larger)
{
    struct head *h = p ? head_of(p) : NULL, *grown = NULL;
    size_t size = h ? h->size : 0, whole = larger + sizeof *h;

    TT_ASSERT(whole > larger && whole >= size);
    if (h && m && m->grow)
        grown = m->grow(m->arg, h, size, whole);
    if (grown)
        return begin_piece(grown, whole);
    if (h)
        h->mark = mark_of(h);
    grown = tt_memory_get(m, larger);
    if (!grown || !p)
        return grown;
    memcpy(grown, p, size - sizeof *h);
    tt_memory_put(m, p);
    return grown;
}

void *tt_array_grow(void *array, size_t count, size_t *room, size_t item_size)
{
    const size_t larger = *room ? 2 * *room : 64;
    void *grown;

    if (count < *room)
        return array;
    grown = reallocarray(array, larger, item_size);
    if (grown)
        *room = larger;
    return grown;
}

void tt_memory_forget(const struct tt_memory *m, void *p, size_t size)
{
    if (m && m->forget)
        m->forget(m->arg, p, size);
}

void tt_vector_init(struct tt_vector *v, const struct tt_memory *m, size_t item_size)
{
    *v = (struct tt_vector){.memory = m, .size = item_size};
}

void tt_vector_fini(struct tt_vector *v)
{
    tt_memory_put(v->memory, v->item);
    v->item = NULL;
    v->count = v->room = 0;
}

static int set_room(struct tt_vector *v, size_t room)
{
    void *item;

    if (room > SIZE_MAX / v->size)
        return -1;
    item = tt_memory_grow(v->memory, v->item, room * v->size);
    if (!item)
        return -1;
    v->item = item;
    v->room = room;
    return 0;
}

static int grow_vector(struct tt_vector *v, size_t count)
{
    size_t room = v->room ? v->room : 64 / v->size + 1;

    while (room < count && room <= SIZE_MAX / 2)
        room *= 2;
    return room < count ? -1 : set_room(v, room);
}

/* Forgets a MiB at a time, after its end has been passed. */
void tt_vector_forget(struct tt_vector *v, size_t before)
{
    enum { AT_ONCE = 1 << 20 };
    size_t behind = before * v->size / AT_ONCE;

    if (behind && before && (before - 1) * v->size / AT_ONCE < behind)
        tt_memory_forget(v->memory, (char *)v->item + (behind - 1) * AT_ONCE, AT_ONCE);
}

void tt_vector_expect(struct tt_vector *v, size_t count)
{
    if (!v->room && count)
        (void)set_room(v, count);
    else if (count > v->room)
        (void)grow_vector(v, count);
}

void *tt_vector_add(struct tt_vector *v, size_t more)
{
    char *first;

    if (more > SIZE_MAX - v->count ||
        ((!v->item || v->count + more > v->room) && grow_vector(v, v->count + more) != 0))
        return NULL;
    TT_ASSERT(v->count + more <= v->room);
    first = (char *)v->item + v->count * v->size;
    memset(first, 0, more * v->size);
    v->count += more;
    return first;
}

int tt_vector_push_sized(struct tt_vector *v, const void *item, size_t size)
{
    void *to = tt_vector_add(v, 1);

    TT_ASSERT(size == v->size);
    if (!to)
        return -TT_ERR_MEMORY;
    memcpy(to, item, size);
    return 0;
}

size_t tt_vector_text(struct tt_vector *v, const char *text, size_t length)
{
    char *to = length < SIZE_MAX ? tt_vector_add(v, length + 1) : NULL;

    if (!to)
        return TT_NO_PLACE;
    memcpy(to, text, length);
    return v->count - length - 1;
}
