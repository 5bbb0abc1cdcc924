/* SPDX-License-Identifier: MIT */
/* java-scopes.h - the methods that a place in compiled code belongs to.
 *
 *      places   [offset in the code, scope] ...       sorted by offset
 *      scope    outer scope, method, byte-code        compressed numbers
 *
 * The compiler keeps places where a call returns, and few others.  Async-signal-safe. */
#ifndef TT_JAVA_SCOPES_H
#define TT_JAVA_SCOPES_H

#include "java.h"

struct tt_java_scope {
    uint64_t method;
    uint32_t at; /* one more than the index of the byte-code; 0: not known */
};

/* The inlined methods at the offset in a blob's code, the innermost first, and last the one
 * that was compiled.  Returns their number; 0: they are not known. */
uint32_t tt_java_scopes(const struct tt_java *, const struct tt_peek *, uint64_t blob,
                        uint32_t offset, struct tt_java_scope *, uint32_t room);

#endif
