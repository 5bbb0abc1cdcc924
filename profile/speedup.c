/* SPDX-License-Identifier: MIT */
/* speedup.c - how long a run would have taken if some code were faster.
 *
 * Samples do not say which thread ended a wait.  So the run is gone through by three models
 * (rerun.c), each with the code as it was and faster: the differences are three results.
 *
 * They need waits that are longer than the time between samples.  Of shorter ones the order
 * is not known, but two bounds hold all the same, as they need only the shares of time: at
 * least the time shrinks in which all that ran was the code, and at most that in which some
 * thread ran it; no thread ends before its own work is done, and all work together needs the
 * processors that there were.  The more of the waits are short, the nearer are the least and
 * the most to these bounds. */
#include "speedup.h"

#include <math.h>
#include <stdlib.h>

#include "sorted.h"
#include "view.h"

#define LONGEST 0x1p60 /* ns that are near: so sums of a few fit 64 bits */

/* ── The run ──────────────────────────────────────────────────────────────────────── */

/* Threads that wait for others when the program ends are not its end. */
static int is_last(const struct tt_speedup *v, uint32_t lane, enum tt_wait most)
{
    static const int rank[] = {
        [TT_WAIT_NONE] = 0, [TT_WAIT_FIXED] = 0, [TT_WAIT_THREAD] = 1, [TT_WAIT_ANY] = 2};
    const struct tt_lane *l = &v->lanes->lane[lane];
    const struct tt_stretch *s;

    if (l->first == l->end)
        return 0;
    s = tt_stretch_at(v->lanes, l->end - 1);
    return v->end - s->to <= v->near && rank[s->wait] <= rank[most];
}

static int find_end(const struct tt_speedup *v, enum tt_wait most, int is_loose,
                    double *end)
{
    int count = 0;

    for (uint32_t i = 0; i < v->lanes->lanes; i++) {
        if (!is_last(v, i, most))
            continue;
        if (!count++ || (v->run.ended[i] < *end) == is_loose)
            *end = v->run.ended[i];
    }
    return count;
}

/* When the run ends, from its begin on. */
static double rerun(struct tt_speedup *v, double share, enum tt_rerun_model model)
{
    const int is_loose = model == TT_RERUN_LOOSE;
    double end = 0;

    tt_rerun_go(&v->run, share, model);
    if (!find_end(v, TT_WAIT_FIXED, is_loose, &end) &&
        !find_end(v, TT_WAIT_THREAD, is_loose, &end))
        (void)find_end(v, TT_WAIT_ANY, is_loose, &end);
    return end;
}

static void go_through(struct tt_speedup *v, double share,
                       double saved[TT_SPEEDUP_CHOICES])
{
    static const enum tt_rerun_model models[] = {[TT_SPEEDUP_LEAST] = TT_RERUN_TIGHT,
                                                 [TT_SPEEDUP_MEAN] = TT_RERUN_LIKELY,
                                                 [TT_SPEEDUP_MOST] = TT_RERUN_LOOSE};
    const double now = (double)(v->end - v->begin);

    /* With fewer processors than threads, the run again takes only about as long. */
    for (int c = 0; c < TT_SPEEDUP_CHOICES; c++) {
        const double before = v->before[models[c]], after = rerun(v, share, models[c]);
        saved[c] = before > 0 ? now * (1 - after / before) : 0;
    }
    for (int c = 0; c < TT_SPEEDUP_CHOICES; c++) {
        if (saved[c] < saved[TT_SPEEDUP_LEAST])
            saved[TT_SPEEDUP_LEAST] = saved[c];
        if (saved[c] > saved[TT_SPEEDUP_MOST])
            saved[TT_SPEEDUP_MOST] = saved[c];
    }
}

/* At most: no thread can end before its own work is done, on the processors.  How much that
 * is comes from samples, so it may be less. */
