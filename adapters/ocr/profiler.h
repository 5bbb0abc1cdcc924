/* SPDX-License-Identifier: MIT */
/* profiler.h - OCR's five macros, on Tallytree.
 *
 *      int f(int n)
 *      {
 *          START_PROFILE(f);              enters the scope f
 *          if (n == 0)
 *              RETURN_PROFILE(0);         leaves the function
 *          PAUSE_PROFILE;
 *          print(n);                      this time is not counted
 *          RESUME_PROFILE;
 *          RETURN_PROFILE(f(n - 1));      evaluates f(n - 1) in f, then leaves f
 *      }
 *
 * A source for OCR compiles without changes, in C and in C++, with this file in place of OCR's.
 * Scopes have names, which need no declaration.  EXIT_PROFILE ends a scope that is not a
 * function.  Without RETURN_PROFILE and EXIT_PROFILE, a scope ends with its C block, however
 * the program leaves it.  A pause ends with its scope.  A jump over START_PROFILE leaves a
 * scope that was never entered; this has no effect.  clang refuses such jumps, unless
 * TT_OCR_PAIRED is defined: then only these macros end scopes, before `val` is evaluated, as
 * in OCR.
 *
 * The macros are active if OCR_RUNTIME_PROFILER is defined, as in OCR.  Otherwise they expand to
 * nothing, or to `return val;`.  Build with `pkg-config --cflags --libs tallytree-ocr`, which
 * is -I.../include/tallytree -ltallytree-ocr -ltallytree.
 *
 * Recording starts if TALLYTREE_OCR is in the environment, or by tt_ocr_start.  Both have words
 * separated by commas or blanks: those of tt_start, and:
 *
 *   focus=NAME    record only this scope, and the scopes that it calls
 *   depth=N       record at most N levels below the focus or, without one, below the
 *                 outermost scope
 *   other         combine all scopes outside of the focus as one scope, EVENT_OTHER
 *   ignore-rt     add a runtime's scope to its caller, if that is a runtime's scope, too
 *   peek=NAME     this scope is not a runtime's, so that its callees stay separate; neither is
 *                 the focus
 *   rt=PATTERNS   the scopes of a runtime: shell patterns, separated by ':' (default: all)
 *   user=PATTERNS the scopes that are not a runtime's
 *
 * The default of recursion=POLICY is `none`, as OCR's figures are of whole paths.  The default
 * of output=PATH is tallytree.PROGRAM.HOST.PID in the current folder.
 * `tallytree report ocr` prints OCR's tables, and `tallytree export --to ocr` writes OCR's
 * files. */
#ifndef TT_OCR_PROFILER_H
#define TT_OCR_PROFILER_H

#if defined(__GNUC__) && !defined(TT_OCR_BUILD)
#pragma GCC system_header /* warns of nested scopes, which users cannot change */
#endif

#if defined(OCR_RUNTIME_PROFILER) && !defined(TT_DISABLE)
#include "tallytree.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Starts recording, and sets the focus; it may name scopes that have not been entered
 * yet.  Thread-safe.  0 or a negative enum tt_error. */
TT_API int tt_ocr_start(const char *words);
/* Sets only the focus: for scopes that are entered from here on.  "": all are
 * recorded. */
TT_API int tt_ocr_focus(const char *words);

struct tt_ocr_site {
    struct tt_site site;
    uint32_t verdict; /* what the focus that was asked last says of it */
};

/* A scope on the stack.  `open` is its own address, scrambled, because a jump may reach
 * its end without its beginning. */
struct tt_ocr_scope {
    volatile uintptr_t open;
    struct tt_frame *frame;
    uint32_t pauses;
    uint32_t place; /* with a focus: its place among the recorded scopes, from 1 */
};

extern TT_API int tt_ocr_focused;
TT_API void tt_ocr_enter_focused(struct tt_ocr_site *, struct tt_ocr_scope *,
                                 uintptr_t cfa);
TT_API void tt_ocr_leave_focused(struct tt_ocr_scope *);

#define TT_OCR_OPEN(scope) ((uintptr_t)(scope) ^ (uintptr_t)0x9e3779b97f4a7c15u)

TT_INLINE void tt_ocr_enter(struct tt_ocr_site *site, struct tt_ocr_scope *scope,
                            uintptr_t cfa)
{
    scope->pauses = 0;
    scope->place = 0;
    if (TT_UNLIKELY(__atomic_load_n(&tt_ocr_focused, __ATOMIC_RELAXED)))
        tt_ocr_enter_focused(site, scope, cfa);
    else
        scope->frame = tt_scope_enter(&site->site, scope, cfa);
    scope->open = TT_OCR_OPEN(scope);
}

TT_INLINE void tt_ocr_pause(struct tt_ocr_scope *scope)
{
    scope->pauses += tt_pause() == 0;
}

TT_INLINE void tt_ocr_resume(struct tt_ocr_scope *scope)
{
    if (scope->pauses && tt_resume() == 0)
        scope->pauses--;
}

TT_INLINE void tt_ocr_leave(struct tt_ocr_scope *scope)
{
    if (scope->open != TT_OCR_OPEN(scope))
        return;
    scope->open = 0;
    while (TT_UNLIKELY(scope->pauses)) {
        (void)tt_resume();
        scope->pauses--;
    }
    if (TT_UNLIKELY(scope->place))
        tt_ocr_leave_focused(scope);
    tt_scope_leave(scope->frame);
}

#ifdef __cplusplus
}
#endif

#ifdef TT_OCR_PAIRED
#define TT_OCR_CLEANUP
#define TT_OCR_RETURN tt_ocr_leave(&tt_ocr_scope_);
#else
#define TT_OCR_CLEANUP __attribute__((cleanup(tt_ocr_leave)))
#define TT_OCR_RETURN
#endif

/* Every scope's variable has one name, so that the other macros mean the innermost. */
#define START_PROFILE(name)                                                              \
    static struct tt_ocr_site tt_ocr_site_ = {{0, 0, #name, ""}, 0};                     \
    struct tt_ocr_scope tt_ocr_scope_ TT_OCR_CLEANUP;                                    \
    tt_ocr_enter(&tt_ocr_site_, &tt_ocr_scope_, TT_CFA);
#define PAUSE_PROFILE tt_ocr_pause(&tt_ocr_scope_);
#define RESUME_PROFILE tt_ocr_resume(&tt_ocr_scope_);
#define RETURN_PROFILE(val)                                                              \
    {                                                                                    \
        TT_OCR_RETURN                                                                    \
        return val;                                                                      \
    }
#define EXIT_PROFILE tt_ocr_leave(&tt_ocr_scope_);

#else

#define START_PROFILE(name)
#define PAUSE_PROFILE
#define RESUME_PROFILE
#define RETURN_PROFILE(val) return val;
#define EXIT_PROFILE

#endif
#endif
