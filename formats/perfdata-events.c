/* SPDX-License-Identifier: MIT */
/* perfdata-events.c - the events that were sampled, and the fields of their samples.
 *
 *      sample   {identifier, ip, pid tid, time, addr, id, stream, cpu, period, read,
 *                callchain, raw, branches, registers, stack, …}
 *      others   {…, pid tid, time, id, stream, cpu, identifier}
 *
 * The event's attributes decide which fields there are.  Events that share a file all
 * have the identifier, or else the same fields. */
#include <stdio.h>
#include <string.h>

#include "perfdata-events.h"
#include "perfdata.h"

enum holds {
    IP = 1 << 0,
    TID = 1 << 1,
    TIME = 1 << 2,
    ADDRESS = 1 << 3,
    READ = 1 << 4,
    CHAIN = 1 << 5,
    ID = 1 << 6,
    CPU = 1 << 7,
    PERIOD = 1 << 8,
    STREAM = 1 << 9,
    RAW = 1 << 10,
    BRANCHES = 1 << 11,
    REGISTERS = 1 << 12,
    STACK = 1 << 13,
    IDENTIFIER = 1 << 16,
};

void tt_perfdata_events_init(struct tt_perfdata_events *e, const struct tt_memory *memory,
                             int is_big)
{
    e->is_big = is_big;
    tt_vector_init(&e->event, memory, sizeof(struct tt_perfdata_event));
    tt_pairs_init(&e->by_id, memory);
}

/* ── Attributes ───────────────────────────────────────────────────────────────────── */

/* Returns a word of the attributes; older versions have fewer words. */
static uint64_t word_of(const struct tt_perfdata_events *e, const char *at, size_t size,
                        size_t offset)
{
    return offset + 8 <= size ? tt_perfdata_number(at + offset, 8, e->is_big) : 0;
}

/* Returns a flag.  Flags are bit-fields of C: in big-endian files the first one is the
 * highest bit. */
static int flag_of(const struct tt_perfdata_events *e, uint64_t flags, int bit)
{
    return (int)(flags >> (e->is_big ? 63 - bit : bit) & 1);
}

int tt_perfdata_event_add(struct tt_perfdata_events *e, const char *at, size_t size,
                          const char *ids, size_t ids_size)
{
    enum { LEAST = 64, FREQUENCY = 10, TRAILER = 18 };
    struct tt_perfdata_event *event;
    uint64_t flags;
    int is_new;

    if (size < LEAST)
        return -TT_ERR_FORMAT;
    event = tt_vector_add(&e->event, 1);
    if (!event)
        return -TT_ERR_MEMORY;
    flags = word_of(e, at, size, 40);
    *event = (struct tt_perfdata_event){
        .type = (uint32_t)tt_perfdata_number(at, 4, e->is_big),
        .config = word_of(e, at, size, 8),
        .period = word_of(e, at, size, 16),
        .holds = word_of(e, at, size, 24),
        .reads = word_of(e, at, size, 32),
        .branches = word_of(e, at, size, 72),
        .registers = word_of(e, at, size, 80),
        .is_frequency = flag_of(e, flags, FREQUENCY),
        .has_trailer = flag_of(e, flags, TRAILER),
        .samples = TT_NONE,
        .amount = TT_NONE,
    };
    for (; ids_size >= 8; ids += 8, ids_size -= 8) {
        uint32_t *index = tt_pairs_get(&e->by_id, tt_perfdata_number(ids, 8, e->is_big),
                                       0, &is_new);
        if (!index)
            return -TT_ERR_MEMORY;
        *index = (uint32_t)e->event.count;
    }
    return 0;
}

struct tt_perfdata_event *tt_perfdata_event_of(struct tt_perfdata_events *e, uint64_t id)
{
    const uint32_t *index = tt_pairs_find(&e->by_id, id, 0);

    return index ? (struct tt_perfdata_event *)e->event.item + *index - 1 : NULL;
}

void tt_perfdata_event_name(struct tt_perfdata_event *event, const char *name,
                            size_t length)
{
    length = strnlen(name, length);
    if (length >= sizeof event->name)
        length = sizeof event->name - 1;
    memcpy(event->name, name, length);
    event->name[length] = '\0';
}

const char *tt_perfdata_counter(uint32_t type, uint64_t config)
{
    static const char *const hardware[] = {"cycles",
                                           "instructions",
                                           "cache-references",
                                           "cache-misses",
                                           "branches",
                                           "branch-misses",
                                           "bus-cycles",
                                           "stalled-cycles-frontend",
                                           "stalled-cycles-backend",
                                           "ref-cycles"};
    static const char *const software[] = {
        "cpu-clock",        "task-clock",   "page-faults",  "context-switches",
        "cpu-migrations",   "minor-faults", "major-faults", "alignment-faults",
        "emulation-faults", "dummy",        "bpf-output",   "cgroup-switches"};

    if (type == 0 && config < sizeof hardware / sizeof *hardware)
        return hardware[config];
    if (type == 1 && config < sizeof software / sizeof *software)
        return software[config];
    return NULL;
}

const char *tt_perfdata_event_called(const struct tt_perfdata_event *event, char text[64])
{
    const char *counter = tt_perfdata_counter(event->type, event->config);

    if (event->name[0])
        return event->name;
    if (counter)
        return counter;
    (void)snprintf(text, 64, "event %u:0x%llx", (unsigned)event->type,
                   (unsigned long long)event->config);
    return text;
}

/* ── Times ────────────────────────────────────────────────────────────────────────── */

/* Returns the event of a record whose identifier is at that offset, or else the first
 * one. */
