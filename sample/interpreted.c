/* SPDX-License-Identifier: MIT */
/* interpreted.c - merges a native stack with the functions that interpreters run in it.
 *
 *      native   sre_search   loop   call   loop   main
 *      frames                f, g          h
 *      merged   sre_search   f g    call   h      main
 *
 * Functions come and go with the code of a program, so their blocks are in a cache of
 * fixed size; a block that was dropped from it is found in the registry of blocks again.
 * An entry is one word, a block and the rest of a hash; writers hold the registry.
 * async-signal-safe */
#include "interpreted.h"

#include <string.h>

#include "block.h"

enum { SLOTS = 1 << 14, WAYS = 4, BLOCK_BITS = 24 };

int tt_interpreted_lines;

static uint64_t known[SLOTS]; /* functions, and lines in them */
_Static_assert(TT_BLOCKS_MAX <= 1 << BLOCK_BITS, "a block fits into an entry");

/* ── Blocks ───────────────────────────────────────────────────────────────────────── */

static uint64_t mix(uint64_t h, uint64_t n)
{
    h = (h ^ n) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 32;
}

static uint64_t hash_of(const struct tt_interpreted *f)
{
    return mix(mix(mix(1, f->code), f->print), 1);
}

static uint64_t hash_of_line(const struct tt_interpreted *f)
{
    return mix(mix(mix(2, f->code), f->print), f->at);
}

static uint64_t tag_of(uint64_t hash) { return hash >> BLOCK_BITS << BLOCK_BITS; }

static uint64_t *slots_of(uint64_t hash) { return &known[hash % (SLOTS / WAYS) * WAYS]; }
_Static_assert(SLOTS / WAYS <= 1 << BLOCK_BITS, "tag and place are all of a hash");

static tt_block find(uint64_t hash)
{
    const uint64_t *slot = slots_of(hash);

    for (int i = 0; i < WAYS; i++) {
        uint64_t entry = __atomic_load_n(&slot[i], __ATOMIC_RELAXED);
        if (entry && tag_of(entry) == tag_of(hash))
            return (tt_block)(entry & (((uint64_t)1 << BLOCK_BITS) - 1));
    }
    return 0;
}

/* Stores an entry in a free place, or in place of another one. */
static void keep(uint64_t hash, tt_block block)
{
    static uint32_t turn;
    uint64_t *slot = slots_of(hash);
    int i = 0;

    while (i < WAYS && slot[i])
        i++;
    if (i == WAYS)
        i = (int)(turn++ % WAYS);
    __atomic_store_n(&slot[i], tag_of(hash) | block, __ATOMIC_RELAXED);
}

tt_block tt_interpreted_find(const struct tt_interpreted *f) { return find(hash_of(f)); }

tt_block tt_interpreted_find_line(const struct tt_interpreted *f)
{
    return find(hash_of_line(f));
}

static tt_block make(const struct tt_interpreted *f, struct tt_peek *peek)
{
    struct tt_interpreted_text text;
    struct tt_block_info info = {.kind = TT_KIND_INTERPRETED, .module = f->by->name};

    if (!f->by->describe(f->by, f, peek, &text))
        return TT_BLOCK_OTHER;
    info.name = text.name;
    info.file = text.file;
    info.line = text.line;
    return tt_block_interpreted(&info);
}

tt_block tt_interpreted_get(struct tt_recording *r, const struct tt_interpreted *f,
                            struct tt_peek *peek)
{
    tt_block block = tt_interpreted_find(f);

    if (!block) {
        block = make(f, peek);
        if (block != TT_BLOCK_OTHER)
            keep(hash_of(f), block);
    }
    return tt_block_publish(r, block);
}

/* "x.py:12", without stdio. */
static void name_line(char *out, size_t size, const char *file, uint32_t line)
{
    const char *slash = strrchr(file, '/'), *base = slash && slash[1] ? slash + 1 : file;
    char digits[12], *d = digits + sizeof digits;
    size_t length = strnlen(base, size - sizeof digits - 1);

    *--d = '\0';
    do
        *--d = (char)('0' + line % 10);
    while (line /= 10);
    memcpy(out, base, length);
    out[length] = ':';
    memcpy(out + length + 1, d, strlen(d) + 1);
}

static tt_block make_line(const struct tt_interpreted *f, struct tt_peek *peek)
{
    struct tt_interpreted_text text;
    struct tt_block_info info = {.kind = TT_KIND_STATEMENT,
                                 .module = f->by->name,
                                 .file = text.file,
                                 .name = text.name};

    info.line = f->by->line(f->by, f, peek);
    if (!info.line || !f->by->describe(f->by, f, peek, &text))
        return TT_BLOCK_OTHER;
    name_line(text.name, sizeof text.name, text.file, info.line);
    return tt_block_interpreted(&info);
}

tt_block tt_interpreted_get_line(struct tt_recording *r, const struct tt_interpreted *f,
                                 struct tt_peek *peek)
{
    tt_block block = tt_interpreted_find_line(f);

    if (!block) {
        block = make_line(f, peek);
        keep(hash_of_line(f), block);
    }
    return block == TT_BLOCK_OTHER ? block : tt_block_publish(r, block);
}

/* ── Merging ──────────────────────────────────────────────────────────────────────── */

struct merge {
    const struct tt_interpreted_stack *s;
    struct tt_merged *out;
    uint32_t room, count, at; /* at: the next frame of an interpreter */
};

static void add(struct merge *m, uint32_t index, uint32_t is_interpreted)
{
    if (m->count < m->room)
        m->out[m->count] = (struct tt_merged){index, is_interpreted};
    m->count++;
}

/* Adds the frames whose anchor is below an address. */
static void add_frames(struct merge *m, uint64_t below)
{
    for (; m->at < m->s->count && m->s->frame[m->at].anchor < below; m->at++)
        if (m->s->frame[m->at].code)
            add(m, m->at, 1);
}

/* A frame anchored below the innermost native frame has no loop. */
uint32_t tt_interpreted_merge(const struct tt_interpreted_stack *s, int rooted,
                              struct tt_merged *out, uint32_t room, int *unplaced)
{
    struct merge m = {s, out, room, 0, 0};

    if (s->natives)
        add_frames(&m, s->native[0].sp);
    *unplaced = m.at != 0;
    for (uint32_t i = 0; i < s->natives; i++) {
        const uint32_t before = m.at;
        const int is_last = i + 1 == s->natives;
        add_frames(&m, is_last ? s->limit : s->native[i + 1].sp);
        if (m.at == before || (is_last && !rooted))
            add(&m, i, 0);
    }
    return m.count;
}
