/* SPDX-License-Identifier: MIT */
/* busy.h - is a thread amid the profiler's work?  Then its signal handlers stay out.
 *
 *                  begin                   enter
 *       idle ──────────────────► busy 1 ◄─────────► busy 2 …     work within the work
 *        ▲ │       end, leave      ▲        leave
 *        │ │                       │ keep
 *        │ └── begin_brief ──► brief, `stack`
 *        │         end             │
 *        ├─────────────────────────┘
 *        └── the check in control.c, after a handler has ended brief work by longjmp
 *
 * Brief work changes nothing but the stack and its frames, and takes no cells.  So a handler
 * may leave it for good: the next check sees that the thread runs above `stack`, and mends
 * the frames (tt_stack_mend). */
#ifndef TT_BUSY_H
#define TT_BUSY_H

#include "assertion.h"
#include "layout.h"

struct tt_busy {
    union {
        struct {
            uint16_t depth; /* work within work; 0: idle; also read by other threads */
            uint16_t brief; /* the outermost work is brief */
        };
        uint32_t state; /* both, for one store */
    };
    uintptr_t stack; /* the stack pointer in brief work */
};

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "depth is in the lower half");

/* Keeps the stack pointer, in one instruction where that is possible. */
#if defined(__x86_64__) && defined(__LP64__)
#define TT_STACK_STORE(to) __asm__ volatile("movq %%rsp, %0" : "=m"(to))
#else
#define TT_STACK_STORE(to) ((to) = (uintptr_t)__builtin_frame_address(0))
#endif

/* A handler never sees one of them without the other. */
TT_INLINE void tt_busy_set(struct tt_busy *b, uint32_t depth, uint32_t brief)
{
    TT_ASSERT(depth || !brief);
    __atomic_store_n(&b->state, depth | brief << 16, __ATOMIC_RELAXED);
}

/* Keeps signal handlers out from here on.  Reads after this see all changes by earlier
 * handlers, even of the recording. */
TT_INLINE void tt_busy_begin(struct tt_busy *b)
{
    TT_ASSERT(!b->state);
    tt_busy_set(b, 1, 0);
    TT_BARRIER();
}

TT_INLINE void tt_busy_begin_brief(struct tt_busy *b)
{
    TT_ASSERT(!b->state);
    TT_STACK_STORE(b->stack);
    TT_BARRIER();
    tt_busy_set(b, 1, 1);
    TT_BARRIER();
}

/* 0: the thread is busy already. */
TT_INLINE int tt_busy_try(struct tt_busy *b)
{
    if (TT_UNLIKELY(b->depth))
        return 0;
    tt_busy_begin(b);
    return 1;
}

TT_INLINE int tt_busy_try_brief(struct tt_busy *b)
{
    if (TT_UNLIKELY(b->depth))
        return 0;
    tt_busy_begin_brief(b);
    return 1;
}

/* Brief work goes on as work that no handler may leave. */
TT_INLINE void tt_busy_keep(struct tt_busy *b)
{
    TT_ASSERT(b->depth == 1);
    b->brief = 0;
    TT_BARRIER();
}

TT_INLINE void tt_busy_end(struct tt_busy *b)
{
    TT_ASSERT(b->depth == 1);
    TT_BARRIER();
    tt_busy_set(b, 0, 0);
}

/* The same where the thread may be busy already. */
TT_INLINE void tt_busy_enter(struct tt_busy *b)
{
    TT_ASSERT(b->depth < UINT16_MAX);
    b->depth++;
    TT_BARRIER();
}

TT_INLINE void tt_busy_leave(struct tt_busy *b)
{
    TT_ASSERT(b->depth);
    TT_BARRIER();
    b->depth--;
}

#endif
