/* SPDX-License-Identifier: MIT */
/* tcl-package.h - what other files of this folder have of tcl-package.c. */
#ifndef TT_TCL_PACKAGE_H
#define TT_TCL_PACKAGE_H

#include "tcl-attach.h"

/* This is the result; TCL_ERROR. */
int tt_tcl_fail(Tcl_Interp *, const char *text);

/* tcl-results.c: tallytree::results and tallytree::report. */
Tcl_ObjCmdProc tt_tcl_results, tt_tcl_report;

/* Loops without marks, before an interpreter is watched; and with them, when it is: then
 * what marks cost is known. */
struct tt_tcl_bare {
    uint64_t ticks[10];
};
void tt_tcl_calibrate_bare(Tcl_Interp *, struct tt_tcl_bare *);
void tt_tcl_calibrate(Tcl_Interp *, const struct tt_tcl_bare *);

/* As tallytree::start: objv are its arguments. */
int tt_tcl_start(Tcl_Interp *, int objc, Tcl_Obj *const objv[]);
void tt_tcl_stop(Tcl_Interp *);

#endif
