/* SPDX-License-Identifier: MIT */
/* tcl-emit.c - instructions at the end of the byte-code that is being made.
 *
 *      push        the mark, a literal of a separate type
 *      push        an empty list
 *      listConcat  copies the first, as it is shared: our type is called for that
 *      pop         the copy, an empty list
 *
 * So a mark is no command, asks for no variable, and leaves result and options alone. */
#include "tcl-emit.h"

#include <stdio.h>
#include <string.h>

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

/* In the short form if it fits. */
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

/* The text is made when it is asked for: until then a copy has none to copy. */
static void write_text(Tcl_Obj *o)
{
    char text[40];
    int length = snprintf(text, sizeof text, "tallytree mark %p",
                          o->internalRep.twoPtrValue.ptr1);

    o->bytes = ckalloc((unsigned)length + 1);
    memcpy(o->bytes, text, (size_t)length + 1);
    o->length = length;
}

/* Called when byte-code reaches a mark.  The copy is an empty text, which is an empty
 * list to Tcl. */
static void pass_mark(Tcl_Obj *mark, Tcl_Obj *copy)
{
    Tcl_Interp *interp = mark->internalRep.twoPtrValue.ptr2;

    if (copy->bytes)
        Tcl_InvalidateStringRep(copy);
    copy->bytes = tt_tcl_empty;
    copy->length = 0;
    copy->typePtr = NULL;
    tt_tcl_pass((Interp *)(void *)interp, mark->internalRep.twoPtrValue.ptr1,
                TOP_CB(interp));
}

const Tcl_ObjType tt_tcl_mark_type = {"tallytree mark", NULL, pass_mark, write_text,
                                      NULL};

char *tt_tcl_empty;

/* Marks are in no table of Tcl's that other code looks into.  Within one piece of code Tcl
 * compares lengths first, and no text is that long. */
static int literal_of(CompileEnv *env, const struct tt_tcl_mark *m)
{
    char text[40];
    int length = snprintf(text, sizeof text, "tallytree mark %p", (const void *)m),
        literal = TclRegisterLiteral(env, text, length, LITERAL_UNSHARED);
    Tcl_Obj *o = env->literalArrayPtr[literal].objPtr;

    if (o->typePtr == &tt_tcl_mark_type)
        return literal;
    if (o->typePtr && o->typePtr->freeIntRepProc)
        o->typePtr->freeIntRepProc(o);
    o->typePtr = &tt_tcl_mark_type;
    o->internalRep.twoPtrValue.ptr1 = (void *)(uintptr_t)m;
    o->internalRep.twoPtrValue.ptr2 = env->iPtr;
    Tcl_InvalidateStringRep(o);
    o->length = -1;
    return literal;
}

void tt_tcl_put_mark(CompileEnv *env, const struct tt_tcl_mark *m)
{
    char empty[] = "";

    if (!m)
        return;
    tt_tcl_put_push(env, literal_of(env, m));
    tt_tcl_put_push(env, TclRegisterLiteral(env, empty, 0, 0));
    put(env, INST_LIST_CONCAT, -1);
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

    if (*p == INST_START_CMD)
        p += START;
    return literal_at(env, &p);
}
