/* SPDX-License-Identifier: MIT */
/* views.h - the views: their names, the keys that only they know, and their functions.  The
 * function of a view is in view-NAME.c. */
#ifndef TT_VIEWS_H
#define TT_VIEWS_H

#include "query.h"

/* Each fills a table that has been initialised.  0, -TT_ERR_OPTION with q->error, or
 * -TT_ERR_MEMORY. */
typedef int tt_view_function(const struct tt_profile *, struct tt_query *,
                             struct tt_table *);

struct tt_view_key {
    const char *name, *value; /* value: what its value is called */
    const char *words; /* its values between blanks, the default first; "@files": a file;
                          NULL: any text */
    const char *about;
};
/* Which of the keys that are not filters act in a view. */
enum {
    TT_TAKES_BLOCK = 1,
    TT_TAKES_SORT = 2,
    TT_TAKES_LIMIT = 4,
    TT_TAKES_DEPTH = 8,
    TT_TAKES_THRESHOLD = 16,
    TT_TAKES_METRIC = 32
};
enum tt_view_metrics { /* what a query's metric may be */
                       TT_VIEW_ONE,
                       TT_VIEW_SEVERAL, /* side by side */
                       TT_VIEW_TIME     /* only that of samples by time */
};
struct tt_named_view {
    const char *name;
    tt_view_function *run;
    enum tt_view_metrics metrics;
    unsigned takes;                /* TT_TAKES_... */
    const struct tt_view_key *key; /* up to one without a name */
    const char *about;
};
enum { TT_VIEWS_MAX = 32 };
extern const struct tt_named_view tt_views[]; /* ends with a name that is NULL */

/* NULL: there is none. */
const struct tt_named_view *tt_view_named(const char *name);
const struct tt_view_key *tt_view_key_named(const struct tt_named_view *,
                                            const char *name);
/* Does the key act in the view?  Filters act in all views.  A page may set keys that a view
 * ignores, so only commands ask. */
int tt_view_takes(const struct tt_named_view *, const char *key);

tt_view_function tt_view_flat;
tt_view_function tt_view_graph;
tt_view_function tt_view_tree;
tt_view_function tt_view_callers;
tt_view_function tt_view_block;
tt_view_function tt_view_groups;
tt_view_function tt_view_flame;
tt_view_function tt_view_lines;
tt_view_function tt_view_assembly;
tt_view_function tt_view_source;
tt_view_function tt_view_strands;
tt_view_function tt_view_series;
tt_view_function tt_view_space;
tt_view_function tt_view_slowest;
tt_view_function tt_view_locks;
tt_view_function tt_view_header;
tt_view_function tt_view_timeline;
tt_view_function tt_view_chart;
tt_view_function tt_view_bursts;
tt_view_function tt_view_parallel;
tt_view_function tt_view_whatif;

#endif
