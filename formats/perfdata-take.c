/* SPDX-License-Identifier: MIT */
/* perfdata-take.c - takes records in the order of their times: mappings and samples. */
#include <string.h>

#include "perfdata-take.h"
#include "perfdata.h"
#include "walker.h"

enum {
    MISC_MODE = 7,
    MISC_KERNEL = 1,
    MISC_GUEST = 4,
    MISC_EXEC = 1 << 13,
    MISC_ID = 1 << 14,
};

static uint64_t number(const struct tt_perfdata *p, const char *at, int size)
{
    return tt_perfdata_number(at, size, p->is_big);
}

int tt_perfdata_short(struct tt_perfdata *p)
{
    return tt_source_fail(p->s, "the record before this is too short for its type");
}

/* ── Samples ──────────────────────────────────────────────────────────────────────── */

/* The node that a sample has reached, from the root down: kernel frames are below those
 * of the process. */
struct where {
    struct tt_perfdata *p;
    const struct tt_perfdata_map *user;
    uint32_t node;
};

static void add_frame(struct where *w, uint64_t address, int is_kernel)
{
    const struct tt_perfdata_map *map = is_kernel ? tt_perfdata_kernel(&w->p->spaces)
                                                  : w->user;

    w->node = tt_perfdata_below(&w->p->tree, w->node, address,
                                tt_perfdata_find(map, address), is_kernel);
}

/* Lists the mappings in the form that walkers use. */
static int list_regions(struct tt_perfdata *p, const struct tt_perfdata_map *map)
{
    const struct tt_perfdata_region *r = map->region.item;
    struct tt_walk_region *to;

    p->regions.count = 0;
    to = map->region.count ? tt_vector_add(&p->regions, map->region.count) : NULL;
    if (map->region.count && !to)
        return -TT_ERR_MEMORY;
    for (size_t i = 0; i < map->region.count; i++) {
        to[i].start = r[i].start;
        to[i].end = r[i].end;
        to[i].offset = r[i].offset;
        to[i].path = tt_perfdata_file_path(&p->tree, r[i].file, to[i].id);
    }
    return 0;
}

/* Adds the callers found in a copied stack, as far as the walker finds them. */
static int add_walked(struct where *w, const struct tt_perfdata_sample *s)
{
    struct tt_perfdata *p = w->p;
    const struct tt_walker *walker = p->s->reading->walker;
    const struct tt_perfdata_event *e = p->events.event.item;
    uint64_t value[64];
    struct tt_copied_stack walk = {.space = w->user->version,
                                   .mask = e[s->event].registers,
                                   .value = value,
                                   .stack = s->stack,
                                   .stack_size = s->stack_size};
    size_t frames = 0;

    if (walker && !walker->knows(walker->arg, walk.space) &&
        list_regions(p, w->user) != 0)
        return -TT_ERR_MEMORY;
    walk.region = p->regions.item;
    walk.regions = p->regions.count;
    for (int i = 0; i < __builtin_popcountll(walk.mask); i++)
        value[i] = number(p, s->registers + 8 * i, 8);
    if (walker && !p->is_big)
        frames = walker->walk(walker->arg, &walk, p->frame, TT_PERFDATA_FRAMES);
    if (!frames)
        p->no_walk++;
    while (frames)
        add_frame(w, p->frame[--frames], 0);
    return 0;
}

/* Marks separate addresses of kernel and user.  All addresses but the first are return
 * addresses.  In the kernel, many are places of an interrupt instead, often the first
 * instruction. */
static int add_chain(struct where *w, const struct tt_perfdata_sample *s, int is_kernel)
{
    struct tt_perfdata *p = w->p;
    const uint64_t marks = (uint64_t)-4095, in_kernel = (uint64_t)-128,
                   user = (uint64_t)-512;
    uint64_t frames = 0, users = 0, address;
    int mode = is_kernel, is_first = 1;

    p->rest.count = 0;
    for (uint64_t i = 0; i < s->chains; i++) {
        uint64_t *to;
        address = number(p, s->chain + 8 * i, 8);
        if (address >= marks) {
            mode = address == in_kernel ? 1 : address == user ? 0 : -1;
            is_first = 1;
            continue;
        }
        if (mode < 0)
            continue;
        to = tt_vector_add(&p->rest, 2 * sizeof *to);
        if (!to)
            return -TT_ERR_MEMORY;
        to = (uint64_t *)p->rest.item + 2 * frames++;
        to[0] = address - (!is_first && !mode && address);
        to[1] = (uint64_t)mode;
        users += !mode;
        is_first = 0;
    }
    if (s->registers && !users && add_walked(w, s) != 0)
        return -TT_ERR_MEMORY;
    for (uint64_t i = frames; i--;) {
        const uint64_t *from = (const uint64_t *)p->rest.item + 2 * i;
        add_frame(w, from[0], (int)from[1]);
    }
    return frames || w->node ? 1 : 0;
}

