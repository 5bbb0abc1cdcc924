/* SPDX-License-Identifier: MIT */
/* nettrace-spaces.c - which function an address is in, in traces of whole machines.
 *
 *      process, address ─▶ mapping ─▶ symbol, or the file and the place in it
 *
 * The events of the provider Universal.System describe mappings of processes and, where the
 * writer knew them, the symbols in these; the others are named by the file later.  Where
 * mappings of a process overlap, the one that begins last is taken, and of these the one
 * that was described last. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nettrace-methods.h"
#include "nettrace-spaces.h"
#include "nettrace.h"
#include "sorted.h"

enum { MOST_BACK = 64, ID_SIZE = 40 };

struct mapping {
    uint64_t pid, start, end, offset, id, about;
    size_t name; /* in the text */
    size_t order;
};

struct symbol {
    uint64_t mapping, start, end;
    size_t name, order;
    uint32_t block;
};

void tt_nettrace_spaces_init(struct tt_nettrace_spaces *s, const struct tt_memory *memory)
{
    tt_vector_init(&s->mapping, memory, sizeof(struct mapping));
    tt_vector_init(&s->symbol, memory, sizeof(struct symbol));
    tt_vector_init(&s->text, memory, 1);
    tt_pairs_init(&s->ids, memory);
    tt_pairs_init(&s->places, memory);
}

/* ── What events say ──────────────────────────────────────────────────────────────── */

uint64_t tt_nettrace_varied(struct tt_nettrace_payload *p)
{
    uint64_t n = 0;

    for (unsigned shift = 0; shift < 70 && p->at < p->end; shift += 7) {
        uint64_t byte = (unsigned char)*p->at++;
        if (shift < 64)
            n |= (byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return n;
    }
    p->at = p->end;
    return 0;
}

/* Takes a text of UTF-8 after its length; *length is cut down to what is there. */
static const char *take_text(struct tt_nettrace_payload *p, size_t *length)
{
    const char *at;

    *length = (size_t)tt_nettrace_number(p, 2);
    at = p->at;
    if (*length > (size_t)(p->end - at))
        *length = (size_t)(p->end - at);
    p->at += *length;
    return at;
}

/* Keeps a text without zeros: its place is *to.  0, or -1 without memory. */
static int keep(struct tt_nettrace_spaces *s, const char *text, size_t length, size_t *to)
{
    char *copy = tt_vector_add(&s->text, length + 1);

    if (!copy)
        return -1;
    for (size_t i = 0; i < length; i++)
        copy[i] = (char)(text[i] ? text[i] : '?');
    copy[length] = '\0';
    *to = (size_t)(copy - (char *)s->text.item);
    return 0;
}

int tt_nettrace_add_mapping(struct tt_nettrace_spaces *s, uint64_t pid,
                            struct tt_nettrace_payload p)
{
    struct mapping *to = tt_vector_add(&s->mapping, 1);
    const char *name;
    size_t length;

    if (!to)
        return -1;
    to->pid = pid;
    to->id = tt_nettrace_varied(&p);
    to->start = tt_nettrace_varied(&p);
    to->end = tt_nettrace_varied(&p);
    to->offset = tt_nettrace_varied(&p);
    name = take_text(&p, &length);
    to->about = tt_nettrace_varied(&p);
    to->order = s->mapping.count;
    return keep(s, name, length, &to->name);
}

int tt_nettrace_add_symbol(struct tt_nettrace_spaces *s, struct tt_nettrace_payload p)
{
    struct symbol *to = tt_vector_add(&s->symbol, 1);
    const char *name;
    size_t length;

    if (!to)
        return -1;
    (void)tt_nettrace_varied(&p); /* its number */
    to->mapping = tt_nettrace_varied(&p);
    to->start = tt_nettrace_varied(&p);
    to->end = tt_nettrace_varied(&p);
    to->order = s->symbol.count;
    to->block = TT_NONE;
    name = take_text(&p, &length);
    return keep(s, name, length, &to->name);
}

/* The build-id of a file is in JSON: "build_id": "c0ffee…". */
int tt_nettrace_add_about(struct tt_nettrace_spaces *s, struct tt_nettrace_payload p)
{
    static const char key[] = "\"build_id\"";
    uint64_t number = tt_nettrace_varied(&p);
    size_t length, place;
    const char *json = take_text(&p, &length), *end = json + length;
    const char *at = memmem(json, length, key, strlen(key)), *stop;
    uint32_t *to;
    int is_new;

    at = at ? memchr(at + strlen(key), '"', (size_t)(end - at) - strlen(key)) : NULL;
    stop = at ? memchr(at + 1, '"', (size_t)(end - at) - 1) : NULL;
    if (!stop || stop - at - 1 > ID_SIZE)
        return 0;
    to = tt_pairs_get(&s->ids, number, 0, &is_new);
    if (!to || keep(s, at + 1, (size_t)(stop - at - 1), &place) != 0)
        return -1;
    *to = (uint32_t)place;
    return 0;
}

/* ── Order ────────────────────────────────────────────────────────────────────────── */

static int by_place(const void *a, const void *b)
{
    const struct mapping *x = a, *y = b;

    return TT_ORDER(x->pid, y->pid) ?: TT_ORDER(x->start, y->start)
           ?: TT_ORDER(x->order, y->order);
}

static int by_address(const void *a, const void *b)
{
    const struct symbol *x = a, *y = b;

    return TT_ORDER(x->mapping, y->mapping) ?: TT_ORDER(x->start, y->start)
           ?: TT_ORDER(x->order, y->order);
}

void tt_nettrace_sort_spaces(struct tt_nettrace_spaces *s)
{
    tt_vector_sort(&s->mapping, by_place);
    tt_vector_sort(&s->symbol, by_address);
}

static const struct mapping *find_mapping(const struct tt_nettrace_spaces *s,
                                          uint64_t pid, uint64_t address)
{
    const struct mapping *m = s->mapping.item;
    size_t low = 0, high = s->mapping.count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (m[middle].pid < pid || (m[middle].pid == pid && m[middle].start <= address))
            low = middle + 1;
        else
            high = middle;
    }
    for (int back = 0; back < MOST_BACK && low-- > 0 && m[low].pid == pid; back++)
        if (address < m[low].end)
            return &m[low];
    return NULL;
}

