/* SPDX-License-Identifier: MIT */
/* tcl-run.c - a program that knows nothing of us: tcl-start.c hands over its interpreters and its
 * script.
 *
 * Tcl's shell runs its script without byte-code, a command at a time.  So does tcl-direct.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tcl-direct.h"
#include "tcl-package.h"

/* ── Start ────────────────────────────────────────────────────────────────────────── */

enum { ARGUMENTS_MOST = 64 };

static void end(ClientData data) { tt_tcl_stop(data); }

/* $TALLYTREE_TCL has the words of tallytree::start, each ended by 0x1f. */
static int start(Tcl_Interp *interp)
{
    const char *p = secure_getenv("TALLYTREE_TCL"),
               *folder = secure_getenv("TALLYTREE_FOLDER");
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

enum { PATH_SHOWN = 150 };

static int run_script(Tcl_Interp *interp, Tcl_Obj *path, Tcl_Obj *text)
{
    Interp *i = (Interp *)(void *)interp;
    Tcl_Obj *before = i->scriptFile;
    Tcl_Obj *full = Tcl_FSGetNormalizedPath(interp, path);
    int size, result;
    const char *shown;

    if (!full)
        return TCL_ERROR;
    i->scriptFile = path;
    Tcl_IncrRefCount(path);
    Tcl_IncrRefCount(full);
    result = tt_tcl_direct_run(interp, full, text);
    Tcl_DecrRefCount(full);
    if (i->scriptFile)
        Tcl_DecrRefCount(i->scriptFile);
    i->scriptFile = before;
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

/* ── What tcl-start.c calls ───────────────────────────────────────────────────────────── */

typedef int eval_file(Tcl_Interp *, Tcl_Obj *path, const char *encoding);
int tt_tcl_run_file(Tcl_Interp *, Tcl_Obj *path, const char *encoding, eval_file *own);
void tt_tcl_interp_made(Tcl_Interp *);
int Tallytree_Init(Tcl_Interp *interp);

#define EXPORTED __attribute__((visibility("default")))

static int running;

EXPORTED int tt_tcl_run_file(Tcl_Interp *interp, Tcl_Obj *path, const char *encoding,
                             eval_file *own)
{
    Interp *inside = (Interp *)(void *)interp;
    int commands = inside->cmdCount, result;
    Tcl_Obj *text;

    if (!Tcl_InitStubs(interp, "8.6", 0) || !tclIntStubsPtr || start(interp) != TCL_OK)
        return own(interp, path, encoding);
    text = read_script(interp, path, encoding);
    if (!text)
        return own(interp, path, encoding); /* says why */
    running = 1;
    inside->cmdCount = commands; /* to look for Tcl's version is a command */
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
