/* SPDX-License-Identifier: MIT */
/* tcl-emit.h - instructions at the end of the byte-code that is being made. */
#ifndef TT_TCL_EMIT_H
#define TT_TCL_EMIT_H

#include "tcl-mark.h"

void tt_tcl_put_push(CompileEnv *, int literal);
void tt_tcl_put_call(CompileEnv *, unsigned words);
void tt_tcl_put_mark(CompileEnv *, const struct tt_tcl_mark *);

/* The mark that begins there, if one does; NULL: none. */
const struct tt_tcl_mark *tt_tcl_mark_at(const CompileEnv *, int code);

/* Tcl's own empty text, by which it knows an empty list; from a live object. */
extern char *tt_tcl_empty;

#endif
