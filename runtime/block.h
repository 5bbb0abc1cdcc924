/* SPDX-License-Identifier: MIT */
/* block.h - the process's blocks and metrics: made once, never reused, names copied. */
#ifndef TT_BLOCK_H
#define TT_BLOCK_H

#include "recording.h"

/* The registry's entry of a block; valid until the process ends. */
struct tt_block_entry {
    struct tt_block_info info; /* strings owned by the registry */
    uint32_t hash, chain;
    uint32_t published;  /* the epoch of the recording that has it */
    uint32_t record;     /* its cell there */
    uint32_t unselected; /* its objects are not recorded, in that recording */
    uint32_t marks;      /* 1 + index in options.marked, in that recording; 0: none */
    tt_block function;   /* the first block of its function; 0: there is no other */
};

enum { TT_BLOCK_CHUNK = 4096, TT_BLOCK_CHUNKS = TT_BLOCKS_MAX / TT_BLOCK_CHUNK };
extern struct tt_block_entry *tt_block_chunk[]; /* written under a lock, read without */

const struct tt_block_entry *tt_block_entry(tt_block);
uint32_t tt_block_count(void); /* the last one made */

/* Takes any number; returns TT_KIND_BLOCK if there is no such block. */
TT_INLINE enum tt_kind tt_block_kind(tt_block block)
{
    const struct tt_block_entry *chunk = NULL;

    if (block < TT_BLOCKS_MAX)
        chunk = __atomic_load_n(&tt_block_chunk[block / TT_BLOCK_CHUNK],
                                __ATOMIC_ACQUIRE);
    return chunk ? chunk[block % TT_BLOCK_CHUNK].info.kind : TT_KIND_BLOCK;
}

/* Puts a block's record into the recording if it is not there; returns the block, or
 * TT_BLOCK_OTHER if there is no room.  Takes the registry's lock at its first call for a
 * block. */
tt_block tt_block_publish(struct tt_recording *, tt_block);

/* The record of a block that was published, to tally in when a strand has no room; any
 * thread may add to it. */
struct tt_block_record *tt_block_record(struct tt_recording *, tt_block);

/* Are objects of this block recorded?  If no block was selected, all are. */
int tt_block_is_selected(const struct tt_recording *, tt_block);
extern int tt_block_selecting; /* the program chooses them */

/* 1 + index in options.marked of a published block, or 0. */
uint32_t tt_block_marked(tt_block);

/* The name of a metric in the recording's header. */
void tt_metric_publish(struct tt_recording *);

/* For signal handlers: takes the registry's lock and returns 1, or returns 0 if it is
 * taken.  The caller has it until tt_block_done, and may make and publish blocks
 * meanwhile if it also holds the recording's pages.  Async-signal-safe. */
int tt_block_try(void);
void tt_block_done(void);
int tt_block_held(void); /* by this thread, by tt_block_try */

/* Between these two: makes a block whose file and module are not copied. */
tt_block tt_block_native(const struct tt_block_info *);

/* The same, but copies all strings. */
tt_block tt_block_interpreted(const struct tt_block_info *);

/* Between these two: the block that has been made of this, or 0. */
tt_block tt_block_find(const struct tt_block_info *);

/* Between these two: a block belongs to the same function as `first`, which is the first
 * of all its blocks. */
void tt_block_belongs(tt_block, tt_block first);

/* The first block of its function, if that has several; else 0. */
tt_block tt_block_function(tt_block);

/* When a recording begins: adds the blocks that runtimes have declared so far. */
void tt_block_declare_all(struct tt_recording *);

/* Makes [other blocks]. */
int tt_block_init(void);

/* Around fork: no other thread may hold the registry. */
void tt_block_lock(void);
void tt_block_unlock(void);
void tt_block_forget_lock(void);

#endif
