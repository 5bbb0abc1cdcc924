/* SPDX-License-Identifier: MIT */
/* memray-heap.c - what memray's allocations amount to, place by place.
 *
 * What is alive at the peak is found in one pass, as in heaptrack.c: a place remembers
 * during which peak it changed last, and how much it had before.  The last of several
 * equal peaks counts, as in memray.  A part of a mapping may be unmapped: then the rest
 * is as many allocations as there are pieces. */
#include <stdlib.h>
#include <string.h>

#include "formats.h"
#include "memray.h"

/* More mappings at a time than the system allows a process (65,530) are not alive. */
enum { MOST_RANGES = 1 << 16 };

struct object {
    uint64_t size;
    uint32_t place; /* TT_NONE: it was freed */
};

struct range { /* of what was mapped */
    uint64_t start, end;
    uint32_t place;
};

void tt_memray_heap_init(struct tt_memray *m)
{
    tt_pairs_init(&m->places, m->s->memory);
    tt_pairs_init(&m->objects, m->s->memory);
    tt_vector_init(&m->place, m->s->memory, sizeof(struct tt_memray_figures));
    tt_vector_init(&m->object, m->s->memory, sizeof(struct object));
    tt_vector_init(&m->range, m->s->memory, sizeof(struct range));
}

void tt_memray_heap_fini(struct tt_memray *m)
{
    tt_vector_fini(&m->range);
    tt_vector_fini(&m->object);
    tt_vector_fini(&m->place);
    tt_pairs_fini(&m->objects);
    tt_pairs_fini(&m->places);
}

static struct tt_memray_figures *figures(const struct tt_memray *m, uint32_t place)
{
    return (struct tt_memray_figures *)m->place.item + place;
}

struct tt_memray_figures *tt_memray_place(struct tt_memray *m,
                                          const struct tt_memray_site *site)
{
    uint32_t context = tt_memray_context(m, site), *at;
    int is_new;

    if (context == TT_NONE)
        return NULL;
    at = tt_pairs_get(&m->places, (uint64_t)site->thread << 32 | site->allocator, context,
                      &is_new);
    if (!at || (is_new && !tt_vector_add(&m->place, 1))) {
        (void)tt_source_no_memory(m->s);
        return NULL;
    }
    if (is_new) {
        *at = (uint32_t)m->place.count;
        *figures(m, *at - 1) = (struct tt_memray_figures){
            .thread = site->thread, .allocator = site->allocator, .context = context};
    }
    return figures(m, *at - 1);
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

static int add_range(struct tt_memray *m, uint32_t place, uint64_t start, uint64_t size)
{
    struct range *to;

    if (m->range.count == MOST_RANGES || size > UINT64_MAX - start) {
        m->lost++;
        release(m, place, size, 1);
        return 0;
    }
    to = tt_vector_add(&m->range, 1);
    if (!to)
        return tt_source_no_memory(m->s);
    *to = (struct range){start, start + size, place};
    return 0;
}

static int add_object(struct tt_memray *m, uint32_t place, uint64_t address,
                      uint64_t size)
{
    int is_new;
    uint32_t *at = tt_pairs_get(&m->objects, address, 0, &is_new);
    struct object *o;

    if (!at || (is_new && !tt_vector_add(&m->object, 1)))
        return tt_source_no_memory(m->s);
    if (is_new)
        *at = (uint32_t)m->object.count;
    o = (struct object *)m->object.item + *at - 1;
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

/* Takes start to end out of a range; returns whether it is to be removed.  What is left
 * after a hole is another range. */
static int cut(struct tt_memray *m, struct range *r, uint64_t start, uint64_t end,
               struct range *rest)
{
    const uint64_t from = r->start > start ? r->start : start;
    const uint64_t to = r->end < end ? r->end : end;
    const int is_all = from == r->start && to == r->end;
    const int is_hole = from > r->start && to < r->end;

    *rest = (struct range){.place = TT_NONE};
    if (to <= from)
        return 0;
    release(m, r->place, to - from, is_all ? 1 : 0);
    if (is_hole) {
        *rest = (struct range){to, r->end, r->place};
        figures(m, r->place)->live_number++;
    }
    if (from == r->start)
        r->start = to;
    else
        r->end = from;
    return is_all;
}

int tt_memray_unmap(struct tt_memray *m, uint64_t address, uint64_t size)
{
    const uint64_t end = size > UINT64_MAX - address ? UINT64_MAX : address + size;
    const size_t count = m->range.count;
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        struct range *all = m->range.item, rest, *to;
        int is_gone = cut(m, &all[i], address, end, &rest);
        if (rest.place != TT_NONE && m->range.count >= MOST_RANGES) {
            m->lost++;
            release(m, rest.place, rest.end - rest.start, 1);
        } else if (rest.place != TT_NONE) {
            to = tt_vector_add(&m->range, 1);
            if (!to)
                return tt_source_no_memory(m->s);
            *to = rest;
            all = m->range.item;
        }
        if (!is_gone)
            all[kept++] = all[i];
    }
    if (kept < count)
        memmove((struct range *)m->range.item + kept,
                (struct range *)m->range.item + count,
                (m->range.count - count) * sizeof(struct range));
    m->range.count -= count - kept;
    note_peak(m);
    return 0;
}

/* ── The end ──────────────────────────────────────────────────────────────────────── */

static int compare(const void *a, const void *b)
{
    const struct tt_memray_figures *x = a, *y = b;

    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->allocator != y->allocator)
        return x->allocator < y->allocator ? -1 : 1;
    return x->context < y->context ? -1 : x->context > y->context;
}

