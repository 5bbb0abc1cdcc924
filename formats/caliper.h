/* SPDX-License-Identifier: MIT */
/* caliper.h - code that Caliper's two forms share: it decides which columns are figures,
 * and turns inclusive figures into self figures.
 *
 * A column is a figure of its context if its values add up.  Columns are not figures if
 * they have the minimum, the maximum or the mean over others, the rank or thread, or the
 * order of measurements.  From an inclusive figure, a context keeps the part that its
 * children do not have. */
#ifndef TT_CALIPER_H
#define TT_CALIPER_H

#include "formats.h"
#include "pairs.h"

enum tt_caliper_kind {
    TT_CALIPER_NONE, /* nothing that adds up */
    TT_CALIPER_METRIC,
    TT_CALIPER_RANK,
    TT_CALIPER_THREAD,
    TT_CALIPER_TIME, /* of a trace: when the record was made */
};

struct tt_caliper_column {
    enum tt_caliper_kind kind;
    int is_inclusive, is_time;
    int is_guess;    /* the first value that is not 0 decides the unit */
    int shift;       /* digits after the decimal point that count: "sec" becomes ns */
    uint32_t metric; /* of self */
    uint64_t total;
};

struct tt_caliper {
    struct tt_source *s; /* borrowed */
    struct tt_builder *b;
    struct tt_pairs figure;     /* context and metric, rank and thread: index + 1 */
    struct tt_pairs has_self;   /* metrics that the file has without what lies below */
    struct tt_vector inclusive; /* struct figure: the self part so far */
    struct tt_vector parent;    /* uint32_t of each context */
    uint32_t rank, thread;      /* of the figures that follow; TT_NONE: unknown */
    uint64_t time;              /* of the figures that follow, ns; UINT64_MAX: unknown */
};

void tt_caliper_init(struct tt_caliper *, struct tt_source *, struct tt_builder *);

/* Does a column of this name have the rank or the thread of a record? */
enum tt_caliper_kind tt_caliper_whose(const char *name);
/* Classifies a column by its name, and its unit or "". */
struct tt_caliper_column tt_caliper_column(struct tt_caliper *, const char *name,
                                           const char *unit);
/* The context of a region below another; TT_NONE: no memory. */
uint32_t tt_caliper_context(struct tt_caliper *, uint32_t parent, const char *name);
/* The figures that follow are of this rank and thread; TT_NONE: unknown.  0, or an error,
 * noted. */
int tt_caliper_strand(struct tt_caliper *, uint32_t rank, uint32_t thread);
/* The figures that follow are of this time, a value of such a column. */
void tt_caliper_time(struct tt_caliper *, struct tt_caliper_column *, const char *value);
/* Adds a figure, given as text, to a context. */
int tt_caliper_add(struct tt_caliper *, struct tt_caliper_column *, uint32_t context,
                   const char *value);
/* Adds the self figures that come from inclusive ones. */
int tt_caliper_finish(struct tt_caliper *);

/* A number of 0 to 2^32 - 2, or TT_NONE. */
uint32_t tt_caliper_number(const char *text);

#endif
