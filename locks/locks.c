/* SPDX-License-Identifier: MIT */
/* locks.c - waits for locks: which thread, how long, and which thread held it.
 *
 *      waiter     finds it held ─ joins its queue ─ finds its context ─ waits ─ has it
 *      holder       ... holds it ......................... finds its context ─ releases
 *
 * The waiter unwinds its stack while it has to wait anyway, and the holder just before it
 * releases the lock: both have the time.  A lock without waiters costs neither.  After
 * the wait, its causes are read from the queue.  They are added to the tree later, after
 * the thread has released the lock: others may want it. */
#include "locks.h"

#include <unistd.h>

#include "clock.h"
#include "control.h"
#include "interpose-child.h"
#include "lock-charge.h"
#include "lock-place.h"
#include "lock-table.h"
#include "wake-board.h"
#include "wake-paths.h"

static struct {
    pid_t pid;
    uint64_t missed;     /* waits of handlers that interrupted this code */
    uint64_t begin, end; /* when waits count; 0: always */
} locks;

int tt_locks_on;
__thread uint32_t tt_lock_unsettled;
static __thread int inside; /* in here: a handler's events are only counted */

/* ── The calling thread ───────────────────────────────────────────────────────────── */

int tt_lock_event_begin(void)
{
    if (tt_is_unseen())
        return 0;
    if (inside) {
        (void)__atomic_fetch_add(&locks.missed, 1, __ATOMIC_RELAXED);
        return 0;
    }
    inside = 1;
    TT_BARRIER();
    return 1;
}

void tt_lock_event_end(void)
{
    TT_BARRIER();
    inside = 0;
}

/* The calling thread's part, until tt_lock_leave; NULL: it is not recorded, or not now.  A
 * thread without a strand gets none here: that calls malloc, which may be the caller that
 * needs the lock. */
struct tt_lock_thread *tt_lock_enter(void)
{
    struct tt_thread *t = tt_self.thread;
    struct tt_lock_thread *h;

    if (!t || tt_thread_is_over() || t->recording != tt_recording_now() ||
        !(t = tt_thread_enter()))
        return NULL;
    h = t->clock.pauses ? NULL : tt_lock_thread_of(t);
    if (!h)
        tt_thread_leave(t);
    return h;
}

void tt_lock_leave(struct tt_lock_thread *h) { tt_thread_leave(h->thread); }

int tt_lock_is_outside(uint64_t now)
{
    return now < locks.begin || (locks.end && now >= locks.end);
}

void tt_lock_lost(void)
{
    const struct tt_recording *r = tt_recording_now();

    if (r)
        tt_bump_shared(&r->header->lost_figures, 1);
}

pid_t tt_lock_process(void) { return locks.pid; }

/* ── Waiting ──────────────────────────────────────────────────────────────────────── */

static void begin_wait(struct tt_lock_wait *w, const void *lock,
                       const struct tt_caller *c)
{
    struct tt_lock_thread *h = tt_lock_enter();

    if (!h)
        return;
    w->queue = tt_lock_queue_join(lock, c->pc);
    if (w->queue) {
        w->began = tt_clock_monotonic();
        w->first = __atomic_load_n(&w->queue->count, __ATOMIC_ACQUIRE);
        w->taken = w->queue->lock->taken;
        tt_lock_name(h, w->queue);
        w->waiter = tt_lock_place(h, c, 0)->context;
    } else {
        tt_bump_shared(&h->recording->header->lost_figures, 1);
    }
    tt_lock_leave(h);
}

void tt_lock_wait_begin(struct tt_lock_wait *w, const void *lock, enum tt_lock_kind kind,
                        const struct tt_caller *c)
{
    w->queue = NULL;
    w->kind = kind;
    w->counts = 0;
    if (!tt_lock_event_begin())
        return;
    begin_wait(w, lock, c);
    tt_lock_event_end();
}

