/* SPDX-License-Identifier: MIT */
/* source-paths.h - one name for each source file, however compilers spell it. */
#ifndef TT_SOURCE_PATHS_H
#define TT_SOURCE_PATHS_H

#include "index.h"

struct tt_source_paths { /* all zero: none */
    struct tt_vector path;
    struct tt_index index; /* by `raw` */
};

/* `raw` as seen from an absolute `folder` (or NULL), with "." and ".." resolved.  Returns
 * the same answer for the same address of `raw`, and `raw` itself if there is no memory.
 * Lives until tt_source_paths_fini. */
const char *tt_source_paths_get(struct tt_source_paths *, const char *folder,
                                const char *raw);
void tt_source_paths_fini(struct tt_source_paths *);

#endif
