/* SPDX-License-Identifier: MIT */
/* tcl-direct.c - runs a script without byte-code, as Tcl's shell does, with marks.
 *
 * Tcl's shell parses its script a command at a time, substitutes the words, and calls the
 * command.  Commands in brackets are run the same way while their word is substituted.  The
 * same is done here, with the same frames, levels, limits and traces of errors, so a program
 * cannot tell the difference; a mark is passed before each command.
 *
 *      set x [f [g]]        depth 0   set x [f [g]]
 *                                 1   └─ f [g]
 *                                 2      └─ g */
#include "tcl-direct.h"

#include <stdlib.h>
#include <string.h>

#include "tcl-attach.h"

struct direct {
    Tcl_Interp *interp;
    Interp *i; /* the same */
    Tcl_Obj *path;
    const char *file;
    const NRE_callback *run; /* runs the script; NULL: no marks */
};

struct spot { /* a byte of the script, and its place in the file */
    const char *at;
    struct tt_tcl_place place;
};

static int run_script(struct direct *, struct spot, const char *script, int size,
                      int line, uint32_t depth);

static void move_to(struct spot *s, const char *to)
{
    s->place = tt_tcl_text_at(&s->place, s->at, (size_t)(to - s->at));
    s->at = to;
}

static int newlines(const char *from, const char *to)
{
    int n = 0;

    for (; from < to; from++)
        n += *from == '\n';
    return n;
}

/* ── Words ────────────────────────────────────────────────────────────────────────── */

struct word {       /* a word that is being put together */
    Tcl_Obj *value; /* owned; NULL: nothing yet */
    int line;       /* what Tcl takes for that of the next command in it */
};

static int has_commands(const Tcl_Token *token, int count)
{
    for (int i = 0; i < count; i++)
        if (token[i].type == TCL_TOKEN_COMMAND)
            return 1;
    return 0;
}

static void append(struct word *w, Tcl_Obj *part)
{
    Tcl_IncrRefCount(part);
    if (!w->value) {
        w->value = part;
        return;
    }
    if (Tcl_IsShared(w->value)) {
        Tcl_Obj *own = Tcl_DuplicateObj(w->value);
        Tcl_DecrRefCount(w->value);
        Tcl_IncrRefCount(own);
        w->value = own;
    }
    Tcl_AppendObjToObj(w->value, part);
    Tcl_DecrRefCount(part);
}

static int too_deep(Tcl_Interp *interp)
{
    const Interp *i = (const Interp *)(const void *)interp;

    if (i->numLevels <= i->maxNestingDepth)
        return 0;
    Tcl_SetObjResult(
        interp, Tcl_NewStringObj("too many nested evaluations (infinite loop?)", -1));
    Tcl_SetErrorCode(interp, "TCL", "LIMIT", "STACK", NULL);
    return 1;
}

static int run_brackets(struct direct *d, struct spot at, const Tcl_Token *token,
                        int line, uint32_t depth)
{
    int result = TCL_ERROR;

    move_to(&at, token->start + 1);
    d->i->numLevels++;
    Tcl_ResetResult(d->interp);
    if (!too_deep(d->interp))
        result = run_script(d, at, token->start + 1, token->size - 2, line, depth + 1);
    if (--d->i->numLevels == 0)
        TclUnsetCancelFlags(d->i);
    return result;
}

static int substitute(struct direct *, struct spot, const Tcl_Token *, int count,
                      struct word *, uint32_t depth);

/* $name(index), where the index has commands in it. */
static int read_element(struct direct *d, struct spot at, const Tcl_Token *token,
                        int line, uint32_t depth)
{
    struct word index = {NULL, line};
    int result = substitute(d, at, token + 2, token->numComponents - 1, &index, depth);
    Tcl_Obj *name, *value = NULL;

    if (result == TCL_OK) {
        name = Tcl_NewStringObj(token[1].start, token[1].size);
        Tcl_IncrRefCount(name);
        value = Tcl_ObjGetVar2(d->interp, name, index.value, TCL_LEAVE_ERR_MSG);
        Tcl_DecrRefCount(name);
        if (value)
            Tcl_SetObjResult(d->interp, value);
        else
            result = TCL_ERROR;
    }
    if (index.value)
        Tcl_DecrRefCount(index.value);
    return result;
}

