/* SPDX-License-Identifier: MIT */
/* context.c - captured contexts: where a thunk or a closure was made.
 *
 *      63        40 39       25 24          0
 *      │  block    │ generation │   cell     │      a budget over 2 GiB: more for the cell
 *
 * A handle is a cell's number and generation, and the block in case the cell is gone.
 * While the evicted cell is free it still has its ancestor that stayed: the block comes
 * back below that.  Once the cell is in use again, only the block is known, and comes
 * back below the root.  A cell whose generations are used up gives handles with the block
 * alone: a handle never names another context. */
#include "context.h"
#include "activation.h"
#include "block.h"
#include "budget.h"
#include "rows.h"
#include "series.h"
#include "share.h"
#include "stack.h"

/* Keys of the index of space: where another strand's context is here, and where one that
 * was below it is. */
enum { FOREIGN_WAY = 0xfffd, BELOW_WAY = 0xfffc };

tt_context tt_context_capture(void)
{
    struct tt_thread *t = tt_self.thread;
    struct tt_frame *top;

    if (!t)
        TT_HAND_ON(tt_context_capture);
    if (!__atomic_load_n(&tt_on, __ATOMIC_RELAXED) || !t ||
        t->recording != tt_recording_now())
        return 0;
    top = t->self->top;
    if (top->node == t->tree.limbo)
        return tt_context_below(t, top, tt_stack_placed(t, top)->node);
    return tt_context_make(t->recording, top->node);
}

tt_context tt_context_of(struct tt_thread *t, const struct tt_frame *f)
{
    return tt_context_make(t->recording, f->node);
}

tt_context tt_context_at(struct tt_thread *t, const struct tt_node *n, tt_block block)
{
    tt_context c = tt_context_make(t->recording, n);

    TT_ASSERT(block < TT_BLOCKS_MAX);
    return (c & ((1ull << TT_CONTEXT_BLOCK_SHIFT) - 1)) | (uint64_t)block
                                                              << TT_CONTEXT_BLOCK_SHIFT;
}

tt_context tt_context_below(struct tt_thread *t, const struct tt_frame *f,
                            const struct tt_node *n)
{
    return tt_context_at(t, n, tt_frame_block(t, f));
}

tt_block tt_context_block(tt_context c)
{
    return (tt_block)(c >> TT_CONTEXT_BLOCK_SHIFT);
}

#ifdef __SANITIZE_THREAD__
#define UNSYNCHRONISED __attribute__((no_sanitize("thread"), noipa))
#else
#define UNSYNCHRONISED
#endif

static int is_in_cells(const struct tt_recording *r, uint32_t cell)
{
    uint32_t first = r->header->first / TT_CELL_SIZE,
             used = __atomic_load_n(&r->header->used, __ATOMIC_ACQUIRE);

    return cell >= first && cell < first + used * TT_PAGE_CELLS &&
           (__atomic_load_n(&r->map[tt_cell_page(r, cell) - 1], __ATOMIC_ACQUIRE) &
            0xff) == TT_PAGE_CELL;
}

/* The cell of a handle, of any strand, or of the ancestor that it was evicted to; NULL if
 * the cell was reused. */
UNSYNCHRONISED static struct tt_node *cell_of_handle(struct tt_recording *r, tt_context c,
                                                     int *evicted)
{
    uint32_t cell = tt_context_cell(r, c), generation = tt_context_generation(r, c),
             target;
    struct tt_node *n = tt_cell(r->base, cell);

    *evicted = 0;
    if (!is_in_cells(r, cell))
        return NULL;
    if (n->kind == TT_CELL_CONTEXT && n->generation == generation)
        return n;
    target = n->target;
    if (n->kind != TT_CELL_FREE || n->generation != generation + 1 || !target ||
        !is_in_cells(r, target) || tt_cell(r->base, target)->kind != TT_CELL_CONTEXT)
        return NULL;
    *evicted = 1;
    return tt_cell(r->base, target);
}

static uint32_t owner_of(const struct tt_recording *r, const struct tt_node *n)
{
    uint32_t cell = (uint32_t)((size_t)((const char *)n - r->base) / TT_CELL_SIZE);

    return tt_page_owner(r, tt_cell_page(r, cell));
}

UNSYNCHRONISED static int is_of_block(const struct tt_node *n, tt_block block)
{
    return n->key == block;
}

/* ── In another strand's tree ─────────────────────────────────────────────────────── */

/* One step up in a tree that its thread may be evicting from meanwhile; NULL: at the
 * root, or the data read are invalid. */
UNSYNCHRONISED static const struct tt_node *step_up_there(const struct tt_recording *r,
                                                          const struct tt_node *n)
{
    uint32_t cell = __atomic_load_n(&n->parent, __ATOMIC_RELAXED);

    return is_in_cells(r, cell) ? tt_cell(r->base, cell) : NULL;
}

