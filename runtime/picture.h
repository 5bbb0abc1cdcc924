/* SPDX-License-Identifier: MIT */
/* picture.h - a recording as it can be looked at: contexts in preorder, arcs, blocks.
 *
 * Reads an image that nobody vouches for: a file that was cut off, damaged, or copied
 * while the process ran or died.  Depends on layout.h alone. */
#ifndef TT_PICTURE_H
#define TT_PICTURE_H

#include "layout.h"

struct tt_picture_block {
    struct tt_block_info info;     /* strings point into the image */
    uint32_t id, rank;             /* rank: its place in the order of names */
    uint64_t calls, self, samples; /* over all strands, with what was evicted */
    uint64_t inclusive, hidden; /* hidden: the part of it that the tree does not show */
    uint64_t evicted;           /* the part of self that was evicted */
    uint64_t self_low;          /* self without all that measuring may have added */
    int shares_name;            /* another block has its name */
};

struct tt_picture_context {
    uint32_t block;       /* index in blocks; UINT32_MAX: a root */
    uint32_t parent;      /* index; UINT32_MAX for a root */
    uint32_t depth, size; /* size: of the subtree, with itself */
    uint32_t cell, strand;
    uint64_t calls, self, samples,
        total;                    /* calls by whatever edge; total with the subtree */
    uint64_t callees;             /* calls made from here */
    uint64_t self_low, total_low; /* without all that measuring may have added */
    struct tt_amounts elsewhere;
    uint64_t missed;
    struct tt_times times; /* of all activations that stood here; count 0: none */
};

struct tt_picture_arc {
    uint32_t from, to, block, cell;
    uint64_t calls;
};

struct tt_picture {
    char *image;
    size_t size;
    const struct tt_header *header;
    struct tt_picture_block *block;
    struct tt_picture_context *context;
    struct tt_picture_arc *arc;
    const struct tt_strand_record **strand;
    uint32_t *strand_first; /* index of each strand's root */
    uint32_t blocks, contexts, arcs, strands;
    uint32_t *index; /* by cell: context + 1, or block id → block + 1 while it is read */
    uint32_t cells;
    int live;         /* what dangles is not there yet, and no error */
    uint32_t dropped; /* cells, for that reason */
    char error[160];  /* what is wrong, and where, after a failure */
};

/* Makes a picture of an image, which must stay, and is set right where an eviction was
 * cut short.  `live`: it was copied while the process went on, so that one part may be
 * older than another: what refers to nothing is left out and counted.
 * -TT_ERR_FORMAT or -TT_ERR_MEMORY; tt_picture_fini in either case. */
int tt_picture_read(struct tt_picture *, void *image, size_t size, int live);
void tt_picture_fini(struct tt_picture *);

/* Walks a chain of extensions: those of a context or arc, by its cell.  NULL after the
 * last.  Only what tt_picture_read has checked. */
const void *tt_picture_extension(const struct tt_picture *, uint32_t cell, uint32_t kind);

/* Calls back for each metric of a context. */
void tt_picture_metrics(const struct tt_picture *, uint32_t cell,
                        void (*each)(void *arg, const struct tt_metric_record *,
                                     int elsewhere, uint64_t amount),
                        void *arg);

/* x², summed, as a floating figure; mean and population deviation of activations. */
double tt_square_value(const struct tt_square *);
double tt_times_deviation(const struct tt_times *);

#endif
