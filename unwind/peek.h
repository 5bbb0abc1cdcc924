/* SPDX-License-Identifier: MIT */
/* peek.h - reads the memory of an unwound thread, without ever faulting.
 *
 *      thread's own stack, or a copy of it        anything else
 *      ├── window ─────────────┤                  ├─ block ─┤
 *      read in place                              copied by `load`, or by `fetch`,
 *                                                 512 bytes at once
 *
 * The window is readable as long as the peek lives.  Memory outside of it is copied by
 * the system, which checks the address and copies in one step, so that no other thread
 * can take the memory away in between. */
#ifndef TT_PEEK_H
#define TT_PEEK_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { TT_PEEK_BLOCK = 512 }; /* divides a page; small, for handlers on small stacks */

struct tt_peek {
    uint64_t low, high; /* the window: [low, high) */
    const char *window; /* borrowed: the byte at `low` */
    /* Copies bytes, if it can without the system; 1: it has.  NULL: it never can. */
    int (*load)(uint64_t address, void *to, size_t size);
    /* Copies one aligned block; 0: it is readable.  NULL: only the window is. */
    int (*fetch)(void *arg, uint64_t address, void *block);
    void *arg;      /* borrowed */
    uint64_t block; /* address of what `copy` holds; 1 for none */
    int cut;        /* the window is a copy, which may have ended too early */
    /* Of another process: reads what tt_safe_read wants outside of the window; 1: it was
     * read.  NULL: it is in this process. */
    int (*elsewhere)(void *arg, uint64_t address, void *to, size_t size);
    char copy[TT_PEEK_BLOCK];
};

/* For this process. [low, high) is the known part of the running stack: from the stack
 * pointer to its end; empty if that is unknown.  Async-signal-safe. */
void tt_peek_own(struct tt_peek *, const void *low, const void *high);

/* For this process, with a copy of its memory at `low`.  Async-signal-safe. */
void tt_peek_own_copy(struct tt_peek *, uint64_t low, const void *copy, size_t size);

/* Copies the memory from that address on, without ever faulting; returns how many bytes,
 * or less than 0 if the system has no such call.  Async-signal-safe. */
long tt_peek_take(uint64_t address, void *to, size_t size);

/* Can this process read the byte there?  For what a pointer of the program leads to, before
 * the kernel says EFAULT.  Async-signal-safe; errno may change. */
int tt_peek_can(uint64_t address);

/* For a copy of a stack that was at `low`.  Async-signal-safe. */
void tt_peek_copy(struct tt_peek *, uint64_t low, const void *copy, size_t size);

/* The way that leads outside of the window.  1: the bytes are there. */
int tt_peek_outside(struct tt_peek *, uint64_t address, void *to, size_t size);

/* 1 when the bytes at the address were read.  Async-signal-safe; errno may change. */
static inline int tt_peek_bytes(struct tt_peek *p, uint64_t address, void *to,
                                size_t size)
{
    if (address >= p->low && address < p->high && p->high - address >= size) {
        memcpy(to, p->window + (address - p->low), size);
        return 1;
    }
    return tt_peek_outside(p, address, to, size);
}

static inline int tt_peek_word(struct tt_peek *p, uint64_t address, uint64_t *word)
{
    return tt_peek_bytes(p, address, word, sizeof *word);
}

#endif
