/* SPDX-License-Identifier: MIT */
/* profile.h - a profile as every view reads it: columns over contexts in preorder.
 *
 *      context   block   size   self  total         root ── a ── b
 *      0         root    4      0     9                     └── c
 *      1         a       3      2     9             a's children are contexts 2 and 3:
 *      2         b       1      3     3             the first follows its parent, the
 *      3         c       1      4     4             next begins where one ends
 *
 * A profile is read-only, and points into an image that the caller keeps: a mapped file,
 * or one that a builder made.  Nothing in it is trusted before it has been checked.  No
 * function here recurses, whatever the depth of the tree. */
#ifndef TT_PROFILE_H
#define TT_PROFILE_H

#include <stddef.h>

#include "format.h"
#include "memory.h"
#include "tallytree.h"

/* The unit of counts that have a fraction, such as those of folded stacks. */
#define TT_UNIT_MILLIONTHS "millionths"
enum { TT_MILLION = 1000000 };

/* One metric's columns; each but `self` is NULL if all of it is 0 (or, for `low`, if it
 * is equal to `self`). */
struct tt_metric_columns {
    const char *name, *unit;
    uint32_t flags;                               /* enum tt_metric_flags */
    const uint64_t *self, *elsewhere, *low;       /* running sums, contexts + 1 */
    const uint64_t *missed;                       /* of each context */
    const struct tt_block_figures *block;         /* of each block */
    const struct tt_spread *spread, *spread_self; /* of each context */
    /* For each row of the digest; then, from the digest, for each block. */
    const struct tt_digest_figure *digest_self, *digest_elsewhere, *digest_low;
    const struct tt_block_tally *tally;
    const struct tt_edge_tally *edge_tally;
};

struct tt_profile {
    const char *image; /* borrowed */
    size_t size;
    const struct tt_memory *memory; /* borrowed; of what tt_profile_open has made */

    const char *strings;
    size_t strings_size;
    const struct tt_fact *fact;
    const struct tt_block_row *block;
    const uint32_t *block_of, *size_of; /* of each context */
    struct tt_metric_columns *metric;   /* owned */
    const struct tt_arc_row *arc;
    const struct tt_times_row *times;
    const struct tt_bin_row *bin;
    const struct tt_activation_row *activation;
    const struct tt_slow_figure *slow;
    const struct tt_strand_row *strand;
    const struct tt_entry *entry;
    const struct tt_space_row *space;
    const struct tt_series_row *series;
    const struct tt_point *point;
    const struct tt_sample_row *sample;
    const struct tt_digest_row *digest; /* with the next two, NULL: there is none */
    const uint64_t *digest_least;       /* of each metric */
    const uint32_t *contexts_of;        /* of each block: how many */
    const struct tt_edge_row *edge;     /* NULL: they are not in the digest */
    const struct tt_place_row *place;
    const struct tt_place_frame *place_frame;
    const struct tt_trail_row *trail;
    const struct tt_entry *trail_entry;
    uint32_t facts, blocks, contexts, metrics, arcs, strands, many_series;
    uint32_t digests, edges; /* digests: rows that are in use */
    uint32_t places, place_frames, trails;
    size_t samples;
    size_t many_times, bins, activations, slows, entries, spaces, points, trail_entries;
    uint32_t depth; /* of the deepest context; the root's is 0 */
    uint32_t usual; /* + 1: of the metrics, as it was before filters; 0: not said */
    const struct tt_profile
        *whole;      /* what filters made this of; borrowed; NULL: nothing */
    int checked;     /* all of it, by tt_profile_check */
    char error[160]; /* the error, and where, after a failure */
};

/* Checks an image and points into it; it must be valid, aligned to 8 bytes, until
 * tt_profile_close.  On -TT_ERR_FORMAT or -TT_ERR_MEMORY the profile is closed, except
 * for `error`.  Of an image above 64 MB, only the small parts are checked. */
int tt_profile_open(struct tt_profile *, const void *image, size_t size,
                    const struct tt_memory *);
void tt_profile_close(struct tt_profile *);

/* Checks the rest, once; must be called before arcs, times, entries, spreads, space or
 * series are used.  -TT_ERR_FORMAT with `error`, or -TT_ERR_MEMORY. */
int tt_profile_check(struct tt_profile *);

static inline const char *tt_profile_string(const struct tt_profile *p, uint32_t at)
{
    return p->strings + at;
}

static inline const char *tt_block_name(const struct tt_profile *p, uint32_t block)
{
    return p->strings + p->block[block].name;
}

/* The block of a context, and the first context after its subtree; within bounds even if
 * the image is damaged and was too large to check. */
static inline uint32_t tt_block_of(const struct tt_profile *p, uint32_t context)
{
    uint32_t block = p->block_of[context];

    return block < p->blocks ? block : 0;
}

/* The block of a row of edges (see tt_times_row): that of the context that it leads to,
 * or the one that an arc has pushed; within bounds too. */
static inline uint32_t tt_block_of_edge(const struct tt_profile *p, uint32_t row)
{
    uint32_t block;

    if (row < p->contexts)
        return tt_block_of(p, row);
    block = row - p->contexts < p->arcs ? p->arc[row - p->contexts].block : 0;
    return block < p->blocks ? block : 0;
}

static inline uint32_t tt_end_of(const struct tt_profile *p, uint32_t context)
{
    uint32_t size = p->size_of[context];

    if (size > p->contexts - context)
        return p->contexts;
    return context + size + !size;
}

