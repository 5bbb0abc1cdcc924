/* SPDX-License-Identifier: MIT */
/* go-waits.c - from the events of an execution trace of Go to samples and waits.
 *
 *      runs ─ BLOCK ─▶ waits ─ UNBLOCK ─▶ has waited ─ START ─▶ runs
 *                        ▲                                        │
 *                        └────────────────── BLOCK ◀── FUTILE ◀───┘
 *
 * Events of different processors or threads come in batches, each of which is in order;
 * they are sorted by time here.  A wait is charged to the stack where it began.  If what a
 * goroutine waited for is gone when it runs again, its wait goes on. */
#include "go-waits.h"

#include <stdlib.h>
#include <string.h>

#include "frames.h"
#include "samples.h"
#include "sorted.h"

struct tt_go_stack {
    struct tt_byte_reader frames; /* address, name, file and line of each; leaf first */
    uint64_t count;
    uint32_t context; /* TT_NONE: not made so far */
};

struct tt_go_goroutine {
    enum { NONE, OPEN, CLOSED } state; /* of its last wait */
    int is_futile;
    enum tt_go_wait wait;
    uint32_t context;
    uint64_t since, until; /* ns */
};

static int no_memory(struct tt_go *g) { return tt_source_no_memory(g->s); }

void tt_go_init(struct tt_go *g, struct tt_source *s, struct tt_builder *b)
{
    *g = (struct tt_go){.s = s, .b = b, .samples = TT_NONE, .waits = TT_NONE};
    for (int i = 0; i < TT_GO_WAITS; i++)
        g->metric[i] = TT_NONE;
    tt_vector_init(&g->event, s->memory, sizeof(struct tt_go_event));
    tt_vector_init(&g->text, s->memory, sizeof(struct tt_go_text));
    tt_vector_init(&g->stack, s->memory, sizeof(struct tt_go_stack));
    tt_vector_init(&g->running, s->memory, sizeof(uint64_t));
    tt_vector_init(&g->goroutine, s->memory, sizeof(struct tt_go_goroutine));
    tt_vector_init(&g->frame, s->memory, sizeof(uint32_t));
    tt_pairs_init(&g->texts, s->memory);
    tt_pairs_init(&g->stacks, s->memory);
    tt_pairs_init(&g->blocks, s->memory);
    tt_pairs_init(&g->places, s->memory);
    tt_pairs_init(&g->goroutines, s->memory);
}

/* ── What the file has ────────────────────────────────────────────────────────────── */

int tt_go_add_text(struct tt_go *g, uint64_t number, const uint8_t *text, size_t size)
{
    struct tt_go_text *t = tt_pairs_item(&g->texts, &g->text, number, g->generation,
                                         NULL);

    if (!t)
        return no_memory(g);
    *t = (struct tt_go_text){text, size};
    return 0;
}

int tt_go_add_stack(struct tt_go *g, uint64_t number, uint64_t frames,
                    const struct tt_byte_reader *from)
{
    struct tt_go_stack *s = tt_pairs_item(&g->stacks, &g->stack, number, g->generation,
                                          NULL);

    if (!s)
        return no_memory(g);
    *s = (struct tt_go_stack){*from, frames, TT_NONE};
    return 0;
}

int tt_go_add_event(struct tt_go *g, uint64_t place, const struct tt_go_event *e)
{
    uint64_t *running = tt_pairs_item(&g->places, &g->running, place, 0, NULL);
    struct tt_go_event *to = running ? tt_vector_add(&g->event, 1) : NULL;

    if (!to)
        return no_memory(g);
    *to = *e;
    to->place = (uint32_t)(running - (uint64_t *)g->running.item);
    to->order = (uint32_t)g->event.count;
    return 0;
}

/* ── Stacks ───────────────────────────────────────────────────────────────────────── */

static struct tt_go_text text_of(const struct tt_go *g, uint64_t number, uint32_t *index)
{
    const uint32_t *at = tt_pairs_find(&g->texts, number, g->generation);

    *index = at ? *at : 0;
    return at ? ((struct tt_go_text *)g->text.item)[*at - 1] : (struct tt_go_text){0};
}

/* A text with an end; NULL: no memory. */
static char *copy_of(struct tt_go_text t)
{
    char *copy = malloc(t.size + 1);

    if (copy && t.size)
        memcpy(copy, t.text, t.size);
    for (size_t i = 0; copy && i < t.size; i++)
        if (!copy[i])
            copy[i] = '?';
    if (copy)
        copy[t.size] = '\0';
    return copy;
}

