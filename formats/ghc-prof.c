/* SPDX-License-Identifier: MIT */
/* ghc-prof.c - time profiles of GHC, as JSON (-pj): reading.
 *
 *      "cost_centres": [{"id": 300, "label": "build", "module": "Main", "src_loc": …}, …],
 *      "profile": {"id": 149, "entries": 0, "alloc": 832, "ticks": 0, "children": […]}
 *
 * The tree of stacks is as deep as the program's, so open levels are kept on a stack in
 * memory, not on the C stack.  The root, MAIN, becomes the root of the profile. */
#include "ghc-prof.h"

#include <stdlib.h>
#include <string.h>

#include "ghc-text.h"
#include "json-reader.h"
#include "pairs.h"

struct centre {
    uint64_t id;
    char *label, *module, *place; /* owned */
};

struct level {
    uint32_t parent, context; /* context TT_NONE: its centre is not known yet */
    uint64_t figure[3];       /* figures that came before the centre */
    int is_open;              /* its children are being read */
};

struct reading {
    struct tt_ghc g;
    struct tt_json json;
    struct tt_pairs centres; /* id: its block + 1 */
    struct tt_vector level;
    int has_centres, has_profile;
};

/* ── Shared ───────────────────────────────────────────────────────────────────────── */

void tt_ghc_init(struct tt_ghc *g, struct tt_source *s, struct tt_builder *b)
{
    *g = (struct tt_ghc){.s = s, .b = b, .tick = 1000000};
    tt_frames_init(&g->calls, b, s->memory);
    tt_frames_init(&g->bytes, b, s->memory);
    tt_frames_init(&g->time, b, s->memory);
}

#define ENTIRE_MODULE "<entire-module>" /* of a CAF */

/* "10,1)" or "5:27-62": line, column, and how long it is on one line. */
static void read_place(const char *at, struct tt_block_info *info)
{
    char *end;
    int is_long = *at == '(';

    info->line = (uint32_t)strtoul(at + is_long, &end, 10);
    if (*end != (is_long ? ',' : ':'))
        return;
    info->column = (uint32_t)strtoul(end + 1, &end, 10);
    if (!is_long && *end == '-') {
        uint32_t last = (uint32_t)strtoul(end + 1, &end, 10);
        info->length = last >= info->column ? last - info->column + 1 : 0;
    }
}

uint32_t tt_ghc_block(struct tt_ghc *g, const char *label, const char *module,
                      char *place)
{
    struct tt_block_info info = {.name = label, .module = module, .kind = TT_KIND_CENTRE};
    char *colon = *place == '<' ? NULL : strchr(place, ':');

    if (colon && colon[1] != '(' && (colon[1] < '0' || colon[1] > '9'))
        colon = NULL;
    if (strcmp(place, ENTIRE_MODULE) == 0)
        info.file = ENTIRE_MODULE;
    if (colon) {
        read_place(colon + 1, &info);
        *colon = '\0';
        info.file = place;
    }
    return tt_builder_block(g->b, &info);
}

int tt_ghc_add(struct tt_ghc *g, uint32_t context, uint64_t calls, uint64_t bytes,
               uint64_t ticks)
{
    uint64_t ns;
    int error = __builtin_mul_overflow(ticks, g->tick, &ns)
                    ? tt_source_fail(g->s, TT_TOO_MUCH)
                    : tt_frames_count(&g->calls, g->s, context, calls);

    error = error ?: tt_frames_count(&g->bytes, g->s, context, bytes);
    return error ?: tt_frames_count(&g->time, g->s, context, ns);
}

void tt_ghc_finish(struct tt_ghc *g)
{
    tt_frames_flush(&g->calls, tt_builder_metric(g->b, "calls", "", TT_METRIC_CALLS));
    tt_frames_flush(&g->bytes,
                    tt_builder_metric(g->b, "bytes", "bytes", TT_METRIC_SPACE));
    tt_frames_flush(&g->time, tt_builder_metric(g->b, "time", "ns", TT_METRIC_TIME));
}

/* ── Cost centres ─────────────────────────────────────────────────────────────────── */

static void read_centre(struct tt_json *j, struct centre *c)
{
    for (tt_json_object(j); tt_json_key(j);)
        if (tt_json_is(j, "id"))
            c->id = tt_json_whole(j);
        else if (tt_json_is(j, "label"))
            tt_json_copy(j, &c->label);
        else if (tt_json_is(j, "module"))
            tt_json_copy(j, &c->module);
        else if (tt_json_is(j, "src_loc"))
            tt_json_copy(j, &c->place);
        else
            tt_json_skip(j);
}

static void add_centre(struct reading *r, const struct centre *c)
{
    char none[] = "";
    int is_new;
    uint32_t *at = tt_pairs_get(&r->centres, c->id, 0, &is_new), block;

    if (!c->label)
        tt_json_wrong(&r->json, "the cost centre before this has no label");
    if (tt_json_failed(&r->json))
        return;
    if (strcmp(c->label, "MAIN") == 0 && c->module && strcmp(c->module, "MAIN") == 0)
        block = TT_BUILDER_ROOT;
    else
        block = tt_ghc_block(&r->g, c->label, c->module ? c->module : "",
                             c->place ? c->place : none);
    if (!at || block == TT_NONE)
        tt_source_no_memory(r->g.s);
    else if (!is_new)
        tt_json_wrong(&r->json, "the cost centre before this has another's id");
    else
        *at = block + 1;
}

static void read_centres(struct reading *r)
{
    for (tt_json_array(&r->json); tt_json_item(&r->json);) {
        struct centre c = {0};
        read_centre(&r->json, &c);
        add_centre(r, &c);
        tt_memory_put(r->g.s->memory, c.label);
        tt_memory_put(r->g.s->memory, c.module);
        tt_memory_put(r->g.s->memory, c.place);
    }
    r->has_centres = 1;
}

