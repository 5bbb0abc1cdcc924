/* SPDX-License-Identifier: MIT */
/* filters.h - the filter flags of all commands that have them. */
#ifndef TT_FILTERS_H
#define TT_FILTERS_H

#include "flags.h"
#include "query.h"

enum { TT_FILTER_KEY = 2000, TT_FILTER_CLEAN, TT_FILTER_MIN_TICKS, TT_FILTER_MIN_WORDS };

/* Filters, pprof's names for them, and Clean's converter's; a command with
 * .takes_filters has them. */
extern const struct tt_flag tt_filter_flags[];

/* Applies one of them to the query; ignores other flags.  `clean`: TT_FILTER_CLEAN is
 * among the flags.  Complains in the name of `command` if the value is wrong. */
int tt_filter_take(struct tt_query *, const char *command, int clean,
                   const struct tt_flag *, const char *value);
/* Complains of a flag that does not act in this view or layout: `what` is "view" or
 * "layout".  -TT_ERR_OPTION. */
int tt_filter_refuse(const char *command, const char *what, const char *name,
                     const struct tt_flag *);

#endif
