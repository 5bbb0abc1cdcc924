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
    uint64_t calls, self, samples,
        total;                    /* calls by whatever edge; total with the subtree */
    uint64_t callees;             /* calls made from here */
    uint64_t self_low, total_low; /* without all that measuring may have added */
    struct tt_amounts elsewhere;
    uint64_t missed;
    struct tt_times times; /* of all activations of this context; count 0: none */
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
    struct tt_picture_arc *arc;
    const struct tt_strand_record **strand;
    uint32_t *strand_first;                          /* index of each strand's root */
    uint32_t blocks, types, contexts, arcs, strands; /* types: ids are less than that */
    uint32_t *index;                                 /* by cell: context + 1 */
    uint32_t cells;
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

/* Walks a chain of extensions: those of a context or arc, by its cell.  NULL after the
 * last.  Only for cells that tt_picture_read has checked. */
const void *tt_picture_extension(const struct tt_picture *, uint32_t cell, uint32_t kind);

/* Calls `each` for each metric of a context; of a tally, for the amounts that recursion
 * hides, and as elsewhere, those evicted. */
void tt_picture_metrics(const struct tt_picture *, uint32_t cell,
                        void (*each)(void *arg, const struct tt_metric_record *,
                                     int elsewhere, uint64_t amount),
                        void *arg);

/* The next cell that is the tally of a block in a strand; 0: the first, and after the last. */
uint32_t tt_picture_next_tally(const struct tt_picture *, uint32_t cell);

/* The name of a row's type; "" when there is none. */
const char *tt_picture_type(const struct tt_picture *, uint32_t key);

/* Calls back for each row of space of a context; `alive`: those of its objects that are in
 * the generation now, or have left it since it was last collected. */
void tt_picture_space(const struct tt_picture *, uint32_t cell,
                      void (*each)(void *arg, const struct tt_space *,
                                   const struct tt_objects *alive),
                      void *arg);

/* Calls `each` for each holding whose context is known: a cell, or with `below` the
 * ancestor it was evicted to; 0: unknown. */
void tt_picture_holdings(const struct tt_picture *,
                         void (*each)(void *arg, const struct tt_holding *, uint32_t cell,
                                      int below),
                         void *arg);

/* The maxima of live memory: tt_picture_maxima of them, i from 0 on; the last one is that
 * of the last part of the run.  And the amount of a holding at one. */
uint32_t tt_picture_maxima(const struct tt_picture *);
struct tt_maximum tt_picture_maximum(const struct tt_picture *, uint32_t i);
uint64_t tt_picture_held(const struct tt_picture *, const struct tt_holding *,
                         uint32_t maximum);

/* A strand's bands, or those of the process (NULL), one after the other: the first after NULL,
 * NULL after the last.  Its points, as the change in each interval of 2^shift ticks, which is
 * returned. */
const struct tt_band *tt_picture_band(const struct tt_picture *,
                                      const struct tt_strand_record *,
                                      const struct tt_band *before);
uint32_t tt_band_points(const struct tt_band *, int64_t out[TT_BAND_POINTS]);

/* An entry of the sample log: the share of a context's samples that were charged at a time, in
 * ticks since the recording began.  Calls back for each, in no order; *lost: ticks of samples
 * that are not in the log.  0 or -TT_ERR_MEMORY. */
struct tt_picture_sample {
    uint32_t context; /* index */
    uint64_t time, weight, samples;
};
typedef void tt_picture_each_sample(void *arg, const struct tt_picture_sample *);
int tt_picture_log(const struct tt_picture *, tt_picture_each_sample *each, void *arg,
                   uint64_t *lost);

/* x², summed, as a floating figure; mean and population deviation of activations. */
double tt_square_value(const struct tt_square *);
double tt_times_deviation(const struct tt_times *);

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

/* While a picture is read.  In this order: stores an error; the page map's word for a
 * cell, 0 if there is none; checks bands; checks the extensions of a cell; orders the
 * contexts. */
__attribute__((format(printf, 2, 3))) int tt_picture_damaged(struct tt_picture *,
                                                             const char *format, ...);
uint32_t tt_picture_page(const struct tt_picture *, uint32_t cell);
int tt_picture_check_bands(struct tt_picture *, uint32_t first, uint32_t page);
int tt_picture_check_extensions(struct tt_picture *, uint32_t cell, uint32_t owner);
int tt_picture_order(struct tt_picture *);

#endif