/* ── Stacks ───────────────────────────────────────────────────────────────────────── */

static struct level *top(struct reading *r)
{
    return (struct level *)r->level.item + r->level.count - 1;
}

static void open_level(struct reading *r, uint32_t parent)
{
    const struct level l = {.parent = parent, .context = TT_NONE};

    if (tt_json_object(&r->json))
        tt_source_append(r->g.s, &r->level, &l);
}

static void take_id(struct reading *r)
{
    struct level *l = top(r);
    const uint32_t *known = tt_pairs_find(&r->centres, tt_json_whole(&r->json), 0);
    const uint32_t block = known ? *known - 1 : TT_BUILDER_ROOT;

    if (!known)
        tt_json_wrong(&r->json, "there is no cost centre of this id");
    else if (block == TT_BUILDER_ROOT && r->level.count > 1)
        tt_json_wrong(&r->json, "MAIN is outermost, and nowhere else");
    l->context = block == TT_BUILDER_ROOT ? TT_BUILDER_ROOT
                                          : tt_builder_context(r->g.b, l->parent, block);
    if (l->context == TT_NONE)
        tt_source_no_memory(r->g.s);
}

/* Adds the figures of a stack to its context, which is known by now. */
static void add_level(struct reading *r)
{
    const struct level *l = top(r);

    if (l->context == TT_NONE)
        tt_json_wrong(&r->json, "the stack before this has no id");
    else
        (void)tt_ghc_add(&r->g, l->context, l->figure[0], l->figure[1], l->figure[2]);
    r->level.count--;
}

/* Reads a member of the innermost open stack. */
static void read_member(struct reading *r)
{
    static const char *const names[] = {"entries", "alloc", "ticks"};
    struct tt_json *j = &r->json;

    for (int i = 0; i < 3; i++)
        if (tt_json_is(j, names[i])) {
            top(r)->figure[i] = tt_json_whole(j);
            return;
        }
    if (tt_json_is(j, "id")) {
        take_id(r);
    } else if (!tt_json_is(j, "children")) {
        tt_json_skip(j);
    } else {
        if (top(r)->context == TT_NONE)
            tt_json_wrong(j, "the children of a stack come before its id");
        top(r)->is_open = tt_json_array(j);
    }
}

static void read_profile(struct reading *r)
{
    struct tt_json *j = &r->json;

    if (!r->has_centres)
        tt_json_wrong(j, "the profile comes before the cost centres");
    if (r->has_profile++)
        tt_json_wrong(j, "there is a second profile");
    open_level(r, TT_BUILDER_ROOT);
    while (!tt_json_failed(j) && r->level.count)
        if (top(r)->is_open && tt_json_item(j))
            open_level(r, top(r)->context);
        else if (top(r)->is_open)
            top(r)->is_open = 0;
        else if (tt_json_key(j))
            read_member(r);
        else if (!tt_json_failed(j))
            add_level(r);
}

/* ── The file ─────────────────────────────────────────────────────────────────────── */

static void read_interval(struct reading *r)
{
    const uint64_t us = tt_json_whole(&r->json);

    if (us == 0 || us > 1000000000)
        tt_json_wrong(&r->json, "this is no interval of ticks in us");
    r->g.tick = us * 1000;
}

static void read_fact(struct reading *r, const char *name)
{
    if (tt_json_string(&r->json) && *r->json.text)
        tt_builder_fact(r->g.b, name, TT_FACT_EACH, 1, r->json.text);
}

static void read_top(struct reading *r)
{
    struct tt_json *j = &r->json;

    if (tt_json_is(j, "cost_centres"))
        read_centres(r);
    else if (tt_json_is(j, "profile"))
        read_profile(r);
    else if (tt_json_is(j, "tick_interval"))
        read_interval(r);
    else if (tt_json_is(j, "program"))
        read_fact(r, "program");
    else if (tt_json_is(j, "end_time"))
        read_fact(r, "date");
    else
        tt_json_skip(j);
}

static int read_json(struct tt_source *s, struct tt_builder *b)
{
    struct reading r = {0};

    tt_ghc_init(&r.g, s, b);
    tt_json_init(&r.json, s);
    r.json.is_lenient = 1; /* GHC does not escape names of programs and modules */
    tt_pairs_init(&r.centres, s->memory);
    tt_vector_init(&r.level, s->memory, sizeof(struct level));
    for (tt_json_object(&r.json); tt_json_key(&r.json);)
        read_top(&r);
    tt_json_end(&r.json);
    if (!r.has_profile)
        tt_source_fail(s, "it lacks its profile");
    if (!tt_source_failed(s))
        tt_ghc_finish(&r.g);
    return tt_source_failed(s);
}

static int read_ghc(struct tt_source *s, struct tt_builder *b)
{
    int64_t have = tt_source_want(s, 1);

    if (have < 0)
        return (int)have;
    return have && *tt_source_at(s) == '{' ? read_json(s, b) : tt_ghc_read_text(s, b);
}

static enum tt_match detect(const char *head, size_t size)
{
    size_t first = size < 200 ? size : 200;

    if (size && *head == '{')
        return tt_match_if(tt_head_has(head, size, "\"program\"") &&
                           tt_head_has(head, size, "\"cost_centres\"") &&
                           tt_head_has(head, size, "\"tick_interval\""));
    return tt_match_if(tt_head_has(head, first, "Time and Allocation Profiling Report"));
}

const struct tt_format tt_format_ghc = {
    .name = "ghc",
    .about = "time profiles of GHC, as JSON or text",
    .detect = detect,
    .read = read_ghc,
};
