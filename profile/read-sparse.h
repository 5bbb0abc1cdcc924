/* SPDX-License-Identifier: MIT */
/* read-sparse.h - self times where each N-th activation was timed; see read-sparse.c. */
#ifndef TT_READ_SPARSE_H
#define TT_READ_SPARSE_H

#include "picture.h"

/* In ticks. */
struct tt_sparse {
    uint64_t self; /* what the self time of a context is to be changed by, modulo 2^64 */
    uint64_t own;  /* how much of that measuring may have added */
    uint64_t time, called; /* inclusive, of the context and of what it calls */
};

/* Sets *each to an array with one row for each context, owned by the caller
 * (tt_memory_put), or to NULL if nothing was timed so.  0 or -TT_ERR_MEMORY. */
int tt_read_sparse(const struct tt_picture *, struct tt_sparse **each);

#endif
