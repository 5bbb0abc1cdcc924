/* SPDX-License-Identifier: MIT */
/* python-layout.h - where CPython 3.8 to 3.14 have what in memory. */
#ifndef TT_PYTHON_LAYOUT_H
#define TT_PYTHON_LAYOUT_H

#include <stdint.h>

struct tt_peek;
struct tt_python;

/* Offsets within its structures; 0 for fields that a version does not have. */
struct tt_python_layout {
    uint32_t version; /* 0x30b is 3.11 */
    struct {
        uint32_t interpreters, key, current;
    } runtime; /* key: of the thread's state; current: of the running thread */
    struct {
        uint32_t next, threads;
    } interpreter;
    struct {
        uint32_t next, frame, root, id; /* frame: of a cframe, if the version has them */
    } thread;
    struct {
        uint32_t frame, previous;
    } cframe;
    struct {
        uint32_t previous, code, at, entry, owner;
        uint32_t begin, end; /* all of these are in between */
    } frame;
    struct {
        uint32_t flags, line, file, name, qualname, table, bytes, version;
    } code;
    struct {
        uint32_t ascii, compact; /* sizes of the data before the characters */
    } text;
    uint8_t has_cframe, has_entry_frame, is_tagged;
};

/* Finds the offsets of the version in `hex`, checked against those that the interpreter
 * exports.  NULL, or why they cannot be used. */
const char *tt_python_layout(struct tt_python *, struct tt_peek *, uint32_t version);

#endif
