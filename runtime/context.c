/* SPDX-License-Identifier: MIT */
/* context.c - captured contexts: where a thunk or a closure was made.
 *
 *      63        40 39       28 27          0
 *      │  block    │ generation │   cell     │
 *
 * A handle is a cell's number and generation, with the block for the case that the cell is
 * gone.  While the evicted cell is free it still knows the ancestor that was left; once it
 * is in use again, only the block is known, and stands below the root. */
#include "block.h"
#include "stack.h"

enum { CELL_BITS = 28, GENERATION_BITS = 12 };
#define CELL_MASK ((1u << CELL_BITS) - 1)
#define GENERATION_MASK ((1u << GENERATION_BITS) - 1)

/* Generations of one recording look like none of another's. */
static uint32_t generation_of(const struct tt_recording *r, uint32_t generation)
{
    return (generation ^ r->epoch * 0x9e5u) & GENERATION_MASK;
}

static tt_context handle_of(const struct tt_recording *r, const struct tt_node *n)
{
    uint64_t cell = (uint64_t)((const char *)n - r->base) / TT_CELL_SIZE;

    if (!n->parent || cell > CELL_MASK)
        return 0;
    return cell | (uint64_t)generation_of(r, n->generation) << CELL_BITS |
           (uint64_t)n->key << (CELL_BITS + GENERATION_BITS);
}

tt_context tt_context_capture(void)
{
    struct tt_thread *t = tt_self.thread;
    const struct tt_frame *top;

    if (!__atomic_load_n(&tt_on, __ATOMIC_RELAXED) || !t ||
        t->recording != tt_recording_now())
        return 0;
    for (top = t->self->top; top->node == t->tree.limbo;)
        top = tt_frame_below((struct tt_frame *)(uintptr_t)top);
    return handle_of(t->recording, top->node);
}

tt_context tt_context_of(struct tt_thread *t, const struct tt_frame *f)
{
    return handle_of(t->recording, f->node);
}

tt_block tt_context_block(tt_context c)
{
    return (tt_block)(c >> (CELL_BITS + GENERATION_BITS));
}

/* The cell of a handle, of whatever strand; NULL when it has moved on. */
static struct tt_node *cell_of_handle(struct tt_recording *r, tt_context c)
{
    uint32_t cell = (uint32_t)c & CELL_MASK,
             generation = (uint32_t)(c >> CELL_BITS) & GENERATION_MASK;
    struct tt_node *n = tt_cell(r->base, cell);

    if (cell < r->header->first / TT_CELL_SIZE ||
        cell >= r->header->first / TT_CELL_SIZE + r->header->used * TT_PAGE_CELLS ||
        (r->map[tt_cell_page(r, cell) - 1] & 0xff) != TT_PAGE_CELL)
        return NULL;
    if (n->kind == TT_CELL_CONTEXT && generation_of(r, n->generation) == generation)
        return n;
    if (n->kind == TT_CELL_FREE && generation_of(r, n->generation - 1u) == generation &&
        n->target && tt_cell(r->base, n->target)->kind == TT_CELL_CONTEXT)
        return tt_cell(r->base, n->target);
    return NULL;
}

static uint32_t owner_of(const struct tt_recording *r, const struct tt_node *n)
{
    uint32_t cell = (uint32_t)((size_t)((const char *)n - r->base) / TT_CELL_SIZE);

    return r->map[tt_cell_page(r, cell) - 1] >> 8;
}

/* Another strand's path, in this strand's tree: from the root down, block by block.  The
 * recursion policy has cut it already.  A long path is read in parts, from above. */
static struct tt_node *translate(struct tt_thread *t, const struct tt_node *n)
{
    enum { PART = 1024 };
    tt_block path[PART];
    struct tt_node *here = t->tree.root;
    uint32_t depth = 0, done = 0, cell;

    for (const struct tt_node *up = n; up->parent; up = tt_cell(t->tree.base, up->parent))
        depth++;
    while (done < depth) {
        uint32_t end = depth - done < PART ? depth : done + PART, i = depth;
        for (const struct tt_node *up = n; i > done;
             up = tt_cell(t->tree.base, up->parent), i--)
            if (i <= end)
                path[i - done - 1] = up->key;
        for (; done < end; done++) {
            cell = tt_tree_child(&t->tree, here,
                                 tt_block_publish(t->recording, path[done % PART]));
            if (!cell)
                return here;
            here = tt_cell(t->tree.base, cell);
        }
    }
    return here;
}

struct tt_node *tt_context_place(struct tt_thread *t, tt_context c)
{
    struct tt_node *n = c ? cell_of_handle(t->recording, c) : t->tree.root;
    uint32_t cell;

    if (n && owner_of(t->recording, n) == t->tree.owner)
        return n;
    if (n)
        return translate(t, n);
    cell = tt_tree_child(&t->tree, t->tree.root,
                         tt_block_publish(t->recording, tt_context_block(c)));
    return cell ? tt_cell(t->tree.base, cell) : t->tree.root;
}

tt_context tt_context_parent(tt_context c)
{
    struct tt_recording *r = tt_recording_now();
    struct tt_node *n = r && c ? cell_of_handle(r, c) : NULL;

    return n && n->parent ? handle_of(r, tt_cell(r->base, n->parent)) : 0;
}

/* The frame stands at the captured context, and what an arc hid before it is not on this
 * path's true stack: the chain of hiders begins anew. */
tt_mark tt_context_enter(tt_context c)
{
    struct tt_thread *t = tt_thread_enter();
    struct tt_frame *f;
    tt_mark mark;

    if (!t)
        return (uintptr_t)tt_self.top | 1;
    f = tt_stack_enter_context(t, tt_context_place(t, c));
    mark = f ? (uintptr_t)f : (uintptr_t)t->self->top | 1;
    tt_thread_leave(t);
    return mark;
}
