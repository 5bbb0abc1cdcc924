/* SPDX-License-Identifier: MIT */
/* scope.h - the macros of tallytree.h and the fast path of scopes.
 *
 * The fast path is in this header so that a scope costs a look-up and not a call: it
 * moves the top of the thread's stack by one frame, to the target of the tree's
 * transition.  All other cases are left to the library. */
#ifndef TALLYTREE_SCOPE_H
#define TALLYTREE_SCOPE_H

#include "frame.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tt_site { /* one a scope in the source; `block` is 0 until the scope first runs */
    tt_block block;
    uint32_t line;
    const char *name, *file;
};

extern TT_API int tt_on;

#define TT_COLD TT_API __attribute__((cold))
TT_COLD struct tt_frame *tt_scope_enter_slowly(struct tt_site *, void *slot,
                                               uintptr_t cfa);
TT_COLD void tt_scope_leave_slowly(struct tt_frame *); /* or where it is, + TT_PLACE */
enum { TT_PLACE = 2 };
#define TT_SWITCHED_SLOT(at) ((void *)((uintptr_t)(at) + 1)) /* no other is odd */
TT_COLD struct tt_frame *tt_scope_time(struct tt_frame *);
/* The same three, reached by a jump: see runtime/thunk.c. */
#if defined(__x86_64__) && defined(__LP64__) && defined(__SSE2__)
#define TT_THUNKS
#ifdef __AVX512F__
#define TT_LOST_512                                                                      \
    , "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24",   \
        "xmm25", "xmm26", "xmm27", "xmm28", "xmm29", "xmm30", "xmm31", "k1", "k2", "k3", \
        "k4", "k5", "k6", "k7"
#else
#define TT_LOST_512
#endif
#define TT_LOST                                                                          \
    "r9", "r10", "r11", "memory", "cc", "st", "st(1)", "st(2)", "st(3)", "st(4)",        \
        "st(5)", "st(6)", "st(7)", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5",       \
        "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14",     \
        "xmm15" TT_LOST_512
#define TT_JUMP(thunk) "leaq 1f(%%rip), %%rax\n\tjmpq *" #thunk "@GOTPCREL(%%rip)\n1:"

TT_INLINE struct tt_frame *tt_enter_slowly(struct tt_site *site, void *slot,
                                           uintptr_t cfa)
{
    register uintptr_t third __asm__("r8") = cfa;
    struct tt_frame *f;

    __asm__ volatile("leaq %2, %%rdx\n\tleaq %3, %%rcx\n\t" TT_JUMP(tt_thunk_enter)
                     : "=&a"(f), "+r"(third)
                     : "m"(*site), "m"(*(char *)slot)
                     : "rdx", "rcx", TT_LOST);
    return f;
}

TT_INLINE struct tt_frame *tt_time_slowly(struct tt_frame *f)
{
    struct tt_frame *timed;

    __asm__ volatile(TT_JUMP(tt_thunk_time)
                     : "=&a"(timed), "+d"(f)
                     :
                     : "rcx", "r8", TT_LOST);
    return timed;
}

TT_INLINE void tt_leave_slowly(struct tt_frame *f)
{
    __asm__ volatile(TT_JUMP(tt_thunk_leave) : "+d"(f) : : "rax", "rcx", "r8", TT_LOST);
}
#else
#define tt_enter_slowly tt_scope_enter_slowly
#define tt_time_slowly tt_scope_time
#define tt_leave_slowly tt_scope_leave_slowly
#endif

TT_API struct tt_frame *tt_scope_enter_named(const char *name, const char *file,
                                             uint32_t line, void *slot, uintptr_t cfa);

/* Enters a scope; returns the argument for tt_scope_leave: NULL if off, an odd pointer if
 * leaving takes more than stepping down.
 * The steps are those of frame.h; `limit` is written by the thread that stops recording. */