/* One token with those in it: its value is the interpreter's result. */
static int substitute_one(struct direct *d, struct spot at, const Tcl_Token *token,
                          int line, uint32_t depth)
{
    char character[TCL_UTF_MAX];

    if (token->type == TCL_TOKEN_TEXT || token->type == TCL_TOKEN_BS) {
        int is_text = token->type == TCL_TOKEN_TEXT,
            size = is_text ? token->size
                           : Tcl_UtfBackslash(token->start, NULL, character);
        Tcl_SetObjResult(d->interp,
                         Tcl_NewStringObj(is_text ? token->start : character, size));
        return TCL_OK;
    }
    if (token->type == TCL_TOKEN_COMMAND)
        return run_brackets(d, at, token, line, depth);
    if (token->type == TCL_TOKEN_VARIABLE &&
        has_commands(token + 1, token->numComponents))
        return read_element(d, at, token, line, depth);
    return Tcl_EvalTokensStandard(d->interp, (Tcl_Token *)(uintptr_t)token,
                                  1 + token->numComponents);
}

/* Tokens with commands among them, from left to right.  Tcl counts the lines of a word by
 * those that it continues and those in its commands. */
static int substitute(struct direct *d, struct spot at, const Tcl_Token *token, int count,
                      struct word *w, uint32_t depth)
{
    int continued = 0, result;

    for (int i = 0; i < count; i += 1 + token[i].numComponents) {
        const Tcl_Token *t = &token[i];
        if (t->type == TCL_TOKEN_BS && t->start[1] == '\n')
            continued++;
        result = substitute_one(d, at, t, w->line + continued, depth);
        if (result == TCL_BREAK || result == TCL_CONTINUE)
            return result;
        if (result != TCL_ERROR)
            append(w, Tcl_GetObjResult(d->interp));
        if (result != TCL_OK)
            return result;
        if (t->type == TCL_TOKEN_COMMAND)
            w->line += newlines(t->start + 1, t->start + t->size - 1);
    }
    return TCL_OK;
}

/* The value of a whole word is the interpreter's result. */
static int substitute_word(struct direct *d, struct spot at, const Tcl_Token *word,
                           int line, uint32_t depth)
{
    struct word w = {NULL, line};
    int result;

    if (!has_commands(word + 1, word->numComponents))
        return Tcl_EvalTokensStandard(d->interp, (Tcl_Token *)(uintptr_t)(word + 1),
                                      word->numComponents);
    result = substitute(d, at, word + 1, word->numComponents, &w, depth);
    if (result != TCL_ERROR && w.value)
        Tcl_SetObjResult(d->interp, w.value);
    else if (result != TCL_ERROR)
        Tcl_ResetResult(d->interp);
    if (w.value)
        Tcl_DecrRefCount(w.value);
    return result;
}

/* ── Lists of words ───────────────────────────────────────────────────────────────── */

struct words {
    Tcl_Obj **value; /* each is owned */
    int *line;       /* where it begins; -1: it is not there to read */
    int count, room;
};

static int add_word(struct words *w, Tcl_Obj *value, int line)
{
    if (w->count == w->room) {
        int room = w->room ? w->room * 2 : 16;
        Tcl_Obj **values = realloc(w->value, (size_t)room * sizeof *values);
        int *lines = values ? realloc(w->line, (size_t)room * sizeof *lines) : NULL;
        if (values)
            w->value = values;
        if (!lines)
            return -1;
        w->line = lines;
        w->room = room;
    }
    Tcl_IncrRefCount(value);
    w->value[w->count] = value;
    w->line[w->count++] = line;
    return 0;
}

static void drop_words(struct words *w)
{
    for (int i = 0; i < w->count; i++)
        Tcl_DecrRefCount(w->value[i]);
    free(w->value);
    free(w->line);
}

static int fail_memory(Tcl_Interp *interp)
{
    Tcl_SetObjResult(interp, Tcl_NewStringObj("tallytree: no memory", -1));
    return TCL_ERROR;
}

/* {*}LIST: a word for each element. */
static int add_elements(struct direct *d, struct words *w, Tcl_Obj *list, int word)
{
    Tcl_Obj **element;
    int count, result;

    result = Tcl_ListObjGetElements(d->interp, list, &count, &element);
    if (result != TCL_OK) {
        Tcl_AppendObjToErrorInfo(d->interp,
                                 Tcl_ObjPrintf("\n    (expanding word %d)", word));
        return result;
    }
    for (int i = 0; i < count; i++)
        if (add_word(w, element[i], -1) != 0)
            return fail_memory(d->interp);
    return TCL_OK;
}

static int is_literal(const Tcl_Token *word)
{
    if (word->type == TCL_TOKEN_SIMPLE_WORD)
        return 1;
    for (int i = 1; i <= word->numComponents; i++)
        if (word[i].type != TCL_TOKEN_TEXT && word[i].type != TCL_TOKEN_BS)
            return 0;
    return word->type == TCL_TOKEN_WORD;
}

