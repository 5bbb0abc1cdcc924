/* SPDX-License-Identifier: MIT */
/* wake-paths.h - paths of functions that one process can hand to another.
 *
 *      number  ->  the number of the path without its last block, and that block's text
 *
 * Blocks are numbers of one process, so they are shared by their text: name, module, place
 * there.  Another process need not have the code: blocks are named from the files when the
 * recording ends. */
#ifndef TT_WAKE_PATHS_H
#define TT_WAKE_PATHS_H

#include "lock-paths.h"

struct tt_recording;

enum { TT_WAKE_PATH_SHARED = 1 << 30 }; /* marks the number of a shared path */

/* The shared number, marked, of a path of this process, below a block with the name of its
 * program; 0: no room.  Not to be called by a handler that interrupted a call. */
uint32_t tt_wake_path_share(uint32_t path, tt_block room[TT_LOCK_PATH_DEPTH]);

/* The blocks of a shared path, outermost first, made in this process; returns their number.
 * Between tt_block_try and tt_block_done, with the recording's pages held. */
uint32_t tt_wake_path_blocks(struct tt_recording *, uint32_t path,
                             tt_block out[TT_LOCK_PATH_DEPTH]);

/* In the child of a fork, whose paths have other numbers. */
void tt_wake_paths_forked(void);

#endif
