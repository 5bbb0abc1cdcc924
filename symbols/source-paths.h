/* SPDX-License-Identifier: MIT */
/* source-paths.h - one name for each source file, however compilers were told of it. */
#ifndef TT_SOURCE_PATHS_H
#define TT_SOURCE_PATHS_H

#include <stddef.h>

struct tt_source_path {
    const char *raw; /* borrowed; known by its address */
    char *name;      /* owned */
};

struct tt_source_paths { /* a hash table by `raw` */
    struct tt_source_path *path;
    size_t size, count;
};

/* `raw` as it is seen from an absolute `folder` (or NULL), without what "." and ".." take
 * back.  Asked again for the same address of `raw` it gives the same answer.  Lives until
 * tt_source_paths_fini; where there is no memory it is `raw`. */
const char *tt_source_paths_get(struct tt_source_paths *, const char *folder,
                                const char *raw);
void tt_source_paths_fini(struct tt_source_paths *);

/* "/usr/bin/../lib/./x.h" becomes "/usr/lib/x.h", in place. */
void tt_source_path_shorten(char *path);

#endif
