/* SPDX-License-Identifier: MIT */
/* wake-board.h - which threads wait for a pipe or the like, and what has ended their waits:
 * memory that all processes of a run share.
 *
 *      key ─ bucket of four ─ { waiters, the last events: when, which process, its path }
 *
 * A thread joins the slot of what it waits for.  A thread about to write there sees that,
 * and stores its path; without waiters it costs one look at the slot.  A process may be
 * killed at any time, so nothing is locked.  If a waiter does not return, because it was
 * cancelled, killed, or left by longjmp, events are stored unread, up to a limit. */
#ifndef TT_WAKE_BOARD_H
#define TT_WAKE_BOARD_H

#include <stddef.h>
#include <stdint.h>

enum {
    TT_WAKE_BITS = 10,
    TT_WAKE_WAYS = 4,
    TT_WAKE_EVENTS = 16,
    TT_WAKE_PAIRS = 1024,
    TT_WAKE_BLOCKS = 2048, /* of paths that other processes read */
    TT_WAKE_STEPS = 1 << 14,
    TT_WAKE_TEXT = 480
};

enum tt_wake_type { TT_WAKE_BY_DATA, TT_WAKE_BY_END };

struct tt_wake_slot {
    _Alignas(64) uint64_t key; /* 0: free */
    uint32_t waiters, unread;
    uint32_t count;   /* events so far; the next one's index is the remainder */
    uint32_t process; /* of the waiters; UINT32_MAX: several */
    struct tt_wake_event {
        uint64_t when; /* ns; 0: it is being written; stored last */
        uint64_t key;
        uint32_t path, process, type, spare;
    } event[TT_WAKE_EVENTS];
};

struct tt_wake_board {
    struct tt_wake_slot slot[1 << TT_WAKE_BITS];
    struct {
        uint64_t key, peer; /* of two connected sockets */
    } pair[TT_WAKE_PAIRS];
    /* the rest is wake-paths.c's */
    uint32_t blocks, steps;
    uint32_t block_slot[2 * TT_WAKE_BLOCKS], step_slot[2 * TT_WAKE_STEPS];
    struct tt_wake_step {
        uint32_t parent, block;
    } step[TT_WAKE_STEPS];
    struct tt_wake_block {
        uint64_t hash, offset;
        uint32_t kind, line, column, size;
        char text[TT_WAKE_TEXT]; /* name, module, file */
    } block[TT_WAKE_BLOCKS];
};

extern struct tt_wake_board *tt_wake_board; /* NULL: no memory */

/* Of all processes that record into this folder; else of this process. */
void tt_wake_board_open(const char *folder);

static inline struct tt_wake_slot *tt_wake_bucket(uint64_t key)
{
    const uint64_t hash = key * 0x9e3779b97f4a7c15u;

    return &tt_wake_board
                ->slot[hash >> (64 - TT_WAKE_BITS) & ~(uint64_t)(TT_WAKE_WAYS - 1)];
}

/* The slot of a key that threads wait for; NULL: none do. */
static inline struct tt_wake_slot *tt_wake_awaited(uint64_t key)
{
    struct tt_wake_slot *s;

    if (__builtin_expect(!tt_wake_board, 0))
        return NULL;
    s = tt_wake_bucket(key);
    for (int i = 0; i < TT_WAKE_WAYS; i++, s++)
        if (__atomic_load_n(&s->key, __ATOMIC_RELAXED) == key)
            return __atomic_load_n(&s->waiters, __ATOMIC_RELAXED) ? s : NULL;
    return NULL;
}

/* Adds a waiter; NULL: there is no room. */
struct tt_wake_slot *tt_wake_join(uint64_t key, uint32_t process);
void tt_wake_leave(struct tt_wake_slot *);

void tt_wake_store(struct tt_wake_slot *, const struct tt_wake_event *);

struct tt_wake_search {
    uint64_t key, from, to;
    uint32_t first;   /* the slot's count when the wait began */
    int is_alone;     /* there was no other waiter */
    uint32_t process; /* 0: any */
    enum tt_wake_type type;
};

/* The event that has ended the wait; 0: it is not known. */
int tt_wake_find(const struct tt_wake_slot *, const struct tt_wake_search *,
                 struct tt_wake_event *);

/* Two sockets are connected; the peer of one, or 0. */
void tt_wake_connect(uint64_t key, uint64_t peer);
uint64_t tt_wake_peer(uint64_t key);

#endif
