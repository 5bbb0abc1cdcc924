/* SPDX-License-Identifier: MIT */
/* caliper.h - what Caliper's two forms share: which columns are figures, and inclusive ones
 * that become self.
 *
 * A column is a figure of its context where it adds up; those that say the least, the
 * largest or the mean over others, who was measured, or in which order, are none.  Of a
 * figure that includes what lies below, a context keeps what is not its children's. */
#ifndef TT_CALIPER_H
#define TT_CALIPER_H

#include "formats.h"
#include "pairs.h"

enum tt_caliper_kind {
    TT_CALIPER_NONE, /* nothing that adds up */
    TT_CALIPER_METRIC,
    TT_CALIPER_RANK,
    TT_CALIPER_THREAD,
};

struct tt_caliper_column {
    enum tt_caliper_kind kind;
    int is_inclusive;
    int is_guess;    /* the first value that is not 0 says what unit they have */
    int shift;       /* digits behind the point that count: "sec" becomes ns */
    uint32_t metric; /* of self */
    uint64_t total;
};

struct tt_caliper {
    struct tt_source *s; /* borrowed */
    struct tt_builder *b;
    struct tt_pairs figure;     /* context and metric, rank and thread: index + 1 */
    struct tt_pairs has_self;   /* metrics that the file has without what lies below */
    struct tt_vector inclusive; /* what of it is self, so far */
    struct tt_vector parent;    /* uint32_t of each context */
    uint32_t rank, thread;      /* whose figures come; TT_NONE: of none */
};

void tt_caliper_init(struct tt_caliper *, struct tt_source *, struct tt_builder *);
void tt_caliper_fini(struct tt_caliper *);

/* Does a column of this name say of what rank or thread a record is? */
enum tt_caliper_kind tt_caliper_whose(const char *name);
/* What a column is, by its name, and its unit or "". */
struct tt_caliper_column tt_caliper_column(struct tt_caliper *, const char *name,
                                           const char *unit);
/* The context of a region below another; TT_NONE: no memory. */
uint32_t tt_caliper_context(struct tt_caliper *, uint32_t parent, const char *name);
/* What follows is of this rank and thread; TT_NONE: of none.  0, or an error, noted. */
int tt_caliper_strand(struct tt_caliper *, uint32_t rank, uint32_t thread);
/* The figure of a context, as it is written. */
int tt_caliper_add(struct tt_caliper *, struct tt_caliper_column *, uint32_t context,
                   const char *value);
/* Adds what was inclusive. */
int tt_caliper_finish(struct tt_caliper *);

/* A number of 0 to 2^32 - 2, or TT_NONE. */
uint32_t tt_caliper_number(const char *text);

#endif
