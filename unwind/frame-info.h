/* SPDX-License-Identifier: MIT */
/* frame-info.h - reading the entries of .eh_frame and .debug_frame.
 *
 * An offset below info->size is one in .eh_frame; those of .debug_frame count on from there. */
#ifndef TT_FRAME_INFO_H
#define TT_FRAME_INFO_H

#include "mapped-array.h"
#include "rule-builder.h"

enum {
    TT_STATES_KEPT = 16, /* on the stack of an entry */
    TT_CIES_KEPT = 8,    /* while entries that share them are read */
};

/* Common data of entries. */
struct tt_frame_common {
    uint64_t at; /* its offset + 1, with the section; 0: none */
    uint8_t encoding, augmented, valid;
    uint64_t code_factor;
    int64_t data_factor;
    struct tt_leaving first;
};

/* A function, and where its instructions are. */
struct tt_frame_function {
    uint64_t start, end; /* link-time addresses */
    uint64_t common;     /* offsets in the section */
    uint64_t at, after;
};

/* Too large for a handler's stack: there are a few, see tt_frame_reader_take. */
struct tt_frame_reader {
    const struct tt_frame_info *info;
    const uint8_t *bytes; /* the section that is read now */
    size_t size;
    unsigned debug; /* it is .debug_frame */
    struct tt_frame_common common[TT_CIES_KEPT];
    struct tt_leaving kept[TT_STATES_KEPT]; /* of the entry that runs */
    struct tt_rule_builder building;
};

/* Makes the readers.  Not in a handler.  0 or -TT_ERR_MEMORY. */
int tt_frame_readers_prepare(void);

/* A reader for this thread alone, until it is given back; NULL: all are in use, or there
 * is no memory.  Async-signal-safe. */
struct tt_frame_reader *tt_frame_reader_take(const struct tt_frame_info *);
void tt_frame_reader_give(struct tt_frame_reader *);

/* In the child of a fork: takes back those of other threads. */
void tt_frame_readers_forked(void);

/* Reads the entry at an offset.  1: a function; 0: not a valid one.  Async-signal-safe,
 * as are the next ones. */
int tt_frame_read(struct tt_frame_reader *, uint64_t at, struct tt_frame_function *);

/* Runs the instructions of the entry read last into reader->building.  0 or
 * -TT_ERR_FORMAT. */
int tt_frame_run(struct tt_frame_reader *, const struct tt_frame_function *);

/* Calls `each` for each entry of both sections until it returns a value other than 0, and
 * returns that.  `after`: the offset where the entry ends. */
int tt_frame_each(struct tt_frame_reader *,
                  int (*each)(void *arg, uint64_t at, uint64_t after), void *arg);

#endif
