/* SPDX-License-Identifier: MIT */
/* listing.h - code and source text for the views that show them, read by the caller's
 * functions, and the figures of addresses that these views share.
 *
 * The results of a call are valid until the next call. */
#ifndef TT_LISTING_H
#define TT_LISTING_H

#include "instruction.h"
#include "view.h"

struct tt_listed {
    const struct tt_instruction *instruction; /* of one function, in order */
    size_t count;                             /* 0: `reason` says why */
    const char *reason;
};

struct tt_where {                /* the innermost function at an address, and its line */
    const char *function, *file; /* NULL: not known */
    uint32_t line, at_line;      /* at: in the function whose code it is */
    const char *at_file;
};

struct tt_listing {
    void *arg;
    void (*code)(void *arg, const char *module, const char *id, uint64_t address,
                 struct tt_listed *);
    void (*where)(void *arg, const char *module, const char *id, uint64_t address,
                  struct tt_where *);
    /* Returns the name of what begins at the target of a call; NULL: unknown. */
    const char *(*name)(void *arg, const char *module, const char *id, uint64_t address);
    /* Returns a line of a file, counted from 1; NULL: *reason says why. */
    const char *(*line)(void *arg, const char *file, uint32_t line, const char **reason);
};

#endif
