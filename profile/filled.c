/* SPDX-License-Identifier: MIT */
/* filled.c - figures that most contexts have, as columns and not as lines of the log.
 *
 * A line of the log has 24 bytes, and the log is sorted.  A column has 8 bytes for each context, and
 * is in order.  But figures of several strands need their lines: columns are for one strand. */
#include "filled.h"

void tt_filled_expect(struct tt_builder *b, enum tt_role role, uint32_t metric,
                      size_t contexts)
{
    struct tt_filled *f;

    TT_ASSERT(role == TT_ROLE_SELF || role == TT_ROLE_ELSEWHERE || role == TT_ROLE_OWN);
    if (b->failed || metric == TT_NONE || b->entry.count || b->strand.count ||
        tt_filled_of(b, role, metric))
        return;
    f = tt_builder_item(b, &b->filled);
    if (!f)
        return;
    *f = (struct tt_filled){.role = role, .metric = metric};
    tt_vector_init(&f->amount, &b->memory, sizeof(uint64_t));
    tt_vector_expect(&f->amount, contexts);
}

static struct tt_filled *find(const struct tt_builder *b, enum tt_role role,
                              uint32_t metric)
{
    struct tt_filled *f = b->filled.item;

    for (size_t i = 0; i < b->filled.count; i++)
        if (f[i].metric == metric && f[i].role == role)
            return &f[i];
    return NULL;
}

const struct tt_filled *tt_filled_of(const struct tt_builder *b, enum tt_role role,
                                     uint32_t metric)
{
    const struct tt_filled *f = find(b, role, metric);

    return f && f->amount.count ? f : NULL;
}

int tt_filled_add(struct tt_builder *b, enum tt_role role, uint32_t id, uint32_t metric,
                  uint64_t amount, uint32_t strand)
{
    struct tt_filled *f = find(b, role, metric);

    if (b->filled_of != strand && b->filled_of != TT_NONE) {
        tt_filled_to_log(b);
        return 0;
    }
    if (!f || strand == TT_NONE)
        return 0;
    b->filled_of = strand;
    if (id >= f->amount.count && !tt_vector_add(&f->amount, id + 1 - f->amount.count)) {
        b->failed = 1;
        return 1;
    }
    ((uint64_t *)f->amount.item)[id] += amount;
    return 1;
}

/* One role's lines, in the order of the log. */
static void add_lines(struct tt_builder *b, uint32_t role)
{
    const struct tt_filled *f = b->filled.item;
    int more = 1;

    for (size_t id = 0; more; id++) {
        more = 0;
        for (size_t i = 0; i < b->filled.count; i++) {
            const uint64_t *amount = f[i].amount.item;
            struct tt_entry *e;
            if ((uint32_t)f[i].role != role || id >= f[i].amount.count)
                continue;
            more = 1;
            e = amount[id] ? tt_builder_item(b, &b->entry) : NULL;
            if (e)
                *e = (struct tt_entry){b->filled_of, f[i].metric,
                                       (uint64_t)role << 32 | id, amount[id]};
        }
    }
}

void tt_filled_to_log(struct tt_builder *b)
{
    for (uint32_t role = 0; role < TT_ROLES; role++)
        add_lines(b, role);
    tt_filled_fini(b);
}

void tt_filled_fini(struct tt_builder *b)
{
    struct tt_filled *f = b->filled.item;

    for (size_t i = 0; i < b->filled.count; i++)
        tt_vector_fini(&f[i].amount);
    tt_vector_fini(&b->filled);
    b->filled_of = TT_NONE;
}
