/* SPDX-License-Identifier: MIT */
/* apart.c - distinguishes blocks with the same name.
 *
 *      go      Eval                    the first parts in which it differs from all others
 *      go      Parser                  of its name
 *      append  libx.so:list.c:12
 *
 * Blocks are sorted by name, and then by these parts.  A block that agrees with another
 * in the first parts is next to it, so comparing a block with its two neighbours shows
 * how many parts are needed. */
#include <stdio.h>
#include <string.h>

#include "apart.h"
#include "identity.h"
#include "view.h"

enum { PARTS = 7 }; /* module, file, line, column, offset, length, kind */

/* Returns a part as text: a number is written to `number`; 0 becomes empty. */
static const char *part_of(const struct tt_profile *p, uint32_t block, size_t part,
                           char number[24])
{
    const struct tt_block_row *b = &p->block[block];
    const uint64_t figures[] = {b->line, b->column, b->offset, b->length};

    if (part == 0)
        return tt_profile_string(p, b->module);
    if (part == 1)
        return tt_profile_string(p, b->file);
    if (part == PARTS - 1)
        return tt_kind_word(b->kind);
    number[0] = '\0';
    if (figures[part - 2])
        (void)snprintf(number, 24, "%llu", (unsigned long long)figures[part - 2]);
    return number;
}

static int is_same_part(const struct tt_profile *p, uint32_t block,
                        const struct tt_profile *q, uint32_t other, size_t part)
{
    char one[24], two[24];

    return strcmp(part_of(p, block, part, one), part_of(q, other, part, two)) == 0;
}

/* ── Namesakes ─────────────────────────────────────────────────────────────────────── */

static int order_of_name(const struct tt_profile *p, uint32_t block, const char *name)
{
    return strcmp(tt_block_name(p, block), name);
}

/* Finds the blocks [first, end) with a name; the root's is not sorted with the others. */
static uint32_t range_of(const struct tt_profile *p, const char *name, uint32_t *first)
{
    uint32_t low = 1, high = p->blocks, end;

    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (order_of_name(p, middle, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *first = low;
    for (end = low, high = p->blocks; end < high;) {
        const uint32_t middle = end + (high - end) / 2;
        if (order_of_name(p, middle, name) <= 0)
            end = middle + 1;
        else
            high = middle;
    }
    return end;
}

/* Returns how many parts it takes until two blocks differ. */
static size_t parts_until(const struct tt_profile *p, uint32_t block,
                          const struct tt_profile *whole, uint32_t other)
{
    size_t part = 0;

    while (part < PARTS && is_same_part(p, block, whole, other, part))
        part++;
    return part == PARTS ? 0 : part + 1; /* 0: it is the same block */
}

/* Returns where the block is in [first, end), or would be. */
static uint32_t find_block(const struct tt_profile *p, uint32_t block,
                           const struct tt_profile *whole, uint32_t first, uint32_t end)
{
    while (first < end) {
        const uint32_t middle = first + (end - first) / 2;
        if (tt_block_compare(whole, middle, p, block) < 0)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

static size_t larger(size_t a, size_t b) { return a > b ? a : b; }

static size_t put_text(char *to, size_t at, size_t size, const char *text)
{
    for (; *text; text++, at++)
        if (at + 1 < size)
            to[at] = *text;
    return at;
}

/* Returns how many parts, from the module on, distinguish a block from all others; 0: it
 * is the only one of its name. */
static size_t parts_of(const struct tt_profile *p, uint32_t block,
                       const struct tt_profile *whole, uint32_t *end)
{
    uint32_t first, at;
    size_t parts = 0;

    *end = range_of(whole, tt_block_name(p, block), &first);
    at = find_block(p, block, whole, first, *end);
    if (at < *end)
        parts = parts_until(p, block, whole, at);
    if (at + 1 < *end)
        parts = larger(parts, parts_until(p, block, whole, at + 1));
    if (at > first && at <= *end)
        parts = larger(parts, parts_until(p, block, whole, at - 1));
    return parts;
}

size_t tt_block_apart(const struct tt_profile *p, uint32_t block, char *to, size_t size)
{
    const struct tt_profile *whole = p->whole ? p->whole : p;
    uint32_t end = 0;
    const size_t parts = block ? parts_of(p, block, whole, &end) : 0;
    size_t length = 0;
    char number[24];

    for (size_t part = 0; part < parts; part++) {
        const char *text = part_of(p, block, part, number);
        if (*text && length)
            length = put_text(to, length, size, ":");
        length = put_text(to, length, size, text);
    }
    to[length < size ? length : size - 1] = '\0';
    return length;
}

uint32_t tt_namesakes(const struct tt_profile *p, const char *name, char *to, size_t size)
{
    enum { ROOM = 24 }; /* of an identity, and the separators */
    const struct tt_profile *whole = p->whole ? p->whole : p;
    uint32_t first, end = range_of(whole, name, &first);
    size_t at = 0;

    *to = '\0';
    for (uint32_t b = first; b < end; b++) {
        char apart[120], id[TT_IDENTITY_SIZE];
        const size_t length = tt_block_apart(whole, b, apart, sizeof apart);
        if (length >= sizeof apart || at + length + strlen(name) + ROOM >= size) {
            (void)snprintf(to + at, size - at, at ? ", …" : "…");
            break;
        }
        tt_identity_text(tt_block_identity(whole, b), id);
        at += (size_t)snprintf(to + at, size - at, "%s%s%s%s#%s", at ? ", " : "", apart,
                               length ? ":" : "", name, id);
    }
    return end - first;
}
