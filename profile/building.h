/* SPDX-License-Identifier: MIT */
/* building.h - the state of a growing builder; for builder.c, add-profile.c, finish.c.
 *
 * Ids are given in the order of arrival; finish.c sorts everything into the file's order.
 * Figures go to a log, with one line for each addition.  The log is summed up whenever it
 * has doubled, so it never holds more than twice as many lines as there are figures. */
#ifndef TT_BUILDING_H
#define TT_BUILDING_H

#include "assertion.h"
#include "builder.h"

struct tt_index {   /* a hash table of ids, kept elsewhere */
    uint32_t *slot; /* id + 1; 0: free */
    size_t size, count;
};

struct tt_grown { /* a context or, with `block`, an arc */
    uint32_t parent, block;
};

struct tt_grown_arc {
    uint32_t from, to, block;
};

struct tt_missing {
    uint32_t context, metric;
    uint64_t amount;
};

struct tt_builder {
    struct tt_memory memory;
    struct tt_vector bytes; /* strings, each ended by a NUL */
    struct tt_vector string, block, metric, context, arc, strand, fact;
    struct tt_index strings, blocks, contexts, arcs, strands;
    struct tt_vector entry; /* struct tt_entry; row: enum tt_role << 32 | id */
    size_t summed;          /* of them, when they were last summed up */
    struct tt_vector missing, times, bin, activation, slow, space, series, point, sample;
    uint32_t weighs;         /* the metric of samples' weights; TT_NONE: there are none */
    struct tt_vector spread; /* struct tt_vector of spreads: two for each metric */
    struct tt_vector total; /* uint64_t: of each metric, in all contexts and below them */
    struct tt_vector place, frame, trail, trail_entry; /* see trails.c */
    struct tt_index places, trails;
    size_t trails_summed; /* of the entries, when they were last summed up */
    uint32_t current;     /* strand */
    uint32_t digest;      /* its rows; 0: as many as the profile deserves */
    int of_many;          /* figures that come now are of many strands together */
    int summary;          /* no figures by strand in the end, only how they spread */
    int failed;
    int overflown; /* some total is more than 64 bits hold */
};

/* The sum over several files may not fit 64 bits. */
static inline void tt_add_capped(uint64_t *to, uint64_t more)
{
    if (__builtin_add_overflow(*to, more, to))
        *to = UINT64_MAX;
}

/* Returns the id of `what` in an index; if it is new, gives it the next id and sets
 * *is_new. */
typedef int tt_is_same_function(const struct tt_builder *, uint32_t id, const void *what);
typedef uint64_t tt_hash_function(const struct tt_builder *, uint32_t id);
uint32_t tt_index_note(struct tt_builder *b, struct tt_index *x, uint64_t hash,
                       tt_hash_function *rehash, tt_is_same_function *is_same,
                       const void *what, int *is_new);
uint64_t tt_mix(uint64_t hash, uint64_t value);

/* Appends an item to a vector; NULL: no memory, and the builder has failed. */
void *tt_builder_item(struct tt_builder *, struct tt_vector *);

/* Frees the indices, when no more lookups follow. */
void tt_builder_drop_indexes(struct tt_builder *);

struct tt_order { /* from the id of arrival to the place in the file */
    uint32_t *string, *block, *metric, *context, *arc, *strand;
    size_t *offset; /* of each string, by place */
    uint32_t *block_of, *size_of, depth;
    struct tt_arc_row *arc_row;
};

/* Sorts all but the log of figures; -TT_ERR_MEMORY; tt_order_free in either case.  Only
 * the number of the builder's contexts is kept. */
int tt_order_make(struct tt_builder *, struct tt_order *);
/* Frees data that were copied into the image: `block_of`, `size_of`. */
void tt_order_drop_copied(struct tt_builder *, struct tt_order *);
void tt_order_free(struct tt_builder *, struct tt_order *);
/* The samples in the file's order, within their cap: samples.c. */
void tt_samples_gather(struct tt_builder *, const struct tt_profile *,
                       const uint32_t *context, const uint32_t *strand, uint32_t metric,
                       const struct tt_range *);
uint32_t tt_builder_strand_of(struct tt_builder *, const struct tt_profile *,
                              uint32_t strand);
void tt_order_samples(struct tt_builder *, const struct tt_order *);
/* Turns the rows of the log into those of struct tt_entry, without sorting it. */
void tt_order_entries(struct tt_builder *, const struct tt_order *);

/* The builder's blocks that replace each block of a profile, outermost first:
 * link[first[b] … first[b + 1] - 1], at least one. */
struct tt_chains {
    uint32_t *first;
    struct tt_vector link;
    uint32_t blocks;
    uint32_t *place; /* of each block: the builder's, or TT_NONE */
};
int tt_chains_make(struct tt_builder *, const struct tt_profile *,
                   const struct tt_naming *, struct tt_chains *);
void tt_chains_free(struct tt_builder *, struct tt_chains *);
/* Adds the figures of a slow activation, with chains in place of blocks.  0 or an
 * error. */
int tt_chains_slow(const struct tt_chains *, const struct tt_slow_figure *, size_t count,
                   struct tt_vector *named);

/* Returns a metric's spreads of totals, or of self, one for each context; NULL: no
 * memory. */
struct tt_spread *tt_spreads_of(struct tt_builder *, uint32_t metric, int of_self);

/* Addresses, with vectors empty; of all strands together; in the file's order. */
void tt_trails_init(struct tt_builder *);
void tt_trails_summarise(struct tt_builder *);
int tt_trails_order(struct tt_builder *, const struct tt_order *);

/* Sorts entries by strand, row, metric, and adds up equal ones.  0 or an error. */
int tt_entries_sum(struct tt_vector *);

#endif