TT_INLINE struct tt_frame *tt_scope_enter(struct tt_site *site, void *slot, uintptr_t cfa)
{
    struct tt_strand *s = &tt_self;
    struct tt_frame *f = (struct tt_frame *)((uintptr_t)s->top + sizeof *f);
    struct tt_node *to, *edge;
    tt_block block = __atomic_load_n(&site->block, __ATOMIC_RELAXED);
    uint64_t sparse;

    cfa++;
    TT_HIDE(f);
    if (TT_UNLIKELY(f >= __atomic_load_n(&s->limit, __ATOMIC_RELAXED)))
        return __atomic_load_n(&tt_on, __ATOMIC_RELAXED)
                   ? tt_enter_slowly(site, slot, cfa)
                   : NULL;
    tt_frame_claim(f, slot);
    to = f[-1].node;
    edge = tt_cell(s->base, tt_first_edge(s->base, to, block));
    if (!TT_UNLIKELY(edge->key != block)) {
        to = edge;
    } else {
        TT_BARRIER();
        if (TT_UNLIKELY((edge->key ^ block) != TT_KEY_ARC))
            return tt_enter_slowly(site, slot, cfa);
        if (TT_UNLIKELY(edge->target != edge->parent))
            to = tt_cell(s->base, edge->target);
        TT_HIDE(to);
    }
    TT_HIDE(cfa);
    if (tt_frame_is_dead(f - 1, slot, cfa))
        return tt_enter_slowly(site, slot, cfa);
    tt_frame_fill(f, to, cfa);
    if (!tt_frame_publish(s, f, slot))
        return tt_enter_slowly(site, slot, cfa);
    sparse = s->sparse;
    if (sparse == 1)
        return f;
    tt_count(&edge->calls);
    if (TT_UNLIKELY(sparse) && (edge->calls & (sparse - 1)) == 0)
        return tt_time_slowly(f);
    return f;
}

/* Takes the top off; 0 when it is another one. */
TT_INLINE int tt_step_down(struct tt_frame *f)
{
#if defined(TT_THUNKS) && defined(TT_TLS_OFFSET)
    /* The compiler would keep the offset in a register from the scope's beginning on. */
    uintptr_t offset;
    int other;

    __asm__ volatile("movq tt_self@gottpoff(%%rip), %1\n\tcmpq %2, %%fs:(%1)"
                     : "=@ccne"(other), "=&r"(offset)
                     : "r"(f)
                     : "memory");
    if (TT_UNLIKELY(other))
        return 0;
    __asm__ volatile("movq %0, %%fs:(%1)" : : "r"(f - 1), "r"(offset) : "memory");
#else
    struct tt_strand *s = &tt_self;

    if (TT_UNLIKELY(s->top != f))
        return 0;
    tt_frame_leave(s, f);
#endif
    return 1;
}

TT_INLINE void tt_scope_leave(struct tt_frame *f)
{
    if (f != NULL && !tt_step_down(f))
        tt_leave_slowly(f);
}

#define TT_JOIN_(a, b) a##b
#define TT_JOIN(a, b) TT_JOIN_(a, b)
#define TT_CFA ((uintptr_t)__builtin_dwarf_cfa())
#define TT_SITE_(site, name) static struct tt_site site = {0, __LINE__, name, __FILE__}

TT_API void tt_sites_loaded(const void *within); /* see runtime/sites.c */
#if defined(TT_SWITCHED) && defined(__x86_64__) && defined(__LP64__)
#define TT_NO_OP ".byte 0x0f, 0x1f, 0x44, 0, 0"
#elif defined(TT_SWITCHED) && defined(__aarch64__)
#define TT_NO_OP "nop"
#endif

#ifdef TT_NO_OP
__attribute__((constructor)) static void tt_sites_here(void)
{
    tt_sites_loaded((const void *)(uintptr_t)tt_sites_here);
}

/* A note says where it is, and goes where the function goes. */
TT_INLINE int tt_is_on(void)
{
    __asm__ goto(".Ltt_site%=:\t" TT_NO_OP "\n\t"
                 ".pushsection .tallytree.sites, \"a?o\", %%note, .Ltt_site%=\n\t"
                 ".balign 4\n\t.long 10, 8, 1\n\t.asciz \"Tallytree\"\n\t.balign 4\n\t"
                 ".long .Ltt_site%= - .\n\t.long %l[on] - .\n\t.popsection" ::
                     : "cc"
                 : on);
    return 0;
on:
    return 1;
}

