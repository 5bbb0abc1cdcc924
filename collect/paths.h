/* SPDX-License-Identifier: MIT */
/* paths.h - one name for each source file, however compilers were told of it. */
#ifndef TT_PATHS_H
#define TT_PATHS_H

#include <stddef.h>

struct tt_path {
    const char *raw; /* borrowed; known by its address */
    char *name;      /* owned */
};

struct tt_paths { /* a hash table by `raw` */
    struct tt_path *path;
    size_t size, count;
};

/* `raw` as it is seen from an absolute `folder` (or NULL), without what "." and ".." take
 * back.  Asked again for the same address of `raw` it gives the same answer.  Lives until
 * tt_paths_fini; where there is no memory it is `raw`. */
const char *tt_paths_get(struct tt_paths *, const char *folder, const char *raw);
void tt_paths_fini(struct tt_paths *);

/* "/usr/bin/../lib/./x.h" becomes "/usr/lib/x.h", in place. */
void tt_path_shorten(char *path);

#endif
