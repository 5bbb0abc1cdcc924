/* SPDX-License-Identifier: MIT */
/* run.c - a program that knows nothing of us: start.c hands over its interpreters and its
 * script.
 *
 * Tcl's shell runs its script without byte-code, a command at a time.  So do we, but each
 * is compiled, with the line it stands on: what it prints, and says of itself, is the
 * same. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "package.h"

/* ── Start ────────────────────────────────────────────────────────────────────────── */

enum { ARGUMENTS_MOST = 64 };

static void end(ClientData data) { tt_tcl_stop(data); }

/* $TALLYTREE_TCL has the words of tallytree::start, each ended by 0x1f. */
static int start(Tcl_Interp *interp)
{
    const char *p = getenv("TALLYTREE_TCL"), *folder = getenv("TALLYTREE_FOLDER");
    Tcl_Obj *word[ARGUMENTS_MOST];
    int count = 0, result;

    while (p && *p && count < ARGUMENTS_MOST - 2) {
        size_t length = strcspn(p, "\x1f");
        word[count++] = Tcl_NewStringObj(p, (int)length);
        p += length + (p[length] != '\0');
    }
    if (folder) {
        word[count++] = Tcl_NewStringObj("-output", -1);
        word[count++] = Tcl_ObjPrintf("%s/tcl.%d", folder, (int)getpid());
    }
    for (int i = 0; i < count; i++)
        Tcl_IncrRefCount(word[i]);
    result = tt_tcl_start(interp, count, word);
    for (int i = 0; i < count; i++)
        Tcl_DecrRefCount(word[i]);
    if (result == TCL_OK)
        Tcl_CreateExitHandler(end, interp);
    else
        (void)fprintf(stderr, "%s\n", Tcl_GetString(Tcl_GetObjResult(interp)));
    Tcl_ResetResult(interp);
    return result;
}

/* ── The script ───────────────────────────────────────────────────────────────────── */

/* As Tcl_FSEvalFileEx reads it; its messages too. */
static Tcl_Obj *read_script(Tcl_Interp *interp, Tcl_Obj *path, const char *encoding)
{
    Tcl_Channel in = Tcl_FSOpenFileChannel(interp, path, "r", 0644);
    Tcl_Obj *text;
    int bom;

    if (!in)
        return NULL;
    (void)Tcl_SetChannelOption(interp, in, "-eofchar", "\32 {}");
    text = Tcl_NewObj();
    Tcl_IncrRefCount(text);
    if (encoding && Tcl_SetChannelOption(interp, in, "-encoding", encoding) != TCL_OK)
        goto fail;
    if (Tcl_ReadChars(in, text, 1, 0) < 0)
        goto fail;
    bom = strcmp(Tcl_GetString(text), "\xEF\xBB\xBF") == 0;
    if (Tcl_ReadChars(in, text, -1, !bom) < 0)
        goto fail;
    if (Tcl_Close(interp, in) == TCL_OK)
        return text;
    in = NULL;

fail:
    if (in)
        (void)Tcl_Close(NULL, in);
    Tcl_DecrRefCount(text);
    return NULL;
}

struct script {
    Tcl_Interp *interp;
    Tcl_Obj *path; /* as it is normally written */
    const char *at;
    int left; /* bytes */
    struct tt_tcl_place place;
};

/* One command without commands in its words, as the shell does it.  Lines before it are
 * there again, but empty. */
static int run_bare(const struct script *s, const char *text, int size)
{
    Interp *i = (Interp *)(void *)s->interp;
    char *script = malloc((size_t)size + s->place.line); /* and a zero */
    int result;

    if (!script)
        return Tcl_EvalEx(s->interp, text, size, 0);
    memset(script, '\n', s->place.line);
    memcpy(script + s->place.line - 1, text, (size_t)size);
    script[s->place.line - 1 + (uint32_t)size] = '\0';
    i->evalFlags |= TCL_EVAL_FILE;
    result = Tcl_EvalEx(s->interp, script, size + (int)s->place.line - 1, 0);
    free(script);
    return result;
}

static int nothing(ClientData data[], Tcl_Interp *interp, int result)
{
    (void)data, (void)interp;
    return result;
}

