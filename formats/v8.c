/* SPDX-License-Identifier: MIT */
/* v8.c - CPU samples of JavaScript, piece by piece. */
#include "v8.h"

#include <string.h>

#include "frames.h"
#include "samples.h"

enum { SHARED = UINT32_MAX - 1 }; /* the profile of the frames that all threads share */

struct node {
    uint64_t id;
    uint32_t profile;
    uint32_t parent; /* + 1; 0: unknown */
    uint32_t block;  /* TT_NONE: only its id is known; the root's block for V8's root */
    uint32_t context;
    uint64_t samples, time;
};

struct profile {
    uint64_t pid, thread;
    uint32_t last; /* the node of the last sample, + 1 */
    int64_t at;    /* us since it began */
    int64_t until; /* the latest time so far */
};

struct raw { /* a node that is being read */
    uint64_t id, parent;
    uint32_t block;
    int has_parent;
};

struct child {
    uint64_t parent, child;
};

void tt_v8_init(struct tt_v8 *v, struct tt_source *s, struct tt_builder *b)
{
    *v = (struct tt_v8){.s = s, .b = b};
    tt_pairs_init(&v->nodes, s->memory);
    tt_pairs_init(&v->profiles, s->memory);
    tt_vector_init(&v->node, s->memory, sizeof(struct node));
    tt_vector_init(&v->profile, s->memory, sizeof(struct profile));
    tt_vector_init(&v->now, s->memory, sizeof(uint64_t));
    tt_vector_init(&v->elapsed, s->memory, sizeof(int64_t));
    tt_vector_init(&v->piece, s->memory, sizeof(struct raw));
    tt_vector_init(&v->parent, s->memory, sizeof(struct child));
}

void tt_v8_forget(struct tt_v8 *v)
{
    v->now.count = v->elapsed.count = v->piece.count = v->parent.count = 0;
}

/* ── Pieces as they are read ──────────────────────────────────────────────────────── */

static int read_amount(struct tt_json *j, int64_t *n)
{
    int result = tt_json_value(j);

    if (result == TT_JSON_NULL)
        return *n = 0, 1;
    if (result != TT_JSON_NUMBER && result != TT_JSON_STRING)
        return result < 0 ? result : tt_json_wrong(j, "a number was wanted before this");
    return tt_decimal(j->text, 0, n) ? 1 : tt_json_wrong(j, "this is no number");
}

uint32_t tt_v8_block(struct tt_v8 *v, const char *name, const char *file, int64_t line,
                     int64_t column)
{
    if (strcmp(name, "(root)") == 0 || strcmp(name, "[root]") == 0)
        return TT_BUILDER_ROOT;
    return tt_builder_block(
        v->b,
        &(struct tt_block_info){
            .name = *name ? name : "(anonymous)",
            .file = file,
            .line = line > 0 && line < TT_NONE ? (uint32_t)line : 0,
            .column = line > 0 && column > 0 && column < TT_NONE ? (uint32_t)column : 0,
            .kind = TT_KIND_FUNCTION});
}

int tt_v8_frame(struct tt_v8 *v, struct tt_json *j, uint32_t *block)
{
    struct tt_vector name, file, *to;
    int64_t line = -1, column = -1;
    int result = tt_json_object(j);

    tt_vector_init(&name, v->s->memory, 1);
    tt_vector_init(&file, v->s->memory, 1);
    while (result > 0 && (result = tt_json_key(j)) > 0) {
        to = tt_json_is(j, "functionName") ? &name : tt_json_is(j, "url") ? &file : NULL;
        if (tt_json_is(j, "lineNumber"))
            result = read_amount(j, &line);
        else if (tt_json_is(j, "columnNumber"))
            result = read_amount(j, &column);
        else if (!to || to->count)
            result = tt_json_skip(j);
        else if ((result = tt_json_string(j)) > 0) {
            char *copy = tt_vector_add(to, j->length + 1);
            if (copy)
                memcpy(copy, j->text, j->length);
            else
                result = tt_source_no_memory(v->s);
        }
    }
    *block = result < 0 ? TT_NONE
                        : tt_v8_block(v, name.count ? name.item : "",
                                      file.count ? file.item : "", line + 1, column + 1);
    tt_vector_fini(&file);
    tt_vector_fini(&name);
    if (result >= 0 && *block == TT_NONE)
        result = tt_source_no_memory(v->s);
    return result < 0 ? result : 1;
}

