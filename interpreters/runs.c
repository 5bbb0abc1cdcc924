/* SPDX-License-Identifier: MIT */
/* runs.c - assigns the frames of an interpreter to its loops, by their number.
 * async-signal-safe */
#include "runs.h"

#include "assertion.h"

static int is_loop(const struct tt_native *n, uint64_t loop)
{
    return loop && n->function == loop;
}

static uint32_t loops_of(const struct tt_interpreted_stack *s, uint64_t loop)
{
    uint32_t loops = 0;

    for (uint32_t i = 0; i < s->natives; i++)
        loops += (uint32_t)is_loop(&s->native[i], loop);
    return loops;
}

static void remove_first_run(struct tt_interpreted_stack *s, uint32_t begin)
{
    uint32_t to = begin;

    for (uint32_t i = begin; i < s->count; i++)
        if (s->frame[i].anchor != 1) {
            s->frame[to] = s->frame[i];
            s->frame[to++].anchor--;
        }
    s->count = to;
}

/* The next native frame of the loop, from *native on; 0: there is none. */
static uint64_t next_loop(const struct tt_interpreted_stack *s, uint64_t loop,
                          uint32_t *native)
{
    while (*native < s->natives)
        if (is_loop(&s->native[(*native)++], loop))
            return s->native[*native - 1].sp;
    return 0;
}

int tt_runs_has_loop(const struct tt_interpreted_stack *s, uint64_t loop)
{
    return loops_of(s, loop) > 0;
}

void tt_runs_anchor(struct tt_interpreted_stack *s, uint32_t begin, uint64_t loop,
                    int are_made_before)
{
    const uint32_t loops = loops_of(s, loop);
    const uint64_t runs = s->count > begin ? s->frame[s->count - 1].anchor : 0;
    uint64_t anchor = 0, run = 0, next;
    uint32_t native = 0;

    if (loops == runs + 1)
        (void)next_loop(s, loop, &native);
    if (are_made_before && loops && runs == loops + 1)
        remove_first_run(s, begin);
    for (uint32_t i = begin; i < s->count; i++) {
        TT_ASSERT(s->frame[i].anchor >= run && s->frame[i].anchor <= run + 1);
        if (s->frame[i].anchor > run && (next = next_loop(s, loop, &native)))
            anchor = next;
        run = s->frame[i].anchor;
        s->frame[i].anchor = anchor;
    }
}
