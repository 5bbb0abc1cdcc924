/* SPDX-License-Identifier: MIT */
/* speedup.c - how long a run would have taken if some code were faster.
 *
 * The run is gone through in the order of time, and each thread has a gain: how much
 * earlier it would be there.
 *
 *      thread 1   runs the code: the gain grows by a share of the time ──┐
 *      thread 2   waits ································ is woken: takes over this gain
 *
 * Other work leaves the gain as it is, and so do sleeping and waits for a device.  A thread
 * that waited for another one takes over the gain of the thread that ended its wait, but at
 * most its own gain and the length of the wait: then it need not wait at all.  A thread that
 * begins has the gain of the one that made it.
 *
 * Samples do not say which thread ended a wait.  Those in question have just run.  So there
 * are three results: by the one that has gained least, by their mean, and by the one that has
 * gained most.
 *
 * This needs waits that are longer than the time between samples.  Of shorter ones the order
 * is not known, but two bounds hold all the same, as they need only the shares of time: at
 * least the time shrinks in which all that ran was the code, and at most that in which some
 * thread ran it, and no thread ends before its own work is done.  The more of the waits are
 * short, the nearer are the least and the most to these bounds. */
#include "speedup.h"

#include <math.h>
#include <stdlib.h>

struct tt_speedup_lane {
    const struct tt_stretch *now;    /* NULL: it has not begun */
    uint64_t ran;                    /* when it ran last, before `now` */
    double gain[TT_SPEEDUP_CHOICES]; /* when `now` began */
};

/* ── The gain of a thread ─────────────────────────────────────────────────────────── */

static double gain_at(const struct tt_speedup *v, const struct tt_speedup_lane *l,
                      int choice, double share, uint64_t time)
{
    const struct tt_stretch *s = l->now;
    double gain = l->gain[choice];

    if (!s->wait && v->is_faster[s->context] && time > s->from)
        gain += share * (double)((time < s->to ? time : s->to) - s->from);
    return gain;
}

/* When did the thread run last, before this time?  0: never. */
static uint64_t ran_before(const struct tt_speedup_lane *l, uint64_t time)
{
    const struct tt_stretch *s = l->now;

    if (s->wait || s->from >= time)
        return l->ran;
    return s->to < time ? s->to : time;
}

/* Might this thread have ended a wait then?  It has just run; or, if no thread has, it may
 * have run for less time than between two samples. */
static int is_in_question(const struct tt_speedup *v, const struct tt_speedup_lane *l,
                          uint64_t time, int has_run)
{
    const uint64_t ran = ran_before(l, time);

    if (has_run)
        return ran && time - ran <= v->near;
    return l->now->wait != TT_WAIT_THREAD && l->now->to >= time;
}

/* Chooses among the gains of those threads: 0: there is none. */
static int choose_gain(const struct tt_speedup *v, const struct tt_speedup_lane *self,
                       double share, uint64_t time, int has_run,
                       double gain[TT_SPEEDUP_CHOICES])
{
    int count = 0;

    for (uint32_t i = 0; i < v->lanes->lanes; i++) {
        const struct tt_speedup_lane *l = &v->lane[i];
        if (l == self || !l->now || !is_in_question(v, l, time, has_run))
            continue;
        for (int c = 0; c < TT_SPEEDUP_CHOICES; c++) {
            const double its = gain_at(v, l, c, share, time);
            if (!count)
                gain[c] = its;
            else if (c == TT_SPEEDUP_MEAN)
                gain[c] += (its - gain[c]) / (count + 1);
            else if ((its > gain[c]) == (c == TT_SPEEDUP_MOST))
                gain[c] = its;
        }
        count++;
    }
    return count;
}

static int find_gain(const struct tt_speedup *v, const struct tt_speedup_lane *self,
                     double share, uint64_t time, double gain[TT_SPEEDUP_CHOICES])
{
    return choose_gain(v, self, share, time, 1, gain) ||
           choose_gain(v, self, share, time, 0, gain);
}

/* ── Ends of stretches ────────────────────────────────────────────────────────────── */

