/* SPDX-License-Identifier: MIT */
/* read-sparse.c - self times where each N-th activation was timed.
 *
 *      main ──(8 ms)── parse ──(5 ms)── read         self of parse: 8 + 2 - 5 - 2 = 3 ms
 *                        ⟲ (2 ms)
 *
 * The time of all activations through an edge is that of the timed ones, scaled to the number
 * of calls.  What goes in at a context is its inclusive time, and what goes out of it is the
 * inclusive time of what it called; the difference is its self time.  An arc that leads back
 * goes in and out within the same inclusive time, so it takes nothing away from the sum. */
#include "read-sparse.h"

#include "assertion.h"
#include "builder.h"
#include "figures.h"

/* Is each N-th activation of a block timed? */
static int is_sparse(const struct tt_picture *p, uint32_t block)
{
    return block < p->blocks && !p->block[block].type &&
           p->header->mode[p->block[block].info.kind] == TT_MODE_EVERY;
}

/* What measuring adds to an activation's time is kept in 1/1024 ticks. */
static uint64_t overhead_of(uint64_t each, uint64_t calls)
{
    return (uint64_t)((unsigned __int128)each * calls / 1024);
}

/* Scales the timed activations to all through the edge: the first, and each N-th, was
 * timed. */
static uint64_t time_through(const struct tt_picture *p, const struct tt_times *t,
                             uint64_t calls)
{
    uint64_t every = p->header->every,
             number = calls < every ? t->count : (t->count - 1) * every + 1,
             time = (uint64_t)((unsigned __int128)t->weighed * calls / number),
             overhead = overhead_of(p->header->inside.low, calls);

    return time > overhead ? time - overhead : 0;
}

/* The same for an edge, by its cell.  `to` gets the time that measuring may have
 * added. */
static uint64_t take_time(const struct tt_picture *p, uint32_t cell, uint64_t calls,
                          struct tt_sparse *to)
{
    const struct tt_bracket *inside = &p->header->inside;
    const struct tt_times *t = tt_picture_extension(p, cell, TT_TIMES);

    if (!t || !t->count)
        return 0;
    to->own += overhead_of(inside->high - inside->low, calls);
    return time_through(p, t, calls);
}

/* If there are samples too, they have the time already. */
static int has_sparse(const struct tt_picture *p)
{
    int sparse = 0;

    for (uint32_t i = 0; i < p->blocks; i++) {
        if (p->block[i].samples)
            return 0;
        sparse |= is_sparse(p, i) && p->block[i].calls;
    }
    return sparse;
}

static void take_times(const struct tt_picture *p, struct tt_sparse *each)
{
    for (uint32_t i = 0; i < p->contexts; i++) {
        const struct tt_picture_context *c = &p->context[i];
        const struct tt_node *n = tt_picture_cell(p, c->cell);
        if (!is_sparse(p, c->block)) /* a root has no block */
            continue;
        TT_ASSERT(c->parent < i);
        each[i].time = take_time(p, c->cell, n->calls, &each[i]);
        each[c->parent].called += each[i].time;
    }
}

/* If the thread was preempted during a timed activation, that time counts N times.  So
 * callees may seem to take longer than their caller, which is impossible. */
static void limit_times(const struct tt_picture *p, struct tt_sparse *each)
{
    for (uint32_t i = 0; i < p->contexts; i++) {
        const struct tt_picture_context *c = &p->context[i];
        const struct tt_sparse *from = is_sparse(p, c->block) ? &each[c->parent] : NULL;
        if (from && from->time && from->called > from->time)
            each[i].time = (uint64_t)((unsigned __int128)each[i].time * from->time /
                                      from->called);
    }
}

static void move(struct tt_sparse *from, struct tt_sparse *to, uint64_t time)
{
    from->self -= time;
    to->self += time;
}

static void move_times(const struct tt_picture *p, struct tt_sparse *each)
{
    for (uint32_t i = 0; i < p->contexts; i++)
        if (is_sparse(p, p->context[i].block))
            move(&each[p->context[i].parent], &each[i], each[i].time);
    for (uint32_t i = 0; i < p->arcs; i++) {
        const struct tt_picture_arc *a = &p->arc[i];
        struct tt_sparse *from = &each[a->from];
        uint64_t time = is_sparse(p, a->block)
                            ? take_time(p, a->cell, a->calls, &each[a->to])
                            : 0;
        move(from, &each[a->to], time < from->time ? time : from->time);
    }
}

int tt_read_sparse(const struct tt_picture *p, struct tt_sparse **each)
{
    *each = NULL;
    if (!has_sparse(p))
        return 0;
    *each = tt_memory_get(NULL, p->contexts * sizeof **each);
    if (!*each)
        return -TT_ERR_MEMORY;
    take_times(p, *each);
    limit_times(p, *each);
    move_times(p, *each);
    return 0;
}
