/* SPDX-License-Identifier: MIT */
/* tcl-attach.c - watches an interpreter.
 *
 * Marks use the private structures of Tcl.  These are compared with the results of public
 * functions; a Tcl that is built otherwise is left alone. */
#include "tcl-attach.h"
#include "tcl-emit.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static __thread struct tt_tcl_interp *interps;

struct tt_tcl_interp *tt_tcl_interps(void) { return interps; }

struct tt_tcl_interp *tt_tcl_interp_of(Tcl_Interp *interp)
{
    struct tt_tcl_interp *t = interps;

    while (t && t->interp != interp)
        t = t->next;
    return t;
}

/* ── Is it the Tcl that our headers tell of? ──────────────────────────────────────── */

static int complain(Tcl_Interp *interp, const char *what)
{
    Tcl_SetObjResult(
        interp,
        Tcl_ObjPrintf("tallytree: this is Tcl %s, and its %s is not as in the "
                      "Tcl %s that tallytree was built for: statements cannot be "
                      "recorded; 'tallytree record' samples it",
                      Tcl_GetVar2(interp, "tcl_patchLevel", NULL, TCL_GLOBAL_ONLY), what,
                      TCL_PATCH_LEVEL));
    Tcl_SetErrorCode(interp, "TALLYTREE", "VERSION", NULL);
    return TCL_ERROR;
}

static int instruction_is(unsigned number, const char *name, int bytes)
{
    const InstructionDesc *table = TclGetInstructionTable();

    for (unsigned i = 0; table[i].name && i <= number; i++)
        if (i == number)
            return strcmp(table[i].name, name) == 0 && table[i].numBytes == bytes;
    return 0;
}

static int instructions_are_known(void)
{
    return instruction_is(INST_PUSH1, "push1", 2) &&
           instruction_is(INST_PUSH4, "push4", 5) && instruction_is(INST_POP, "pop", 1) &&
           instruction_is(INST_INVOKE_STK1, "invokeStk1", 2) &&
           instruction_is(INST_LIST_CONCAT, "listConcat", 1) &&
           instruction_is(INST_START_CMD, "startCommand", 9) &&
           instruction_is(INST_FOREACH_START, "foreach_start", 5) &&
           instruction_is(INST_JUMP_TABLE, "jumpTable", 5) &&
           instruction_is(INST_RETURN_CODE_BRANCH, "returnCodeBranch", 1);
}

static int interp_is_known(Tcl_Interp *interp)
{
    const Interp *i = (const Interp *)(const void *)interp;
    Tcl_Namespace *global = Tcl_GetGlobalNamespace(interp);

    return (Tcl_Namespace *)i->globalNsPtr == global &&
           i->globalNsPtr->interp == interp &&
           strcmp(i->globalNsPtr->fullName, global->fullName) == 0 && i->rootFramePtr &&
           i->rootFramePtr->nsPtr == i->globalNsPtr && i->execEnvPtr &&
           i->execEnvPtr->interp == interp;
}

static int command_is_known(Tcl_Interp *interp, const char *name)
{
    Tcl_CmdInfo info;
    const Command *c = (const Command *)Tcl_FindCommand(interp, name, NULL, 0);

    return c && Tcl_GetCommandInfo(interp, name, &info) && c->objProc == info.objProc &&
           c->clientData == info.clientData && c->deleteProc == info.deleteProc &&
           c->compileProc && c->hPtr && (Tcl_Namespace *)c->nsPtr == info.namespacePtr;
}

int tt_tcl_check(Tcl_Interp *interp)
{
    int major, minor, patch, type;

    Tcl_GetVersion(&major, &minor, &patch, &type);
    if (major != 8 || minor != 6 || type != TCL_FINAL_RELEASE)
        return complain(interp, "version");
    if (!instructions_are_known())
        return complain(interp, "byte-code");
    if (!interp_is_known(interp))
        return complain(interp, "interpreter");
    if (!command_is_known(interp, "::oo::Helpers::next") ||
        (!tt_tcl_interp_of(interp) && !command_is_known(interp, "::namespace")))
        return complain(interp, "compiler");
    return TCL_OK;
}

/* ── Commands that make and unmake others ─────────────────────────────────────────── */

/* A command that only got our compiler is deleted silently: otherwise all byte-code would
 * be compiled again. */
static void let_go(struct tt_tcl_interp *t, Tcl_Obj *name)
{
    Command *c = (Command *)Tcl_FindCommand(t->interp, Tcl_GetString(name), NULL, 0);
    const Tcl_HashEntry *e = c ? Tcl_FindHashEntry(&t->commands, (const char *)c) : NULL;

    if (e && !Tcl_GetHashValue(e))
        tt_tcl_command_give(t, c);
}

