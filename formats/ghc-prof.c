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
    int error = __builtin_mul_overflow(ticks, g->tick, &ns) ? -TT_ERR_FORMAT : 0;

    error = error ? error : tt_frames_add(&g->calls, context, calls);
    error = error ? error : tt_frames_add(&g->bytes, context, bytes);
    error = error ? error : tt_frames_add(&g->time, context, ns);
    if (error == -TT_ERR_MEMORY)
        return tt_source_no_memory(g->s);
    return error ? tt_source_fail(g->s, TT_TOO_MUCH) : 0;
}

void tt_ghc_finish(struct tt_ghc *g)
{
    tt_frames_flush(&g->calls, tt_builder_metric(g->b, "calls", "", TT_METRIC_CALLS));
    tt_frames_flush(&g->bytes,
                    tt_builder_metric(g->b, "bytes", "bytes", TT_METRIC_SPACE));
    tt_frames_flush(&g->time, tt_builder_metric(g->b, "time", "ns", TT_METRIC_TIME));
}

/* ── Cost centres ─────────────────────────────────────────────────────────────────── */

static int read_centre(struct tt_json *j, struct centre *c)
{
    int result = tt_json_object(j);

    while (result > 0 && (result = tt_json_key(j)) > 0)
        if (tt_json_is(j, "id"))
            result = tt_json_whole(j, &c->id, NULL);
        else if (tt_json_is(j, "label"))
            result = tt_json_copy(j, &c->label);
        else if (tt_json_is(j, "module"))
            result = tt_json_copy(j, &c->module);
        else if (tt_json_is(j, "src_loc"))
            result = tt_json_copy(j, &c->place);
        else
            result = tt_json_skip(j);
    return result;
}

static int add_centre(struct reading *r, const struct centre *c)
{
    char none[] = "";
    int is_new;
    uint32_t *at = tt_pairs_get(&r->centres, c->id, 0, &is_new), block;

    if (!c->label)
        return tt_json_wrong(&r->json, "the cost centre before this has no label");
    if (strcmp(c->label, "MAIN") == 0 && c->module && strcmp(c->module, "MAIN") == 0)
        block = TT_BUILDER_ROOT;
    else
        block = tt_ghc_block(&r->g, c->label, c->module ? c->module : "",
                             c->place ? c->place : none);
    if (!at || block == TT_NONE)
        return tt_source_no_memory(r->g.s);
    if (!is_new)
        return tt_json_wrong(&r->json, "the cost centre before this has another's id");
    *at = block + 1;
    return 1;
}

static int read_centres(struct reading *r)
{
    int result = tt_json_array(&r->json);

    while (result > 0 && (result = tt_json_item(&r->json)) > 0) {
        struct centre c = {0};
        result = read_centre(&r->json, &c);
        if (result >= 0)
            result = add_centre(r, &c);
        tt_memory_put(r->g.s->memory, c.label);
        tt_memory_put(r->g.s->memory, c.module);
        tt_memory_put(r->g.s->memory, c.place);
    }
    r->has_centres = 1;
    return result < 0 ? result : 1;
}

/* ── Stacks ───────────────────────────────────────────────────────────────────────── */

static struct level *top(struct reading *r)
{
    return (struct level *)r->level.item + r->level.count - 1;
}

static int open_level(struct reading *r, uint32_t parent)
{
    const struct level l = {.parent = parent, .context = TT_NONE};
    int error = tt_source_append(r->g.s, &r->level, &l);

    return error ? error : 1;
}

static int take_id(struct reading *r)
{
    const uint32_t *block;
    struct level *l = top(r);
    uint64_t id;
    int result = tt_json_whole(&r->json, &id, NULL);

    if (result < 0)
        return result;
    block = tt_pairs_find(&r->centres, id, 0);
    if (!block)
        return tt_json_wrong(&r->json, "there is no cost centre of this id");
    if (*block - 1 == TT_BUILDER_ROOT && r->level.count > 1)
        return tt_json_wrong(&r->json, "MAIN is outermost, and nowhere else");
    l->context = *block - 1 == TT_BUILDER_ROOT
                     ? TT_BUILDER_ROOT
                     : tt_builder_context(r->g.b, l->parent, *block - 1);
    return l->context == TT_NONE ? tt_source_no_memory(r->g.s) : 1;
}

