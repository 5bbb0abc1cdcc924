/* SPDX-License-Identifier: MIT */
/* lock-queue.c - locks that threads wait for.
 *
 * Their number is limited; a new one takes over the queue of a lock without waiters.
 * Memory of a queue is never unmapped, so a late release does no harm. */
#include "lock-queue.h"

#include <stddef.h>
#include <string.h>

#include "brief-lock.h"

enum { QUEUES = 1024, UNREAD_MAX = 1 << 16 };

static struct {
    uint32_t lock; /* for beginning or ending a queue */
    uint32_t used, hand;
    struct tt_lock_queue queue[QUEUES];
} pool;

/* Takes the queue from its lock.  A waiter that joins meanwhile sees the address
 * change. */
static int end_queue(struct tt_lock_queue *q)
{
    uintptr_t address = q->address;

    if (!address)
        return 1;
    if (__atomic_load_n(&q->waiters, __ATOMIC_SEQ_CST))
        return 0;
    __atomic_store_n(&q->address, 0, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&q->waiters, __ATOMIC_SEQ_CST)) {
        __atomic_store_n(&q->address, address, __ATOMIC_SEQ_CST);
        return 0;
    }
    __atomic_store_n(&q->lock->queue, NULL, __ATOMIC_RELEASE);
    return 1;
}

static struct tt_lock_queue *take_queue(void)
{
    if (pool.used < QUEUES)
        return &pool.queue[pool.used++];
    for (int i = 0; i < QUEUES; i++) {
        struct tt_lock_queue *q = &pool.queue[pool.hand++ % QUEUES];
        if (end_queue(q))
            return q;
    }
    return NULL;
}

static struct tt_lock_queue *begin_queue(struct tt_lock *l, const void *lock)
{
    struct tt_lock_queue *q;

    tt_brief_lock(&pool.lock);
    q = __atomic_load_n(&l->queue, __ATOMIC_ACQUIRE);
    if (!q && (q = take_queue())) {
        q->lock = l;
        q->name = 0;
        q->unread = 0;
        __atomic_store_n(&q->address, (uintptr_t)lock, __ATOMIC_SEQ_CST);
        __atomic_store_n(&l->queue, q, __ATOMIC_SEQ_CST);
    }
    tt_brief_unlock(&pool.lock);
    return q;
}

/* If another lock has taken over the entry, or its queue, it tries again. */
struct tt_lock_queue *tt_lock_queue_join(const void *lock, uintptr_t caller)
{
    enum { TRIES = 4 };

    for (int i = 0; i < TRIES; i++) {
        struct tt_lock *l = tt_lock_find(lock);
        struct tt_lock_queue *q;
        if (!l && !(l = tt_lock_add(lock, caller)))
            return NULL;
        q = __atomic_load_n(&l->queue, __ATOMIC_ACQUIRE);
        if (!q && !(q = begin_queue(l, lock)))
            return NULL;
        (void)__atomic_fetch_add(&q->waiters, 1, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&q->address, __ATOMIC_SEQ_CST) == (uintptr_t)lock &&
            __atomic_load_n(&l->address, __ATOMIC_SEQ_CST) == (uintptr_t)lock)
            return q;
        tt_lock_queue_leave(q);
    }
    return NULL;
}

void tt_lock_queue_leave(struct tt_lock_queue *q)
{
    uint32_t waiters = __atomic_load_n(&q->waiters, __ATOMIC_RELAXED);

    __atomic_store_n(&q->unread, 0, __ATOMIC_RELAXED);
    while (waiters && !__atomic_compare_exchange_n(&q->waiters, &waiters, waiters - 1, 0,
                                                   __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
        ;
}

void tt_lock_queue_release(struct tt_lock_queue *q, uint64_t when, uint32_t path)
{
    uint32_t i = __atomic_fetch_add(&q->count, 1, __ATOMIC_ACQ_REL) % TT_LOCK_RELEASES;
    struct tt_lock_release *r = &q->release[i];

    __atomic_store_n(&r->when, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&r->path, path, __ATOMIC_RELEASE);
    __atomic_store_n(&r->when, when, __ATOMIC_RELEASE);
    if (__atomic_add_fetch(&q->unread, 1, __ATOMIC_RELAXED) > UNREAD_MAX)
        __atomic_store_n(&q->waiters, 0, __ATOMIC_RELAXED);
}

void tt_lock_queue_end(struct tt_lock *l)
{
    struct tt_lock_queue *q;

    tt_brief_lock(&pool.lock);
    q = __atomic_load_n(&l->queue, __ATOMIC_ACQUIRE);
    if (q)
        (void)end_queue(q);
    tt_brief_unlock(&pool.lock);
}

void tt_lock_queues_forked(void)
{
    for (uint32_t i = 0; i < pool.used; i++)
        if (pool.queue[i].lock && pool.queue[i].lock->queue == &pool.queue[i])
            pool.queue[i].lock->queue = NULL;
    memset(pool.queue, 0, pool.used * sizeof *pool.queue);
    pool.lock = TT_BRIEF_FREE;
    pool.used = pool.hand = 0;
}