static int call_own(const struct tt_tcl_own *own, Tcl_Interp *interp, int objc,
                    Tcl_Obj *const objv[])
{
    if (own->nre)
        return own->nre(own->data, interp, objc, objv);
    return own->proc(own->data, interp, objc, objv);
}

static int unmake(ClientData data, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    struct tt_tcl_own *own = data;

    if (objc > 2)
        let_go(own->t, objv[1]);
    return call_own(own, interp, objc, objv);
}

/* [proc] makes commands, too. */
static int remake(ClientData data, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    const struct tt_tcl_own *own = data;
    int result = unmake(data, interp, objc, objv);
    Command *made;

    if (result != TCL_OK || objc < 2 || own->t->interp != interp)
        return result;
    made = (Command *)Tcl_FindCommand(interp, Tcl_GetString(objv[1]), NULL, 0);
    if (made && tt_tcl_mode >= TT_TCL_PROCS) {
        tt_tcl_proc_take(own->t, made);
    } else if (made) {
        tt_tcl_command_made(own->t, made, Tcl_GetString(objv[1]));
        tt_tcl_proc_made(own->t, made);
    }
    return result;
}

static int make_interp(ClientData data, Tcl_Interp *interp, int objc,
                       Tcl_Obj *const objv[])
{
    struct tt_tcl_own *own = data;
    int result = call_own(own, interp, objc, objv);
    Tcl_Interp *child;

    if (result == TCL_OK && objc > 1 && strcmp(Tcl_GetString(objv[1]), "create") == 0) {
        child = Tcl_GetSlave(interp, Tcl_GetString(Tcl_GetObjResult(interp)));
        if (child && !tt_tcl_interp_of(child))
            (void)tt_tcl_attach(child);
    }
    return result;
}

static void coroutine_ends(ClientData data, Tcl_Interp *interp, const char *old,
                           const char *new, int flags)
{
    (void)interp, (void)old, (void)new;
    if (flags & TCL_TRACE_DESTROYED)
        tt_tcl_books_forget(data);
}

/* Its stack of activations ends with it. */
void tt_tcl_coroutine_watch(const ExecEnv *env)
{
    Tcl_Obj *name = Tcl_NewObj();

    Tcl_IncrRefCount(name);
    Tcl_GetCommandFullName(env->interp, (Tcl_Command)env->corPtr->cmdPtr, name);
    (void)Tcl_TraceCommand(env->interp, Tcl_GetString(name), TCL_TRACE_DELETE,
                           coroutine_ends, (ClientData)(uintptr_t)env);
    Tcl_DecrRefCount(name);
}

/* ── Waiting ──────────────────────────────────────────────────────────────────────── */

/* Reading from a terminal waits for a person.  Only a terminal is asked for its file:
 * other drivers, including those written in Tcl, keep a refusal as an error of the next
 * operation. */
static int is_typed(Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    Tcl_Channel channel;
    ClientData handle;

    for (int i = 1; i < objc && i < 3; i++) {
        channel = Tcl_GetChannel(interp, Tcl_GetString(objv[i]), NULL);
        if (channel && strcmp(Tcl_ChannelName(Tcl_GetChannelType(channel)), "tty") == 0 &&
            Tcl_GetChannelHandle(channel, TCL_READABLE, &handle) == TCL_OK &&
            isatty((int)(intptr_t)handle))
            return 1;
    }
    Tcl_ResetResult(interp);
    return 0;
}

static int read_typed(ClientData data, Tcl_Interp *interp, int objc,
                      Tcl_Obj *const objv[])
{
    struct tt_tcl_own *own = data;
    int typed = is_typed(interp, objc, objv), result;
    uint64_t start = tt_tcl_now();

    result = call_own(own, interp, objc, objv);
    if (typed)
        tt_tcl_books_skip(start);
    return result;
}

/* Tcl asks its event sources before it waits, and again afterwards. */
static __thread uint64_t waits;

static void before_waiting(ClientData data, int flags)
{
    (void)data, (void)flags;
    waits = tt_tcl_now();
}

static void after_waiting(ClientData data, int flags)
{
    (void)data, (void)flags;
    if (waits)
        tt_tcl_books_skip(waits);
    waits = 0;
}

void tt_tcl_waiting_begin(void)
{
    Tcl_CreateEventSource(before_waiting, after_waiting, NULL);
}

void tt_tcl_waiting_end(void)
{
    Tcl_DeleteEventSource(before_waiting, after_waiting, NULL);
}

/* ── One interpreter ──────────────────────────────────────────────────────────────── */

static const struct {
    const char *name;
    Tcl_ObjCmdProc *proc;
} stand_ins[TT_TCL_STAND_INS] = {{"::proc", remake},
                                 {"::rename", unmake},
                                 {"::interp", make_interp},
                                 {"::gets", read_typed},
                                 {"::read", read_typed}};