static double most_saved(const struct tt_speedup *v, double share)
{
    const double now = (double)(v->end - v->begin);
    const uint64_t rounds = v->near ? (v->end - v->begin) / v->near + 1 : 1;
    double least = share * v->some, all = 0;

    for (uint32_t i = 0; i < v->lanes->lanes; i++) {
        const struct tt_speedup_work *w = &v->work[i];
        const double work = w->other + (1 - share) * w->faster,
                     error = now * tt_share_error(work / now, rounds);
        least = now - work + error < least ? now - work + error : least;
        all += work - w->slept;
    }
    if (now - all / v->run.processors < least)
        least = now - all / v->run.processors;
    return least < 0 ? 0 : least;
}

static double mixed(double fine, double of_run, double of_all)
{
    return (1 - fine) * of_run + fine * of_all;
}

void tt_speedup_find(struct tt_speedup *v, double share, double saved[TT_SPEEDUP_CHOICES])
{
    const double least = share * v->only, most = fmax(least, most_saved(v, share));

    go_through(v, share, saved);
    saved[TT_SPEEDUP_LEAST] = mixed(v->fine, saved[TT_SPEEDUP_LEAST], least);
    saved[TT_SPEEDUP_MOST] = mixed(v->fine, saved[TT_SPEEDUP_MOST], most);
    for (int c = 0; c < TT_SPEEDUP_CHOICES; c++)
        saved[c] = saved[c] < least ? least : saved[c] > most ? most : saved[c];
}

/* ── What is known before ─────────────────────────────────────────────────────────── */

static int by_begin(const void *a, const void *b)
{
    const struct tt_speedup_begin *x = a, *y = b;

    return TT_ORDER(x->from, y->from) ?: TT_ORDER(x->stretch, y->stretch);
}

static int sort_stretches(struct tt_speedup *v)
{
    const size_t count = v->lanes->stretch.count;
    struct tt_speedup_begin *b = tt_memory_get(v->lanes->memory, count * sizeof *b);

    if (!b)
        return -TT_ERR_MEMORY;
    v->begin = UINT64_MAX;
    for (uint32_t i = 0; i < v->lanes->lanes; i++)
        for (size_t k = v->lanes->lane[i].first; k < v->lanes->lane[i].end; k++) {
            const struct tt_stretch *s = tt_stretch_at(v->lanes, k);
            b[k] = (struct tt_speedup_begin){s->from, (uint32_t)k};
            v->lane_of[k] = i;
            v->begin = s->from < v->begin ? s->from : v->begin;
            v->end = s->to > v->end ? s->to : v->end;
        }
    tt_sort(b, count, sizeof *b, by_begin);
    for (size_t k = 0; k < count; k++)
        v->in_order[k] = b[k].stretch;
    tt_memory_put(v->lanes->memory, b);
    return 0;
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
    v->near = samples ? (uint64_t)fmin(weight / (double)samples, LONGEST) : 0;
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

    return TT_ORDER(x->time, y->time);
}

/* The time in which only the code ran, and in which some thread ran it. */
static void sum_changes(struct tt_speedup *v, struct change *c, size_t count)
{
    int faster = 0, other = 0;

    tt_sort(c, count, sizeof *c, by_time);
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
    for (uint32_t i = 0; i < count; i++) {
        const struct tt_stretch *s = tt_stretch_at(v->lanes, i);
        const int faster = !s->wait && v->is_faster[s->context];
        const double length = s->wait ? (double)(s->to - s->from) : v->run.work[i];
        struct tt_speedup_work *w = &v->work[v->lane_of[i]];
        if (s->wait == TT_WAIT_THREAD)
            continue;
        if (faster)
            w->faster += length;
        else if (s->wait != TT_WAIT_ANY)
            w->other += length;
        w->slept += s->wait == TT_WAIT_FIXED ? length : 0;
        c[changes++] = (struct change){s->from, faster, !faster};
        c[changes++] = (struct change){s->to, -faster, -!faster};
    }
    sum_changes(v, c, changes);
    tt_memory_put(v->lanes->memory, c);
    return 0;
}

