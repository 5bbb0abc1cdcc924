/* SPDX-License-Identifier: MIT */
/* feeds.c - which stretches of threads let others go on.
 *
 *      thread 1   runs ────┬── runs ──────        has ended the wait: a feed
 *      thread 2   waits ···└── runs ──────
 *
 * Samples do not say which thread ended a wait, so several may have.  The function that waits
 * says what for.  A join ends with the threads that end meanwhile.  At a barrier, each thread
 * needs all others: also the last one, which has not waited, as it may come earlier if it is
 * faster.  A lock becomes free when its holder has run; a thread that waits for a semaphore,
 * a condition or a message may itself have to feed the one that ends its wait.
 *
 * Of many threads, those that began to run last are looked at, so that the work is in
 * proportion to the number of stretches. */
#include "feeds.h"

#include <string.h>

#include "assertion.h"

enum { LOOKED_AT = 64, CANDIDATES = 8, ENDS = 16 };

enum { FOR_MESSAGE, FOR_LOCK, FOR_BARRIER, FOR_END };

struct tt_feeds_lane {
    uint32_t now, run;       /* its stretch, and the last one in which it ran; TT_NONE */
    uint32_t next, previous; /* lanes that began to run earlier, and later */
    int is_listed;
};

struct candidate { /* for the end of a wait */
    uint32_t lane, run;
    uint64_t since; /* it ran until so long before */
};

/* ── What a context waits for ─────────────────────────────────────────────────────── */

static int kind_of(const char *block)
{
    static const struct {
        const char *word;
        int kind;
    } words[] = {{"join", FOR_END},
                 {"barrier", FOR_BARRIER},
                 {"mutex", FOR_LOCK},
                 {"rwlock", FOR_LOCK}};

    if (strcmp(block, "[waits: child]") == 0)
        return FOR_END;
    if (strcmp(block, "[waits: flock]") == 0)
        return FOR_LOCK;
    if (!strstr(block, "pthread_"))
        return FOR_MESSAGE;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(block, words[i].word))
            return words[i].kind;
    return FOR_MESSAGE;
}

struct within { /* a context whose block says it, and all below */
    uint32_t end;
    int kind;
};

static int find_kinds(struct tt_feeds *f, const unsigned char *of_block,
                      struct tt_vector *stack)
{
    const struct tt_profile *p = f->p;

    for (uint32_t c = 0; c < p->contexts; c++) {
        const int kind = of_block[tt_block_of(p, c)];
        struct within *top = stack->item;
        while (stack->count && top[stack->count - 1].end <= c)
            stack->count--;
        if (kind != FOR_MESSAGE) {
            if (tt_vector_push(stack, &(struct within){tt_end_of(p, c), kind}) != 0)
                return -TT_ERR_MEMORY;
        }
        top = stack->item;
        f->kind[c] = (unsigned char)(stack->count ? top[stack->count - 1].kind
                                                  : FOR_MESSAGE);
    }
    return 0;
}

static int find_all_kinds(struct tt_feeds *f)
{
    const struct tt_memory *m = f->lanes->memory;
    unsigned char *of_block = tt_memory_get(m, f->p->blocks);
    struct tt_vector stack;
    int error = -TT_ERR_MEMORY;

    tt_vector_init(&stack, m, sizeof(struct within));
    for (uint32_t b = 0; of_block && b < f->p->blocks; b++)
        of_block[b] = (unsigned char)kind_of(tt_block_name(f->p, b));
    if (of_block)
        error = find_kinds(f, of_block, &stack);
    tt_vector_fini(&stack);
    tt_memory_put(m, of_block);
    return error;
}

/* ── Threads that have just run ───────────────────────────────────────────────────── */

static void unlist(struct tt_feeds *f, uint32_t lane)
{
    struct tt_feeds_lane *l = &f->lane[lane];

    if (!l->is_listed)
        return;
    if (l->previous != TT_NONE)
        f->lane[l->previous].next = l->next;
    else
        f->first = l->next;
    if (l->next != TT_NONE)
        f->lane[l->next].previous = l->previous;
}

static void list_first(struct tt_feeds *f, uint32_t lane)
{
    struct tt_feeds_lane *l = &f->lane[lane];

    unlist(f, lane);
    l->is_listed = 1;
    l->previous = TT_NONE;
    l->next = f->first;
    if (f->first != TT_NONE)
        f->lane[f->first].previous = lane;
    f->first = lane;
}

static const struct tt_stretch *stretch(const struct tt_feeds *f, uint32_t i)
{
    return tt_stretch_at(f->lanes, i);
}

/* The last stretch in which it ran, from before this time; TT_NONE. */
static uint32_t run_before(const struct tt_feeds *f, uint32_t lane, uint64_t time)
{
    enum { BACK = 8 };
    const uint32_t first = (uint32_t)f->lanes->lane[lane].first;
    uint32_t i = f->lane[lane].run;

    if (i == TT_NONE)
        return TT_NONE;
    for (int tries = 0; tries < BACK; tries++, i--) {
        if (!stretch(f, i)->wait && stretch(f, i)->from < time)
            return i;
        if (i == first)
            break;
    }
    return TT_NONE;
}

