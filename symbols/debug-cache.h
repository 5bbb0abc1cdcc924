/* SPDX-License-Identifier: MIT */
/* debug-cache.h - decompressed copies of files with debug information, from one run to the next. */
#ifndef TT_DEBUG_CACHE_H
#define TT_DEBUG_CACHE_H

/* Returns a file with the content of `fd`, whose build-id is `id`, in which no section is
 * compressed.  -1: decompressing it takes little time, there is no copy, or it has another
 * build-id.  `may_add`: makes the copy, if there is none. */
int tt_debug_cache_open(int fd, const char *id, int may_add);

#endif
