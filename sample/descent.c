/* SPDX-License-Identifier: MIT */
/* descent.c - finished waits as contexts: a place in a thread's tree, made step by
 * step. */
#include "descent.h"

#include <sched.h>

#include "activation.h"
#include "block.h"
#include "budget.h"
#include "cell.h"
#include "extension.h"
#include "stack.h"

enum { TRIES = 1000 };

int tt_descent_try_lock(struct tt_thread *t)
{
    if (!tt_nested_try(&t->tree.lock, &tt_self))
        return 0;
    if (tt_block_try()) {
        if (tt_pages_try(t->recording))
            return 1;
        tt_block_done();
    }
    tt_nested_unlock(&t->tree.lock);
    return 0;
}

/* Others hold them only briefly. */
int tt_descent_lock(struct tt_thread *t)
{
    for (int i = 0; i < TRIES; i++) {
        if (tt_descent_try_lock(t))
            return 1;
        sched_yield();
    }
    return 0;
}

void tt_descent_unlock(struct tt_thread *t)
{
    tt_pages_done(t->recording);
    tt_block_done();
    tt_nested_unlock(&t->tree.lock);
}

/* As pushes do: evicts cold contexts after enough failed for want of room.  Before any
 * look-up, as it may evict the result. */
void tt_descent_make_room(struct tt_thread *t)
{
    enum { CELLS = 128 };
    struct tt_tree *tree = &t->tree;

    if (tree->free_count < CELLS && tt_tree_reserve(tree, CELLS) != 0 &&
        tree->refused++ >= tree->patience)
        (void)tt_evict_tree(tree, t);
}

void tt_descend(struct tt_descent *d, tt_block block)
{
    struct tt_tree *tree = &d->thread->tree;
    uint32_t cell = d->below ? 0 : tt_tree_child(tree, d->n, block);

    tt_stack_disturb(d->thread); /* the fast path that was interrupted, if any */
    d->block = block;
    if (cell)
        d->n = tt_tree_target(tree, cell);
    else
        d->below = 1;
}

void tt_descent_add(struct tt_descent *d, uint32_t m, uint64_t amount)
{
    struct tt_tree *tree = &d->thread->tree;
    uint64_t *sum = d->below ? NULL : tt_tree_metric_of(tree, d->n, m);

    if (sum)
        tt_bump(sum, amount);
    else if (!tt_tree_metric_evicted(tree, d->n, d->block, m, amount))
        tt_bump_shared(&d->thread->recording->header->lost_figures, 1);
}

static const struct tt_frame no_activation;

/* In ticks, as all times of activations are. */
void tt_descent_time(struct tt_descent *d, uint64_t ns)
{
    const uint64_t rate = d->thread->recording->header->ticks_per_second,
                   ticks = (uint64_t)((unsigned __int128)ns * rate / 1000000000u);
    struct tt_times *t = d->below ? NULL : tt_tree_times(&d->thread->tree, d->n);

    if (t)
        tt_times_add(t, &no_activation, ticks);
}
