/* SPDX-License-Identifier: MIT */
/* options.h - the words of tt_start, read into a struct. */
#ifndef TT_OPTIONS_H
#define TT_OPTIONS_H

#include "layout.h"

enum { TT_MARKED_MAX = 8, TT_PATH_SIZE = 1024 };

struct tt_marked { /* a block whose activations are kept one by one */
    char name[128];
    uint32_t history, slowest;
};

struct tt_options {
    char output[TT_PATH_SIZE]; /* "": in memory */
    uint32_t mode[TT_KINDS];   /* enum tt_mode */
    uint32_t every;            /* a power of two */
    uint32_t hz, sampler_thread, histogram;
    uint32_t clock, recursion, recursion_length;
    uint64_t budget, budget_nodes;
    uint32_t marked_count;
    struct tt_marked marked[TT_MARKED_MAX];
};

/* Fills in the defaults, then reads `words`.  On failure says where in *at (an offset in
 * words; may be NULL). */
int tt_options_read(struct tt_options *, const char *words, size_t *at);

/* Reads "64M" or "65536nodes", a recursion policy, or "BLOCK:K" whose last or slowest
 * activations are kept; for the command's own flags. */
int tt_options_budget(struct tt_options *, const char *value);
int tt_options_recursion(struct tt_options *, const char *value);
int tt_options_marked(struct tt_options *, const char *value, uint32_t slowest);

#endif