static int read_children(struct tt_v8 *v, struct tt_json *j)
{
    int result = tt_json_array(j);
    struct child *c;

    while (result > 0 && (result = tt_json_item(j)) > 0) {
        if (!(c = tt_vector_add(&v->parent, 1)))
            return tt_source_no_memory(v->s);
        c->parent = UINT64_MAX; /* the node's, once it is known */
        result = tt_json_whole(j, &c->child, NULL);
    }
    return result < 0 ? result : 1;
}

static int read_node(struct tt_v8 *v, struct tt_json *j)
{
    struct raw n = {.block = TT_NONE};
    size_t first = v->parent.count;
    int result = tt_json_object(j);

    while (result > 0 && (result = tt_json_key(j)) > 0)
        if (tt_json_is(j, "id")) {
            result = tt_json_whole(j, &n.id, NULL);
        } else if (tt_json_is(j, "parent")) {
            n.has_parent = 1;
            result = tt_json_whole(j, &n.parent, NULL);
        } else if (tt_json_is(j, "children")) {
            result = read_children(v, j);
        } else {
            result = tt_json_is(j, "callFrame") ? tt_v8_frame(v, j, &n.block)
                                                : tt_json_skip(j);
        }
    if (result < 0)
        return result;
    for (size_t i = first; i < v->parent.count; i++)
        ((struct child *)v->parent.item)[i].parent = n.id;
    if (n.block == TT_NONE)
        return tt_json_wrong(j, "the node before this has no callFrame");
    result = tt_source_append(v->s, &v->piece, &n);
    return result ? result : 1;
}

/* 1: an array is open; 0: the next value is none, and was skipped. */
static int open_array(struct tt_json *j)
{
    int kind = tt_json_value(j);

    if (kind == TT_JSON_OBJECT)
        kind = tt_json_close(j) < 0 ? -TT_ERR_FORMAT : kind;
    return kind < 0 ? kind : kind == TT_JSON_ARRAY;
}

static int read_numbers(struct tt_v8 *v, struct tt_json *j, struct tt_vector *to)
{
    int result = open_array(j);
    int64_t *at;

    while (result > 0 && (result = tt_json_item(j)) > 0) {
        if (!(at = tt_vector_add(to, 1)))
            return tt_source_no_memory(v->s);
        result = read_amount(j, at);
        if (result > 0 && (*at > INT64_MAX / 4 || *at < -(INT64_MAX / 4)))
            return tt_json_wrong(j, "the number before this is too large");
    }
    return result < 0 ? result : 1;
}

int tt_v8_node(struct tt_v8 *v, uint64_t id, uint32_t block, const uint64_t *parent)
{
    const struct raw n = {.id = id,
                          .parent = parent ? *parent : 0,
                          .block = block,
                          .has_parent = parent != NULL};
    int error = tt_source_append(v->s, &v->piece, &n);

    return error ? error : 1;
}

/* The first difference is ignored: a sample lasts until the next. */
int tt_v8_times(struct tt_v8 *v, struct tt_json *j)
{
    int result = read_numbers(v, j, &v->elapsed);
    int64_t *at = v->elapsed.item;

    for (size_t i = v->elapsed.count; result > 0 && i-- > 0;)
        at[i] -= i ? at[i - 1] : at[i];
    return result;
}

int tt_v8_member(struct tt_v8 *v, struct tt_json *j)
{
    int result;

    if (tt_json_is(j, "samples"))
        return read_numbers(v, j, &v->now);
    if (tt_json_is(j, "timeDeltas"))
        return read_numbers(v, j, &v->elapsed);
    if (!tt_json_is(j, "nodes"))
        return 0;
    result = open_array(j);
    while (result > 0 && (result = tt_json_item(j)) > 0)
        result = read_node(v, j);
    return result < 0 ? result : 1;
}

/* ── Pieces become profiles ───────────────────────────────────────────────────────── */

/* The index of a node; TT_NONE: no memory. */
static uint32_t node_of(struct tt_v8 *v, uint32_t profile, uint64_t id)
{
    int is_new;
    struct node *n = tt_pairs_item(&v->nodes, &v->node, profile, id, &is_new);

    if (!n)
        return TT_NONE;
    if (is_new)
        *n = (struct node){
            .id = id, .profile = profile, .block = TT_NONE, .context = TT_NONE};
    return (uint32_t)(n - (struct node *)v->node.item);
}

static struct profile *profile_of(struct tt_v8 *v, uint64_t pid, uint64_t id,
                                  uint64_t thread, uint32_t *number)
{
    int is_new;
    struct profile *p = tt_pairs_item(&v->profiles, &v->profile, pid, id, &is_new);

    if (!p)
        return NULL;
    if (is_new)
        *p = (struct profile){.pid = pid, .thread = thread};
    *number = (uint32_t)(p - (struct profile *)v->profile.item);
    return p;
}

