/* SPDX-License-Identifier: MIT */
/* lock-charge.c - adds finished waits to the tree of the waiting thread.
 *
 *      waiter ─ kind ─ lock ─ [held by] ─ path of the holder     delay: here
 *                       └ count, and the longest: struct tt_times
 *
 * These are contexts like any others, so the budget, merging and reading apply to them,
 * too.  The recursion policy is not used: a holder's path begins again. */
#include "lock-charge.h"

#include <sched.h>

#include "activation.h"
#include "block.h"
#include "budget.h"
#include "cell.h"
#include "context.h"
#include "extension.h"
#include "locks.h"
#include "places.h"
#include "wake-paths.h"

enum { TRIES = 1000 };

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
static const char held_by[] = "[held by]", woken_by[] = "[woken by]";

static int is_event(uint32_t kind) { return kind >= TT_LOCK_CONDITION; }

void tt_lock_charge_start(void)
{
    metric.contentions = tt_metric_get("contentions", "");
    metric.delay = tt_metric_get("delay", "ns");
    metric.waits = tt_metric_get("waits", "");
    metric.wait_time = tt_metric_get("wait time", "ns");
}

/* ── Locks for making a block ─────────────────────────────────────────────────────── */

static int try_locks(struct tt_lock_thread *h)
{
    struct tt_tree *tree = &h->thread->tree;

    if (pthread_mutex_trylock(&tree->lock) != 0)
        return 0;
    if (tt_block_try()) {
        if (tt_pages_try(h->recording))
            return 1;
        tt_block_done();
    }
    pthread_mutex_unlock(&tree->lock);
    return 0;
}

/* Others hold them only briefly. */
static int take_locks(struct tt_lock_thread *h)
{
    for (int i = 0; i < TRIES; i++) {
        if (try_locks(h))
            return 1;
        sched_yield();
    }
    return 0;
}

static void give_locks(struct tt_lock_thread *h)
{
    tt_pages_done(h->recording);
    tt_block_done();
    pthread_mutex_unlock(&h->thread->tree.lock);
}

void tt_lock_name(struct tt_lock_thread *h, struct tt_lock_queue *q)
{
    struct tt_recording *r = h->recording;
    const uintptr_t address = q->address, made = q->lock->made;
    tt_block name;
    int is_symbol;

    if (__atomic_load_n(&q->name, __ATOMIC_ACQUIRE) && q->epoch == r->epoch)
        return;
    if (!take_locks(h))
        return;
    name = tt_lock_block(r, address, &is_symbol);
    if (!name)
        name = tt_lock_block(r, made - 1, NULL);
    give_locks(h);
    q->is_symbol = is_symbol;
    q->epoch = r->epoch;
    __atomic_store_n(&q->name, name, __ATOMIC_RELEASE);
}

/* ── Down the tree ────────────────────────────────────────────────────────────────── */

/* A place in the tree; without room, as far down as possible. */
struct descent {
    struct tt_lock_thread *h;
    struct tt_node *n;
    tt_block block;
    int below;
};

static void go_down(struct descent *d, tt_block block)
{
    struct tt_tree *tree = &d->h->thread->tree;
    uint32_t cell = d->below ? 0 : tt_tree_child(tree, d->n, block);

    d->block = block;
    if (cell)
        d->n = tt_cell(tree->base, cell);
    else
        d->below = 1;
}

static void add(struct descent *d, uint32_t m, uint64_t amount)
{
    struct tt_tree *tree = &d->h->thread->tree;
    uint64_t *sum = d->below ? NULL : tt_tree_metric_of(tree, d->n, m);

    if (sum)
        tt_bump(sum, amount);
    else if (!tt_tree_metric_evicted(tree, d->n, d->block, m, amount))
        tt_bump_shared(&d->h->recording->header->lost_figures, 1);
}

static const struct tt_frame no_activation;

/* In ticks, as all times of activations are. */
static void time_wait(struct descent *d, uint64_t ns)
{
    const uint64_t rate = d->h->recording->header->ticks_per_second,
                   ticks = (uint64_t)((unsigned __int128)ns * rate / 1000000000u);
    struct tt_times *t = d->below ? NULL : tt_tree_times(&d->h->thread->tree, d->n);

    if (t)
        tt_times_add(t, &no_activation, ticks);
}

/* The cached place of a wait for this lock, by the holder's path; AT_LOCK: of the
 * lock. */
enum { AT_LOCK = -1 };

