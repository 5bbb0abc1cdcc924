/* SPDX-License-Identifier: MIT */
/* nettrace.h - declarations for the parts of the reader of .nettrace files.
 *
 *      Nettrace │ !FastSerialization.1 │ Trace │ block │ block │ … │ 1
 *
 * A block has descriptions of events, stacks, or events, or is a point after which the
 * numbers of stacks start again. */
#ifndef TT_NETTRACE_H
#define TT_NETTRACE_H

#include "builder.h"
#include "pairs.h"
#include "source.h"

struct tt_nettrace_event {
    uint32_t kind, sequence,
        stack;                 /* kind: the number of its description; 0: it is one */
    uint64_t thread, capturer; /* capturer: the thread that wrote it */
    const char *payload;
    size_t size;
};

struct tt_nettrace {
    struct tt_source *s; /* borrowed */
    const char *bytes;
    size_t size, at;
    int pointer; /* bytes of an address */
    uint64_t process;
    int is_cut; /* the file ends within a block */
};

/* What is done with what the blocks have.  They return 0, or an error, noted. */
struct tt_nettrace_calls {
    int (*event)(void *arg, const struct tt_nettrace_event *);
    int (*stack)(void *arg, uint32_t number, const char *addresses, size_t size);
    int (*point)(void *arg, uint64_t thread, uint32_t sequence);
    int (*begin)(void *arg); /* the numbers of stacks start again */
    void *arg;
};

/* Walks over all blocks.  0, or an error, noted. */
int tt_nettrace_walk(struct tt_nettrace *, const struct tt_nettrace_calls *);

/* ── Methods ──────────────────────────────────────────────────────────────────────── */

struct tt_nettrace_method {
    uint64_t start, size, module;
    size_t name; /* in `text` */
    uint32_t block, order;
};

struct tt_nettrace_methods {
    const struct tt_memory *memory;
    struct tt_vector method; /* struct tt_nettrace_method; sorted in the end */
    struct tt_vector text;   /* char: names, each with its end */
    struct tt_vector path;   /* size_t: of a module, in `text` */
    struct tt_pairs modules; /* index of its path + 1 */
    struct tt_pairs places;  /* blocks of addresses in no method */
};

/* A payload that is being read: numbers, and texts of UTF-16 up to a 0. */
struct tt_nettrace_payload {
    const char *at, *end;
};
uint64_t tt_nettrace_number(struct tt_nettrace_payload *, int size);
void tt_nettrace_skip_text(struct tt_nettrace_payload *);
/* Adds a text to a vector of characters, without its end: 0, or -1 without memory. */
int tt_nettrace_text(struct tt_nettrace_payload *, struct tt_vector *to);

void tt_nettrace_methods_init(struct tt_nettrace_methods *, const struct tt_memory *);
void tt_nettrace_methods_fini(struct tt_nettrace_methods *);
int tt_nettrace_add_method(struct tt_nettrace_methods *, struct tt_nettrace_payload);
int tt_nettrace_add_module(struct tt_nettrace_methods *, struct tt_nettrace_payload);
void tt_nettrace_sort(struct tt_nettrace_methods *);
/* Returns the block of an address; TT_NONE: no memory. */
uint32_t tt_nettrace_block(struct tt_nettrace_methods *, struct tt_builder *,
                           uint64_t address);

#endif
