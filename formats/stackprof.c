/* SPDX-License-Identifier: MIT */
/* stackprof.c - samples of Ruby, by stackprof: reading.
 *
 *      {"mode": "wall", "interval": 1000, "missed_samples": 0,
 *       "frames": {"70098916485820": {"name": "Object#d", "file": …, "line": 23,
 *                                     "total_samples": 11, "samples": 10, "edges": {id: n}}},
 *       "raw": [2, id, id, 3, …]}          a depth, frames from the root on, how often
 *
 * as JSON, or as Ruby's marshal, which ruby-marshal.c turns into JSON.  Without "raw" it
 * is a call graph with inclusive samples for each frame. */

#include "arcs.h"
#include "formats.h"
#include "frames.h"
#include "json-reader.h"
#include "ruby-marshal.h"

enum mode { OTHER, TIME, OBJECTS };

struct stackprof {
    struct tt_source *s;
    struct tt_builder *b;
    const char *text; /* JSON */
    size_t size;
    struct tt_pairs frames; /* id: its number + 1 */
    struct tt_vector frame; /* struct known */
    struct tt_frames amount;
    enum mode mode;
    uint64_t interval; /* us, or objects */
    uint64_t frames_at, raw_at;
    struct tt_arcs arcs;
    struct tt_vector inclusive, came; /* uint64_t: of each function, and by calls of it */
    uint32_t root;
};

/* A frame.  Several may be one function: main has two, one inside the other. */
struct known {
    uint32_t block, function;
    uint64_t total, came; /* samples, and those in which other frames called it */
};

/* ── Frames ───────────────────────────────────────────────────────────────────────── */

struct frame {
    char *name, *file; /* owned */
    uint64_t line, self, total;
};

static uint64_t read_id(struct tt_json *j)
{
    const char *at = j->text;
    uint64_t id = 0;

    if (!tt_take_digits(&at, &id) || *at)
        tt_json_wrong(j, "an id of a frame is no number");
    return id;
}

static struct known *find_frame(struct stackprof *x, uint64_t id)
{
    const uint32_t *at = tt_pairs_find(&x->frames, id, 0);

    return at ? (struct known *)x->frame.item + *at - 1 : NULL;
}

static int add_sum(uint64_t *sum, uint64_t n)
{
    return __builtin_add_overflow(*sum, n, sum) ? -TT_ERR_FORMAT : 0;
}

static int add_call(struct stackprof *x, uint32_t from, uint32_t to, uint64_t samples)
{
    uint32_t arc = tt_arcs_arc(&x->arcs, from, to, samples);

    if (arc == TT_NONE)
        return tt_source_no_memory(x->s);
    if (tt_arcs_add_cost(&x->arcs, arc, &samples, 1) != 0 ||
        (from != to && add_sum((uint64_t *)x->came.item + to, samples) != 0))
        return tt_source_fail(x->s, TT_TOO_MUCH);
    return 0;
}

static void add_edge(struct stackprof *x, struct tt_json *j, const struct known *from,
                     uint64_t id, uint64_t samples)
{
    struct known *to = find_frame(x, id);

    if (!to)
        tt_json_wrong(j, "there is no frame of this id");
    else if (from != to && add_sum(&to->came, samples) != 0)
        tt_json_wrong(j, TT_TOO_MUCH);
    else
        (void)add_call(x, from->function, to->function, samples);
}

static void read_edges(struct stackprof *x, struct tt_json *j, const struct known *from)
{
    for (tt_json_object(j); tt_json_key(j);) {
        const uint64_t id = read_id(j), samples = tt_json_whole(j);
        if (!tt_json_failed(j))
            add_edge(x, j, from, id, samples);
    }
}

/* `from`: the frame of a call graph whose calls are taken, or NULL. */
static void read_frame(struct stackprof *x, struct tt_json *j, const struct known *from,
                       struct frame *f)
{
    for (tt_json_object(j); tt_json_key(j);)
        if (tt_json_is(j, "name"))
            tt_json_copy_if(j, &f->name);
        else if (tt_json_is(j, "file"))
            tt_json_copy_if(j, &f->file);
        else if (tt_json_is(j, "line"))
            f->line = tt_json_whole_or(j, 0);
        else if (tt_json_is(j, "samples"))
            f->self = tt_json_whole_or(j, 0);
        else if (tt_json_is(j, "total_samples"))
            f->total = tt_json_whole_or(j, 0);
        else if (from && tt_json_is(j, "edges"))
            read_edges(x, j, from);
        else
            tt_json_skip(j);
}

static uint32_t block_of(struct stackprof *x, const struct frame *f)
{
    return tt_builder_block(x->b,
                            &(struct tt_block_info){
                                .name = f->name && *f->name ? f->name : "(unknown)",
                                .file = f->file ? f->file : "",
                                .line = f->line < UINT32_MAX ? (uint32_t)f->line : 0,
                                .kind = TT_KIND_FUNCTION,
                            });
}

