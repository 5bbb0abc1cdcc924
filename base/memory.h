/* SPDX-License-Identifier: MIT */
/* memory.h - memory from a caller, so that the engine need not do I/O, and arrays in it.
 *
 * The command maps large pieces from a scratch file; a page in a browser takes them from
 * its heap; NULL means malloc and free.  Each piece knows its size, in the 16 bytes before
 * it. */
#ifndef TT_MEMORY_H
#define TT_MEMORY_H

#include <stddef.h>
#include <stdint.h>

struct tt_memory {
    void *(*get)(void *arg, size_t size);         /* zeroed; NULL when there is none */
    void (*put)(void *arg, void *p, size_t size); /* as it was got */
    void *arg;
    /* Enlarges a piece, if this is possible without having it twice, and zeroes the new
     * part; NULL: not possible, and nothing has changed.  May be NULL itself. */
    void *(*grow)(void *arg, void *p, size_t size, size_t larger);
    /* The content of this part of a piece will not be read any more.  May be NULL
     * itself. */
    void (*forget)(void *arg, void *p, size_t size);
};

void *tt_memory_get(const struct tt_memory *, size_t size);
void tt_memory_put(const struct tt_memory *, void *p); /* NULL: nothing */
/* A copy of a text, with a NUL after it; NULL: no memory. */
char *tt_memory_text(const struct tt_memory *, const char *text, size_t length);
/* Enlarges a piece, keeps its content and zeroes the rest; NULL: no memory, and nothing
 * has changed. */
void *tt_memory_grow(const struct tt_memory *, void *p, size_t larger);
/* An array from malloc with room for one more: itself, or twice as large.  NULL: no memory,
 * and nothing has changed. */
void *tt_array_grow(void *array, size_t count, size_t *room, size_t item_size);
/* For a piece that is read once, in order: the part before `p` is not used any more. */
void tt_memory_forget(const struct tt_memory *, void *p, size_t size);

/* An array that grows: `count` items of `size` bytes are in use. */
struct tt_vector {
    const struct tt_memory *memory; /* borrowed */
    void *item;                     /* owned */
    size_t size, count, room;
};

void tt_vector_init(struct tt_vector *, const struct tt_memory *, size_t item_size);
void tt_vector_fini(struct tt_vector *);
/* Makes room for `more` items after the last one and counts them; they are zeroed.
 * Returns the first, or NULL, and then nothing has changed. */
void *tt_vector_add(struct tt_vector *, size_t more);
/* Adds a copy of an item, which is of the vector's type.  Less than 0: there is no memory,
 * and nothing has changed. */
#define tt_vector_push(v, ...) tt_vector_push_sized(v, __VA_ARGS__, sizeof *(__VA_ARGS__))
int tt_vector_push_sized(struct tt_vector *, const void *item, size_t size);
/* Adds a text and a NUL to a vector of characters.  Returns where it begins there;
 * TT_NO_PLACE: no memory. */
size_t tt_vector_text(struct tt_vector *, const char *text, size_t length);
#define TT_NO_PLACE SIZE_MAX
/* Makes room for `count` items in all, and counts none.  Without memory it does nothing. */
void tt_vector_expect(struct tt_vector *, size_t count);
/* For a vector that is read once, in order: items before this one will not be read any
 * more. */
void tt_vector_forget(struct tt_vector *, size_t before);

#endif
