/* SPDX-License-Identifier: MIT */
/* tcl-package.c - `package require tallytree`: the commands of a program that profiles itself. */
#include "tcl-package.h"
#include "tcl-history.h"

#include <fnmatch.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static struct {
    pthread_mutex_t lock;
    int users; /* threads that have started */
    char options[2048];
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

static __thread int started;

int tt_tcl_fail(Tcl_Interp *interp, const char *text)
{
    Tcl_SetObjResult(interp, Tcl_ObjPrintf("tallytree: %s", text));
    Tcl_SetErrorCode(interp, "TALLYTREE", NULL);
    return TCL_ERROR;
}

/* ── Start ────────────────────────────────────────────────────────────────────────── */

enum { SAMPLES_HZ = 1000, HISTORY_MOST = 100000 };

struct start {
    enum tt_tcl_mode mode;
    struct tt_tcl_clock clock;
    Tcl_Obj *include, *exclude;
    int history;
    char words[1024]; /* for the runtime */
};

static int add_word(Tcl_Interp *interp, struct start *s, const char *name,
                    const char *value)
{
    size_t length = strlen(s->words);
    int n = snprintf(s->words + length, sizeof s->words - length, ",%s=%s", name, value);

    if (n < (int)(sizeof s->words - length) && !strpbrk(value, ", \t\n"))
        return TCL_OK;
    s->words[length] = '\0';
    return tt_tcl_fail(interp, "a value is too long, or has a comma or a blank");
}

static int take_correction(Tcl_Interp *interp, struct start *s, Tcl_Obj *value)
{
    static const char *const names[] = {"ours", "a", "b", "c", "factor", NULL};
    Tcl_Obj **word;
    int count, method;

    if (Tcl_ListObjGetElements(interp, value, &count, &word) != TCL_OK)
        return TCL_ERROR;
    if (count < 1 || Tcl_GetIndexFromObj(interp, word[0], names, "correction", TCL_EXACT,
                                         &method) != TCL_OK)
        return count < 1 ? tt_tcl_fail(interp, "which correction?") : TCL_ERROR;
    s->clock.method = (enum tt_tcl_method)method;
    if (s->clock.method != TT_TCL_FACTOR)
        return count == 1 ? TCL_OK : tt_tcl_fail(interp, "only a factor has a value");
    if (count != 2 || Tcl_GetDoubleFromObj(interp, word[1], &s->clock.factor) != TCL_OK ||
        !(s->clock.factor > 0) || !isfinite(s->clock.factor))
        return tt_tcl_fail(interp, "a factor is a number above 0: {factor 1.5}");
    return TCL_OK;
}

static int take_option(Tcl_Interp *interp, struct start *s, Tcl_Obj *name, Tcl_Obj *value)
{
    static const char *const names[] = {"-mode",      "-include",    "-exclude",
                                        "-output",    "-correction", "-budget",
                                        "-recursion", "-history",    NULL};
    static const char *const modes[] = {"statements", "blocks",  "coverage",
                                        "procs",      "sampled", NULL};
    int i;

    if (Tcl_GetIndexFromObj(interp, name, names, "option", TCL_EXACT, &i) != TCL_OK)
        return TCL_ERROR;
    if (!value)
        return tt_tcl_fail(interp, "an option without its value");
    switch (i) {
    case 0:
        if (Tcl_GetIndexFromObj(interp, value, modes, "mode", TCL_EXACT, &i) != TCL_OK)
            return TCL_ERROR;
        s->mode = (enum tt_tcl_mode)i;
        return TCL_OK;
    case 1:
        s->include = value;
        return TCL_OK;
    case 2:
        s->exclude = value;
        return TCL_OK;
    case 3:
        return add_word(interp, s, "output", Tcl_GetString(value));
    case 4:
        return take_correction(interp, s, value);
    case 7:
        if (Tcl_GetIntFromObj(interp, value, &s->history) != TCL_OK)
            return TCL_ERROR;
        return s->history < 1 || s->history > HISTORY_MOST
                   ? tt_tcl_fail(interp, "a history is of 1 to 100000 times")
                   : TCL_OK;
    default:
        return add_word(interp, s, Tcl_GetString(name) + 1, Tcl_GetString(value));
    }
}

static void free_list(char **list)
{
    for (size_t i = 0; list && list[i]; i++)
        free(list[i]);
    free(list);
}

static char **copy_list(Tcl_Interp *interp, Tcl_Obj *list)
{
    Tcl_Obj **word;
    int count;
    char **copy;

    if (Tcl_ListObjGetElements(interp, list, &count, &word) != TCL_OK || !count)
        return NULL;
    copy = calloc((size_t)count + 1, sizeof *copy);
    for (int i = 0; copy && i < count; i++)
        copy[i] = strdup(Tcl_GetString(word[i]));
    return copy;
}