/* Functions that may call back later are replaced only if Tcl allows it. */
static void stand_in(struct tt_tcl_interp *t, int i)
{
    Command *c = (Command *)Tcl_FindCommand(t->interp, stand_ins[i].name, NULL, 0);
    struct tt_tcl_own *own = &t->own[i];

    if (!c || (c->nreProc && c->objClientData))
        return;
    *own = (struct tt_tcl_own){c, c->objProc, c->nreProc, c->objClientData, t};
    if (c->nreProc)
        c->nreProc = stand_ins[i].proc;
    else
        c->objProc = stand_ins[i].proc;
    c->objClientData = own;
}

static void step_aside(struct tt_tcl_interp *t)
{
    for (int i = 0; i < TT_TCL_STAND_INS; i++) {
        struct tt_tcl_own *own = &t->own[i];
        Command *c = (Command *)Tcl_FindCommand(t->interp, stand_ins[i].name, NULL, 0);
        if (!own->command || c != own->command || c->objClientData != own)
            continue;
        c->objProc = own->proc;
        c->nreProc = own->nre;
        c->objClientData = own->data;
    }
}

static void forget(struct tt_tcl_interp *t)
{
    struct tt_tcl_interp **link = &interps;

    while (*link && *link != t)
        link = &(*link)->next;
    if (*link)
        *link = t->next;
    tt_tcl_books_forget(((Interp *)(void *)t->interp)->execEnvPtr);
    Tcl_DeleteHashTable(&t->commands);
    Tcl_DeleteHashTable(&t->made);
    Tcl_DeleteHashTable(&t->awaited);
    free(t->lent_to);
    free(t->unit.file);
    tt_tcl_text_fini(&t->unit.text);
    free(t->unit.open);
    free(t);
}

static void interp_ends(ClientData data, Tcl_Interp *interp)
{
    (void)interp;
    forget(data);
}

static CompileProc *compiler_of(Tcl_Interp *interp, const char *name)
{
    const Command *c = (const Command *)Tcl_FindCommand(interp, name, NULL, 0);

    return c ? c->compileProc : NULL;
}

static void learn_empty(void)
{
    Tcl_Obj *o = Tcl_NewObj();

    tt_tcl_empty = o->bytes;
    Tcl_DecrRefCount(o);
}

static const char *const with_expressions[TT_TCL_EXPRESSIONS] = {
    "::if", "::while", "::for", "::expr", "::subst"};

int tt_tcl_attach(Tcl_Interp *interp)
{
    struct tt_tcl_interp *t;
    const Command *next;

    if (tt_tcl_interp_of(interp))
        return TCL_OK;
    if (tt_tcl_check(interp) != TCL_OK)
        return TCL_ERROR;
    t = calloc(1, sizeof *t);
    if (!t) {
        Tcl_SetObjResult(interp, Tcl_NewStringObj("tallytree: no memory", -1));
        return TCL_ERROR;
    }
    learn_empty();
    next = (const Command *)Tcl_FindCommand(interp, "::oo::Helpers::next", NULL, 0);
    t->interp = interp;
    t->words = next->compileProc;
    t->ensembles = compiler_of(interp, "::dict");
    t->assembler = compiler_of(interp, "::tcl::unsupported::assemble");
    for (int i = 0; i < TT_TCL_EXPRESSIONS; i++)
        t->expressions[i] = compiler_of(interp, with_expressions[i]);
    t->loops[0] = compiler_of(interp, "::while");
    t->loops[1] = compiler_of(interp, "::for");
    t->loops[2] = compiler_of(interp, "::foreach");
    Tcl_InitHashTable(&t->commands, TCL_ONE_WORD_KEYS);
    Tcl_InitHashTable(&t->made, TCL_ONE_WORD_KEYS);
    Tcl_InitHashTable(&t->awaited, TCL_STRING_KEYS);
    t->next = interps;
    interps = t;
    Tcl_CallWhenDeleted(interp, interp_ends, t);
    for (int i = 0; i < TT_TCL_STAND_INS; i++)
        stand_in(t, i);
    if (tt_tcl_mode >= TT_TCL_PROCS)
        tt_tcl_procs_begin(t);
    else
        tt_tcl_compile_begin(t);
    return TCL_OK;
}

void tt_tcl_detach(Tcl_Interp *interp)
{
    struct tt_tcl_interp *t = tt_tcl_interp_of(interp);

    if (!t)
        return;
    Tcl_DontCallWhenDeleted(interp, interp_ends, t);
    tt_tcl_give_back(t, 0);
    if (tt_tcl_mode >= TT_TCL_PROCS)
        tt_tcl_procs_end(t);
    else
        tt_tcl_compile_end(t);
    step_aside(t);
    forget(t);
}
