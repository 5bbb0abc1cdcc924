/* SPDX-License-Identifier: MIT */
/* pile.h - an array that grows, in a mapping of its own: the heap is the host's. */
#ifndef TT_PILE_H
#define TT_PILE_H

#include <stddef.h>

/* All zero is an empty one. */
struct tt_pile {
    void *bytes; /* owned */
    size_t used, room;
};

/* Room for `size` more bytes at the end, which are then used; NULL without memory, and
 * nothing has changed.  Moves what is there. */
void *tt_pile_add(struct tt_pile *, size_t size);
void tt_pile_fini(struct tt_pile *);

#endif
