/* SPDX-License-Identifier: MIT */
/* sample-log.h - samples in the order of time, at constant size; see sample-log.c. */
#ifndef TT_SAMPLE_LOG_H
#define TT_SAMPLE_LOG_H

#include <stdint.h>

struct tt_recording;
struct tt_thread;
struct tt_tree;
struct tt_node;

enum { TT_LOG_LEVELS = 32 };

struct tt_log_queue { /* of pages, each its number + 1; the oldest is the first */
    uint32_t first, last, count;
};

struct tt_log {                 /* of a recording, under its lock */
    uint32_t max, count, spare; /* pages it may have, and has; spare: one that is empty */
    uint32_t closed;            /* pages that were filled so far */
    uint64_t chance;
    struct tt_log_queue open, level[TT_LOG_LEVELS];
};

/* The page that a thread, with its signal handlers, is filling. */
struct tt_log_writer {
    uint32_t page, used, epoch; /* epoch: of the recording that the page is of */
};

/* Before the recording is shown: how large it may become. */
void tt_log_init(struct tt_recording *);

#define TT_LOG_NOW UINT64_MAX

/* Adds a sample of this thread, which is busy, in a context of its tree, through the
 * writer of the thread that samples it (NULL: its own).  `when`: ticks since the
 * recording began.  Async-signal-safe. */
void tt_log_add(struct tt_thread *, struct tt_log_writer *, const struct tt_node *,
                uint64_t ticks, uint64_t when);

/* Ends the use of a writer. */
void tt_log_leave(struct tt_recording *, struct tt_log_writer *);

/* Moves the entries of a tree's contexts to others: `to` returns for a cell the new one
 * (0: drop the entry).  Waits for the lock of the pages. */
void tt_log_move(const struct tt_tree *, uint32_t (*to)(void *arg, uint32_t cell),
                 void *arg);

/* Called beside tt_log_move, with the same arguments, for others that keep samples by cell;
 * NULL: not called. */
extern void (*tt_log_moved)(const struct tt_tree *,
                            uint32_t (*to)(void *arg, uint32_t cell), void *arg);

#ifdef TT_CHECKED
/* The first error in the log's pages; "" if there is none.  Waits for their lock. */
const char *tt_log_check(struct tt_recording *);
#endif

#endif
