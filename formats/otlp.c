/* SPDX-License-Identifier: MIT */
/* otlp.c - OpenTelemetry's profiles, as of version 1.11.0 of its protocol: writing.
 *
 *      ProfilesData ─┬ ResourceProfiles ── ScopeProfiles ── Profile, one for each metric
 *                    └ Dictionary: mappings, locations, functions, strings, stacks
 *
 * The first row of each table of the dictionary is the null one.  This part of the protocol
 * is under development: other versions may read something else in it, or nothing. */
#include "otlp.h"
#include "pprof.h"

enum { DATA_RESOURCE = 1, DATA_DICTIONARY = 2 };
enum { RESOURCE_RESOURCE = 1, RESOURCE_SCOPES = 2, SCOPE_SCOPE = 1, SCOPE_PROFILES = 2 };
enum { MAPPINGS = 1, LOCATIONS, FUNCTIONS, LINKS, STRINGS, ATTRIBUTES, STACKS };
enum { PROFILE_TYPE = 1, PROFILE_SAMPLES, PROFILE_TIME, PROFILE_DURATION };
enum { SAMPLE_STACK = 1, SAMPLE_VALUES = 4 };

struct otlp {
    const struct tt_profile *p;
    struct tt_pairs modules; /* of the profile: index */
    struct tt_texts texts;
    struct tt_message dictionary, mappings, stacks, inner, item;
    uint32_t module_count, stack_count;
    struct tt_vector stack_of; /* uint32_t of each context; 0: it has no figure */
    int failed;
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

/* ── Profiles ─────────────────────────────────────────────────────────────────────── */

static void add_sample(struct otlp *o, struct tt_message *profile, uint32_t stack,
                       uint64_t value)
{
    tt_message_varint(&o->inner, value);
    tt_message_number(&o->item, SAMPLE_STACK, stack);
    tt_message_within(&o->item, SAMPLE_VALUES, &o->inner);
    tt_message_within(profile, PROFILE_SAMPLES, &o->item);
}

static void add_samples(struct otlp *o, struct tt_message *profile,
                        const struct tt_metric_columns *m)
{
    struct tt_walk w;
    uint32_t *stack = o->stack_of.item;

    if (tt_walk_init(&w, o->p, 0) != 0) {
        o->failed = 1;
        return;
    }
    while (tt_walk_next(&w) && !o->failed) {
        uint64_t self = tt_self_of(m, w.context);
        uint64_t elsewhere = tt_elsewhere_of(m, w.context);
        if (self) {
            if (!stack[w.context])
                stack[w.context] = add_stack(o, &w, 0);
            add_sample(o, profile, stack[w.context], self);
        }
        if (elsewhere)
            add_sample(o, profile, add_stack(o, &w, 1), elsewhere);
    }
    tt_walk_fini(&w);
}

static void add_profile(struct otlp *o, struct tt_message *scope, uint32_t metric)
{
    const struct tt_metric_columns *m = &o->p->metric[metric];
    uint64_t started = tt_fact_number(o->p, "started");
    struct tt_message profile;
    unsigned char time[8];

    tt_message_init(&profile, o->p->memory, &o->failed);
    tt_message_number(&o->item, 1, tt_texts_new(&o->texts, m->name));
    tt_message_number(&o->item, 2, tt_texts_new(&o->texts, tt_pprof_unit(m->unit)));
    tt_message_within(&profile, PROFILE_TYPE, &o->item);
    add_samples(o, &profile, m);
    for (int i = 0; i < 8; i++)
        time[i] = (unsigned char)(started >> 8 * i);
    if (started) {
        tt_message_varint(&profile, PROFILE_TIME << 3 | TT_WIRE_64);
        tt_message_bytes(&profile, time, sizeof time);
    }
    tt_message_number(&profile, PROFILE_DURATION, tt_fact_number(o->p, "lasted"));
    tt_message_within(scope, SCOPE_PROFILES, &profile);
    tt_message_fini(&profile);
}

/* Adds the name of the program as the resource, and Tallytree as the scope. */
static void add_owner(struct otlp *o, struct tt_message *resource,
                      struct tt_message *scope)
{
    const char *program = tt_fact_text(o->p, "program");

    tt_message_text(&o->item, 1, "tallytree");
    tt_message_within(scope, SCOPE_SCOPE, &o->item);
    if (!program || !*program)
        return;
    tt_message_text(&o->inner, 1, program); /* a value: a string */
    tt_message_text(&o->item, 1, "service.name");
    tt_message_within(&o->item, 2, &o->inner);
    tt_message_within(&o->inner, 1, &o->item); /* an attribute */
    tt_message_within(resource, RESOURCE_RESOURCE, &o->inner);
}

/* ── The whole ────────────────────────────────────────────────────────────────────── */

/* Writes the dictionary: its messages, one after the other. */
static void put_dictionary(struct tt_writer *w, const struct otlp *o)
{
    const struct tt_message *part[] = {&o->dictionary, &o->mappings, &o->stacks,
                                       &o->texts.table};
    size_t size = 0;

    for (size_t i = 0; i < sizeof part / sizeof *part; i++)
        size += part[i]->bytes.count;
    tt_put_head(w, DATA_DICTIONARY, size);
    for (size_t i = 0; i < sizeof part / sizeof *part; i++)
        tt_put_bytes(w, part[i]->bytes.item, part[i]->bytes.count);
}

static void put_all(struct otlp *o, uint32_t metric, struct tt_writer *w)
{
    struct tt_message scope, resource;

    tt_message_init(&scope, o->p->memory, &o->failed);
    tt_message_init(&resource, o->p->memory, &o->failed);
    (void)tt_texts_new(&o->texts, "");
    tt_message_within(&o->mappings, MAPPINGS, &o->item);
    tt_message_within(&o->dictionary, LINKS, &o->item);
    tt_message_within(&o->dictionary, ATTRIBUTES, &o->item);
    tt_message_within(&o->stacks, STACKS, &o->item);
    o->module_count = o->stack_count = 1;
    add_owner(o, &resource, &scope);
    for (uint32_t m = 0; m < o->p->metrics; m++)
        if (metric == TT_NONE || m == metric)
            add_profile(o, &scope, m);
    add_blocks(o);
    tt_message_within(&resource, RESOURCE_SCOPES, &scope);
    if (!o->failed) {
        tt_put_message(w, DATA_RESOURCE, &resource);
        put_dictionary(w, o);
    }
    tt_message_fini(&resource);
    tt_message_fini(&scope);
}

static int write_otlp(struct tt_export *e, struct tt_writer *w)
{
    const struct tt_memory *memory = e->profile->memory;
    struct otlp o = {.p = e->profile};
    struct tt_message *const all[] = {&o.dictionary, &o.mappings, &o.stacks, &o.inner,
                                      &o.item};

    if (tt_export_metric(e) == TT_NONE)
        return -TT_ERR_OPTION;
    tt_texts_init(&o.texts, o.p, STRINGS, &o.failed);
    tt_pairs_init(&o.modules, memory);
    tt_vector_init(&o.stack_of, memory, sizeof(uint32_t));
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        tt_message_init(all[i], memory, &o.failed);
    if (!tt_vector_add(&o.stack_of, o.p->contexts))
        o.failed = 1;
    if (!o.failed)
        put_all(&o, e->metric, w);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        tt_message_fini(all[i]);
    tt_vector_fini(&o.stack_of);
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