static int take_sample(struct tt_perfdata *p, const struct tt_perfdata_record *r)
{
    const uint32_t mode = r->misc & MISC_MODE;
    const int is_kernel = mode == MISC_KERNEL;
    struct tt_perfdata_sample s;
    struct tt_perfdata_event *e;
    struct where w = {.p = p};
    int found = 0, error;

    if (!tt_perfdata_sample(&p->events, r, &s))
        return tt_perfdata_short(p);
    w.user = tt_perfdata_space(&p->spaces, s.pid);
    if (!w.user)
        return tt_source_no_memory(p->s);
    if (s.chain || s.registers)
        found = add_chain(&w, &s, is_kernel);
    if (found < 0)
        return tt_source_no_memory(p->s);
    if (!found)
        add_frame(&w, s.ip, is_kernel);
    e = (struct tt_perfdata_event *)p->events.event.item + s.event;
    error = tt_perfdata_add(&p->tree, w.node, s.pid, s.tid,
                            tt_perfdata_comm(&p->spaces, s.tid), e, s.event, s.period,
                            s.time);
    if (error == -TT_ERR_FORMAT)
        return tt_source_fail(p->s, TT_TOO_MUCH);
    return error ? tt_source_no_memory(p->s) : 0;
}

/* ── Others, in order of time ─────────────────────────────────────────────────────── */

static int take_mapping(struct tt_perfdata *p, const struct tt_perfdata_record *r)
{
    enum { FIRST = 32, SECOND = 64, FORMER_MODULE = 5 };
    const size_t name = r->type == TT_PERFDATA_MMAP ? FIRST : SECOND;
    const char *at = r->body, *id = at + FIRST + 4;
    const int is_kernel = (r->misc & MISC_MODE) == MISC_KERNEL;
    struct tt_perfdata_region region;
    size_t length, id_size = 0;
    uint32_t pid;

    if (r->size <= name)
        return tt_perfdata_short(p);
    pid = (uint32_t)number(p, at, 4);
    length = strnlen(at + name, r->size - name);
    if (r->type == TT_PERFDATA_MMAP2 && r->misc & MISC_ID)
        id_size = (unsigned char)at[FIRST];
    region.start = number(p, at + 8, 8);
    region.end = region.start + number(p, at + 16, 8);
    region.offset = number(p, at + 24, 8);
    region.file = tt_perfdata_file(&p->tree, at + name, length, pid, id,
                                   id_size > TT_PERFDATA_ID ? TT_PERFDATA_ID : id_size);
    if (region.end < region.start)
        region.end = UINT64_MAX;
    if (is_kernel && strncmp(at + name, "[kernel.kallsyms]_", 18) == 0)
        p->tree.text_at = region.offset;
    if (region.file == TT_NONE ||
        ((r->misc & MISC_MODE) < MISC_GUEST &&
         tt_perfdata_mapped(&p->spaces, pid, is_kernel, &region) != 0))
        return tt_source_no_memory(p->s);
    return 0;
}

static int take_thread(struct tt_perfdata *p, const struct tt_perfdata_record *r)
{
    const char *at = r->body;
    uint32_t pid, tid, comm;
    int error;

    if (r->size < (r->type == TT_PERFDATA_COMM ? 9 : 16))
        return tt_perfdata_short(p);
    pid = (uint32_t)number(p, at, 4);
    tid = (uint32_t)number(p, at + (r->type == TT_PERFDATA_COMM ? 4 : 8), 4);
    if (r->type == TT_PERFDATA_COMM) {
        comm = tt_perfdata_text(&p->tree, at + 8, strnlen(at + 8, r->size - 8));
        error = comm == TT_NONE ? -TT_ERR_MEMORY
                                : tt_perfdata_called(&p->spaces, tid, comm);
    } else if (r->type == TT_PERFDATA_FORK) {
        error = tt_perfdata_forked(&p->spaces, pid, (uint32_t)number(p, at + 4, 4), tid,
                                   (uint32_t)number(p, at + 12, 4),
                                   !(r->misc & MISC_EXEC));
    } else {
        error = tt_perfdata_exited(&p->spaces, pid);
    }
    return error ? tt_source_no_memory(p->s) : 0;
}

int tt_perfdata_take(struct tt_perfdata *p, const struct tt_perfdata_record *r)
{
    switch (r->type) {
    case TT_PERFDATA_SAMPLE:
        return take_sample(p, r);
    case TT_PERFDATA_MMAP:
    case TT_PERFDATA_MMAP2:
        return take_mapping(p, r);
    case TT_PERFDATA_COMM:
    case TT_PERFDATA_FORK:
    case TT_PERFDATA_EXIT:
        return take_thread(p, r);
    case TT_PERFDATA_LOST:
        p->lost += r->size >= 16 ? number(p, r->body + 8, 8) : 0;
        return 0;
    case TT_PERFDATA_LOST_SAMPLES:
        p->lost_samples += r->size >= 8 ? number(p, r->body, 8) : 0;
        return 0;
    default:
        return 0;
    }
}
