/* SPDX-License-Identifier: MIT */
/* chain.h - a folder of profiles, one after the other in time: see chain.c. */
#ifndef TT_CHAIN_H
#define TT_CHAIN_H

#include <dirent.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>

struct tt_dates { /* ms since 1970: [from, to) */
    uint64_t from, to;
};

/* The name of the profile of this span, below the folder; and back: is it such a name? */
void tt_chain_name(char *out, size_t size, const char *folder, struct tt_dates);
int tt_chain_span(const char *name, struct tt_dates *);

/* Of the entries of a folder: 1 for each profile whose time a coarser one has, too, and which is
 * about to be removed; to be freed, or NULL without memory. */
char *tt_chain_replaced(const char *folder, struct dirent *const *entry, int count);

/* The end of the last profile; 0: there is none. */
uint64_t tt_chain_end(const char *folder);

/* Does a recorder write to it now? */
int tt_chain_is_recorded(const char *folder);
/* A number that changes with the profiles in the folder. */
uint64_t tt_chain_state(const char *folder);

struct tt_chain_limits {
    uint64_t interval, keep; /* ms */
    uint64_t size;           /* bytes of all profiles; 0: any */
};

/* Merges what is old enough, and removes what is too old or too much.  `now`: ms since 1970.  What
 * begins at `pending` or later is left as it is: recordings of that time have no profile yet.
 * Complains of what goes wrong. */
void tt_chain_tend(const char *folder, const struct tt_chain_limits *, uint64_t now,
                   uint64_t pending);

#endif
