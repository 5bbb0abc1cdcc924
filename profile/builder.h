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
/* The same, without a look-up, which takes most of the time: no such context is there, and
 * none is looked up later. */
uint32_t tt_builder_new_context(struct tt_builder *, uint32_t parent, uint32_t block);
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
/* Strands that follow get the label `run=RUN`, unless they have one, or are ranks, which are
 * one run together; NULL: no more.  Borrowed.  Those without a process, as of an idle
 * processor, get it too with `of_all`. */
void tt_builder_run(struct tt_builder *, const char *run, int of_all);
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
/* Returns the block of a function that is called as the root of a profile is, but is not the
 * root. */
uint32_t tt_builder_inner_root(struct tt_builder *, const char *name);
/* Returns why the sums of the profile would be wrong; NULL: they are right. */
const char *tt_builder_wrong_sums(const struct tt_builder *);
void tt_builder_missed(struct tt_builder *, uint32_t context, uint32_t metric,
                       uint64_t amount);

/* For a result that may be looked at only once: makes room for so many contexts, and leaves the
 * edges out of a digest. */
void tt_builder_expect(struct tt_builder *, size_t contexts);
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

/* The strand of the figures that follow; TT_NONE: they belong to many. */
uint32_t tt_builder_current(struct tt_builder *);

uint32_t tt_builder_strands(const struct tt_builder *); /* how many there are */
/* Do figures and activations by strand have more bytes than that?  What is there twice is added up
 * before; unless `exactly`, only after each quarter more. */
int tt_builder_is_wide(struct tt_builder *, size_t bytes, int exactly);

#endif