static int add_nodes(struct tt_v8 *v, uint32_t profile)
{
    const struct raw *raw = v->piece.item;
    const struct child *child = v->parent.item;

    for (size_t i = 0; i < v->piece.count; i++) {
        uint32_t at = node_of(v, profile, raw[i].id), parent = 0;
        if (raw[i].has_parent)
            parent = node_of(v, profile, raw[i].parent) + 1;
        if (at == TT_NONE || (raw[i].has_parent && !parent))
            return tt_source_no_memory(v->s);
        ((struct node *)v->node.item)[at].block = raw[i].block;
        if (parent)
            ((struct node *)v->node.item)[at].parent = parent;
    }
    for (size_t i = 0; i < v->parent.count; i++) {
        uint32_t at = node_of(v, profile, child[i].child);
        uint32_t parent = node_of(v, profile, child[i].parent);
        if (at == TT_NONE || parent == TT_NONE)
            return tt_source_no_memory(v->s);
        ((struct node *)v->node.item)[at].parent = parent + 1;
    }
    return 0;
}

/* Notes when the last sample of a profile was, and how long it lasted. */
static void note_sample(struct tt_v8 *v, const struct profile *p, uint32_t number,
                        uint64_t us)
{
    if (p->last && p->until >= 0 && p->until < INT64_MAX / 1000 && us < INT64_MAX / 1000)
        tt_builder_sample_later(v->b, p->last - 1, number, (uint64_t)p->until * 1000,
                                us * 1000);
}

/* The sample before this one lasted until now. */
static int add_sample(struct tt_v8 *v, struct profile *p, uint32_t number, uint64_t id)
{
    uint32_t at = node_of(v, number, id);
    struct node *n = v->node.item;
    uint64_t lasted = 0;

    if (at == TT_NONE)
        return tt_source_no_memory(v->s);
    if (p->last && p->at > p->until) /* if the clock goes back, keep the last time */
        lasted = (uint64_t)p->at - (uint64_t)p->until;
    if (p->last)
        n[p->last - 1].time += lasted;
    note_sample(v, p, number, lasted);
    p->until = !p->last || p->at > p->until ? p->at : p->until;
    p->last = at + 1;
    n[at].samples++;
    v->samples++;
    return 0;
}

int tt_v8_piece(struct tt_v8 *v, uint64_t pid, uint64_t id, uint64_t thread)
{
    const int64_t *elapsed = v->elapsed.item;
    uint32_t number = 0;
    struct profile *p = profile_of(v, pid, id, thread, &number);
    int error = p ? add_nodes(v, number) : tt_source_no_memory(v->s);

    for (size_t i = 0; !error && i < v->now.count; i++) {
        if (i < v->elapsed.count && __builtin_add_overflow(p->at, elapsed[i], &p->at))
            return tt_source_fail(v->s, "the times of samples are too large");
        error = add_sample(v, p, number, ((const uint64_t *)v->now.item)[i]);
    }
    tt_v8_forget(v);
    return error ? error : 1;
}

int tt_v8_sample(struct tt_v8 *v, uint64_t pid, uint64_t thread, uint64_t id, int64_t us)
{
    uint32_t number = 0;
    struct profile *p = profile_of(v, pid, thread, thread, &number);
    int error = p ? 0 : tt_source_no_memory(v->s);

    if (p)
        p->at = us;
    error = error ? error : add_sample(v, p, number, id);
    return error ? error : 1;
}

int tt_v8_shared(struct tt_v8 *v, uint64_t id, uint32_t block, int has_parent,
                 uint64_t parent)
{
    uint32_t at = node_of(v, SHARED, id), above = 0;

    if (has_parent)
        above = node_of(v, SHARED, parent) + 1;
    if (at == TT_NONE || (has_parent && !above))
        return tt_source_no_memory(v->s);
    ((struct node *)v->node.item)[at].block = block;
    ((struct node *)v->node.item)[at].parent = above;
    return 1;
}

/* ── The end ──────────────────────────────────────────────────────────────────────── */

/* Takes block and parent from the shared frame, if the node is one. */
static void look_up_shared(struct tt_v8 *v, uint32_t at)
{
    struct node *n = v->node.item;
    const uint32_t *shared = tt_pairs_find(&v->nodes, SHARED, n[at].id);

    if (n[at].block == TT_NONE && shared && !n[at].parent && *shared - 1 != at) {
        n[at].block = n[*shared - 1].block;
        n[at].parent = n[*shared - 1].parent;
    }
}

/* A trace may begin too late, so that nodes are missing: callers get this name. */
static uint32_t unknown_callers(struct tt_v8 *v)
{
    struct tt_block_info info = {.name = "(unknown callers)", .kind = TT_KIND_FUNCTION};

    return tt_builder_block(v->b, &info);
}