/* Those that ran last before this time, the latest first. */
static int find_candidates(const struct tt_feeds *f, uint32_t self, uint64_t time,
                           struct candidate *c)
{
    int count = 0, looked = 0;

    for (uint32_t l = f->first; l != TT_NONE && looked < LOOKED_AT;
         l = f->lane[l].next, looked++) {
        const uint32_t run = l == self ? TT_NONE : run_before(f, l, time);
        struct candidate x = {l, run, 0};
        int i;
        if (run == TT_NONE)
            continue;
        if (stretch(f, run)->to < time)
            x.since = time - stretch(f, run)->to;
        for (i = count; i > 0 && c[i - 1].since > x.since; i--)
            if (i < CANDIDATES)
                c[i] = c[i - 1];
        if (i < CANDIDATES)
            c[i] = x;
        count += count < CANDIDATES;
    }
    return count;
}

/* ── Feeds ────────────────────────────────────────────────────────────────────────── */

/* `of` needs the stretch `on` until this time. */
static int add_feed(struct tt_feeds *f, uint32_t of, uint32_t on, uint64_t time,
                    enum tt_feed_role role)
{
    const struct tt_stretch *s = stretch(f, on);
    struct tt_feed *x = tt_vector_add(&f->feed, 1);

    TT_ASSERT(s->from < time || s->from < stretch(f, of)->from);
    if (!x)
        return -TT_ERR_MEMORY;
    *x = (struct tt_feed){of, on, role, 0, (double)(time - s->from)};
    x->part = (double)((s->to < time ? s->to : time) - s->from);
    return 0;
}

