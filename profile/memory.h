/* SPDX-License-Identifier: MIT */
/* memory.h - where the engine's memory comes from, so that it need do no I/O of its own.
 *
 * The command maps large pieces from a scratch file, a page in a browser takes them from
 * its heap; NULL stands for malloc and free. */
#ifndef TT_MEMORY_H
#define TT_MEMORY_H

#include <stddef.h>
#include <stdint.h>

struct tt_memory {
    void *(*get)(void *arg, size_t size); /* zeroed; NULL when there is none */
    void (*put)(void *arg, void *p, size_t size);
    void *arg;
    /* Makes a piece larger where it can do so without having it twice, what is new being
     * zeroed; NULL: it cannot, and nothing has changed.  May be NULL itself. */
    void *(*grow)(void *arg, void *p, size_t size, size_t larger);
    /* What is in this part of a piece will not be read any more.  May be NULL itself. */
    void (*forget)(void *arg, void *p, size_t size);
};

void *tt_memory_get(const struct tt_memory *, size_t size);
void tt_memory_put(const struct tt_memory *, void *p, size_t size); /* NULL: nothing */
/* A larger piece with what is in this one, the rest zeroed; NULL: no memory, and nothing has
 * changed. */
void *tt_memory_grow(const struct tt_memory *, void *p, size_t size, size_t larger);
/* Of a piece that is gone through once, what lies behind: it may be anything from here on. */
void tt_memory_forget(const struct tt_memory *, void *p, size_t size);

/* An array that grows: `count` items of `size` bytes are in use. */
struct tt_vector {
    const struct tt_memory *memory; /* borrowed */
    void *item;                     /* owned */
    size_t size, count, room;
};

void tt_vector_init(struct tt_vector *, const struct tt_memory *, size_t item_size);
void tt_vector_fini(struct tt_vector *);
/* Makes room for `more` items behind the last and counts them; they are zeroed.  Returns
 * the first, or NULL, and then nothing has changed. */
void *tt_vector_add(struct tt_vector *, size_t more);
/* Of one that is gone through once: items before this one will not be read any more. */
void tt_vector_forget(struct tt_vector *, size_t before);

#endif
