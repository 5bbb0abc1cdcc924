/* SPDX-License-Identifier: MIT */
/* input.h - profiles from files of any kind; many become one. */
#ifndef TT_INPUT_H
#define TT_INPUT_H

#include "profile.h"

struct tt_input {
    struct tt_profile profile;
    void *image; /* owned: mapped from a file, or made by a builder */
    size_t size;
    int is_mapped;
};

/* Opens files, each a profile, a recording, in a foreign format, or a folder of them; a
 * file's kind is found from its content.  "-" is standard input, for foreign formats.
 * Several are merged.  Complains and returns a negative error when one cannot be read;
 * nothing is open then. */
int tt_input_open(struct tt_input *, char *const *paths, int count);
/* The same, made anew; with `summary` figures are not kept by strand, only how they
 * spread, as they never are of more than 4096 strands. */
int tt_input_merge(struct tt_input *, char *const *paths, int count, int summary);
void tt_input_close(struct tt_input *);
/* Is it a folder, of whatever there is in it? */
int tt_input_is_folder(const char *path);

#endif
