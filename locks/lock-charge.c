/* SPDX-License-Identifier: MIT */
/* lock-charge.c - adds finished waits to the tree of the waiting thread.
 *
 * These are contexts like any others (descent.h), so the budget, merging and reading apply
 * to them, too. */
#include "lock-charge.h"

#include "activation.h"
#include "block.h"
#include "cell.h"
#include "context.h"
#include "descent.h"
#include "extension.h"
#include "locks.h"
#include "places.h"
#include "wake-paths.h"

static struct {
    uint32_t contentions, delay, waits, wait_time; /* metrics */
} metric;

static const char *const waits_for[TT_LOCK_KINDS][2] = {
    /* by its origin, by its symbol */
    [TT_LOCK_MUTEX] = {"[waits: mutex of]", "[waits: mutex]"},
    [TT_LOCK_READ] = {"[waits: read lock of]", "[waits: read lock]"},
    [TT_LOCK_WRITE] = {"[waits: write lock of]", "[waits: write lock]"},
    [TT_LOCK_CONDITION] = {"[waits: condition of]", "[waits: condition]"},
    [TT_LOCK_SEMAPHORE] = {"[waits: semaphore of]", "[waits: semaphore]"},
    [TT_LOCK_BARRIER] = {"[waits: barrier of]", "[waits: barrier]"},
    [TT_LOCK_THREAD] = {"[waits: end of]", "[waits: end of]"},
    [TT_LOCK_PIPE] = {"[waits: pipe of]", "[waits: pipe]"},
    [TT_LOCK_PIPE_ROOM] = {"[waits: room in pipe of]", "[waits: room in pipe]"},
    [TT_LOCK_SOCKET] = {"[waits: socket of]", "[waits: socket]"},
    [TT_LOCK_SOCKET_ROOM] = {"[waits: room in socket of]", "[waits: room in socket]"},
    [TT_LOCK_EVENTFD] = {"[waits: eventfd of]", "[waits: eventfd]"},
    [TT_LOCK_CHILD] = {"[waits: child of]", "[waits: child]"},
};
static const char held_by[] = TT_HELD_BY, woken_by[] = TT_WOKEN_BY;

static int is_event(uint32_t kind) { return kind >= TT_LOCK_CONDITION; }

void tt_lock_charge_start(void)
{
    metric.contentions = tt_metric_get("contentions", "");
    metric.delay = tt_metric_get("delay", "ns");
    metric.waits = tt_metric_get("waits", "");
    metric.wait_time = tt_metric_get("wait time", "ns");
}

/* ── The lock's name ──────────────────────────────────────────────────────────────── */

void tt_lock_name(struct tt_lock_thread *h, struct tt_lock_queue *q)
{
    struct tt_recording *r = h->recording;
    const uintptr_t address = q->address, made = q->lock->made;
    tt_block name;
    int is_symbol;

    if (__atomic_load_n(&q->name, __ATOMIC_ACQUIRE) && q->epoch == r->epoch)
        return;
    if (!tt_descent_lock(h->thread))
        return;
    name = tt_lock_block(r, address, &is_symbol);
    if (!name)
        name = tt_lock_block(r, made - 1, NULL);
    tt_descent_unlock(h->thread);
    q->is_symbol = is_symbol;
    q->epoch = r->epoch;
    __atomic_store_n(&q->name, name, __ATOMIC_RELEASE);
}

/* ── Down the tree ────────────────────────────────────────────────────────────────── */

/* The cached place of a wait for this lock, by the holder's path; AT_LOCK: of the
 * lock. */
enum { AT_LOCK = -1 };

static uint64_t key_of(const struct tt_lock_charge *c, uint32_t path)
{
    uint64_t key = tt_lock_mix(c->waiter) + c->name * 0x9e3779b97f4a7c15u + path;

    return tt_lock_mix(key * 16 + c->kind) ^ 0xaaaaaaaaaaaaaaaau;
}