static uint64_t key_of(const struct tt_lock_charge *c, uint32_t path)
{
    uint64_t key = tt_lock_mix(c->waiter) + c->name * 0x9e3779b97f4a7c15u + path;

    return tt_lock_mix(key * 16 + c->kind) ^ 0xaaaaaaaaaaaaaaaau;
}

static int recall(struct descent *d, const struct tt_lock_charge *c, uint32_t path)
{
    uint32_t cell = tt_keys_find(&d->h->keys, key_of(c, path));

    if (!cell)
        return 0;
    d->n = tt_cell(d->h->thread->tree.base, cell);
    d->block = d->n->key;
    return 1;
}

static void keep(const struct descent *d, const struct tt_lock_charge *c, uint32_t path)
{
    if (!d->below)
        tt_keys_add(&d->h->keys, key_of(c, path), tt_cell_of(&d->h->thread->tree, d->n));
}

static struct descent begin_descent(struct tt_lock_thread *h,
                                    const struct tt_lock_charge *c)
{
    struct descent d = {.h = h, .n = h->thread->tree.root, .block = c->name};

    if (recall(&d, c, (uint32_t)AT_LOCK))
        return d;
    if (c->waiter) {
        d.block = tt_context_block(c->waiter);
        d.n = tt_context_find(h->thread, c->waiter, &d.below);
    }
    if (!d.n)
        d.n = h->thread->tree.root;
    go_down(&d, tt_place_wait(h->recording, waits_for[c->kind][c->is_symbol], 1));
    go_down(&d, tt_block_publish(h->recording, c->name));
    keep(&d, c, (uint32_t)AT_LOCK);
    return d;
}

static uint32_t path_of(struct tt_lock_thread *h, const struct tt_lock_charge *c,
                        uint32_t path)
{
    if (path || !c->taken || is_event(c->kind))
        return path;
    return tt_lock_path(0, tt_lock_block(h->recording, c->taken - 1, NULL));
}

static void go_down_path(struct descent *d, const struct tt_lock_charge *c, uint32_t path)
{
    uint32_t count;

    if (!path || (!d->below && recall(d, c, path)))
        return;
    count = path & TT_WAKE_PATH_SHARED
                ? tt_wake_path_blocks(d->h->recording, path, d->h->block)
                : tt_lock_path_blocks(path, d->h->block);
    if (!count)
        return;
    go_down(d, tt_place_wait(d->h->recording, is_event(c->kind) ? woken_by : held_by, 1));
    for (uint32_t i = 0; i < count; i++)
        go_down(d, d->h->block[i]);
    keep(d, c, path);
}

static void charge_share(struct tt_lock_thread *h, const struct tt_lock_charge *c,
                         struct descent d, uint32_t path, uint64_t ns, int is_main)
{
    go_down_path(&d, c, path_of(h, c, path));
    add(&d, is_event(c->kind) ? metric.wait_time : metric.delay, ns);
    if (is_main)
        add(&d, is_event(c->kind) ? metric.waits : metric.contentions, 1);
}

/* Counts the wait itself at the holder with most of its time. */
static void charge(struct tt_lock_thread *h, const struct tt_lock_charge *c)
{
    struct descent d = begin_descent(h, c);
    uint32_t main = 0;

    time_wait(&d, c->ns);
    if (!c->shares)
        charge_share(h, c, d, 0, c->ns, 1);
    for (uint32_t i = 1; i < c->shares; i++)
        if (c->share[i].ns > c->share[main].ns)
            main = i;
    for (uint32_t i = 0; i < c->shares; i++)
        charge_share(h, c, d, c->share[i].path, c->share[i].ns, i == main);
}

/* As pushes do: evicts cold contexts after enough failed for want of room.  Before any
 * look-up, as it may evict the result. */
static void make_room(struct tt_lock_thread *h)
{
    enum { CELLS = 128 };
    struct tt_tree *tree = &h->thread->tree;

    if (tree->free_count < CELLS && tt_tree_reserve(tree, CELLS) != 0 &&
        tree->refused++ >= tree->patience)
        (void)tt_evict_tree(tree, h->thread);
}

void tt_lock_charge_all(struct tt_lock_thread *h)
{
    const uint32_t charges = h->charges;

    h->charges = 0;
    if (!charges || !take_locks(h)) {
        tt_bump_shared(&h->recording->header->lost_figures, charges);
        return;
    }
    make_room(h);
    if (h->evictions != *h->evicted)
        tt_lock_places_forget(h);
    for (uint32_t i = 0; i < charges; i++)
        charge(h, &h->charge[i]);
    give_locks(h);
}
