/* SPDX-License-Identifier: MIT */
/* memray-heap.c - what memray's allocations amount to, place by place.
 *
 * What is alive at the peak is found in one pass, as in heaptrack.c: a place remembers
 * during which peak it changed last, and how much it had before.  The last of several
 * equal peaks counts, as in memray.  A part of a mapping may be unmapped, or mapped anew:
 * then the rest is as many allocations as there are pieces. */
#include <stdlib.h>

#include "formats.h"
#include "memray-heap.h"
#include "memray-stacks.h"
#include "memray.h"
#include "sorted.h"

struct object {
    uint64_t size;
    uint32_t place; /* TT_NONE: it was freed */
};

void tt_memray_heap_init(struct tt_memray *m)
{
    tt_pairs_init(&m->places, m->s->memory);
    tt_pairs_init(&m->objects, m->s->memory);
    tt_vector_init(&m->place, m->s->memory, sizeof(struct tt_memray_figures));
    tt_vector_init(&m->object, m->s->memory, sizeof(struct object));
    tt_memray_ranges_init(&m->ranges, m->s->memory);
}

static struct tt_memray_figures *figures(const struct tt_memray *m, uint32_t place)
{
    return (struct tt_memray_figures *)m->place.item + place;
}

struct tt_memray_figures *tt_memray_place(struct tt_memray *m,
                                          const struct tt_memray_site *site)
{
    uint32_t context = tt_memray_context(m, site);
    struct tt_memray_figures *f;
    int is_new;

    if (context == TT_NONE)
        return NULL;
    f = tt_pairs_item(&m->places, &m->place,
                      (uint64_t)site->thread << 32 | site->allocator, context, &is_new);
    if (!f)
        (void)tt_source_no_memory(m->s);
    else if (is_new)
        *f = (struct tt_memray_figures){
            .thread = site->thread, .allocator = site->allocator, .context = context};
    return f;
}

/* Before a place changes: what it has is what it had at the last peak. */
static void keep_peak(const struct tt_memray *m, struct tt_memray_figures *f)
{
    if (f->peaks < m->peaks) {
        f->peak = f->live;
        f->peak_number = f->live_number;
        f->peaks = m->peaks;
    }
}

static void note_peak(struct tt_memray *m)
{
    if (m->live < m->peak)
        return;
    m->peak = m->live;
    m->peaks++;
    tt_heap_line_point(&m->line, m->time, m->live);
}

static void release(struct tt_memray *m, uint32_t place, uint64_t size, uint64_t number)
{
    struct tt_memray_figures *f = figures(m, place);

    keep_peak(m, f);
    f->live -= size;
    f->live_number -= number;
    m->live -= size;
}

/* A range of which a part is to be removed becomes two. */
static int cut(struct tt_memray *m, uint64_t address)
{
    struct tt_memray_range *r = tt_memray_ranges_around(&m->ranges, address), rest;

    if (!r)
        return 0;
    rest = (struct tt_memray_range){address, r->end, r->place};
    r->end = address;
    keep_peak(m, figures(m, rest.place));
    figures(m, rest.place)->live_number++;
    return tt_memray_ranges_add(&m->ranges, rest) ? tt_source_no_memory(m->s) : 0;
}

static int remove_ranges(struct tt_memray *m, uint64_t start, uint64_t end)
{
    struct tt_memray_range r;
    int error = start < end ? cut(m, start) : 0;

    if (!error && start < end)
        error = cut(m, end);
    while (!error && tt_memray_ranges_take(&m->ranges, start, end, &r))
        release(m, r.place, r.end - r.start, 1);
    return error;
}

/* It replaces what is mapped there. */
static int add_range(struct tt_memray *m, uint32_t place, uint64_t start, uint64_t size)
{
    const struct tt_memray_range range = {start, start + size, place};
    int error;

    if (size > UINT64_MAX - start) {
        m->lost++;
        release(m, place, size, 1);
        return 0;
    }
    error = remove_ranges(m, start, start + size);
    if (error || !size)
        return error;
    return tt_memray_ranges_add(&m->ranges, range) ? tt_source_no_memory(m->s) : 0;
}

static int add_object(struct tt_memray *m, uint32_t place, uint64_t address,
                      uint64_t size)
{
    int is_new;
    struct object *o = tt_pairs_item(&m->objects, &m->object, address, 0, &is_new);

    if (!o)
        return tt_source_no_memory(m->s);
    if (!is_new && o->place != TT_NONE)
        release(m, o->place, o->size, 1); /* it was freed without a record */
    *o = (struct object){size, place};
    return 0;
}