static int recall(struct tt_lock_thread *h, struct tt_descent *d,
                  const struct tt_lock_charge *c, uint32_t path)
{
    uint32_t cell = tt_keys_find(&h->keys, key_of(c, path));

    if (!cell)
        return 0;
    d->n = tt_cell(d->thread->tree.base, cell);
    d->block = d->n->key;
    return 1;
}

static void keep(struct tt_lock_thread *h, const struct tt_descent *d,
                 const struct tt_lock_charge *c, uint32_t path)
{
    if (!d->below)
        tt_keys_add(&h->keys, key_of(c, path), tt_cell_of(&d->thread->tree, d->n));
}

static struct tt_descent begin_descent(struct tt_lock_thread *h,
                                       const struct tt_lock_charge *c)
{
    struct tt_descent d = {
        .thread = h->thread, .n = h->thread->tree.root, .block = c->name};

    if (recall(h, &d, c, (uint32_t)AT_LOCK))
        return d;
    if (c->waiter) {
        d.block = tt_context_block(c->waiter);
        d.n = tt_context_find(h->thread, c->waiter, &d.below);
    }
    if (!d.n)
        d.n = h->thread->tree.root;
    tt_descend(&d, tt_place_wait(h->recording, waits_for[c->kind][c->is_symbol], 1));
    tt_descend(&d, tt_block_publish(h->recording, c->name));
    keep(h, &d, c, (uint32_t)AT_LOCK);
    return d;
}

static uint32_t path_of(struct tt_lock_thread *h, const struct tt_lock_charge *c,
                        uint32_t path)
{
    if (path || !c->taken || is_event(c->kind))
        return path;
    return tt_lock_path(0, tt_lock_block(h->recording, c->taken - 1, NULL));
}

static void go_down_path(struct tt_lock_thread *h, struct tt_descent *d,
                         const struct tt_lock_charge *c, uint32_t path)
{
    uint32_t count;

    if (!path || (!d->below && recall(h, d, c, path)))
        return;
    count = path & TT_WAKE_PATH_SHARED ? tt_wake_path_blocks(h->recording, path, h->block)
                                       : tt_lock_path_blocks(path, h->block);
    if (!count)
        return;
    tt_descend(d, tt_place_wait(h->recording, is_event(c->kind) ? woken_by : held_by, 1));
    for (uint32_t i = 0; i < count; i++)
        tt_descend(d, h->block[i]);
    keep(h, d, c, path);
}

static void charge_share(struct tt_lock_thread *h, const struct tt_lock_charge *c,
                         struct tt_descent d, uint32_t path, uint64_t ns, int is_main)
{
    go_down_path(h, &d, c, path_of(h, c, path));
    tt_descent_add(&d, is_event(c->kind) ? metric.wait_time : metric.delay, ns);
    if (is_main)
        tt_descent_add(&d, is_event(c->kind) ? metric.waits : metric.contentions, 1);
}

/* Counts the wait itself at the holder with most of its time. */
static void charge(struct tt_lock_thread *h, const struct tt_lock_charge *c)
{
    struct tt_descent d = begin_descent(h, c);
    uint32_t main = 0;

    tt_descent_time(&d, c->ns);
    if (!c->shares)
        charge_share(h, c, d, 0, c->ns, 1);
    for (uint32_t i = 1; i < c->shares; i++)
        if (c->share[i].ns > c->share[main].ns)
            main = i;
    for (uint32_t i = 0; i < c->shares; i++)
        charge_share(h, c, d, c->share[i].path, c->share[i].ns, i == main);
}

void tt_lock_charge_all(struct tt_lock_thread *h)
{
    const uint32_t charges = h->charges;

    h->charges = 0;
    if (!charges || !tt_descent_lock(h->thread)) {
        tt_bump_shared(&h->recording->header->lost_figures, charges);
        return;
    }
    tt_descent_make_room(h->thread);
    if (h->evictions != *h->evicted)
        tt_lock_places_forget(h);
    for (uint32_t i = 0; i < charges; i++)
        charge(h, &h->charge[i]);
    tt_descent_unlock(h->thread);
}