/* Was the push dropped, so that its calls belong to its own block alone?  False for an
 * arc that leads out of bounds. */
static inline int tt_arc_is_dropped(const struct tt_profile *p,
                                    const struct tt_arc_row *a)
{
    return a->from < p->contexts && a->to < p->contexts && a->block < p->blocks &&
           a->block != tt_block_of(p, a->to);
}

/* A figure of a context alone, and with its subtree (including evicted contexts). */
static inline uint64_t tt_self_of(const struct tt_metric_columns *m, uint32_t context)
{
    return m->self[context + 1] - m->self[context];
}

static inline uint64_t tt_sum_of(const uint64_t *sums, uint32_t from, uint32_t to)
{
    return sums ? sums[to] - sums[from] : 0;
}

static inline uint64_t tt_total_of(const struct tt_profile *p,
                                   const struct tt_metric_columns *m, uint32_t context)
{
    uint32_t end = tt_end_of(p, context);

    return tt_sum_of(m->self, context, end) + tt_sum_of(m->elsewhere, context, end);
}

static inline uint64_t tt_elsewhere_of(const struct tt_metric_columns *m,
                                       uint32_t context)
{
    return tt_sum_of(m->elsewhere, context, context + 1);
}

/* The lower bound of self; tt_total_low: the same with the subtree. */
static inline uint64_t tt_self_low_of(const struct tt_metric_columns *m, uint32_t context)
{
    return m->low ? m->low[context + 1] - m->low[context] : tt_self_of(m, context);
}

static inline uint64_t tt_total_low_of(const struct tt_profile *p,
                                       const struct tt_metric_columns *m,
                                       uint32_t context)
{
    uint32_t end = tt_end_of(p, context);

    return tt_sum_of(m->low ? m->low : m->self, context, end) +
           tt_sum_of(m->elsewhere, context, end);
}

/* Are its figures kept not by strand, but only as their spread over strands? */
int tt_profile_is_summary(const struct tt_profile *);

/* The sum of the whole profile: what self columns add up to. */
uint64_t tt_grand_total(const struct tt_profile *, const struct tt_metric_columns *);

/* After its name, chooses a metric that is sampled among those of one name. */
#define TT_SAMPLED_NAME " sampled"

/* Finds a metric by name ("time", "calls"); "ticks" also finds "time" and vice versa, if
 * only one is there.  NULL: the default metric among those that have figures, or had them
 * before filters.  TT_NONE: there is none. */
uint32_t tt_metric_find(const struct tt_profile *, const char *name);
uint32_t tt_series_find(const struct tt_profile *, const char *name); /* or TT_NONE */

/* Returns a fact's number, 0 if it is missing; its first text, or NULL. */
uint64_t tt_fact_number(const struct tt_profile *, const char *name);
const char *tt_fact_text(const struct tt_profile *, const char *name);

/* Returns the program; of several the one that began first, which started the others.
 * NULL: not known. */
const char *tt_profile_program(const struct tt_profile *);
/* The name of a fact, with the program after it: when it began, in ns since 1970. */
#define TT_FACT_PROGRAM_BEGAN "began."
/* The metric that a file of another tool shows first. */
#define TT_FACT_METRIC "metric.first"
/* The mean distance between samples of memory, in bytes. */
#define TT_FACT_HEAP_RATE "heap.rate"

/* A text without a number is private data of the code that wrote it: it is kept in the
 * file, whatever its length, and no view shows it. */
static inline int tt_fact_is_kept(const struct tt_fact *f)
{
    return f->rule == TT_FACT_EACH && !f->number;
}

/* Such a text: the unit of times in series, if they are not in ns. */
#define TT_SERIES_CLOCK "series.clock"

/* The rows of a table sorted by row that belong to `row`, as [first, returned end). */
size_t tt_times_range(const struct tt_profile *, uint32_t row, size_t *first);

/* A walk in preorder with the path at hand:
 *
 *      for (tt_walk_init(&w, p, c); tt_walk_next(&w);)
 *          … w.context, w.depth, w.path[0 … w.depth] (contexts) …
 *
 * over the subtree of c.  Costs memory for the deepest path. */
struct tt_walk {
    const struct tt_profile *p;
    uint32_t context, depth;
    uint32_t *path; /* owned; p->depth + 1 */
    uint32_t next, end, count;
};
int tt_walk_init(struct tt_walk *, const struct tt_profile *, uint32_t context);
int tt_walk_next(struct tt_walk *);
void tt_walk_skip(struct tt_walk *); /* continue after the subtree of w.context */
void tt_walk_fini(struct tt_walk *);

const char *tt_kind_word(uint32_t kind); /* "?": there is none such */
/* The identity of a block; its texts are the profile's. */
struct tt_block_info tt_block_info_of(const struct tt_profile *, uint32_t block);
/* Is it code with an address and without a name: a place, or the function that starts
 * there?  Then its name is MODULE+0xADDRESS, and its file is a build-id. */
int tt_is_nameless(const struct tt_block_info *);
int tt_block_is_nameless(const struct tt_profile *, uint32_t block);

/* Orders blocks of two profiles by their identity, as strcmp does. */
int tt_block_compare(const struct tt_profile *, uint32_t block, const struct tt_profile *,
                     uint32_t other);

#endif
