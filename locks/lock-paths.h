/* SPDX-License-Identifier: MIT */
/* lock-paths.h - paths of blocks that any thread can hand to any other: numbers.
 *
 *      number  ->  the number of the path without its last block, and that block
 *
 * A path of the process is made once, and stays.  There are 65536 at most; number 0 is the
 * empty path, which is also what a path is for which there is no room. */
#ifndef TT_LOCK_PATHS_H
#define TT_LOCK_PATHS_H

#include "tallytree.h"

enum { TT_LOCK_PATHS = 1 << 16, TT_LOCK_PATH_DEPTH = 1024 };

/* The path with one more block.  Not to be called by a handler that interrupted a call. */
uint32_t tt_lock_path(uint32_t path, tt_block block);

/* The blocks of a path, outermost first; returns their number: the TT_LOCK_PATH_DEPTH
 * innermost at most. */
uint32_t tt_lock_path_blocks(uint32_t path, tt_block out[TT_LOCK_PATH_DEPTH]);

/* In the child of a fork: drops all paths. */
void tt_lock_paths_forked(void);

#endif
