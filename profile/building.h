/* SPDX-License-Identifier: MIT */
/* building.h - the state of a growing builder; for the files that fill and write it.  Its functions are in
 * builder.c: builder.h is for the users of builders.
 *
 * Ids are given in the order of arrival; finish.c sorts everything into the file's order.
 * Figures go to a log, with one line for each addition.  The log is summed up whenever it
 * has doubled, so it never holds more than twice as many lines as there are figures. */
#ifndef TT_BUILDING_H
#define TT_BUILDING_H

#include "assertion.h"
#include "builder.h"
#include "index.h"
#include "statistics.h"

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

/* Columns that the log has no lines for: tt_builder_finish reads them in a profile. */
struct tt_columns_of {
    const struct tt_profile *p; /* borrowed, as the next two; NULL: there are none */
    const uint32_t *context;    /* of each of its contexts: ours; TT_NONE: left out */
    const unsigned char *muted; /* of each: is it left without calls?  NULL: none is */
    uint32_t *metric;           /* owned: of each of its metrics, ours */
};

/* A figure of a role and a metric, of one strand, by context. */
struct tt_filled {
    enum tt_role role;
    uint32_t metric;
    struct tt_vector amount; /* uint64_t; those of contexts beyond it are 0 */
};

struct tt_builder {
    struct tt_memory memory;
    struct tt_vector bytes; /* strings, each ended by a NUL */
    struct tt_vector string, block, metric, context, arc, strand, fact;
    struct tt_index strings, blocks, contexts, arcs, strands;
    struct tt_vector entry; /* struct tt_entry; row: enum tt_role << 32 | id */
    size_t summed;          /* of them, when they were last summed up */
    size_t of_all;        /* in a summary: of them, those of all strands, at the front, */
    size_t of_all_summed; /* and how many these were when they were last summed up */
    struct tt_vector
        filled;         /* struct tt_filled: columns that the log has no lines for, */
    uint32_t filled_of; /* of this strand; TT_NONE: they are empty */
    struct tt_columns_of columns;
    size_t wide_from; /* bytes by strand from which they are summed up again */
    size_t times_summed, bins_summed,
        longest_kept; /* rows, when a summary last did that */
    struct tt_vector missing, times, bin, activation, slow, space, series, point, sample;
    struct tt_vector identity, path; /* uint64_t: of blocks and contexts, see samples.c */
    uint32_t weighs;         /* the metric of samples' weights; TT_NONE: there are none */
    struct tt_vector spread; /* struct tt_vector of spreads: two for each metric */
    struct tt_vector total; /* uint64_t: of each metric, in all contexts and below them */
    struct tt_vector place, frame, trail, trail_entry; /* see trails.c */
    struct tt_index places, trails;
    size_t trails_summed; /* of the entries, when they were last summed up */
    size_t trails_of_all, trails_of_all_summed; /* as of_all and of_all_summed */
    struct tt_vector amount, mark, marks; /* uint64_t: of one strand, see summary.c */
    uint32_t current;                     /* strand */
    const char *run;   /* borrowed: of the strands that follow; NULL: of none */
    int is_run_of_all; /* those without a process, too */
    uint32_t digest;   /* its rows; 0: as many as the profile deserves */
    int without_edges; /* in a digest */
    int of_many;       /* figures that come now are of many strands together */
    int summary;       /* no figures by strand in the end, only how they spread */
    int failed;
    int overflown; /* some total is more than 64 bits hold */
    int is_mixed;  /* a metric has counts with fractions, and others without */
};

/* The sum over several files may not fit 64 bits. */
static inline void tt_add_capped(uint64_t *to, uint64_t more)
{
    if (__builtin_add_overflow(*to, more, to))
        *to = UINT64_MAX;
}

/* The number as an id; fails if it is too large, or TT_NO_NUMBER. */
uint32_t tt_builder_id(struct tt_builder *, uint32_t number);

/* Appends an item to a vector; NULL: no memory, and the builder has failed. */
void *tt_builder_item(struct tt_builder *, struct tt_vector *);

/* The text of a string, until the next one is added. */
const char *tt_builder_text(const struct tt_builder *, uint32_t string);

/* The order of strands by what they are, as in the file, and not by when they came. */
struct tt_strand_order tt_builder_strand_order(const struct tt_builder *);

/* Frees the indices, when no more lookups follow. */
void tt_builder_drop_indexes(struct tt_builder *);

#endif