/* Tcl's own procedures, and what says where packages are, unless they are asked for. */
static void exclude_library(Tcl_Interp *interp)
{
    const char *library = Tcl_GetVar2(interp, "tcl_library", NULL, TCL_GLOBAL_ONLY);
    char **list = tt_tcl_globs.exclude, **longer;
    size_t n = 0;

    while (list && list[n])
        n++;
    longer = realloc(list, (n + 4) * sizeof *list);
    if (!longer)
        return;
    tt_tcl_globs.exclude = longer;
    longer[n++] = strdup("*/pkgIndex.tcl");
    longer[n++] = strdup("*/tclIndex");
    if (library && asprintf(&longer[n], "%s/*", library) >= 0)
        n++;
    longer[n] = NULL;
}

/* On a separate recording, which is not shown. */
static int measure_marks(Tcl_Interp *interp)
{
    struct tt_tcl_globs globs = tt_tcl_globs;
    struct tt_tcl_bare bare;

    tt_tcl_globs = (struct tt_tcl_globs){NULL, NULL};
    tt_tcl_calibrate_bare(interp, &bare);
    if (tt_tcl_attach(interp) != TCL_OK)
        return TCL_ERROR;
    if (tt_start("exact,clock=caller,budget=256K") == 0) {
        tt_tcl_books_open();
        tt_tcl_compile_calibration(1);
        tt_tcl_calibrate(interp, &bare);
        tt_tcl_compile_calibration(0);
        tt_tcl_books_close();
        (void)tt_stop();
    }
    tt_tcl_globs = globs;
    return TCL_OK;
}

static int begin(Tcl_Interp *interp, struct start *s)
{
    char options[sizeof s->words + 80];
    int error;

    tt_tcl_history_begin(0); /* nothing of a calibration */

    tt_tcl_mode = s->mode;
    tt_tcl_clock = s->clock;
    tt_tcl_clock.hz = tt_tcl_frequency();
    /* A recording that is under way, of native frames say, has a separate clock. */
    if (s->mode == TT_TCL_COVERAGE || s->mode == TT_TCL_SAMPLED || tt_is_on())
        tt_tcl_clock.method = TT_TCL_COUNT;
    else if (s->clock.method == TT_TCL_OURS && measure_marks(interp) != TCL_OK)
        return TCL_ERROR;
    free_list(tt_tcl_globs.include);
    free_list(tt_tcl_globs.exclude);
    tt_tcl_globs.include = s->include ? copy_list(interp, s->include) : NULL;
    tt_tcl_globs.exclude = s->exclude ? copy_list(interp, s->exclude) : NULL;
    if (!s->include)
        exclude_library(interp);
    if (s->mode == TT_TCL_SAMPLED)
        (void)snprintf(options, sizeof options, "sampled=%d%s", SAMPLES_HZ, s->words);
    else
        (void)snprintf(options, sizeof options, "%s,clock=caller:%llu%s",
                       s->mode == TT_TCL_COVERAGE ? "calls" : "exact",
                       (unsigned long long)tt_tcl_clock.hz, s->words);
    tt_tcl_history_begin((uint32_t)s->history);
    error = tt_start(options);
    if (error)
        return tt_tcl_fail(interp, tt_error_text(error));
    (void)snprintf(state.options, sizeof state.options, "%s", options);
    return TCL_OK;
}

/* The last thread ends the recording. */
static void leave(void)
{
    pthread_mutex_lock(&state.lock);
    if (--state.users == 0) {
        (void)tt_stop();
    }
    pthread_mutex_unlock(&state.lock);
}

static void thread_ends(ClientData data)
{
    (void)data;
    if (!started)
        return;
    started = 0;
    tt_tcl_books_close();
    leave();
}

static int start_thread(Tcl_Interp *interp)
{
    if (tt_tcl_attach(interp) != TCL_OK)
        return TCL_ERROR;
    tt_tcl_books_open();
    tt_tcl_waiting_begin();
    started = 1;
    Tcl_CreateThreadExitHandler(thread_ends, NULL);
    return TCL_OK;
}

/* Commands that are run for a calibration are not among those that [info cmdcount] counts. */
int tt_tcl_start(Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    struct start s = {.mode = TT_TCL_STATEMENTS};
    Interp *inside = (Interp *)(void *)interp;
    int result = TCL_OK, commands = inside->cmdCount;

    if (started)
        return tt_tcl_interp_of(interp) ? tt_tcl_fail(interp, "it is started already")
                                        : tt_tcl_attach(interp);
    for (int i = 0; i < objc; i += 2)
        if (take_option(interp, &s, objv[i], i + 1 < objc ? objv[i + 1] : NULL) != TCL_OK)
            return TCL_ERROR;
    if (tt_tcl_check(interp) != TCL_OK)
        return TCL_ERROR;
    pthread_mutex_lock(&state.lock);
    if (!state.users)
        result = begin(interp, &s);
    if (result == TCL_OK)
        state.users++;
    pthread_mutex_unlock(&state.lock);
    if (result == TCL_OK)
        result = start_thread(interp);
    inside->cmdCount = commands;
    return result;
}