static int add_place(struct tt_memray *m, struct tt_heap_profile *h,
                     struct tt_memray_figures *f)
{
    int error = 0;

    keep_peak(m, f);
    const uint64_t amount[TT_HEAP_FIGURES] = {
        [TT_HEAP_BYTES] = f->bytes,     [TT_HEAP_ALLOCATIONS] = f->number,
        [TT_HEAP_PEAK_BYTES] = f->peak, [TT_HEAP_PEAK_NUMBER] = f->peak_number,
        [TT_HEAP_LIVE_BYTES] = f->live, [TT_HEAP_LIVE_NUMBER] = f->live_number,
    };
    for (int i = 0; !error && i < TT_HEAP_FIGURES; i++)
        if (amount[i])
            error = tt_heap_add(h, (enum tt_heap_figure)i, f->context, amount[i]);
    return error;
}

static int is_strand(struct tt_memray *m, uint32_t thread)
{
    const struct tt_memray_thread *t = (const struct tt_memray_thread *)m->thread.item +
                                       thread;

    return tt_builder_strand(m->b, &(struct tt_strand_info){
                                       .pid = m->pid,
                                       .thread = t->id,
                                       .name = (const char *)m->text.item + t->name,
                                       .rank = TT_NONE,
                                       .members = 1}) != TT_NONE;
}

/* Adds the places of one thread and one function that allocates. */
static int add_group(struct tt_memray *m, size_t first, size_t end)
{
    static const char *const names[TT_MEMRAY_ALLOCATORS] = {"",
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
    const struct tt_memray_figures *f = figures(m, (uint32_t)first);
    struct tt_heap_profile heap;
    int error = is_strand(m, f->thread) ? 0 : tt_source_no_memory(m->s);

    tt_heap_init(&heap, m->s, m->b);
    for (size_t i = first; !error && i < end; i++)
        error = add_place(m, &heap, figures(m, (uint32_t)i));
    if (!error)
        tt_heap_finish(&heap, names[f->allocator]);
    tt_heap_fini(&heap);
    return error;
}

int tt_memray_finish(struct tt_memray *m)
{
    const struct tt_memray_figures *f = m->place.item;
    int error = 0;

    if (m->place.count)
        qsort(m->place.item, m->place.count, sizeof *f, compare);
    for (size_t i = 0, end; !error && i < m->place.count; i = end) {
        for (end = i + 1; end < m->place.count && f[end].thread == f[i].thread &&
                          f[end].allocator == f[i].allocator;)
            end++;
        error = add_group(m, i, end);
    }
    tt_builder_no_strand(m->b);
    tt_heap_line_finish(&m->line, m->b, "heap", "bytes");
    tt_heap_line_finish(&m->resident, m->b, "resident", "bytes");
    return error;
}
