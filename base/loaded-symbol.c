/* SPDX-License-Identifier: MIT */
/* loaded-symbol.c - finds the symbols that a loaded object exports, by its own hash
 * table, and those it uses, by its relocations.
 *
 *      DT_GNU_HASH   bloom filter ─ bucket ─ chain of hashes ─ symbol, name
 *
 * In an object that has only the older DT_HASH, every symbol is compared.  The loader has
 * relocated and checked the object; it reads the same data itself. */
#include "loaded-symbol.h"

#include <string.h>

struct relocations {
    const Elf64_Rela *first; /* or NULL */
    size_t size;             /* in bytes */
};

struct table {
    const Elf64_Sym *symbol;
    const char *text;
    const uint32_t *hash;  /* DT_GNU_HASH, or NULL */
    const uint32_t *older; /* DT_HASH, or NULL */
    struct relocations calls, others;
    size_t relative; /* that many of the others come first, and are of no symbol */
};

/* Some loaders add the bias to addresses in memory; the vdso's are as in the file. */
static uint64_t address_of(const struct dl_phdr_info *o, uint64_t value)
{
    return value < o->dlpi_addr ? value + o->dlpi_addr : value;
}

static void read_dynamic(struct table *t, const struct dl_phdr_info *o,
                         const Elf64_Dyn *d)
{
    for (; d->d_tag != DT_NULL; d++) {
        const void *at = (const void *)(uintptr_t)address_of(o, d->d_un.d_ptr);
        switch (d->d_tag) {
        case DT_SYMTAB:
            t->symbol = at;
            break;
        case DT_STRTAB:
            t->text = at;
            break;
        case DT_GNU_HASH:
            t->hash = at;
            break;
        case DT_HASH:
            t->older = at;
            break;
        case DT_JMPREL:
            t->calls.first = at;
            break;
        case DT_PLTRELSZ:
            t->calls.size = d->d_un.d_val;
            break;
        case DT_RELA:
            t->others.first = at;
            break;
        case DT_RELASZ:
            t->others.size = d->d_un.d_val;
            break;
        case DT_RELACOUNT:
            t->relative = d->d_un.d_val;
            break;
        default:
            break;
        }
    }
}

static int read_table(struct table *t, const struct dl_phdr_info *o)
{
    memset(t, 0, sizeof *t);
    for (unsigned n = 0; n < o->dlpi_phnum; n++)
        if (o->dlpi_phdr[n].p_type == PT_DYNAMIC)
            read_dynamic(
                t, o, (const void *)(uintptr_t)(o->dlpi_addr + o->dlpi_phdr[n].p_vaddr));
    if (t->hash && (!t->hash[0] || !t->hash[2]))
        t->hash = NULL;
    return t->symbol && t->text;
}

static int is_named(const struct table *t, uint32_t i, const char *name)
{
    return strcmp(t->text + t->symbol[i].st_name, name) == 0;
}

static uint32_t hash_of(const char *name)
{
    uint32_t h = 5381;

    for (; *name; name++)
        h = h * 33 + (unsigned char)*name;
    return h;
}

/* The index of its symbol; 0: none. */
static uint32_t find_hashed(const struct table *t, const char *name)
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
        if ((other | 1) == (h | 1) && is_named(t, i, name))
            return i;
        if (other & 1)
            break;
    }
    return 0;
}

static uint32_t find_unhashed(const struct table *t, const char *name)
{
    for (uint32_t i = 1; i < t->older[1]; i++)
        if (t->symbol[i].st_shndx != SHN_UNDEF && is_named(t, i, name))
            return i;
    return 0;
}

uint64_t tt_loaded_symbol(const struct dl_phdr_info *o, const char *name, uint64_t *size)
{
    struct table t;
    const Elf64_Sym *s;
    uint32_t i;

    if (!read_table(&t, o) || !(t.hash || t.older))
        return 0;
    i = t.hash ? find_hashed(&t, name) : find_unhashed(&t, name);
    s = t.symbol + i;
    if (!i || s->st_shndx == SHN_UNDEF || !s->st_value)
        return 0;
    if (size)
        *size = s->st_size;
    return o->dlpi_addr + s->st_value;
}

/* Relocations before `relative` have no symbol. */
static int uses(const struct table *t, const struct relocations *r, size_t relative,
                int (*is_wanted)(const char *name))
{
    for (size_t i = relative; r->first && i < r->size / sizeof *r->first; i++) {
        uint64_t symbol = ELF64_R_SYM(r->first[i].r_info);
        if (symbol && is_wanted(t->text + t->symbol[symbol].st_name))
            return 1;
    }
    return 0;
}

int tt_loaded_uses(const struct dl_phdr_info *o, int (*is_wanted)(const char *name))
{
    struct table t;

    return read_table(&t, o) && (uses(&t, &t.calls, 0, is_wanted) ||
                                 uses(&t, &t.others, t.relative, is_wanted));
}