static struct symbol *find_symbol(const struct tt_nettrace_spaces *s, uint64_t mapping,
                                  uint64_t address)
{
    struct symbol *symbol = s->symbol.item;
    size_t low = 0, high = s->symbol.count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (symbol[middle].mapping < mapping ||
            (symbol[middle].mapping == mapping && symbol[middle].start <= address))
            low = middle + 1;
        else
            high = middle;
    }
    if (!low || symbol[low - 1].mapping != mapping || address > symbol[low - 1].end)
        return NULL;
    return &symbol[low - 1];
}

/* ── Blocks ───────────────────────────────────────────────────────────────────────── */

/* Of "instance void [App] Name.Space::Method(int)[Tier1]" the method and its module, as
 * they are in traces of one process; other names are kept. */
static uint32_t symbol_block(struct tt_nettrace_spaces *s, struct tt_builder *b,
                             struct symbol *symbol, const char *module)
{
    char *name = (char *)s->text.item + symbol->name, *open = strstr(name, " [");
    char *close = open ? strstr(open, "] ") : NULL, *tier = strrchr(name, '[');

    if (symbol->block != TT_NONE)
        return symbol->block;
    if (close && tier > close + 2 && name[strlen(name) - 1] == ']') {
        *close = *tier = '\0';
        module = open + 2;
        name = close + 2;
    }
    symbol->block = tt_builder_block(
        b, &(struct tt_block_info){
               .name = name, .module = module, .kind = TT_KIND_FUNCTION});
    return symbol->block;
}

static uint32_t file_block(const struct tt_nettrace_spaces *s, struct tt_builder *b,
                           const struct mapping *m, uint64_t address)
{
    const char *path = m ? (const char *)s->text.item + m->name : "";
    const char *slash = *path == '/' ? strrchr(path, '/') : NULL;
    const uint32_t *id = slash ? tt_pairs_find(&s->ids, m->about, 0) : NULL;
    uint64_t place = slash ? address - m->start + m->offset : address;
    char name[300];

    (void)snprintf(name, sizeof name, "%.250s%s0x%llx", slash ? slash + 1 : "",
                   slash ? "+" : "", (unsigned long long)place);
    return tt_builder_block(
        b, &(struct tt_block_info){.name = name,
                                   .module = path,
                                   .file = id ? (const char *)s->text.item + *id : "",
                                   .offset = slash ? place : 0,
                                   .kind = slash ? TT_KIND_NATIVE : TT_KIND_FUNCTION});
}

uint32_t tt_nettrace_place(struct tt_nettrace_spaces *s, struct tt_builder *b,
                           uint64_t pid, uint64_t address)
{
    const struct mapping *m = find_mapping(s, pid, address);
    struct symbol *symbol;
    uint32_t *at, block;
    int is_new;

    if (!m)
        m = find_mapping(s, 0, address); /* the kernel's */
    symbol = m ? find_symbol(s, m->id, address) : NULL;
    if (symbol)
        return symbol_block(s, b, symbol, (const char *)s->text.item + m->name);
    at = tt_pairs_get(&s->places, m ? m->id : UINT64_MAX, address, &is_new);
    if (!at || !is_new)
        return at ? *at : TT_NONE;
    block = file_block(s, b, m, address);
    *at = block;
    return block;
}
