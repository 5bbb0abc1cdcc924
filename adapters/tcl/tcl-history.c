/* SPDX-License-Identifier: MIT */
/* tcl-history.c - the last times of each statement, one by one: a ring for each block. */
#include "tcl-history.h"

#include <pthread.h>
#include <stdlib.h>

struct ring {
    uint64_t count;
    uint64_t ticks[];
};

static struct {
    pthread_mutex_t lock;
    struct ring **ring; /* by block */
    uint32_t blocks, length;
} history = {.lock = PTHREAD_MUTEX_INITIALIZER};

void tt_tcl_history_begin(uint32_t length)
{
    pthread_mutex_lock(&history.lock);
    for (uint32_t i = 0; i < history.blocks; i++)
        free(history.ring[i]);
    free(history.ring);
    history.ring = NULL;
    history.blocks = 0;
    history.length = length;
    pthread_mutex_unlock(&history.lock);
}

uint32_t tt_tcl_history_length(void) { return history.length; }

static struct ring *ring_of(tt_block block)
{
    if (block >= history.blocks) {
        uint32_t blocks = block * 2 + 64;
        struct ring **ring = realloc(history.ring, blocks * sizeof(struct ring *));
        if (!ring)
            return NULL;
        for (uint32_t i = history.blocks; i < blocks; i++)
            ring[i] = NULL;
        history.ring = ring;
        history.blocks = blocks;
    }
    if (!history.ring[block])
        history.ring[block] = calloc(1, sizeof(struct ring) +
                                            history.length * sizeof(uint64_t));
    return history.ring[block];
}

void tt_tcl_history_add(tt_block block, uint64_t ticks)
{
    struct ring *r;

    pthread_mutex_lock(&history.lock);
    r = history.length ? ring_of(block) : NULL;
    if (r)
        r->ticks[r->count++ % history.length] = ticks;
    pthread_mutex_unlock(&history.lock);
}

void tt_tcl_history_drop(tt_block block)
{
    pthread_mutex_lock(&history.lock);
    if (block < history.blocks && history.ring[block])
        history.ring[block]->count = 0;
    pthread_mutex_unlock(&history.lock);
}

uint32_t tt_tcl_history_get(tt_block block, uint64_t *out)
{
    const struct ring *r;
    uint32_t n = 0;

    pthread_mutex_lock(&history.lock);
    r = history.length && block < history.blocks ? history.ring[block] : NULL;
    for (uint64_t i = r && r->count > history.length ? r->count - history.length : 0;
         r && i < r->count; i++)
        out[n++] = r->ticks[i % history.length];
    pthread_mutex_unlock(&history.lock);
    return n;
}