/* The contexts of a node and of those above it. */
static uint32_t context_of(struct tt_v8 *v, uint32_t at, struct tt_vector *path)
{
    struct node *n = v->node.item;
    uint32_t context = TT_BUILDER_ROOT, *to;

    for (path->count = 0; n[at].context == TT_NONE; at = n[at].parent - 1) {
        look_up_shared(v, at);
        if (n[at].block == TT_NONE) {
            context = tt_builder_context(v->b, TT_BUILDER_ROOT, unknown_callers(v));
            break;
        }
        if (path->count > v->node.count)
            return (void)tt_source_fail(v->s, "nodes of samples are their own parents"),
                   TT_NONE;
        if (!(to = tt_vector_add(path, 1)))
            return (void)tt_source_no_memory(v->s), TT_NONE;
        *to = at;
        if (!n[at].parent)
            break;
    }
    if (n[at].context != TT_NONE)
        context = n[at].context;
    while (path->count) {
        at = ((uint32_t *)path->item)[--path->count];
        if (n[at].block != TT_BUILDER_ROOT)
            context = tt_builder_context(v->b, context, n[at].block);
        n[at].context = context;
    }
    return context == TT_NONE ? (void)tt_source_no_memory(v->s), TT_NONE : context;
}

static void set_strand(struct tt_v8 *v, const struct profile *p,
                       const struct tt_v8_names *names)
{
    struct tt_strand_info strand = {
        .pid = p->pid, .thread = p->thread, .rank = TT_NONE, .members = 1};

    if (!names)
        return;
    names->who(names->arg, p->pid, p->thread, &strand.process, &strand.name);
    (void)tt_builder_strand(v->b, &strand);
}

int tt_v8_finish(struct tt_v8 *v, const struct tt_v8_names *names, int is_main)
{
    const struct node *n = v->node.item;
    uint32_t samples = tt_builder_metric(v->b, "samples", "", 0);
    uint32_t time = tt_builder_metric(v->b, "sampled time", "ns",
                                      is_main ? TT_METRIC_TIME | TT_METRIC_SAMPLED : 0);
    const struct profile *p = v->profile.item;
    const size_t contexts = v->node.count * sizeof(uint32_t),
                 strands = v->profile.count * sizeof(uint32_t);
    uint32_t *of = tt_memory_get(v->s->memory, contexts),
             *strand = tt_memory_get(v->s->memory, strands);
    struct tt_vector path;
    uint64_t all = 0, ns;
    int error = (of || !contexts) && (strand || !strands) ? 0 : tt_source_no_memory(v->s);

    tt_vector_init(&path, v->s->memory, sizeof(uint32_t));
    for (uint32_t i = 0; !error && i < v->profile.count; i++) {
        note_sample(v, &p[i], i, 0);
        strand[i] = TT_NONE;
    }
    if (!error && contexts)
        memset(of, 0xff, contexts);
    for (uint32_t i = 0; !error && i < v->node.count; i++) {
        uint32_t context;
        if (!n[i].samples)
            continue;
        look_up_shared(v, i);
        if (n[i].block == TT_NONE) {
            v->lost += n[i].samples;
            continue;
        }
        context = context_of(v, i, &path);
        if (context == TT_NONE) {
            error = -TT_ERR_FORMAT;
        } else if (__builtin_mul_overflow(n[i].time, 1000, &ns) ||
                   __builtin_add_overflow(all, ns, &all)) {
            error = tt_source_fail(v->s, TT_TOO_MUCH);
        } else {
            set_strand(v, (struct profile *)v->profile.item + n[i].profile, names);
            strand[n[i].profile] = tt_builder_current(v->b);
            of[i] = context;
            tt_builder_add(v->b, TT_ROLE_SELF, context, samples, n[i].samples);
            tt_builder_add(v->b, TT_ROLE_SELF, context, time, ns);
        }
    }
    if (!error)
        tt_builder_place_samples(v->b, time, is_main ? of : NULL, strand);
    if (!error && is_main)
        tt_builder_fact(v->b, TT_FACT_BEGINS, TT_FACT_MIN, 1, "");
    tt_memory_put(v->s->memory, strand);
    tt_memory_put(v->s->memory, of);
    tt_vector_fini(&path);
    tt_builder_no_strand(v->b);
    if (!error && v->lost && v->lost == v->samples)
        error = tt_source_fail(v->s, "all samples are in nodes that there are not");
    if (!error && v->lost)
        tt_builder_fact(v->b, "lost.nodes", TT_FACT_SUM, v->lost, "");
    return error;
}