/* After a wait that may have been for another thread, or for the world outside, either may
 * be true. */
static double gain_of_either(int choice, double own, double taken)
{
    if (choice == TT_SPEEDUP_MEAN)
        return (own + taken) / 2;
    return (taken > own) == (choice == TT_SPEEDUP_MOST) ? taken : own;
}

/* The thread may have waited for several, as a join of all workers does: it is not ahead of
 * any that ran meanwhile. */
static double least_ahead(const struct tt_speedup *v, const struct tt_speedup_lane *self,
                          int choice, double share)
{
    const uint64_t from = self->now->from, to = self->now->to;
    double least = INFINITY;

    for (uint32_t i = 0; i < v->lanes->lanes; i++) {
        const struct tt_speedup_lane *l = &v->lane[i];
        const uint64_t ran = l == self || !l->now ? 0 : ran_before(l, to);
        double ahead;
        if (ran <= from)
            continue;
        ahead = gain_at(v, l, choice, share, to) + (double)(to - ran);
        least = ahead < least ? ahead : least;
    }
    return least;
}

static void bound_gains(const struct tt_speedup *v, const struct tt_speedup_lane *l,
                        double share, double gain[TT_SPEEDUP_CHOICES])
{
    for (int c = TT_SPEEDUP_LEAST; c <= TT_SPEEDUP_MEAN; c++) {
        const double least = least_ahead(v, l, c, share);
        if (least < gain[c])
            gain[c] = c == TT_SPEEDUP_LEAST ? least : (gain[c] + least) / 2;
    }
}

static void end_wait(const struct tt_speedup *v, struct tt_speedup_lane *l, double share)
{
    const struct tt_stretch *s = l->now;
    double gain[TT_SPEEDUP_CHOICES];

    if (s->wait == TT_WAIT_FIXED || !find_gain(v, l, share, s->to, gain))
        return;
    bound_gains(v, l, share, gain);
    for (int c = 0; c < TT_SPEEDUP_CHOICES; c++) {
        const double most = l->gain[c] + (double)(s->to - s->from);
        if (gain[c] > most)
            gain[c] = most;
        l->gain[c] = s->wait == TT_WAIT_ANY ? gain_of_either(c, l->gain[c], gain[c])
                                            : gain[c];
    }
}

static void end_stretch(const struct tt_speedup *v, struct tt_speedup_lane *l,
                        double share)
{
    const struct tt_stretch *s = l->now;

    if (s->wait) {
        end_wait(v, l, share);
        return;
    }
    for (int c = 0; c < TT_SPEEDUP_CHOICES; c++)
        l->gain[c] = gain_at(v, l, c, share, s->to);
    l->ran = s->to;
}

/* ── The run ──────────────────────────────────────────────────────────────────────── */

static void begin_stretch(const struct tt_speedup *v, struct tt_speedup_lane *l,
                          double share, const struct tt_stretch *s)
{
    if (l->now)
        end_stretch(v, l, share);
    else
        (void)find_gain(v, l, share, s->from, l->gain);
    l->now = s;
}

/* Threads that wait for others when the program ends are not its end. */
static int is_last(const struct tt_speedup *v, const struct tt_speedup_lane *l,
                   enum tt_wait most)
{
    static const int rank[] = {
        [TT_WAIT_NONE] = 0, [TT_WAIT_FIXED] = 0, [TT_WAIT_THREAD] = 1, [TT_WAIT_ANY] = 2};

    return l->now && v->end - l->now->to <= v->near && rank[l->now->wait] <= rank[most];
}

static int find_end(const struct tt_speedup *v, enum tt_wait most,
                    double saved[TT_SPEEDUP_CHOICES])
{
    int count = 0;

    for (uint32_t i = 0; i < v->lanes->lanes; i++) {
        const struct tt_speedup_lane *l = &v->lane[i];
        if (!is_last(v, l, most))
            continue;
        for (int c = 0; c < TT_SPEEDUP_CHOICES; c++) {
            if (!count)
                saved[c] = l->gain[c];
            else if (c == TT_SPEEDUP_MEAN)
                saved[c] += (l->gain[c] - saved[c]) / (count + 1);
            else if ((l->gain[c] > saved[c]) == (c == TT_SPEEDUP_MOST))
                saved[c] = l->gain[c];
        }
        count++;
    }
    return count;
}

