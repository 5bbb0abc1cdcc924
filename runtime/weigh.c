/* SPDX-License-Identifier: MIT */
/* weigh.c - the cost of each context of a tree, with all below it.
 *
 * Cells are in no order.  Each context waits for its children; one that waits for none
 * adds its weight to its parent, which may then do so itself. */
#include "weigh.h"
#include "extension.h"
#include "rows.h"
#include "space.h"

#include <string.h>
#include <sys/mman.h>

int tt_weights_init(struct tt_weights *w, const struct tt_tree *t)
{
    size_t n = (size_t)t->page_count * TT_PAGE_CELLS, pages = t->recording->next_bytes;
    char *m;

    memset(w, 0, sizeof *w);
    w->tree = t;
    w->count = (uint32_t)n;
    w->size = n * (8 + 4 + 4 + 1) + pages;
    m = mmap(NULL, w->size, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (m == MAP_FAILED)
        return -TT_ERR_MEMORY;
    w->memory = m;
    w->weight = (uint64_t *)(void *)m;
    w->link = (uint32_t *)(void *)(m + 8 * n);
    w->order = (uint32_t *)(void *)(m + 12 * n);
    w->ordinal = (uint32_t *)(void *)(m + 16 * n);
    w->state = (uint8_t *)(m + 16 * n + pages);
    return 0;
}

void tt_weights_fini(struct tt_weights *w) { munmap(w->memory, w->size); }

/* Calls `each` for every context and arc. */
static void each_weighed(struct tt_weights *w,
                         void (*each)(struct tt_weights *, const struct tt_node *,
                                      uint32_t place))
{
    const struct tt_recording *r = w->tree->recording;
    uint32_t place = 0;

    for (uint32_t page = w->tree->pages; page; page = r->next[page]) {
        const struct tt_node *n = tt_cell(w->tree->base, tt_page_cell(r, page));
        for (uint32_t i = 0; i < TT_PAGE_CELLS; i++, n++, place++)
            if (n->kind == TT_CELL_CONTEXT || n->kind == TT_CELL_ARC)
                each(w, n, place);
    }
}

static void number_pages(struct tt_weights *w)
{
    const struct tt_recording *r = w->tree->recording;
    uint32_t ordinal = 0;

    for (uint32_t page = w->tree->pages; page; page = r->next[page])
        w->ordinal[page] = ordinal++;
}

static void see_ticks(struct tt_weights *w, const struct tt_node *n, uint32_t place)
{
    const struct tt_loss *loss = tt_tree_loss_find(w->tree, n);

    (void)place;
    if (n->self || (loss && loss->elsewhere.self))
        w->by_calls = 0;
}

static void weigh_cell(struct tt_weights *w, const struct tt_node *n, uint32_t place)
{
    const struct tt_loss *loss = tt_tree_loss_find(w->tree, n);

    if (n != w->tree->root)
        w->link[tt_place(w, n->parent)]++;
    if (n->kind == TT_CELL_ARC) {
        w->weight[place] = n->calls;
        if (w->by_calls)
            w->weight[tt_place(w, n->target)] += n->calls;
        return;
    }
    w->weight[place] += w->by_calls ? n->calls + tt_space_bytes(w->tree, n) : n->self;
    if (loss)
        w->weight[place] += w->by_calls ? loss->elsewhere.calls + loss->arrived
                                        : loss->elsewhere.self;
}

/* A cell with nothing left to wait for adds its weight to its parent, and so on up. */
static void settle_cell(struct tt_weights *w, const struct tt_node *n, uint32_t place)
{
    while (w->link[place] == 0) {
        TT_ASSERT(w->ordered < w->count);
        w->link[place] = UINT32_MAX; /* done */
        w->order[w->ordered++] = tt_cell_of(w->tree, n);
        if (n == w->tree->root)
            return;
        if (n->kind == TT_CELL_CONTEXT)
            w->weight[tt_place(w, n->parent)] += w->weight[place];
        n = tt_parent(w->tree, n);
        place = tt_place(w, tt_cell_of(w->tree, n));
        TT_ASSERT(w->link[place] > 0);
        w->link[place]--;
    }
}

void tt_weigh(struct tt_weights *w, enum tt_weigh_by by)
{
    number_pages(w);
    w->by_calls = by == TT_WEIGH_TICKS_OR_CALLS;
    if (w->by_calls)
        each_weighed(w, see_ticks);
    each_weighed(w, weigh_cell);
    each_weighed(w, settle_cell);
    TT_ASSERT(w->ordered &&
              w->order[w->ordered - 1] == tt_cell_of(w->tree, w->tree->root));
    memset(w->link, 0, w->count * sizeof *w->link);
}
