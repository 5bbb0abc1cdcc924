/* SPDX-License-Identifier: MIT */
/* java-layout.h - where HotSpot, the Java virtual machine of OpenJDK, has what in memory.
 *
 * Its library exports tables for debuggers, of types, fields and their offsets. */
#ifndef TT_JAVA_LAYOUT_H
#define TT_JAVA_LAYOUT_H

#include <stdint.h>

#include "peek.h"

#define TT_JAVA_ABSENT UINT32_MAX
/* What is read at once of a piece of code, and of a method's constant part, at most. */
enum { TT_JAVA_BLOB = 256, TT_JAVA_PART = 128 };

/* Addresses of variables, offsets within structures, and sizes. */
struct tt_java_layout {
    uint64_t heaps, call_return, major; /* variables */
    struct {
        uint32_t count, data;
    } array;
    struct {
        uint32_t low, end, begin; /* reserved from low to end; in use from begin on */
    } space;
    struct {
        uint32_t memory, map, shift, used, head; /* head: the size of a block's */
    } heap;
    struct {
        uint32_t name, complete, frame, size;
        uint32_t begin, end; /* addresses; or, if these are absent, */
        uint32_t code, data; /* offsets from the blob */
        int has_short_complete;
    } blob;
    struct {
        uint32_t method, scopes, deopt, original, metadata, pcs, pcs_end;
        /* From version 25 on, tables are elsewhere, and what was an address is an offset. */
        uint32_t deopt_offset, scopes_offset, fixed, variable, relocation;
    } compiled; /* all but `method` may be absent */
    struct {
        uint32_t constant;
    } method;
    struct {
        uint32_t pool, flags, code_size, name, size;
    } constant;
    struct {
        uint32_t holder, file, size;
    } pool;
    struct {
        uint32_t name, pool, file;
    } type;
    struct {
        uint32_t length, body, hash; /* hash: its low half is a count */
    } symbol;
};

/* Fills the layout from the tables; `structs` and `types` are the addresses of the exported
 * variables.  NULL, or why they cannot be used. */
const char *tt_java_layout(struct tt_java_layout *, struct tt_peek *, uint64_t structs,
                           uint64_t types);

#endif
