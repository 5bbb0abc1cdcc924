/* SPDX-License-Identifier: MIT */
/* ocr.h - the content of OCR's report and files: functions, and pairs of caller and
 * callee, for each thread.
 *
 * A function's direct calls to itself are part of the activation that made them.  For a
 * pair p → k, of the activations of k that p called:
 *
 *      total     their time, with everything below
 *      self      their own time; that of a function is the sum over its callers
 *      recurse   time of activations of p below them, of which the p that called is the
 *                nearest one: the part of `total` in which p calls itself
 *      own       self time of all activations of p below them
 *
 * Of A 1 → B 2 → A 4 → C 8 → A 16, A → B has total 30, self 2, recurse 28, own 20.
 *
 * A profile of OCR's own files has no paths: it gives `recurse` for each pair, and `own`,
 * which is unknown, is the same. */
#ifndef TT_OCR_H
#define TT_OCR_H

#include "index.h"
#include "profile.h"

enum ocr_value {
    OCR_CALLS, /* collapsed: without direct calls to itself */
    OCR_TOTAL, /* in the metric's unit, like all that follow */
    OCR_SELF,
    OCR_RECURSE,
    OCR_OWN,
    OCR_CHILDREN,      /* total - self */
    OCR_NOT_RECURSIVE, /* total - recurse */
    OCR_DESCENDANTS,   /* children - recurse; of a function, the sum over its pairs */
    OCR_BELOW,         /* total - self - own: what the document's note has for children */
    OCR_VALUES
};

/* Summed over threads. */
struct ocr_entry {
    int64_t value[OCR_VALUES];
    double
        spread[OCR_VALUES]; /* of each thread's figure: squared distances from the mean */
    uint64_t true_calls;    /* with direct calls to itself */
    /* For activations: the sum of their squared times, and the sum as OCR computes it, in
     * ns². */
    struct tt_sum128 square, flawed;
    struct tt_sum128 children_square,
        recurse_square; /* of a pair, as OCR's files have it */
};

struct ocr_pair {
    uint32_t parent, child; /* blocks */
};

struct ocr {
    const struct tt_profile *p;
    const struct tt_memory *memory;
    int as_ocr;  /* set by the caller that prints it: with the flaws of OCR's */
    int is_flat; /* it is made of OCR's files */
    uint64_t ms,
        ns; /* so many of the metric's unit are a ms; so many ns are one of them */
    const struct ocr_pair *pair; /* of the list */
    uint32_t pairs;
    struct tt_vector list;
    struct tt_index index;
};

/* The figures of one thread, or of many. */
struct ocr_sum {
    struct ocr_entry *function; /* of each block */
    struct ocr_entry *pair;     /* of each pair */
    uint32_t threads;
};

/* Finds the pairs.  -TT_ERR_MEMORY; -TT_ERR_OPTION: no activation was timed;
 * -TT_ERR_FORMAT: the sum of activations does not fit 63 bits; tt_ocr_fini in any case.
 * A tick that is not a ns counts as a ms. */
int tt_ocr_init(struct ocr *, const struct tt_profile *);
void tt_ocr_fini(struct ocr *);
int tt_ocr_sum_init(const struct ocr *, struct ocr_sum *);
void tt_ocr_sum_fini(const struct ocr *, struct ocr_sum *);
/* Sets `sum` to one thread's figures. */
int tt_ocr_thread(const struct ocr *, uint32_t strand, struct ocr_sum *sum);
/* Adds a thread's figures; missing ones count as 0. */
void tt_ocr_add(const struct ocr *, struct ocr_sum *all, const struct ocr_sum *thread);

#endif
