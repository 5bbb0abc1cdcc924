/* SPDX-License-Identifier: MIT */
/* figures.h - the figures of a picture beside its contexts: metrics, objects, bands. */
#ifndef TT_FIGURES_H
#define TT_FIGURES_H

#include "picture.h"

/* Walks a chain of extensions: those of a context or arc, by its cell.  NULL after the
 * last.  Only for cells that tt_picture_read has checked. */
const void *tt_picture_extension(const struct tt_picture *, uint32_t cell, uint32_t kind);

/* Calls `each` for each metric of a context; of a tally, for the amounts that recursion
 * hides, and as elsewhere, those evicted. */
void tt_picture_metrics(const struct tt_picture *, uint32_t cell,
                        void (*each)(void *arg, const struct tt_metric_record *,
                                     int elsewhere, uint64_t amount),
                        void *arg);

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

/* The population deviation of activations. */
double tt_times_deviation(const struct tt_times *);

/* While a picture is read: checks bands, and the extensions of a cell. */
int tt_picture_check_bands(struct tt_picture *, uint32_t first, uint32_t page);
int tt_picture_check_extensions(struct tt_picture *, uint32_t cell, uint32_t owner);

#endif
