/* SPDX-License-Identifier: MIT */
/* memray-stacks.c - the stacks of memray's files: of Python, and native ones.
 *
 *      native    main ─ _start ─ eval ─ call ─ eval ─ numpy ─ malloc
 *      Python                    f             g, h
 *      merged    main ─ _start ─ f ─── call ─ g ─ h ─ numpy ─ malloc
 *
 * A native stack has a frame of the interpreter's loop for each call of that loop, and
 * Python's frames say for which of them it was called.  So they replace the loop's frames,
 * from the outermost on.  This takes the interpreter's symbols; without them, Python's
 * stack is all there is. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats.h"
#include "memray-stacks.h"
#include "memray.h"
#include "sorted.h"
#include "walker.h"

enum { MOST_NATIVE = 1 << 12, MOST_PYTHON = 1 << 12 }; /* of a merged stack */

struct frame {
    uint32_t block;
    int is_entry;
};

struct node {
    uint32_t parent, frame, depth;
    uint32_t context[2]; /* [1]: in the main thread; TT_NONE: not known so far */
};

struct native {
    uint64_t address;
    uint32_t parent; /* from 1 on; 0: it is the outermost */
};

struct image {
    uint64_t start, end, base;
    size_t path; /* in the text */
};

struct list {
    size_t first, count;
    int is_sorted;
};

struct spot { /* an address of a list of images */
    uint32_t block;
    int is_loop; /* the interpreter's */
};

void tt_memray_stacks_init(struct tt_memray *m)
{
    const struct tt_memory *memory = m->s->memory;

    tt_pairs_init(&m->frames, memory);
    tt_pairs_init(&m->nodes, memory);
    tt_pairs_init(&m->addresses, memory);
    tt_pairs_init(&m->merged, memory);
    tt_vector_init(&m->frame, memory, sizeof(struct frame));
    tt_vector_init(&m->node, memory, sizeof(struct node));
    tt_vector_init(&m->native, memory, sizeof(struct native));
    tt_vector_init(&m->image, memory, sizeof(struct image));
    tt_vector_init(&m->list, memory, sizeof(struct list));
    tt_vector_init(&m->spot, memory, sizeof(struct spot));
    tt_vector_init(&m->path, memory, sizeof(uint32_t));
    tt_vector_init(&m->callers, memory, sizeof(uint32_t));
}

static uint32_t no_memory(struct tt_memray *m)
{
    (void)tt_source_no_memory(m->s);
    return TT_NONE;
}

/* ── Python ───────────────────────────────────────────────────────────────────────── */

int tt_memray_frame(struct tt_memray *m, uint64_t a, uint64_t b, uint32_t block,
                    int is_entry)
{
    int is_new;
    uint32_t *at = tt_pairs_get(&m->frames, a, b, &is_new);

    if (!at || block == TT_NONE ||
        tt_vector_push(&m->frame, &(struct frame){block, is_entry}) != 0)
        return tt_source_no_memory(m->s);
    *at = (uint32_t)m->frame.count;
    return 0;
}

uint32_t tt_memray_find_frame(struct tt_memray *m, uint64_t a, uint64_t b)
{
    const uint32_t *at = tt_pairs_find(&m->frames, a, b);
    uint32_t block;

    if (at)
        return *at - 1;
    block = tt_builder_block(
        m->b, &(struct tt_block_info){.name = "(unknown)", .kind = TT_KIND_FUNCTION});
    return tt_memray_frame(m, a, b, block, 1) ? TT_NONE : (uint32_t)m->frame.count - 1;
}

static struct node *node_at(const struct tt_memray *m, uint32_t node)
{
    return (struct node *)m->node.item + node - 1;
}

uint32_t tt_memray_node(struct tt_memray *m, uint32_t parent, uint32_t frame)
{
    int is_new;
    uint32_t *at = tt_pairs_get(&m->nodes, parent, frame, &is_new);
    const struct node n = {
        parent, frame, parent ? node_at(m, parent)->depth + 1 : 1, {TT_NONE, TT_NONE}};

    if (at && !is_new)
        return *at;
    if (!at || tt_vector_push(&m->node, &n) != 0) {
        (void)no_memory(m);
        return 0;
    }
    *at = (uint32_t)m->node.count;
    return *at;
}

