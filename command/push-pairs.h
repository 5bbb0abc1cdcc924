/* SPDX-License-Identifier: MIT */
/* push-pairs.h - names with values, of flags, files and the environment. */
#ifndef TT_PUSH_PAIRS_H
#define TT_PUSH_PAIRS_H

#include <stddef.h>

struct tt_pair_list {
    char **pair; /* owned, each as "NAME=VALUE" or "NAME: VALUE" */
    size_t count;
};

void tt_pair_list_free(struct tt_pair_list *);

/* Adds "KEY=VALUE", the value of a flag; a copy of it. */
int tt_pair_list_add(struct tt_pair_list *, const char *flag, const char *value);
/* Adds "KEY=VALUE,..." of a variable of the environment, percent-encoded as OpenTelemetry
 * has it, with this text between key and value; nothing if there is no such variable.  Keys
 * that are there already are left out. */
int tt_pair_list_environment(struct tt_pair_list *, const char *variable,
                             const char *between);
/* Adds a header from each line of a file, as "Name: value"; '#' begins a comment. */
int tt_pair_list_file(struct tt_pair_list *, const char *path);

#endif
