/* SPDX-License-Identifier: MIT */
/* heap-log.h - what heap-log.c writes and heap-oracle.c reads: a count, and at 64 events. */
#ifndef TT_HEAP_LOG_H
#define TT_HEAP_LOG_H

#include <stdint.h>

enum log_kind { LOG_MADE = 1, LOG_FREED, LOG_MOVING, LOG_MOVED, LOG_STAYED };

struct log_event {
    uint32_t kind, thread;
    uint64_t before, address, size;
};

enum { LOG_EVENTS = 16 << 20 };
#define LOG_BYTES (64 + (uint64_t)LOG_EVENTS * sizeof(struct log_event))

#endif
