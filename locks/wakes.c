/* SPDX-License-Identifier: MIT */
/* wakes.c - waits for data, for room, and for children, charged to what has ended them.
 *
 *      waiter     nothing is there ─ joins the slot ─ finds its context ─ waits ─ has it
 *      writer          ... works ................ finds its context ─ writes
 *
 * The writer may be in another process, so both meet on the board. */
#include "wakes.h"

#include <errno.h>
#include <stddef.h>
#include <unistd.h>

#include "clock.h"
#include "control.h"
#include "descriptors.h"
#include "lock-charge.h"
#include "lock-place.h"
#include "wake-paths.h"

static uint64_t identity_of(pid_t process, uint64_t more)
{
    return tt_descriptor_identity(
               tt_lock_mix((uint64_t)process * 0x9e3779b97f4a7c15u + more)) |
           (TT_FD_KIND + 1);
}

uint64_t tt_wake_children(pid_t parent) { return identity_of(parent, 1) | 4; }
uint64_t tt_wake_child(pid_t child) { return identity_of(child, 2); }

/* ── Waiting ──────────────────────────────────────────────────────────────────────── */

static void leave_slots(struct tt_wake_wait *w)
{
    for (uint32_t i = 0; i < w->count; i++)
        if (w->on[i].slot)
            tt_wake_leave(w->on[i].slot);
    w->count = 0;
}

static void join_slots(struct tt_wake_wait *w)
{
    for (uint32_t i = 0; i < w->count; i++) {
        struct tt_wake_on *on = &w->on[i];
        on->slot = tt_wake_join(on->key, (uint32_t)tt_lock_process());
        if (!on->slot)
            continue;
        on->first = __atomic_load_n(&on->slot->count, __ATOMIC_ACQUIRE);
        on->is_alone = __atomic_load_n(&on->slot->waiters, __ATOMIC_RELAXED) == 1;
    }
}

static void begin_wait(struct tt_wake_wait *w, const struct tt_caller *c)
{
    struct tt_lock_thread *h = tt_lock_enter();

    if (!h) {
        w->count = 0;
        return;
    }
    join_slots(w);
    w->pc = c->pc;
    w->began = tt_clock_monotonic();
    w->waiter = tt_lock_place(h, c, 0)->context;
    tt_lock_leave(h);
}

void tt_wake_begin(struct tt_wake_wait *w, const struct tt_caller *c)
{
    const int saved = errno;

    if (tt_lock_event_begin()) {
        begin_wait(w, c);
        tt_lock_event_end();
    } else {
        w->count = 0;
    }
    errno = saved;
}

/* A path of another process, or one of this one; 0: it cannot be known. */
static uint32_t path_of(const struct tt_wake_event *e)
{
    const int is_here = e->process == (uint32_t)tt_lock_process() &&
                        e->path < TT_LOCK_PATHS;

    return e->path & TT_WAKE_PATH_SHARED || is_here ? e->path : 0;
}

static void charge(const struct tt_wake_wait *w, uint32_t i,
                   const struct tt_wake_search *search, struct tt_lock_queue *q)
{
    const struct tt_wake_on *on = &w->on[i];
    struct tt_lock_thread *h = tt_lock_enter();
    struct tt_lock_charge *c;
    struct tt_wake_event e;

    if (!h)
        return;
    tt_lock_name(h, q);
    c = tt_lock_charge_add(h, q);
    if (c) {
        c->waiter = w->waiter;
        c->kind = on->kind;
        c->ns = search->to - search->from;
        if (on->slot && tt_wake_find(on->slot, search, &e) && path_of(&e))
            c->share[c->shares++] = (struct tt_lock_share){path_of(&e), c->ns};
    }
    tt_lock_leave(h);
}

void tt_wake_count(const struct tt_wake_wait *w, uint32_t i, enum tt_wake_type type,
                   pid_t process, uint64_t now)
{
    const struct tt_wake_on *on = &w->on[i];
    const struct tt_wake_search search = {.key = on->key,
                                          .from = w->began,
                                          .to = now,
                                          .first = on->first,
                                          .is_alone = on->is_alone,
                                          .process = (uint32_t)process,
                                          .type = type};
    const uint64_t identity = on->fd < 0 ? tt_wake_child(process)
                                         : tt_descriptor_identity(on->word);
    const int saved = errno;
    struct tt_lock_queue *q;

    if (tt_is_unseen() || tt_lock_is_outside(now) || !tt_lock_event_begin())
        return;
    q = tt_lock_queue_join(tt_wake_origin(identity), w->pc);
    if (q) {
        charge(w, i, &search, q);
        tt_lock_queue_leave(q);
    } else {
        tt_lock_lost();
    }
    tt_lock_event_end();
    errno = saved;
}

void tt_wake_end(struct tt_wake_wait *w)
{
    const int saved = errno;

    leave_slots(w);
    if (tt_lock_unsettled)
        tt_lock_settle();
    errno = saved;
}

/* ── Events ───────────────────────────────────────────────────────────────────────── */

static void note(struct tt_lock_thread *h, struct tt_wake_slot *s, uint64_t key,
                 enum tt_wake_type type, const struct tt_caller *c)
{
    const uint32_t self = (uint32_t)tt_lock_process();
    uint32_t path = c ? tt_lock_place_path(h, tt_lock_place(h, c, 0)) : 0;

    if (__atomic_load_n(&s->process, __ATOMIC_RELAXED) != self)
        path = tt_wake_path_share(path, h->block);
    tt_wake_store(s, &(struct tt_wake_event){.when = tt_clock_monotonic(),
                                             .key = key,
                                             .path = path,
                                             .process = self,
                                             .type = (uint32_t)type});
}

void tt_wake_note(struct tt_wake_slot *s, uint64_t key, enum tt_wake_type type,
                  const struct tt_caller *c)
{
    const int saved = errno;
    struct tt_lock_thread *h;

    if (!tt_lock_event_begin())
        return;
    h = tt_lock_enter();
    if (h) {
        note(h, s, key, type, c);
        tt_lock_leave(h);
    }
    tt_lock_event_end();
    errno = saved;
}
