/* SPDX-License-Identifier: MIT */
/* otlp-owners.c - a resource for each process of a profile.
 *
 * The shares of processes are those of their threads.  What a profile has not by thread
 * (evicted contexts, and all figures of summaries) belongs to no process. */
#include <stdlib.h>
#include <string.h>

#include "groups.h"
#include "otlp-owners.h"
#include "sorted.h"

enum { ATTRIBUTE_KEY = 1, ATTRIBUTE_VALUE = 2, VALUE_TEXT = 1, VALUE_NUMBER = 3 };
enum { RESOURCE_ATTRIBUTES = 1 };

/* ── Shares ───────────────────────────────────────────────────────────────────────── */

static uint32_t *owner_of(struct tt_owners *o, uint32_t strand, int *is_new)
{
    const struct tt_strand_row *s = &o->e->profile->strand[strand];

    return tt_pairs_get(&o->number, (uint64_t)s->host << 32 | s->process, s->pid, is_new);
}

static int find_owners(struct tt_owners *o)
{
    for (uint32_t s = 0; s < o->e->profile->strands; s++) {
        int is_new = 0;
        uint32_t *owner = owner_of(o, s, &is_new);
        if (!owner)
            return -TT_ERR_MEMORY;
        if (!is_new)
            continue;
        *owner = (uint32_t)o->strand.count;
        if (tt_vector_push(&o->strand, &s) != 0)
            return -TT_ERR_MEMORY;
    }
    return 0;
}

static int add_shares(struct tt_owners *o)
{
    const struct tt_profile *p = o->e->profile;

    for (size_t i = 0; i < p->entries; i++) {
        const struct tt_entry *entry = &p->entry[i];
        const uint32_t *owner;
        int is_new;
        if (entry->row >= p->contexts || !entry->amount)
            continue;
        owner = owner_of(o, entry->strand, &is_new);
        if (!owner ||
            tt_vector_push(&o->share,
                           &(struct tt_share){*owner, entry->metric, (uint32_t)entry->row,
                                              0, entry->amount}) != 0)
            return -TT_ERR_MEMORY;
    }
    return 0;
}

static int by_owner(const void *a, const void *b)
{
    const struct tt_share *x = a, *y = b;

    return TT_ORDER(x->owner, y->owner) ?: TT_ORDER(x->metric, y->metric)
           ?: TT_ORDER(x->context, y->context);
}

/* Threads of a process become one share. */
static void sum_shares(struct tt_owners *o)
{
    struct tt_share *share = o->share.item;
    size_t kept = 0;

    tt_vector_sort(&o->share, by_owner);
    for (size_t i = 0; i < o->share.count; i++)
        if (kept && by_owner(&share[kept - 1], &share[i]) == 0)
            share[kept - 1].amount += share[i].amount;
        else
            share[kept++] = share[i];
    o->share.count = kept;
}

int tt_owners_make(struct tt_owners *o, const struct tt_export *e)
{
    const struct tt_memory *m = e->profile->memory;
    int error;

    o->e = e;
    tt_pairs_init(&o->number, m);
    tt_vector_init(&o->strand, m, sizeof(uint32_t));
    tt_vector_init(&o->share, m, sizeof(struct tt_share));
    error = find_owners(o);
    if (!error && o->strand.count > 1)
        error = add_shares(o);
    if (!error)
        sum_shares(o);
    return error;
}

void tt_owners_free(struct tt_owners *o)
{
    tt_vector_fini(&o->share);
    tt_vector_fini(&o->strand);
    tt_pairs_fini(&o->number);
}

