/* SPDX-License-Identifier: MIT */
/* lanes.c - when each thread ran and waited, from the samples of a profile by time.
 *
 * A sample has the time before it.  Rounds look at all threads at one moment, and a thread
 * that waits has a sample of each round.  So with --wall the waits are known, and the thread
 * ran in between; the context is that of its next sample while it ran, whose weight may be
 * of earlier gaps:
 *
 *      samples     w3    w3       r5     w3  r2          w: a wait, r: it ran
 *      lane     ───wwwwww───rrrrrrrrrrwwwrrrr            the gap before r5 is r5's
 *
 * Without waits in the samples, each has its weight as a length before its time, or after
 * the sample before it if that is later.  Of formats whose samples last until the next one,
 * it is after its time.  Samples of a strand that is several threads may overlap. */
#include "lanes.h"

#include <stdio.h>
#include <string.h>

#include "pattern.h"
#include "range.h"
#include "samples.h"

struct laying {
    struct tt_lanes *l;
    const struct tt_profile *p;
    const uint32_t *sample; /* numbers of the strand's samples, in the order of time */
    size_t samples, first;  /* first: of the stretches */
};

/* ── Waits ────────────────────────────────────────────────────────────────────────── */

static const struct {
    const char *name;
    enum tt_wait wait;
} waits[] = {
    {"futex", TT_WAIT_THREAD},   {"child", TT_WAIT_THREAD}, {"semaphore", TT_WAIT_THREAD},
    {"message", TT_WAIT_THREAD}, {"flock", TT_WAIT_THREAD}, {"read", TT_WAIT_ANY},
    {"write", TT_WAIT_ANY},      {"receive", TT_WAIT_ANY},  {"send", TT_WAIT_ANY},
    {"splice", TT_WAIT_ANY},     {"accept", TT_WAIT_ANY},   {"connect", TT_WAIT_ANY},
    {"open", TT_WAIT_ANY},       {"fcntl", TT_WAIT_ANY},    {"poll", TT_WAIT_ANY},
    {"epoll", TT_WAIT_ANY},      {"events", TT_WAIT_ANY},   {"signal", TT_WAIT_ANY},
    {"sleep", TT_WAIT_FIXED}};

static enum tt_wait wait_of(const char *block)
{
    const size_t start = strlen("[waits: ");

    if (strncmp(block, "[waits: ", start) != 0)
        return TT_WAIT_NONE;
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        const size_t size = strlen(waits[i].name);
        if (strncmp(block + start, waits[i].name, size) == 0 &&
            strcmp(block + start + size, "]") == 0)
            return waits[i].wait;
    }
    return TT_WAIT_FIXED;
}

/* Does a filter charge waits to other blocks?  Then they look like work. */
static int takes_waits(const struct tt_filter *f)
{
    char text[160];
    struct tt_pattern *pattern;
    int found = 0;

    if (f->kind != TT_FILTER_FOLD)
        return f->kind == TT_FILTER_CENTRE || f->kind == TT_FILTER_PRUNE;
    pattern = tt_pattern_new(f->pattern, text, sizeof text);
    for (size_t i = 0; pattern && !found && i < sizeof waits / sizeof *waits; i++) {
        (void)snprintf(text, sizeof text, "[waits: %s]", waits[i].name);
        found = tt_pattern_matches(pattern, text);
    }
    tt_pattern_free(pattern);
    return found;
}

static enum tt_wait wait_at(const struct laying *a, const struct tt_sample_row *s)
{
    return (enum tt_wait)a->l->wait[tt_block_of(a->p, s->context)];
}

/* ── A thread's stretches ─────────────────────────────────────────────────────────── */

static const struct tt_sample_row *sample_at(const struct laying *a, size_t i)
{
    return &a->p->sample[a->sample[i]];
}

static uint64_t sum_of(uint64_t a, uint64_t b)
{
    return a < UINT64_MAX - b ? a + b : UINT64_MAX;
}

static uint64_t time_of(const struct laying *a, const struct tt_sample_row *s)
{
    return sum_of(s->time, a->l->shift);
}

static uint64_t start_of(const struct laying *a, const struct tt_sample_row *s)
{
    return a->l->are_begins ? s->time : time_of(a, s) - s->weight;
}

static int add_stretch(const struct laying *a, uint64_t from, uint64_t to,
                       const struct tt_sample_row *s)
{
    struct tt_stretch *last = a->l->stretch.item;
    const size_t count = a->l->stretch.count;

    if (from >= to)
        return 0;
    last = count > a->first ? last + count - 1 : NULL;
    if (last && last->wait && last->to == from && last->context == s->context) {
        last->to = to; /* of a wait, each round has a sample */
        return 0;
    }
    return tt_vector_push(&a->l->stretch,
                          &(struct tt_stretch){from, to, s->context, wait_at(a, s)});
}

