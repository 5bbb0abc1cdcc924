/* SPDX-License-Identifier: MIT */
/* frame-copy.h - an interpreter's frames, copied by the system while a thread is sampled.
 *
 *      thread's state ─► frame ─► frame ─► ...     each with its code object's head
 *
 * From outside, the frames have changed by the time a sample is read.  So a program that
 * runs in the system's handler of the sample (sample/frame-program.c) follows the chain and
 * copies what tt_interpreter.walk reads. */
#ifndef TT_FRAME_COPY_H
#define TT_FRAME_COPY_H

#include <stddef.h>
#include <stdint.h>

enum {
    TT_CHAIN_FRAME = 112,   /* bytes of a frame, at most */
    TT_CHAIN_HEAD = 144,    /* of a code object */
    TT_CHAIN_STATE = 400,   /* of a thread's state, at most */
    TT_CHAIN_HASH = 24,     /* offset of a word of the code's name */
    TT_CHAIN_PART = 100,    /* frames of one copy */
    TT_CHAIN_FRAMES = 1000, /* of one sample */
};

/* How the frames of a process are found.  All are addresses, offsets or sizes. */
struct tt_frame_chain {
    uint64_t device, inode; /* of the namespace of its thread ids */
    uint64_t interpreters;  /* address of the first interpreter's address */
    uint64_t next_interpreter, threads, next_thread, thread_id;
    uint64_t key;     /* address of the thread's own state's key; 0: there is none */
    uint64_t current; /* address of the running state; 0: there is none */
    uint64_t first, state_size;
    uint64_t
        cframe; /* the first frame is at this offset of another structure; or UINT64_MAX */
    uint64_t begin, size, previous, code,
        mask;      /* of a frame; mask: of the code's address */
    uint64_t name; /* of a code object */
};

struct tt_frame_copy { /* followed by `count` frames */
    uint64_t time;     /* by CLOCK_MONOTONIC */
    uint64_t place;    /* the sampled address */
    uint64_t state, count;
    char bytes[TT_CHAIN_STATE];
};

struct tt_copied_frame {
    uint64_t at;               /* address of `frame` */
    uint64_t code, name, hash; /* code 0: no code object could be read */
    char frame[TT_CHAIN_FRAME], head[TT_CHAIN_HEAD];
};

enum {
    TT_FRAME_COPY_MAX = sizeof(struct tt_frame_copy) +
                        TT_CHAIN_PART * sizeof(struct tt_copied_frame)
};

/* Copies of one sample, one after the other. */
struct tt_frame_copies {
    const char *bytes; /* borrowed; aligned to words */
    size_t size;
    const struct tt_copied_frame *last; /* where the next read is probably found */
};

/* Returns 0 if the copies are damaged, or are of no sample at this place, taken at this time
 * or at most `latest` ns before or after it. */
int tt_frame_copies_check(const struct tt_frame_copies *, uint64_t place, uint64_t time,
                          uint64_t latest);

/* The address of the thread's state; only of copies that were checked. */
uint64_t tt_frame_copies_state(const struct tt_frame_copies *);

/* Reads memory of the sampled moment; 1 if it was copied. */
int tt_frame_copies_read(struct tt_frame_copies *, uint64_t address, void *to,
                         size_t size);

#endif
