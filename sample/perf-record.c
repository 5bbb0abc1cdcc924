/* SPDX-License-Identifier: MIT */
/* perf-record.c - decodes a record of perf events.
 *
 *      sample   {head, identifier, ip, pid tid, time, period, callchain, raw, registers, stack}
 *      others   {head, ..., pid tid, time, identifier}
 *
 * perf-events.c requests these fields; the system writes them in this order. */
#include "perf-record.h"

#include <linux/perf_event.h>
#include <string.h>

#include "perf-events.h"

#ifndef PERF_RECORD_MISC_SWITCH_OUT_PREEMPT /* since Linux 4.17 */
#define PERF_RECORD_MISC_SWITCH_OUT_PREEMPT (1 << 14)
#endif

enum { TRAILER = 24 };

struct cursor {
    const char *at, *end;
};

/* NULL if less is left. */
static const void *take(struct cursor *c, size_t size)
{
    const char *at = c->at;

    if ((size_t)(c->end - at) < size)
        return NULL;
    c->at += size;
    return at;
}

static int take_word(struct cursor *c, uint64_t *word)
{
    const void *at = take(c, sizeof *word);

    if (at)
        memcpy(word, at, sizeof *word);
    return at != NULL;
}

static int take_pair(struct cursor *c, uint32_t *a, uint32_t *b)
{
    uint64_t word;

    if (!take_word(c, &word))
        return 0;
    *a = (uint32_t)word;
    *b = (uint32_t)(word >> 32);
    return 1;
}

/* Takes the fields at the end of all records other than samples. */
static int take_trailer(struct tt_perf_event *e, struct cursor *c)
{
    struct cursor t = {c->end - TRAILER, c->end};

    if ((size_t)(c->end - c->at) < TRAILER)
        return 0;
    c->end = t.at;
    return take_pair(&t, &e->pid, &e->tid) && take_word(&t, &e->time) &&
           take_word(&t, &e->source);
}

/* ── Samples ──────────────────────────────────────────────────────────────────────── */

/* Markers say whose addresses follow; only the kernel's were requested. */
static int take_chain(struct tt_perf_event *e, struct cursor *c)
{
    uint64_t count, address;
    const char *chain;

    if (!take_word(c, &count) || count > (size_t)(c->end - c->at) / sizeof address)
        return 0;
    chain = take(c, count * sizeof address);
    e->of.sample.kernel = NULL;
    e->of.sample.kernels = 0;
    for (uint64_t i = 0; i < count; i++) {
        memcpy(&address, chain + i * sizeof address, sizeof address);
        if (address == PERF_CONTEXT_USER)
            break;
        if (address >= PERF_CONTEXT_MAX)
            e->of.sample.kernel = NULL; /* the addresses after it */
        else if (!e->of.sample.kernel)
            e->of.sample.kernel = (const void *)(chain + i * sizeof address);
        e->of.sample.kernels = e->of.sample.kernel ? e->of.sample.kernels + 1 : 0;
    }
    return 1;
}

static int take_registers(struct tt_perf_event *e, struct cursor *c)
{
    uint64_t abi, value[TT_REGISTERS];
    const void *at;

    e->of.sample.has_registers = 0;
    if (!take_word(c, &abi))
        return 0;
    if (abi == PERF_SAMPLE_REGS_ABI_NONE)
        return 1;
    if (!(at = take(c, sizeof value)))
        return 0;
    memcpy(value, at, sizeof value);
    tt_registers_of_perf(&e->of.sample.registers, tt_machine_perf_mask(), value);
    e->of.sample.has_registers = abi == PERF_SAMPLE_REGS_ABI_64;
    return 1;
}

static int take_stack(struct tt_perf_event *e, struct cursor *c)
{
    uint64_t size, copied;

    e->of.sample.stack = NULL;
    e->of.sample.stack_size = 0;
    if (!take_word(c, &size))
        return 0;
    if (!size)
        return 1;
    if (!(e->of.sample.stack = take(c, size)) || !take_word(c, &copied) || copied > size)
        return 0;
    e->of.sample.stack_size = copied;
    return 1;
}

/* A tracepoint's record, with its size before it. */
static int take_raw(struct tt_perf_event *e, struct cursor *c)
{
    const void *at = take(c, sizeof(uint32_t));
    uint32_t size;

    if (!at)
        return 0;
    memcpy(&size, at, sizeof size);
    e->of.sample.raw_size = size;
    e->of.sample.raw = take(c, size);
    return e->of.sample.raw != NULL;
}

static int take_sample(struct tt_perf_event *e, struct cursor *c, unsigned fields)
{
    e->kind = TT_PERF_SAMPLE;
    e->of.sample.weight = 0;
    e->of.sample.frames = (struct tt_frame_copies){NULL, 0, NULL};
    e->of.sample.raw = NULL;
    e->of.sample.raw_size = 0;
    e->of.sample.state = e->of.sample.woken = e->of.sample.flags = 0;
    return take_word(c, &e->source) && take_word(c, &e->of.sample.place) &&
           take_pair(c, &e->pid, &e->tid) && take_word(c, &e->time) &&
           (!(fields & TT_PERF_HAS_PERIOD) || take_word(c, &e->of.sample.weight)) &&
           take_chain(e, c) && (!(fields & TT_PERF_HAS_RAW) || take_raw(e, c)) &&
           take_registers(e, c) && take_stack(e, c);
}

