/* SPDX-License-Identifier: MIT */
/* process.c - what code another process has where, by its maps and the files they name.
 *
 * The vDSO is the one we have ourselves. */
#include <elf.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "regions.h"
#include "registry.h"
#include "snapshot.h"
#include "tallytree.h"

/* From what is mapped at `start` from `offset` on, to where the object was loaded. */
static int find_bias(struct tt_image *i, const struct tt_region *l)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

    for (unsigned n = 0; n < i->phdrs; n++) {
        const Elf64_Phdr *p = &i->phdr[n];
        if (p->p_type != PT_LOAD || !(p->p_flags & PF_X) ||
            l->offset < p->p_offset / page * page ||
            l->offset >= p->p_offset + p->p_filesz)
            continue;
        i->bias = l->start - (p->p_vaddr - p->p_offset % page) -
                  (l->offset - p->p_offset / page * page);
        return 1;
    }
    return 0;
}

static int add_file(struct tt_snapshot *s, pid_t pid, const struct tt_region *l)
{
    const struct tt_mapping only = {.start = l->start, .end = l->end};
    struct tt_image image;
    int fd = tt_region_open(l, pid), error;

    if (fd < 0)
        return 0;
    error = tt_image_of_file(&image, fd);
    if (!error) {
        if (find_bias(&image, l))
            error = tt_snapshot_add(s, &image, l->path, &only);
        tt_image_fini(&image);
    }
    close(fd);
    return error == -TT_ERR_MEMORY ? error : 0;
}

static int add_vdso(struct tt_snapshot *s, const struct tt_region *l)
{
    const char *here = (const char *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
    const Elf64_Ehdr *h = (const void *)here;
    struct tt_known *k;
    struct tt_mapping *m;
    struct tt_image image;

    if (!h)
        return 0;
    tt_image_of_memory(&image, (uintptr_t)here, (const void *)(here + h->e_phoff),
                       h->e_phnum);
    if (!(k = tt_registry_find(&image, "[vdso]")) ||
        !(m = tt_mapped_array_add(&s->mappings, sizeof *m)))
        return -TT_ERR_MEMORY;
    *m = (struct tt_mapping){l->start, l->end, l->start, &k->module, k->rules};
    return 0;
}

static int add_region(struct tt_snapshot *s, pid_t pid, const struct tt_region *l)
{
    if (strcmp(l->path, "[vdso]") == 0)
        return add_vdso(s, l);
    return l->path[0] == '/' ? add_file(s, pid, l) : 0;
}

int tt_modules_of(struct tt_modules **modules, pid_t pid, const struct tt_regions *r)
{
    struct tt_snapshot *s = tt_snapshot_new();
    int error = s ? 0 : -TT_ERR_MEMORY;

    *modules = NULL;
    for (size_t i = 0; i < r->count && !error; i++)
        error = add_region(s, pid, &r->at[i]);
    if (error) {
        tt_snapshot_free(s);
        return error;
    }
    tt_snapshot_finish(s);
    *modules = &s->modules;
    return 0;
}

int tt_modules_new(struct tt_modules **modules, pid_t pid)
{
    struct tt_regions regions = {0};
    int error = tt_regions_read(&regions, pid);

    *modules = NULL;
    if (!error)
        error = tt_modules_of(modules, pid, &regions);
    tt_regions_fini(&regions);
    return error;
}

void tt_modules_free(struct tt_modules *m)
{
    tt_snapshot_free((struct tt_snapshot *)(void *)m); /* its first member */
}
