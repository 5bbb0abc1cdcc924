/* SPDX-License-Identifier: MIT */
/* activation.h - measures activations, and charges figures to contexts. */
#ifndef TT_ACTIVATION_H
#define TT_ACTIVATION_H

#include "fiber.h"
#include "tree.h"

struct tt_thread;

enum { TT_HIDDENS = 128, TT_HIDDEN_CELLS = 9, TT_HIDDEN_BLOCKS = 5 };
struct tt_hidden { /* hidden blocks that are not on a context's path */
    /* Cells, and above 32 bits generations: the context, the arcs; for a hider without an
     * arc, its source and target. */
    uint64_t at[TT_HIDDEN_CELLS];
    uint32_t cells, count; /* no cells: unused */
    uint32_t tally[TT_HIDDEN_BLOCKS];
};

/* Charging of a thread, while samples of its handlers may come. */
struct tt_charging {
    uint64_t changes; /* odd while the nearest hider changes, for the sampler thread */
    uint32_t walks;   /* over hidden blocks that are under way */
    uint64_t deferred[2];                /* ticks, samples that came during one */
    struct tt_hidden hidden[TT_HIDDENS]; /* read and written during one */
};

/* Adds to the tally of a block in this strand, or where there is no room, in the process. */
void tt_tally_evicted(struct tt_tree *, tt_block, const struct tt_amounts *);
void tt_tally_hidden(struct tt_tree *, tt_block, uint64_t ticks);
void tt_tally_path(struct tt_tree *, const struct tt_node *, uint64_t ticks);

/* This thread's time now: without what it spent paused. */
uint64_t tt_time_now(const struct tt_thread *);

/* Charges the time since the last event to the nearest timed activation.  Without one it
 * is not charged, except that a caller's own clock charges `outside`. */
void tt_charge_time(struct tt_thread *, uint64_t now, struct tt_frame *outside);

/* Charges ticks to a place on the running stack; async-signal-safe. */
void tt_charge(struct tt_thread *, struct tt_frame *at, uint64_t ticks, uint64_t samples);

/* Charges node `n`, below the node of that frame.  If `metric` is not 0, charges that, in
 * ns: the ticks are an exact clock's then.  Async-signal-safe, while busy. */
void tt_charge_below(struct tt_thread *, struct tt_frame *at, struct tt_node *n,
                     uint64_t ticks, uint32_t metric);

/* The nearest frame that has a node in the tree, from `f` down. */
struct tt_frame *tt_stack_placed(const struct tt_thread *, struct tt_frame *f);

/* Charges the ticks and samples that were deferred. */
void tt_charge_deferred(struct tt_thread *);

/* Adds to a metric of the top, after an eviction if there is no room; at least the total has
 * it then. */
void tt_add_metric(struct tt_thread *, uint32_t metric, uint64_t amount);

/* Statistics of activations: measures the frame from now on; ends it. */
void tt_activation_begin(struct tt_thread *, struct tt_frame *, uint64_t now);
void tt_activation_pick(struct tt_thread *, struct tt_frame *);
void tt_activation_end(struct tt_thread *, struct tt_frame *, uint64_t now);

/* Time is charged to a captured context without an activation. */
void tt_visit_begin(struct tt_thread *, struct tt_frame *);
void tt_visit_end(struct tt_thread *, struct tt_frame *);

/* Details of an activation beside its sums, if they are recorded. */
void tt_activation_details(struct tt_thread *, struct tt_node *edge,
                           const struct tt_frame *, uint64_t duration);

/* Adds an activation to its edge's statistics. */
TT_INLINE void tt_square_add(struct tt_square *s, uint64_t x)
{
    unsigned __int128 sum = (unsigned __int128)s->high << 64 | s->low;

    sum += (unsigned __int128)x * x;
    s->low = (uint64_t)sum;
    s->high = (uint64_t)(sum >> 64);
}

TT_INLINE void tt_times_add(struct tt_times *s, const struct tt_frame *f,
                            uint64_t duration)
{
    if (s->count++ == 0 || duration < s->min)
        s->min = duration;
    if (duration > s->max)
        s->max = duration;
    s->sum += duration;
    tt_square_add(&s->square, duration);
    if (f->children) {
        s->children += f->children;
        tt_square_add(&s->children_square, f->children);
    }
    if (f->edge & TT_FRAME_FLAG(TT_FRAME_RECURSIVE)) {
        s->recursive += duration;
        tt_square_add(&s->recursive_square, duration);
    }
}

#endif