/* Adds the figures of a stack to its context, which is known by now. */
static int add_level(struct reading *r)
{
    struct level *l = top(r);
    int error;

    if (l->context == TT_NONE)
        return tt_json_wrong(&r->json, "the stack before this has no id");
    error = tt_ghc_add(&r->g, l->context, l->figure[0], l->figure[1], l->figure[2]);
    memset(l->figure, 0, sizeof l->figure);
    return error ? error : 1;
}

/* Reads a member of the innermost open stack. */
static int read_member(struct reading *r)
{
    static const char *const names[] = {"entries", "alloc", "ticks"};
    struct tt_json *j = &r->json;
    int result;

    for (int i = 0; i < 3; i++)
        if (tt_json_is(j, names[i]))
            return tt_json_whole(j, &top(r)->figure[i], NULL);
    if (tt_json_is(j, "id"))
        return take_id(r);
    if (strcmp(j->text, "children") != 0)
        return tt_json_skip(j);
    if (top(r)->context == TT_NONE)
        return tt_json_wrong(j, "the children of a stack come before its id");
    result = tt_json_array(j);
    top(r)->is_open = 1;
    return result;
}

/* Continues with the children of the innermost stack, or else with its members. */
static int read_on(struct reading *r)
{
    struct tt_json *j = &r->json;
    int result;

    if (top(r)->is_open) {
        result = tt_json_item(j);
        if (result > 0) {
            result = open_level(r, top(r)->context);
            return result < 0 ? result : tt_json_object(j);
        }
        top(r)->is_open = 0;
        return result < 0 ? result : 1;
    }
    result = tt_json_key(j);
    if (result > 0)
        return read_member(r);
    if (result == 0)
        result = add_level(r);
    r->level.count--;
    return result;
}

static int read_profile(struct reading *r)
{
    int result;

    if (!r->has_centres)
        return tt_json_wrong(&r->json, "the profile comes before the cost centres");
    if (r->has_profile)
        return tt_json_wrong(&r->json, "there is a second profile");
    r->has_profile = 1;
    result = tt_json_object(&r->json);
    if (result > 0)
        result = open_level(r, TT_BUILDER_ROOT);
    while (result > 0 && r->level.count)
        result = read_on(r);
    return result;
}

/* ── The file ─────────────────────────────────────────────────────────────────────── */

static int read_interval(struct reading *r)
{
    uint64_t us;
    int result = tt_json_whole(&r->json, &us, NULL);

    if (result > 0 && (us == 0 || us > 1000000000))
        return tt_json_wrong(&r->json, "this is no interval of ticks in us");
    if (result > 0)
        r->g.tick = us * 1000;
    return result;
}

static int read_top(struct reading *r)
{
    struct tt_json *j = &r->json;
    int result, is_program;

    if (tt_json_is(j, "cost_centres"))
        return read_centres(r);
    if (tt_json_is(j, "profile"))
        return read_profile(r);
    if (tt_json_is(j, "tick_interval"))
        return read_interval(r);
    is_program = tt_json_is(j, "program");
    if (!is_program && strcmp(j->text, "end_time") != 0)
        return tt_json_skip(j);
    result = tt_json_string(j);
    if (result > 0 && *j->text)
        tt_builder_fact(r->g.b, is_program ? "program" : "date", TT_FACT_EACH, 1,
                        j->text);
    return result;
}

static int read_json(struct tt_source *s, struct tt_builder *b)
{
    struct reading r = {0};
    int result;

    tt_ghc_init(&r.g, s, b);
    tt_json_init(&r.json, s);
    r.json.is_lenient = 1; /* GHC does not escape names of programs and modules */
    tt_pairs_init(&r.centres, s->memory);
    tt_vector_init(&r.level, s->memory, sizeof(struct level));
    for (result = tt_json_object(&r.json);
         result > 0 && (result = tt_json_key(&r.json)) > 0;)
        result = read_top(&r);
    if (result == 0)
        result = tt_json_end(&r.json);
    if (result == 0 && !r.has_profile)
        result = tt_source_fail(s, "it lacks its profile");
    if (result == 0)
        tt_ghc_finish(&r.g);
    return result;
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
