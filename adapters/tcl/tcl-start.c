/* SPDX-License-Identifier: MIT */
/* tcl-start.c - loaded into every program that `tallytree tcl` starts, and into those
 * that they start; if one is a Tcl shell, this loads the adapter.
 *
 * It interposes two functions of Tcl, and needs nothing of Tcl itself. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Tcl_Interp Tcl_Interp;
typedef struct Tcl_Obj Tcl_Obj;
typedef int init_interp(Tcl_Interp *);
typedef int eval_file(Tcl_Interp *, Tcl_Obj *path, const char *encoding);
typedef int run_file(Tcl_Interp *, Tcl_Obj *path, const char *encoding, eval_file *);
typedef void interp_made(Tcl_Interp *);

int Tcl_Init(Tcl_Interp *);
int Tcl_FSEvalFileEx(Tcl_Interp *, Tcl_Obj *path, const char *encoding);

#define EXPORTED __attribute__((visibility("default")))

static interp_made *told;

static void *own_of(const char *name)
{
    void *own = dlsym(RTLD_NEXT, name), *tcl;

    if (own)
        return own;
    tcl = dlopen("libtcl8.6.so", RTLD_LAZY | RTLD_NOLOAD);
    return tcl ? dlsym(tcl, name) : NULL;
}

/* The adapter is beside this. */
static void *load_adapter(void)
{
    Dl_info self;
    char path[4096];
    const char *slash;
    int n;

    if (!dladdr((const void *)&told, &self) || !self.dli_fname)
        return NULL;
    slash = strrchr(self.dli_fname, '/');
    n = snprintf(path, sizeof path, "%.*slibtallytree-tcl.so",
                 slash ? (int)(slash + 1 - self.dli_fname) : 0, self.dli_fname);
    return n < (int)sizeof path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
}

/* Called for threads, and for interpreters within others. */
EXPORTED int Tcl_Init(Tcl_Interp *interp)
{
    static init_interp *own;
    int result;

    if (!own)
        own = (init_interp *)own_of("Tcl_Init");
    result = own ? own(interp) : 1;
    if (own && told)
        told(interp);
    return result;
}

/* The first file is the script of the shell. */
EXPORTED int Tcl_FSEvalFileEx(Tcl_Interp *interp, Tcl_Obj *path, const char *encoding)
{
    static int begun;
    eval_file *own = (eval_file *)own_of("Tcl_FSEvalFileEx");
    run_file *run;
    void *adapter;

    if (!own)
        return 1;
    if (begun++ || !secure_getenv("TALLYTREE_TCL"))
        return own(interp, path, encoding);
    adapter = load_adapter();
    run = adapter ? (run_file *)dlsym(adapter, "tt_tcl_run_file") : NULL;
    if (!run) {
        (void)fprintf(stderr, "tallytree: %s\n", dlerror());
        return own(interp, path, encoding);
    }
    told = (interp_made *)dlsym(adapter, "tt_tcl_interp_made");
    return run(interp, path, encoding, own);
}
