/* SPDX-License-Identifier: MIT */
/* throttle.c - finds functions that cost more than they are worth.
 *
 * From time to time the calls of each function are added up, in the recording itself:
 * calls that come meanwhile are counted the next time, and figures that move are missed
 * once.  The new calls since the last time, times the cost of one, are compared with the
 * CPU time that the process used. */
#include "throttle.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint64_t process_ns(void)
{
    struct timespec t;

    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) != 0)
        return 0;
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int make_room(struct tt_throttle *t, tt_block block)
{
    size_t room = t->room ? t->room : 1024;
    struct tt_throttle_function *more;

    while (room <= block)
        room *= 2;
    if (room == t->room)
        return 0;
    more = reallocarray(t->function, room, sizeof *more);
    if (!more)
        return -1;
    memset(more + t->room, 0, (room - t->room) * sizeof *more);
    t->function = more;
    t->room = room;
    return 0;
}

static void add_page(struct tt_throttle *t, struct tt_node *cell)
{
    for (int i = 0; i < TT_PAGE_CELLS; i++) {
        uint32_t kind = __atomic_load_n(&cell[i].kind, __ATOMIC_RELAXED);
        tt_block block = cell[i].key & TT_KEY_BLOCK;
        if ((kind == TT_CELL_CONTEXT || kind == TT_CELL_ARC) &&
            (block < t->room || make_room(t, block) == 0))
            t->function[block].now += __atomic_load_n(&cell[i].calls, __ATOMIC_RELAXED);
    }
}

static void add_up(struct tt_throttle *t, struct tt_recording *r)
{
    for (size_t i = 0; i < t->room; i++) {
        t->function[i].before = t->function[i].now;
        t->function[i].now = 0;
    }
    for (uint32_t page = 0; page < r->header->used; page++)
        if ((__atomic_load_n(&r->map[page], __ATOMIC_ACQUIRE) & 0xff) == TT_PAGE_CELL)
            add_page(t, tt_cell(r->base, tt_page_cell(r, page + 1)));
}

void tt_throttle_look(struct tt_throttle *t)
{
    struct tt_recording *r = tt_recording_now();
    uint64_t ns = process_ns();

    if (!r)
        return;
    add_up(t, r);
    t->most = (uint64_t)((double)(ns - t->ns) * t->share / t->cost);
    t->ns = ns;
}

uint64_t tt_throttle_calls(const struct tt_throttle *t, tt_block block)
{
    return block < t->room ? t->function[block].now : 0;
}

uint64_t tt_throttle_rate(const struct tt_throttle *t, tt_block block)
{
    const struct tt_throttle_function *f = &t->function[block];

    return block < t->room && f->now > f->before ? f->now - f->before : 0;
}

void tt_throttle_fini(struct tt_throttle *t)
{
    free(t->function);
    *t = (struct tt_throttle){.share = t->share, .cost = t->cost};
}
