/* SPDX-License-Identifier: MIT */
/* picture.h - a recording for readers: contexts in preorder, arcs, blocks.
 *
 * Reads an image that cannot be trusted: a file that was cut off, damaged, or copied
 * while the process ran or died.  Depends on layout.h alone. */
#ifndef TT_PICTURE_H
#define TT_PICTURE_H

#include "layout.h"

struct tt_picture_block {
    struct tt_block_info info;     /* strings point into the image */
    uint32_t id, rank;             /* rank: its place in the order of names */
    uint64_t calls, self, samples; /* over all strands, with evicted ones */
    uint64_t inclusive, hidden;    /* hidden: the part that is not in the tree */
    uint64_t evicted;              /* the part of self that was evicted */
    uint64_t self_low;             /* self without all that measuring may have added */
    int shares_name;               /* another block has its name */
    const struct tt_type_record *type; /* it is a type of objects; NULL: a block */
};

struct tt_picture_context {
    uint32_t block;       /* index in blocks; UINT32_MAX: a root */
    uint32_t parent;      /* index; UINT32_MAX for a root */
    uint32_t depth, size; /* size: of the subtree, with itself */
    uint32_t cell, strand;
    uint32_t times; /* see tt_picture_times; 0: there are none */
    uint64_t calls, self, samples,
        total;                    /* calls by whatever edge; total with the subtree */
    uint64_t callees;             /* calls made from here */
    uint64_t self_low, total_low; /* without all that measuring may have added */
    struct tt_amounts elsewhere;
    uint64_t missed;
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
    const struct tt_picture_block **type; /* by id; NULL: not a type */
    struct tt_picture_context *context;
    struct tt_times *times; /* of the contexts that have any */
    struct tt_picture_arc *arc;
    const struct tt_strand_record **strand;
    uint32_t *strand_first;                          /* index of each strand's root */
    uint32_t blocks, types, contexts, arcs, strands; /* types: ids are less than that */
    uint32_t *index;                                 /* by cell: context + 1 */
    uint32_t cells;
    uint32_t *tally; /* cells: of a block in a strand each */
    uint32_t tallies;
    uint32_t timed;                      /* cells: extensions with times */
    int has_twins;                       /* some contexts agree in caller and block */
    int live;                            /* references may dangle: to new cells */
    uint32_t dropped;                    /* cells, for that reason */
    const struct tt_space_record *space; /* NULL: no objects were recorded */
    uint32_t bands;                      /* a cell: the process's own; 0: none */
    unsigned char *seen;                 /* while it is read: which extensions were */
    char error[160];                     /* the error and its place, after a failure */
};

/* Reads an image, which must outlive the picture; completes an eviction that was cut
 * short.  `live`: the process went on while it was copied, so that one part may be older
 * than another: cells that refer to nothing are left out and counted.  Returns 0,
 * -TT_ERR_FORMAT or -TT_ERR_MEMORY; call tt_picture_fini in any case. */
int tt_picture_read(struct tt_picture *, void *image, size_t size, int live);
void tt_picture_fini(struct tt_picture *);

/* The times of all activations of a context; NULL: there are none. */
static inline const struct tt_times *tt_picture_times(const struct tt_picture *p,
                                                      const struct tt_picture_context *c)
{
    return c->times ? &p->times[c->times - 1] : NULL;
}

/* ── Between the files that read a picture ────────────────────────────────────────── */

static inline void *tt_picture_cell(const struct tt_picture *p, uint32_t cell)
{
    return p->image + (size_t)cell * TT_CELL_SIZE;
}

/* The cells of pages are those from here to p->cells. */
static inline uint32_t tt_picture_first(const struct tt_picture *p)
{
    return p->header->first / TT_CELL_SIZE;
}

/* While a picture is read: stores an error; the page map's word for a cell, 0 if there is
 * none. */
__attribute__((format(printf, 2, 3))) int tt_picture_damaged(struct tt_picture *,
                                                             const char *format, ...);
static inline uint32_t tt_picture_page(const struct tt_picture *p, uint32_t cell)
{
    const uint32_t first = tt_picture_first(p);

    if (cell < first || cell >= p->cells)
        return 0;
    return (
        (const uint32_t *)(const void *)(p->image +
                                         p->header->map))[(cell - first) / TT_PAGE_CELLS];
}

#endif
