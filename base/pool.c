/* SPDX-License-Identifier: MIT */
/* pool.c - pieces of memory in a ring. */
#include "pool.h"

#include "assertion.h"

static void *get_piece(void *arg, size_t size)
{
    struct tt_pool *pool = arg;
    struct tt_pool_piece *piece = NULL;

    if (!__builtin_add_overflow(size, sizeof *piece, &size))
        piece = tt_memory_get(pool->from, size);
    if (!piece)
        return NULL;
    piece->before = pool->ring.before;
    piece->next = &pool->ring;
    piece->before->next = piece->next->before = piece;
    return piece + 1;
}

static void put_piece(void *arg, void *p, size_t size)
{
    struct tt_pool *pool = arg;
    struct tt_pool_piece *piece = (struct tt_pool_piece *)p - 1;

    (void)size;
    TT_ASSERT(piece->before->next == piece && piece->next->before == piece);
    piece->before->next = piece->next;
    piece->next->before = piece->before;
    tt_memory_put(pool->from, piece);
}

/* If it moves, its neighbours have to know. */
static void *grow_piece(void *arg, void *p, size_t size, size_t larger)
{
    struct tt_pool *pool = arg;
    struct tt_pool_piece *piece = (struct tt_pool_piece *)p - 1;

    (void)size;
    if (!__builtin_add_overflow(larger, sizeof *piece, &larger))
        piece = tt_memory_grow(pool->from, piece, larger);
    else
        piece = NULL;
    if (!piece)
        return NULL;
    piece->before->next = piece->next->before = piece;
    return piece + 1;
}

static void forget_part(void *arg, void *p, size_t size)
{
    tt_memory_forget(((struct tt_pool *)arg)->from, p, size);
}

void tt_pool_init(struct tt_pool *pool, const struct tt_memory *from)
{
    *pool = (struct tt_pool){
        .memory = {get_piece, put_piece, pool, grow_piece, forget_part},
        .from = from,
        .ring = {&pool->ring, &pool->ring}};
}

void tt_pool_fini(struct tt_pool *pool)
{
    while (pool->ring.next != &pool->ring)
        put_piece(pool, pool->ring.next + 1, 0);
}