const struct tt_share *tt_owners_shares(const struct tt_owners *o, uint32_t owner,
                                        uint32_t metric, size_t *count)
{
    const struct tt_share *share = o->share.item,
                          wanted = {.owner = owner, .metric = metric};
    size_t low = 0, high = o->share.count;

    while (low < high) { /* context 0 is the first one */
        size_t middle = low + (high - low) / 2;
        if (by_owner(&share[middle], &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (*count = 0; low + *count < o->share.count; ++*count)
        if (share[low + *count].owner != owner || share[low + *count].metric != metric)
            break;
    return share ? share + low : NULL;
}

/* ── Attributes ───────────────────────────────────────────────────────────────────── */

struct resource {
    const struct tt_export *e;
    struct tt_message *to, value, attribute;
};

/* Was this attribute given? */
static int is_given(const struct tt_export *e, const char *key)
{
    const size_t length = strlen(key);

    for (size_t i = 0; i < e->attributes; i++)
        if (strncmp(e->attribute[i], key, length) == 0 && e->attribute[i][length] == '=')
            return 1;
    return 0;
}

/* The value is in r->value. */
static void put_attribute(struct resource *r, const char *key, size_t length)
{
    tt_message_varint(&r->attribute, ATTRIBUTE_KEY << 3 | TT_WIRE_BYTES);
    tt_message_varint(&r->attribute, length);
    tt_message_bytes(&r->attribute, key, length);
    tt_message_within(&r->attribute, ATTRIBUTE_VALUE, &r->value);
    tt_message_within(r->to, RESOURCE_ATTRIBUTES, &r->attribute);
}

static void put_text(struct resource *r, const char *key, const char *text)
{
    if (!text || !*text || is_given(r->e, key))
        return;
    tt_message_text(&r->value, VALUE_TEXT, text);
    put_attribute(r, key, strlen(key));
}

static void put_number(struct resource *r, const char *key, uint64_t number)
{
    if (!number || is_given(r->e, key))
        return;
    tt_message_number(&r->value, VALUE_NUMBER, number);
    put_attribute(r, key, strlen(key));
}

static void put_given(struct resource *r)
{
    for (size_t i = 0; i < r->e->attributes; i++) {
        const char *key = r->e->attribute[i], *equals = strchr(key, '=');
        tt_message_text(&r->value, VALUE_TEXT, equals + 1);
        put_attribute(r, key, (size_t)(equals - key));
    }
}

/* A label of the system: there may be none, and brackets say so. */
static void put_group(struct resource *r, const char *key, uint32_t strand,
                      enum tt_group group)
{
    const struct tt_profile *p = r->e->profile;
    char text[TT_GROUP_SIZE];
    const char *value;

    if (!*tt_profile_string(p, p->strand[strand].labels))
        return;
    value = tt_group_of(p, strand, group, text);
    if (*value != '[')
        put_text(r, key, value);
}

/* Returns the host, if all have the same one. */
static uint32_t common_host(const struct tt_profile *p)
{
    for (uint32_t s = 1; s < p->strands; s++)
        if (p->strand[s].host != p->strand[0].host)
            return 0;
    return p->strands ? p->strand[0].host : 0;
}

static void put_process(struct resource *r, uint32_t strand)
{
    const struct tt_profile *p = r->e->profile;
    const struct tt_strand_row *s = &p->strand[strand];

    put_text(r, "host.name", tt_profile_string(p, s->host));
    put_number(r, "process.pid", s->pid);
    if (s->pid) /* idle processors are a strand, too */
        put_text(r, "process.executable.name", tt_profile_string(p, s->process));
    put_group(r, "process.owner", strand, TT_GROUP_USER);
    put_group(r, "process.linux.cgroup", strand, TT_GROUP_CGROUP);
    put_group(r, "container.id", strand, TT_GROUP_CONTAINER);
}

/* The program of a recording, or the process where there are several. */
static const char *service_of(const struct tt_owners *o, uint32_t owner)
{
    const struct tt_profile *p = o->e->profile;
    const uint32_t *strand = o->strand.item;
    const char *program = tt_profile_program(p),
               *process = owner == TT_NONE
                              ? ""
                              : tt_profile_string(p, p->strand[strand[owner]].process);

    if (o->e->service)
        return o->e->service;
    if (*process && (o->strand.count > 1 || !program || !*program))
        return process;
    return program;
}

void tt_owners_resource(const struct tt_owners *o, uint32_t owner, int *failed,
                        struct tt_message *resource)
{
    const struct tt_profile *p = o->e->profile;
    struct resource r = {.e = o->e, .to = resource};

    tt_message_init(&r.value, p->memory, failed);
    tt_message_init(&r.attribute, p->memory, failed);
    put_text(&r, "service.name", service_of(o, owner));
    if (owner == TT_NONE)
        put_text(&r, "host.name", tt_profile_string(p, common_host(p)));
    else
        put_process(&r, ((const uint32_t *)o->strand.item)[owner]);
    put_given(&r);
    tt_message_fini(&r.attribute);
    tt_message_fini(&r.value);
}
