/* SPDX-License-Identifier: MIT */
/* sample-log.c - samples in the order of time, at constant size.
 *
 *      thread 1 ── its open page ─┐ full                    level 0
 *      thread 2 ── its open page ─┼──────▶ [p7][p8]         one sample an entry
 *      rounds ──── their page ────┘          │ two neighbours become one
 *                                            ▼
 *                            [p1…4][p5,6]                   level 1: two samples an entry
 *                                  ⋮                        …
 *      page   {base, rest, first, last, level, …} and 120 entries {context, time, weight}
 *
 * Each writer fills one page: a handler that interrupts it takes the next slot, and no
 * thread waits.  While there is room, full pages are kept unchanged.  After that each new
 * page costs one: of the finest level that has two pages, the two oldest are merged.  Of
 * each two neighbouring entries one stays, chosen with a probability proportional to its
 * weight, and it gets the weight of both:
 *
 *      a 3  b 1  │  b 2  c 2          a 4  │  c 4
 *
 * So the log covers the whole run, as finely early as late, for one merge a page, a
 * constant cost a sample.  The sum of all weights is exact, to the tick; the weight in a
 * range of time, and of a context in that range, is right on average.  Pages that are not
 * full, as those of threads that have ended, are joined without merging entries.
 *
 * A page covers an interval of the pages that were closed, first to last.  A new page is
 * shown when it is complete, before the two others are freed: after kill -9 a reader
 * ignores the pages whose interval lies within another's.
 *
 * If there is no page, or a handler cannot get the lock, the last entry and the new
 * sample are merged by the same rule.  Entries refer to cells; before an eviction or a
 * merge of trees removes cells, it moves their entries to others (tt_log_move). */
#include "sample-log.h"

#include <string.h>

#include "clock.h"
#include "log-entry.h"
#include "strand.h"

enum {
    PART = 8,  /* of the budget, at most */
    LEAST = 4, /* pages, for there to be one: two that become a third, and an open one */
    RESOLUTION = 1 << 16 /* units in a second, at first, at least */
};

/* ── Words ────────────────────────────────────────────────────────────────────────── */

static struct tt_log_page *log_page(const struct tt_recording *r, uint32_t page)
{
    return (struct tt_log_page *)(void *)tt_cell(r->base, tt_page_cell(r, page));
}

static uint64_t *log_entries(struct tt_log_page *p)
{
    return (uint64_t *)(void *)(p + 1);
}

