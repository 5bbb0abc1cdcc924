/* SPDX-License-Identifier: MIT */
/* off-cpu.c - what a thread's switches say about its waits, from outside.
 *
 *      main ─ take_item ─ [waits: pipe of] ─ take_item ─ [woken by] ─ main ─ put_item */
#include "off-cpu.h"

#include <stdlib.h>

#include "assertion.h"
#include "block.h"
#include "descent.h"
#include "places.h"

/* Clocks of processors differ: a waking may be a moment before the switch that it ends, or
 * after the one that follows.  Of a thread that still runs when it is read, it is not known to
 * end a wait. */
enum { NEAR = 1000000 /* ns */ };

static struct {
    uint32_t waits, wait_time, delay, preempted; /* metrics */
} metric;

static const char not_seen[] = "[waits: not seen]", lost[] = "[lost]",
                  preempted[] = "[preempted]", woken_by[] = TT_WOKEN_BY;

void tt_off_cpu_start(void)
{
    metric.waits = tt_metric_get("waits", "");
    metric.wait_time = tt_metric_get("wait time", "ns");
    metric.delay = tt_metric_get("scheduling delay", "ns");
    metric.preempted = tt_metric_get("preempted", "ns");
}

/* ── Paths ────────────────────────────────────────────────────────────────────────── */

static int reserve(struct tt_steps *s, uint32_t more)
{
    tt_block *block;

    if (s->count + more <= s->room)
        return 1;
    block = reallocarray(s->block, s->count + more + 16, sizeof *block);
    if (!block)
        return 0;
    s->block = block;
    s->room = s->count + more + 16;
    return 1;
}

int tt_steps_add(struct tt_steps *s, tt_block block)
{
    if (!reserve(s, 1))
        return 0;
    s->block[s->count++] = block;
    return 1;
}

int tt_steps_set(struct tt_steps *s, tt_block prefix, const struct tt_path *p)
{
    s->count = 0;
    if (!reserve(s, p->count + 1))
        return 0;
    if (prefix)
        s->block[s->count++] = prefix;
    for (uint32_t i = 0; i < p->count; i++)
        s->block[s->count++] = p->step[i].block;
    TT_ASSERT(s->count <= s->room);
    return 1;
}

void tt_off_cpu_free(struct tt_off_cpu *o)
{
    free(o->waiter.block);
    free(o->waker.block);
}

/* ── Charging ─────────────────────────────────────────────────────────────────────── */

static void go_down(struct tt_descent *d, const struct tt_steps *s)
{
    for (uint32_t i = 0; i < s->count; i++)
        tt_descend(d, s->block[i]);
}

static int is_near(const struct tt_off_cpu *o, uint64_t now)
{
    return o->woken && o->woken + NEAR >= o->out && o->woken <= now + NEAR;
}

static void charge_wait(struct tt_descent *d, const struct tt_off_cpu *o, uint64_t now)
{
    struct tt_recording *r = d->thread->recording;
    const int is_known = is_near(o, now);
    const uint64_t last = is_known && o->woken < now ? o->woken : now,
                   woken = last > o->out ? last : o->out;

    go_down(d, &o->waiter);
    tt_descend(d, tt_place_wait(r, o->kind ? o->kind : not_seen, 1));
    tt_descend(d, o->lock ? o->lock : tt_place_wait(r, lost, 1));
    tt_descent_time(d, woken - o->out);
    if (is_known && o->waker.count) {
        tt_descend(d, tt_place_wait(r, woken_by, 1));
        go_down(d, &o->waker);
    }
    tt_descent_add(d, metric.wait_time, woken - o->out);
    tt_descent_add(d, metric.waits, 1);
    if (now > woken)
        tt_descent_add(d, metric.delay, now - woken);
}

static void charge_to(const struct tt_off_cpu *o, struct tt_thread *t, uint64_t now)
{
    struct tt_descent d = {.thread = t, .n = t->tree.root, .block = o->lock};

    if (o->is_preempted) {
        tt_descend(&d, tt_place_wait(t->recording, preempted, 1));
        tt_descent_add(&d, metric.preempted, now - o->out);
    } else {
        charge_wait(&d, o, now);
    }
}

static void charge(const struct tt_off_cpu *o, struct tt_thread *t, uint64_t now)
{
    tt_busy_enter(&t->busy);
    if (tt_descent_lock(t)) {
        tt_descent_make_room(t);
        charge_to(o, t, now);
        tt_descent_unlock(t);
    } else {
        tt_bump_shared(&t->recording->header->lost_figures, 1);
    }
    tt_busy_leave(&t->busy);
}

/* ── Switches ─────────────────────────────────────────────────────────────────────── */

static void forget(struct tt_off_cpu *o)
{
    o->out = o->woken = o->in = 0;
    o->is_new = o->is_preempted = o->is_ignored = 0;
    o->kind = NULL;
    o->lock = 0;
    o->waiter.count = o->waker.count = 0;
}

void tt_off_cpu_settle(struct tt_off_cpu *o, struct tt_thread *t)
{
    if (o->in && t)
        charge(o, t, o->in);
    forget(o);
}

/* The stack came right before it, if it was not lost. */
void tt_off_cpu_out(struct tt_off_cpu *o, struct tt_thread *t, uint64_t now,
                    int is_preempted)
{
    if (o->is_new) {
        o->is_new = 0;
        return;
    }
    tt_off_cpu_settle(o, t);
    o->out = now;
    o->is_preempted = is_preempted;
}

void tt_off_cpu_in(struct tt_off_cpu *o, struct tt_thread *t, uint64_t now)
{
    if (o->in) /* two events of one thread report it */
        return;
    if (!o->out || o->out > now || o->is_ignored) {
        forget(o);
        return;
    }
    o->in = now;
    if (o->is_preempted || is_near(o, now))
        tt_off_cpu_settle(o, t);
}

int tt_off_cpu_is_woken(const struct tt_off_cpu *o, uint64_t now)
{
    return o->out && !o->is_ignored && (!o->in || now <= o->in + NEAR);
}

void tt_off_cpu_woken(struct tt_off_cpu *o, struct tt_thread *t, uint64_t now)
{
    o->woken = now;
    if (o->in)
        tt_off_cpu_settle(o, t);
}