static void add_share(struct tt_lock_charge *c, uint32_t path, uint64_t ns)
{
    uint32_t i = 0;

    while (i < c->shares && c->share[i].path != path)
        i++;
    if (i == TT_LOCK_SHARES) /* the last share also has those without room */
        i--;
    if (i == c->shares)
        c->share[c->shares++] = (struct tt_lock_share){.path = path};
    c->share[i].ns += ns;
}

/* 0: it is being written, or was not in this wait. */
static int read_release(const struct tt_lock_queue *q, uint32_t i, uint64_t from,
                        uint64_t to, struct tt_lock_release *out)
{
    const struct tt_lock_release *r = &q->release[i % TT_LOCK_RELEASES];

    out->when = __atomic_load_n(&r->when, __ATOMIC_ACQUIRE);
    out->path = __atomic_load_n(&r->path, __ATOMIC_ACQUIRE);
    return __atomic_load_n(&r->when, __ATOMIC_ACQUIRE) == out->when &&
           out->when >= from && out->when <= to;
}

/* Each release gets the time since the previous one: so long its thread held the lock.
 * If there were more than there is room for, the last ones represent all. */
static void share_out(const struct tt_lock_wait *w, struct tt_lock_charge *c,
                      uint64_t now)
{
    const struct tt_lock_queue *q = w->queue;
    uint32_t count = __atomic_load_n(&q->count, __ATOMIC_ACQUIRE), i = w->first;
    uint64_t since = w->began, sum = 0, left = c->ns;
    struct tt_lock_release r = {0};
    int is_whole = 1;

    if (count - i > TT_LOCK_RELEASES) {
        i = count - TT_LOCK_RELEASES;
        is_whole = 0;
    }
    for (; i != count; i++) {
        if (!read_release(q, i, since, now, &r))
            continue;
        if (is_whole || sum)
            add_share(c, r.path, r.when - since);
        sum += 1;
        since = r.when;
    }
    if (!c->shares)
        return;
    add_share(c, r.path, now - since); /* until the thread ran again */
    sum = 0;
    for (i = 0; i < c->shares; i++)
        sum += c->share[i].ns;
    for (i = 0; i < c->shares && sum; i++) {
        c->share[i].ns = i + 1 == c->shares ? left
                                            : (uint64_t)((unsigned __int128)c->ns *
                                                         c->share[i].ns / sum);
        left -= c->share[i].ns;
    }
}

/* The last event has woken it. */
static void find_waker(const struct tt_lock_wait *w, struct tt_lock_charge *c,
                       uint64_t now)
{
    uint32_t count = __atomic_load_n(&w->queue->count, __ATOMIC_ACQUIRE);
    struct tt_lock_release r;

    for (uint32_t i = 0; i < TT_LOCK_RELEASES && count - i != w->first; i++)
        if (read_release(w->queue, count - i - 1, w->began, now, &r)) {
            add_share(c, r.path, c->ns);
            return;
        }
}

struct tt_lock_charge *tt_lock_charge_add(struct tt_lock_thread *h,
                                          struct tt_lock_queue *q)
{
    struct tt_lock_charge *c;

    if (h->charges == TT_LOCK_CHARGES)
        tt_lock_charge_all(h);
    if (!q->name) {
        tt_bump_shared(&h->recording->header->lost_figures, 1);
        return NULL;
    }
    c = &h->charge[h->charges++];
    *c = (struct tt_lock_charge){.is_symbol = q->is_symbol, .name = q->name};
    tt_lock_unsettled = h->charges;
    return c;
}

static void end_wait(const struct tt_lock_wait *w, uint64_t now)
{
    struct tt_lock_thread *h = tt_lock_enter();
    struct tt_lock_charge *c;

    if (!h)
        return;
    if (w->kind == TT_LOCK_THREAD)
        tt_lock_name(h, w->queue);
    c = tt_lock_charge_add(h, w->queue);
    if (!c) {
        tt_lock_leave(h);
        return;
    }
    c->waiter = w->waiter;
    c->kind = w->kind;
    c->taken = w->taken;
    c->ns = now - w->began;
    if (w->kind >= TT_LOCK_CONDITION)
        find_waker(w, c, now);
    else
        share_out(w, c, now);
    if (w->kind == TT_LOCK_BARRIER && !c->shares)
        tt_lock_unsettled = --h->charges; /* it came last, and has not waited */
    tt_lock_leave(h);
}

