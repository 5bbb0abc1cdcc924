/* SPDX-License-Identifier: MIT */
/* tcl-insert.h - puts instructions into byte-code that Tcl has compiled. */
#ifndef TT_TCL_INSERT_H
#define TT_TCL_INSERT_H

#include "tcl-private.h"

enum { TT_TCL_INSERTED_MOST = 16 };

struct tt_tcl_insertion {
    int at;    /* the offset of an instruction, or the end */
    int order; /* of those at one place */
    int size;
    unsigned char code[TT_TCL_INSERTED_MOST];
};

/* Inserts all of them, each before the instruction at its place.  Jumps to that place
 * reach the inserted code; other references still point to the same instructions as
 * before.  0; otherwise nothing has changed: there was no memory, or the code was not
 * understood. */
int tt_tcl_insert(CompileEnv *, struct tt_tcl_insertion *, int count);

#endif