/* The function of a frame in the call graph. */
static uint32_t function_of(struct stackprof *x, uint32_t block)
{
    uint32_t function = tt_arcs_function(&x->arcs, block);

    while (function != TT_NONE && x->inclusive.count <= function)
        if (!tt_vector_add(&x->inclusive, 1) || !tt_vector_add(&x->came, 1))
            return TT_NONE;
    return function;
}

static void add_to_graph(struct stackprof *x, struct tt_json *j, const struct frame *f,
                         struct known *known)
{
    known->function = function_of(x, known->block);
    if (known->function == TT_NONE)
        tt_source_no_memory(x->s);
    else if (tt_arcs_add_self(&x->arcs, known->function, &f->self, 1) != 0 ||
             add_sum((uint64_t *)x->inclusive.item + known->function, f->total) != 0)
        tt_json_wrong(j, TT_TOO_MUCH);
}

static void add_frame(struct stackprof *x, struct tt_json *j, uint64_t id,
                      const struct frame *f)
{
    struct known known = {.block = block_of(x, f), .total = f->total};
    int is_new;
    uint32_t *at = tt_pairs_get(&x->frames, id, 0, &is_new);

    if (!at || known.block == TT_NONE)
        tt_source_no_memory(x->s);
    else if (!is_new)
        tt_json_wrong(j, "there are two frames of one id");
    else
        *at = (uint32_t)x->frame.count + 1;
    if (!x->raw_at && !tt_json_failed(j))
        add_to_graph(x, j, f, &known);
    tt_source_append(x->s, &x->frame, &known);
}

/* The first pass takes the frames; the second, of a call graph, their calls. */
static int read_frames(struct stackprof *x, int is_second)
{
    struct tt_json_part p;

    tt_json_part_open(&p, x->s, x->text, x->size, x->frames_at);
    for (tt_json_object(&p.json); tt_json_key(&p.json);) {
        const uint64_t id = read_id(&p.json);
        struct frame f = {0};
        read_frame(x, &p.json, is_second ? find_frame(x, id) : NULL, &f);
        if (!is_second && !tt_json_failed(&p.json))
            add_frame(x, &p.json, id, &f);
        tt_memory_put(x->s->memory, f.name);
        tt_memory_put(x->s->memory, f.file);
    }
    tt_json_part_close(&p);
    return tt_source_failed(x->s);
}

/* ── A call graph ─────────────────────────────────────────────────────────────────── */

/* Samples of a frame without a caller become calls by the root.  The inclusive figure of
 * a function is the sum over its frames or, if these contain each other, that over its
 * calls. */
static int finish_graph(struct stackprof *x)
{
    const struct known *frame = x->frame.item;
    uint64_t *inclusive = x->inclusive.item;
    const uint64_t *came;
    int error = 0;

    for (size_t i = 0; !error && i < x->frame.count; i++)
        if (frame[i].total > frame[i].came)
            error = add_call(x, x->root, frame[i].function,
                             frame[i].total - frame[i].came);
    came = x->came.item;
    for (uint32_t f = 0; f < x->inclusive.count; f++)
        inclusive[f] = inclusive[f] < came[f] ? inclusive[f] : came[f];
    return error;
}

static int read_graph(struct stackprof *x)
{
    uint32_t metric;
    int error;

    if (tt_arcs_init(&x->arcs, x->b, x->s->memory, 1) != 0)
        return tt_source_no_memory(x->s);
    x->root = function_of(x, TT_BUILDER_ROOT);
    error = x->root == TT_NONE ? tt_source_no_memory(x->s) : read_frames(x, 0);
    error = error ?: read_frames(x, 1);
    error = error ?: finish_graph(x);
    if (!error) {
        metric = tt_builder_metric(x->b, "samples", "", 0);
        x->arcs.inclusive = x->inclusive.item;
        error = tt_arcs_finish(&x->arcs, &metric, TT_NONE) ? tt_source_no_memory(x->s)
                                                           : 0;
    }
    return error;
}

/* ── Stacks ───────────────────────────────────────────────────────────────────────── */

static uint64_t read_number(struct tt_json *j)
{
    if (!tt_json_item(j))
        tt_json_wrong(j, "the last stack is not whole");
    return tt_json_whole(j);
}

static void read_stack(struct stackprof *x, struct tt_json *j)
{
    uint32_t context = TT_BUILDER_ROOT;

    for (uint64_t depth = tt_json_whole(j); depth && !tt_json_failed(j); depth--) {
        const struct known *frame = find_frame(x, read_number(j));
        if (frame)
            context = tt_builder_context(x->b, context, frame->block);
        else
            tt_json_wrong(j, "there is no frame of this id");
        if (context == TT_NONE)
            tt_source_no_memory(x->s);
    }
    tt_frames_count(&x->amount, j->s, context, read_number(j));
}