void tt_lock_wait_end(struct tt_lock_wait *w)
{
    uint64_t now;

    if (!w->queue || tt_is_unseen())
        return;
    now = tt_clock_monotonic();
    if (w->counts && !tt_lock_is_outside(now) && tt_lock_event_begin()) {
        end_wait(w, now);
        tt_lock_event_end();
    }
    tt_lock_queue_leave(w->queue);
}

/* ── Locks ────────────────────────────────────────────────────────────────────────── */

void tt_lock_gone(const void *lock)
{
    struct tt_lock *l = tt_lock_find(lock);

    if (!l)
        return;
    if (l->queue) {
        if (!tt_lock_event_begin())
            return;
        tt_lock_queue_end(l);
        tt_lock_event_end();
    }
    tt_lock_forget(lock);
}

void tt_lock_made(const void *lock, uintptr_t made)
{
    tt_lock_gone(lock);
    (void)tt_lock_add(lock, made);
}

/* ── Releasing ────────────────────────────────────────────────────────────────────── */

void tt_lock_note_release(struct tt_lock_queue *q, const struct tt_caller *c,
                          uintptr_t taken)
{
    struct tt_lock_thread *h;

    if (!tt_lock_event_begin())
        return;
    h = tt_lock_enter();
    if (h) {
        uint32_t path = tt_lock_place_path(h, tt_lock_place(h, c, taken));
        tt_lock_queue_release(q, tt_clock_monotonic(), path);
        tt_lock_leave(h);
    }
    tt_lock_event_end();
}

void tt_lock_settle(void)
{
    struct tt_lock_thread *h;

    if (!tt_lock_event_begin())
        return;
    tt_lock_unsettled = 0;
    h = tt_lock_enter();
    if (h) {
        tt_lock_charge_all(h);
        tt_lock_leave(h);
    }
    tt_lock_event_end();
}

/* ── Start and stop ───────────────────────────────────────────────────────────────── */

static void end_thread(struct tt_thread *t)
{
    struct tt_lock_thread *h = t->collector;

    t->collector = NULL;
    if (!h)
        return;
    if (locks.pid == getpid() && h->recording == tt_recording_now())
        tt_lock_charge_all(h);
    tt_lock_unsettled = 0;
    tt_lock_thread_free(h);
}

static int is_inside(void) { return inside; }

void tt_locks_start(const char *folder, uint64_t begin, uint64_t end)
{
    locks.pid = getpid();
    locks.begin = begin;
    locks.end = end;
    tt_lock_charge_start();
    tt_wake_board_open(folder);
    tt_thread_ended = end_thread;
    tt_is_collecting = is_inside;
}

void tt_locks_stop(void)
{
    struct tt_recording *r = tt_recording_now();

    tt_lock_settle();
    tt_locks_on = 0;
    if (r)
        tt_bump_shared(&r->header->lost_figures,
                       __atomic_load_n(&locks.missed, __ATOMIC_RELAXED));
}

/* The new recording has none of the parent's waits.  If a handler forked while it
 * interrupted this code, that code goes on with the old data, and later events are
 * off. */
void tt_locks_forked(void)
{
    locks.pid = getpid();
    locks.missed = 0;
    tt_lock_unsettled = 0;
    if (inside) {
        tt_locks_on = 0;
        return;
    }
    tt_lock_queues_forked();
    tt_lock_paths_forked();
    tt_wake_paths_forked();
    if (tt_lock_here) {
        tt_lock_here->charges = 0;
        tt_lock_places_forget(tt_lock_here);
    }
}
