/* SPDX-License-Identifier: MIT */
/* loaded-symbol.c - what an object that is loaded exports, by its own hash table.
 *
 *      bloom filter ─ bucket ─ chain of hashes ─ symbol, name
 *
 * The loader has relocated the object and checked it: what is read here it reads itself. */
#include "loaded-symbol.h"

#include <string.h>

struct table {
    const Elf64_Sym *symbol;
    const char *text;
    const uint32_t *hash; /* DT_GNU_HASH */
};

/* Some loaders add the bias to what they keep in memory, the vdso's is as in the file. */
static uint64_t address_of(const struct dl_phdr_info *o, uint64_t value)
{
    return value < o->dlpi_addr ? value + o->dlpi_addr : value;
}

static void read_dynamic(struct table *t, const struct dl_phdr_info *o,
                         const Elf64_Dyn *d)
{
    for (; d->d_tag != DT_NULL; d++) {
        const void *at = (const void *)(uintptr_t)address_of(o, d->d_un.d_ptr);
        if (d->d_tag == DT_SYMTAB)
            t->symbol = at;
        else if (d->d_tag == DT_STRTAB)
            t->text = at;
        else if (d->d_tag == DT_GNU_HASH)
            t->hash = at;
    }
}

static uint32_t hash_of(const char *name)
{
    uint32_t h = 5381;

    for (; *name; name++)
        h = h * 33 + (unsigned char)*name;
    return h;
}

/* The index of its symbol; 0: none. */
static uint32_t find(const struct table *t, const char *name)
{
    const uint32_t buckets = t->hash[0], first = t->hash[1], words = t->hash[2],
                   shift = t->hash[3], h = hash_of(name);
    const uint64_t *bloom = (const void *)(t->hash + 4);
    const uint32_t *bucket = (const void *)(bloom + words), *chain = bucket + buckets;
    uint64_t word = bloom[h / 64 % words];
    uint32_t i;

    if (!(word >> (h % 64) & word >> ((h >> shift) % 64) & 1))
        return 0;
    i = bucket[h % buckets];
    for (; i >= first; i++) {
        uint32_t other = chain[i - first];
        if ((other | 1) == (h | 1) && strcmp(t->text + t->symbol[i].st_name, name) == 0)
            return i;
        if (other & 1)
            break;
    }
    return 0;
}

uint64_t tt_loaded_symbol(const struct dl_phdr_info *o, const char *name, uint64_t *size)
{
    struct table t = {0};
    const Elf64_Sym *s;
    uint32_t i;

    for (unsigned n = 0; n < o->dlpi_phnum; n++)
        if (o->dlpi_phdr[n].p_type == PT_DYNAMIC)
            read_dynamic(
                &t, o, (const void *)(uintptr_t)(o->dlpi_addr + o->dlpi_phdr[n].p_vaddr));
    if (!t.symbol || !t.text || !t.hash || !t.hash[0] || !t.hash[2] ||
        !(i = find(&t, name)))
        return 0;
    s = t.symbol + i;
    if (s->st_shndx == SHN_UNDEF || !s->st_value)
        return 0;
    if (size)
        *size = s->st_size;
    return o->dlpi_addr + s->st_value;
}