/* The first stretch of the thread that begins at this time or later; or its end. */
static uint32_t next_from(const struct tt_feeds *f, uint32_t lane, uint64_t time)
{
    uint32_t low = (uint32_t)f->lanes->lane[lane].first, high = f->lane[lane].now + 1;

    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (stretch(f, middle)->from >= time)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* What the thread does after this time may need that `self` has come to its wait. */
static int feed_back(struct tt_feeds *f, uint32_t self, uint64_t time,
                     const struct candidate *c, enum tt_feed_role role)
{
    const uint32_t next = next_from(f, c->lane, time), on = run_before(f, self, time);
    const struct tt_stretch *s;

    if (on == TT_NONE || next >= f->lanes->lane[c->lane].end ||
        stretch(f, next)->from < time)
        return 0;
    s = stretch(f, on);
    return add_feed(f, next, on, s->to < time ? s->to : time, role);
}

/* Has the thread ended during this wait? */
static int has_ended_in(const struct tt_feeds *f, uint32_t lane,
                        const struct tt_stretch *wait)
{
    const struct tt_stretch *last = stretch(f, f->lane[lane].now);

    return f->lane[lane].now + 1 == f->lanes->lane[lane].end &&
           last->to <= wait->to + f->near && last->to + f->near >= wait->from;
}

static int find_ended(const struct tt_feeds *f, uint32_t self,
                      const struct tt_stretch *wait, uint32_t run[ENDS])
{
    int count = 0, looked = 0;

    for (uint32_t l = f->first; l != TT_NONE && looked < LOOKED_AT && count < ENDS;
         l = f->lane[l].next, looked++) {
        if (l == self || !has_ended_in(f, l, wait))
            continue;
        run[count] = run_before(f, l, wait->to);
        count += run[count] != TT_NONE;
    }
    return count;
}

/* All threads that have ended during the wait: `found` of them.  After the last one it lasts
 * a little longer. */
static int feed_by_ends(struct tt_feeds *f, uint32_t wait, uint32_t self, int *found)
{
    const struct tt_stretch *w = stretch(f, wait);
    uint32_t run[ENDS];
    uint64_t last = 0;
    int error = 0;

    *found = find_ended(f, self, w, run);
    for (int i = 0; i < *found; i++)
        if (stretch(f, run[i])->to > last)
            last = stretch(f, run[i])->to;
    last = last < w->to ? last : w->to;
    for (int i = 0; !error && i < *found; i++) {
        const uint64_t end = stretch(f, run[i])->to;
        error = add_feed(f, wait, run[i], (end < last ? end : last) + (w->to - last),
                         TT_FEED_SURE);
    }
    return error;
}

/* Does this thread wait at a barrier too, and go on at the same time? */
static int is_at_barrier(const struct tt_feeds *f, uint32_t lane, uint64_t time)
{
    uint32_t i = f->lane[lane].now;

    if (!stretch(f, i)->wait && i > f->lanes->lane[lane].first)
        i--;
    return stretch(f, i)->wait == TT_WAIT_THREAD &&
           f->kind[stretch(f, i)->context] == FOR_BARRIER && stretch(f, i)->from < time &&
           stretch(f, i)->to + f->near >= time && stretch(f, i)->to <= time + f->near;
}

static int feed_by_barrier(struct tt_feeds *f, uint32_t wait, uint32_t self,
                           const struct candidate *c, int count)
{
    const uint64_t time = stretch(f, wait)->to;
    int error = 0, is_last_known = 0, added = 0;

    for (int i = 0; !error && i < count; i++) {
        const int waits = is_at_barrier(f, c[i].lane, time);
        const uint64_t until = added ? time - c[i].since : time;
        if (!waits && (is_last_known || c[i].since > f->near))
            continue;
        error = add_feed(f, wait, c[i].run, until, TT_FEED_SURE);
        if (!error && !waits)
            error = feed_back(f, self, time, &c[i], TT_FEED_MET);
        is_last_known |= !waits;
        added = 1;
    }
    return error;
}

static int feed_by_any(struct tt_feeds *f, uint32_t wait, uint32_t self,
                       const struct candidate *c, int count)
{
    const struct tt_stretch *w = stretch(f, wait);
    int error = 0;

    for (int i = 0; !error && i < count && c[i].since <= c[0].since + f->near; i++)
        error = add_feed(f, wait, c[i].run, w->to, i ? TT_FEED_OTHER : TT_FEED_LIKELY);
    if (!error && count && f->kind[w->context] == FOR_MESSAGE)
        error = feed_back(f, self, w->to, &c[0], TT_FEED_BACK);
    return error;
}

static int end_wait(struct tt_feeds *f, uint32_t lane, uint32_t wait)
{
    const struct tt_stretch *w = stretch(f, wait);
    struct candidate c[CANDIDATES];
    int error = 0, count, found = 0;

    if (w->wait != TT_WAIT_THREAD && w->wait != TT_WAIT_ANY)
        return 0;
    if (f->kind[w->context] == FOR_END)
        error = feed_by_ends(f, wait, lane, &found);
    if (error || found)
        return error;
    count = find_candidates(f, lane, w->to, c);
    if (f->kind[w->context] == FOR_BARRIER)
        return feed_by_barrier(f, wait, lane, c, count);
    return feed_by_any(f, wait, lane, c, count);
}

/* A thread that begins is made by one that is there already. */
static int begin_lane(struct tt_feeds *f, uint32_t lane, uint32_t first)
{
    const uint64_t time = stretch(f, first)->from;
    struct candidate c[CANDIDATES];
    const int count = time > f->begin ? find_candidates(f, lane, time, c) : 0;
    int best = 0;

    for (int i = count; i-- > 0;)
        if (c[i].since <= c[0].since + 2 * f->near &&
            stretch(f, (uint32_t)f->lanes->lane[c[i].lane].first)->from + 2 * f->near <
                time)
            best = i;
    return count ? add_feed(f, first, c[best].run, time, TT_FEED_MADE) : 0;
}

static int begin_stretch(struct tt_feeds *f, uint32_t lane, uint32_t i)
{
    struct tt_feeds_lane *l = &f->lane[lane];
    const int error = l->now == TT_NONE ? begin_lane(f, lane, i)
                                        : end_wait(f, lane, l->now);

    l->now = i;
    if (!stretch(f, i)->wait) {
        l->run = i;
        list_first(f, lane);
    }
    return error;
}

static int go_through(struct tt_feeds *f)
{
    int error = 0;

    f->first = TT_NONE;
    for (uint32_t i = 0; i < f->lanes->lanes; i++)
        f->lane[i] = (struct tt_feeds_lane){TT_NONE, TT_NONE, TT_NONE, TT_NONE, 0};
    for (size_t i = 0; !error && i < f->lanes->stretch.count; i++)
        error = begin_stretch(f, f->lane_of[f->in_order[i]], f->in_order[i]);
    for (uint32_t i = 0; !error && i < f->lanes->lanes; i++)
        if (f->lane[i].now != TT_NONE)
            error = end_wait(f, i, f->lane[i].now);
    return error;
}

int tt_feeds_init(struct tt_feeds *f, const struct tt_profile *p,
                  const struct tt_lanes *lanes, const uint32_t *in_order,
                  const uint32_t *lane_of, uint64_t begin, uint64_t near)
{
    int error = -TT_ERR_MEMORY;

    *f = (struct tt_feeds){.p = p,
                           .lanes = lanes,
                           .in_order = in_order,
                           .lane_of = lane_of,
                           .begin = begin,
                           .near = near};
    tt_vector_init(&f->feed, lanes->memory, sizeof(struct tt_feed));
    f->kind = tt_memory_get(lanes->memory, p->contexts);
    f->lane = tt_memory_get(lanes->memory, lanes->lanes * sizeof *f->lane);
    if (f->kind && f->lane)
        error = find_all_kinds(f);
    error = error ?: go_through(f);
    return error;
}

void tt_feeds_fini(struct tt_feeds *f)
{
    if (!f->lanes)
        return;
    tt_memory_put(f->lanes->memory, f->lane);
    tt_memory_put(f->lanes->memory, f->kind);
    tt_vector_fini(&f->feed);
}
