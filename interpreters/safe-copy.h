/* SPDX-License-Identifier: MIT */
/* safe-copy.h - reads a program's memory at addresses that may be wrong.
 *
 * These reads are many, and nearly all succeed: each is a plain load.  One that faults is
 * resumed by the process's first handler of SIGSEGV and SIGBUS (preload/interpose-fault.c),
 * which has to know these loads.  Without it, or if the signal is blocked, the system copies:
 * that always works, and takes some thousand cycles. */
#ifndef TT_SAFE_COPY_H
#define TT_SAFE_COPY_H

#include <stdint.h>
#include <string.h>

#include "peek.h"

/* Faults of tt_safe_copy are resumed in this process.  Set by their handler. */
extern int tt_safe_loads;

enum { TT_SAFE_IN_HANDLER = 1, TT_SAFE_CALLED = 2 };

/* How the calling thread reads: by the system, until these signals are known to be unblocked. */
struct tt_safe_thread {
    /* A fault's frame is put below this address; 0: below the running stack.  While the
     * sampler runs on another stack, the thread's alternate stack may hold a signal frame,
     * which the system would overwrite. */
    uint64_t stack;
    int direct;  /* loads are safe; one of the above */
    int counted; /* in tt_safe_readers */
};
extern __thread struct tt_safe_thread tt_safe_thread
    __attribute__((tls_model("initial-exec")));

/* The threads that may be loading.  Their handler is not removed before they are done: it
 * first clears tt_safe_loads, which they read after they are counted.  A sample's signal may
 * interrupt these functions, and call both. */
extern uint32_t tt_safe_readers;

static inline void tt_safe_begin(int direct)
{
    if (direct && !tt_safe_thread.counted) {
        (void)__atomic_fetch_add(&tt_safe_readers, 1, __ATOMIC_SEQ_CST);
        tt_safe_thread.counted = 1;
    }
    tt_safe_thread.direct = direct;
}

static inline void tt_safe_end(void)
{
    tt_safe_thread.direct = 0;
    if (tt_safe_thread.counted) {
        tt_safe_thread.counted = 0;
        (void)__atomic_fetch_sub(&tt_safe_readers, 1, __ATOMIC_SEQ_CST);
    }
}

/* Copies words; 1, or 0 if a load faulted.  Its loads are between the two symbols. */
int tt_safe_copy(void *to, uint64_t from, uint64_t words, uint64_t stack);
extern const char tt_safe_load[], tt_safe_load_end[], tt_safe_failed[];

/* Returns 1 if the bytes were read.  Address and size are multiples of eight, as an
 * interpreter's data are; refuses invalid addresses.  Async-signal-safe; errno may
 * change. */
static inline int tt_safe_read(const struct tt_peek *p, uint64_t address, void *to,
                               size_t size)
{
    if (address & 7 || address < 4096 || address >> 47)
        return 0;
    if (address >= p->low && address < p->high && p->high - address >= size) {
        memcpy(to, p->window + (address - p->low), size);
        return 1;
    }
    if (p->elsewhere)
        return p->elsewhere(p->arg, address, to, size);
    if (tt_safe_loads && tt_safe_thread.direct)
        return tt_safe_copy(to, address, size / 8, tt_safe_thread.stack);
    return tt_peek_take(address, to, size) == (long)size;
}

static inline int tt_safe_word(const struct tt_peek *p, uint64_t address, uint64_t *to)
{
    return tt_safe_read(p, address, to, sizeof *to);
}

#endif
