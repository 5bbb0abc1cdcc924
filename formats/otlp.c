/* SPDX-License-Identifier: MIT */
/* otlp.c - OpenTelemetry's profiles, as of version 1.11.0 of its protocol: writing.
 *
 *      ProfilesData ─┬ ResourceProfiles ── ScopeProfiles ── Profile, one for each metric
 *                    │      one for each process
 *                    └ Dictionary: mappings, locations, functions, strings, stacks
 *
 * The first row of each table of the dictionary is the null one.  A profile's id is made of
 * the content of the file, so that one that is sent twice can be recognised.  This part of
 * the protocol is under development: other versions may read something else in it, or
 * nothing. */
#include "otlp-read.h"

#include "content-hash.h"
#include "otlp-owners.h"
#include "pprof-write.h"
#include "pprof.h"
#include "range.h"
#include "writers.h"

enum { DATA_RESOURCE = 1, DATA_DICTIONARY = 2 };
enum { RESOURCE_RESOURCE = 1, RESOURCE_SCOPES = 2, SCOPE_SCOPE = 1, SCOPE_PROFILES = 2 };
enum { MAPPINGS = 1, LOCATIONS, FUNCTIONS, LINKS, STRINGS, ATTRIBUTES, STACKS };
enum { PROFILE_TYPE = 1, PROFILE_SAMPLES, PROFILE_TIME, PROFILE_DURATION };
enum { PROFILE_ID = 7 };
enum { SAMPLE_STACK = 1, SAMPLE_VALUES = 4 };

struct otlp {
    const struct tt_profile *p;
    uint32_t metric; /* TT_NONE: all of them */
    struct tt_owners owners;
    struct tt_pairs modules; /* of the profile: index */
    struct tt_texts texts;
    struct tt_message data, dictionary, mappings, stacks, inner, item;
    uint32_t module_count, stack_count;
    struct tt_vector stack; /* struct stacks of each context */
    struct tt_vector type;  /* struct type of each metric */
    struct tt_vector left;  /* uint64_t: of each context, what no process has, if there
                               are several */
    struct tt_vector id; /* size_t: where each profile's id is; first in its scope, then
                               in `data` */
    int failed;
};

struct type { /* of a metric: strings */
    uint32_t name, unit;
};

struct stacks {
    uint32_t self, elsewhere; /* 0: there is no figure; or it is the root */
};

/* ── The dictionary ───────────────────────────────────────────────────────────────── */

static uint32_t module_of(struct otlp *o, uint32_t at)
{
    int is_new;
    uint32_t *index;

    if (!at)
        return 0;
    index = tt_pairs_get(&o->modules, at, 0, &is_new);
    if (!index) {
        o->failed = 1;
        return 0;
    }
    if (is_new) {
        tt_message_number(&o->item, 4, tt_texts_of(&o->texts, at));
        tt_message_within(&o->mappings, MAPPINGS, &o->item);
        *index = o->module_count++;
    }
    return *index;
}

/* Functions and locations have the numbers of blocks; one more, after them, is for
 * evicted contexts. */
static void add_blocks(struct otlp *o)
{
    for (uint32_t b = 0; b <= o->p->blocks && !o->failed; b++) {
        const struct tt_block_row *row = &o->p->block[b < o->p->blocks ? b : 0];
        uint32_t name = b == o->p->blocks ? tt_texts_new(&o->texts, "[elsewhere below]")
                                          : tt_texts_of(&o->texts, row->name);
        if (b) {
            tt_message_number(&o->item, 1, name);
            tt_message_number(&o->item, 3, tt_texts_of(&o->texts, row->file));
            tt_message_number(&o->item, 4, row->line);
        }
        tt_message_within(&o->dictionary, FUNCTIONS, &o->item);
        if (b) {
            tt_message_number(&o->inner, 1, b);
            tt_message_number(&o->inner, 2, row->line);
            tt_message_number(&o->inner, 3, row->line ? row->column : 0);
            tt_message_number(&o->item, 1, module_of(o, row->module));
            tt_message_within(&o->item, 3, &o->inner);
        }
        tt_message_within(&o->dictionary, LOCATIONS, &o->item);
    }
}

