/* SPDX-License-Identifier: MIT */
/* naming.c - replaces blocks by chains of blocks: an address, by the functions there.
 *
 *      main+0x52 ─ sort+0x10             main ─ run ─ sort ─ less
 *                                               (inlined)    (inlined)
 *
 * add-profile.c does the rest, with contexts that have two ends: calls go to the
 * outermost of a chain, and self goes to the innermost. */
#include <stdlib.h>
#include <string.h>

#include "building.h"
#include "naming.h"
#include "sorted.h"
#include "trails.h"

enum { MOST_FRAMES = 256 };

struct named {
    const struct tt_profile *p;
    uint32_t block;
};

static int by_place(const void *a, const void *b)
{
    const struct named *m = a, *n = b;
    const struct tt_block_row *x = &m->p->block[m->block], *y = &n->p->block[n->block];

    return strcmp(m->p->strings + x->module, n->p->strings + y->module)
           ?: strcmp(m->p->strings + x->file, n->p->strings + y->file)
           ?: TT_ORDER(x->offset, y->offset) ?: TT_ORDER(m->block, n->block);
}

uint32_t *tt_blocks_by_place(const struct tt_profile *p, const struct tt_memory *m)
{
    struct named *order = tt_memory_get(m, p->blocks * sizeof *order);
    uint32_t *block = tt_memory_get(m, p->blocks * sizeof *block);

    for (uint32_t i = 1; order && i < p->blocks; i++)
        order[i] = (struct named){p, i};
    if (order && p->blocks > 2)
        qsort(order + 1, p->blocks - 1, sizeof *order, by_place);
    for (uint32_t i = 1; order && block && i < p->blocks; i++)
        block[i - 1] = order[i].block;
    if (!order && block) {
        tt_memory_put(m, block);
        block = NULL;
    }
    tt_memory_put(m, order);
    return block;
}

/* Makes the place of an address that a chain replaces; its functions are the links of the
 * chain, except lines. */
static uint32_t make_place(struct tt_builder *b, const struct tt_block_info *info,
                           const char *file, const struct tt_block_info *chain,
                           const uint32_t *id, size_t length,
                           const struct tt_source_line *line)
{
    struct tt_place_frame frame[MOST_FRAMES];
    uint32_t frames = 0;

    for (size_t i = 0; i < length && frames < MOST_FRAMES; i++)
        if (chain[i].kind != TT_KIND_STATEMENT)
            frame[frames++] = (struct tt_place_frame){
                .block = id[i],
                .file = tt_builder_string(b, line ? line[i].file : ""),
                .line = line ? line[i].line : 0,
                .column = line ? line[i].column : 0};
    return frames && !b->failed
               ? tt_builder_place(b, info->module, file, info->offset, frame, frames)
               : TT_NONE;
}

/* Notes where the chain of a block begins, and its length in *count. */
static int add_chain(struct tt_builder *b, const struct tt_profile *p, uint32_t block,
                     const struct tt_naming *naming, struct tt_vector *link,
                     uint32_t *count, uint32_t *place)
{
    struct tt_block_info info = tt_block_info_of(p, block);
    const struct tt_block_info *chain = &info;
    size_t length = block ? naming->chain(naming->arg, &info, &chain) : 0;
    const struct tt_source_line *line = length && naming->lines
                                            ? naming->lines(naming->arg)
                                            : NULL;
    uint32_t *id;

    if (!length) {
        chain = &info;
        length = 1;
    }
    id = tt_vector_add(link, length);
    if (!id)
        return -TT_ERR_MEMORY;
    for (size_t i = 0; i < length; i++)
        id[i] = block ? tt_builder_block(b, &chain[i]) : TT_BUILDER_ROOT;
    *place = block && naming->lines && tt_is_nameless(&info)
                 ? make_place(b, &info,
                              naming->file ? naming->file(naming->arg, &info) : info.file,
                              chain, id, length, line)
                 : TT_NONE;
    *count = (uint32_t)length;
    return 0;
}

/* Chains come in the order of places; they are needed in the order of blocks. */
static int put_in_order(struct tt_chains *c, const uint32_t *order,
                        const struct tt_vector *link, const uint32_t *count)
{
    const uint32_t *from = link->item;
    uint32_t sum = 0, *to = tt_vector_add(&c->link, link->count);

    if (!to)
        return -TT_ERR_MEMORY;
    for (uint32_t b = 0; b < c->blocks; b++) {
        c->first[b] = sum;
        sum += count[b];
    }
    c->first[c->blocks] = sum;
    for (uint32_t i = 0; i < c->blocks; i++) {
        uint32_t block = i ? order[i - 1] : 0;
        memcpy(to + c->first[block], from, count[block] * sizeof *to);
        from += count[block];
    }
    return 0;
}

int tt_chains_make(struct tt_builder *b, const struct tt_profile *p,
                   const struct tt_naming *naming, struct tt_chains *c)
{
    const struct tt_memory *m = &b->memory;
    uint32_t *order = tt_blocks_by_place(p, m);
    uint32_t *count = tt_memory_get(m, p->blocks * sizeof *count);
    struct tt_vector link;
    int error = -TT_ERR_MEMORY;

    c->blocks = p->blocks;
    c->first = tt_memory_get(m, ((size_t)p->blocks + 1) * sizeof *c->first);
    c->place = tt_memory_get(m, p->blocks * sizeof *c->place);
    tt_vector_init(&c->link, m, sizeof(uint32_t));
    tt_vector_init(&link, m, sizeof(uint32_t));
    if (order && count && c->first && c->place) {
        error = add_chain(b, p, 0, naming, &link, &count[0], &c->place[0]);
        for (uint32_t i = 0; !error && i + 1 < p->blocks; i++)
            error = add_chain(b, p, order[i], naming, &link, &count[order[i]],
                              &c->place[order[i]]);
        error = error ?: put_in_order(c, order, &link, count);
    }
    tt_vector_fini(&link);
    tt_memory_put(m, count);
    tt_memory_put(m, order);
    return error;
}

void tt_chains_free(struct tt_builder *b, struct tt_chains *c)
{
    tt_memory_put(&b->memory, c->first);
    tt_memory_put(&b->memory, c->place);
    if (c->first)
        tt_vector_fini(&c->link);
}

int tt_chains_slow(const struct tt_chains *c, const struct tt_slow_figure *figure,
                   size_t count, struct tt_vector *named)
{
    uint32_t *last = tt_memory_get(named->memory, count * sizeof *last);
    const uint32_t *link = c->link.item;
    int error = last ? 0 : -TT_ERR_MEMORY;

    for (size_t i = 0; !error && i < count; i++) {
        uint32_t block = figure[i].block, end = c->first[block + 1],
                 parent = figure[i].parent ? last[figure[i].parent - 1] : 0;
        for (uint32_t j = c->first[block]; !error && j < end; j++) {
            struct tt_slow_figure f = {.block = link[j],
                                       .parent = parent,
                                       .calls = j == c->first[block] ? figure[i].calls
                                                                     : 0,
                                       .self = j + 1 == end ? figure[i].self : 0};
            error = tt_vector_push(named, &f);
            parent = (uint32_t)named->count;
        }
        last[i] = parent;
    }
    tt_memory_put(named->memory, last);
    return error;
}
