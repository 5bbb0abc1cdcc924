/* SPDX-License-Identifier: MIT */
/* share.h - several copies of the runtime in one process, and the one that records. */
#ifndef TT_SHARE_H
#define TT_SHARE_H

#include "tallytree.h"

/* The functions that a copy forwards; scopes after their fast path, which is always
 * refused there. */
#define TT_SHARED_FUNCTIONS(X)                                                           \
    X(tt_scope_enter_slowly)                                                             \
    X(tt_scope_enter_named)                                                              \
    X(tt_scope_leave_slowly)                                                             \
    X(tt_start)                                                                          \
    X(tt_stop)                                                                           \
    X(tt_pause)                                                                          \
    X(tt_resume)                                                                         \
    X(tt_write)                                                                          \
    X(tt_print)                                                                          \
    X(tt_visit)                                                                          \
    X(tt_clear)                                                                          \
    X(tt_print_stack)                                                                    \
    X(tt_select)                                                                         \
    X(tt_profile_begin)                                                                  \
    X(tt_profile_end)                                                                    \
    X(tt_results_free)                                                                   \
    X(tt_thread_name)                                                                    \
    X(tt_block_make)                                                                     \
    X(tt_metric_get)                                                                     \
    X(tt_push)                                                                           \
    X(tt_push_as)                                                                        \
    X(tt_pop)                                                                            \
    X(tt_step)                                                                           \
    X(tt_unwind)                                                                         \
    X(tt_mark_get)                                                                       \
    X(tt_replace)                                                                        \
    X(tt_tail)                                                                           \
    X(tt_sample)                                                                         \
    X(tt_tick)                                                                           \
    X(tt_add)                                                                            \
    X(tt_context_capture)                                                                \
    X(tt_context_enter)                                                                  \
    X(tt_context_call)                                                                   \
    X(tt_context_parent)                                                                 \
    X(tt_fiber_new)                                                                      \
    X(tt_fiber_switch)                                                                   \
    X(tt_fiber_free)                                                                     \
    X(tt_alloc)                                                                          \
    X(tt_alloc_at)                                                                       \
    X(tt_free)                                                                           \
    X(tt_survive)                                                                        \
    X(tt_object_new)                                                                     \
    X(tt_object_use)                                                                     \
    X(tt_object_free)                                                                    \
    X(tt_object_survive)                                                                 \
    X(tt_gc_begin)                                                                       \
    X(tt_gc_end)                                                                         \
    X(tt_profiler_begin)                                                                 \
    X(tt_profiler_end)                                                                   \
    X(tt_object_weight)                                                                  \
    X(tt_object_picked)                                                                  \
    X(tt_retainers_with)                                                                 \
    X(tt_retained)

/* A copy that is notified when recording goes on and off in the one that records. */
struct tt_sharer {
    void (*told)(int on);
    struct tt_sharer *next;
};

struct tt_runtime {
    void (*join)(struct tt_sharer *);
#define TT_SHARED_MEMBER(function) __typeof__(function) *function;
    TT_SHARED_FUNCTIONS(TT_SHARED_MEMBER)
#undef TT_SHARED_MEMBER
};

/* This copy; the number is the version of what copies share: this table, sites and infos
 * of blocks. */
TT_API const struct tt_runtime *tt_runtime_1(void);

/* The other copy, if this one does not record. */
extern const struct tt_runtime *tt_shared;

#define TT_HAND_ON(function, ...)                                                        \
    do {                                                                                 \
        if (TT_UNLIKELY(tt_shared != NULL))                                              \
            return tt_shared->function(__VA_ARGS__);                                     \
    } while (0)

/* The same for functions without a result. */
#define TT_HAND_OVER(function, ...)                                                      \
    do {                                                                                 \
        if (TT_UNLIKELY(tt_shared != NULL)) {                                            \
            tt_shared->function(__VA_ARGS__);                                            \
            return;                                                                      \
        }                                                                                \
    } while (0)

/* Turns this copy on or off, and those that hand on to it. */
void tt_share_turn(int on);

#endif
