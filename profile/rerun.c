/* SPDX-License-Identifier: MIT */
/* rerun.c - the run again, with some code faster.
 *
 * Each thread goes through its stretches in their order.  Work takes as long as it did, or
 * less by a share.  Sleeping takes as long as it did.  A wait for another thread takes until
 * that one has come so far as it was when the wait ended (feeds.c).  With nothing faster this
 * gives the recorded run.
 *
 * If more threads could run than had processors, those that run share them: each of n threads
 * gets a part of P / n.  In a virtual time, which then passes at P / n of the rate, the end of
 * each piece of work is known as it begins. */
#include "rerun.h"

#include <math.h>
#include <stdlib.h>

#include "assertion.h"
#include "sorted.h"

enum { IS_FED = 1, IS_MADE = 2, IS_ANY_OPEN = 4 }; /* flags */

/* ── How many processors there were ───────────────────────────────────────────────── */

struct change { /* of the number of threads that run */
    uint64_t time;
    uint32_t stretch;
    int by;
};

static int by_time(const void *a, const void *b)
{
    const struct change *x = a, *y = b;

    return TT_ORDER(x->time, y->time) ?: x->by - y->by;
}

static const struct tt_stretch *stretch(const struct tt_rerun *r, uint32_t i)
{
    return tt_stretch_at(r->lanes, i);
}

static size_t list_changes(const struct tt_rerun *r, struct change *c)
{
    size_t count = 0;

    for (uint32_t i = 0; i < r->lanes->stretch.count; i++) {
        const struct tt_stretch *s = stretch(r, i);
        if (s->wait)
            continue;
        c[count++] = (struct change){s->from, i, 1};
        c[count++] = (struct change){s->to, i, -1};
    }
    tt_sort(c, count, sizeof *c, by_time);
    return count;
}

/* Returns the CPU time of all threads if there are so many processors. */
static double time_with(const double *length, uint32_t most, double processors)
{
    double sum = 0;

    for (uint32_t n = 1; n <= most; n++)
        sum += length[n] * (n < processors ? n : processors);
    return sum;
}