/* Adds a row to the table of stacks: the path of a context, leaf first. */
static uint32_t add_stack(struct otlp *o, const struct tt_walk *w, int elsewhere)
{
    if (elsewhere)
        tt_message_varint(&o->inner, o->p->blocks);
    for (uint32_t d = w->depth; d > 0; d--)
        tt_message_varint(&o->inner, tt_block_of(o->p, w->path[d]));
    if (o->inner.bytes.count)
        tt_message_within(&o->item, 1, &o->inner);
    tt_message_within(&o->stacks, STACKS, &o->item);
    return o->stack_count++;
}

/* Each stack is in the table once, for all metrics and processes. */
static void add_stacks(struct otlp *o)
{
    struct stacks *stack = o->stack.item;
    struct tt_walk w;

    if (tt_walk_init(&w, o->p, 0) != 0) {
        o->failed = 1;
        return;
    }
    while (tt_walk_next(&w) && !o->failed) {
        int is_there = 0, is_below = 0;
        for (uint32_t m = 0; m < o->p->metrics; m++) {
            if (o->metric != TT_NONE && m != o->metric)
                continue;
            is_there |= tt_self_of(&o->p->metric[m], w.context) != 0;
            is_below |= tt_elsewhere_of(&o->p->metric[m], w.context) != 0;
        }
        if (is_there && w.depth)
            stack[w.context].self = add_stack(o, &w, 0);
        if (is_below)
            stack[w.context].elsewhere = add_stack(o, &w, 1);
    }
    tt_walk_fini(&w);
}

/* ── Profiles ─────────────────────────────────────────────────────────────────────── */

static void add_sample(struct otlp *o, struct tt_message *profile, uint32_t stack,
                       uint64_t value)
{
    if (!value)
        return;
    tt_message_varint(&o->inner, value < INT64_MAX ? value : INT64_MAX);
    tt_message_number(&o->item, SAMPLE_STACK, stack);
    tt_message_within(&o->item, SAMPLE_VALUES, &o->inner);
    tt_message_within(profile, PROFILE_SAMPLES, &o->item);
}

/* Adds the samples of a process, and takes them from what is left. */
static void add_shares(struct otlp *o, struct tt_message *profile, uint32_t owner,
                       uint32_t metric)
{
    const struct stacks *stack = o->stack.item;
    uint64_t *left = o->left.item;
    size_t count;
    const struct tt_share *share = tt_owners_shares(&o->owners, owner, metric, &count);

    for (size_t i = 0; i < count; i++) {
        uint64_t *rest = &left[(size_t)metric * o->p->contexts + share[i].context];
        uint64_t amount = share[i].amount < *rest ? share[i].amount : *rest;
        add_sample(o, profile, stack[share[i].context].self, amount);
        *rest -= amount;
    }
}

/* Adds the samples of no process: if there is only one, all of them. */
static void add_rest(struct otlp *o, struct tt_message *profile, uint32_t metric)
{
    const struct tt_metric_columns *m = &o->p->metric[metric];
    const struct stacks *stack = o->stack.item;
    const uint64_t *left = o->left.item;

    for (uint32_t c = 0; c < o->p->contexts && !o->failed; c++) {
        add_sample(o, profile, stack[c].self,
                   left ? left[(size_t)metric * o->p->contexts + c] : tt_self_of(m, c));
        add_sample(o, profile, stack[c].elsewhere, tt_elsewhere_of(m, c));
    }
}

static void add_type(struct otlp *o, struct tt_message *profile, uint32_t metric)
{
    const struct type *type = o->type.item;

    tt_message_number(&o->item, 1, type[metric].name);
    tt_message_number(&o->item, 2, type[metric].unit);
    tt_message_within(profile, PROFILE_TYPE, &o->item);
}

static void add_time(struct otlp *o, struct tt_message *profile)
{
    const uint64_t started = tt_range_started(o->p);
    unsigned char time[8];

    for (int i = 0; i < 8; i++)
        time[i] = (unsigned char)(started >> 8 * i);
    if (started) {
        tt_message_varint(profile, PROFILE_TIME << 3 | TT_WIRE_64);
        tt_message_bytes(profile, time, sizeof time);
    }
    tt_message_number(profile, PROFILE_DURATION, tt_range_lasted(o->p));
}

