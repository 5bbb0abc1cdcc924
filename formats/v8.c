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

static int64_t read_amount(struct tt_json *j)
{
    const enum tt_json_kind kind = tt_json_value(j);
    int64_t n = 0;

    if (kind == TT_JSON_NULL)
        return 0;
    if (kind != TT_JSON_NUMBER && kind != TT_JSON_STRING)
        tt_json_wrong(j, "a number was wanted before this");
    if (!tt_decimal(j->text, 0, &n))
        tt_json_wrong(j, "this is no number");
    return n;
}

uint32_t tt_v8_block(struct tt_v8 *v, const char *name, const char *file, int64_t line,
                     int64_t column)
{
    struct tt_block_info info = {
        .name = *name ? name : "(anonymous)", .file = file, .kind = TT_KIND_FUNCTION};
    uint32_t block;

    if (strcmp(name, "(root)") == 0 || strcmp(name, "[root]") == 0)
        return TT_BUILDER_ROOT;
    info.line = line > 0 && line < TT_NONE ? (uint32_t)line : 0;
    info.column = line > 0 && column > 0 && column < TT_NONE ? (uint32_t)column : 0;
    block = tt_builder_block(v->b, &info);
    if (block == TT_NONE)
        tt_source_no_memory(v->s);
    return block;
}

uint32_t tt_v8_inner(struct tt_v8 *v, uint32_t block)
{
    return block == TT_BUILDER_ROOT ? tt_builder_inner_root(v->b, "(root)") : block;
}

uint32_t tt_v8_frame(struct tt_v8 *v, struct tt_json *j)
{
    char *name = NULL, *file = NULL, **to;
    int64_t line = -1, column = -1;
    uint32_t block;

    for (tt_json_object(j); tt_json_key(j);) {
        to = tt_json_is(j, "functionName") ? &name : tt_json_is(j, "url") ? &file : NULL;
        if (tt_json_is(j, "lineNumber"))
            line = read_amount(j);
        else if (tt_json_is(j, "columnNumber"))
            column = read_amount(j);
        else if (!to || *to)
            tt_json_skip(j);
        else
            tt_json_copy(j, to);
    }
    block = tt_json_failed(j) ? TT_NONE
                              : tt_v8_block(v, name ? name : "", file ? file : "",
                                            line + 1, column + 1);
    tt_memory_put(v->s->memory, file);
    tt_memory_put(v->s->memory, name);
    return block;
}

static void read_children(struct tt_v8 *v, struct tt_json *j)
{
    struct child c = {.parent = UINT64_MAX}; /* the node's, once it is known */

    for (tt_json_array(j); tt_json_item(j);) {
        c.child = tt_json_whole(j);
        tt_source_append(v->s, &v->parent, &c);
    }
}

static void read_node(struct tt_v8 *v, struct tt_json *j)
{
    struct raw n = {.block = TT_NONE};
    size_t first = v->parent.count;

    for (tt_json_object(j); tt_json_key(j);)
        if (tt_json_is(j, "id")) {
            n.id = tt_json_whole(j);
        } else if (tt_json_is(j, "parent")) {
            n.has_parent = 1;
            n.parent = tt_json_whole(j);
        } else if (tt_json_is(j, "children")) {
            read_children(v, j);
        } else if (tt_json_is(j, "callFrame")) {
            n.block = tt_v8_frame(v, j);
        } else {
            tt_json_skip(j);
        }
    for (size_t i = first; i < v->parent.count; i++)
        ((struct child *)v->parent.item)[i].parent = n.id;
    if (n.block == TT_NONE)
        tt_json_wrong(j, "the node before this has no callFrame");
    tt_source_append(v->s, &v->piece, &n);
}

static void read_numbers(struct tt_v8 *v, struct tt_json *j, struct tt_vector *to)
{
    if (!tt_json_open_if(j, TT_JSON_ARRAY))
        return;
    while (tt_json_item(j)) {
        const int64_t n = read_amount(j);
        if (n > INT64_MAX / 4 || n < -(INT64_MAX / 4))
            tt_json_wrong(j, "the number before this is too large");
        else
            tt_source_append(v->s, to, &n);
    }
}

