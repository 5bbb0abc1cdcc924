/* SPDX-License-Identifier: MIT */
/* tree-check.c - checks a tree's invariants, in checked builds only. */
#include "tree-check.h"
#include "extension.h"
#include "tree.h"

#ifdef TT_CHECKED

enum { CHAIN_MAX = 1 << 20 }; /* a longer chain is a ring */

/* ── Every cell ───────────────────────────────────────────────────────────────────── */

/* Calls back for every cell of a tree's pages; stops at the first complaint. */
static const char *each_tree_cell(const struct tt_tree *t,
                                  const char *(*check)(const struct tt_tree *,
                                                       const struct tt_node *, void *),
                                  void *arg)
{
    const struct tt_recording *r = t->recording;
    const char *wrong = "";

    for (uint32_t page = t->pages; page; page = r->next[page]) {
        const struct tt_node *n = tt_cell(t->base, tt_page_cell(r, page));
        if ((r->map[page - 1] & 0xff) != TT_PAGE_CELL ||
            tt_page_owner(r, page) != t->owner)
            return "a page of cells is another's";
        for (uint32_t i = 0; i < TT_PAGE_CELLS && !*wrong; i++)
            wrong = check(t, &n[i], arg);
        if (*wrong)
            return wrong;
    }
    return "";
}

/* ── Edges ────────────────────────────────────────────────────────────────────────── */

/* In its own bucket: wrong_table() finds one that is in another. */
static int is_listed_once(const struct tt_tree *t, const struct tt_node *parent,
                          const struct tt_node *edge)
{
    uint32_t times = 0;

    for (uint32_t e = tt_table(t->base, parent)[edge->key & TT_KEY_BLOCK & parent->mask];
         e; e = tt_cell(t->base, e)->next)
        times += e == tt_cell_of(t, edge);
    return times == 1;
}

static const char *wrong_table(const struct tt_tree *t, const struct tt_node *n)
{
    const uint32_t *table = tt_table(t->base, n);
    uint32_t count = 0, steps = 0;

    if ((n->mask + 1) & n->mask)
        return "a table's size is no power of two";
    for (uint32_t i = 0; i <= n->mask; i++)
        for (uint32_t e = table[i]; e; e = tt_cell(t->base, e)->next, count++) {
            const struct tt_node *edge = tt_cell(t->base, e);
            if (edge->kind != TT_CELL_CONTEXT && edge->kind != TT_CELL_ARC)
                return "a table leads to a cell that is no edge";
            if (edge->parent != tt_cell_of(t, n))
                return "a table leads to another context's edge";
            if ((edge->key & TT_KEY_BLOCK & n->mask) != i)
                return "an edge is in another block's bucket";
            if (steps++ > CHAIN_MAX)
                return "a bucket is a ring";
        }
    return n->mask > 1 && n->slot[0] != count ? "a table miscounts its edges" : "";
}

static const char *wrong_path(const struct tt_tree *t, const struct tt_node *n)
{
    int again = 0;

    for (const struct tt_node *up = tt_parent(t, n); up != t->root; up = tt_parent(t, up))
        again |= up->key == n->key;
    if (again == !!(n->flags & TT_NODE_OUTERMOST))
        return "a context is outermost or not, and its flags say otherwise";
    return again == !!(n->flags & TT_NODE_AGAIN) ? "" : "a context's flags contradict";
}

static const char *wrong_edge(const struct tt_tree *t, const struct tt_node *n)
{
    uint32_t cell = tt_cell_of(t, n);
    const struct tt_node *parent = tt_cell(t->base, n->parent);

    if (!n->parent || parent->kind != TT_CELL_CONTEXT)
        return "an edge comes from a cell that is no context";
    if (!is_listed_once(t, parent, n))
        return "an edge is not in its context's table, or is there twice";
    if (!tt_tree_tally_find(t, n->key & TT_KEY_BLOCK) && n->kind == TT_CELL_CONTEXT)
        return "a context's block has no tally";
    if (n->kind == TT_CELL_CONTEXT)
        return n->target == cell ? wrong_path(t, n) : "a context leads elsewhere";
    if (tt_cell(t->base, n->target)->kind != TT_CELL_CONTEXT ||
        !tt_tree_is_above(t, tt_cell(t->base, n->target), parent))
        return "an arc leads out of its path";
    return "";
}

/* ── Extensions ───────────────────────────────────────────────────────────────────── */