static void go_through(struct tt_speedup *v, double share,
                       double saved[TT_SPEEDUP_CHOICES])
{
    for (uint32_t i = 0; i < v->lanes->lanes; i++)
        v->lane[i] = (struct tt_speedup_lane){0};
    for (size_t i = 0; i < v->lanes->stretch.count; i++)
        begin_stretch(v, &v->lane[v->in_order[i].lane], share, v->in_order[i].stretch);
    for (uint32_t i = 0; i < v->lanes->lanes; i++)
        if (v->lane[i].now)
            end_stretch(v, &v->lane[i], share);
    for (int c = 0; c < TT_SPEEDUP_CHOICES; c++)
        saved[c] = 0;
    if (!find_end(v, TT_WAIT_FIXED, saved) && !find_end(v, TT_WAIT_THREAD, saved))
        (void)find_end(v, TT_WAIT_ANY, saved);
}

/* At most: no thread can end before its own work is done. */
static double most_saved(const struct tt_speedup *v, double share)
{
    const double now = (double)(v->end - v->begin);
    double least = share * v->some;

    for (uint32_t i = 0; i < v->lanes->lanes; i++) {
        const double work = v->work[i].other + (1 - share) * v->work[i].faster;
        least = now - work < least ? now - work : least;
    }
    return least < 0 ? 0 : least;
}

static double mixed(double fine, double of_run, double of_all)
{
    return (1 - fine) * of_run + fine * of_all;
}

void tt_speedup_find(struct tt_speedup *v, double share, double saved[TT_SPEEDUP_CHOICES])
{
    const double least = share * v->only, most = most_saved(v, share);

    go_through(v, share, saved);
    saved[TT_SPEEDUP_LEAST] = mixed(v->fine, saved[TT_SPEEDUP_LEAST], least);
    saved[TT_SPEEDUP_MOST] = mixed(v->fine, saved[TT_SPEEDUP_MOST], most);
    for (int c = 0; c < TT_SPEEDUP_CHOICES; c++)
        saved[c] = saved[c] < least ? least : saved[c] > most ? most : saved[c];
}

/* ── What is known before ─────────────────────────────────────────────────────────── */

static int by_begin(const void *a, const void *b)
{
    const struct tt_speedup_stretch *x = a, *y = b;

    if (x->stretch->from != y->stretch->from)
        return x->stretch->from < y->stretch->from ? -1 : 1;
    return (x->lane > y->lane) - (x->lane < y->lane);
}

static void sort_stretches(struct tt_speedup *v)
{
    const struct tt_stretch *s = v->lanes->stretch.item;
    const size_t count = v->lanes->stretch.count;

    v->begin = UINT64_MAX;
    for (uint32_t i = 0; i < v->lanes->lanes; i++)
        for (size_t k = v->lanes->lane[i].first; k < v->lanes->lane[i].end; k++) {
            v->in_order[k] = (struct tt_speedup_stretch){&s[k], i};
            v->begin = s[k].from < v->begin ? s[k].from : v->begin;
            v->end = s[k].to > v->end ? s[k].to : v->end;
        }
    if (count)
        qsort(v->in_order, count, sizeof *v->in_order, by_begin);
}

static void count_samples(struct tt_speedup *v)
{
    const struct tt_profile *p = v->p;
    double weight = 0;
    size_t samples = 0;

    for (size_t i = 0; i < p->samples; i++) {
        const struct tt_sample_row *s = &p->sample[i];
        if (s->context >= p->contexts)
            continue;
        weight += (double)s->weight;
        samples++;
        v->ran += !v->lanes->wait[tt_block_of(p, s->context)];
    }
    v->near = samples ? (uint64_t)(weight / (double)samples) : 0;
}

