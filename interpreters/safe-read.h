/* SPDX-License-Identifier: MIT */
/* safe-read.h - reading a program's memory where an address may be wrong.
 *
 * Nearly all of these reads succeed, and they are many: each is a plain load.  One that faults
 * is resumed by whoever handles SIGSEGV first (preload/interpose-fault.c), which has to know
 * these loads.  Where that is not so, or the signal is blocked, the system copies: that is
 * never wrong, and takes some thousand cycles. */
#ifndef TT_SAFE_READ_H
#define TT_SAFE_READ_H

#include <stdint.h>
#include <string.h>

#include "peek.h"

/* Faults of tt_safe_copy are resumed in this process.  Set by who handles them. */
extern int tt_safe_loads;

enum { TT_SAFE_IN_HANDLER = 1, TT_SAFE_CALLED = 2 };

/* How the calling thread reads: by the system until it said that its SIGSEGV is not blocked. */
struct tt_safe_thread {
    /* A fault's frame is put below this address, 0: below the running stack.  While we are on
     * a stack of ours, the thread's alternate one may hold a signal's frame that the system
     * would overwrite. */
    uint64_t stack;
    int direct; /* loads are safe; one of the above */
};
extern __thread struct tt_safe_thread tt_safe_thread
    __attribute__((tls_model("initial-exec")));

/* Copies words: 1, or 0: a load faulted.  Its loads are between the two symbols. */
int tt_safe_copy(void *to, uint64_t from, uint64_t words, uint64_t stack);
extern const char tt_safe_load[], tt_safe_load_end[], tt_safe_failed[];

/* 1 when the bytes were read.  Address and size are multiples of eight, as all that is read of
 * an interpreter; an address that is none is refused.  Async-signal-safe; errno may change. */
static inline int tt_safe_read(const struct tt_peek *p, uint64_t address, void *to,
                               size_t size)
{
    if (address & 7 || address < 4096 || address >> 47)
        return 0;
    if (address >= p->low && address < p->high && p->high - address >= size) {
        memcpy(to, p->window + (address - p->low), size);
        return 1;
    }
    if (tt_safe_loads && tt_safe_thread.direct)
        return tt_safe_copy(to, address, size / 8, tt_safe_thread.stack);
    return tt_peek_take(address, to, size) == (long)size;
}

static inline int tt_safe_word(const struct tt_peek *p, uint64_t address, uint64_t *to)
{
    return tt_safe_read(p, address, to, sizeof *to);
}

#endif
