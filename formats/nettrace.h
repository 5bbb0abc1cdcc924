/* SPDX-License-Identifier: MIT */
/* nettrace.h - what the parts of the reader of .nettrace files share.
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

#endif