void tt_tcl_stop(Tcl_Interp *interp)
{
    if (!started)
        return;
    started = 0;
    tt_tcl_waiting_end();
    tt_tcl_books_close();
    for (struct tt_tcl_interp *t = tt_tcl_interps(); t; t = t->next)
        tt_tcl_uncovered(t);
    while (tt_tcl_interps())
        tt_tcl_detach(tt_tcl_interps()->interp);
    (void)interp;
    leave();
}

static int start_command(ClientData data, Tcl_Interp *interp, int objc,
                         Tcl_Obj *const objv[])
{
    (void)data;
    return tt_tcl_start(interp, objc - 1, objv + 1);
}

static int is_bare(Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    if (objc == 1)
        return 1;
    Tcl_WrongNumArgs(interp, 1, objv, "");
    return 0;
}

static int stop_command(ClientData data, Tcl_Interp *interp, int objc,
                        Tcl_Obj *const objv[])
{
    (void)data;
    if (!is_bare(interp, objc, objv))
        return TCL_ERROR;
    tt_tcl_stop(interp);
    return TCL_OK;
}

static int pause_command(ClientData data, Tcl_Interp *interp, int objc,
                         Tcl_Obj *const objv[])
{
    (void)data;
    if (!is_bare(interp, objc, objv))
        return TCL_ERROR;
    tt_tcl_books_pause();
    return TCL_OK;
}

static int resume_command(ClientData data, Tcl_Interp *interp, int objc,
                          Tcl_Obj *const objv[])
{
    (void)data;
    if (!is_bare(interp, objc, objv))
        return TCL_ERROR;
    tt_tcl_books_resume();
    return TCL_OK;
}

struct globs {
    Tcl_Obj *const *glob;
    int count;
};

static int is_of_files(const struct tt_block_info *b, void *arg)
{
    const struct globs *g = arg;

    for (int i = 0; i < g->count; i++)
        if (b->file && *b->file && fnmatch(Tcl_GetString(g->glob[i]), b->file, 0) == 0) {
            tt_tcl_history_drop(tt_block_make(b));
            return 1;
        }
    return 0;
}

static int clear_command(ClientData data, Tcl_Interp *interp, int objc,
                         Tcl_Obj *const objv[])
{
    struct globs files = {objv + 1, objc - 1};
    int error = 0;

    (void)data;
    if (!started)
        return tt_tcl_fail(interp, "it is not started");
    if (files.count) {
        tt_tcl_books_settle((Interp *)(void *)interp);
        tt_tcl_books_pause();
        tt_clear(is_of_files, &files);
        tt_tcl_books_resume();
        return TCL_OK;
    }
    tt_tcl_books_close();
    tt_tcl_history_begin(tt_tcl_history_length());
    (void)tt_stop();
    error = tt_start(state.options);
    tt_tcl_books_open();
    return error ? tt_tcl_fail(interp, tt_error_text(error)) : TCL_OK;
}

/* ── Cost centres ─────────────────────────────────────────────────────────────────── */

static int scope_ends(ClientData data[], Tcl_Interp *interp, int result)
{
    (void)data;
    tt_tcl_centre_leave((Interp *)(void *)interp, data[0]);
    return result;
}

static int scope_nre(ClientData data, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    struct tt_block_info info = {.kind = TT_KIND_CENTRE};
    NRE_callback *top;

    (void)data;
    if (objc != 3) {
        Tcl_WrongNumArgs(interp, 1, objv, "name script");
        return TCL_ERROR;
    }
    info.name = Tcl_GetString(objv[1]);
    Tcl_NRAddCallback(interp, scope_ends, NULL, NULL, NULL, NULL);
    top = TOP_CB(interp);
    top->data[0] = top;
    tt_tcl_centre_enter((Interp *)(void *)interp, 0, tt_block_make(&info), top);
    return TclNREvalObjEx(interp, objv[2], 0, ((Interp *)(void *)interp)->cmdFramePtr, 2);
}

static int scope_command(ClientData data, Tcl_Interp *interp, int objc,
                         Tcl_Obj *const objv[])
{
    return Tcl_NRCallObjProc(interp, scope_nre, data, objc, objv);
}

/* ── The package ──────────────────────────────────────────────────────────────────── */

int Tallytree_Init(Tcl_Interp *interp);

__attribute__((visibility("default"))) int Tallytree_Init(Tcl_Interp *interp)
{
    static const struct {
        const char *name;
        Tcl_ObjCmdProc *proc;
    } commands[] = {{"start", start_command}, {"stop", stop_command},
                    {"pause", pause_command}, {"resume", resume_command},
                    {"clear", clear_command}, {"results", tt_tcl_results},
                    {"report", tt_tcl_report}};
    char name[40];

    if (!Tcl_InitStubs(interp, "8.6", 0) || !tclIntStubsPtr)
        return TCL_ERROR;
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        (void)snprintf(name, sizeof name, "::tallytree::%s", commands[i].name);
        Tcl_CreateObjCommand(interp, name, commands[i].proc, NULL, NULL);
    }
    Tcl_NRCreateCommand(interp, "::tallytree::scope", scope_command, scope_nre, NULL,
                        NULL);
    return Tcl_PkgProvideEx(interp, "tallytree", TT_VERSION, NULL);
}