static uint32_t make_block(struct tt_go *g, struct tt_go_text name,
                           struct tt_go_text file)
{
    struct tt_block_info info = {.kind = TT_KIND_FUNCTION};
    char *n = copy_of(name), *f = copy_of(file);
    uint32_t block = TT_NONE;

    if (n && f) {
        info.name = *n ? n : "(unknown)";
        info.file = *f ? f : NULL;
        block = tt_builder_block(g->b, &info);
    }
    free(n);
    free(f);
    return block;
}

/* The block of a frame, which is taken; TT_NONE: no memory. */
static uint32_t take_frame(struct tt_go *g, struct tt_byte_reader *r)
{
    struct tt_go_text name, file;
    uint32_t *at, n, f, block;
    int is_new;

    (void)tt_byte_reader_uleb(r); /* the address */
    name = text_of(g, tt_byte_reader_uleb(r), &n);
    file = text_of(g, tt_byte_reader_uleb(r), &f);
    (void)tt_byte_reader_uleb(r); /* the line of the call */
    g->nameless += !n;
    at = tt_pairs_get(&g->blocks, n, f, &is_new);
    if (!at || !is_new)
        return at ? *at - 1 : TT_NONE;
    block = make_block(g, name, file);
    *at = block + 1;
    return block;
}

/* Sets the context of a stack; without one it is the root. */
static int context_of(struct tt_go *g, uint64_t number, uint32_t *context)
{
    const uint32_t *at = tt_pairs_find(&g->stacks, number, g->generation);
    struct tt_go_stack *s = at ? (struct tt_go_stack *)g->stack.item + *at - 1 : NULL;
    struct tt_byte_reader r;

    *context = TT_BUILDER_ROOT;
    g->nameless += number && !s;
    if (!s || s->context != TT_NONE) {
        *context = s ? s->context : TT_BUILDER_ROOT;
        return 0;
    }
    r = s->frames;
    g->frame.count = 0;
    for (uint64_t i = 0; i < s->count && r.at < r.end; i++) {
        uint32_t *block = tt_vector_add(&g->frame, 1);
        if (!block || (*block = take_frame(g, &r)) == TT_NONE)
            return no_memory(g);
    }
    for (size_t i = g->frame.count; i-- > 0 && *context != TT_NONE;)
        *context = tt_builder_context(g->b, *context, ((uint32_t *)g->frame.item)[i]);
    s->context = *context;
    return *context == TT_NONE ? no_memory(g) : 0;
}

/* ── Figures ──────────────────────────────────────────────────────────────────────── */

static uint32_t metric(struct tt_go *g, uint32_t *known, const char *name,
                       const char *unit)
{
    if (*known == TT_NONE)
        *known = tt_builder_metric(g->b, name, unit, 0);
    return *known;
}

static int add_wait(struct tt_go *g, const struct tt_go_goroutine *r)
{
    static const char *const name[TT_GO_WAITS] = {"synchronization", "network",
                                                  "system calls", "other waits"};
    uint64_t ns = r->until > r->since ? r->until - r->since : 0;

    if (__builtin_add_overflow(g->total[r->wait], ns, &g->total[r->wait]))
        return tt_source_fail(g->s, TT_TOO_MUCH);
    tt_builder_add(g->b, TT_ROLE_SELF, r->context,
                   metric(g, &g->metric[r->wait], name[r->wait], "ns"), ns);
    tt_builder_add(g->b, TT_ROLE_SELF, r->context, metric(g, &g->waits, "waits", ""), 1);
    return 0;
}

static int add_sample(struct tt_go *g, uint64_t stack, uint64_t time)
{
    uint32_t context;
    int error = context_of(g, stack, &context);

    if (error)
        return error;
    tt_builder_add(g->b, TT_ROLE_SELF, context, metric(g, &g->samples, "samples", ""), 1);
    tt_builder_sample(g->b, g->samples, context, time, 1, 0);
    return 0;
}

/* ── Goroutines ───────────────────────────────────────────────────────────────────── */

/* Reasons of newer traces. */
static enum tt_go_wait wait_of(const struct tt_go *g, uint64_t reason)
{
    static const struct {
        const char *text;
        enum tt_go_wait wait;
    } known[] = {
        {"chan receive", TT_GO_SYNC},
        {"chan send", TT_GO_SYNC},
        {"select", TT_GO_SYNC},
        {"sync", TT_GO_SYNC},
        {"sync.(*Cond).Wait", TT_GO_SYNC},
        {"network", TT_GO_NETWORK},
    };
    uint32_t index;
    const struct tt_go_text t = text_of(g, reason, &index);

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strlen(known[i].text) == t.size && memcmp(known[i].text, t.text, t.size) == 0)
            return known[i].wait;
    return TT_GO_OTHER;
}

