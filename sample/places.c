/* SPDX-License-Identifier: MIT */
/* places.c - from a place in the code to its block, for handlers.
 *
 *      module's number, link-time address  ->  block
 *
 * A second table has one block of each function, for tt_block_function: that of its
 * hooks, or of its first place.
 *
 * Writers of the tables hold the registry of blocks.  A module's number is never reused,
 * so a module that is loaded later at the same place is different. */
#include "places.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "append-table.h"
#include "block.h"

enum { MODULES = 4096, ADDRESS_BITS = 48, NO_MODULE = 0xffff, WAITS = 128 };

struct place { /* a record of an append table */
    uint64_t key;
    tt_block block;
    uint32_t spare;
};

static struct tt_append_table *table, *functions;
static tt_block marker[TT_UNWIND_ENDS];
static struct wait { /* filled from the front */
    const char *name;
    tt_block block;
} waits[WAITS];
static char *build_id[MODULES]; /* in hex */
static char *text, *text_end;   /* room for build-ids */

static uint64_t key_of(const struct tt_native *n)
{
    uint64_t module = n->mapping ? n->mapping->module->id % (NO_MODULE - 1u) + 1u
                                 : NO_MODULE;

    return module << ADDRESS_BITS |
           (tt_native_place(n) & (((uint64_t)1 << ADDRESS_BITS) - 1));
}

static struct tt_native start_of(const struct tt_native *n)
{
    struct tt_native start = *n;

    if (n->function) {
        start.pc = n->function;
        start.flags |= TT_NATIVE_EXACT;
    }
    return start;
}

uint64_t tt_place_function(const struct tt_native *n)
{
    const struct tt_native start = start_of(n);

    return key_of(&start);
}

/* ── The table ────────────────────────────────────────────────────────────────────── */

static struct place *slot_of(struct tt_append_table *t, uint64_t key)
{
    return tt_append_table_slot(t, key, sizeof(struct place));
}

tt_block tt_place_find(const struct tt_native *n)
{
    struct tt_append_table *t = __atomic_load_n(&table, __ATOMIC_ACQUIRE);
    const uint64_t key = key_of(n);
    const struct place *p = t ? slot_of(t, key) : NULL;

    /* An unused one may be about to get another key. */
    return p && __atomic_load_n(&p->key, __ATOMIC_ACQUIRE) == key ? p->block : 0;
}

/* Returns the block that the key has; that is a new key's own. */
static tt_block keep(struct tt_append_table **t, uint64_t key, tt_block block)
{
    struct place *p;

    if (tt_append_table_reserve(t, sizeof *p) != 0)
        return block; /* it will be made again, and found in the registry */
    p = slot_of(*t, key);
    if (p->key == key)
        return p->block;
    p->block = block;
    tt_append_table_show(*t, p, key);
    return block;
}

/* ── Contents of a block ──────────────────────────────────────────────────────────── */

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

/* The file in which runtimes store the names of code that they generate. */
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

static const char *file_of(const struct tt_mapping *m)
{
    if (!m)
        return perf_map();
    return m->module->mark ? m->module->mark : id_of(m->module);
}

/* By `get`: finds or makes it. */
static tt_block block_of(const struct tt_native *n, enum tt_kind kind,
                         tt_block (*get)(const struct tt_block_info *))
{
    struct tt_block_info info = {.kind = kind,
                                 .module = n->mapping ? n->mapping->module->path
                                                      : "[jit]",
                                 .file = file_of(n->mapping),
                                 .offset = tt_native_place(n)};
    char name[256];

    name_place(name, sizeof name, info.module, info.offset);
    info.name = name;
    return get(&info);
}

static tt_block make_place(const struct tt_native *n)
{
    const struct tt_native start = start_of(n);
    tt_block block = block_of(n, TT_KIND_NATIVE, tt_block_native), hooked, first;

    if (block == TT_BLOCK_OTHER)
        return block;
    (void)keep(&table, key_of(n), block);
    hooked = block_of(&start, TT_KIND_FUNCTION, tt_block_find);
    first = keep(&functions, key_of(&start), hooked ? hooked : block);
    tt_block_belongs(block, first);
    if (hooked) /* it may have been made after the first place */
        tt_block_belongs(hooked, first);
    return block;
}

tt_block tt_place_get(struct tt_recording *r, const struct tt_native *n)
{
    tt_block block = tt_place_find(n);

    if (!block)
        block = make_place(n);
    return tt_block_publish(r, block);
}

tt_block tt_place_whole(struct tt_recording *r, const struct tt_native *n)
{
    return tt_block_publish(r, block_of(n, TT_KIND_FUNCTION, tt_block_native));
}

tt_block tt_place_marker(struct tt_recording *r, enum tt_unwind_end end)
{
    struct tt_block_info info = {.kind = TT_KIND_NATIVE, .module = "", .file = ""};

    info.name = end == TT_UNWIND_TRUNCATED ? "[truncated stack]" : "[broken stack]";
    if (!marker[end])
        marker[end] = tt_block_native(&info);
    return tt_block_publish(r, marker[end]);
}

tt_block tt_place_wait(struct tt_recording *r, const char *name, int locked)
{
    struct tt_block_info info = {
        .kind = TT_KIND_NATIVE, .module = "", .file = "", .name = name};
    struct wait *w = waits;

    while (w < waits + WAITS - 1 && w->name && w->name != name)
        w++;
    if (w->name == name && __atomic_load_n(&tt_block_entry(w->block)->published,
                                           __ATOMIC_ACQUIRE) == r->epoch)
        return w->block;
    if (!locked)
        return 0;
    if (w->name != name) {
        w->block = tt_block_native(&info);
        __atomic_store_n(&w->name, name, __ATOMIC_RELEASE);
    }
    return tt_block_publish(r, w->block);
}
