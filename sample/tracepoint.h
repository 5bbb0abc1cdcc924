/* SPDX-License-Identifier: MIT */
/* tracepoint.h - the system's tracepoints of its scheduler: their numbers, and where in
 * their records the fields are.
 *
 * Both differ between systems, so they are read from tracefs. */
#ifndef TT_TRACEPOINT_H
#define TT_TRACEPOINT_H

#include <stddef.h>
#include <stdint.h>

struct tt_trace_field { /* of a record: size 1, 2, 4 or 8 */
    uint32_t offset, size;
};

struct tt_sched {
    uint64_t switches, wakings;  /* the numbers of sched_switch and sched_waking */
    struct tt_trace_field state; /* of sched_switch: of the thread that stops */
    struct tt_trace_field woken; /* of sched_waking: the thread that is woken */
    struct tt_trace_field flags; /* of sched_waking: is it an interrupt? */
};

/* Bits of the flags. */
enum { TT_TRACE_INTERRUPT = 0x48, TT_TRACE_SOFT_INTERRUPT = 0x10 };

/* Bits of the state. */
enum {
    TT_STATE_SLEEPS = 1,
    TT_STATE_UNINTERRUPTIBLE = 2,
    TT_STATE_STOPPED = 4,
    TT_STATE_TRACED = 8,
    TT_STATE_WAITS = 15,
    TT_STATE_IDLE = 128 /* of a thread of the kernel */
};

/* 0, or a negative error, with the reason and its remedy. */
int tt_sched_find(struct tt_sched *, char *reason, size_t size);

/* Finds a field in the text of a `format` file; 0: it has none, or not of a known size. */
int tt_trace_field_find(const char *format, const char *name, struct tt_trace_field *);

/* Reads it from a record of `size` bytes; 0: it is not within. */
int tt_trace_field_read(struct tt_trace_field, const char *record, size_t size,
                        uint64_t *out);

#endif