/* Each sample has its own length. */
static int lay_apart(const struct laying *a, int may_overlap)
{
    uint64_t end = 0;
    int error = 0;

    for (size_t i = 0; !error && i < a->samples; i++) {
        const struct tt_sample_row *s = sample_at(a, i);
        uint64_t from = start_of(a, s);
        if (!may_overlap && from < end)
            from = end;
        end = sum_of(from, s->weight);
        error = add_stretch(a, from, end, s);
    }
    return error;
}

/* Where a thread is among its samples while it ran. */
struct run {
    size_t next, last; /* samples; `samples`: there is none */
};

static void find_run(const struct laying *a, struct run *r, uint64_t from)
{
    for (; r->next < a->samples; r->next++) {
        if (wait_at(a, sample_at(a, r->next)))
            continue;
        r->last = r->next;
        if (time_of(a, sample_at(a, r->next)) > from)
            return;
    }
}

/* Fills a gap between waits: each part with the next sample while the thread ran, after
 * the last one with that. */
static int fill_gap(const struct laying *a, uint64_t from, uint64_t to, struct run *r)
{
    int error = 0;

    while (!error && from < to) {
        uint64_t until = to;
        find_run(a, r, from);
        if (r->last == a->samples)
            return 0; /* it was never seen to run */
        if (r->next < a->samples && time_of(a, sample_at(a, r->next)) < to)
            until = time_of(a, sample_at(a, r->next));
        error = add_stretch(a, from, until, sample_at(a, r->last));
        from = until;
    }
    return error;
}

static uint64_t first_start(const struct laying *a)
{
    uint64_t first = UINT64_MAX;

    for (size_t i = 0; i < a->samples; i++)
        if (start_of(a, sample_at(a, i)) < first)
            first = start_of(a, sample_at(a, i));
    return first;
}

/* Our log rounds times and weights: two waits so close together are one. */
static uint64_t slack_of(const struct laying *a, const struct tt_sample_row *s)
{
    enum { WEIGHT = 64, UNITS = 1000000000 / (1 << 14) };

    return a->l->is_rounded ? s->weight / WEIGHT + UNITS : 0;
}

static int lay_around_waits(const struct laying *a)
{
    uint64_t end = first_start(a);
    struct run r = {0, a->samples};
    int error = 0;

    for (size_t i = 0; !error && i < a->samples; i++) {
        const struct tt_sample_row *s = sample_at(a, i);
        uint64_t from = start_of(a, s);
        if (!wait_at(a, s))
            continue;
        if (from < end || from - end < slack_of(a, s))
            from = end;
        error = fill_gap(a, end, from, &r);
        error = error ?: add_stretch(a, from, sum_of(from, s->weight), s);
        end = sum_of(from, s->weight);
    }
    if (!error && a->samples)
        error = fill_gap(a, end, time_of(a, sample_at(a, a->samples - 1)), &r);
    return error;
}

/* ── All threads ──────────────────────────────────────────────────────────────────── */

static int lay_lane(const struct laying *a, uint32_t strand, int is_whole)
{
    struct tt_lanes *l = a->l;
    const int is_shared = a->p->strand[strand].members > 1;
    int error;

    l->lane[strand].first = l->stretch.count;
    if (is_whole && l->has_waits && !is_shared)
        error = lay_around_waits(a);
    else
        error = lay_apart(a, is_shared);
    l->lane[strand].end = l->stretch.count;
    l->is_shared |= is_shared && a->samples;
    return error;
}

static int is_placed(const struct tt_profile *p, const struct tt_sample_row *s)
{
    return s->strand < p->strands && s->context < p->contexts && s->weight;
}

/* Sorts the numbers of samples by strand: those of strand s are from start[s + 1] to
 * start[s + 2]. */
static void sort_samples(const struct tt_profile *p, uint32_t *sample, size_t *start)
{
    size_t sum = 0;

    for (size_t i = 0; i < p->samples; i++)
        if (is_placed(p, &p->sample[i]))
            start[p->sample[i].strand + 1]++;
    for (uint32_t i = 0; i < p->strands + 2; i++)
        start[i] = sum += start[i];
    for (size_t i = p->samples; i-- > 0;)
        if (is_placed(p, &p->sample[i]))
            sample[--start[p->sample[i].strand + 1]] = (uint32_t)i;
}

static int lay_wanted(struct tt_lanes *l, const struct tt_profile *p, int is_whole,
                      const unsigned char *wanted, uint32_t *sample, size_t *start)
{
    int error = 0;

    sort_samples(p, sample, start);
    for (uint32_t i = 0; !error && i < p->strands; i++) {
        if (wanted && !wanted[i])
            continue;
        const size_t first = start[i + 1], end = start[i + 2];
        const struct laying a = {l, p, sample + first, end - first, l->stretch.count};
        error = lay_lane(&a, i, is_whole);
    }
    return error;
}

