/* SPDX-License-Identifier: MIT */
/* identity.c - identities of blocks and contexts, independent of their numbers.
 *
 * FNV-1a over the texts, then the finisher of MurmurHash3: 64 bits, so that among a
 * million blocks, two agree once in 37 million profiles; a pattern that finds both says
 * so. */
#include "identity.h"

#include <stdio.h>
#include <string.h>

#include "hex.h"

static uint64_t add_bytes(uint64_t hash, const void *bytes, size_t size)
{
    const unsigned char *p = bytes;

    for (size_t i = 0; i < size; i++)
        hash = (hash ^ p[i]) * 0x100000001b3;
    return hash;
}

/* By its value, so that it is the same whatever the order of bytes. */
static uint64_t add_number(uint64_t hash, uint64_t n)
{
    for (int i = 0; i < 8; i++, n >>= 8)
        hash = (hash ^ (n & 255)) * 0x100000001b3;
    return hash;
}

static uint64_t finish(uint64_t h)
{
    h = (h ^ h >> 33) * 0xff51afd7ed558ccd;
    h = (h ^ h >> 33) * 0xc4ceb9fe1a85ec53;
    return h ^ h >> 33;
}

uint64_t tt_row_identity(const struct tt_block_row *b, const char *name,
                         const char *module, const char *file)
{
    const char *const texts[] = {name, module, file};
    uint64_t hash = 0xcbf29ce484222325;

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        hash = add_bytes(hash, texts[i], strlen(texts[i]) + 1); /* the NUL parts them */
    hash = add_number(add_number(hash, b->kind), b->line);
    hash = add_number(add_number(hash, b->column), b->length);
    return finish(add_number(hash, b->offset));
}

uint64_t tt_block_identity(const struct tt_profile *p, uint32_t block)
{
    const struct tt_block_row *b = &p->block[block];

    return tt_row_identity(b, tt_profile_string(p, b->name),
                           tt_profile_string(p, b->module),
                           tt_profile_string(p, b->file));
}

uint64_t tt_path_below(uint64_t parent, uint64_t identity)
{
    return finish((parent ^ 0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9 + identity);
}

uint64_t tt_path_of(const struct tt_profile *p, uint32_t context)
{
    uint64_t path = tt_path_below(0, tt_block_identity(p, tt_block_of(p, 0)));
    uint32_t at = 0;

    while (at < context) {
        uint32_t child = at + 1;
        while (tt_end_of(p, child) <= context)
            child = tt_end_of(p, child);
        path = tt_path_below(path, tt_block_identity(p, tt_block_of(p, child)));
        at = child;
    }
    return path;
}

struct step { /* a context whose subtree has not ended */
    uint64_t path;
    uint32_t end;
};

static uint32_t look_for(const struct tt_profile *p, uint64_t path,
                         const uint64_t *identity, struct step *open)
{
    uint32_t depth = 0;

    for (uint32_t c = 0; c < p->contexts; c++) {
        while (depth && open[depth - 1].end <= c)
            depth--;
        if (depth > p->depth)
            return TT_NONE; /* a profile that was not checked may say less than there is */
        open[depth].path = tt_path_below(depth ? open[depth - 1].path : 0,
                                         identity[tt_block_of(p, c)]);
        open[depth].end = tt_end_of(p, c);
        if (open[depth++].path == path)
            return c;
    }
    return TT_NONE;
}

int tt_path_find(const struct tt_profile *p, uint64_t path, uint32_t near,
                 const struct tt_memory *memory, uint32_t *context)
{
    const size_t identities = p->blocks * sizeof(uint64_t),
                 steps = ((size_t)p->depth + 1) * sizeof(struct step);
    uint64_t *identity;
    struct step *open;

    *context = near;
    if (near < p->contexts && tt_path_of(p, near) == path)
        return 0;
    *context = TT_NONE;
    identity = tt_memory_get(memory, identities);
    open = tt_memory_get(memory, steps);
    if (identity && open) {
        for (uint32_t b = 0; b < p->blocks; b++)
            identity[b] = tt_block_identity(p, b);
        *context = look_for(p, path, identity, open);
    }
    tt_memory_put(memory, identity);
    tt_memory_put(memory, open);
    return identity && open ? 0 : -TT_ERR_MEMORY;
}

/* ── As text ──────────────────────────────────────────────────────────────────────── */

void tt_identity_text(uint64_t identity, char text[TT_IDENTITY_SIZE])
{
    (void)snprintf(text, TT_IDENTITY_SIZE, "%016llx", (unsigned long long)identity);
}

int tt_identity_read(const char *text, uint64_t *identity)
{
    size_t length = strlen(text);
    const char *digit = text + length - 16;
    uint64_t n = 0;

    if (length < 17 || digit[-1] != '#')
        return 0;
    for (; *digit; digit++) {
        const int value = tt_hex_small(*digit);
        if (value < 0)
            return 0;
        n = n << 4 | (uint64_t)value;
    }
    *identity = n;
    return 1;
}
