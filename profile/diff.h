/* SPDX-License-Identifier: MIT */
/* diff.h - two profiles side by side: what changed, and what is only noise.
 *
 * Contexts are matched by the names on their paths, and their files, not by lines or
 * addresses, which move from one build to the next.  A side is made of units that can be
 * compared: its runs, when it was merged from many, or else its strands; the figures shown
 * are means over runs.  How the units of each side differ says how large a change must be
 * to be more than noise. */
#ifndef TT_DIFF_H
#define TT_DIFF_H

#include "query.h"

enum tt_scaling { TT_SCALING_NONE, TT_SCALING_STRONG, TT_SCALING_WEAK };

struct tt_diff_options {
    int normalise;           /* the second side is scaled to the total of the first */
    enum tt_scaling scaling; /* compares different numbers of strands: see tt_diff */
    int rest; /* the second is a range of a run's time, the first the rest of the run, which
                 is scaled to as long a time; to the range's total to normalise */
};

/* A table of both, in a query's view, "flat" (the default) or "tree", and metric: columns
 * self.a, self.b, self.change, total.a, total.b, total.change, change (a share), verdict.
 * With scaling: a, b, lost (what the second took beyond its ideal: as much as the first,
 * or for weak scaling as much on each strand), efficiency, balance.a, balance.b (mean by
 * maximum over strands).  What is only in one has no value for the other.
 * -TT_ERR_OPTION with q->error, or -TT_ERR_MEMORY. */
int tt_diff(const struct tt_profile *a, const struct tt_profile *b, struct tt_query *,
            const struct tt_diff_options *, struct tt_table *);

enum tt_verdict {
    TT_VERDICT_UNKNOWN,
    TT_VERDICT_NOISE,
    TT_VERDICT_MORE,
    TT_VERDICT_LESS
};

/* Two sets of figures by number, sum and sum of squares: does the mean of the second
 * differ?  Welch's test at 95 %; unknown when a set has less than two. */
struct tt_sample {
    uint64_t count;
    double sum, square;
};

#endif