/* Lists the frames of a stack, innermost first, up to one whose context is known, which is
 * returned; 0: none is.  `kind`: that of the contexts; -1: all frames are wanted. */
static uint32_t list_callers(struct tt_memray *m, uint32_t node, int kind)
{
    m->callers.count = 0;
    while (node && (kind < 0 || node_at(m, node)->context[kind] == TT_NONE)) {
        if (tt_vector_push(&m->callers, &(uint32_t){node}) != 0)
            return no_memory(m);
        node = node_at(m, node)->parent;
    }
    return node;
}

/* The context of a stack of Python.  In the main thread, what called the tracker is left
 * out. */
static uint32_t python_context(struct tt_memray *m, uint32_t node, int is_main)
{
    uint32_t known = list_callers(m, node, is_main), context = TT_BUILDER_ROOT;
    const uint32_t *caller = m->callers.item;

    if (known == TT_NONE)
        return TT_NONE;
    if (known)
        context = node_at(m, known)->context[is_main];
    for (size_t i = m->callers.count; i-- > 0 && context != TT_NONE;) {
        struct node *n = node_at(m, caller[i]);
        const struct frame *f = (const struct frame *)m->frame.item + n->frame;
        if (!is_main || n->depth > m->skipped)
            context = tt_builder_context(m->b, context, f->block);
        n->context[is_main] = context;
    }
    return context == TT_NONE ? no_memory(m) : context;
}

/* ── Addresses ────────────────────────────────────────────────────────────────────── */

int tt_memray_native(struct tt_memray *m, uint64_t address, uint64_t parent)
{
    const int is_damaged = parent > m->native.count;
    const struct native n = {address, is_damaged ? 0 : (uint32_t)parent};

    return tt_source_append(m->s, &m->native, &n);
}

int tt_memray_images(struct tt_memray *m)
{
    return tt_source_append(m->s, &m->list, &(struct list){m->image.count, 0, 0});
}

int tt_memray_image(struct tt_memray *m, uint64_t start, uint64_t size, uint64_t base,
                    size_t path)
{
    struct list *list = m->list.count ? (struct list *)m->list.item + m->list.count - 1
                                      : NULL;

    if (!list || list->is_sorted)
        return tt_source_fail(m->s, "an image comes before its list, or after addresses "
                                    "that are in it");
    list->count++;
    return tt_source_append(m->s, &m->image,
                            &(struct image){start, start + size, base, path});
}

static int compare(const void *a, const void *b)
{
    const struct image *x = a, *y = b;

    return TT_ORDER(x->start, y->start);
}

static const struct image *find_image(struct tt_memray *m, uint32_t number,
                                      uint64_t address)
{
    struct list *list = number && number <= m->list.count
                            ? (struct list *)m->list.item + number - 1
                            : NULL;
    struct image *image = list && list->count
                              ? (struct image *)m->image.item + list->first
                              : NULL;
    size_t up_to;

    if (image && !list->is_sorted) {
        qsort(image, list->count, sizeof *image, compare);
        list->is_sorted = 1;
    }
    up_to = image ? tt_count_up_to(image, sizeof *image, list->count, address) : 0;
    return up_to && address < image[up_to - 1].end ? &image[up_to - 1] : NULL;
}

static uint32_t block_of(struct tt_memray *m, const char *path, uint64_t address)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    char name[300];

    if (slash)
        (void)snprintf(name, sizeof name, "%.250s+0x%llx", slash + 1,
                       (unsigned long long)address);
    else
        (void)snprintf(name, sizeof name, "0x%llx", (unsigned long long)address);
    return tt_builder_block(
        m->b, &(struct tt_block_info){.name = name,
                                      .module = path ? path : "",
                                      .offset = slash ? address : 0,
                                      .kind = slash ? TT_KIND_NATIVE : TT_KIND_FUNCTION});
}

/* Is it the interpreter's loop, which newer ones have as many functions? */
static int is_loop(const struct tt_walker *w, const char *path, uint64_t address)
{
    static const char loop[] = "_PyEval_EvalFrameDefault", tail[] = "_TAIL_CALL_";
    const char *name = w && w->function ? w->function(w->arg, path, address) : NULL;

    return name && (strstr(name, loop) || strncmp(name, tail, strlen(tail)) == 0);
}