static int substitute_all(struct direct *d, struct spot at, const Tcl_Parse *p, int line,
                          uint32_t depth, struct words *w)
{
    const Tcl_Token *word = p->tokenPtr;
    const char *before = p->commandStart;
    int result = TCL_OK;
    Tcl_Obj *value;

    for (int i = 0; result == TCL_OK && i < p->numWords; i++) {
        line += newlines(before, word->start);
        before = word->start;
        result = substitute_word(d, at, word, line, depth);
        if (result != TCL_OK)
            return result;
        value = Tcl_GetObjResult(d->interp);
        Tcl_IncrRefCount(value);
        if (word->type == TCL_TOKEN_EXPAND_WORD)
            result = add_elements(d, w, value, i);
        else if (add_word(w, value, is_literal(word) ? line : -1) != 0)
            result = fail_memory(d->interp);
        Tcl_DecrRefCount(value);
        word += 1 + word->numComponents;
    }
    return result;
}

/* ── Commands ─────────────────────────────────────────────────────────────────────── */

/* Tcl looks there for the lines of words that a command evaluates. */
static void enter_words(struct direct *d, const struct words *w, CmdFrame *frame)
{
    int is_new;

    for (int i = 1; i < w->count; i++) {
        Tcl_HashEntry *e;
        CFWord *known;
        if (w->line[i] < 0)
            continue;
        e = Tcl_CreateHashEntry(d->i->lineLAPtr, (const char *)w->value[i], &is_new);
        if (!is_new) {
            ((CFWord *)Tcl_GetHashValue(e))->refCount++;
            continue;
        }
        known = (CFWord *)(void *)ckalloc(sizeof *known);
        *known = (CFWord){.framePtr = frame, .word = i, .refCount = 1};
        Tcl_SetHashValue(e, known);
    }
}

static void leave_words(struct direct *d, const struct words *w)
{
    for (int i = 1; i < w->count; i++) {
        Tcl_HashEntry *e = Tcl_FindHashEntry(d->i->lineLAPtr, (const char *)w->value[i]);
        CFWord *known = e ? Tcl_GetHashValue(e) : NULL;
        if (!known || known->refCount-- > 1)
            continue;
        ckfree((char *)known);
        Tcl_DeleteHashEntry(e);
    }
}

static int shown_size(const Tcl_Parse *p)
{
    return p->commandSize - (p->term == p->commandStart + p->commandSize - 1);
}

static int call(struct direct *d, const Tcl_Parse *p, CmdFrame *frame,
                const struct words *w)
{
    int result;

    frame->cmd = p->commandStart;
    frame->len = shown_size(p);
    frame->nline = w->count;
    frame->line = w->line;
    enter_words(d, w, frame);
    result = Tcl_EvalObjv(d->interp, w->count, w->value,
                          TCL_EVAL_NOERR | TCL_EVAL_SOURCE_IN_FRAME);
    leave_words(d, w);
    frame->line = NULL;
    frame->nline = 0;
    if (frame->cmdObj)
        Tcl_DecrRefCount(frame->cmdObj);
    frame->cmdObj = NULL;
    return result;
}

static void pass(const struct direct *d, tt_block block, uint32_t depth, uint32_t flags)
{
    struct tt_tcl_mark m = {.block = block, .depth = depth, .flags = flags};

    if (d->run)
        tt_tcl_pass(d->i, &m, d->run);
}

/* A command begins; its words may be scripts for later. */
static void begin(const struct direct *d, const struct spot *at, const Tcl_Parse *p,
                  uint32_t depth)
{
    const struct tt_tcl_text as_it_is = {.joins = 0};
    size_t size = tt_tcl_text_length(p->commandStart, (size_t)p->commandSize);
    tt_block block;

    if (!d->run)
        return;
    block = tt_tcl_statement(d->file, &at->place, p, size);
    pass(d, block, depth, 0);
    tt_tcl_add_homes(p, block, d->file, &as_it_is, p->commandStart, &at->place);
}

static int run_command(struct direct *d, struct spot at, const Tcl_Parse *p,
                       CmdFrame *frame, int line, uint32_t depth)
{
    struct tt_tcl_interp *t = d->run ? tt_tcl_interp_of(d->interp) : NULL;
    struct words w = {NULL, NULL, 0, 0};
    uint32_t lent = t ? t->lent : 0;
    int result;

    if (t)
        tt_tcl_take_expressions(t, p);
    begin(d, &at, p, depth);
    d->i->cmdFramePtr = frame->nextPtr; /* commands in the words do not lie in this one */
    result = substitute_all(d, at, p, line, depth, &w);
    d->i->cmdFramePtr = frame;
    if (result == TCL_OK)
        result = call(d, p, frame, &w);
    drop_words(&w);
    t = t ? tt_tcl_interp_of(d->interp) : NULL; /* it may be gone */
    if (t)
        tt_tcl_give_back(t, lent);
    return result;
}