/* The same between two marks; the callback stands for its run. */
static int run_marked(const struct script *s, const Tcl_Parse *p, const char *text,
                      int size)
{
    Interp *i = (Interp *)(void *)s->interp;
    NRE_callback *before = TOP_CB(s->interp), *run;
    struct tt_tcl_mark m = {
        .block = tt_tcl_statement(Tcl_GetString(s->path), &s->place, p, p->commandSize),
        .flags = TT_TCL_FIRST};
    int result;

    Tcl_NRAddCallback(s->interp, nothing, NULL, NULL, NULL, NULL);
    run = TOP_CB(s->interp);
    tt_tcl_pass(i, &m, run);
    result = run_bare(s, text, size);
    m.flags = TT_TCL_END | TT_TCL_LAST;
    tt_tcl_pass(i, &m, run);
    return TclNRRunCallbacks(s->interp, result, before);
}

/* Does the trace of an error end with this command, cut as Tcl cuts it? */
static int ends_with(Tcl_Obj *trace, const char *command, int size)
{
    enum { SHOWN = 150 };
    int length, shown = size > SHOWN ? SHOWN : size;
    const char *text = Tcl_GetStringFromObj(trace, &length),
               *tail = size > SHOWN ? "...\"" : "\"";
    int rest = (int)strlen(tail);

    return length > shown + rest && strcmp(text + length - rest, tail) == 0 &&
           memcmp(text + length - rest - shown, command, (size_t)shown) == 0 &&
           text[length - rest - shown - 1] == '"';
}

/* Byte-code tells of the innermost command alone; the shell of each around it.  Returns
 * whether it was in these words. */
static int add_around(Tcl_Interp *interp, Tcl_Obj *trace, const char *script, int size)
{
    Interp *i = (Interp *)(void *)interp;
    int found = 0, length;
    Tcl_Parse p;

    while (!found && size > 0 && Tcl_ParseCommand(NULL, script, size, 0, &p) == TCL_OK) {
        const char *next = p.commandStart + p.commandSize;
        length = (int)(p.term - p.commandStart);
        for (int n = 0; !found && n < p.numTokens; n++)
            if (p.tokenPtr[n].type == TCL_TOKEN_COMMAND)
                found = add_around(interp, trace, p.tokenPtr[n].start + 1,
                                   p.tokenPtr[n].size - 2);
        if (found) {
            i->flags &= ~ERR_ALREADY_LOGGED;
            Tcl_LogCommandInfo(interp, script, p.commandStart, length);
        } else {
            found = ends_with(trace, p.commandStart, length);
        }
        Tcl_FreeParse(&p);
        size -= (int)(next - script);
        script = next;
    }
    return found;
}

static void tell_around(const struct script *s, const Tcl_Parse *p, int size)
{
    const Interp *i = (const Interp *)(const void *)s->interp;
    Tcl_Obj *trace = i->errorInfo ? Tcl_DuplicateObj(i->errorInfo) : NULL;
    int line = Tcl_GetErrorLine(s->interp);

    if (!trace)
        return;
    Tcl_IncrRefCount(trace);
    (void)add_around(s->interp, trace, p->commandStart, size);
    Tcl_DecrRefCount(trace);
    Tcl_SetErrorLine(s->interp, line);
}

/* One command whose words have commands in them: as byte-code, so that they are seen. */
static int run_compiled(const struct script *s, const Tcl_Parse *p, int size)
{
    int line = (int)s->place.line, result;
    Tcl_Obj *script = Tcl_NewStringObj(p->commandStart, size);
    CmdFrame frame = {.type = TCL_LOCATION_SOURCE,
                      .level = 1,
                      .line = &line,
                      .nline = 1,
                      .framePtr = ((Interp *)(void *)s->interp)->framePtr,
                      .data.eval.path = s->path};

    Tcl_IncrRefCount(script);
    tt_tcl_terminator = p->commandSize - size;
    result = TclEvalObjEx(s->interp, script, 0, &frame, 0);
    Tcl_DecrRefCount(script);
    if (result == TCL_ERROR) {
        tell_around(s, p, size);
        Tcl_SetErrorLine(s->interp, line);
    }
    return result;
}

static int has_commands(const Tcl_Parse *p)
{
    for (int i = 0; i < p->numTokens; i++)
        if (p->tokenPtr[i].type == TCL_TOKEN_COMMAND)
            return 1;
    return 0;
}

