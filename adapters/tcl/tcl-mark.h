/* SPDX-License-Identifier: MIT */
/* tcl-mark.h - called when byte-code reaches a statement.
 *
 *      proc f {} {              run ─ f                     a run is one execution of a
 *          while {...} {             └─ while               piece of byte-code, known by
 *              incr n                     └─ incr n         the callback that Tcl calls
 *          }                                                when it is over
 *      }
 *
 * A mark knows its statement, and its depth within its piece; so when one begins,
 * everything at that depth or deeper in the same run has ended. */
#ifndef TT_TCL_MARK_H
#define TT_TCL_MARK_H

#include <tallytree.h>

#include "tcl-private.h"

enum tt_tcl_mode { /* from PROCS on there are no marks, but calls */
                   TT_TCL_STATEMENTS,
                   TT_TCL_BLOCKS,
                   TT_TCL_COVERAGE,
                   TT_TCL_PROCS,
                   TT_TCL_SAMPLED
};
extern enum tt_tcl_mode tt_tcl_mode;

enum tt_tcl_mark_flags {
    TT_TCL_END = 1,   /* the statement ends; else it begins */
    TT_TCL_FIRST = 2, /* nothing of its piece comes before */
    TT_TCL_LAST = 4,  /* it is the last of its piece */
};

struct tt_tcl_mark {
    tt_block block; /* the statement */
    tt_block piece; /* the procedure whose body it is in; 0: none */
    uint32_t depth; /* of statements around it in its piece */
    uint32_t flags;
    struct tt_tcl_mark *next; /* of one hash */
};

/* The mark of these; made once, kept for ever; NULL without memory. */
const struct tt_tcl_mark *tt_tcl_mark_get(const struct tt_tcl_mark *like);

/* The type of a literal that is a mark. */
extern const Tcl_ObjType tt_tcl_mark_type;

/* A thread's interpreter reaches `mark`, in the run that ends with `run`. */
void tt_tcl_pass(Interp *, const struct tt_tcl_mark *, const NRE_callback *run);

/* How times are corrected for the cost of measuring: the document's methods, and ours. */
enum tt_tcl_method {
    TT_TCL_OURS,   /* b, and what a mark costs in Tcl, which was measured, too */
    TT_TCL_NONE,   /* a */
    TT_TCL_MANAGE, /* b: without the time spent on the books */
    TT_TCL_TALLY,  /* c: only statements without others in them are timed */
    TT_TCL_FACTOR, /* c, divided by a constant */
    TT_TCL_COUNT,  /* nothing is timed */
};

struct tt_tcl_clock {
    enum tt_tcl_method method;
    double factor;
    uint64_t hz;
    /* Ours: ticks that a mark adds to measured times: estimate, minimum and maximum; and
     * the part of the bookkeeping if nothing is new. */
    uint64_t cost, low, high, books;
};
extern struct tt_tcl_clock tt_tcl_clock;

uint64_t tt_tcl_now(void);
uint64_t tt_tcl_frequency(void); /* takes 2 ms, once */

/* Begin and end this thread's bookkeeping; what is open is closed. */
void tt_tcl_books_open(void);
void tt_tcl_books_close(void);

/* Ends what is over by now; otherwise the next mark does it. */
void tt_tcl_books_settle(Interp *);

/* The time since `since` is not the program's: it waited, or was stopped. */
void tt_tcl_books_skip(uint64_t since);
void tt_tcl_books_pause(void);
void tt_tcl_books_resume(void);

/* A coroutine, or an interpreter, was deleted. */
void tt_tcl_books_forget(const ExecEnv *);

/* A coroutine is seen for the first time: tcl-attach.c watches for its end. */
void tt_tcl_coroutine_watch(const ExecEnv *);

/* A cost centre, until the callback that ends it has been called; in `around`, if not 0. */
void tt_tcl_centre_enter(Interp *, tt_block around, tt_block, const NRE_callback *);
void tt_tcl_centre_leave(Interp *, const NRE_callback *);

/* How many statements and runs are around the innermost open statement of this block, and
 * itself; 0: none is open. */
uint32_t tt_tcl_books_height(tt_block);

/* Returns how many marks this thread has reached. */
uint64_t tt_tcl_books_marks(void);

#endif
