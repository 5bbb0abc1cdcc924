/* SPDX-License-Identifier: MIT */
/* java-code.h - HotSpot's code: which piece of it contains an address, and how a frame of it
 * is left.
 *
 *      heap   [header blob code][header blob code][free]...     map: one byte per segment
 *
 * A blob is a compiled method, the interpreter, or code that these call.  Code is freed only
 * when no stack has a frame of it.  Async-signal-safe. */
#ifndef TT_JAVA_CODE_H
#define TT_JAVA_CODE_H

#include "java.h"

enum tt_java_kind {
    TT_JAVA_NO_CODE,
    TT_JAVA_COMPILED,
    TT_JAVA_WRAPPER, /* around a native method */
    TT_JAVA_INTERPRETER,
    TT_JAVA_STUB,
    TT_JAVA_KIND_SHIFT = 8, /* kinds in tt_native.flags */
};

struct tt_java_blob {
    uint64_t at, name, begin, end; /* begin, end: of its code */
    uint32_t frame;                /* size, in bytes; 0: none, or it varies */
    uint32_t complete; /* from this offset on the frame is made; or UINT32_MAX */
    enum tt_java_kind kind;
};

/* A number of up to eight bytes that crosses no word.  0: it cannot be read. */
int tt_java_number(const struct tt_peek *, uint64_t address, unsigned size, uint64_t *);

/* Bytes at any address; 0: they cannot be read. */
int tt_java_bytes(const struct tt_peek *, uint64_t address, void *to, size_t size);

/* The code that contains the address; 0: none. */
int tt_java_blob(struct tt_java *, const struct tt_peek *, uint64_t pc,
                 struct tt_java_blob *);

/* tt_generated.leave: describes the frame, as tt_native.data and detail:
 *      compiled      the blob        offset of its place in the code
 *      interpreter   its method      one more than the index of its byte-code; 0: not known
 *      other         the blob        0 */
int tt_java_leave(const struct tt_generated *, struct tt_registers *, struct tt_peek *,
                  struct tt_native *);

#endif
