/* SPDX-License-Identifier: MIT */
/* tcl-private.h - the insides of Tcl 8.6 that marks need.
 *
 * Nothing here is promised by Tcl: tcl-attach.c looks at a live interpreter first, and leaves
 * one alone that is not built as these headers say. */
#ifndef TT_TCL_PRIVATE_H
#define TT_TCL_PRIVATE_H

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wundef"
#include <tclInt.h>

#include <tclCompile.h>
#pragma GCC diagnostic pop

#endif
