/* SPDX-License-Identifier: MIT */
/* emit.c - instructions at the end of the byte-code that is being made.
 *
 *      push   literal                      the literal is the mark
 *      store  hidden local variable        none of [info locals]
 *      pop
 *      clock  read                         asks our clock, which finds it there
 *      pop
 *
 * Where there are no local variables a mark is a command: push, push, invoke, pop. */
#include "emit.h"

#include <stdio.h>
#include <string.h>

enum { SLOT = 0x08000000 };

/* ── Instructions ─────────────────────────────────────────────────────────────────── */

static void put_byte(CompileEnv *env, unsigned value)
{
    if (env->codeNext == env->codeEnd)
        TclExpandCodeArray(env);
    *env->codeNext++ = (unsigned char)value;
}

static void put(CompileEnv *env, unsigned instruction, int change)
{
    put_byte(env, instruction);
    env->atCmdStart &= 2; /* what comes next is not the first of its command */
    env->currStackDepth += change;
    if (env->currStackDepth > env->maxStackDepth)
        env->maxStackDepth = env->currStackDepth;
}

static void put_with_1(CompileEnv *env, unsigned instruction, unsigned value, int change)
{
    put(env, instruction, change);
    put_byte(env, value);
}

/* In the short form where it fits. */
static void put_index(CompileEnv *env, unsigned small, unsigned large, unsigned value,
                      int change)
{
    if (value < 256) {
        put_with_1(env, small, value, change);
        return;
    }
    put(env, large, change);
    for (int shift = 24; shift >= 0; shift -= 8)
        put_byte(env, value >> shift & 0xff);
}

void tt_tcl_put_push(CompileEnv *env, int literal)
{
    put_index(env, INST_PUSH1, INST_PUSH4, (unsigned)literal, 1);
}

void tt_tcl_put_call(CompileEnv *env, unsigned words)
{
    put_with_1(env, INST_INVOKE_STK1, words, words > 1 ? -1 : 0);
}

/* ── Marks ────────────────────────────────────────────────────────────────────────── */

int tt_tcl_slot_of(const Proc *proc)
{
    for (const CompiledLocal *l = proc->firstLocalPtr; l; l = l->nextPtr)
        if (l->flags & SLOT)
            return l->frameIndex;
    return -1;
}

/* As Tcl makes a temporary of its own. */
static int make_slot(Proc *proc)
{
    int slot = tt_tcl_slot_of(proc);
    CompiledLocal *l;

    if (slot >= 0)
        return slot;
    l = (CompiledLocal *)(void *)ckalloc(sizeof *l + 8);
    memset(l, 0, sizeof *l + 8);
    l->frameIndex = proc->numCompiledLocals++;
    l->flags = VAR_TEMPORARY | SLOT;
    if (proc->firstLocalPtr)
        proc->lastLocalPtr->nextPtr = l;
    else
        proc->firstLocalPtr = l;
    proc->lastLocalPtr = l;
    return l->frameIndex;
}

/* A literal of our own type: its text is not that of any other. */
static int literal_of(CompileEnv *env, const struct tt_tcl_mark *m)
{
    char text[40];
    int length = snprintf(text, sizeof text, "tallytree mark %p", (const void *)m),
        literal = TclRegisterLiteral(env, text, length, 0);
    Tcl_Obj *o = env->literalArrayPtr[literal].objPtr;

    if (o->typePtr != &tt_tcl_mark_type) {
        if (o->typePtr && o->typePtr->freeIntRepProc)
            o->typePtr->freeIntRepProc(o);
        o->typePtr = &tt_tcl_mark_type;
        o->internalRep.twoPtrValue.ptr1 = (void *)(uintptr_t)m;
    }
    return literal;
}

void tt_tcl_put_mark(CompileEnv *env, const struct tt_tcl_mark *m)
{
    char command[] = TT_TCL_COMMAND;

    if (!m)
        return;
    if (env->procPtr) {
        tt_tcl_put_push(env, literal_of(env, m));
        put_index(env, INST_STORE_SCALAR1, INST_STORE_SCALAR4,
                  (unsigned)make_slot(env->procPtr), 0);
        put(env, INST_POP, -1);
        put_with_1(env, INST_CLOCK_READ, 1, 1);
    } else {
        tt_tcl_put_push(env, TclRegisterLiteral(env, command, -1, LITERAL_CMD_NAME));
        tt_tcl_put_push(env, literal_of(env, m));
        put_with_1(env, INST_INVOKE_STK1, 2, -1);
    }
    put(env, INST_POP, -1);
}

static const struct tt_tcl_mark *literal_at(const CompileEnv *env,
                                            const unsigned char **next)
{
    const unsigned char *p = *next;
    const Tcl_Obj *o;

    if (*p != INST_PUSH1 && *p != INST_PUSH4)
        return NULL;
    o = env->literalArrayPtr[*p == INST_PUSH1 ? p[1] : TclGetUInt4AtPtr(p + 1)].objPtr;
    *next = p + (*p == INST_PUSH1 ? 2 : 5);
    return o->typePtr == &tt_tcl_mark_type ? o->internalRep.twoPtrValue.ptr1 : NULL;
}

const struct tt_tcl_mark *tt_tcl_mark_at(const CompileEnv *env, int code)
{
    enum { START = 9 }; /* bytes of an instruction that looks whether the code is stale */
    const unsigned char *p = env->codeStart + code;
    const struct tt_tcl_mark *m;

    if (*p == INST_START_CMD)
        p += START;
    m = literal_at(env, &p);
    return m || env->procPtr ? m : literal_at(env, &p);
}