/* Times come first, rows of space last, and of the others one of each kind but metrics. */
static const char *wrong_extensions(const struct tt_tree *t, uint32_t cell)
{
    const struct tt_loss *e;
    uint64_t seen = 0;
    int spaces = 0, steps = 0;

    for (; cell; cell = e->next, steps++) {
        e = (const struct tt_loss *)(const void *)tt_cell(t->base, cell);
        if (e->kind <= TT_CELL_ARC || e->kind == TT_CELL_TALLY || e->kind > TT_BAND)
            return "an extension is of no such kind";
        if (e->kind == TT_TIMES && steps)
            return "times are not the first extension";
        if (spaces && !tt_is_space(e->kind))
            return "a row of space comes before another extension";
        spaces |= tt_is_space(e->kind);
        if (!spaces && e->kind != TT_CELL_METRICS && seen >> e->kind & 1)
            return "an extension is there twice";
        seen |= 1ull << e->kind;
        if (steps > CHAIN_MAX)
            return "a chain of extensions is a ring";
    }
    return "";
}

/* ── The whole ────────────────────────────────────────────────────────────────────── */

struct tree_counts {
    uint64_t free, elsewhere, evicted; /* the last two: self */
};

static const char *wrong_cell(const struct tt_tree *t, const struct tt_node *n, void *arg)
{
    struct tree_counts *counts = arg;
    const struct tt_tally *tally = (const struct tt_tally *)(const void *)n;
    const char *wrong = "";

    if (n == t->root || n == t->limbo)
        return n->parent ? "a root has a parent" : wrong_table(t, n);
    switch (n->kind) {
    case TT_CELL_FREE:
        counts->free++;
        break;
    case TT_CELL_CONTEXT:
    case TT_CELL_ARC:
        wrong = wrong_edge(t, n);
        if (!*wrong && n->kind == TT_CELL_CONTEXT)
            wrong = wrong_table(t, n);
        if (!*wrong)
            wrong = wrong_extensions(t, n->extension);
        break;
    case TT_CELL_LOSS:
        counts->elsewhere += ((const struct tt_loss *)(const void *)n)->elsewhere.self;
        break;
    case TT_CELL_TALLY:
        counts->evicted += tally->evicted.self;
        if (tt_tree_tally_find(t, n->key) != tally)
            wrong = "a tally is not its block's";
        else
            wrong = wrong_extensions(t, tally->next);
        break;
    default:
        if (n->kind >= TT_CELL_KINDS)
            wrong = "a cell is of no such kind";
    }
    return wrong;
}

static const char *wrong_free(const struct tt_tree *t)
{
    uint32_t count = t->fresh_end - t->fresh, last = 0;

    for (uint32_t cell = t->free_first; cell; cell = tt_cell(t->base, cell)->parent) {
        if (tt_cell(t->base, cell)->kind != TT_CELL_FREE)
            return "a cell on the list of free ones is in use";
        if (++count > t->page_count * TT_PAGE_CELLS)
            return "the list of free cells is a ring";
        last = cell;
    }
    if (last && last != t->free_last)
        return "the list of free cells ends elsewhere";
    return count == t->free_count ? "" : "free cells are miscounted";
}

const char *tt_tree_check(struct tt_tree *t)
{
    struct tree_counts counts = {0, 0, 0};
    const char *wrong = wrong_free(t);

    if (t->record->redo.count)
        return "a change has been begun and not been made";
    if (!*wrong)
        wrong = each_tree_cell(t, wrong_cell, &counts);
    if (!*wrong && counts.free != t->free_count)
        wrong = "a free cell is on no list";
    if (!*wrong && counts.evicted > counts.elsewhere + t->record->lost_ticks)
        wrong = "blocks have more that was evicted than contexts lost";
    return wrong;
}

/* ── Sums ─────────────────────────────────────────────────────────────────────────── */

static const char *add_tree_cell(const struct tt_tree *t, const struct tt_node *n,
                                 void *arg)
{
    struct tt_amounts *sum = arg;
    const struct tt_tally *tally = (const struct tt_tally *)(const void *)n;

    (void)t;
    if (n->kind == TT_CELL_CONTEXT || n->kind == TT_CELL_ARC) {
        sum->calls += n->calls;
        sum->self += n->self;
        sum->samples += n->samples;
    } else if (n->kind == TT_CELL_LOSS) {
        sum->calls += ((const struct tt_loss *)(const void *)n)->arrived;
    } else if (n->kind == TT_CELL_TALLY) {
        sum->calls += tally->evicted.calls;
        sum->self += tally->evicted.self;
        sum->samples += tally->evicted.samples;
    }
    return "";
}

struct tt_amounts tt_tree_sums(const struct tt_tree *t)
{
    struct tt_amounts sum = {0, 0, 0};

    (void)each_tree_cell(t, add_tree_cell, &sum);
    return sum;
}

#endif