/* Its first fields are a sample's. */
void tt_perf_decode_copy(struct tt_perf_event *e, const void *record, size_t size)
{
    struct cursor c = {(const char *)record + sizeof(struct perf_event_header),
                       (const char *)record + size};
    const void *from;
    uint32_t length;
    uint64_t place;

    memset(e, 0, offsetof(struct tt_perf_event, of));
    if (size < sizeof(struct perf_event_header) || !take_word(&c, &e->source) ||
        !take_word(&c, &place) || !take_pair(&c, &e->pid, &e->tid) ||
        !take_word(&c, &e->time) || !(from = take(&c, sizeof length)))
        return;
    memcpy(&length, from, sizeof length);
    e->of.copied.size = length;
    e->of.copied.bytes = take(&c, length);
    e->kind = e->of.copied.bytes ? TT_PERF_COPIED : TT_PERF_NONE;
}

/* ── Others ───────────────────────────────────────────────────────────────────────── */

/* The rest is a string that ends within it. */
static const char *take_text(struct cursor *c)
{
    return memchr(c->at, 0, (size_t)(c->end - c->at)) ? c->at : NULL;
}

static int take_mapping(struct tt_perf_event *e, struct cursor *c)
{
    struct tt_region *m = &e->of.mapped;
    uint64_t length, word;

    e->kind = TT_PERF_MAPPED;
    if (!take_trailer(e, c) || !take_pair(c, &e->pid, &e->tid) ||
        !take_word(c, &m->start) || !take_word(c, &length) || !take_word(c, &m->offset) ||
        !take_pair(c, &m->major, &m->minor) || !take_word(c, &m->inode) ||
        !take_word(c, &word) || !take_word(c, &word) || !(m->path = take_text(c)))
        return 0;
    m->end = m->start + length;
    if (m->path[0] != '/' && strcmp(m->path, "[vdso]") != 0)
        m->path = "";
    return m->end >= m->start;
}

static int take_name(struct tt_perf_event *e, struct cursor *c, int exec)
{
    e->kind = TT_PERF_NAMED;
    e->of.named.exec = exec;
    return take_trailer(e, c) && take_pair(c, &e->pid, &e->tid) &&
           (e->of.named.name = take_text(c));
}

static int take_task(struct tt_perf_event *e, struct cursor *c, enum tt_perf_kind kind)
{
    uint32_t parent_tid;

    e->kind = kind;
    return take_trailer(e, c) && take_pair(c, &e->pid, &e->of.forked.pid) &&
           take_pair(c, &e->tid, &parent_tid);
}

static int take_loss(struct tt_perf_event *e, struct cursor *c, int by_event)
{
    uint64_t id;

    e->kind = TT_PERF_LOST;
    e->of.lost.is_of_waits = 0;
    return take_trailer(e, c) && (!by_event || take_word(c, &id)) &&
           take_word(c, &e->of.lost.samples);
}

/* That of a processor names the other thread, too. */
static int take_switch(struct tt_perf_event *e, struct cursor *c, unsigned misc)
{
    e->kind = TT_PERF_SWITCHED;
    e->of.switched.is_in = !(misc & PERF_RECORD_MISC_SWITCH_OUT);
    e->of.switched.is_preempted = (misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) != 0;
    return take_trailer(e, c);
}

static int take_any(struct tt_perf_event *e, const struct perf_event_header *h,
                    struct cursor *c, unsigned fields)
{
    switch (h->type) {
    case PERF_RECORD_SAMPLE:
        return take_sample(e, c, fields);
    case PERF_RECORD_MMAP2:
        return take_mapping(e, c);
    case PERF_RECORD_COMM:
        return take_name(e, c, (h->misc & PERF_RECORD_MISC_COMM_EXEC) != 0);
    case PERF_RECORD_FORK:
        return take_task(e, c, TT_PERF_FORKED);
    case PERF_RECORD_EXIT:
        return take_task(e, c, TT_PERF_EXITED);
    case PERF_RECORD_LOST:
        return take_loss(e, c, 1);
    case PERF_RECORD_LOST_SAMPLES:
        return take_loss(e, c, 0);
    case PERF_RECORD_SWITCH:
    case PERF_RECORD_SWITCH_CPU_WIDE:
        return take_switch(e, c, h->misc);
    default:
        return 0;
    }
}

void tt_perf_decode(struct tt_perf_event *e, const void *record, size_t size,
                    unsigned fields)
{
    struct perf_event_header h;
    struct cursor c = {(const char *)record + sizeof h, (const char *)record + size};

    memset(e, 0, offsetof(struct tt_perf_event, of));
    if (size < sizeof h)
        return;
    memcpy(&h, record, sizeof h);
    if (!take_any(e, &h, &c, fields))
        e->kind = TT_PERF_NONE;
}
