/* SPDX-License-Identifier: MIT */
/* tcl-home.h - the places in the source of texts in braces or quotes. */
#ifndef TT_TCL_HOME_H
#define TT_TCL_HOME_H

#include <tallytree.h>

#include "tcl-text.h"

/* Remembers a word of a statement, without its braces, as it is in the file; the file's
 * path is normalized.  If there is no memory, it is not remembered. */
void tt_tcl_home_add(tt_block statement, const char *file, const struct tt_tcl_place *,
                     const char *text, size_t size);

struct tt_tcl_wanted { /* which, where there are several */
    const char *file;  /* in this file; NULL: in any */
    uint32_t line;     /* best on this line, if it is known; 0: it is not */
    const void *owner; /* best one that is this procedure's, and not another's; or NULL */
};

/* Finds where this text, with its continued lines joined or not, was written: returns the
 * file, which is not the caller's, and sets the place; NULL: nowhere, and nothing has
 * changed. */
const char *tt_tcl_home_find(struct tt_tcl_text *, const struct tt_tcl_wanted *,
                             const char *text, size_t size);

/* A procedure is being made of this text, by a statement that is open. */
void tt_tcl_home_claim(const void *owner, const char *text, size_t size);

#endif
