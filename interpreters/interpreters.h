/* SPDX-License-Identifier: MIT */
/* interpreters.h - functions that an interpreter runs, in place of its native frames.
 *
 *      native stack (grows down)             the interpreter's own list of frames
 *      ├─ sp 0 ── sre_search                 leaf ─ caller ─ ... ─ module
 *      ├─ sp 1 ─┐
 *      │ anchor │ the interpreter's loop  ◄── leaf, caller: one run of frames
 *      ├─ sp 2 ─┘
 *      ├─ ...    main
 *
 * A loop runs some frames of the language; the last of them was called by native code,
 * which is the loop's caller.  An anchor is an address within the native frame of the
 * loop: it links each run to its loop, and no name of the loop is needed.
 *
 * An interpreter is found in a loaded object, once.  From then on each sample reads the
 * frames of a thread from it.  No function of the program is called, and all reads are
 * done by tt_safe_read, so that a wrong address costs frames and no crash. */
#ifndef TT_INTERPRETERS_H
#define TT_INTERPRETERS_H

#include "safe-copy.h"
#include "unwind.h"

enum { TT_INTERPRETED_NAME = 32, TT_INTERPRETED_TEXT = 1200, TT_INTERPRETED_MAX = 4096 };

struct tt_interpreter;

struct tt_interpreted { /* a frame */
    const struct tt_interpreter *by;
    uint64_t code;   /* address of its code object; 0: it is not shown, nor is its loop */
    uint64_t print;  /* distinguishes it from others that were there before */
    uint64_t at;     /* its instruction */
    uint64_t anchor; /* on the native stack, in the loop that runs it */
    uint64_t method; /* what else its name needs, or 0 */
};

enum tt_interpreted_end {
    TT_INTERPRETED_NONE,   /* the thread runs no code of it */
    TT_INTERPRETED_WHOLE,  /* the frames are complete */
    TT_INTERPRETED_BROKEN, /* outer ones are missing: the chain led to no frame */
    TT_INTERPRETED_FULL,   /* there was no room for outer ones */
};

struct tt_interpreted_stack {
    uint64_t thread; /* its pthread_t */
    int is_own;      /* the calling thread itself, in a handler or in a call */
    uint64_t state;  /* from outside: the interpreter's data of the thread; else 0 */
    const struct tt_native *native; /* borrowed: its native frames, the innermost first */
    uint32_t natives;
    uint64_t limit;               /* frames anchored from here on do not count */
    struct tt_peek *peek;         /* borrowed: of its native stack */
    struct tt_interpreted *frame; /* the caller's: the innermost first */
    uint32_t room, count;
    enum tt_interpreted_end end;
};

struct tt_interpreted_text { /* UTF-8, cut if too long */
    char name[TT_INTERPRETED_TEXT], file[TT_INTERPRETED_TEXT];
    uint32_t line; /* where the function begins; 0: not known */
};

/* All but `next` and `off` is set before it is in the list, and stays. */
struct tt_interpreter {
    char name[TT_INTERPRETED_NAME]; /* "python 3.11": the module of its functions too */
    const struct tt_interpreter *next;
    /* Adds the frames of a thread, and sets the end.  Async-signal-safe. */
    void (*walk)(struct tt_interpreter *, struct tt_interpreted_stack *);
    /* 0: it cannot be read, or has been replaced.  Async-signal-safe. */
    int (*describe)(const struct tt_interpreter *, const struct tt_interpreted *,
                    struct tt_peek *, struct tt_interpreted_text *);
    /* The current line of the frame; 0: it has none.  Async-signal-safe. */
    uint32_t (*line)(const struct tt_interpreter *, const struct tt_interpreted *,
                     struct tt_peek *);
    /* Of a compiler: its code on native stacks; NULL: none. */
    const struct tt_generated *generated;
    const char *off; /* why its frames are not shown; NULL: they are.  A constant */
    uint64_t salt;   /* of another process: distinguishes its code from that of others */
};

/* The interpreters found, the last one first; NULL: none.  Entries are never removed.  A
 * program without interpreters pays for this test alone. */
extern struct tt_interpreter *tt_interpreters;
static inline struct tt_interpreter *tt_interpreters_first(void)
{
    return __atomic_load_n(&tt_interpreters, __ATOMIC_ACQUIRE);
}

/* How generated code in this process is left; NULL: there is none. */
static inline const struct tt_generated *tt_interpreters_generated(void)
{
    const struct tt_interpreter *i = tt_interpreters_first();

    while (i && (!i->generated || __atomic_load_n(&i->off, __ATOMIC_RELAXED)))
        i = i->next;
    return i ? i->generated : NULL;
}

/* Looks for interpreters in the loaded modules.  One thread at a time, no handler. */
void tt_interpreters_find(void);

#endif
