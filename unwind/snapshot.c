/* SPDX-License-Identifier: MIT */
/* snapshot.c - gathering the mappings of code of a process. */
#include "snapshot.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "registry.h"
#include "tallytree.h"

struct tt_snapshot *tt_snapshot_new(void)
{
    static _Atomic uint64_t generation;
    struct tt_snapshot *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (s == MAP_FAILED)
        return NULL;
    s->modules.generation = atomic_fetch_add(&generation, 1) + 1;
    return s;
}

void tt_snapshot_free(struct tt_snapshot *s)
{
    if (!s)
        return;
    tt_mapped_array_fini(&s->mappings);
    munmap(s, sizeof *s);
}

int tt_snapshot_add_mapping(struct tt_snapshot *s, const struct tt_mapping *m)
{
    struct tt_mapping *to = tt_mapped_array_add(&s->mappings, sizeof *to);

    if (!to)
        return -TT_ERR_MEMORY;
    *to = *m;
    return 0;
}

int tt_snapshot_add(struct tt_snapshot *s, struct tt_image *i, const char *path,
                    const struct tt_mapping *only)
{
    struct tt_known *k = tt_registry_find(i, path);

    return k ? tt_snapshot_add_known(s, k, i, only) : -TT_ERR_MEMORY;
}

int tt_snapshot_add_known(struct tt_snapshot *s, struct tt_known *k,
                          const struct tt_image *i, const struct tt_mapping *only)
{
    struct tt_mapping m = {.bias = i->bias};
    int error = 0;

    for (unsigned n = 0; n < i->phdrs && !error; n++) {
        const Elf64_Phdr *p = &i->phdr[n];
        if (p->p_type != PT_LOAD || !(p->p_flags & PF_X) || !p->p_memsz)
            continue;
        m.start = p->p_vaddr + m.bias;
        m.end = m.start + p->p_memsz;
        m.module = &k->module;
        m.rules = k->rules;
        if (only && m.start < only->start)
            m.start = only->start;
        if (only && m.end > only->end)
            m.end = only->end;
        if (m.start >= m.end)
            continue;
        k->used = s->modules.generation;
        error = tt_snapshot_add_mapping(s, &m);
    }
    return error;
}

/* There are some dozens, and mostly in order. */
void tt_snapshot_finish(struct tt_snapshot *s)
{
    struct tt_mapping *m = s->mappings.bytes;
    size_t n = s->mappings.used / sizeof *m, j;

    for (size_t i = 1; i < n; i++) {
        struct tt_mapping moved = m[i];
        for (j = i; j > 0 && m[j - 1].start > moved.start; j--)
            m[j] = m[j - 1];
        m[j] = moved;
    }
    s->modules.mapping = m;
    s->modules.count = (uint32_t)n;
}
