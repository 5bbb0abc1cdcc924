/* SPDX-License-Identifier: MIT */
/* memray.h - declarations for the parts of the reader of memray's files.
 *
 *      records ─▶ threads, each with its stack ─▶ places ─▶ figures
 *
 * A place is a context of a thread, with the function that allocated there. */
#ifndef TT_MEMRAY_H
#define TT_MEMRAY_H

#include "heap-figures.h"
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

/* What is mapped: ranges that do not overlap. */
struct tt_memray_range {
    uint64_t start, end;
    uint32_t place;
};

struct tt_memray_ranges {
    struct tt_vector node;
    uint32_t top, unused;
    uint64_t random;
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

/* All that return int return 0, or an error, noted. */

/* ── Stacks (memray-stacks.c) ─────────────────────────────────────────────────────── */

void tt_memray_stacks_init(struct tt_memray *);

/* Describes a frame of Python by a key of two numbers; a later description replaces it.
 * is_entry: the interpreter was called for it; or it goes on in its caller's loop. */
int tt_memray_frame(struct tt_memray *, uint64_t a, uint64_t b, uint32_t block,
                    int is_entry);
/* Returns the number of the frame with this key, or of an unknown one; TT_NONE: no
 * memory, noted. */
uint32_t tt_memray_find_frame(struct tt_memray *, uint64_t a, uint64_t b);
/* Returns the node of a frame below another; 0: no memory, noted. */
uint32_t tt_memray_node(struct tt_memray *, uint32_t parent, uint32_t frame);
int tt_memray_native(struct tt_memray *, uint64_t address, uint64_t parent);
/* A new list of images begins; an image that lies there, from `base` on. */
int tt_memray_images(struct tt_memray *);
int tt_memray_image(struct tt_memray *, uint64_t start, uint64_t size, uint64_t base,
                    size_t path);
/* Returns the context of a site; TT_NONE: no memory, noted. */
uint32_t tt_memray_context(struct tt_memray *, const struct tt_memray_site *);

/* ── Ranges (memray-ranges.c) ─────────────────────────────────────────────────────── */

void tt_memray_ranges_init(struct tt_memray_ranges *, const struct tt_memory *);
/* Adds a range that overlaps no other one; -TT_ERR_MEMORY, not noted. */
int tt_memray_ranges_add(struct tt_memray_ranges *, struct tt_memray_range);
/* Returns the range that starts before an address and ends after it, or NULL.  Valid until
 * the next addition. */
struct tt_memray_range *tt_memray_ranges_around(const struct tt_memray_ranges *,
                                                uint64_t address);
/* Removes one range that starts there, from `start` to before `end`; returns whether there
 * was one. */
int tt_memray_ranges_take(struct tt_memray_ranges *, uint64_t start, uint64_t end,
                          struct tt_memray_range *);

/* ── Figures (memray-heap.c) ──────────────────────────────────────────────────────── */

void tt_memray_heap_init(struct tt_memray *);

/* Returns the figures of a site, valid until the next call; NULL: no memory, noted. */
struct tt_memray_figures *tt_memray_place(struct tt_memray *,
                                          const struct tt_memray_site *);
int tt_memray_allocate(struct tt_memray *, const struct tt_memray_site *,
                       uint64_t address, uint64_t size);
void tt_memray_free(struct tt_memray *, uint64_t address);
int tt_memray_unmap(struct tt_memray *, uint64_t address, uint64_t size);
/* Adds all figures to the builder. */
int tt_memray_finish(struct tt_memray *);

#endif
