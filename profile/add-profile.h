/* SPDX-License-Identifier: MIT */
/* add-profile.h - adds a profile to a builder, whole, in part, or renamed. */
#ifndef TT_ADD_PROFILE_H
#define TT_ADD_PROFILE_H

#include "builder.h"
#include "naming.h"

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
    int stays; /* the profile and these arrays stay until tt_builder_finish, which then reads
                  columns there: no other part may be added */
    int less; /* what comes out does not add up to as much: "cpu" is left out of the facts */
};
int tt_builder_filtered(struct tt_builder *, const struct tt_profile *,
                        const struct tt_parts *);
/* The same for all of a profile, with renamed blocks; blocks that become the same are
 * added up. */
int tt_builder_renamed(struct tt_builder *, const struct tt_profile *,
                       void (*rename)(struct tt_block_info *, const void *arg),
                       const void *arg);
/* The same, with blocks replaced by chains of blocks. */
int tt_builder_named(struct tt_builder *, const struct tt_profile *,
                     const struct tt_naming *);
/* Returns the builder's block for one of a profile's. */
uint32_t tt_builder_block_of(struct tt_builder *, const struct tt_profile *,
                             uint32_t block);

uint32_t tt_builder_strand_of(struct tt_builder *, const struct tt_profile *,
                              uint32_t strand);

#endif
