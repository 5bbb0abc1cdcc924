/* SPDX-License-Identifier: MIT */
/* builder.h - makes a profile: from a recording, a foreign format, or other profiles.
 *
 * A tree grows by (parent, block), and figures are added to it strand by strand; in the
 * end everything is sorted and written into one image.  The result does not depend on the
 * order of additions.  Every function returns an id, or TT_NONE if there is no memory or
 * if one of its ids is TT_NONE.  After such a failure the builder can only be freed, and
 * tt_builder_finish returns -TT_ERR_MEMORY, so callers need not check each step. */
#ifndef TT_BUILDER_H
#define TT_BUILDER_H

#include "profile.h"
#include "range.h"

struct tt_builder;

struct tt_builder *tt_builder_new(const struct tt_memory *); /* NULL: no memory */
void tt_builder_free(struct tt_builder *);

enum {
    TT_BUILDER_ROOT = 0
}; /* the context that is there from the start, and its block */

uint32_t tt_builder_string(struct tt_builder *, const char *text);
uint32_t tt_builder_block(struct tt_builder *, const struct tt_block_info *);
uint32_t tt_builder_metric(struct tt_builder *, const char *name, const char *unit,
                           uint32_t flags);
uint32_t tt_builder_context(struct tt_builder *, uint32_t parent, uint32_t block);
uint32_t tt_builder_arc(struct tt_builder *, uint32_t from, uint32_t to, uint32_t block);
/* Returns the parent of a context other than the root, and the name of its block, which
 * is valid until the next block. */
uint32_t tt_builder_parent(const struct tt_builder *, uint32_t context,
                           const char **name);
void tt_builder_fact(struct tt_builder *, const char *name, enum tt_fact_rule,
                     uint64_t number, const char *text);

/* Sets the strand of the figures that follow; the same identity continues an earlier
 * strand.  `strings` has the row's strings.  Without a strand, figures belong to one
 * without a name. */
struct tt_strand_info {
    const char *host, *process, *node, *name;
    uint64_t pid, thread;
    uint32_t rank;      /* TT_NONE: none */
    const char *labels; /* "KEY=VALUE", a line each; NULL: none */
    uint64_t members, least, most, least_thread, most_thread; /* see tt_strand_row */
    struct tt_sum128 square;
};
uint32_t tt_builder_strand(struct tt_builder *, const struct tt_strand_info *);
void tt_builder_no_strand(struct tt_builder *); /* they are of the nameless one again */

/* Adds to a figure of the current strand. */
enum tt_role {
    TT_ROLE_SELF,      /* of a context */
    TT_ROLE_ARC,       /* of an arc: its calls; no metric */
    TT_ROLE_BESIDE,    /* of a block */
    TT_ROLE_HIDDEN,    /* of a block */
    TT_ROLE_ELSEWHERE, /* of a context */
    TT_ROLE_OWN,       /* of a context: what measuring may have added to its self */
    TT_ROLES
};
void tt_builder_add(struct tt_builder *, enum tt_role, uint32_t id, uint32_t metric,
                    uint64_t amount);
/* Does the sum of all figures of a metric not fit 64 bits?  Then the profile would be
 * wrong. */
int tt_builder_has_overflown(const struct tt_builder *);
void tt_builder_missed(struct tt_builder *, uint32_t context, uint32_t metric,
                       uint64_t amount);

/* The profile gets a digest (digest.h) of that many rows, however small it is. */
void tt_builder_digest(struct tt_builder *, uint32_t rows);

/* Adds the current strand's activations through an edge (of a context, or of an arc with
 * `arc`); ignores the row's `row` and `strand`.  Returns the row that it added; NULL:
 * there were no activations, or no memory. */
struct tt_times_row *tt_builder_times(struct tt_builder *, int arc, uint32_t id,
                                      const struct tt_times_row *);
void tt_builder_bin(struct tt_builder *, int arc, uint32_t id, uint32_t bin,
                    uint64_t count);
/* Adds one activation of the history or, with figures of its subtree, of the slowest. */
void tt_builder_activation(struct tt_builder *, int arc, uint32_t id, uint64_t start,
                           uint64_t duration);
void tt_builder_slow(struct tt_builder *, int arc, uint32_t id, uint64_t start,
                     uint64_t duration, const struct tt_slow_figure *, size_t count,
                     uint64_t dropped);
void tt_builder_space(struct tt_builder *, uint32_t context, const char *type,
                      uint32_t from, uint32_t to, uint64_t number, uint64_t bytes,
                      uint64_t overhead);
uint32_t tt_builder_series(struct tt_builder *, const char *name, const char *unit,
                           const char *label, uint64_t interval);
void tt_builder_point(struct tt_builder *, uint32_t series, const char *label,
                      uint64_t time, uint64_t amount);

/* Adds addresses of code: places, and trails, which are stacks of places.  A trail
 * belongs to a context, and has the part of its self that was charged at this address.
 * `parent`: TT_NONE: none; block and file of frames are the builder's ids. */
