/* SPDX-License-Identifier: MIT */
/* nettrace-methods.c - which method of .NET an address is in.
 *
 * Methods and modules are described by events when they are loaded, and those that are
 * still there at the end of the trace then.  Code that was compiled again is elsewhere;
 * where two methods were at one address, the one that was described last is taken. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nettrace-methods.h"
#include "nettrace.h"
#include "sorted.h"
#include "utf8.h"

/* ── Payloads ─────────────────────────────────────────────────────────────────────── */

uint64_t tt_nettrace_number(struct tt_nettrace_payload *p, int size)
{
    uint64_t n;

    if (p->end - p->at < size) {
        p->at = p->end;
        return 0;
    }
    n = tt_number_at(p->at, size);
    p->at += size;
    return n;
}

static int put(struct tt_vector *to, uint32_t code)
{
    char bytes[8];
    size_t size = tt_utf8_put(bytes, code);
    char *at = tt_vector_add(to, size);

    if (!at)
        return -1;
    memcpy(at, bytes, size);
    return 0;
}

int tt_nettrace_text(struct tt_nettrace_payload *p, struct tt_vector *to)
{
    int error = 0;

    while (!error && p->end - p->at >= 2) {
        uint32_t code = (uint32_t)tt_nettrace_number(p, 2), pair = 0;
        if (!code)
            return 0;
        if (p->end - p->at >= 2)
            pair = tt_utf16_pair(code, (uint32_t)tt_number_at(p->at, 2));
        p->at += pair ? 2 : 0;
        error = put(to, pair ? pair : tt_utf16_is_half(code) ? 0xfffd : code);
    }
    p->at = error ? p->at : p->end;
    return error;
}

/* ── Methods, modules ─────────────────────────────────────────────────────────────── */

void tt_nettrace_methods_init(struct tt_nettrace_methods *m,
                              const struct tt_memory *memory)
{
    m->memory = memory;
    tt_vector_init(&m->method, memory, sizeof(struct tt_nettrace_method));
    tt_vector_init(&m->text, memory, 1);
    tt_vector_init(&m->path, memory, sizeof(size_t));
    tt_pairs_init(&m->modules, memory);
    tt_pairs_init(&m->places, memory);
}

/* Of a signature, "instance class void (int32,string)", the types of the arguments. */
static int add_arguments(struct tt_nettrace_methods *m, struct tt_nettrace_payload *p)
{
    const size_t start = m->text.count;
    const char *open;
    char *text;
    int error = tt_nettrace_text(p, &m->text);

    if (error || m->text.count == start)
        return error;
    text = (char *)m->text.item + start;
    open = memchr(text, '(', m->text.count - start);
    if (open)
        memmove(text, open, m->text.count - start - (size_t)(open - text));
    m->text.count -= open ? (size_t)(open - text) : m->text.count - start;
    return 0;
}

/* "Namespace.Class.Method(arguments)"; 0, or -1 without memory. */
static int add_name(struct tt_nettrace_methods *m, struct tt_nettrace_payload *p)
{
    const size_t start = m->text.count;
    int error = tt_nettrace_text(p, &m->text);

    if (!error && m->text.count > start)
        error = put(&m->text, '.');
    error = error ?: tt_nettrace_text(p, &m->text);
    error = error ?: add_arguments(m, p);
    return error || !tt_vector_add(&m->text, 1) ? -1 : 0;
}

int tt_nettrace_add_method(struct tt_nettrace_methods *m, uint64_t pid,
                           struct tt_nettrace_payload p)
{
    struct tt_nettrace_method *to = tt_vector_add(&m->method, 1);

    if (!to)
        return -1;
    (void)tt_nettrace_number(&p, 8); /* its id */
    to->pid = pid;
    to->module = tt_nettrace_number(&p, 8);
    to->start = tt_nettrace_number(&p, 8);
    to->size = tt_nettrace_number(&p, 4);
    (void)tt_nettrace_number(&p, 8); /* token and flags */
    to->name = m->text.count;
    to->block = TT_NONE;
    to->order = (uint32_t)m->method.count;
    return add_name(m, &p);
}