int tt_memray_allocate(struct tt_memray *m, const struct tt_memray_site *site,
                       uint64_t address, uint64_t size)
{
    struct tt_memray_figures *f = tt_memray_place(m, site);
    uint32_t place;
    int error;

    if (!f)
        return -TT_ERR_MEMORY;
    if (__builtin_add_overflow(m->bytes, size, &m->bytes))
        return tt_source_fail(m->s, TT_TOO_MUCH);
    place = (uint32_t)(f - figures(m, 0));
    keep_peak(m, f);
    f->bytes += size;
    f->number++;
    f->live += size;
    f->live_number++;
    m->live += size;
    error = site->allocator == TT_MEMRAY_MMAP ? add_range(m, place, address, size)
                                              : add_object(m, place, address, size);
    note_peak(m);
    return error;
}

void tt_memray_free(struct tt_memray *m, uint64_t address)
{
    const uint32_t *at = tt_pairs_find(&m->objects, address, 0);
    struct object *o = at ? (struct object *)m->object.item + *at - 1 : NULL;

    if (o && o->place != TT_NONE) {
        release(m, o->place, o->size, 1);
        o->place = TT_NONE;
    }
    note_peak(m);
}

int tt_memray_unmap(struct tt_memray *m, uint64_t address, uint64_t size)
{
    int error = remove_ranges(m, address,
                              size > UINT64_MAX - address ? UINT64_MAX : address + size);

    note_peak(m);
    return error;
}

/* ── The end ──────────────────────────────────────────────────────────────────────── */

static int compare(const void *a, const void *b)
{
    const struct tt_memray_figures *x = a, *y = b;

    return TT_ORDER(x->thread, y->thread) ?: TT_ORDER(x->allocator, y->allocator)
           ?: TT_ORDER(x->context, y->context);
}

static void list_figures(const struct tt_memray_figures *f,
                         uint64_t figure[TT_HEAP_FIGURES])
{
    figure[TT_HEAP_BYTES] = f->bytes;
    figure[TT_HEAP_ALLOCATIONS] = f->number;
    figure[TT_HEAP_PEAK_BYTES] = f->peak;
    figure[TT_HEAP_PEAK_NUMBER] = f->peak_number;
    figure[TT_HEAP_LIVE_BYTES] = f->live;
    figure[TT_HEAP_LIVE_NUMBER] = f->live_number;
}

/* Sets the metrics that are not 0 everywhere; the others are TT_NONE. */
static int set_metrics(struct tt_memray *m, uint32_t metric[TT_HEAP_FIGURES])
{
    uint64_t total[TT_HEAP_FIGURES] = {0}, figure[TT_HEAP_FIGURES];

    for (uint32_t i = 0; i < m->place.count; i++) {
        keep_peak(m, figures(m, i));
        list_figures(figures(m, i), figure);
        for (int k = 0; k < TT_HEAP_FIGURES; k++)
            if (__builtin_add_overflow(total[k], figure[k], &total[k]))
                return tt_source_fail(m->s, TT_TOO_MUCH);
    }
    for (int k = 0; k < TT_HEAP_FIGURES; k++)
        metric[k] = total[k] ? tt_heap_metric(m->b, (enum tt_heap_figure)k) : TT_NONE;
    return 0;
}

static int is_strand(struct tt_memray *m, uint32_t thread)
{
    const struct tt_memray_thread *t = (const struct tt_memray_thread *)m->thread.item +
                                       thread;

    return tt_builder_strand(
               m->b, &(struct tt_strand_info){.pid = m->pid,
                                              .thread = t->id,
                                              .name = t->name.count ? t->name.item : "",
                                              .rank = TT_NONE,
                                              .members = 1}) != TT_NONE;
}

static const char *const allocators[TT_MEMRAY_ALLOCATORS] = {"",
                                                             "",
                                                             "pymalloc_malloc",
                                                             "pymalloc_calloc",
                                                             "pymalloc_realloc",
                                                             "",
                                                             "malloc",
                                                             "realloc",
                                                             "calloc",
                                                             "posix_memalign",
                                                             "aligned_alloc",
                                                             "memalign",
                                                             "valloc",
                                                             "pvalloc",
                                                             "mmap"};

int tt_memray_finish(struct tt_memray *m)
{
    const struct tt_memray_figures *f = m->place.item;
    uint32_t metric[TT_HEAP_FIGURES] = {0};
    uint64_t figure[TT_HEAP_FIGURES];
    int error = set_metrics(m, metric);

    tt_vector_sort(&m->place, compare);
    for (size_t i = 0; !error && i < m->place.count; i++, f++) {
        if ((!i || f->thread != f[-1].thread) && !is_strand(m, f->thread))
            error = tt_source_no_memory(m->s);
        list_figures(f, figure);
        for (int k = 0; k < TT_HEAP_FIGURES; k++)
            tt_builder_add(m->b, TT_ROLE_SELF, f->context, metric[k], figure[k]);
        tt_heap_add_space(m->b, f->context, allocators[f->allocator], figure);
    }
    tt_builder_no_strand(m->b);
    tt_heap_line_finish(&m->line, m->b, "heap", "bytes");
    tt_heap_line_finish(&m->resident, m->b, "resident", "bytes");
    return error;
}
