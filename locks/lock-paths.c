/* SPDX-License-Identifier: MIT */
/* lock-paths.c - paths of blocks that any thread can hand to any other.
 *
 * The thread that releases a lock knows its context in its tree; the thread that waited has
 * another tree.  Blocks belong to the process, so a path of blocks means the same in both. */
#include "lock-paths.h"

#include <string.h>

#include "brief-lock.h"

enum { SLOTS = 2 * TT_LOCK_PATHS };

static struct {
    uint32_t lock; /* for adding a path */
    uint32_t count;
    struct step {
        uint32_t parent;
        tt_block block;
    } step[TT_LOCK_PATHS];
    uint32_t slot[SLOTS]; /* by parent and block; 0: free; stored last */
} paths;

static uint32_t *slot_of(uint32_t parent, tt_block block)
{
    uint64_t hash = ((uint64_t)parent << 32 | block) * 0x9e3779b97f4a7c15u;
    uint32_t i = (uint32_t)(hash >> 40) % SLOTS, found;

    for (;; i = (i + 1) % SLOTS) {
        found = __atomic_load_n(&paths.slot[i], __ATOMIC_ACQUIRE);
        if (!found ||
            (paths.step[found].parent == parent && paths.step[found].block == block))
            return &paths.slot[i];
    }
}

static uint32_t add(uint32_t parent, tt_block block)
{
    uint32_t *slot, number;

    tt_brief_lock(&paths.lock);
    slot = slot_of(parent, block);
    number = *slot;
    if (!number && paths.count + 1 < TT_LOCK_PATHS) {
        number = ++paths.count;
        paths.step[number] = (struct step){parent, block};
        __atomic_store_n(slot, number, __ATOMIC_RELEASE);
    }
    tt_brief_unlock(&paths.lock);
    return number;
}

uint32_t tt_lock_path(uint32_t path, tt_block block)
{
    uint32_t found = __atomic_load_n(slot_of(path, block), __ATOMIC_ACQUIRE);

    return found ? found : add(path, block);
}

uint32_t tt_lock_path_blocks(uint32_t path, tt_block out[TT_LOCK_PATH_DEPTH])
{
    uint32_t count = 0;

    for (uint32_t p = path; p && count < TT_LOCK_PATH_DEPTH; p = paths.step[p].parent)
        count++;
    for (uint32_t i = count; i-- > 0; path = paths.step[path].parent)
        out[i] = paths.step[path].block;
    return count;
}

void tt_lock_paths_forked(void)
{
    paths.lock = TT_BRIEF_FREE;
    if (!paths.count)
        return;
    paths.count = 0;
    memset(paths.slot, 0, sizeof paths.slot);
}