static struct tt_perfdata_event *event_at(struct tt_perfdata_events *e,
                                          const struct tt_perfdata_record *r,
                                          size_t offset)
{
    struct tt_perfdata_event *first = e->event.item, *found;

    if (!e->event.count || e->event.count == 1 || offset > r->size ||
        r->size - offset < 8)
        return e->event.count ? first : NULL;
    found = tt_perfdata_event_of(e, tt_perfdata_number(r->body + offset, 8, e->is_big));
    return found ? found : first;
}

/* How many bytes of these fields there are. */
static size_t bytes_of(uint64_t holds, uint64_t fields)
{
    return 8 * (size_t)__builtin_popcountll(holds & fields);
}

uint64_t tt_perfdata_time(struct tt_perfdata_events *e,
                          const struct tt_perfdata_record *r)
{
    struct tt_perfdata_event *event = e->event.item;
    size_t behind;

    if (!e->event.count || r->type >= TT_PERFDATA_ATTRIBUTES || !(event->holds & TIME))
        return 0;
    if (r->type == TT_PERFDATA_SAMPLE) {
        behind = bytes_of(event->holds, IDENTIFIER | IP | TID);
        return behind + 8 <= r->size ? tt_perfdata_number(r->body + behind, 8, e->is_big)
                                     : 0;
    }
    behind = 8 + bytes_of(event->holds, ID | STREAM | CPU | IDENTIFIER);
    return event->has_trailer && behind <= r->size
               ? tt_perfdata_number(r->body + r->size - behind, 8, e->is_big)
               : 0;
}

/* ── Samples ──────────────────────────────────────────────────────────────────────── */

struct cursor {
    const char *at;
    size_t left;
    int is_big, is_short;
};

static const char *take(struct cursor *c, uint64_t size)
{
    const char *at = c->at;

    if (size > c->left) {
        c->is_short = 1;
        return NULL;
    }
    c->at += size;
    c->left -= (size_t)size;
    return at;
}

static uint64_t word(struct cursor *c)
{
    const char *at = take(c, 8);

    return at ? tt_perfdata_number(at, 8, c->is_big) : 0;
}

/* Takes that many items; the number may be invalid. */
static const char *take_items(struct cursor *c, uint64_t count, size_t size)
{
    if (count > c->left / size) {
        c->is_short = 1;
        return NULL;
    }
    return take(c, count * size);
}

/* Skips values of counters, alone or of a group, with the optional fields. */
static void skip_read(struct cursor *c, uint64_t reads)
{
    enum { ENABLED = 1, RUNNING = 2, WITH_ID = 4, GROUP = 8, LOST = 16 };
    uint64_t count = reads & GROUP ? word(c) : 1;
    size_t each = 8 + bytes_of(reads, WITH_ID | LOST);

    (void)take(c, bytes_of(reads, ENABLED | RUNNING));
    (void)take_items(c, count, each);
}

static void skip_branches(struct cursor *c, uint64_t branches)
{
    enum { INDEX = 1 << 17, COUNTERS = 1 << 19 };
    uint64_t count = word(c);

    if (branches & INDEX)
        (void)take(c, 8);
    (void)take_items(c, count, 24);
    if (branches & COUNTERS)
        (void)take_items(c, count, 8);
}

static void take_stack(struct cursor *c, struct tt_perfdata_sample *s)
{
    uint64_t size = word(c), copied;
    const char *stack = take(c, size);

    if (!size || !stack)
        return;
    copied = word(c);
    s->stack = stack;
    s->stack_size = (size_t)(copied < size ? copied : size);
}

/* Takes the fields before those of the stack. */
static void take_head(struct cursor *c, const struct tt_perfdata_event *event,
                      struct tt_perfdata_sample *s)
{
    const char *at;

    s->ip = event->holds & IP ? word(c) : 0;
    if (event->holds & TID && (at = take(c, 8))) {
        s->pid = (uint32_t)tt_perfdata_number(at, 4, c->is_big);
        s->tid = (uint32_t)tt_perfdata_number(at + 4, 4, c->is_big);
    }
    s->time = event->holds & TIME ? word(c) : 0;
    (void)take(c, bytes_of(event->holds, ADDRESS | ID | STREAM | CPU));
    s->period = event->holds & PERIOD ? word(c) : event->is_frequency ? 0 : event->period;
    if (event->holds & READ)
        skip_read(c, event->reads);
}

int tt_perfdata_sample(struct tt_perfdata_events *e, const struct tt_perfdata_record *r,
                       struct tt_perfdata_sample *s)
{
    const struct tt_perfdata_event *event = e->event.item;
    struct cursor c = {r->body, r->size, e->is_big, 0};
    uint64_t abi;
    const char *at;

    *s = (struct tt_perfdata_sample){0};
    if (!e->event.count)
        return 0;
    event = event_at(e, r,
                     event->holds & IDENTIFIER ? 0
                     : event->holds & ID
                         ? bytes_of(event->holds, IP | TID | TIME | ADDRESS)
                         : r->size);
    s->event = (uint32_t)(event - (const struct tt_perfdata_event *)e->event.item);
    if (event->holds & IDENTIFIER)
        (void)take(&c, 8);
    take_head(&c, event, s);
    if (event->holds & CHAIN) {
        s->chains = word(&c);
        s->chain = take_items(&c, s->chains, 8);
    }
    if (event->holds & RAW && (at = take(&c, 4)))
        (void)take(&c, tt_perfdata_number(at, 4, e->is_big));
    if (event->holds & BRANCHES)
        skip_branches(&c, event->branches);
    if (event->holds & REGISTERS && (abi = word(&c)) != 0) {
        at = take(&c, 8 * (uint64_t)__builtin_popcountll(event->registers));
        s->registers = abi == 2 ? at : NULL; /* of 64 bits */
    }
    if (event->holds & STACK)
        take_stack(&c, s);
    return !c.is_short;
}
