/* SPDX-License-Identifier: MIT */
/* emit.h - instructions at the end of the byte-code that is being made. */
#ifndef TT_TCL_EMIT_H
#define TT_TCL_EMIT_H

#include "mark.h"

/* The command that a mark is where byte-code has no local variables. */
#define TT_TCL_COMMAND "::tcl::unsupported::tallytree"

void tt_tcl_put_push(CompileEnv *, int literal);
void tt_tcl_put_call(CompileEnv *, unsigned words);
void tt_tcl_put_mark(CompileEnv *, const struct tt_tcl_mark *);

/* The mark that begins there, if one does; NULL: none. */
const struct tt_tcl_mark *tt_tcl_mark_at(const CompileEnv *, int code);

/* The hidden variable that marks are stored in; -1: there is none. */
int tt_tcl_slot_of(const Proc *);

#endif