static int check_waits(struct tt_query *q)
{
    static const char *const names[TT_FILTERS] = {[TT_FILTER_FOLD] = "fold",
                                                  [TT_FILTER_PRUNE] = "prune",
                                                  [TT_FILTER_CENTRE] = "centre"};
    const struct tt_filter *f = q->filter.item;

    for (size_t i = 0; i < q->filter.count; i++)
        if (takes_waits(&f[i]))
            return tt_query_wrong(q,
                                  "the view '%s' needs the waits, which the filter '%s' "
                                  "charges to other blocks; leave it out",
                                  q->view, names[f[i].kind]);
    return 0;
}

static const char *unit_of(const struct tt_profile *p)
{
    const uint32_t time = tt_samples_metric(p);

    return time != TT_NONE ? p->metric[time].unit : "";
}

int tt_lanes_have_lengths(const struct tt_profile *p)
{
    const char *unit = unit_of(p), *clock = tt_fact_text(p, "clock");

    return strcmp(unit, "ns") == 0 ||
           (strcmp(unit, "ticks") == 0 && clock && strcmp(clock, "caller") == 0);
}

static int check_samples(const struct tt_profile *p, struct tt_query *q, int is_right)
{
    if (check_waits(q) != 0)
        return -TT_ERR_OPTION;
    if (!p->samples)
        return tt_query_wrong(q, "there are no samples by time here");
    if (!is_right)
        return tt_query_wrong(q, "the samples by time here have no length in time");
    return 0;
}

int tt_lanes_check_lengths(const struct tt_profile *p, struct tt_query *q)
{
    return check_samples(p, q, tt_lanes_have_lengths(p));
}

int tt_lanes_check(const struct tt_profile *p, struct tt_query *q)
{
    return check_samples(p, q, strcmp(unit_of(p), "ns") == 0);
}

int tt_lanes_are_whole(const struct tt_query *q)
{
    const struct tt_filter *f = q->filter.item;

    for (size_t i = 0; i < q->filter.count; i++)
        if (f[i].kind == TT_FILTER_SELECT || f[i].kind == TT_FILTER_EXCLUDE ||
            f[i].kind == TT_FILTER_ROOT ||
            (f[i].kind == TT_FILTER_TIME &&
             strncmp(f[i].pattern, TT_RANGE_NOT, strlen(TT_RANGE_NOT)) == 0))
            return 0;
    return 1;
}

/* So that no stretch begins before 0. */
static uint64_t shift_of(const struct tt_profile *p)
{
    uint64_t shift = 0;

    for (size_t i = 0; i < p->samples; i++) {
        const struct tt_sample_row *s = &p->sample[i];
        if (is_placed(p, s) && s->weight > s->time && s->weight - s->time > shift)
            shift = s->weight - s->time;
    }
    return shift;
}

/* Not if there are samples of recordings, or stretches of events, too. */
int tt_lanes_are_begins(const struct tt_profile *p)
{
    return tt_fact_number(p, TT_FACT_BEGINS) && !tt_fact_number(p, "recordings") &&
           !tt_fact_text(p, TT_FACT_BEGAN);
}

static int has_waits(const struct tt_lanes *l, const struct tt_profile *p)
{
    if (l->is_rounded)
        return 1;
    for (size_t i = 0; i < p->samples; i++)
        if (is_placed(p, &p->sample[i]) && l->wait[tt_block_of(p, p->sample[i].context)])
            return 1;
    return 0;
}

int tt_lanes_init(struct tt_lanes *l, const struct tt_profile *p, int is_whole,
                  const unsigned char *wanted, const struct tt_memory *memory)
{
    uint32_t *sample = tt_memory_get(memory, p->samples * sizeof *sample);
    size_t *start = tt_memory_get(memory, ((size_t)p->strands + 2) * sizeof *start);
    int error = -TT_ERR_MEMORY;

    *l = (struct tt_lanes){.lanes = p->strands, .memory = memory};
    tt_vector_init(&l->stretch, memory, sizeof(struct tt_stretch));
    l->lane = tt_memory_get(memory, p->strands * sizeof *l->lane);
    l->wait = tt_memory_get(memory, p->blocks);
    if (sample && start && l->lane && l->wait) {
        for (uint32_t i = 0; i < p->blocks; i++)
            l->wait[i] = (unsigned char)wait_of(tt_block_name(p, i));
        l->is_rounded = tt_fact_text(p, "wall") != NULL;
        l->has_waits = has_waits(l, p);
        l->are_begins = !l->has_waits && tt_lanes_are_begins(p);
        l->shift = l->are_begins ? 0 : shift_of(p);
        error = lay_wanted(l, p, is_whole, wanted, sample, start);
    }
    tt_memory_put(memory, start);
    tt_memory_put(memory, sample);
    return error;
}

void tt_lanes_fini(struct tt_lanes *l)
{
    tt_memory_put(l->memory, l->wait);
    tt_memory_put(l->memory, l->lane);
    tt_vector_fini(&l->stretch);
}