static double find_processors(const double *length, uint32_t most, double cpu)
{
    enum { STEPS = 50 };
    static const double enough = .97;
    double low = 0, high = most;

    if (cpu <= 0 || cpu >= enough * time_with(length, most, most))
        return INFINITY;
    for (int i = 0; i < STEPS; i++) {
        const double middle = (low + high) / 2;
        if (time_with(length, most, middle) < cpu)
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* How long each number of threads ran. */
static void find_lengths(const struct change *c, size_t count, double *length)
{
    int n = 0;

    for (size_t i = 0; i + 1 < count; i++) {
        n += c[i].by;
        TT_ASSERT(n >= 0);
        length[n] += (double)(c[i + 1].time - c[i].time);
    }
}

/* Each stretch gets its part of the processors. */
static void divide_work(struct tt_rerun *r, const struct change *c, size_t count)
{
    double sum = 0;
    int n = 0;

    for (size_t i = 0; i < count; i++) {
        if (i && n)
            sum += (double)(c[i].time - c[i - 1].time) * fmin(1, r->processors / n);
        r->work[c[i].stretch] -= c[i].by * sum;
        n += c[i].by;
    }
}

static int find_work(struct tt_rerun *r, uint64_t cpu)
{
    const struct tt_memory *m = r->lanes->memory;
    struct change *c = tt_memory_get(m, 2 * r->lanes->stretch.count * sizeof *c);
    double *length = tt_memory_get(m, ((size_t)r->lanes->lanes + 1) * sizeof *length);
    size_t count;

    if (c && length) {
        count = list_changes(r, c);
        find_lengths(c, count, length);
        r->processors = find_processors(length, r->lanes->lanes, (double)cpu);
        divide_work(r, c, count);
    }
    tt_memory_put(m, length);
    tt_memory_put(m, c);
    return c && length ? 0 : -TT_ERR_MEMORY;
}

/* ── Events ───────────────────────────────────────────────────────────────────────── */

static int precedes(const struct tt_rerun_event *a, const struct tt_rerun_event *b)
{
    return a->key < b->key || (a->key == b->key && a->stretch < b->stretch);
}

static void push(struct tt_rerun_heap *h, struct tt_rerun_event e)
{
    uint32_t i = h->count++;

    TT_ASSERT(h->count <= h->room);
    for (; i && precedes(&e, &h->item[(i - 1) / 2]); i = (i - 1) / 2)
        h->item[i] = h->item[(i - 1) / 2];
    h->item[i] = e;
}

static struct tt_rerun_event pop(struct tt_rerun_heap *h)
{
    const struct tt_rerun_event top = h->item[0], e = h->item[--h->count];
    uint32_t i = 0, child;

    while ((child = 2 * i + 1) < h->count) {
        child += child + 1 < h->count && precedes(&h->item[child + 1], &h->item[child]);
        if (!precedes(&h->item[child], &e))
            break;
        h->item[i] = h->item[child];
        i = child;
    }
    h->item[i] = e;
    return top;
}

/* ── A stretch ────────────────────────────────────────────────────────────────────── */

static int is_faster(const struct tt_rerun *r, uint32_t i)
{
    const struct tt_stretch *s = stretch(r, i);

    return !s->wait && r->is_faster[s->context];
}

/* One thing that it needs happens at this time. */
static void meet(struct tt_rerun *r, uint32_t i, double time)
{
    TT_ASSERT(r->open[i]);
    if (time > r->ready[i])
        r->ready[i] = time;
    if (!--r->open[i])
        push(&r->timers, (struct tt_rerun_event){r->ready[i], i, 0});
}

static int counts(const struct tt_rerun *r, enum tt_feed_role role)
{
    if (role == TT_FEED_SURE || role == TT_FEED_MADE || role == TT_FEED_MET)
        return 1;
    if (role == TT_FEED_LIKELY)
        return r->model != TT_RERUN_LOOSE;
    return r->model == TT_RERUN_TIGHT;
}

static int is_optional(const struct tt_rerun *r, enum tt_feed_role role)
{
    return r->model == TT_RERUN_LOOSE &&
           (role == TT_FEED_LIKELY || role == TT_FEED_OTHER);
}

static void feed(struct tt_rerun *r, uint32_t i, double time)
{
    const struct tt_feed *f = r->feeds->feed.item;

    for (uint32_t k = r->first_feed[i]; k < r->first_feed[i + 1]; k++) {
        const struct tt_feed *x = &f[r->of[k]];
        const double after = x->after - (is_faster(r, i) ? r->share * x->part : 0);
        if (x->role == TT_FEED_MADE)
            r->arrived[x->of] = time + after;
        if (counts(r, x->role)) {
            meet(r, x->of, time + after);
        } else if (is_optional(r, x->role) && (r->flags[x->of] & IS_ANY_OPEN)) {
            r->flags[x->of] &= (unsigned char)~IS_ANY_OPEN;
            meet(r, x->of, time + after);
        }
    }
}

static void end(struct tt_rerun *r, uint32_t i)
{
    const uint32_t lane = r->lane_of[i];

    r->ended[lane] = r->time;
    if (i + 1 == r->lanes->lane[lane].end)
        return;
    r->arrived[i + 1] = r->time;
    meet(r, i + 1, r->time);
}

/* How long a wait goes on after what has fed it.  What may be for a device takes as long as
 * it did, or a part of what is left of that. */
static double wait_of(const struct tt_rerun *r, uint32_t i)
{
    static const double part[] = {
        [TT_RERUN_TIGHT] = 1, [TT_RERUN_LIKELY] = .5, [TT_RERUN_LOOSE] = 0};
    const struct tt_stretch *s = stretch(r, i);
    const double length = (double)(s->to - s->from);

    if (s->wait == TT_WAIT_FIXED || !(r->flags[i] & IS_FED))
        return length;
    return s->wait == TT_WAIT_ANY
               ? part[r->model] * fmax(0, r->arrived[i] + length - r->time)
               : 0;
}

static void begin(struct tt_rerun *r, uint32_t i)
{
    if (!stretch(r, i)->wait)
        push(&r->running,
             (struct tt_rerun_event){
                 r->virtual_time + r->work[i] * (is_faster(r, i) ? 1 - r->share : 1), i,
                 1});
    else
        push(&r->timers, (struct tt_rerun_event){r->time + wait_of(r, i), i, 1});
    feed(r, i, r->time);
}

/* ── The run ──────────────────────────────────────────────────────────────────────── */

static void prepare(struct tt_rerun *r)
{
    const struct tt_feed *f = r->feeds->feed.item;

    for (uint32_t i = 0; i < r->lanes->stretch.count; i++) {
        r->open[i] = 1;
        r->ready[i] = 0;
        r->flags[i] = 0;
    }
    for (size_t k = 0; k < r->feeds->feed.count; k++) {
        const uint32_t i = f[k].of;
        r->open[i] += (uint32_t)counts(r, f[k].role);
        if (f[k].role == TT_FEED_MADE)
            r->flags[i] |= IS_MADE;
        else if (f[k].role != TT_FEED_MET && f[k].role != TT_FEED_BACK)
            r->flags[i] |= IS_FED;
        if (is_optional(r, f[k].role) && !(r->flags[i] & IS_ANY_OPEN)) {
            r->flags[i] |= IS_ANY_OPEN;
            r->open[i]++;
        }
    }
}

static void begin_lanes(struct tt_rerun *r)
{
    for (uint32_t l = 0; l < r->lanes->lanes; l++) {
        const struct tt_lane *lane = &r->lanes->lane[l];
        const uint32_t i = (uint32_t)lane->first;
        r->ended[l] = 0;
        if (lane->first == lane->end)
            continue;
        r->arrived[i] = r->flags[i] & IS_MADE ? 0
                                              : (double)(stretch(r, i)->from - r->begin);
        meet(r, i, r->arrived[i]);
    }
}

static double rate_of(const struct tt_rerun *r)
{
    return fmin(1, r->processors / r->running.count);
}

/* The next event, at its time.  0: there is none. */
static int take_event(struct tt_rerun *r, struct tt_rerun_event *e)
{
    const double rate = r->running.count ? rate_of(r) : 0,
                 next = r->running.count
                            ? r->time + (r->running.item[0].key - r->virtual_time) / rate
                            : INFINITY;

    if (!r->running.count && !r->timers.count)
        return 0;
    if (r->timers.count && r->timers.item[0].key <= next) {
        *e = pop(&r->timers);
        if (e->key > r->time) {
            r->virtual_time += rate * (e->key - r->time);
            r->time = e->key;
        }
        return 1;
    }
    *e = pop(&r->running);
    r->time = next > r->time ? next : r->time;
    r->virtual_time = e->key;
    return 1;
}

/* No feeds wait for each other: each is by a stretch that began before (feeds.c). */
static __attribute__((unused)) int is_over(const struct tt_rerun *r)
{
    for (size_t i = 0; i < r->lanes->stretch.count; i++)
        if (r->open[i])
            return 0;
    return 1;
}

void tt_rerun_go(struct tt_rerun *r, double share, enum tt_rerun_model model)
{
    struct tt_rerun_event e;

    r->share = share;
    r->model = model;
    r->time = r->virtual_time = 0;
    r->timers.count = r->running.count = 0;
    prepare(r);
    begin_lanes(r);
    while (take_event(r, &e))
        if (e.ends)
            end(r, e.stretch);
        else
            begin(r, e.stretch);
    TT_ASSERT(is_over(r));
}

/* ── What is known before ─────────────────────────────────────────────────────────── */

static void sort_feeds(struct tt_rerun *r)
{
    const struct tt_feed *f = r->feeds->feed.item;
    uint32_t sum = 0;

    for (size_t k = 0; k < r->feeds->feed.count; k++)
        r->first_feed[f[k].on]++;
    for (size_t i = 0; i <= r->lanes->stretch.count; i++)
        r->first_feed[i] = sum += r->first_feed[i];
    for (size_t k = r->feeds->feed.count; k-- > 0;)
        r->of[--r->first_feed[f[k].on]] = (uint32_t)k;
}

int tt_rerun_init(struct tt_rerun *r, const struct tt_feeds *f,
                  const unsigned char *faster, uint64_t cpu)
{
    const struct tt_lanes *l = f->lanes;
    const struct tt_memory *m = l->memory;
    const size_t count = l->stretch.count;

    *r = (struct tt_rerun){.lanes = l,
                           .feeds = f,
                           .lane_of = f->lane_of,
                           .is_faster = faster,
                           .begin = f->begin};
    r->work = tt_memory_get(m, count * sizeof *r->work);
    r->ended = tt_memory_get(m, l->lanes * sizeof *r->ended);
    r->first_feed = tt_memory_get(m, (count + 1) * sizeof *r->first_feed);
    r->of = tt_memory_get(m, f->feed.count * sizeof *r->of);
    r->open = tt_memory_get(m, count * sizeof *r->open);
    r->ready = tt_memory_get(m, count * sizeof *r->ready);
    r->arrived = tt_memory_get(m, count * sizeof *r->arrived);
    r->flags = tt_memory_get(m, count);
    r->timers.room = r->running.room = l->lanes;
    r->timers.item = tt_memory_get(m, l->lanes * sizeof *r->timers.item);
    r->running.item = tt_memory_get(m, l->lanes * sizeof *r->running.item);
    if (!r->work || !r->ended || !r->first_feed || !r->of || !r->open || !r->ready ||
        !r->arrived || !r->flags || !r->timers.item || !r->running.item)
        return -TT_ERR_MEMORY;
    sort_feeds(r);
    return find_work(r, cpu);
}

void tt_rerun_fini(struct tt_rerun *r)
{
    const struct tt_memory *m = r->lanes ? r->lanes->memory : NULL;

    tt_memory_put(m, r->running.item);
    tt_memory_put(m, r->timers.item);
    tt_memory_put(m, r->flags);
    tt_memory_put(m, r->arrived);
    tt_memory_put(m, r->ready);
    tt_memory_put(m, r->open);
    tt_memory_put(m, r->of);
    tt_memory_put(m, r->first_feed);
    tt_memory_put(m, r->ended);
    tt_memory_put(m, r->work);
}
