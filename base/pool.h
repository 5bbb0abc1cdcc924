/* SPDX-License-Identifier: MIT */
/* pool.h - pieces of memory that are freed together, with what they were taken for.
 *
 *      pool ⇄ piece ⇄ piece ⇄ …      a ring; a piece may also be freed alone
 *
 * So a reader of a file frees nothing at its end, whatever error has ended it. */
#ifndef TT_POOL_H
#define TT_POOL_H

#include "memory.h"

struct tt_pool {
    struct tt_memory memory; /* to take pieces from */
    const struct tt_memory *from;
    struct tt_pool_piece {
        struct tt_pool_piece *before, *next;
    } ring;
};

/* The pool must not be moved afterwards. */
void tt_pool_init(struct tt_pool *, const struct tt_memory *from);
/* Frees all pieces that are left.  The pool can be used again. */
void tt_pool_fini(struct tt_pool *);

#endif