static int begin_wait(struct tt_go *g, struct tt_go_goroutine *r,
                      const struct tt_go_event *e, uint64_t now)
{
    int error = 0;

    if (r->state == CLOSED && r->is_futile && e->kind == TT_GO_BLOCK) {
        r->state = OPEN;
        r->is_futile = 0;
        return 0;
    }
    if (r->state == CLOSED)
        error = add_wait(g, r);
    error = error ?: context_of(g, e->stack, &r->context);
    r->state = e->stack ? OPEN : NONE;
    r->is_futile = 0;
    r->since = now;
    r->wait = e->wait == TT_GO_WAITS ? wait_of(g, e->reason) : e->wait;
    return error;
}

static void end_wait(struct tt_go_goroutine *r, enum tt_go_kind kind, uint64_t now)
{
    if (r->state != OPEN || (r->wait == TT_GO_SYSTEM) != (kind == TT_GO_RETURN))
        return;
    r->state = CLOSED;
    r->until = now;
}

static int take_event(struct tt_go *g, const struct tt_go_event *e, uint64_t now)
{
    uint64_t *running = (uint64_t *)g->running.item + e->place;
    const uint64_t number = e->goroutine ? e->goroutine : *running;
    struct tt_go_goroutine *r;
    int error = 0;

    if (e->kind == TT_GO_SAMPLE)
        return add_sample(g, e->stack, now);
    if (e->kind == TT_GO_START)
        *running = number;
    else if (e->kind == TT_GO_STOP || e->kind == TT_GO_LEAVE || e->kind == TT_GO_BLOCK)
        *running = 0;
    if (!number)
        return 0;
    r = tt_pairs_item(&g->goroutines, &g->goroutine, number, 0, NULL);
    if (!r)
        return no_memory(g);
    if (e->kind == TT_GO_BLOCK || e->kind == TT_GO_CALL)
        error = begin_wait(g, r, e, now);
    else if (e->kind == TT_GO_UNBLOCK || e->kind == TT_GO_RETURN)
        end_wait(r, e->kind, now);
    else if (e->kind == TT_GO_FUTILE)
        r->is_futile = 1;
    else if (e->kind != TT_GO_LEAVE && r->state == OPEN)
        r->state = NONE; /* its end is not in the trace */
    return error;
}

static int by_time(const void *a, const void *b)
{
    const struct tt_go_event *x = a, *y = b;

    return TT_ORDER(x->time, y->time) ?: TT_ORDER(x->order, y->order);
}

int tt_go_generation(struct tt_go *g, uint64_t next)
{
    const struct tt_go_event *e = g->event.item;
    int error = 0;

    if (g->event.count && g->tick == 0)
        return tt_source_fail(
            g->s, "the trace of Go does not say how long its ticks are; was it cut off?");
    tt_vector_sort(&g->event, by_time);
    if (g->event.count && !g->begin)
        g->begin = e->time;
    for (size_t i = 0; i < g->event.count && !error; i++, e++) {
        const double ns = e->time > g->begin ? (double)(e->time - g->begin) * g->tick : 0;
        error = ns < (double)INT64_MAX
                    ? take_event(g, e, (uint64_t)ns)
                    : tt_source_fail(g->s,
                                     "a time in the trace of Go is too large; is the "
                                     "file damaged?");
    }
    g->event.count = 0;
    g->generation = next;
    return error;
}

int tt_go_end(struct tt_go *g)
{
    int error = tt_go_generation(g, 0);

    for (size_t i = 0; i < g->goroutine.count && !error; i++) {
        const struct tt_go_goroutine *r = (struct tt_go_goroutine *)g->goroutine.item + i;
        if (r->state == CLOSED)
            error = add_wait(g, r);
    }
    if (!error && g->samples == TT_NONE && g->waits == TT_NONE)
        return tt_source_fail(g->s, "this trace of Go has no waits with stacks, and no "
                                    "samples");
    if (!error && g->nameless)
        tt_builder_fact(g->b, "lost.nodes", TT_FACT_SUM, g->nameless, "");
    if (!error && g->lost)
        tt_builder_fact(g->b, "lost.events", TT_FACT_SUM, g->lost, "");
    return error;
}