int tt_nettrace_add_module(struct tt_nettrace_methods *m, uint64_t pid,
                           struct tt_nettrace_payload p)
{
    uint64_t id = tt_nettrace_number(&p, 8);
    uint32_t *to;
    int is_new;

    if (tt_vector_push(&m->path, &m->text.count) != 0)
        return -1;
    (void)tt_nettrace_number(&p, 8); /* the assembly */
    (void)tt_nettrace_number(&p, 8); /* flags */
    to = tt_pairs_get(&m->modules, id, pid, &is_new);
    if (!to || tt_nettrace_text(&p, &m->text) != 0 || !tt_vector_add(&m->text, 1))
        return -1;
    *to = (uint32_t)m->path.count;
    return 0;
}

/* By process and address; of one address, the last one first. */
static int compare(const void *a, const void *b)
{
    const struct tt_nettrace_method *x = a, *y = b;

    return TT_ORDER(x->pid, y->pid) ?: TT_ORDER(x->start, y->start)
           ?: TT_ORDER(y->order, x->order);
}

void tt_nettrace_sort(struct tt_nettrace_methods *m)
{
    struct tt_nettrace_method *method = m->method.item;
    size_t kept = 0;

    if (!m->method.count)
        return;
    qsort(method, m->method.count, sizeof *method, compare);
    for (size_t i = 0; i < m->method.count; i++)
        if (!kept || method[kept - 1].start != method[i].start ||
            method[kept - 1].pid != method[i].pid)
            method[kept++] = method[i];
    m->method.count = kept;
}

static struct tt_nettrace_method *find(const struct tt_nettrace_methods *m, uint64_t pid,
                                       uint64_t address)
{
    struct tt_nettrace_method *method = m->method.item;
    size_t low = 0, high = m->method.count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (method[middle].pid < pid ||
            (method[middle].pid == pid && method[middle].start <= address))
            low = middle + 1;
        else
            high = middle;
    }
    return low && method[low - 1].pid == pid &&
                   address - method[low - 1].start < method[low - 1].size
               ? &method[low - 1]
               : NULL;
}

/* An address outside of all methods becomes a separate function. */
static uint32_t place_of(struct tt_nettrace_methods *m, struct tt_builder *b,
                         uint64_t address)
{
    int is_new;
    uint32_t *at = tt_pairs_get(&m->places, address, 0, &is_new);
    char name[30];

    if (at && is_new) {
        (void)snprintf(name, sizeof name, "0x%llx", (unsigned long long)address);
        *at = tt_builder_block(
            b, &(struct tt_block_info){.name = name, .kind = TT_KIND_FUNCTION});
    }
    return at ? *at : TT_NONE;
}

int tt_nettrace_is_method(const struct tt_nettrace_methods *m, uint64_t pid,
                          uint64_t address)
{
    return find(m, pid, address) || (address && find(m, pid, address - 1));
}

uint32_t tt_nettrace_block(struct tt_nettrace_methods *m, struct tt_builder *b,
                           uint64_t pid, uint64_t address)
{
    struct tt_nettrace_method *f = find(m, pid, address);
    const uint32_t *path;

    if (!f && address)
        f = find(m, pid, address - 1); /* a call may be the last of a method */
    if (!f)
        return place_of(m, b, address);
    if (f->block == TT_NONE) {
        path = tt_pairs_find(&m->modules, f->module, pid);
        f->block = tt_builder_block(
            b, &(struct tt_block_info){
                   .name = (const char *)m->text.item + f->name,
                   .module = path ? (const char *)m->text.item +
                                        ((const size_t *)m->path.item)[*path - 1]
                                  : "",
                   .kind = TT_KIND_FUNCTION});
    }
    return f->block;
}