/* Returns what a call's return address is in; NULL: no memory, noted. */
static const struct spot *spot_of(struct tt_memray *m, uint64_t address, uint32_t list)
{
    int is_new;
    uint32_t *at = tt_pairs_get(&m->addresses, address, list, &is_new);
    const struct image *image;
    const char *path;
    struct spot *to;

    if (at && !is_new)
        return (const struct spot *)m->spot.item + *at - 1;
    image = find_image(m, list, --address); /* the call itself */
    path = image ? (const char *)m->text.item + image->path : NULL;
    address -= image ? image->base : 0;
    to = at ? tt_vector_add(&m->spot, 1) : NULL;
    if (to)
        to->block = block_of(m, path, address);
    if (!to || to->block == TT_NONE) {
        (void)no_memory(m);
        return NULL;
    }
    if (path && *path == '/')
        to->is_loop = is_loop(m->s->reading->walker, path, address);
    *at = (uint32_t)m->spot.count;
    return to;
}

/* ── Both ─────────────────────────────────────────────────────────────────────────── */

/* Adds the frames of Python that one call of the loop runs; `left`: how many there are. */
static uint32_t add_call(struct tt_memray *m, uint32_t context, size_t *left, int is_main)
{
    const uint32_t *caller = m->callers.item;
    const struct frame *frame = m->frame.item;

    do {
        const struct node *n = node_at(m, caller[--*left]);
        if (is_main && m->skipped && n->depth == m->skipped + 1)
            context = TT_BUILDER_ROOT; /* the caller of the tracker ends here */
        context = tt_builder_context(m->b, context, frame[n->frame].block);
    } while (context != TT_NONE && *left &&
             !frame[node_at(m, caller[*left - 1])->frame].is_entry);
    return context;
}

/* Makes the context of both stacks; TT_NONE: no memory, noted. */
static uint32_t merge(struct tt_memray *m, const struct tt_memray_site *site, int is_main)
{
    uint32_t context = TT_BUILDER_ROOT;
    size_t left;

    if (site->node && node_at(m, site->node)->depth > MOST_PYTHON) {
        m->deep++;
        return python_context(m, site->node, is_main);
    }
    if (list_callers(m, site->node, -1) == TT_NONE)
        return TT_NONE;
    left = m->callers.count;
    m->path.count = 0;
    for (uint32_t i = site->native; i && m->path.count < MOST_NATIVE;
         i = ((const struct native *)m->native.item)[i - 1].parent) {
        if (tt_vector_push(&m->path, &(uint32_t){i}) != 0)
            return no_memory(m);
    }
    for (size_t i = m->path.count; i-- > 0 && context != TT_NONE;) {
        uint32_t number = ((const uint32_t *)m->path.item)[i];
        const struct spot *spot = spot_of(
            m, ((const struct native *)m->native.item)[number - 1].address, site->images);
        if (!spot)
            return TT_NONE;
        context = spot->is_loop && left ? add_call(m, context, &left, is_main)
                                        : tt_builder_context(m->b, context, spot->block);
    }
    if (context == TT_NONE)
        return no_memory(m);
    if (!left)
        return context;
    m->unmerged++;
    return python_context(m, site->node, is_main);
}

uint32_t tt_memray_context(struct tt_memray *m, const struct tt_memray_site *site)
{
    const struct tt_memray_thread *t = (const struct tt_memray_thread *)m->thread.item +
                                       site->thread;
    const int is_main = t->id == m->main;
    int is_new;
    uint32_t *at, context;

    if (!site->native || site->native > m->native.count)
        return python_context(m, site->node, is_main);
    at = tt_pairs_get(&m->merged, (uint64_t)site->node << 32 | site->native,
                      (uint64_t)site->images << 1 | (uint64_t)is_main, &is_new);
    if (!at)
        return no_memory(m);
    if (!is_new)
        return *at;
    context = merge(m, site, is_main);
    *tt_pairs_get(&m->merged, (uint64_t)site->node << 32 | site->native,
                  (uint64_t)site->images << 1 | (uint64_t)is_main, &is_new) = context;
    return context;
}