/* Adds the metrics: samples, and the time or the objects that each sample counts for. */
static int flush(struct stackprof *x)
{
    uint64_t each = x->mode == TIME ? x->interval * 1000 : x->interval, all;
    const uint64_t *amount = x->amount.amount.item;
    uint32_t metric;

    if (x->mode != OTHER && each) {
        if (__builtin_mul_overflow(x->amount.total, each, &all))
            return tt_source_fail(x->s, TT_TOO_MUCH);
        metric = x->mode == TIME
                     ? tt_builder_metric(x->b, "sampled time", "ns",
                                         TT_METRIC_TIME | TT_METRIC_SAMPLED)
                     : tt_builder_metric(x->b, "allocations", "", TT_METRIC_SPACE);
        for (uint32_t c = 0; c < x->amount.amount.count; c++)
            if (amount[c])
                tt_builder_add(x->b, TT_ROLE_SELF, c, metric, amount[c] * each);
    }
    tt_frames_flush(&x->amount, tt_builder_metric(x->b, "samples", "", 0));
    return 0;
}

static int read_raw(struct stackprof *x)
{
    struct tt_json_part p;
    int error;

    (void)read_frames(x, 0);
    tt_json_part_open(&p, x->s, x->text, x->size, x->raw_at);
    for (tt_json_array(&p.json); tt_json_item(&p.json);)
        read_stack(x, &p.json);
    tt_json_part_close(&p);
    error = tt_source_failed(x->s);
    return error ?: flush(x);
}

/* ── The file ─────────────────────────────────────────────────────────────────────── */

static void read_member(struct stackprof *x, struct tt_json *j)
{
    uint64_t missed;

    if (tt_json_is(j, "mode")) {
        if (tt_json_string(j))
            x->mode = tt_json_is(j, "wall") || tt_json_is(j, "cpu") ? TIME
                      : tt_json_is(j, "object")                     ? OBJECTS
                                                                    : OTHER;
    } else if (tt_json_is(j, "interval")) {
        x->interval = tt_json_whole_or(j, 0);
    } else if (tt_json_is(j, "missed_samples")) {
        missed = tt_json_whole_or(j, 0);
        if (missed)
            tt_builder_fact(x->b, "lost.samples", TT_FACT_SUM, missed, "");
    } else if (tt_json_is(j, "frames")) {
        x->frames_at = tt_json_place(j);
    } else if (tt_json_is(j, "raw")) {
        x->raw_at = tt_json_place(j);
    } else {
        tt_json_skip(j);
    }
}

static int read_all(struct stackprof *x)
{
    struct tt_json_part p;

    tt_json_part_open(&p, x->s, x->text, x->size, 0);
    for (tt_json_object(&p.json); tt_json_key(&p.json);)
        read_member(x, &p.json);
    tt_json_end(&p.json);
    if (!x->frames_at)
        tt_json_wrong(&p.json, "there are no frames");
    if (x->interval > 1000000000)
        tt_json_wrong(&p.json, "the interval is longer than 1000 s");
    tt_json_part_close(&p);
    if (tt_source_failed(x->s))
        return tt_source_failed(x->s);
    return x->raw_at ? read_raw(x) : read_graph(x);
}

static int read_stackprof(struct tt_source *s, struct tt_builder *b)
{
    struct stackprof x = {.s = s, .b = b};
    struct tt_vector json;
    int error = tt_source_all(s, &x.text, &x.size);

    if (error)
        return error;
    tt_vector_init(&json, s->memory, 1);
    tt_pairs_init(&x.frames, s->memory);
    tt_frames_init(&x.amount, b, s->memory);
    tt_vector_init(&x.frame, s->memory, sizeof(struct known));
    tt_vector_init(&x.inclusive, s->memory, sizeof(uint64_t));
    tt_vector_init(&x.came, s->memory, sizeof(uint64_t));
    if (x.size && *x.text == TT_RUBY_MARSHAL[0]) {
        error = tt_ruby_json(s, x.text, x.size, &json);
        x.text = json.item;
        x.size = json.count;
    }
    return error ?: read_all(&x);
}

static enum tt_match detect(const char *head, size_t size)
{
    if (size > 3 && memcmp(head, TT_RUBY_MARSHAL "{", 3) == 0)
        return tt_match_if(tt_head_has(head, size, "missed_samples"));
    return tt_match_if(tt_head_first(head, size) == '{' &&
                       tt_head_has(head, size, "\"missed_samples\""));
}

const struct tt_format tt_format_stackprof = {
    .name = "stackprof",
    .about = "samples of Ruby, by stackprof: its dumps, and JSON",
    .detect = detect,
    .read = read_stackprof,
};
