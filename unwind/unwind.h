/* SPDX-License-Identifier: MIT */
/* unwind.h - the callers of a thread's current function, and whether all were found.
 *
 *      struct tt_native frame[256];
 *      struct tt_unwound stack = {.frame = frame, .room = 256};
 *
 *      tt_registers_of_context(&registers, ucontext);      in a handler
 *      tt_peek_own(&peek, stack_pointer, stack_end);
 *      tt_modules_hold(&hold);
 *      tt_native_unwind(&stack, hold.modules, &registers, &peek);
 *      tt_modules_release(&hold);
 *
 * frame[0] is the thread's current function; stack.end says how the walk ended.  Only
 * with TT_UNWIND_ROOT is the last frame the outermost one. */
#ifndef TT_UNWIND_H
#define TT_UNWIND_H

#include "machine.h"
#include "modules.h"
#include "peek.h"

enum tt_unwind_end {
    TT_UNWIND_ROOT,      /* the last frame has no caller */
    TT_UNWIND_TRUNCATED, /* no room for more, or the copy of the stack ended */
    TT_UNWIND_UNKNOWN,   /* the last frame is in no known module: JIT code, or new */
    TT_UNWIND_NO_RULE,   /* neither rules nor the code itself show its caller */
    TT_UNWIND_MEMORY,    /* memory that the rule refers to is not readable */
    TT_UNWIND_STRAY,     /* the rule led to a place that cannot be a caller */
    TT_UNWIND_ENDS,
};

enum {
    TT_NATIVE_EXACT = 1,     /* pc is the current instruction; else a return address */
    TT_NATIVE_SIGNAL = 2,    /* a signal trampoline: the next frame was interrupted */
    TT_NATIVE_GUESSED = 4,   /* found by frame pointers or from the code, not by rules */
    TT_NATIVE_GENERATED = 8, /* code of tt_unwound.generated */
};

struct tt_native {
    uint64_t pc;
    uint64_t sp;       /* its stack pointer */
    uint64_t function; /* where its function starts, at run time; 0: not known */
    const struct tt_mapping *mapping; /* of the snapshot; NULL: in no module */
    uint32_t flags;
    uint32_t detail; /* of generated code; set by the one that left it */
    uint64_t data;   /* the same; 0: the code is not generated */
};

/* In this process code in no module keeps a frame pointer wherever it calls, as that of V8 does. */
extern int tt_unwind_by_frames;

/* Cached rules of return addresses (a fifth of the time if stacks recur), and how those without
 * rules are left (most of it then).  All zero at first; of one thread.  A handler that interrupts
 * its use does not use it. */
struct tt_unwind_cache {
    uint64_t generation; /* of the snapshot it holds for */
    volatile int busy;
    struct {
        uint64_t pc, function;
        const struct tt_mapping *mapping;
        const struct tt_rule *rule;
    } place[512];
    struct tt_guessed_place {
        uint64_t pc, code[2]; /* around it: in no module, other code may come there */
        uint64_t lost;        /* the registers that were lost then */
        int is_certain;       /* it does not depend on them */
        struct tt_guessed found;
    } guessed[512];
    uint64_t guesses; /* how many departures were ever found */
    int has_guessed;  /* an entry was ever made */
};

/* Code in no module, that a compiler has made while the program runs, and whose frames only
 * its structures describe. */
struct tt_generated {
    /* Changes the registers to those of the caller, and describes the frame.  0: this is
     * other code, or its caller is not found; nothing is changed.  Async-signal-safe. */
    int (*leave)(const struct tt_generated *, struct tt_registers *, struct tt_peek *,
                 struct tt_native *);
};

struct tt_unwound {
    struct tt_native *frame; /* the caller's, with room for `room` */
    uint32_t room, count;
    int in_call; /* the first pc is a return address, too */
    enum tt_unwind_end end;
    struct tt_unwind_cache *cache;        /* the caller's, or NULL */
    const struct tt_generated *generated; /* borrowed; NULL: none */
};

/* Walks from the registers, which it changes.  `modules` may be NULL: only frame pointers
 * lead on then.  Async-signal-safe, errno may change; needs 1 KB of stack. */
void tt_native_unwind(struct tt_unwound *, const struct tt_modules *,
                      struct tt_registers *, struct tt_peek *);

/* How code without rules leaves the frame of a return address; NULL: not known.  `mapping`: of
 * the module that the code is in, or NULL; of this generation of modules. */
const struct tt_departure *tt_unwind_departure(const struct tt_unwind_cache *,
                                               uint64_t generation,
                                               const struct tt_mapping *, uint64_t pc);

/* The link-time address of the call or instruction: the identity of a block. */
uint64_t tt_native_place(const struct tt_native *);

/* Text for users. */
const char *tt_unwind_reason(enum tt_unwind_end);

#endif
