/* SPDX-License-Identifier: MIT */
/* mapped-array.c - an array that grows by remapping, so that nothing is copied. */
#include "mapped-array.h"

#include <sys/mman.h>

#include "assertion.h"

enum { FIRST = 1 << 16 };

static int grow(struct tt_mapped_array *p, size_t size)
{
    size_t room = p->room ? p->room : FIRST;
    void *bytes;

    while (room - p->used < size)
        if (__builtin_mul_overflow(room, 2, &room))
            return -1;
    if (p->room)
        bytes = mremap(p->bytes, p->room, room, MREMAP_MAYMOVE);
    else
        bytes = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                     0);
    if (bytes == MAP_FAILED)
        return -1;
    p->bytes = bytes;
    p->room = room;
    return 0;
}

void *tt_mapped_array_add(struct tt_mapped_array *p, size_t size)
{
    char *at;

    if ((!p->room || p->room - p->used < size) && grow(p, size) != 0)
        return NULL;
    at = (char *)p->bytes + p->used;
    TT_ASSERT(p->used + size <= p->room);
    p->used += size;
    return at;
}

void tt_mapped_array_fini(struct tt_mapped_array *p)
{
    if (p->room)
        munmap(p->bytes, p->room);
    p->bytes = NULL;
    p->used = p->room = 0;
}
