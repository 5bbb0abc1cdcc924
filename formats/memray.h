/* SPDX-License-Identifier: MIT */
/* memray.h - what the parts of the reader of memray's files share.
 *
 *      records ─▶ threads, each with its stack ─▶ places ─▶ figures
 *
 * A place is a context of a thread, with the function that allocated there. */
#ifndef TT_MEMRAY_H
#define TT_MEMRAY_H

#include "heap-figures.h"
#include "memray-ranges.h"
#include "pairs.h"

/* The functions that allocate, as version 12 and later number them. */
enum tt_memray_allocator {
    TT_MEMRAY_PY_FREE = 1,
    TT_MEMRAY_FREE = 5,
    TT_MEMRAY_MMAP = 14,
    TT_MEMRAY_MUNMAP = 15,
    TT_MEMRAY_ALLOCATORS
};

struct tt_memray_thread {
    uint64_t id;
    struct tt_vector name;  /* char, with its end; empty: it has none */
    struct tt_vector stack; /* uint32_t: a node for each frame that is open */
};

struct tt_memray_figures { /* of a place */
    uint32_t thread, allocator, context;
    uint64_t peaks; /* number of peaks when it changed last */
    uint64_t bytes, number, live, live_number, peak, peak_number;
};

/* Where an allocation was made. */
struct tt_memray_site {
    uint32_t thread, allocator;
    uint32_t node;   /* of Python's stack; 0: it is empty */
    uint32_t native; /* number of the innermost native frame, from 1 on; 0: none */
    uint32_t images; /* number of the list of images that its addresses are in */
};

struct tt_memray {
    struct tt_source *s; /* borrowed */
    struct tt_builder *b;
    struct tt_vector text;       /* char: names, each with its end */
    uint64_t pid, main, skipped; /* frames of the thread `main` that are left out */

    struct tt_pairs threads; /* by id: index + 1 */
    struct tt_vector thread; /* struct tt_memray_thread, owned */

    struct tt_pairs frames, nodes; /* a node: (parent, frame) */
    struct tt_vector frame, node;
    struct tt_vector native, image, list;
    struct tt_pairs addresses, merged; /* (address, list); (node, native) of a list */
    struct tt_vector spot, path, callers;
    uint64_t unmerged, deep; /* stacks of Python alone: the interpreter's loop was not
                              * found often enough; there are too many frames */

    struct tt_pairs places, objects; /* objects: by address */
    struct tt_vector place, object;
    struct tt_memray_ranges ranges;
    uint64_t bytes, live, peak, peaks, lost;
    struct tt_heap_line line, resident;
    uint64_t time;
};

#endif
