/* SPDX-License-Identifier: MIT */
/* image-symbol.c - finds a symbol that a file exports, by its own hash table.
 *
 *      DT_GNU_HASH   bloom filter ─ bucket ─ chain of hashes ─ symbol, name
 *
 * The file may be anything: each read is checked, and each loop has a limit. */
#include "image-symbol.h"

#include <string.h>

#include "image.h"
#include "tallytree.h"

enum { DYNAMIC_MAX = 256, CHAIN_MAX = 4096, NAME_MAX_SIZE = 64 };

struct table { /* link-time addresses */
    uint64_t symbols, text, hash;
};

static int read_dynamic(const struct tt_image *i, uint64_t at, struct table *t)
{
    Elf64_Dyn d;

    for (int n = 0; n < DYNAMIC_MAX; n++, at += sizeof d) {
        if (tt_image_read(i, at, &d, sizeof d) != 0 || d.d_tag == DT_NULL)
            break;
        if (d.d_tag == DT_SYMTAB)
            t->symbols = d.d_un.d_ptr;
        else if (d.d_tag == DT_STRTAB)
            t->text = d.d_un.d_ptr;
        else if (d.d_tag == DT_GNU_HASH)
            t->hash = d.d_un.d_ptr;
    }
    return t->symbols && t->text && t->hash;
}

static uint32_t hash_of(const char *name)
{
    uint32_t h = 5381;

    for (; *name; name++)
        h = h * 33 + (unsigned char)*name;
    return h;
}

/* The address, if this is the symbol; else 0. */
static uint64_t value_of(const struct tt_image *i, const struct table *t, uint32_t index,
                         const char *name)
{
    const size_t size = strlen(name) + 1;
    char text[NAME_MAX_SIZE];
    Elf64_Sym s;

    if (size > sizeof text ||
        tt_image_read(i, t->symbols + (uint64_t)index * sizeof s, &s, sizeof s) != 0 ||
        s.st_shndx == SHN_UNDEF ||
        tt_image_read(i, t->text + s.st_name, text, size) != 0 ||
        memcmp(text, name, size) != 0)
        return 0;
    return s.st_value;
}

static uint64_t find(const struct tt_image *i, const struct table *t, const char *name)
{
    uint32_t head[4], h = hash_of(name), index, other; /* buckets, first, words, shift */
    uint64_t word, at = t->hash + sizeof head, value;

    if (tt_image_read(i, t->hash, head, sizeof head) != 0 || !head[0] || !head[2] ||
        tt_image_read(i, at + (uint64_t)(h / 64 % head[2]) * 8, &word, sizeof word) !=
            0 ||
        !(word >> (h % 64) & word >> ((h >> (head[3] & 31)) % 64) & 1))
        return 0;
    at += (uint64_t)head[2] * 8;
    if (tt_image_read(i, at + (uint64_t)(h % head[0]) * 4, &index, sizeof index) != 0)
        return 0;
    at += (uint64_t)head[0] * 4;
    for (int n = 0; index >= head[1] && n < CHAIN_MAX; n++, index++) {
        if (tt_image_read(i, at + (uint64_t)(index - head[1]) * 4, &other, 4) != 0)
            return 0;
        if ((other | 1) == (h | 1) && (value = value_of(i, t, index, name)) != 0)
            return value;
        if (other & 1)
            return 0;
    }
    return 0;
}

uint64_t tt_image_symbol(const struct tt_image *i, const char *name)
{
    struct table t = {0, 0, 0};

    for (unsigned n = 0; n < i->phdrs; n++)
        if (i->phdr[n].p_type == PT_DYNAMIC && read_dynamic(i, i->phdr[n].p_vaddr, &t))
            return find(i, &t, name);
    return 0;
}