/* Leaves room for the id, at the end of the message. */
static void add_id(struct otlp *o, struct tt_message *profile)
{
    static const unsigned char none[TT_CONTENT_HASH_SIZE];
    size_t *at = tt_vector_add(&o->id, 1);

    tt_message_varint(profile, PROFILE_ID << 3 | TT_WIRE_BYTES);
    tt_message_varint(profile, sizeof none);
    tt_message_bytes(profile, none, sizeof none);
    o->failed |= !at;
}

/* Adds a profile of a process (`owner` TT_NONE: of no process).  One of several processes
 * that has no figures in this metric has no profile of it. */
static void add_profile(struct otlp *o, struct tt_message *scope, uint32_t owner,
                        uint32_t metric)
{
    struct tt_message profile;
    size_t before;

    tt_message_init(&profile, o->p->memory, &o->failed);
    add_type(o, &profile, metric);
    before = profile.bytes.count;
    if (owner == TT_NONE)
        add_rest(o, &profile, metric);
    else
        add_shares(o, &profile, owner, metric);
    if (profile.bytes.count > before || !o->left.item) {
        add_time(o, &profile);
        add_id(o, &profile);
        tt_message_within(scope, SCOPE_PROFILES, &profile);
        if (!o->failed)
            ((size_t *)o->id.item)[o->id.count - 1] = scope->bytes.count -
                                                      TT_CONTENT_HASH_SIZE;
    }
    tt_message_fini(&profile);
}

/* Adds the profiles of a process, unless there are none. */
static void add_resource(struct otlp *o, uint32_t owner)
{
    const size_t before = o->id.count;
    uint32_t whose = owner == TT_NONE && !o->left.item && o->owners.strand.count == 1
                         ? 0
                         : owner;
    struct tt_message scope, resource;
    size_t size, *at;

    tt_message_init(&scope, o->p->memory, &o->failed);
    tt_message_init(&resource, o->p->memory, &o->failed);
    tt_message_text(&o->item, 1, "tallytree");
    tt_message_text(&o->item, 2, TT_VERSION);
    tt_message_within(&scope, SCOPE_SCOPE, &o->item);
    for (uint32_t m = 0; m < o->p->metrics && !o->failed; m++)
        if (o->metric == TT_NONE || m == o->metric)
            add_profile(o, &scope, owner, m);
    if (o->id.count > before && !o->failed) {
        tt_owners_resource(&o->owners, whose, &o->failed, &o->item);
        tt_message_within(&resource, RESOURCE_RESOURCE, &o->item);
        size = scope.bytes.count;
        tt_message_within(&resource, RESOURCE_SCOPES, &scope);
        tt_message_within(&o->data, DATA_RESOURCE, &resource);
        at = o->id.item;
        for (size_t i = before; i < o->id.count; i++)
            at[i] += o->data.bytes.count - size; /* the scope is the end of it */
    }
    tt_message_fini(&resource);
    tt_message_fini(&scope);
}

/* Each text is in the table once. */
static void find_types(struct otlp *o)
{
    struct type *type = tt_vector_add(&o->type, o->p->metrics);

    o->failed |= !type;
    for (uint32_t m = 0; m < o->p->metrics && type; m++) {
        const struct tt_metric_columns *metric = &o->p->metric[m];
        if (o->metric != TT_NONE && m != o->metric)
            continue;
        type[m].name = tt_texts_new(&o->texts, metric->name);
        for (uint32_t i = 0; i < m && !type[m].unit; i++)
            if (type[i].name && strcmp(o->p->metric[i].unit, metric->unit) == 0)
                type[m].unit = type[i].unit;
        if (!type[m].unit)
            type[m].unit = tt_texts_new(&o->texts, tt_pprof_unit(metric->unit));
    }
}

/* Of several processes, each has its own figures; notes them all as what is left. */
static void begin_left(struct otlp *o)
{
    uint64_t *left;

    if (!o->owners.share.count)
        return;
    left = tt_vector_add(&o->left, (size_t)o->p->metrics * o->p->contexts);
    if (!left) {
        o->failed = 1;
        return;
    }
    for (uint32_t m = 0; m < o->p->metrics; m++)
        for (uint32_t c = 0; c < o->p->contexts; c++)
            *left++ = tt_self_of(&o->p->metric[m], c);
}

/* ── The whole ────────────────────────────────────────────────────────────────────── */

enum { PARTS = 4 };

static void find_parts(const struct otlp *o, const struct tt_message *part[PARTS])
{
    part[0] = &o->dictionary;
    part[1] = &o->mappings;
    part[2] = &o->stacks;
    part[3] = &o->texts.table;
}