/* splitmix64's last steps: enough for choices that no attacker gains from. */
static uint64_t mix_chance(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* Chooses between weights `a` and `b`: is it the second? */
static int choose_second(uint64_t chance, uint64_t a, uint64_t b)
{
    return (uint64_t)((unsigned __int128)chance * (a + b) >> 64) >= a;
}

/* Rounds a weight, with the rest carried on so far; the new rest is carried on. */
static uint64_t round_weight(uint64_t ticks, uint64_t *rest)
{
    uint64_t all = ticks + *rest, packed;

    packed = (int64_t)all < 0 ? 0 : tt_log_pack_weight(all);
    *rest = all - tt_log_weight(packed);
    return packed;
}

/* ── Queues ───────────────────────────────────────────────────────────────────────── */

static void log_link(const struct tt_recording *r, struct tt_log_queue *q, uint32_t page,
                     uint32_t before)
{
    struct tt_log_page *p = log_page(r, page);

    p->next = before;
    p->prev = before ? log_page(r, before)->prev : q->last;
    if (p->next)
        log_page(r, p->next)->prev = page;
    else
        q->last = page;
    if (p->prev)
        log_page(r, p->prev)->next = page;
    else
        q->first = page;
    q->count++;
}

static void log_unlink(const struct tt_recording *r, struct tt_log_queue *q,
                       uint32_t page)
{
    const struct tt_log_page *p = log_page(r, page);

    TT_ASSERT(q->count > 0);
    if (p->next)
        log_page(r, p->next)->prev = p->prev;
    else
        q->last = p->prev;
    if (p->prev)
        log_page(r, p->prev)->next = p->next;
    else
        q->first = p->next;
    q->count--;
}

/* ── Two pages become one ─────────────────────────────────────────────────────────── */

struct joining {
    struct tt_log_page *to;
    uint64_t bits; /* of an entry, for a cell */
    uint32_t used;
    uint64_t rest, chance;
};

struct extent { /* of a page's entries; first, last: ticks */
    uint32_t count;
    uint64_t first, last;
};

/* Slots that a killed or lost writer left are passed by. */
static struct extent find_extent(struct tt_log_page *p, uint64_t bits)
{
    struct extent x = {0, UINT64_MAX, 0};

    for (uint32_t i = 0; i < TT_LOG_ENTRIES; i++) {
        const uint64_t e = log_entries(p)[i], units = tt_log_offset(e, bits);
        x.count += e != 0;
        x.first = e && units < x.first ? units : x.first;
        x.last = units > x.last ? units : x.last;
    }
    x.first = x.count ? p->base + (x.first << p->shift) : UINT64_MAX;
    x.last = x.count ? p->base + (x.last << p->shift) : 0;
    return x;
}

/* Times of the new page begin with the first of them, in units that the last one fits into. */
static void find_unit(const struct joining *j, const struct tt_log_page *a,
                      const struct tt_log_page *b, const struct extent x[2])
{
    const uint32_t bits = tt_log_time_bits(j->bits);
    const uint64_t first = x[0].first < x[1].first ? x[0].first : x[1].first,
                   last = x[0].last > x[1].last ? x[0].last : x[1].last;

    j->to->base = first == UINT64_MAX ? a->base : first;
    j->to->shift = a->shift > b->shift ? a->shift : b->shift;
    while (last > first && (last - first) >> j->to->shift >> bits)
        j->to->shift++;
}

static void put_joined(struct joining *j, uint64_t entry, uint64_t time, uint64_t weight)
{
    TT_ASSERT(j->used < TT_LOG_ENTRIES);
    log_entries(j->to)[j->used++] = tt_log_pack(tt_log_cell(entry, j->bits),
                                                (time - j->to->base) >> j->to->shift,
                                                weight, j->bits);
}

/* Two become one.  Without a branch: no processor predicts the choice. */
static void put_pair(struct joining *j, uint64_t a, uint64_t time, uint64_t b,
                     uint64_t then)
{
    const uint64_t left = tt_log_weight(a), right = tt_log_weight(b);
    uint64_t second;

    j->chance += 0x9e3779b97f4a7c15u;
    second = -(uint64_t)choose_second(mix_chance(j->chance), left, right);
    put_joined(j, a ^ ((a ^ b) & second), time ^ ((time ^ then) & second),
               round_weight(left + right, &j->rest));
}

static uint64_t packed_weight(uint64_t entry)
{
    return entry & ((1u << TT_LOG_WEIGHT) - 1);
}

/* Each two become one; of an odd number the last stays alone. */
static void put_pairs(struct joining *j, struct tt_log_page *const from[2])
{
    uint64_t held = 0, then = 0;

    for (uint32_t i = 0; i < 2 * TT_LOG_ENTRIES; i++) {
        struct tt_log_page *p = from[i >= TT_LOG_ENTRIES];
        const uint64_t e = log_entries(p)[i % TT_LOG_ENTRIES];
        const uint64_t time = p->base + (tt_log_offset(e, j->bits) << p->shift);
        if (!e)
            continue;
        if (held)
            put_pair(j, held, then, e, time);
        then = time;
        held = held ? 0 : e;
    }
    if (held)
        put_joined(j, held, then, packed_weight(held));
}

static void put_all(struct joining *j, struct tt_log_page *p)
{
    for (uint32_t i = 0; i < TT_LOG_ENTRIES; i++) {
        const uint64_t e = log_entries(p)[i];
        if (e)
            put_joined(j, e, p->base + (tt_log_offset(e, j->bits) << p->shift),
                       packed_weight(e));
    }
}

/* Joins two pages into the spare one, which is shown last.  1: entries were merged. */
static int join_pages(struct tt_recording *r, struct tt_log_page *a,
                      struct tt_log_page *b, struct tt_log_page *to)
{
    struct tt_log_page *const from[2] = {a, b};
    struct joining j = {to, r->header->log_bits, 0, a->rest + b->rest, r->log.chance};
    const struct extent x[2] = {find_extent(a, j.bits), find_extent(b, j.bits)};
    const uint32_t count = x[0].count + x[1].count;
    const int thinner = count > TT_LOG_ENTRIES;

    TT_ASSERT(a->level == b->level && a->last + 1 == b->first);
    find_unit(&j, a, b, x);
    if (thinner) {
        put_pairs(&j, from);
    } else {
        put_all(&j, a);
        put_all(&j, b);
    }
    r->log.chance = j.chance;
    to->rest = j.rest;
    to->more = count + a->more + b->more - j.used;
    to->first = a->first;
    to->last = b->last;
    to->owner = a->owner == b->owner ? a->owner : 0;
    to->level = (uint16_t)(a->level + thinner);
    __atomic_store_n(&to->state, TT_LOG_LIVE, __ATOMIC_RELEASE);
    return thinner;
}

static void empty_log_page(struct tt_log_page *p)
{
    __atomic_store_n(&p->state, TT_LOG_EMPTY, __ATOMIC_RELEASE);
    TT_BARRIER();
    memset(p, 0, TT_PAGE_SIZE);
}

/* The two oldest pages of a level become one; the other one is returned, empty. */
static uint32_t thin_level(struct tt_recording *r, uint32_t level)
{
    struct tt_log *log = &r->log;
    struct tt_log_queue *q = &log->level[level];
    const uint32_t a = q->first, b = log_page(r, a)->next, to = log->spare;
    int thinner = join_pages(r, log_page(r, a), log_page(r, b), log_page(r, to));

    log_unlink(r, q, a);
    log_unlink(r, q, b);
    log_link(r, thinner ? q + 1 : q, to, thinner ? 0 : q->first);
    empty_log_page(log_page(r, a));
    empty_log_page(log_page(r, b));
    log->spare = a;
    return b;
}

static uint32_t thin_log(struct tt_recording *r)
{
    for (uint32_t i = 0; r->log.spare && i + 1 < TT_LOG_LEVELS; i++)
        if (r->log.level[i].count >= 2)
            return thin_level(r, i);
    return 0;
}

/* ── Pages ────────────────────────────────────────────────────────────────────────── */

static uint32_t new_log_page(struct tt_recording *r)
{
    uint32_t page = r->log.count < r->log.max
                        ? tt_page_take_more(r, TT_PAGE_LOG, 0, 0, r->log.count)
                        : 0;

    r->log.count += page != 0;
    return page;
}

static uint32_t take_log_page(struct tt_recording *r)
{
    uint32_t page;

    if (!r->log.spare)
        r->log.spare = new_log_page(r);
    page = new_log_page(r);
    return page ? page : thin_log(r);
}

static void close_log_page(struct tt_recording *r, uint32_t page)
{
    struct tt_log_page *p = log_page(r, page);

    log_unlink(r, &r->log.open, page);
    p->first = r->log.closed + 1;
    __atomic_store_n(&r->log.closed, p->first, __ATOMIC_RELAXED); /* for tt_tree_init */
    __atomic_store_n(&p->last, p->first, __ATOMIC_RELEASE);
    log_link(r, &r->log.level[0], page, 0);
}

static void open_log_page(struct tt_recording *r, uint32_t page, uint32_t owner,
                          uint64_t when)
{
    struct tt_log_page *p = log_page(r, page);

    p->base = when;
    p->owner = owner;
    while ((uint64_t)RESOLUTION << (p->shift + 1) <= r->header->ticks_per_second)
        p->shift++;
    log_link(r, &r->log.open, page, 0);
    __atomic_store_n(&p->state, TT_LOG_LIVE, __ATOMIC_RELEASE);
}

#ifdef TT_CHECKED
struct log_checked {
    uint32_t pages, last; /* last: of the closed pages so far, the number at its end */
};

/* level -1: the queue of open pages. */
static const char *wrong_queue(const struct tt_recording *r, const struct tt_log_queue *q,
                               int level, struct log_checked *c)
{
    const struct tt_log_page *p;
    uint32_t count = 0, before = 0;

    for (uint32_t page = q->first; page; before = page, page = p->next) {
        p = log_page(r, page);
        if (++count > q->count)
            return "a queue of the sample log has more pages than it counts";
        if (p->prev != before)
            return "a page of the sample log has another one before it";
        if (p->state != TT_LOG_LIVE)
            return "a queue of the sample log has an empty page";
        if (level < 0 ? p->first || p->last : p->level != level)
            return "a page of the sample log is in another's queue";
        if (level >= 0 && (p->first != c->last + 1 || p->last < p->first))
            return "pages of the sample log do not follow one another";
        c->last = level < 0 ? c->last : p->last;
    }
    c->pages += count;
    return count == q->count && before == q->last
               ? ""
               : "a queue of the sample log ends early";
}

static const char *wrong_log(const struct tt_recording *r)
{
    struct log_checked c = {0, 0};
    const char *wrong = wrong_queue(r, &r->log.open, -1, &c);

    for (int level = TT_LOG_LEVELS - 1; !*wrong && level >= 0; level--)
        wrong = wrong_queue(r, &r->log.level[level], level, &c);
    if (*wrong)
        return wrong;
    if (c.last != r->log.closed)
        return "the sample log lacks the last pages";
    if (r->log.spare && log_page(r, r->log.spare)->state != TT_LOG_EMPTY)
        return "the spare page of the sample log is in use";
    return c.pages + (r->log.spare != 0) == r->log.count && r->log.count <= r->log.max
               ? ""
               : "pages of the sample log are miscounted";
}

const char *tt_log_check(struct tt_recording *r)
{
    const char *wrong;

    tt_pages_lock(r);
    wrong = wrong_log(r);
    tt_pages_unlock(r);
    return wrong;
}
#endif

/* Others hold the lock for microseconds: tries again for some time, and never sleeps. */
static int hold_pages(struct tt_recording *r)
{
    enum { TRIES = 2000 };

    for (int i = 0; i < TRIES; i++)
        if (tt_pages_try(r))
            return 1;
    return 0;
}

/* 0: not now.  Not inline, as it is rare: an entry needs few registers. */
static __attribute__((noinline)) int turn_log_page(struct tt_recording *r,
                                                   struct tt_log_writer *w,
                                                   uint32_t owner, uint64_t when)
{
    const int held = tt_pages_are_held(r);
    uint32_t page;

    if (!held && !hold_pages(r))
        return 0;
    if (w->page) {
        close_log_page(r, w->page);
        w->page = 0;
    }
    page = take_log_page(r);
    if (page)
        open_log_page(r, page, owner, when);
    w->used = 0;
    TT_BARRIER();
    w->page = page;
#ifdef TT_CHECKED
    if (r->log.closed % 64 == 0)
        TT_ASSERT_NOTHING(wrong_log(r));
#endif
    if (!held)
        tt_pages_done(r);
    return page != 0;
}

void tt_log_leave(struct tt_recording *r, struct tt_log_writer *w)
{
    tt_pages_lock(r);
    if (w->page && w->epoch == r->epoch)
        close_log_page(r, w->page);
    w->page = 0;
    tt_pages_unlock(r);
}

/* ── Entries ──────────────────────────────────────────────────────────────────────── */

/* Time since the open page's base, in its units; UINT64_MAX: too late for that page. */
static uint64_t log_offset(const struct tt_recording *r, const struct tt_log_page *p,
                           uint64_t when)
{
    uint64_t units = when > p->base ? (when - p->base) >> p->shift : 0;

    return units >> tt_log_time_bits(r->header->log_bits) ? UINT64_MAX : units;
}

/* The rounding error is carried on within the page.  A handler in between carries it once
 * more, which makes the rest so much less. */
static uint64_t weigh_entry(const struct tt_log_page *p, uint64_t ticks, uint64_t *change)
{
    uint64_t before = __atomic_load_n(&p->rest, __ATOMIC_RELAXED), rest = before,
             packed = round_weight(ticks, &rest);

    *change = rest - before;
    return packed;
}

static void lose_sample(const struct tt_recording *r, uint64_t ticks)
{
    tt_bump_shared(&r->header->log_lost, ticks);
}

/* The last entry and this sample become one. */
static __attribute__((noinline)) void fold_entry(const struct tt_recording *r,
                                                 uint32_t page, uint32_t cell,
                                                 uint64_t ticks, uint64_t when)
{
    const uint64_t bits = r->header->log_bits;
    struct tt_log_page *p = page ? log_page(r, page) : NULL;
    uint64_t *e, old, one, offset, change;
    uint32_t i = TT_LOG_ENTRIES;

    while (p && i && !__atomic_load_n(&log_entries(p)[i - 1], __ATOMIC_RELAXED))
        i--;
    if (!i || !p) {
        lose_sample(r, ticks);
        return;
    }
    e = &log_entries(p)[i - 1];
    offset = log_offset(r, p, when);
    do {
        old = one = __atomic_load_n(e, __ATOMIC_RELAXED);
        if (choose_second(mix_chance(old + when * 0x9e3779b97f4a7c15u),
                          tt_log_weight(old), ticks))
            one = tt_log_pack(
                cell, offset == UINT64_MAX ? tt_log_offset(old, bits) : offset, 0, bits);
        one &= ~(uint64_t)((1u << TT_LOG_WEIGHT) - 1);
        one |= weigh_entry(p, tt_log_weight(old) + ticks, &change);
    } while (!__atomic_compare_exchange_n(e, &old, one, 0, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
    tt_bump(&p->rest, change);
    tt_bump(&p->more, 1);
}

/* Takes a slot of the writer's page; TT_LOG_ENTRIES: none is free.  A handler may take
 * one in between, another thread does not. */
static uint32_t claim_slot(struct tt_log_writer *w)
{
    uint32_t slot = __atomic_load_n(&w->used, __ATOMIC_RELAXED);

    if (slot >= TT_LOG_ENTRIES)
        return TT_LOG_ENTRIES;
#if defined(__x86_64__)
    slot = 1;
    __asm__("xaddl %0, %1" : "+r"(slot), "+m"(w->used));
#else
    slot = __atomic_fetch_add(&w->used, 1, __ATOMIC_RELAXED);
#endif
    return slot < TT_LOG_ENTRIES ? slot : TT_LOG_ENTRIES;
}

static void write_entry(struct tt_recording *r, struct tt_log_writer *w, uint32_t owner,
                        uint32_t cell, uint64_t ticks, uint64_t when, int may_turn)
{
    uint32_t slot = TT_LOG_ENTRIES;
    uint64_t offset = UINT64_MAX, change;
    struct tt_log_page *p;

    if (w->epoch != r->epoch) {
        w->page = 0;
        w->epoch = r->epoch;
    }
    if (w->page && (offset = log_offset(r, log_page(r, w->page), when)) != UINT64_MAX)
        slot = claim_slot(w);
    if (slot == TT_LOG_ENTRIES && may_turn && turn_log_page(r, w, owner, when)) {
        offset = log_offset(r, log_page(r, w->page), when);
        slot = claim_slot(w);
    }
    if (slot == TT_LOG_ENTRIES) {
        fold_entry(r, w->page, cell, ticks, when);
        return;
    }
    p = log_page(r, w->page);
    __atomic_store_n(
        &log_entries(p)[slot],
        tt_log_pack(cell, offset, weigh_entry(p, ticks, &change), r->header->log_bits),
        __ATOMIC_RELEASE);
    if (change)
        tt_bump(&p->rest, change);
}

/* Ticks since the recording began; by the caller's clock: this thread's charges. */
static uint64_t log_time(const struct tt_thread *t)
{
    uint64_t now;

    if (tt_clock_in_use() == TT_CLOCK_CALLER)
        return t->clock.ticks > t->record->charged ? t->clock.ticks : t->record->charged;
    now = tt_clock_now();
    return now > t->recording->header->start_ticks
               ? now - t->recording->header->start_ticks
               : 0;
}

/* A handler that has interrupted a thread at work turns no page: the thread may be doing that. */
void tt_log_add(struct tt_thread *t, struct tt_log_writer *w, const struct tt_node *n,
                uint64_t ticks, uint64_t when)
{
    struct tt_recording *r = t->recording;

    TT_ASSERT(n->kind == TT_CELL_CONTEXT);
    if (!r->log.max)
        return;
    if (when == TT_LOG_NOW)
        when = log_time(t);
    write_entry(r, w ? w : &t->log, w ? 0 : t->tree.owner, tt_cell_of(&t->tree, n), ticks,
                when, w || !tt_busy_is_nested(&t->busy));
}

/* ── Contexts go ──────────────────────────────────────────────────────────────────── */

struct moving {
    const struct tt_tree *tree;
    uint32_t (*to)(void *, uint32_t);
    void *arg;
};

static void move_entry(const struct moving *m, struct tt_log_page *p, uint64_t *e)
{
    const struct tt_recording *r = m->tree->recording;
    const uint64_t bits = r->header->log_bits, mask = UINT64_MAX >> bits;
    uint64_t old = __atomic_load_n(e, __ATOMIC_RELAXED), one;
    uint32_t cell;

    do {
        cell = tt_log_cell(old, bits);
        if (!old || tt_page_owner(r, tt_cell_page(r, cell)) != m->tree->owner)
            return;
        cell = m->to(m->arg, cell);
        one = cell ? (uint64_t)cell << (64 - bits) | (old & mask) : 0;
    } while (one != old && !__atomic_compare_exchange_n(e, &old, one, 0, __ATOMIC_RELAXED,
                                                        __ATOMIC_RELAXED));
    if (cell && tt_page_owner(r, tt_cell_page(r, cell)) != p->owner)
        p->owner = 0;
}

/* From the newest page back to those that were filled before the tree existed. */
static void move_queue(const struct moving *m, const struct tt_log_queue *q)
{
    const struct tt_recording *r = m->tree->recording;

    for (uint32_t page = q->last; page; page = log_page(r, page)->prev) {
        struct tt_log_page *p = log_page(r, page);
        if (p->last && p->last <= m->tree->log_since)
            return;
        if (p->owner && p->owner != m->tree->owner)
            continue;
        for (uint32_t i = 0; i < TT_LOG_ENTRIES; i++)
            move_entry(m, p, &log_entries(p)[i]);
    }
}

void (*tt_log_moved)(const struct tt_tree *, uint32_t (*)(void *, uint32_t), void *);

void tt_log_move(const struct tt_tree *t, uint32_t (*to)(void *, uint32_t), void *arg)
{
    const struct moving m = {t, to, arg};
    struct tt_recording *r = t->recording;

    if (TT_UNLIKELY(tt_log_moved != NULL))
        tt_log_moved(t, to, arg);
    if (!r->log.max)
        return;
    tt_pages_lock(r);
    move_queue(&m, &r->log.open);
    for (uint32_t i = 0; i < TT_LOG_LEVELS; i++)
        move_queue(&m, &r->log.level[i]);
    tt_pages_unlock(r);
}

/* ── The beginning ────────────────────────────────────────────────────────────────── */

void tt_log_init(struct tt_recording *r)
{
    struct tt_header *h = r->header;
    uint64_t bytes = h->budget / PART;

    memset(&r->log, 0, sizeof r->log);
    if (r->options.log < bytes)
        bytes = r->options.log;
    if (bytes / TT_PAGE_SIZE < LEAST || h->size / TT_CELL_SIZE >> TT_LOG_BITS_MAX)
        return;
    r->log.max = (uint32_t)(bytes / TT_PAGE_SIZE);
    r->log.chance = h->start_time;
    h->log = r->log.max;
    h->log_bits = 1;
    while (h->size / TT_CELL_SIZE >> h->log_bits)
        h->log_bits++;
}
