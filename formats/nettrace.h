/* SPDX-License-Identifier: MIT */
/* nettrace.h - declarations for the parts of the reader of .nettrace files.
 *
 *      Nettrace │ !FastSerialization.1 │ Trace │ block │ block │ … │ 1
 *
 * A block has descriptions of events, stacks, or events, or is a point after which the
 * numbers of stacks start again.  Version 6 has another frame and more kinds of blocks; it
 * is also written by tools that trace whole machines. */
#ifndef TT_NETTRACE_H
#define TT_NETTRACE_H

#include "builder.h"
#include "pairs.h"
#include "source.h"

struct tt_nettrace_event {
    uint32_t kind, sequence,
        stack;                 /* kind: the number of its description; 0: it is one */
    uint64_t thread, capturer; /* capturer: the thread that wrote it */
    uint64_t ticks;
    const char *payload;
    size_t size;
};

struct tt_nettrace_text { /* UTF-8, without an end */
    const char *at;
    size_t size;
};

struct tt_nettrace_description { /* of a kind of events; from version 6 on */
    uint32_t number, event;
    struct tt_nettrace_text provider, name;
    int has_value; /* its first field weighs the stack */
};

struct tt_nettrace_thread {
    uint64_t number, process, id;
    struct tt_nettrace_text name;
};

struct tt_nettrace {
    struct tt_source *s; /* borrowed */
    const char *bytes;
    size_t size, at;
    int pointer; /* bytes of an address */
    int is_six;
    uint64_t process;
    struct tt_ticks clock;
    int is_cut; /* the file ends within a block */
};

/* What is done with what the blocks have.  They return 0, or an error, noted. */
struct tt_nettrace_calls {
    int (*event)(void *arg, const struct tt_nettrace_event *);
    int (*stack)(void *arg, uint32_t number, const char *addresses, size_t size);
    int (*point)(void *arg, uint64_t thread, uint32_t sequence);
    /* The numbers of stacks start again; by flags, those of threads and kinds, too. */
    int (*begin)(void *arg, unsigned flags);
    /* Of version 6 only. */
    int (*describe)(void *arg, const struct tt_nettrace_description *);
    int (*thread)(void *arg, const struct tt_nettrace_thread *);
    int (*gone)(void *arg, uint64_t thread, uint32_t sequence);
    void *arg;
};
enum { TT_NETTRACE_THREADS = 1, TT_NETTRACE_KINDS = 2 }; /* flags of `begin` */

/* A block that is being read; a number past its end is 0, and makes it bad. */
struct tt_nettrace_cursor {
    const char *at, *end;
    int is_bad;
};
uint64_t tt_nettrace_take(struct tt_nettrace_cursor *, int size);
uint64_t tt_nettrace_take_varied(struct tt_nettrace_cursor *);
void tt_nettrace_pass(struct tt_nettrace_cursor *, uint64_t size);
int tt_nettrace_read_events(struct tt_nettrace *, struct tt_nettrace_cursor,
                            const struct tt_nettrace_calls *);
int tt_nettrace_read_stacks(struct tt_nettrace *, struct tt_nettrace_cursor,
                            const struct tt_nettrace_calls *);

/* Reads when the run began, and the clock. */
void tt_nettrace_read_clock(struct tt_nettrace *, struct tt_nettrace_cursor *);

/* Walks over all blocks.  0, or an error, noted. */
int tt_nettrace_walk(struct tt_nettrace *, const struct tt_nettrace_calls *);
int tt_nettrace_walk_six(struct tt_nettrace *, const struct tt_nettrace_calls *);

/* ── Methods ──────────────────────────────────────────────────────────────────────── */

struct tt_nettrace_method {
    uint64_t pid, start, size, module;
    size_t name; /* in `text` */
    uint32_t block, order;
};

struct tt_nettrace_methods {
    const struct tt_memory *memory;
    struct tt_vector method; /* struct tt_nettrace_method; sorted in the end */
    struct tt_vector text;   /* char: names, each with its end */
    struct tt_vector path;   /* size_t: of a module, in `text` */
    struct tt_pairs modules; /* of a process: index of its path + 1 */
    struct tt_pairs places;  /* blocks of addresses in no method */
};

/* A payload that is being read: numbers, and texts of UTF-16 up to a 0. */
struct tt_nettrace_payload {
    const char *at, *end;
};
uint64_t tt_nettrace_number(struct tt_nettrace_payload *, int size);
/* Adds a text to a vector of characters, without its end: 0, or -1 without memory. */
int tt_nettrace_text(struct tt_nettrace_payload *, struct tt_vector *to);

void tt_nettrace_methods_init(struct tt_nettrace_methods *, const struct tt_memory *);
int tt_nettrace_add_method(struct tt_nettrace_methods *, uint64_t pid,
                           struct tt_nettrace_payload);
int tt_nettrace_add_module(struct tt_nettrace_methods *, uint64_t pid,
                           struct tt_nettrace_payload);
void tt_nettrace_sort(struct tt_nettrace_methods *);
/* Is an address of a process in a method? */
int tt_nettrace_is_method(const struct tt_nettrace_methods *, uint64_t pid,
                          uint64_t address);
/* Returns the block of an address; TT_NONE: no memory. */
uint32_t tt_nettrace_block(struct tt_nettrace_methods *, struct tt_builder *,
                           uint64_t pid, uint64_t address);

/* ── Mappings of many processes ───────────────────────────────────────────────────── */

struct tt_nettrace_spaces {
    struct tt_vector mapping, symbol; /* sorted in the end */
    struct tt_vector text;            /* char */
    struct tt_pairs ids;              /* of files: build-ids, in the text */
    struct tt_pairs places;           /* blocks of addresses without a symbol */
};

void tt_nettrace_spaces_init(struct tt_nettrace_spaces *, const struct tt_memory *);
/* A number of as many bytes as it needs. */
uint64_t tt_nettrace_varied(struct tt_nettrace_payload *);
/* They take events of Universal.System: 0, or -1 without memory. */
int tt_nettrace_add_mapping(struct tt_nettrace_spaces *, uint64_t pid,
                            struct tt_nettrace_payload);
int tt_nettrace_add_symbol(struct tt_nettrace_spaces *, struct tt_nettrace_payload);
int tt_nettrace_add_about(struct tt_nettrace_spaces *, struct tt_nettrace_payload);
void tt_nettrace_sort_spaces(struct tt_nettrace_spaces *);
/* Returns the block of an address of a process; TT_NONE: no memory. */
uint32_t tt_nettrace_place(struct tt_nettrace_spaces *, struct tt_builder *, uint64_t pid,
                           uint64_t address);

#endif
