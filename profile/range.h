/* SPDX-License-Identifier: MIT */
/* range.h - parses a range of time: see range.c. */
#ifndef TT_RANGE_H
#define TT_RANGE_H

#include "profile.h"

struct tt_range { /* in ns, as rows of samples have it: [from, to) */
    uint64_t from, to;
    int is_outside; /* it is the rest of the run */
};

/* Facts of a profile that is a range of another: its ends, a range that was taken out, how
 * long it is; and the metrics that it lacks. */
#define TT_FACT_FROM "time.from"
#define TT_FACT_TO "time.to"
#define TT_FACT_WITHOUT "without"
#define TT_FACT_LENGTH "time.length"
#define TT_FACT_UNSPLIT "time.unsplit"
/* When the first stretch of a trace began (stretches.h): samples have the time of its end. */
#define TT_FACT_BEGAN "time.began"
/* Samples have the time of their begin, and last until the next one, as those of V8. */
#define TT_FACT_BEGINS "time.begins"

/* Is it valid as a range of any profile? */
int tt_range_is_right(const char *text);

/* Finds the range of a profile's samples; -TT_ERR_OPTION: there are no samples, or none
 * can be in the range, and `reason` says so. */
int tt_range_find(const struct tt_profile *, const char *text, struct tt_range *,
                  char *reason, size_t size);

/* The whole run: from the beginning to just after the last sample. */
struct tt_range tt_range_of_run(const struct tt_profile *);

/* What the filter `time` has left of a run, or all of it. */
struct tt_range tt_range_shown(const struct tt_profile *);

/* When that began, in ns since 1970, and how long it lasted; 0: not known. */
uint64_t tt_range_started(const struct tt_profile *);
uint64_t tt_range_lasted(const struct tt_profile *);

/* Returns how long the range is, in ns. */
uint64_t tt_range_length(const struct tt_range *, const struct tt_range *run);

/* What is before a range that has been taken out. */
#define TT_RANGE_NOT "not:"

/* Does a sample have a valid context and strand, and is it in the range? */
static inline int tt_range_has(const struct tt_profile *p, const struct tt_range *r,
                               const struct tt_sample_row *s)
{
    const int is_inside = s->time >= r->from && s->time < r->to;

    return is_inside != r->is_outside && s->context < p->contexts;
}

#endif
