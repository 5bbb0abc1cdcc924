/* SPDX-License-Identifier: MIT */
/* groups.h - groups of strands: by process, program, cgroup, container, unit, user. */
#ifndef TT_GROUPS_H
#define TT_GROUPS_H

#include "filter.h"

/* The properties that strands are grouped by. */
enum tt_group {
    TT_GROUP_PROCESS, /* name and number */
    TT_GROUP_PROGRAM, /* name */
    TT_GROUP_CGROUP,
    TT_GROUP_CONTAINER,
    TT_GROUP_UNIT,
    TT_GROUP_USER,
    TT_GROUPS
};
enum { TT_GROUP_SIZE = 512 };
extern const char *const tt_group_words[]; /* NULL at the end */
int tt_group_find(const char *word);       /* -1: there is none */
/* Returns a strand's value of that property: a text, in `to` or the profile's. */
const char *tt_group_of(const struct tt_profile *, uint32_t strand, enum tt_group,
                        char to[TT_GROUP_SIZE]);
/* Returns the group of each strand, numbered in the order of their names; sets *groups to
 * their number, and *first to a strand of each.  Both arrays have p->strands items, from
 * the memory; NULL: no memory. */
uint32_t *tt_groups_of(const struct tt_profile *, enum tt_group, const struct tt_memory *,
                       uint32_t **first, uint32_t *groups);
/* Puts the group of the strand at the beginning of each path; as tt_filter_apply. */
int tt_groups_apply(const struct tt_profile *, struct tt_query *, enum tt_group,
                    struct tt_filtered *);

#endif
