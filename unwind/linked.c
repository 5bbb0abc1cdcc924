/* SPDX-License-Identifier: MIT */
/* linked.c - follows DT_NEEDED from the program.
 *
 * A needed name fits an object's DT_SONAME or the last part of its path.  dlopen may load
 * another object of that name, but it comes later: the first one is the program's. */
#include "linked.h"

#include <stdint.h>
#include <string.h>

struct dynamic {
    const Elf64_Dyn *entry; /* NULL: it has none */
    const char *text;
};

/* Where the loader has mapped a link-time address; some loaders have added the bias. */
static const void *mapped(const struct dl_phdr_info *o, uint64_t address)
{
    for (unsigned n = 0; n < o->dlpi_phnum; n++) {
        const Elf64_Phdr *p = &o->dlpi_phdr[n];
        if (p->p_type == PT_LOAD && address - o->dlpi_addr - p->p_vaddr < p->p_memsz)
            return (const void *)(uintptr_t)address;
    }
    return (const void *)(uintptr_t)(address + o->dlpi_addr);
}

static struct dynamic dynamic_of(const struct dl_phdr_info *o)
{
    struct dynamic d = {NULL, NULL};

    for (unsigned n = 0; n < o->dlpi_phnum; n++)
        if (o->dlpi_phdr[n].p_type == PT_DYNAMIC)
            d.entry = (const void *)(uintptr_t)(o->dlpi_addr + o->dlpi_phdr[n].p_vaddr);
    for (const Elf64_Dyn *e = d.entry; e && e->d_tag != DT_NULL; e++)
        if (e->d_tag == DT_STRTAB)
            d.text = mapped(o, e->d_un.d_ptr);
    if (!d.text)
        d.entry = NULL;
    return d;
}

static unsigned find_name(const struct tt_linked *l, const char *name)
{
    unsigned i = 0;

    while (i < l->count && strcmp(l->name[i], name) != 0)
        i++;
    return i;
}

/* If there is no room for a name, no object will fit it. */
static unsigned add_name(struct tt_linked *l, const char *name)
{
    unsigned i = find_name(l, name);

    if (i == l->count && i < TT_LINKED_MAX) {
        l->name[i] = name;
        l->found[i] = 0;
        l->count++;
    }
    return i;
}

/* Whether this object is the first that fits a needed name. */
static int fits(struct tt_linked *l, const char *name)
{
    unsigned before = l->count, i = name ? add_name(l, name) : TT_LINKED_MAX;
    int is_first = i < before && !l->found[i];

    if (i < TT_LINKED_MAX)
        l->found[i] = 1;
    return is_first;
}

static const char *soname_of(const struct dynamic *d)
{
    for (const Elf64_Dyn *e = d->entry; e && e->d_tag != DT_NULL; e++)
        if (e->d_tag == DT_SONAME)
            return d->text + e->d_un.d_val;
    return NULL;
}

static const char *last_part(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;

    return slash ? slash + 1 : path;
}

int tt_linked_add(struct tt_linked *l, const struct dl_phdr_info *o, int first)
{
    const struct dynamic d = dynamic_of(o);
    const int by_path = fits(l, last_part(o->dlpi_name)),
              by_name = fits(l, soname_of(&d));

    if (!first && !by_path && !by_name)
        return 0;
    for (const Elf64_Dyn *e = d.entry; e && e->d_tag != DT_NULL; e++)
        if (e->d_tag == DT_NEEDED)
            (void)add_name(l, d.text + e->d_un.d_val);
    return 1;
}
