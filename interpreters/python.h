/* SPDX-License-Identifier: MIT */
/* python.h - CPython 3.8 to 3.14. */
#ifndef TT_PYTHON_H
#define TT_PYTHON_H

#include "interpreters.h"
#include "python-layout.h"

struct dl_phdr_info;

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

enum { TT_PYTHON_FRAME = 112 };

/* The interpreter in this object; NULL: none, or no memory. */
struct tt_interpreter *tt_python_find(const struct dl_phdr_info *);

/* What all have, with the addresses set before. */
void tt_python_init(struct tt_python *, struct tt_peek *, uint32_t version);

static inline uint64_t tt_python_field(const void *bytes, uint32_t at)
{
    uint64_t v;

    memcpy(&v, (const char *)bytes + at, sizeof v);
    return v;
}

#endif
