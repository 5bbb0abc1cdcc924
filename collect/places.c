/* SPDX-License-Identifier: MIT */
/* places.c - from a place in the code to its block, for handlers.
 *
 *      module's number, link-time address  ->  block
 *
 * A table that only grows: readers look without a lock, writers hold the registry of
 * blocks.  A module's number is never used again, so that what is loaded elsewhere later
 * is something else. */
#include "places.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "block.h"

enum { FIRST = 4096, MODULES = 1024, ADDRESS_BITS = 48, NO_MODULE = 0xffff };

struct place {
    uint64_t key; /* 0: unused; stored last */
    tt_block block;
    uint32_t spare;
};

struct table {
    uint32_t size, count;
    struct place place[];
};

static struct table *table; /* replaced whole; old ones stay, for who reads them */
static tt_block marker[TT_UNWIND_ENDS];
static char *build_id[MODULES]; /* in hex */
static char *text, *text_end;   /* room for these */

static uint64_t key_of(const struct tt_native *n)
{
    uint64_t module = n->mapping ? n->mapping->module->id % (NO_MODULE - 1u) + 1u
                                 : NO_MODULE;

    return module << ADDRESS_BITS |
           (tt_native_place(n) & (((uint64_t)1 << ADDRESS_BITS) - 1));
}

uint64_t tt_place_function(const struct tt_native *n)
{
    struct tt_native start = *n;

    if (n->function) {
        start.pc = n->function;
        start.flags |= TT_NATIVE_EXACT;
    }
    return key_of(&start);
}

/* ── The table ────────────────────────────────────────────────────────────────────── */

static struct place *slot_of(struct table *t, uint64_t key)
{
    uint32_t i = (uint32_t)(key * 0x9e3779b97f4a7c15u >> 32) & (t->size - 1);
    uint64_t found;

    while ((found = __atomic_load_n(&t->place[i].key, __ATOMIC_ACQUIRE)) && found != key)
        i = (i + 1) & (t->size - 1);
    return &t->place[i];
}

tt_block tt_place_find(const struct tt_native *n)
{
    struct table *t = __atomic_load_n(&table, __ATOMIC_ACQUIRE);

    return t ? slot_of(t, key_of(n))->block : 0;
}

static int grow(void)
{
    struct table *old = table, *t;
    uint32_t size = old ? old->size * 2 : FIRST;

    t = mmap(NULL, sizeof *t + size * sizeof *t->place, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (t == MAP_FAILED)
        return -1;
    t->size = size;
    for (uint32_t i = 0; old && i < old->size; i++)
        if (old->place[i].key) {
            *slot_of(t, old->place[i].key) = old->place[i];
            t->count++;
        }
    __atomic_store_n(&table, t, __ATOMIC_RELEASE);
    return 0;
}

static void keep(uint64_t key, tt_block block)
{
    struct place *p;

    if ((!table || table->count * 2 >= table->size) && grow() != 0)
        return; /* it is made again, and found in the registry */
    p = slot_of(table, key);
    p->block = block;
    __atomic_store_n(&p->key, key, __ATOMIC_RELEASE);
    table->count++;
}

/* ── What a block says ────────────────────────────────────────────────────────────── */

static char *keep_text(size_t size)
{
    enum { CHUNK = 64 << 10 };
    char *p;

    if ((size_t)(text_end - text) < size) {
        p = mmap(NULL, CHUNK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED)
            return NULL;
        text = p;
        text_end = p + CHUNK;
    }
    p = text;
    text += size;
    return p;
}

static const char *id_of(const struct tt_module *m)
{
    static const char digit[] = "0123456789abcdef";
    char *hex;

    if (m->id >= MODULES || !m->build_id_size)
        return "";
    if (!build_id[m->id] && (hex = keep_text(2 * m->build_id_size + 1))) {
        for (uint32_t i = 0; i < m->build_id_size; i++) {
            hex[2 * i] = digit[m->build_id[i] >> 4];
            hex[2 * i + 1] = digit[m->build_id[i] & 15];
        }
        hex[2 * m->build_id_size] = '\0';
        build_id[m->id] = hex;
    }
    return build_id[m->id] ? build_id[m->id] : "";
}

/* Where runtimes tell names of the code that they make. */
static const char *perf_map(void)
{
    static char path[40];
    static pid_t pid;
    char digits[12], *d = digits + sizeof digits;

    if (pid != getpid()) {
        pid = getpid();
        *--d = '\0';
        for (pid_t rest = pid; rest; rest /= 10)
            *--d = (char)('0' + rest % 10);
        memcpy(path, "/tmp/perf-", 10);
        memcpy(path + 10, d, strlen(d));
        memcpy(path + 10 + strlen(d), ".map", 5);
    }
    return path;
}

/* "libc.so.6+0x1c2d", without stdio. */
static void name_place(char *out, size_t size, const char *path, uint64_t address)
{
    static const char digit[] = "0123456789abcdef";
    const char *base = strrchr(path, '/');
    char hex[17], *h = hex + sizeof hex;
    size_t length;

    base = base && base[1] ? base + 1 : path;
    *--h = '\0';
    do
        *--h = digit[address & 15];
    while (address >>= 4);
    length = strnlen(base, size - 3 - sizeof hex);
    memcpy(out, base, length);
    memcpy(out + length, "+0x", 3);
    memcpy(out + length + 3, h, strlen(h) + 1);
}

static tt_block make(const struct tt_native *n)
{
    struct tt_block_info info = {
        .kind = TT_KIND_NATIVE,
        .module = n->mapping ? n->mapping->module->path : "[jit]",
        .file = n->mapping ? id_of(n->mapping->module) : perf_map(),
        .offset = tt_native_place(n)};
    char name[256];

    name_place(name, sizeof name, info.module, info.offset);
    info.name = name;
    return tt_block_native(&info);
}

tt_block tt_place_get(struct tt_recording *r, const struct tt_native *n)
{
    tt_block block = tt_place_find(n);

    if (!block) {
        block = make(n);
        if (block != TT_BLOCK_OTHER)
            keep(key_of(n), block);
    }
    return tt_block_publish(r, block);
}

tt_block tt_place_marker(struct tt_recording *r, enum tt_unwind_end end)
{
    struct tt_block_info info = {.kind = TT_KIND_NATIVE, .module = "", .file = ""};

    info.name = end == TT_UNWIND_TRUNCATED ? "[truncated stack]" : "[broken stack]";
    if (!marker[end])
        marker[end] = tt_block_native(&info);
    return tt_block_publish(r, marker[end]);
}
