/* SPDX-License-Identifier: MIT */
/* go-waits.h - events of Go's execution traces: their places, and waits. */
#ifndef TT_GO_WAITS_H
#define TT_GO_WAITS_H

#include "builder.h"
#include "byte-reader.h"
#include "pairs.h"
#include "source.h"

/* What happened, of all that such a trace has. */
enum tt_go_kind {
    TT_GO_START,   /* a goroutine begins to run, where none ran */
    TT_GO_STOP,    /* the one that runs does not run any more, or has ended */
    TT_GO_LEAVE,   /* the same, but its system call goes on */
    TT_GO_BLOCK,   /* it begins to wait */
    TT_GO_UNBLOCK, /* a goroutine has waited */
    TT_GO_CALL,    /* the one that runs begins a system call */
    TT_GO_RETURN,  /* a system call has ended */
    TT_GO_FUTILE,  /* what the one that runs had waited for is gone again */
    TT_GO_SAMPLE   /* a sample of the processor */
};

/* What for. */
enum tt_go_wait { TT_GO_SYNC, TT_GO_NETWORK, TT_GO_SYSTEM, TT_GO_OTHER, TT_GO_WAITS };

struct tt_go_event {
    uint64_t time;      /* in ticks */
    uint64_t goroutine; /* 0: the one that runs at this place */
    uint64_t stack;     /* its number; 0: none */
    uint64_t reason;    /* BLOCK: the number of a string, if `wait` is TT_GO_WAITS */
    uint32_t place;     /* a processor or a thread */
    uint32_t order;     /* in the file */
    enum tt_go_kind kind : 8;
    enum tt_go_wait wait : 8;
};

struct tt_go_text {
    const uint8_t *text; /* in the file */
    size_t size;
};

/* Within one generation, numbers of strings and stacks mean one thing.  Older traces are
 * one generation. */
struct tt_go {
    struct tt_source *s;
    struct tt_builder *b;
    uint64_t generation;
    double tick;                   /* ns; 0: not known so far */
    uint64_t begin;                /* the time of the first event, in ticks */
    struct tt_vector event;        /* struct tt_go_event, of this generation */
    struct tt_vector text;         /* struct tt_go_text */
    struct tt_vector stack;        /* struct tt_go_stack */
    struct tt_pairs texts, stacks; /* (number, generation): an index + 1 */
    struct tt_pairs blocks;        /* (name, file), as indices + 1: a block + 1 */
    struct tt_pairs places;        /* (place, 0): an index + 1 */
    struct tt_pairs goroutines;    /* (goroutine, 0): an index + 1 */
    struct tt_vector running;      /* uint64_t: the goroutine of each place, or 0 */
    struct tt_vector goroutine;    /* struct tt_go_goroutine */
    struct tt_vector frame;        /* uint32_t: blocks of a stack */
    uint32_t samples, waits, metric[TT_GO_WAITS]; /* TT_NONE: not so far */
    uint64_t total[TT_GO_WAITS];
    uint64_t nameless, lost; /* frames and stacks that are not there; events */
};

void tt_go_init(struct tt_go *, struct tt_source *, struct tt_builder *);
/* Add what the file has.  0, or an error, noted. */
int tt_go_add_text(struct tt_go *, uint64_t number, const uint8_t *text, size_t size);
int tt_go_add_stack(struct tt_go *, uint64_t number, uint64_t frames,
                    const struct tt_byte_reader *);
int tt_go_add_event(struct tt_go *, uint64_t place, const struct tt_go_event *);
/* All of this generation has been added. */
int tt_go_generation(struct tt_go *, uint64_t next);
/* All has been added. */
int tt_go_end(struct tt_go *);

#endif
