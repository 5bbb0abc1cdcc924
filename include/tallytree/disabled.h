/* SPDX-License-Identifier: MIT */
/* disabled.h - tallytree.h under TT_DISABLE: the same names, which expand to nothing.  A
 * name that is declared there but not here does not compile. */
#ifndef TALLYTREE_DISABLED_H
#define TALLYTREE_DISABLED_H

#define TT_SCOPE_(n, name) ((void)0)
#define TT_NAMED_(n, name) ((void)0)
#define TT_BEGIN_(id, name) ((void)0)
#define TT_END_(id) ((void)0)
#define TT_ADD_(name, n) ((void)0)
#define TT_CALL_(call) ((void)0)

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"

#define TT_IS_(type, name, parameters, value)                                            \
    TT_API type name parameters { return value; }
#define TT_DOES_(name, parameters)                                                       \
    TT_API void name parameters {}
#define TT_FAILS_(name, parameters) TT_IS_(int, name, parameters, -TT_ERR_DISABLED)
#define TT_NONE_(type, name, parameters) TT_IS_(type, name, parameters, 0)

TT_IS_(const char *, tt_error_text, (int e), "not built in")
TT_FAILS_(tt_start, (const char *o))
TT_FAILS_(tt_stop, (void))
TT_FAILS_(tt_pause, (void))
TT_FAILS_(tt_resume, (void))
TT_DOES_(tt_thread_name, (const char *n))
TT_FAILS_(tt_write, (const char *p))
TT_FAILS_(tt_print, (int f))

TT_NONE_(tt_block, tt_block_get, (const char *n, const char *f, uint32_t l, uint32_t c))
TT_NONE_(tt_block, tt_block_make, (const struct tt_block_info *i))

TT_NONE_(tt_mark, tt_push, (tt_block b))
TT_DOES_(tt_pop, (tt_mark m))
TT_DOES_(tt_replace, (tt_block b))
TT_NONE_(tt_mark, tt_mark_get, (void))
TT_DOES_(tt_unwind, (tt_mark m))
TT_NONE_(tt_mark, tt_push_as, (tt_block b, enum tt_call c))
TT_DOES_(tt_tail, (void))
TT_DOES_(tt_sample, (uint64_t w))
TT_DOES_(tt_tick, (uint64_t t))
TT_NONE_(tt_mark, tt_step, (uint64_t t, tt_mark m, tt_block b))
TT_NONE_(tt_metric, tt_metric_get, (const char *n, const char *u))
TT_DOES_(tt_add, (tt_metric m, uint64_t a))
TT_FAILS_(tt_print_stack, (int f))

TT_NONE_(tt_context, tt_context_capture, (void))
TT_NONE_(tt_mark, tt_context_enter, (tt_context c))
TT_NONE_(tt_mark, tt_context_call, (tt_context c))
TT_NONE_(tt_block, tt_context_block, (tt_context c))
TT_NONE_(tt_context, tt_context_parent, (tt_context c))
TT_IS_(tt_fiber *, tt_fiber_new, (void), NULL)
TT_IS_(tt_fiber *, tt_fiber_switch, (tt_fiber * f), NULL)
TT_DOES_(tt_fiber_free, (tt_fiber * f))

TT_NONE_(tt_type, tt_type_get, (const char *n))
TT_FAILS_(tt_select, (int (*w)(const struct tt_block_info *, void *), void *a))
TT_IS_(tt_context, tt_alloc, (tt_type t, size_t b, size_t o), TT_NOWHERE)
TT_IS_(tt_context, tt_alloc_at, (tt_context c, tt_type t, size_t b, size_t o), TT_NOWHERE)
TT_DOES_(tt_free, (tt_context c, tt_type t, size_t b, size_t o, unsigned f))
TT_NONE_(unsigned, tt_age, (uint64_t a))
TT_DOES_(tt_gc_begin, (unsigned g))
TT_DOES_(tt_survive,
         (tt_context c, tt_type t, size_t b, size_t o, unsigned f, unsigned g))
TT_DOES_(tt_gc_end, (void))
TT_IS_(tt_context, tt_object_new, (uint64_t i, tt_type t, size_t b, size_t o), TT_NOWHERE)
TT_IS_(uint64_t, tt_object_weight, (size_t b), 1)
TT_IS_(tt_context, tt_object_picked, (uint64_t i, tt_type t, size_t b, size_t o),
       TT_NOWHERE)
TT_DOES_(tt_object_use, (uint64_t i))
TT_DOES_(tt_object_free, (uint64_t i))
TT_DOES_(tt_object_survive, (uint64_t i, uint64_t m, unsigned t))
TT_IS_(tt_retainers, tt_retainers_with, (tt_retainers s, tt_block b), s)
TT_DOES_(tt_retained, (tt_retainers s, size_t b))
TT_DOES_(tt_profiler_begin, (void))
TT_DOES_(tt_profiler_end, (void))

TT_FAILS_(tt_visit, (int (*v)(const struct tt_visited *, void *), void *a))
TT_DOES_(tt_clear, (int (*w)(const struct tt_block_info *, void *), void *a))
TT_IS_(int, tt_profile_call,
       (const char *o, void (*f)(void *), void *a, struct tt_results **r),
       (*r = NULL, f(a), -TT_ERR_DISABLED))
TT_DOES_(tt_results_free, (struct tt_results * r))
TT_FAILS_(tt_profile_begin, (const char *o))
TT_IS_(int, tt_profile_end, (struct tt_results * *r), (*r = NULL, -TT_ERR_DISABLED))

#pragma GCC diagnostic pop

#ifdef __cplusplus
}
#endif
#endif
