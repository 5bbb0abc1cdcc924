/* SPDX-License-Identifier: MIT */
/* query.h - a query to a profile: a view, a metric, filters in order.
 *
 * The same words are the command's flags, the viewer's URL and the WebAssembly call:
 * "view=flat&metric=time&select=parse&exclude=gc". */
#ifndef TT_QUERY_H
#define TT_QUERY_H

#include "profile.h"
#include "table.h"

enum tt_filter_kind {
    TT_FILTER_SELECT,  /* keep only paths that contain all of these, in any order */
    TT_FILTER_EXCLUDE, /* drop paths that contain any */
    TT_FILTER_FOLD,    /* splice the block out: its cost to its caller, its calls gone */
    TT_FILTER_PRUNE,  /* drop a part by name, share or amount: its cost stays, in a row */
    TT_FILTER_ROOT,   /* paths begin at the outermost of these; others are dropped */
    TT_FILTER_STRAND, /* only figures of these strands */
    TT_FILTER_CENTRE, /* of all in a row together: fold whatever is none of these */
    TT_FILTER_COLLAPSE, /* a call back to a block of the path that matches continues there */
    TT_FILTER_TIME,     /* only samples in this range of time: see range.c */
    TT_FILTERS
};

struct tt_listing;
struct tt_bursts;

struct tt_filter {
    enum tt_filter_kind kind;
    const char *pattern; /* owned by the query: what was written */
    /* TT_FILTER_PRUNE by size: contexts with less than this, in the query's metric or
     * `metric` */
    const char *metric;
    double share;     /* of the total; 0: not by share */
    uint64_t amount;  /* 0: not by amount; a filter by neither is by name */
    const char *unit; /* of the amount, "ns" or "bytes"; NULL: whatever the metric's is */
};

struct tt_query {
    const char *view;   /* "flat" when nothing was said */
    const char *metric; /* NULL: the first to look at */
    const char *block;  /* a pattern: of the block view, and others that are about one */
    const char *sort;   /* a column's key, "-key" for ascending; NULL: the view's own */
    uint32_t limit;     /* rows, 0: all; TT_NONE: the view's own */
    uint32_t depth;     /* 0: any */
    double threshold;   /* rows below this share are summed up; < 0: the view's own */
    struct tt_vector filter; /* struct tt_filter */
    struct tt_vector other;  /* struct tt_setting: keys that only one view knows */
    struct tt_vector text;   /* char *: what the query owns */
    const struct tt_memory *memory;
    /* An earlier reading of the same profile: views then have columns for the growth
     * since then (flat, tree and strands).  Borrowed, with the same filters; NULL: none.
     * Set by code that has two readings, never by a text. */
    const struct tt_profile *since;
    /* Code and source text for the views that show them; NULL: there is none.  Borrowed. */
    const struct tt_listing *listing;
    /* The bursts of this profile, if they have been found before.  Borrowed; NULL: the
     * view finds them. */
    const struct tt_bursts *bursts;
    double seconds; /* between the two, for rates; 0: not known */
    /* Is the answer still wanted?  A filter asks now and then, a view between its steps.  NULL: it
     * is. */
    int (*is_wanted)(void *asker);
    void *asker;
    char error[160];
};

struct tt_setting {
    const char *key, *value;
};

void tt_query_init(struct tt_query *, const struct tt_memory *);
void tt_query_fini(struct tt_query *);
/* Parses "key=value&…" with %XX and +; or one of them.  -TT_ERR_OPTION, with `error`
 * naming the wrong part and a correct one. */
int tt_query_parse(struct tt_query *, const char *text);
int tt_query_set(struct tt_query *, const char *key, const char *value);
const char *tt_query_other(const struct tt_query *, const char *key); /* or NULL */
/* Turns the query's range of time into the rest of the run, and back.  -TT_ERR_OPTION with
 * `error`: it has none, or several; -TT_ERR_MEMORY. */
int tt_query_turn(struct tt_query *);
/* Does the view know the keys that were set?  tt_query_parse checks this in the end; code
 * that sets keys one by one calls it after the last. */
int tt_query_check(struct tt_query *);
/* In a profile too large to be checked when it was opened, damage can lead some views
 * only to wrong figures: they read contexts within bounds, and nothing else.  Is it one
 * of those?  Then its answer needs no check, which would read the whole file. */
int tt_query_is_bounded(const struct tt_query *, const struct tt_profile *);
/* 0, or -TT_ERR_STATE: the answer is not wanted any more. */
int tt_query_ask(const struct tt_query *);
/* Sets the reason why a query cannot be answered.  -TT_ERR_OPTION. */
int tt_query_wrong(struct tt_query *, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Lists the metrics in q->error, or suggests the one that was meant; -TT_ERR_OPTION. */
int tt_query_unknown_metric(struct tt_query *, const struct tt_profile *,
                            const char *name);
/* Returns the nearest known word, if it is near enough; or NULL. */
const char *tt_query_suggest(const char *word, const char *const *known, size_t count);

#endif
