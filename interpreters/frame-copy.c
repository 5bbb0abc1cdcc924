/* SPDX-License-Identifier: MIT */
/* frame-copy.c - reads the frames that were copied while a thread was sampled. */
#include "frame-copy.h"

#include <string.h>

static const struct tt_copied_frame *frames_of(const struct tt_frame_copy *c)
{
    return (const void *)(c + 1);
}

static size_t size_of(const struct tt_frame_copy *c)
{
    return sizeof *c + (size_t)c->count * sizeof(struct tt_copied_frame);
}

/* NULL: there are no more. */
static const struct tt_frame_copy *next_copy(const struct tt_frame_copies *a,
                                             const struct tt_frame_copy *c)
{
    const char *at = c ? (const char *)c + size_of(c) : a->bytes;

    return (size_t)(a->bytes + a->size - at) >= sizeof *c ? (const void *)at : NULL;
}

static int is_whole(const struct tt_frame_copies *a, const struct tt_frame_copy *c)
{
    return c->count <= TT_CHAIN_PART &&
           size_of(c) <= (size_t)(a->bytes + a->size - (const char *)c);
}

int tt_frame_copies_check(const struct tt_frame_copies *a, uint64_t place, uint64_t time,
                          uint64_t latest)
{
    const struct tt_frame_copy *c = next_copy(a, NULL), *first = c;

    if (!first || first->place != place || first->time + latest < time ||
        first->time > time + latest)
        return 0;
    for (; c; c = next_copy(a, c))
        if (!is_whole(a, c) || c->time != first->time || c->state != first->state)
            return 0;
    return 1;
}

uint64_t tt_frame_copies_state(const struct tt_frame_copies *a)
{
    return next_copy(a, NULL)->state;
}

static int take(uint64_t low, const char *bytes, size_t have, uint64_t address, void *to,
                size_t size)
{
    if (address < low || address - low > have || have - (address - low) < size)
        return 0;
    memcpy(to, bytes + (address - low), size);
    return 1;
}

static int read_frame(const struct tt_copied_frame *f, uint64_t address, void *to,
                      size_t size)
{
    return take(f->at, f->frame, sizeof f->frame, address, to, size) ||
           (f->code && (take(f->code, f->head, sizeof f->head, address, to, size) ||
                        take(f->name + TT_CHAIN_HASH, (const void *)&f->hash,
                             sizeof f->hash, address, to, size)));
}

/* The walk reads the frames in the order of the copies. */
int tt_frame_copies_read(struct tt_frame_copies *a, uint64_t address, void *to,
                         size_t size)
{
    const struct tt_frame_copy *c = next_copy(a, NULL);

    if (a->last && read_frame(a->last, address, to, size))
        return 1;
    if (c && take(c->state, c->bytes, sizeof c->bytes, address, to, size))
        return 1;
    for (; c; c = next_copy(a, c))
        for (uint32_t n = 0; n < c->count; n++)
            if (read_frame(&frames_of(c)[n], address, to, size)) {
                a->last = &frames_of(c)[n];
                return 1;
            }
    return 0;
}
