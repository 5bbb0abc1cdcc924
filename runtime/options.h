/* SPDX-License-Identifier: MIT */
/* options.h - the words of tt_start, read into a struct. */
#ifndef TT_OPTIONS_H
#define TT_OPTIONS_H

#include "layout.h"

#define TT_OPTIONS_SEPARATORS ", \t\n"

enum { TT_MARKED_MAX = 8, TT_PATH_SIZE = 1024 };

/* The values of options, also for flags: between blanks; a number follows a ':'. */
#define TT_RECURSION_VALUES "edge repeat: block cycle drop recent: none"
#define TT_STACKS_VALUES "application creation ghc"
#define TT_SPACE_VALUES "none alloc copies types peak"
#define TT_SERIES_VALUES "none type block centre use retainers"

struct tt_marked { /* a block whose activations are kept one by one */
    char name[128];
    uint32_t history, slowest;
};

struct tt_options {
    char output[TT_PATH_SIZE]; /* "": in memory */
    uint32_t mode[TT_KINDS];   /* enum tt_mode */
    uint32_t every;            /* a power of two */
    uint32_t hz, sampler_thread, histogram;
    uint64_t hz_of_caller; /* ticks a second of clock=caller; 1: of no known length */
    uint32_t clock, recursion, recursion_length, stacks;
    uint32_t unwound, unwound_length; /* recursion of stacks that are unwound */
    uint64_t budget, budget_nodes;
    uint64_t log;        /* bytes of the sample log, at most; 0: none */
    uint32_t space;      /* bits: what to record of objects */
    uint64_t space_rate; /* smaller ones are sampled; 0: none is */
    char select[128];    /* only objects of blocks whose names contain it; "": of all */
    struct {
        uint32_t given; /* 1: profile=; 2: one of the others */
        uint32_t scan, manner, depth;
    } profile;       /* as the flags of MLWorks' runtime have it */
    uint32_t series; /* bits: 1 << enum tt_band_of */
    uint32_t rank;   /* + 1; 0: none */
    uint32_t marked_count;
    struct tt_marked marked[TT_MARKED_MAX];
};

enum tt_space_bits {
    TT_SPACE_ALLOC = 1,
    TT_SPACE_COPIES = 2,
    TT_SPACE_TYPES = 4,
    TT_SPACE_PEAK = 8
};

/* MLWorks' flags but -profile are an error without it. */
int tt_options_complete(const struct tt_options *);

/* Is each call of some kind timed, and not by the clock of the caller? */
int tt_options_are_exact(const struct tt_options *);

/* Fills in the defaults, then reads `words`.  On failure sets *at to the error's offset
 * in words (may be NULL). */
int tt_options_read(struct tt_options *, const char *words, size_t *at);

/* Each reads a value of that option, as "64M" or "65536nodes"; tt_options_marked reads
 * "BLOCK:K", for a block whose last or slowest K activations are kept.  For the command's
 * flags, too. */
int tt_options_budget(struct tt_options *, const char *value);
int tt_options_log(struct tt_options *, const char *value);
int tt_options_recursion(struct tt_options *, const char *value);
int tt_options_stacks(const char *value, uint32_t *rule);
int tt_options_series(struct tt_options *, const char *value);
int tt_options_space(struct tt_options *, const char *value);
int tt_options_marked(struct tt_options *, const char *value, uint32_t slowest);

#endif
