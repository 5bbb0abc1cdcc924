/* SPDX-License-Identifier: MIT */
/* series.h - live memory over time; see series.c. */
#ifndef TT_SERIES_H
#define TT_SERIES_H

#include "space.h"

/* Where objects count. */
struct tt_band_place {
    const struct tt_node *node; /* of the context that made them, or of an ancestor */
    tt_block block;             /* that made them */
    tt_type type;
};

/* Adds `bytes` from `now` on, in a generation.  The second adds to the state of objects whose
 * use is unknown. */
void tt_bands_change(struct tt_thread *, const struct tt_band_place *,
                     uint32_t generation, uint64_t now, int64_t bytes);
void tt_bands_inherent(struct tt_thread *, uint32_t generation, uint64_t now,
                       int64_t bytes);

/* The same in two steps: the band, NULL without room, and the change.  A strand keeps its
 * bands to its end. */
struct tt_band *tt_band_of_type(struct tt_tree *, tt_type, uint32_t generation);
void tt_band_change(struct tt_tree *, struct tt_band *, uint64_t when, int64_t bytes);

#define TT_STILL UINT64_MAX

struct tt_life {                      /* of an object */
    uint64_t born, first, last, died; /* died: TT_STILL if it has not */
    int used;                         /* else the second and third are unknown */
};

/* An object has died: its states of use, over its whole life. */
void tt_bands_life(struct tt_thread *, const struct tt_life *, int64_t bytes);

/* Removes all objects from these generations: survivors are reported again. */
void tt_bands_collect(struct tt_thread *, uint32_t generation, uint64_t now);

/* Sets how much a set of retainers has, by the type of its name; and drops these amounts
 * for all sets. */
void tt_bands_retained(struct tt_thread *, tt_type, uint64_t now, int64_t bytes);
void tt_bands_release(struct tt_thread *, uint64_t now);

/* The cost centre that is current there: the nearest one on the path, or the root. */
tt_block tt_bands_centre(struct tt_tree *, const struct tt_node *);

/* ── Bands of the whole process: callers serialise all events ─────────────────────── */

/* The first interval is of 2^this ticks: a millisecond, or a tick of no known length. */
uint32_t tt_bands_shift(const struct tt_recording *);

/* A band whose intervals are of 2^shift ticks.  NULL: there is no room. */
struct tt_band *tt_band_shared(struct tt_recording *, struct tt_space_record *,
                               enum tt_band_of, uint32_t key, uint32_t shift);

/* Makes each two intervals one, of all of these. */
void tt_bands_halve(struct tt_recording *, struct tt_space_record *);

/* All of a strand that has ended goes to another. */
void tt_bands_merge(struct tt_tree *into, struct tt_tree *from);

/* Makes bands known to an index that is made again. */
void tt_bands_index(struct tt_tree *);

#endif
