/* SPDX-License-Identifier: MIT */
/* chrome-write.c - trace events: each context once, as long as its inclusive cost.
 *
 * A profile does not know the order in time, so events follow each other; the self cost
 * of a context comes first.  If the unit is not a time, one unit is a microsecond. */
#include "chrome.h"

struct writing {
    const struct tt_profile *p;
    const struct tt_metric_columns *m;
    struct tt_writer *w;
    uint64_t at;
    int any, is_time;
};

static void put_time(const struct writing *x, uint64_t n)
{
    if (!x->is_time) {
        tt_put_number(x->w, n);
        return;
    }
    tt_put_number(x->w, n / 1000);
    if (n % 1000)
        tt_putf(x->w, ".%03u", (unsigned)(n % 1000));
}

static void put_event(struct writing *x, const char *name, uint64_t length)
{
    tt_put(x->w, x->any ? ",\n{\"name\":" : "\n{\"name\":");
    tt_put_json(x->w, name);
    tt_put(x->w, ",\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":");
    put_time(x, x->at);
    tt_put(x->w, ",\"dur\":");
    put_time(x, length);
    tt_put_char(x->w, '}');
    x->any = 1;
}

static void put_context(struct writing *x, const struct tt_walk *w)
{
    uint64_t self = tt_self_of(x->m, w->context),
             below = tt_elsewhere_of(x->m, w->context);

    if (w->depth)
        put_event(x, tt_block_name(x->p, tt_block_of(x->p, w->context)),
                  tt_total_of(x->p, x->m, w->context));
    else if (self)
        put_event(x, "[root]", self);
    x->at += self;
    if (below)
        put_event(x, "[elsewhere below]", below);
    x->at += below;
}

int tt_chrome_write(struct tt_export *e, struct tt_writer *w)
{
    uint32_t metric = tt_export_metric(e);
    struct writing x = {.p = e->profile, .w = w};
    struct tt_walk walk;

    if (metric == TT_NONE)
        return -TT_ERR_OPTION;
    x.m = &x.p->metric[metric];
    x.is_time = strcmp(x.m->unit, "ns") == 0;
    if (tt_walk_init(&walk, x.p, 0) != 0)
        return -TT_ERR_MEMORY;
    tt_put(w, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
    while (!w->error && tt_walk_next(&walk)) {
        if (tt_total_of(x.p, x.m, walk.context))
            put_context(&x, &walk);
        else
            tt_walk_skip(&walk);
    }
    tt_put(w, "\n]}\n");
    tt_walk_fini(&walk);
    return 0;
}
