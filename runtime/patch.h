/* SPDX-License-Identifier: MIT */
/* patch.h - code that is changed while threads run in it. */
#ifndef TT_PATCH_H
#define TT_PATCH_H

#include <stddef.h>

/* A place in the code that does nothing, or jumps.  On x86-64 one no-op of five bytes, or
 * five of one; on aarch64 one instruction. */
struct tt_patch {
    void *at;
    const void *to;       /* where it is to jump; NULL: it is to do nothing */
    unsigned char was[8]; /* tt_patch_text's own, to go back to */
};

/* Changes all of them; returns NULL, or an error's text, and then none is changed.  Every
 * thread sees the change when it returns.  No page becomes writable, no signal is needed,
 * no thread is stopped.  Calls wait for each other; not signal-safe. */
const char *tt_patch_text(struct tt_patch *, size_t n);

/* Why this place cannot jump there, as far as the code shows it; NULL: it can. */
const char *tt_patch_refusal(const void *at, const void *to);

#endif