uint32_t tt_builder_place(struct tt_builder *, const char *module, const char *id,
                          uint64_t address, const struct tt_place_frame *,
                          uint32_t frames);
uint32_t tt_builder_trail(struct tt_builder *, uint32_t parent, uint32_t context,
                          uint32_t place);
void tt_builder_trail_add(struct tt_builder *, uint32_t trail, uint32_t metric,
                          uint64_t amount);

/* The strand of the figures that follow; TT_NONE: they belong to many. */
uint32_t tt_builder_current(struct tt_builder *);

/* Adds a sample by time for the current strand, with a part of a metric; `ran`: see
 * tt_sample_row.  Above the cap, samples are combined.  Of samples of several metrics only
 * those of one are kept. */
void tt_builder_sample(struct tt_builder *, uint32_t metric, uint32_t context,
                       uint64_t time, uint64_t weight, uint64_t ran);

/* The same, of a context and a strand that have only numbers of the caller's so far. */
void tt_builder_sample_later(struct tt_builder *, uint32_t context, uint32_t strand,
                             uint64_t time, uint64_t weight);
/* Gives those their contexts and strands, of each number; TT_NONE: its samples are left
 * out, or without a strand.  `context` NULL: all are left out. */
void tt_builder_place_samples(struct tt_builder *, uint32_t metric,
                              const uint32_t *context, const uint32_t *strand);

/* Adds all of a checked profile. */
int tt_builder_profile(struct tt_builder *, const struct tt_profile *);
/* The same, for a filtered profile.  An array that is NULL changes nothing. */
enum { TT_ARC_ROW = 1u << 31 }; /* marks ids of arcs, where both kinds are possible */
struct tt_parts {
    const uint32_t *context; /* of each, the builder's; TT_NONE: figures are left out */
    /* For each arc of a dropped push: an arc of the builder (with TT_ARC_ROW), or the
     * context that its calls belong to now, or TT_NONE.  Other arcs are kept where
     * possible. */
    const uint32_t *drop;
    const unsigned char *muted;  /* of each context: is it left without calls and
                                    activations, being spliced out into its caller? */
    const unsigned char *strand; /* of each: is it wanted?  NULL: all are */
    int same_paths; /* or else figures of blocks that are at no context are left out, and
                       the facts say how much was hidden */
    int facts_are_there; /* they were added by another part of the same profile */
    int less; /* what comes out does not add up to as much: "cpu" is left out of the facts */
};
int tt_builder_filtered(struct tt_builder *, const struct tt_profile *,
                        const struct tt_parts *);
/* The same, but only for samples by time in a range; other metrics are unknown there. */
int tt_builder_range(struct tt_builder *, const struct tt_profile *,
                     const struct tt_range *, const uint32_t *context);
/* The same for all of a profile, with renamed blocks; blocks that become the same are
 * added up. */
int tt_builder_renamed(struct tt_builder *, const struct tt_profile *,
                       void (*rename)(struct tt_block_info *));
/* The same, with blocks replaced by chains of blocks.  A context of such a block becomes
 * a chain of contexts, and contexts with the same path become one.  Self goes to the
 * innermost, calls to the outermost; hidden figures of the block count for all blocks of
 * the chain, so their sum may be too high.  The spread of figures in a summary is lost.
 * Facts called "unresolved" are left out: the caller counts them again. */
struct tt_naming {
    /* Returns how many blocks replace this one, from the outermost inwards, at *chain,
     * which is valid until the next call; 0: it is kept.  Called once for each block, in
     * the order of tt_blocks_by_place. */
    size_t (*chain)(void *arg, const struct tt_block_info *,
                    const struct tt_block_info **chain);
    void *arg;
    /* Returns the place in the sources of each block of the last chain; NULL: addresses
     * are not kept.  A block for a line of a function has no file here. */
    const struct tt_source_line *(*lines)(void *arg);
};
struct tt_source_line {
    const char *file;
    uint32_t line, column;
};
/* Returns all blocks but the root in the order of modules, files and offsets; to be freed
 * by tt_memory_put, with the size of p->blocks.  NULL: no memory. */
uint32_t *tt_blocks_by_place(const struct tt_profile *, const struct tt_memory *);
int tt_builder_named(struct tt_builder *, const struct tt_profile *,
                     const struct tt_naming *);
/* Returns the builder's block for one of a profile's. */
uint32_t tt_builder_block_of(struct tt_builder *, const struct tt_profile *,
                             uint32_t block);

/* Replaces figures by strand by their spread over strands, permanently; strands that have
 * figures now must get no more.  Called after each of many profiles, it keeps memory
 * bounded.  -TT_ERR_MEMORY. */
int tt_builder_summarise(struct tt_builder *);
uint32_t tt_builder_strands(const struct tt_builder *); /* how many there are */

/* Sorts everything and makes the image, from the builder's memory; the caller frees it by
 * tt_memory_put.  After this, the builder can only be freed.  -TT_ERR_MEMORY. */
int tt_builder_finish(struct tt_builder *, void **image, size_t *size);

#endif