/* Writes the ids of profiles: the hash of the whole without ids, and their number. */
static void set_ids(struct otlp *o)
{
    struct tt_content_hash whole = TT_CONTENT_HASH_OF_NOTHING;
    const struct tt_message *part[PARTS];
    const size_t *at = o->id.item;
    unsigned char *data = o->data.bytes.item;

    find_parts(o, part);
    whole = tt_content_hash_add(whole, data, o->data.bytes.count);
    for (size_t i = 0; i < PARTS; i++)
        whole = tt_content_hash_add(whole, part[i]->bytes.item, part[i]->bytes.count);
    for (uint32_t i = 0; i < o->id.count; i++) {
        const unsigned char number[] = {(unsigned char)i, (unsigned char)(i >> 8),
                                        (unsigned char)(i >> 16),
                                        (unsigned char)(i >> 24)};
        tt_content_hash_bytes(tt_content_hash_add(whole, number, sizeof number),
                              data + at[i]);
    }
}

/* Writes the dictionary: its messages, one after the other. */
static void put_dictionary(struct tt_writer *w, const struct otlp *o)
{
    const struct tt_message *part[PARTS];
    size_t size = 0;

    find_parts(o, part);
    for (size_t i = 0; i < PARTS; i++)
        size += part[i]->bytes.count;
    tt_put_head(w, DATA_DICTIONARY, size);
    for (size_t i = 0; i < PARTS; i++)
        tt_put_bytes(w, part[i]->bytes.item, part[i]->bytes.count);
}

static void put_all(struct otlp *o, struct tt_writer *w)
{
    (void)tt_texts_new(&o->texts, "");
    tt_message_within(&o->mappings, MAPPINGS, &o->item);
    tt_message_within(&o->dictionary, LINKS, &o->item);
    tt_message_within(&o->dictionary, ATTRIBUTES, &o->item);
    tt_message_within(&o->stacks, STACKS, &o->item);
    o->module_count = o->stack_count = 1;
    find_types(o);
    begin_left(o);
    add_stacks(o);
    for (uint32_t i = 0; o->left.item && i < o->owners.strand.count && !o->failed; i++)
        add_resource(o, i);
    add_resource(o, TT_NONE);
    add_blocks(o);
    if (o->failed)
        return;
    set_ids(o);
    tt_put_bytes(w, o->data.bytes.item, o->data.bytes.count);
    put_dictionary(w, o);
}

static int write_otlp(struct tt_export *e, struct tt_writer *w)
{
    const struct tt_memory *memory = e->profile->memory;
    struct otlp o = {.p = e->profile, .metric = e->metric};
    struct tt_message *const all[] = {&o.data,   &o.dictionary, &o.mappings,
                                      &o.stacks, &o.inner,      &o.item};

    if (tt_export_metric(e) == TT_NONE)
        return -TT_ERR_OPTION;
    tt_texts_init(&o.texts, o.p, STRINGS, &o.failed);
    tt_pairs_init(&o.modules, memory);
    tt_vector_init(&o.stack, memory, sizeof(struct stacks));
    tt_vector_init(&o.type, memory, sizeof(struct type));
    tt_vector_init(&o.left, memory, sizeof(uint64_t));
    tt_vector_init(&o.id, memory, sizeof(size_t));
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        tt_message_init(all[i], memory, &o.failed);
    o.failed = tt_owners_make(&o.owners, e) != 0 ||
               !tt_vector_add(&o.stack, o.p->contexts);
    if (!o.failed)
        put_all(&o, w);
    tt_owners_free(&o.owners);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        tt_message_fini(all[i]);
    tt_vector_fini(&o.id);
    tt_vector_fini(&o.left);
    tt_vector_fini(&o.type);
    tt_vector_fini(&o.stack);
    tt_pairs_fini(&o.modules);
    tt_texts_fini(&o.texts);
    return o.failed ? -TT_ERR_MEMORY : 0;
}

const struct tt_format tt_format_otlp = {
    .name = "otlp",
    .about = "OpenTelemetry's profiles, experimental: version 1.11.0",
    .detect = tt_otlp_detect,
    .read = tt_otlp_read,
    .flags = TT_FORMAT_PATHS,
    .write = write_otlp,
};