void tt_v8_node(struct tt_v8 *v, uint64_t id, uint32_t block, const uint64_t *parent)
{
    const struct raw n = {.id = id,
                          .parent = parent ? *parent : 0,
                          .block = block,
                          .has_parent = parent != NULL};

    tt_source_append(v->s, &v->piece, &n);
}

/* The first difference is ignored: a sample lasts until the next. */
void tt_v8_times(struct tt_v8 *v, struct tt_json *j)
{
    int64_t *at;

    read_numbers(v, j, &v->elapsed);
    at = v->elapsed.item;
    for (size_t i = v->elapsed.count; i-- > 0;)
        at[i] -= i ? at[i - 1] : at[i];
}

void tt_v8_member(struct tt_v8 *v, struct tt_json *j)
{
    if (tt_json_is(j, "samples"))
        read_numbers(v, j, &v->now);
    else if (tt_json_is(j, "timeDeltas"))
        read_numbers(v, j, &v->elapsed);
    else if (!tt_json_is(j, "nodes"))
        tt_json_skip(j);
    else if (tt_json_open_if(j, TT_JSON_ARRAY))
        while (tt_json_item(j))
            read_node(v, j);
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

void tt_v8_piece(struct tt_v8 *v, uint64_t pid, uint64_t id, uint64_t thread)
{
    const int64_t *elapsed = v->elapsed.item;
    uint32_t number = 0;
    struct profile *p = profile_of(v, pid, id, thread, &number);
    int error = p ? add_nodes(v, number) : tt_source_no_memory(v->s);

    for (size_t i = 0; !error && i < v->now.count; i++)
        error = i < v->elapsed.count && __builtin_add_overflow(p->at, elapsed[i], &p->at)
                    ? tt_source_fail(v->s, "the times of samples are too large")
                    : add_sample(v, p, number, ((const uint64_t *)v->now.item)[i]);
    tt_v8_forget(v);
}

void tt_v8_sample(struct tt_v8 *v, uint64_t pid, uint64_t thread, uint64_t id, int64_t us)
{
    uint32_t number = 0;
    struct profile *p = profile_of(v, pid, thread, thread, &number);

    if (!p) {
        tt_source_no_memory(v->s);
        return;
    }
    p->at = us;
    add_sample(v, p, number, id);
}

void tt_v8_shared(struct tt_v8 *v, uint64_t id, uint32_t block, const uint64_t *parent)
{
    uint32_t at = node_of(v, SHARED, id), above = 0;

    if (parent)
        above = node_of(v, SHARED, *parent) + 1;
    if (at == TT_NONE || (parent && !above)) {
        tt_source_no_memory(v->s);
        return;
    }
    ((struct node *)v->node.item)[at].block = block;
    ((struct node *)v->node.item)[at].parent = above;
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
    uint32_t context = TT_BUILDER_ROOT;

    for (path->count = 0; n[at].context == TT_NONE; at = n[at].parent - 1) {
        look_up_shared(v, at);
        if (n[at].block == TT_NONE) {
            context = tt_builder_context(v->b, TT_BUILDER_ROOT, unknown_callers(v));
            break;
        }
        if (path->count > v->node.count)
            return (void)tt_source_fail(v->s, "nodes of samples are their own parents"),
                   TT_NONE;
        if (tt_vector_push(path, &(uint32_t){at}) != 0)
            return (void)tt_source_no_memory(v->s), TT_NONE;
        if (!n[at].parent)
            break;
    }
    if (n[at].context != TT_NONE)
        context = n[at].context;
    while (path->count) {
        at = ((uint32_t *)path->item)[--path->count];
        if (n[at].block != TT_BUILDER_ROOT || n[at].parent)
            context = tt_builder_context(v->b, context, tt_v8_inner(v, n[at].block));
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
            error = tt_source_failed(v->s);
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