/* The depth of a context; more than there are cells: it is invalid. */
UNSYNCHRONISED static uint32_t depth_there(const struct tt_recording *r,
                                           const struct tt_node *n)
{
    uint32_t depth = 0, most = r->header->used * TT_PAGE_CELLS;

    while (n && n->parent && depth <= most) {
        n = step_up_there(r, n);
        depth++;
    }
    return n ? depth : UINT32_MAX;
}

/* Its blocks at the depths from `begin` to `end`, counted from the root. */
UNSYNCHRONISED static void read_path(const struct tt_recording *r,
                                     const struct tt_node *n, uint32_t depth,
                                     uint32_t begin, uint32_t end, tt_block *path)
{
    for (; n && depth > begin; depth--, n = step_up_there(r, n))
        if (depth <= end)
            path[depth - begin - 1] = n->key & TT_KEY_BLOCK;
}

/* A handler may call this amid a fast path. */
static uint32_t next_on_path(struct tt_thread *t, struct tt_node *from, tt_block block)
{
    uint32_t cell = tt_tree_child(&t->tree, from, tt_block_publish(t->recording, block));

    tt_stack_disturb(t);
    return cell;
}

/* Makes another strand's path in this strand's tree: from the root down, block by block.
 * The recursion policy was already applied.  A long path is read in parts, from above.  A
 * path never changes while its context lives, so the data read are right if it still
 * lives afterwards.  Returns NULL if it does not. *whole: there was room for all of
 * it. */
static struct tt_node *translate(struct tt_thread *t, tt_context c,
                                 const struct tt_node *n, int *whole)
{
    enum { PART = 1024 };
    struct tt_recording *r = t->recording;
    tt_block path[PART] = {0};
    struct tt_node *here = t->tree.root;
    uint32_t depth = depth_there(r, n), done = 0, cell;
    int evicted, was_evicted;

    (void)cell_of_handle(r, c, &was_evicted);
    *whole = 0;
    while (depth != UINT32_MAX && done < depth) {
        uint32_t end = depth - done < PART ? depth : done + PART;
        read_path(r, n, depth, done, end, path);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (cell_of_handle(r, c, &evicted) != n || evicted != was_evicted)
            return NULL;
        for (; done < end; done++) {
            cell = next_on_path(t, here, path[done % PART]);
            if (!cell)
                return here;
            here = tt_tree_target(&t->tree, cell);
        }
    }
    *whole = depth != UINT32_MAX;
    return *whole ? here : NULL;
}

struct tt_node *tt_context_find(struct tt_thread *t, tt_context c, int *below)
{
    enum { TRIES = 8 };
    struct tt_node *n, *here;
    int evicted = 0, whole;
    uint32_t known, way;

    *below = 0;
    if (!c)
        return t->tree.root;
    for (int i = 0; i < TRIES && (n = cell_of_handle(t->recording, c, &evicted)); i++) {
        *below = evicted || !is_of_block(n, tt_context_block(c));
        if (owner_of(t->recording, n) == t->tree.owner)
            return n;
        way = *below ? BELOW_WAY : FOREIGN_WAY;
        known = tt_space_known(&t->tree, (uint32_t)c, (uint32_t)(c >> 32), way);
        if (known)
            return tt_cell(t->tree.base, known);
        here = translate(t, c, n, &whole);
        *below |= !whole;
        if (here && whole)
            tt_space_know(&t->tree, (uint32_t)c, (uint32_t)(c >> 32), way,
                          tt_cell_of(&t->tree, here));
        if (here)
            return here;
    }
    *below = 1;
    return NULL;
}

/* Makes it a child, whatever the recursion policy: the blocks in between are not known
 * any more. */
struct tt_node *tt_context_place(struct tt_thread *t, tt_context c)
{
    int below, is_second = 0;
    struct tt_node *n;
    uint32_t cell;

    do {
        n = tt_context_find(t, c, &below);
        if (n && !below)
            return n;
        cell = next_on_path(t, n ? n : t->tree.root, tt_context_block(c));
        if (cell)
            return tt_tree_target(&t->tree, cell);
    } while (!is_second++ && tt_make_room(t));
    return NULL;
}

tt_context tt_context_parent(tt_context c)
{
    struct tt_recording *r = tt_recording_now();
    int evicted;
    struct tt_node *n;

    TT_HAND_ON(tt_context_parent, c);
    n = r && c ? cell_of_handle(r, c, &evicted) : NULL;
    return n && n->parent ? tt_context_make(r, tt_cell(r->base, n->parent)) : 0;
}
