/* SPDX-License-Identifier: MIT */
/* python.h - CPython 3.8 to 3.14, its layout in memory. */
#ifndef TT_PYTHON_H
#define TT_PYTHON_H

#include "interpreter.h"

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

struct tt_python {
    struct tt_interpreter base; /* first */
    struct tt_python_layout layout;
    uint64_t runtime, code_type;
    uint64_t frame_type; /* 0: not known */
    uint64_t loop;       /* address of _PyEval_EvalFrameDefault; 0: not known */
    /* The offset of the cframe in a loop's native frame: the same for a build.  Learnt
     * from samples; written by any thread, without order. */
    uint64_t cframe_at;
    uint32_t cframe_seen; /* how often in a row */
    uint32_t failures;    /* failed walks before the first good one */
    int is_proved;        /* one walk was right as a whole */
};

enum {
    TT_PYTHON_FRAME = 112,
    TT_PYTHON_HEAD = 144 /* of a code object, the part that is read at once */
};

/* python-layout.c: the offsets of the version in `hex`, checked against those that the
 * interpreter exports.  NULL, or why they cannot be used. */
const char *tt_python_layout(struct tt_python *, struct tt_peek *, uint32_t version);

/* python.c: what all have, with the addresses set before. */
void tt_python_init(struct tt_python *, struct tt_peek *, uint32_t version);

/* python-code.c: reads the head of a code object; 0: there is none.
 * Async-signal-safe. */
int tt_python_head(const struct tt_python *, const struct tt_peek *, uint64_t code,
                   char head[TT_PYTHON_HEAD]);
uint64_t tt_python_print(const struct tt_python *, const struct tt_peek *,
                         const char head[TT_PYTHON_HEAD]);
int tt_python_describe(const struct tt_interpreter *, const struct tt_interpreted *,
                       struct tt_peek *, struct tt_interpreted_text *);
/* Is this still the same code object?  Always, in this process. */
int tt_python_is_alive(const struct tt_python *, const struct tt_peek *,
                       const struct tt_interpreted *);

/* python-lines.c */
uint32_t tt_python_line(const struct tt_interpreter *, const struct tt_interpreted *,
                        struct tt_peek *);

static inline uint64_t tt_python_field(const void *bytes, uint32_t at)
{
    uint64_t v;

    memcpy(&v, (const char *)bytes + at, sizeof v);
    return v;
}

#endif