/* The context in which the thread ran for the longest time; `sum` is 0 of each context. */
static uint32_t main_context(const struct tt_speedup *v, uint32_t lane, double *sum)
{
    const struct tt_lane *l = &v->lanes->lane[lane];
    uint32_t most = TT_NONE;

    for (size_t i = l->first; i < l->end; i++) {
        const struct tt_stretch *s = tt_stretch_at(v->lanes, i);
        if (s->wait)
            continue;
        sum[s->context] += v->run.work[i];
        if (most == TT_NONE || sum[s->context] > sum[most])
            most = s->context;
    }
    for (size_t i = l->first; i < l->end; i++)
        sum[tt_stretch_at(v->lanes, i)->context] = 0;
    return most;
}

struct team {
    struct tt_speedup_work sum;
    double threads;
};

/* Threads that mostly run in the same context may share their work: each may do more of it,
 * or less.  So each gets the mean. */
static int share_work(struct tt_speedup *v)
{
    const struct tt_memory *m = v->lanes->memory;
    double *sum = tt_memory_get(m, v->p->contexts * sizeof *sum);
    uint32_t *main = tt_memory_get(m, v->lanes->lanes * sizeof *main);
    struct team *team = tt_memory_get(m, v->p->contexts * sizeof *team);
    const int error = sum && main && team ? 0 : -TT_ERR_MEMORY;

    for (uint32_t i = 0; !error && i < v->lanes->lanes; i++) {
        struct team *t = team;
        main[i] = main_context(v, i, sum);
        if (main[i] == TT_NONE)
            continue;
        t += main[i];
        t->sum.faster += v->work[i].faster;
        t->sum.other += v->work[i].other;
        t->sum.slept += v->work[i].slept;
        t->threads++;
    }
    for (uint32_t i = 0; !error && i < v->lanes->lanes; i++)
        if (main[i] != TT_NONE) {
            const struct team *t = &team[main[i]];
            v->work[i] = (struct tt_speedup_work){t->sum.faster / t->threads,
                                                  t->sum.other / t->threads,
                                                  t->sum.slept / t->threads};
        }
    tt_memory_put(m, team);
    tt_memory_put(m, main);
    tt_memory_put(m, sum);
    return error;
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

    int error;

    *v = (struct tt_speedup){.p = p, .lanes = lanes};
    v->is_faster = tt_memory_get(m, p->contexts);
    v->in_order = tt_memory_get(m, lanes->stretch.count * sizeof *v->in_order);
    v->lane_of = tt_memory_get(m, lanes->stretch.count * sizeof *v->lane_of);
    v->work = tt_memory_get(m, lanes->lanes * sizeof *v->work);
    if (!v->is_faster || !v->in_order || !v->lane_of || !v->work)
        return -TT_ERR_MEMORY;
    error = sort_stretches(v);
    count_samples(v);
    mark_contexts(v, blocks);
    find_fine(v);
    if (!error)
        error = tt_feeds_init(&v->feeds, p, lanes, v->in_order, v->lane_of, v->begin,
                              v->near);
    if (!error)
        error = tt_rerun_init(&v->run, &v->feeds, v->is_faster, tt_fact_number(p, "cpu"));
    error = error ?: find_bounds(v);
    error = error ?: share_work(v);
    for (int i = 0; !error && i < TT_RERUN_MODELS; i++)
        v->before[i] = rerun(v, 0, (enum tt_rerun_model)i);
    return error;
}

void tt_speedup_fini(struct tt_speedup *v)
{
    const struct tt_memory *m = v->lanes ? v->lanes->memory : NULL;

    tt_rerun_fini(&v->run);
    tt_feeds_fini(&v->feeds);
    tt_memory_put(m, v->work);
    tt_memory_put(m, v->lane_of);
    tt_memory_put(m, v->in_order);
    tt_memory_put(m, v->is_faster);
}
