/* SPDX-License-Identifier: MIT */
/* tcl-late.c - marks of commands whose compiler is not called.
 *
 * Tcl itself makes the calls of commands that are not known yet, whose name is in a
 * variable, whose words are expanded, and of an object's [my].  Tcl passes complete code
 * to its optimizer, and to this file first: such commands are in the table of commands,
 * but have no mark.  They get one before and, if they are the last of their script, one
 * after. */
#include <stdlib.h>
#include <string.h>

#include "tcl-attach.h"
#include "tcl-emit.h"
#include "tcl-insert.h"

struct late {
    struct tt_tcl_interp *t;
    CompileEnv *env;
    struct tt_tcl_insertion *in; /* room for two of each command */
    int count;
    int *around, depth; /* the commands around, by number */
};

static int code_end(const CmdLocation *c) { return c->codeOffset + c->numCodeBytes; }

/* Commands are in the order in which they begin. */
static void find_around(struct late *l, int i)
{
    const CmdLocation *map = l->env->cmdMapPtr;

    while (l->depth && code_end(&map[i]) > code_end(&map[l->around[l->depth - 1]]))
        l->depth--;
}

static int is_marked(const struct late *l, int i)
{
    const struct tt_tcl_mark *m = tt_tcl_mark_at(l->env, l->env->cmdMapPtr[i].codeOffset);

    return m && m->depth == (uint32_t)l->depth && !(m->flags & TT_TCL_END);
}

/* Is there no other command of its script after this place? */
static int is_last(const CompileEnv *env, int at)
{
    const char *p = env->source + at, *end = env->source + env->numSrcBytes;

    for (; p < end; p++) {
        if (*p == '#') {
            while (p < end && *p != '\n')
                p += *p == '\\' ? 2 : 1;
            continue;
        }
        if (*p == '\\' && p + 1 < end && p[1] == '\n')
            p++;
        else if (!strchr(" \t\r\n;", *p))
            return *p == '}' || *p == ']' || *p == '"';
    }
    return 1;
}

/* Makes the same code as at the end of the byte-code.  A mark after a command is also
 * right for code that jumps there: everything at that depth is over there, too. */
static void add(struct late *l, const struct tt_tcl_mark *m, int at, int behind)
{
    CompileEnv *env = l->env;
    struct tt_tcl_insertion *in = &l->in[l->count];
    ptrdiff_t before = env->codeNext - env->codeStart;
    int depth = env->currStackDepth;

    if (!m)
        return;
    tt_tcl_put_mark(env, m);
    in->size = (int)(env->codeNext - env->codeStart - before);
    env->codeNext = env->codeStart + before;
    env->currStackDepth = depth;
    if (in->size > TT_TCL_INSERTED_MOST)
        return;
    memcpy(in->code, env->codeNext, (size_t)in->size);
    in->at = at;
    in->order = behind ? -l->count : l->count; /* the innermost ends first */
    l->count++;
}

static int is_skipped(const Tcl_Parse *p)
{
    return tt_tcl_mode == TT_TCL_BLOCKS && tt_tcl_is_simple(p);
}

static void mark_command(struct late *l, int i, const Tcl_Parse *p, int length)
{
    CompileEnv *env = l->env;
    const CmdLocation c = env->cmdMapPtr[i];
    uint32_t depth = (uint32_t)l->depth;

    tt_tcl_take_expressions(l->t, p);
    if (is_skipped(p))
        return;
    add(l, tt_tcl_late_mark(l->t, env, p, length, depth, i ? 0 : TT_TCL_FIRST),
        c.codeOffset, 0);
    if (is_last(env, c.srcOffset + c.numSrcBytes))
        add(l,
            tt_tcl_late_mark(l->t, env, p, length, depth,
                             TT_TCL_END | (depth ? 0 : TT_TCL_LAST)),
            code_end(&c), 1);
}

static void look_at_command(struct late *l, int i)
{
    CompileEnv *env = l->env;
    const CmdLocation c = env->cmdMapPtr[i];
    const ECL *location = i < env->extCmdMapPtr->nuloc ? &env->extCmdMapPtr->loc[i]
                                                       : NULL;
    const char *text = env->source + c.srcOffset;
    int end = c.srcOffset + c.numSrcBytes, line = env->line,
        length = c.numSrcBytes +
                 (end < env->numSrcBytes && strchr(";\n", env->source[end]) ? 1 : 0);
    Tcl_Parse p;

    if (Tcl_ParseCommand(NULL, text, c.numSrcBytes, 0, &p) != TCL_OK)
        return;
    if (location && location->srcOffset == c.srcOffset && location->line)
        env->line = location->line[0];
    if (p.numWords > 0 && !is_marked(l, i))
        mark_command(l, i, &p, length);
    if (p.numWords > 1)
        tt_tcl_unit_homes(l->t, env, &p, is_skipped(&p) ? 0 : length);
    env->line = line;
    Tcl_FreeParse(&p);
}

/* An assembler compiles texts that are elsewhere. */
static int lies_in(const CompileEnv *env, int i)
{
    const CmdLocation *c = &env->cmdMapPtr[i];

    return c->srcOffset >= 0 && c->numSrcBytes >= 0 &&
           c->numSrcBytes <= env->numSrcBytes - c->srcOffset;
}

static void mark_all(struct late *l)
{
    size_t commands = (size_t)l->env->numCommands;

    l->in = calloc(2 * commands, sizeof *l->in);
    l->around = calloc(commands, sizeof *l->around);
    for (int i = 0; l->in && l->around && i < l->env->numCommands; i++) {
        find_around(l, i);
        if (lies_in(l->env, i))
            look_at_command(l, i);
        l->around[l->depth++] = i;
    }
    if (l->count && tt_tcl_insert(l->env, l->in, l->count) == 0)
        l->env->maxStackDepth += 3;
    free(l->in);
    free(l->around);
}

/* Tcl reads the texts of literals when its table of them grows. */
static void forget_texts(const CompileEnv *env)
{
    for (int i = 0; i < env->literalArrayNext; i++) {
        Tcl_Obj *o = env->literalArrayPtr[i].objPtr;
        if (o->typePtr != &tt_tcl_mark_type || !o->bytes)
            continue;
        Tcl_InvalidateStringRep(o);
        o->length = -1;
    }
}

void tt_tcl_finish_code(void *arg)
{
    CompileEnv *env = arg;
    struct late l = {.t = tt_tcl_interp_of((Tcl_Interp *)(void *)env->iPtr), .env = env};

    if (!l.t)
        return;
    if (l.t->active && env->numCommands && tt_tcl_unit_enter(l.t, env)) {
        mark_all(&l);
        forget_texts(env);
    }
    tt_tcl_unit_leave(l.t);
    if (l.t->optimizer)
        l.t->optimizer(env);
}