/* *at was stored if the scope was on when entered; if not, it may be anything. */
TT_INLINE void tt_scope_close(struct tt_frame **at)
{
    struct tt_frame *f = TT_UNLIKELY(tt_is_on()) ? *at : NULL;

    if (f != NULL &&
        (tt_self.top != f || f->slot != TT_SWITCHED_SLOT(at) || !tt_step_down(f)))
        tt_leave_slowly((struct tt_frame *)(void *)((char *)at + TT_PLACE));
}
TT_INLINE void tt_scope_unset(struct tt_frame **at) { __asm__ volatile("" : "=m"(*at)); }
#define TT_SLOT_(var) TT_SWITCHED_SLOT(&(var))
#define TT_OPEN_(declared, var, frame, entered)                                          \
    declared;                                                                            \
    char TT_JOIN(var, _on) __attribute__((                                               \
        unused)) = (tt_scope_unset(&frame),                                              \
                    TT_UNLIKELY(tt_is_on()) ? (void)(frame = entered) : (void)0, '\0')
#else
TT_INLINE int tt_is_on(void) { return __atomic_load_n(&tt_on, __ATOMIC_RELAXED); }
TT_INLINE void tt_scope_close(struct tt_frame **at) { tt_scope_leave(*at); }
#define TT_SLOT_(var) (&TT_JOIN(var, _slot))
#define TT_OPEN_(declared, var, frame, entered)                                          \
    char TT_JOIN(var, _slot) __attribute__((aligned(2)));                                \
    declared = {entered}
#endif

#ifdef __cplusplus
} /* the class is C++ */
struct tt_scope_guard {
    tt_frame *frame;
    ~tt_scope_guard() { tt_scope_close(&frame); }
};
extern "C" {
#define TT_GUARD_(var, entered) TT_OPEN_(tt_scope_guard var, var, var.frame, entered)
#else
#define TT_GUARD_(var, entered)                                                          \
    TT_OPEN_(struct tt_frame *var __attribute__((cleanup(tt_scope_close), unused)), var, \
             var, entered)
#endif

#define TT_SCOPE_(n, name)                                                               \
    TT_SITE_(TT_JOIN(tt_site_, n), name);                                                \
    TT_GUARD_(                                                                           \
        TT_JOIN(tt_scope_, n),                                                           \
        tt_scope_enter(&TT_JOIN(tt_site_, n), TT_SLOT_(TT_JOIN(tt_scope_, n)), TT_CFA))

#define TT_NAMED_(n, name)                                                               \
    TT_GUARD_(TT_JOIN(tt_scope_, n),                                                     \
              tt_scope_enter_named(name, __FILE__, __LINE__,                             \
                                   TT_SLOT_(TT_JOIN(tt_scope_, n)), TT_CFA))

#define TT_BEGIN_(id, name)                                                              \
    TT_SITE_(TT_JOIN(tt_site_, id), name);                                               \
    TT_OPEN_(                                                                            \
        struct tt_frame *TT_JOIN(tt_hand_, id), TT_JOIN(tt_hand_, id),                   \
        TT_JOIN(tt_hand_, id),                                                           \
        tt_scope_enter(&TT_JOIN(tt_site_, id), TT_SLOT_(TT_JOIN(tt_hand_, id)), TT_CFA))
#define TT_END_(id) tt_scope_close(&TT_JOIN(tt_hand_, id))

#define TT_ADD_(name, n)                                                                 \
    do {                                                                                 \
        static tt_metric tt_metric_;                                                     \
        if (tt_is_on()) {                                                                \
            if (!tt_metric_)                                                             \
                tt_metric_ = tt_metric_get(name, "");                                    \
            tt_add(tt_metric_, (uint64_t)(n));                                           \
        }                                                                                \
    } while (0)

#define TT_CALL_(call) ((void)call)

#ifdef __cplusplus
}
#endif
#endif
