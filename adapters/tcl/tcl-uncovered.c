/* SPDX-License-Identifier: MIT */
/* tcl-uncovered.c - procedures that were never called.
 *
 * Commands are known after their script was compiled, and Tcl compiles a procedure at its
 * first call.  So procedures that were made during the recording, and not called, are
 * compiled at the end, when that takes no time from the program and cannot change it. */
#include <string.h>

#include "tcl-attach.h"
#include "tcl-home.h"

void tt_tcl_proc_made(struct tt_tcl_interp *t, Command *c)
{
    Proc *proc = TclIsProc(c);
    Tcl_HashEntry *e;
    const char *text;
    int is_new, size;

    if (!proc || proc->cmdPtr != c)
        return;
    text = Tcl_GetStringFromObj(proc->bodyPtr, &size);
    tt_tcl_home_claim(proc, text, (size_t)size);
    e = Tcl_CreateHashEntry(&t->made, (const char *)c, &is_new);
    Tcl_SetHashValue(e, proc);
}

static int is_compiled(const Tcl_Obj *o)
{
    return o->typePtr && strcmp(o->typePtr->name, "bytecode") == 0;
}

/* Only if it is unchanged since it was made. */
static void compile_proc(struct tt_tcl_interp *t, Command *c)
{
    const Tcl_HashEntry *e = Tcl_FindHashEntry(&t->made, (const char *)c);
    Proc *proc = e ? TclIsProc(c) : NULL;

    if (!proc || proc != Tcl_GetHashValue(e) || proc->cmdPtr != c || !c->nsPtr ||
        (c->nsPtr->flags & NS_DYING) || is_compiled(proc->bodyPtr))
        return;
    (void)TclProcCompileProc(t->interp, proc, proc->bodyPtr, c->nsPtr, "body of proc",
                             Tcl_GetHashKey(&c->nsPtr->cmdTable, c->hPtr));
}

void tt_tcl_uncovered(struct tt_tcl_interp *t)
{
    Tcl_InterpState before;
    int done = tt_tcl_script_done;

    if (tt_tcl_mode >= TT_TCL_PROCS || Tcl_InterpDeleted(t->interp))
        return;
    before = Tcl_SaveInterpState(t->interp, TCL_OK);
    tt_tcl_script_done = 0;
    tt_tcl_each_command(t, ((Interp *)(void *)t->interp)->globalNsPtr, compile_proc);
    tt_tcl_script_done = done;
    (void)Tcl_RestoreInterpState(t->interp, before);
}
