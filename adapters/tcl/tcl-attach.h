/* SPDX-License-Identifier: MIT */
/* tcl-attach.h - watches an interpreter. */
#ifndef TT_TCL_ATTACH_H
#define TT_TCL_ATTACH_H

#include "tcl-compile.h"

/* Is this interpreter built as our headers say?  If not, the reason is its result. */
int tt_tcl_check(Tcl_Interp *);

/* Begin and end to watch an interpreter, with those that are made within it. */
int tt_tcl_attach(Tcl_Interp *);
void tt_tcl_detach(Tcl_Interp *);

/* Time in which this thread waits for events is not the program's. */
void tt_tcl_waiting_begin(void);
void tt_tcl_waiting_end(void);

/* tcl-site.c: returns the statement that is calling a procedure now; 0: unknown. */
tt_block tt_tcl_site_of(struct tt_tcl_interp *);

struct tt_tcl_rest { /* a statement of code that is out of date */
    const ByteCode *code;
    int from;       /* its first byte, in the code's source */
    int terminated; /* a newline or a semicolon ends it there */
};

/* Is the text that is being compiled the rest of the running code? */
int tt_tcl_site_rest(const Tcl_Interp *, const char *text, int size,
                     struct tt_tcl_rest *);

/* tcl-procs.c: times calls of a procedure; of all procedures; of none any more. */
void tt_tcl_proc_take(struct tt_tcl_interp *, Command *);
void tt_tcl_procs_begin(struct tt_tcl_interp *);
void tt_tcl_procs_end(struct tt_tcl_interp *);

/* Calls back for each command of a namespace and of those in it. */
void tt_tcl_each_command(struct tt_tcl_interp *, Namespace *,
                         void (*)(struct tt_tcl_interp *, Command *));

/* tcl-uncovered.c: notes new procedures; compiles those that were not called, so that
 * they are known. */
void tt_tcl_proc_made(struct tt_tcl_interp *, Command *);
void tt_tcl_uncovered(struct tt_tcl_interp *);

/* The thread's first interpreter that is watched, or NULL. */
struct tt_tcl_interp *tt_tcl_interps(void);

#endif
