/* SPDX-License-Identifier: MIT */
/* tcl-procs.c - calls of procedures, and nothing else.
 *
 * Tcl's trampoline calls a procedure's own function, with a callback for its end: errors,
 * tail calls and a coroutine's death reach it too. */
#include "tcl-attach.h"

#include <stdlib.h>
#include <string.h>

static int call_ends(ClientData data[], Tcl_Interp *interp, int result)
{
    tt_tcl_centre_leave((Interp *)(void *)interp, data[0]);
    return result;
}

static inline struct tt_tcl_call *call_at(struct tt_tcl_interp *t, const Proc *proc)
{
    return &t->call[((uintptr_t)proc >> 4) % TT_TCL_SLOTS];
}

static tt_block block_of(struct tt_tcl_interp *t, const Proc *proc)
{
    struct tt_tcl_call *known = call_at(t, proc);
    const Tcl_HashEntry *e;

    if (known->proc != proc) {
        e = Tcl_FindHashEntry(&t->commands, (const char *)proc->cmdPtr);
        *known = (struct tt_tcl_call){proc,
                                      e ? (tt_block)(uintptr_t)Tcl_GetHashValue(e) : 0};
    }
    return known->block;
}

static int call(ClientData data, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    struct tt_tcl_interp *t = tt_tcl_interp_of(interp);
    const Proc *proc = data;
    tt_block block = t ? block_of(t, proc) : 0;
    NRE_callback *top;

    if (block) {
        Tcl_NRAddCallback(interp, call_ends, NULL, NULL, NULL, NULL);
        top = TOP_CB(interp);
        top->data[0] = top;
        tt_tcl_centre_enter((Interp *)(void *)interp,
                            tt_tcl_mode == TT_TCL_SAMPLED ? tt_tcl_site_of(t) : 0, block,
                            top);
    }
    return TclNRInterpProc(data, interp, objc, objv);
}

/* Returns the block where its body begins, as Tcl noted it when it was made. */
static tt_block block_of_proc(struct tt_tcl_interp *t, Proc *proc)
{
    const Tcl_HashEntry *e = Tcl_FindHashEntry(
        ((Interp *)(void *)t->interp)->linePBodyPtr, (const char *)proc);
    const CmdFrame *frame = e ? Tcl_GetHashValue(e) : NULL;
    struct tt_tcl_text at = {.start = {.line = 1, .column = 1}};
    const char *file = "[eval]", *text;
    tt_block block;
    int size;

    text = Tcl_GetStringFromObj(proc->bodyPtr, &size);
    if (frame && frame->type == TCL_LOCATION_SOURCE && frame->data.eval.path) {
        file = Tcl_GetString(frame->data.eval.path);
        tt_tcl_text_find(&at, file, (uint32_t)frame->line[0], text, (size_t)size);
    }
    block = tt_tcl_is_wanted(file) ? tt_tcl_piece(proc, file, &at, text, size) : 0;
    tt_tcl_text_fini(&at);
    return block;
}

void tt_tcl_proc_take(struct tt_tcl_interp *t, Command *c)
{
    Proc *proc = TclIsProc(c);
    Tcl_HashEntry *e;
    tt_block block;
    int is_new;

    if (!proc || proc->cmdPtr != c || (c->nreProc == call))
        return;
    block = block_of_proc(t, proc);
    if (!block)
        return;
    e = Tcl_CreateHashEntry(&t->commands, (const char *)c, &is_new);
    Tcl_SetHashValue(e, (ClientData)(uintptr_t)block);
    *call_at(t, proc) = (struct tt_tcl_call){proc, block};
    c->nreProc = call;
}

void tt_tcl_each_command(struct tt_tcl_interp *t, Namespace *ns,
                         void (*each)(struct tt_tcl_interp *, Command *))
{
    Tcl_HashTable *children = TclGetNamespaceChildTable((Tcl_Namespace *)ns);
    Tcl_HashSearch search;

    for (Tcl_HashEntry *e = Tcl_FirstHashEntry(&ns->cmdTable, &search); e;
         e = Tcl_NextHashEntry(&search))
        each(t, Tcl_GetHashValue(e));
    for (Tcl_HashEntry *e = Tcl_FirstHashEntry(children, &search); e;
         e = Tcl_NextHashEntry(&search))
        tt_tcl_each_command(t, Tcl_GetHashValue(e), each);
}

static void give(struct tt_tcl_interp *t, Command *c)
{
    (void)t;
    if (c->nreProc == call)
        c->nreProc = TclNRInterpProc;
}

void tt_tcl_procs_begin(struct tt_tcl_interp *t)
{
    tt_tcl_each_command(t, ((Interp *)(void *)t->interp)->globalNsPtr, tt_tcl_proc_take);
}

void tt_tcl_procs_end(struct tt_tcl_interp *t)
{
    tt_tcl_each_command(t, ((Interp *)(void *)t->interp)->globalNsPtr, give);
}