/* ── Scripts ──────────────────────────────────────────────────────────────────────── */

/* Checks how a script may end at the outermost level. */
static int fail_code(Tcl_Interp *interp, int code)
{
    char number[16];

    Tcl_ResetResult(interp);
    if (code == TCL_BREAK || code == TCL_CONTINUE)
        Tcl_SetObjResult(interp, Tcl_ObjPrintf("invoked \"%s\" outside of a loop",
                                               code == TCL_BREAK ? "break" : "continue"));
    else
        Tcl_SetObjResult(interp, Tcl_ObjPrintf("command returned bad code: %d", code));
    (void)snprintf(number, sizeof number, "%d", code);
    Tcl_SetErrorCode(interp, "TCL", "UNEXPECTED_RESULT_CODE", number, NULL);
    return TCL_ERROR;
}

/* As at the return of a procedure: the code may be for a level further out. */
static int unwrap(Interp *i)
{
    int result = TCL_RETURN;

    if (--i->returnLevel == 0) {
        result = i->returnCode;
        i->returnLevel = 1;
        i->returnCode = TCL_OK;
        if (result == TCL_ERROR)
            i->flags |= ERR_LEGACY_COPY;
    }
    return result;
}

static int end_early(struct direct *d, const char *script, const Tcl_Parse *p, int result)
{
    if (d->i->numLevels == 0) {
        if (result == TCL_RETURN)
            result = unwrap(d->i);
        if (result != TCL_OK && result != TCL_ERROR)
            result = fail_code(d->interp, result);
    }
    if (result == TCL_ERROR && !(d->i->flags & ERR_ALREADY_LOGGED))
        Tcl_LogCommandInfo(d->interp, script, p->commandStart, shown_size(p));
    d->i->flags &= ~ERR_ALREADY_LOGGED;
    return result;
}

/* Stops at the first command that does not end normally; a `return` may have ended all of
 * it, which is normal. */
static int run_commands(struct direct *d, struct spot at, const char *script, int size,
                        CmdFrame *frame, int line, uint32_t depth)
{
    const char *next = script, *end = script + size;
    int code = TCL_OK, result = TCL_OK;
    Tcl_Parse p;

    while (code == TCL_OK && next < end) {
        if (Tcl_ParseCommand(d->interp, next, (int)(end - next), 0, &p) != TCL_OK) {
            Tcl_LogCommandInfo(d->interp, script, p.commandStart,
                               (int)(p.term + 1 - p.commandStart));
            d->i->flags &= ~ERR_ALREADY_LOGGED;
            return TCL_ERROR;
        }
        line += newlines(next, p.commandStart);
        move_to(&at, p.commandStart);
        if (p.numWords > 0)
            code = run_command(d, at, &p, frame, line, depth);
        result = code == TCL_OK ? TCL_OK : end_early(d, script, &p, code);
        next = p.commandStart + p.commandSize;
        line += newlines(p.commandStart, next);
        Tcl_FreeParse(&p);
    }
    return result;
}

static int run_script(struct direct *d, struct spot at, const char *script, int size,
                      int line, uint32_t depth)
{
    CmdFrame frame = {.type = TCL_LOCATION_SOURCE,
                      .level = d->i->cmdFramePtr ? d->i->cmdFramePtr->level + 1 : 1,
                      .framePtr = d->i->framePtr,
                      .nextPtr = d->i->cmdFramePtr,
                      .data.eval.path = d->path};
    int result;

    Tcl_ResetResult(d->interp);
    d->i->cmdFramePtr = &frame;
    result = run_commands(d, at, script, size, &frame, line, depth);
    d->i->cmdFramePtr = frame.nextPtr;
    pass(d, 0, depth, TT_TCL_END | (depth ? 0 : TT_TCL_LAST));
    return result;
}

static int nothing(ClientData data[], Tcl_Interp *interp, int result)
{
    (void)data, (void)interp;
    return result;
}

int tt_tcl_direct_run(Tcl_Interp *interp, Tcl_Obj *path, Tcl_Obj *text)
{
    struct direct d = {.interp = interp,
                       .i = (Interp *)(void *)interp,
                       .path = path,
                       .file = Tcl_GetString(path)};
    NRE_callback *before = TOP_CB(interp);
    struct spot start = {.place = {.line = 1, .column = 1, .found = 1}};
    int size, result;

    start.at = Tcl_GetStringFromObj(text, &size);
    if (tt_tcl_mode < TT_TCL_PROCS && tt_tcl_is_wanted(d.file)) {
        Tcl_NRAddCallback(interp, nothing, NULL, NULL, NULL, NULL);
        d.run = TOP_CB(interp);
    }
    result = run_script(&d, start, start.at, size, 1, 0);
    return TclNRRunCallbacks(interp, result, before);
}
