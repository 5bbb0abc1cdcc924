/* SPDX-License-Identifier: MIT */
/* memory.c - the engine's memory, and arrays that grow. */
#include "memory.h"

#include <stdlib.h>
#include <string.h>

#if defined TT_CHECKED && defined __GLIBC__ && !defined __SANITIZE_ADDRESS__
#include <malloc.h>
#define KNOWS_SIZES
#endif

#include "assertion.h"

void *tt_memory_get(const struct tt_memory *m, size_t size)
{
    if (!size)
        size = 1;
    return m && m->get ? m->get(m->arg, size) : calloc(1, size);
}

/* The caller passes the size of the memory that it frees. */
static void free_checked(void *p, size_t size)
{
#ifdef KNOWS_SIZES
    enum { LARGE = 64 << 10, ROUNDING = 64 };
    size_t have = malloc_usable_size(p);

    TT_ASSERT(!size ||
              (size <= have && (have >= LARGE || have - size <= ROUNDING + size / 2)));
#else
    (void)size;
#endif
    free(p);
}

void tt_memory_put(const struct tt_memory *m, void *p, size_t size)
{
    if (!p)
        return;
    if (m && m->put)
        m->put(m->arg, p, size ? size : 1);
    else
        free_checked(p, size);
}

void *tt_memory_grow(const struct tt_memory *m, void *p, size_t size, size_t larger)
{
    TT_ASSERT(larger >= size);
    void *grown = p && m && m->grow ? m->grow(m->arg, p, size, larger) : NULL;

    if (grown)
        return grown;
    grown = tt_memory_get(m, larger);
    if (!grown)
        return NULL;
    if (p)
        memcpy(grown, p, size);
    tt_memory_put(m, p, size);
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
    tt_memory_put(v->memory, v->item, v->room * v->size);
    v->item = NULL;
    v->count = v->room = 0;
}

static int grow_vector(struct tt_vector *v, size_t count)
{
    size_t room = v->room ? v->room : 64 / v->size + 1;
    void *item;

    while (room < count && room <= SIZE_MAX / 2)
        room *= 2;
    if (room < count || room > SIZE_MAX / v->size)
        return -1;
    item = tt_memory_grow(v->memory, v->item, v->room * v->size, room * v->size);
    if (!item)
        return -1;
    v->item = item;
    v->room = room;
    return 0;
}

/* Forgets a MiB at a time, after its end has been passed. */
void tt_vector_forget(struct tt_vector *v, size_t before)
{
    enum { AT_ONCE = 1 << 20 };
    size_t behind = before * v->size / AT_ONCE;

    if (behind && before && (before - 1) * v->size / AT_ONCE < behind)
        tt_memory_forget(v->memory, (char *)v->item + (behind - 1) * AT_ONCE, AT_ONCE);
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
