/* SPDX-License-Identifier: MIT */
/* java-method.h - methods of Java: names, files and lines.
 *
 *      method ─► its constant part ─► pool of constants ─► class ─► name    "java/util/List"
 *                 │  byte-code, lines        └► name                        "add"
 *
 * A class that is unloaded takes its methods with it, and others may come to their addresses;
 * never while a stack has a frame of them.  Async-signal-safe. */
#ifndef TT_JAVA_METHOD_H
#define TT_JAVA_METHOD_H

#include "java.h"

struct tt_java_method {
    uint64_t constant, pool, type, code; /* code: address of its byte-code, */
    uint32_t size;                       /* and its size; 0: a native method */
    uint32_t name;                       /* among the constants */
};

/* 0: there is no method at the address. */
int tt_java_method(const struct tt_java *, const struct tt_peek *, uint64_t at,
                   struct tt_java_method *);

/* What distinguishes it from others that were at this address; 0: it cannot be read. */
uint64_t tt_java_print(const struct tt_java *, const struct tt_peek *,
                       const struct tt_java_method *);

/* As struct tt_interpreter has them, of a frame whose code is a method and whose `at` is one
 * more than the index of its byte-code. */
int tt_java_describe(const struct tt_java *, const struct tt_interpreted *,
                     const struct tt_peek *, struct tt_interpreted_text *);
uint32_t tt_java_line(const struct tt_java *, const struct tt_interpreted *,
                      const struct tt_peek *);

/* Reads the next of the numbers that take one to five bytes each, below end.  0: there is
 * none.  `base`: the lowest byte that is used: 1 from version 20 on, before 0. */
int tt_java_compressed(const uint8_t **at, const uint8_t *end, uint32_t base,
                       uint32_t *out);

#endif
