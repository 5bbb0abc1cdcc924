/* SPDX-License-Identifier: MIT */
/* busy.h - is a thread amid the profiler's work?  Then its signal handlers stay out.
 *
 *                  begin                   enter
 *       idle ──────────────────► busy 1 ◄─────────► busy 2 …     work within the work
 *        ▲ │       end, leave      ▲        leave
 *        │ │                       │ keep
 *        │ └── begin_brief ──► brief, its stack pointer
 *        │         end             │
 *        ├─────────────────────────┘
 *        └── the check in control.c, after a handler has ended brief work by longjmp
 *
 * Brief work changes nothing but the stack and its frames, and takes no cells.  So a handler
 * may leave it for good: the next check sees that the thread runs above the stack pointer,
 * and mends the frames (tt_stack_mend).
 *
 * The state is one word, because one instruction stores it.  Between two stores a handler
 * could begin brief work, too, and leave its stack pointer here. */
#ifndef TT_BUSY_H
#define TT_BUSY_H

#include "assertion.h"
#include "layout.h"

/* 0: idle; below TT_BUSY_DEEPEST: the depth; else brief: the stack pointer, and how deep
 * work is within it. */
struct tt_busy {
    uintptr_t work; /* also read by other threads */
};

enum { TT_BUSY_DEEPEST = 1 << 12, TT_BUSY_WITHIN = 7 };

TT_INLINE int tt_busy_is_brief(const struct tt_busy *b)
{
    return b->work >= TT_BUSY_DEEPEST && !(b->work & TT_BUSY_WITHIN);
}

/* Is it busy with one piece of work only? */
TT_INLINE int tt_busy_is_single(const struct tt_busy *b)
{
    return b->work == 1 || tt_busy_is_brief(b);
}

TT_INLINE int tt_busy_is_nested(const struct tt_busy *b)
{
    return b->work && !tt_busy_is_single(b);
}

/* Keeps the stack pointer, in one instruction where that is possible. */
#if defined(__x86_64__) && defined(__LP64__)
#define TT_STACK_STORE(to) __asm__ volatile("movq %%rsp, %0" : "=m"(to))
#else
#define TT_STACK_STORE(to)                                                               \
    __atomic_store_n(&(to), (uintptr_t)__builtin_frame_address(0), __ATOMIC_RELAXED)
#endif

TT_INLINE void tt_busy_set(struct tt_busy *b, uintptr_t work)
{
    __atomic_store_n(&b->work, work, __ATOMIC_RELAXED);
}

/* Keeps signal handlers out from here on.  Reads after this see all changes by earlier
 * handlers, even of the recording. */
TT_INLINE void tt_busy_begin(struct tt_busy *b)
{
    TT_ASSERT(!b->work);
    tt_busy_set(b, 1);
    TT_BARRIER();
}

TT_INLINE void tt_busy_begin_brief(struct tt_busy *b)
{
    TT_ASSERT(!b->work);
    TT_STACK_STORE(b->work);
    TT_BARRIER();
    TT_ASSERT(tt_busy_is_brief(b));
}

/* 0: the thread is busy already. */
TT_INLINE int tt_busy_try(struct tt_busy *b)
{
    if (TT_UNLIKELY(b->work))
        return 0;
    tt_busy_begin(b);
    return 1;
}

TT_INLINE int tt_busy_try_brief(struct tt_busy *b)
{
    if (TT_UNLIKELY(b->work))
        return 0;
    tt_busy_begin_brief(b);
    return 1;
}

/* Brief work goes on as work that no handler may leave. */
TT_INLINE void tt_busy_keep(struct tt_busy *b)
{
    TT_ASSERT(tt_busy_is_single(b));
    tt_busy_set(b, 1);
    TT_BARRIER();
}

TT_INLINE void tt_busy_end(struct tt_busy *b)
{
    TT_ASSERT(tt_busy_is_single(b));
    TT_BARRIER();
    tt_busy_set(b, 0);
}

/* The same where the thread may be busy already. */
TT_INLINE void tt_busy_enter(struct tt_busy *b)
{
    b->work++;
    TT_ASSERT(b->work == 1 || tt_busy_is_nested(b));
    TT_BARRIER();
}

TT_INLINE void tt_busy_leave(struct tt_busy *b)
{
    TT_ASSERT(b->work == 1 || tt_busy_is_nested(b));
    TT_BARRIER();
    b->work--;
}

#endif