static int run_command(const struct script *s, const Tcl_Parse *p)
{
    int size = (int)(p->term - p->commandStart);

    if (tt_tcl_mode >= TT_TCL_PROCS || !tt_tcl_is_wanted(Tcl_GetString(s->path)))
        return run_bare(s, p->commandStart, size);
    tt_tcl_take_all(tt_tcl_interp_of(s->interp), p->commandStart, size, 0);
    if (has_commands(p))
        return run_compiled(s, p, size);
    return run_marked(s, p, p->commandStart, size);
}

static void advance(struct script *s, const char *to)
{
    s->place = tt_tcl_text_at(&s->place, s->at, (size_t)(to - s->at));
    s->left -= (int)(to - s->at);
    s->at = to;
}

static int run_text(struct script *s)
{
    int result = TCL_OK;
    Tcl_Parse p;

    Tcl_ResetResult(s->interp);
    while (result == TCL_OK && s->left > 0) {
        if (Tcl_ParseCommand(NULL, s->at, s->left, 0, &p) != TCL_OK)
            return run_bare(s, s->at, s->left); /* says what is wrong */
        advance(s, p.commandStart);
        if (p.numWords > 0)
            result = run_command(s, &p);
        advance(s, p.commandStart + p.commandSize);
        Tcl_FreeParse(&p);
    }
    return result;
}

/* As Tcl does where a script ends by `return`. */
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

enum { PATH_SHOWN = 150 };

static int run_script(Tcl_Interp *interp, Tcl_Obj *path, Tcl_Obj *text)
{
    Interp *i = (Interp *)(void *)interp;
    Tcl_Obj *before = i->scriptFile;
    struct script s = {.interp = interp, .path = Tcl_FSGetNormalizedPath(interp, path)};
    int size, result;
    const char *shown;

    if (!s.path)
        return TCL_ERROR;
    s.at = Tcl_GetStringFromObj(text, &s.left);
    s.place = (struct tt_tcl_place){.line = 1, .column = 1, .found = 1};
    i->scriptFile = path;
    Tcl_IncrRefCount(path);
    Tcl_IncrRefCount(s.path);
    result = run_text(&s);
    Tcl_DecrRefCount(s.path);
    if (i->scriptFile)
        Tcl_DecrRefCount(i->scriptFile);
    i->scriptFile = before;
    if (result == TCL_RETURN)
        return unwrap(i);
    if (result == TCL_ERROR) {
        shown = Tcl_GetStringFromObj(path, &size);
        Tcl_AppendObjToErrorInfo(interp,
                                 Tcl_ObjPrintf("\n    (file \"%.*s%s\" line %d)",
                                               size > PATH_SHOWN ? PATH_SHOWN : size,
                                               shown, size > PATH_SHOWN ? "..." : "",
                                               Tcl_GetErrorLine(interp)));
    }
    return result;
}

/* ── What start.c calls ───────────────────────────────────────────────────────────── */

typedef int eval_file(Tcl_Interp *, Tcl_Obj *path, const char *encoding);
int tt_tcl_run_file(Tcl_Interp *, Tcl_Obj *path, const char *encoding, eval_file *own);
void tt_tcl_interp_made(Tcl_Interp *);
int Tallytree_Init(Tcl_Interp *interp);

#define EXPORTED __attribute__((visibility("default")))

static int running;

EXPORTED int tt_tcl_run_file(Tcl_Interp *interp, Tcl_Obj *path, const char *encoding,
                             eval_file *own)
{
    Tcl_Obj *text;
    int result;

    if (!Tcl_InitStubs(interp, "8.6", 0) || !tclIntStubsPtr || start(interp) != TCL_OK)
        return own(interp, path, encoding);
    text = read_script(interp, path, encoding);
    if (!text)
        return own(interp, path, encoding); /* says why */
    running = 1;
    result = run_script(interp, path, text);
    tt_tcl_script_done = 1;
    Tcl_DecrRefCount(text);
    return result;
}

/* In another thread, or a child of one that is watched. */
EXPORTED void tt_tcl_interp_made(Tcl_Interp *interp)
{
    if (running && tt_tcl_start(interp, 0, NULL) != TCL_OK)
        Tcl_ResetResult(interp);
}
