/* SPDX-License-Identifier: MIT */
/* listing.h - code and source text for the views that show them, read by the caller's
 * functions, and the figures of addresses that these views share.
 *
 * The results of a call are valid until the next call. */
#ifndef TT_LISTING_H
#define TT_LISTING_H

#include "instruction.h"
#include "viewing.h"

struct tt_listed {
    const struct tt_instruction *instruction; /* of one function, in order */
    size_t count;                             /* 0: `reason` says why */
    const char *reason;
};

struct tt_where {                /* the innermost function at an address, and its line */
    const char *function, *file; /* NULL: not known */
    uint32_t line;
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

/* Finds the block that a query names; if it names none, the one with the most self at
 * addresses. */
struct tt_addressed {
    const struct tt_metric_view *l;
    unsigned char *wanted; /* of each block; to be freed */
    uint64_t *all, *mine;  /* of each place: self there, and that of wanted blocks */
    uint64_t without;      /* self of wanted blocks that has no address */
};

/* 0, -TT_ERR_OPTION with q->error, -TT_ERR_MEMORY; tt_addressed_fini in either case. */
int tt_addressed_init(struct tt_addressed *, const struct tt_metric_view *,
                      struct tt_query *);
void tt_addressed_fini(struct tt_addressed *);

/* Returns the last frame of a place. */
static inline const struct tt_place_frame *tt_innermost(const struct tt_profile *p,
                                                        uint32_t place)
{
    return &p->place_frame[p->place[place].first + p->place[place].frames - 1];
}

/* Returns the block that has the self of a trail: the context's or, if that is a line,
 * its function's. */
static inline uint32_t tt_trail_block(const struct tt_profile *p, uint32_t trail)
{
    const struct tt_trail_row *t = &p->trail[trail];
    const uint32_t block = tt_block_of(p, t->context);

    return t->place != TT_NONE &&
                   (!t->context || p->block[block].kind == TT_KIND_STATEMENT)
               ? tt_innermost(p, t->place)->block
               : block;
}

#endif