static void mark_contexts(struct tt_speedup *v, const unsigned char *blocks)
{
    uint32_t until = 0;

    for (uint32_t c = 0; c < v->p->contexts; c++) {
        if (c >= until && blocks[tt_block_of(v->p, c)])
            until = tt_end_of(v->p, c);
        v->is_faster[c] = c < until;
    }
}

struct change { /* of the number of threads that do this */
    uint64_t time;
    int faster, other;
};

static int by_time(const void *a, const void *b)
{
    const struct change *x = a, *y = b;

    return (x->time > y->time) - (x->time < y->time);
}

/* The time in which only the code ran, and in which some thread ran it. */
static void sum_changes(struct tt_speedup *v, struct change *c, size_t count)
{
    int faster = 0, other = 0;

    if (count)
        qsort(c, count, sizeof *c, by_time);
    for (size_t i = 0; i + 1 < count; i++) {
        const double length = (double)(c[i + 1].time - c[i].time);
        faster += c[i].faster;
        other += c[i].other;
        v->some += faster ? length : 0;
        v->only += faster && !other ? length : 0;
    }
}

/* Sleeping threads take part, too: nothing makes them faster. */
static int find_bounds(struct tt_speedup *v)
{
    const size_t count = v->lanes->stretch.count;
    struct change *c = tt_memory_get(v->lanes->memory, 2 * count * sizeof *c);
    size_t changes = 0;

    if (!c)
        return -TT_ERR_MEMORY;
    for (size_t i = 0; i < count; i++) {
        const struct tt_stretch *s = v->in_order[i].stretch;
        const int faster = !s->wait && v->is_faster[s->context];
        struct tt_speedup_work *w = &v->work[v->in_order[i].lane];
        if (s->wait == TT_WAIT_THREAD)
            continue;
        if (faster)
            w->faster += (double)(s->to - s->from);
        else if (s->wait != TT_WAIT_ANY)
            w->other += (double)(s->to - s->from);
        c[changes++] = (struct change){s->from, faster, !faster};
        c[changes++] = (struct change){s->to, -faster, -!faster};
    }
    sum_changes(v, c, changes);
    tt_memory_put(v->lanes->memory, c);
    return 0;
}

/* How much the bounds count: in full when half of the waits for threads are too short for the
 * samples. */
static void find_fine(struct tt_speedup *v)
{
    enum { ROUNDS = 4 };
    double all = 0, fine = 0;

    for (uint32_t i = 0; i < v->lanes->lanes; i++)
        for (size_t k = v->lanes->lane[i].first; k < v->lanes->lane[i].end; k++) {
            const struct tt_stretch *s = (struct tt_stretch *)v->lanes->stretch.item + k;
            const double length = (double)(s->to - s->from);
            if (s->wait != TT_WAIT_THREAD)
                continue;
            all += 1;
            fine += length < ROUNDS * (double)v->near;
        }
    v->fine = all > 2 * fine ? 2 * fine / all : all > 0;
}

int tt_speedup_init(struct tt_speedup *v, const struct tt_profile *p,
                    const struct tt_lanes *lanes, const unsigned char *blocks)
{
    const struct tt_memory *m = lanes->memory;

    *v = (struct tt_speedup){.p = p, .lanes = lanes};
    v->is_faster = tt_memory_get(m, p->contexts);
    v->in_order = tt_memory_get(m, lanes->stretch.count * sizeof *v->in_order);
    v->lane = tt_memory_get(m, lanes->lanes * sizeof *v->lane);
    v->work = tt_memory_get(m, lanes->lanes * sizeof *v->work);
    if (!v->is_faster || !v->in_order || !v->lane || !v->work)
        return -TT_ERR_MEMORY;
    sort_stretches(v);
    count_samples(v);
    mark_contexts(v, blocks);
    find_fine(v);
    return find_bounds(v);
}

void tt_speedup_fini(struct tt_speedup *v)
{
    const struct tt_memory *m = v->lanes ? v->lanes->memory : NULL;

    tt_memory_put(m, v->work);
    tt_memory_put(m, v->lane);
    tt_memory_put(m, v->in_order);
    tt_memory_put(m, v->is_faster);
}
