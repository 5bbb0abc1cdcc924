/* SPDX-License-Identifier: MIT */
/* heap-sites.c - the sites that made objects. */
#include "heap-sites.h"

#include <string.h>
#include <sys/mman.h>

#include "brief-lock.h"

enum { CHUNK = TT_SITES_CHUNK, TYPES = 8 };

static struct {
    uint32_t lock;
    uint32_t count; /* ever taken; the first is unused */
    struct tt_heap_site *free;
    uint32_t serial;
    /* For holdings; cells of this recording. */
    struct tt_recording *recording;
    struct tt_holding_room room;
    struct tt_holding *other[TYPES]; /* for sites without a separate one, by type */
} all;

static void *map(size_t size)
{
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                   0);

    return p == MAP_FAILED ? NULL : p;
}

/* ── Sites ────────────────────────────────────────────────────────────────────────── */

struct tt_heap_site *tt_site_chunk[(1 << TT_SITE_BITS) / CHUNK];

static struct tt_heap_site *take_new(void)
{
    uint32_t index = all.count ? all.count : 1;
    struct tt_heap_site **chunk, *s;

    if (index >> TT_SITE_BITS)
        return NULL;
    chunk = &tt_site_chunk[index / CHUNK];
    if (!*chunk) {
        s = map(CHUNK * sizeof *s);
        if (!s)
            return NULL;
        __atomic_store_n(chunk, s, __ATOMIC_RELEASE);
    }
    all.count = index + 1;
    s = *chunk + index % CHUNK;
    s->index = index;
    return s;
}

struct tt_heap_site *tt_site_take(struct tt_thread_heap *owner, tt_context context,
                                  uint32_t type)
{
    struct tt_heap_site *s;
    uint32_t index;

    tt_brief_lock(&all.lock);
    s = all.free;
    if (s)
        all.free = s->next;
    else
        s = take_new();
    if (s) {
        index = s->index;
        memset(s, 0, sizeof *s);
        s->index = index;
        s->serial = ++all.serial;
        s->owner = owner;
        s->context = context;
        s->type = type;
        s->seen = UINT64_MAX;
    }
    tt_brief_unlock(&all.lock);
    return s;
}

/* Its holding is kept: it may be part of the peak. */
void tt_site_give(struct tt_heap_site *s)
{
    TT_ASSERT(!s->is_changed && !s->objects);
    tt_brief_lock(&all.lock);
    s->next = all.free;
    all.free = s;
    tt_brief_unlock(&all.lock);
}

static void begin_holdings(struct tt_recording *r, const tt_type *types, uint32_t count)
{
    all.recording = r;
    all.room = (struct tt_holding_room){0};
    for (uint32_t i = 0; i < TYPES; i++) {
        all.other[i] = i < count ? tt_holding_take(r, &all.room, types[i], NULL) : NULL;
    }
}

int tt_site_hold(struct tt_heap_site *s, struct tt_recording *r, const tt_type *types,
                 uint32_t count)
{
    struct tt_holding *h;

    tt_brief_lock(&all.lock);
    if (all.recording != r)
        begin_holdings(r, types, count);
    h = s->node ? tt_holding_take(r, &all.room, types[s->type], s->node) : NULL;
    s->holding = h ? h : all.other[s->type];
    tt_brief_unlock(&all.lock);
    return h != NULL;
}

void tt_sites_free(void) { all.lock = TT_BRIEF_FREE; }

void tt_sites_forked(void)
{
    all.lock = 0;
    all.free = NULL;
    all.count = 0;
    all.recording = NULL;
}
