/* SPDX-License-Identifier: MIT */
/* recorded.h - recordings as the tests look at them, evicted contexts and losses included. */
#ifndef TEST_RECORDED_H
#define TEST_RECORDED_H

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "control.h"
#include "figures.h"
#include "picture.h"

struct recorded {
    struct tt_picture picture;
    void *image; /* owned */
    size_t size;
    int error; /* of reading it */
};

static void recorded_image(struct recorded *r, const void *image, size_t size)
{
    r->size = size;
    r->image = malloc(size ? size : 1);
    if (size)
        memcpy(r->image, image, size);
    r->error = tt_picture_read(&r->picture, r->image, size, 1);
}

/* The running recording, or the last one. */
static inline struct recorded recorded_here(void)
{
    struct recorded r = {.error = -TT_ERR_STATE};
    size_t size;
    void *copy = tt_snapshot(&size);

    if (!copy)
        return r;
    recorded_image(&r, copy, size);
    munmap(copy, size);
    return r;
}

/* `live`: somebody may be writing to it. */
static inline struct recorded recorded_file(const char *path, int live)
{
    struct recorded r = {.error = -TT_ERR_FILE};
    struct stat s;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t have = 0;
    ssize_t n = 1;

    if (fd < 0 || fstat(fd, &s) != 0)
        return r;
    r.size = (size_t)s.st_size;
    r.image = calloc(1, r.size + 1);
    while (have < r.size && n > 0) {
        n = read(fd, (char *)r.image + have, r.size - have);
        have += n > 0 ? (size_t)n : 0;
    }
    close(fd);
    r.error = tt_picture_read(&r.picture, r.image, r.size, live);
    return r;
}

static inline void recorded_free(struct recorded *r)
{
    if (r->image)
        tt_picture_fini(&r->picture);
    free(r->image);
    r->image = NULL;
}

/* All that is known of a block: its contexts, its arcs, what was evicted. */
static inline uint64_t recorded_calls(const struct recorded *r, const char *name)
{
    uint64_t calls = 0;

    for (uint32_t i = 0; !r->error && i < r->picture.blocks; i++)
        if (strcmp(r->picture.block[i].info.name, name) == 0)
            calls += r->picture.block[i].calls;
    return calls;
}

static inline uint64_t recorded_self(const struct recorded *r, const char *name)
{
    uint64_t self = 0;

    for (uint32_t i = 0; !r->error && i < r->picture.blocks; i++)
        if (strcmp(r->picture.block[i].info.name, name) == 0)
            self += r->picture.block[i].self;
    return self;
}

static inline uint64_t recorded_lost_pushes(const struct recorded *r)
{
    uint64_t lost;

    if (r->error)
        return 0;
    lost = r->picture.header->lost_pushes;
    for (uint32_t i = 0; i < r->picture.strands; i++)
        lost += r->picture.strand[i]->lost_pushes;
    return lost;
}

/* What all holdings have, now and at each maximum; those of no context too. */
struct recorded_held {
    uint64_t now, then[TT_PARTS + 1];
};

static inline struct recorded_held recorded_held(const struct recorded *r)
{
    const struct tt_picture *p = &r->picture;
    const uint32_t cells = r->error ? 0 : (uint32_t)(p->size / TT_CELL_SIZE);
    struct recorded_held held = {0};

    for (uint32_t cell = r->error ? 0 : tt_picture_first(p); cell < cells; cell++) {
        const struct tt_holding *h = tt_picture_cell(p, cell);
        if (tt_picture_page(p, cell) != TT_PAGE_HOLDING || !h->context)
            continue;
        held.now += h->live;
        for (uint32_t i = 0; i < tt_picture_maxima(p); i++)
            held.then[i] += tt_picture_held(p, h, i);
    }
    return held;
}

static inline uint64_t recorded_evictions(const struct recorded *r)
{
    uint64_t evictions = 0;

    for (uint32_t i = 0; !r->error && i < r->picture.strands; i++)
        evictions += r->picture.strand[i]->evictions;
    return evictions;
}

#endif
