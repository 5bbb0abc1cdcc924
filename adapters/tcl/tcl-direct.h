/* SPDX-License-Identifier: MIT */
/* tcl-direct.h - runs a script without byte-code, as Tcl's shell does, with marks. */
#ifndef TT_TCL_DIRECT_H
#define TT_TCL_DIRECT_H

#include "tcl-private.h"

/* Runs the text of a file, given with its normalized path. */
int tt_tcl_direct_run(Tcl_Interp *, Tcl_Obj *path, Tcl_Obj *text);

#endif
