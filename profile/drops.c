/* SPDX-License-Identifier: MIT */
/* drops.c - gives dropped pushes contexts.
 *
 *      main ── a ── b ┄┄ a      under `drop` the inner a has no context: an arc from b to the
 *                               outer one has its calls
 *      main ── a ── b ── a      here it has one, without children: its callees stay
 *                               where the recording has put them
 *
 * For views that show paths, and know no arcs. */
#include "drops.h"
#include "add-profile.h"
#include "builder.h"
#include "filter.h"
#include "finish.h"
#include "query.h"
#include "view.h"

static int has_drops(const struct tt_profile *p)
{
    for (uint32_t i = 0; i < p->arcs; i++)
        if (p->arc[i].calls && tt_arc_is_dropped(p, &p->arc[i]))
            return 1;
    return 0;
}

/* Copies the contexts under the same paths, and adds those of dropped pushes below
 * them. */
static int add_contexts(struct tt_builder *b, const struct tt_profile *p,
                        uint32_t *context, uint32_t *drop)
{
    struct tt_walk w;
    int error = tt_walk_init(&w, p, 0);

    context[0] = TT_BUILDER_ROOT;
    while (!error && tt_walk_next(&w))
        if (w.depth)
            context[w.context] = tt_builder_context(
                b, context[w.path[w.depth - 1]],
                tt_builder_block_of(b, p, tt_block_of(p, w.context)));
    tt_walk_fini(&w);
    for (uint32_t i = 0; !error && i < p->arcs; i++)
        drop[i] = tt_arc_is_dropped(p, &p->arc[i])
                      ? tt_builder_context(b, context[p->arc[i].from],
                                           tt_builder_block_of(b, p, p->arc[i].block))
                      : TT_NONE;
    return error;
}

static int build(struct tt_filtered *o, const struct tt_profile *p, struct tt_builder *b,
                 const struct tt_memory *m, uint32_t *context, uint32_t *drop)
{
    const struct tt_parts parts = {.context = context, .drop = drop, .same_paths = 1};
    int error = add_contexts(b, p, context, drop);

    error = error ?: tt_builder_filtered(b, p, &parts);
    error = error ?: tt_builder_finish(b, &o->image, &o->size);
    error = error ?: tt_profile_open(&o->own, o->image, o->size, m);
    return error;
}

int tt_drops_apply(const struct tt_profile *p, const struct tt_memory *m,
                   struct tt_filtered *o)
{
    const uint32_t usual = tt_metric_find(p, NULL);
    uint32_t *context, *drop;
    struct tt_builder *b;
    int error = -TT_ERR_MEMORY;

    *o = (struct tt_filtered){.profile = p};
    if (!has_drops(p))
        return 0;
    b = tt_builder_new(m);
    context = tt_memory_get(m, p->contexts * sizeof *context);
    drop = tt_memory_get(m, p->arcs * sizeof *drop);
    if (b && context && drop)
        error = build(o, p, b, m, context, drop);
    tt_memory_put(m, drop);
    tt_memory_put(m, context);
    tt_builder_free(b);
    if (error) {
        tt_memory_put(m, o->image);
        o->image = NULL;
        return error;
    }
    o->profile = &o->own;
    if (usual != TT_NONE)
        o->own.usual = tt_metric_find(&o->own, p->metric[usual].name) + 1;
    o->own.whole = p->whole;
    return 0;
}
