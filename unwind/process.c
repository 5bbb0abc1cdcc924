/* SPDX-License-Identifier: MIT */
/* process.c - the code of another process by address, from its maps and their files.
 *
 * Its vDSO is taken from this process. */
#include "process.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "regions.h"
#include "registry.h"
#include "snapshot.h"
#include "tallytree.h"

/* ── Files that were seen before ──────────────────────────────────────────────────── */

/* Processes share most of their files: each is read once, and recognised by its stat
 * data, whatever process has mapped it.  An entry in the table has the last file with
 * this hash. */
enum { SEEN = 4096, SEGMENTS = 4 };

static struct seen {
    dev_t device;
    ino_t inode;
    off_t size;
    struct timespec changed;
    struct tt_known *known;       /* NULL: none yet */
    Elf64_Phdr segment[SEGMENTS]; /* of code */
    unsigned segments;
} * seen; /* SEEN of them; NULL: not used so far, or no memory */

static struct seen *seen_at(const struct stat *s, const char *path)
{
    uint64_t hash = (uint64_t)s->st_ino * 0x9e3779b97f4a7c15u ^ (uint64_t)s->st_dev;

    for (; *path; path++)
        hash = (hash ^ (unsigned char)*path) * 0x100000001b3u;
    if (!seen)
        seen = calloc(SEEN, sizeof *seen);
    return seen ? &seen[hash >> 32 & (SEEN - 1)] : NULL;
}

static int is_seen(const struct seen *f, const struct stat *s, const char *path)
{
    return f && f->known && f->known->compiled && f->device == s->st_dev &&
           f->inode == s->st_ino && f->size == s->st_size &&
           f->changed.tv_sec == s->st_ctim.tv_sec &&
           f->changed.tv_nsec == s->st_ctim.tv_nsec &&
           strcmp(f->known->module.path, path) == 0;
}

static void see(struct seen *f, const struct stat *s, struct tt_image *image,
                struct tt_known *k)
{
    f->known = NULL;
    f->segments = 0;
    for (unsigned i = 0; i < image->phdrs; i++) {
        const Elf64_Phdr *p = &image->phdr[i];
        if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
            continue;
        if (f->segments == SEGMENTS)
            return;
        f->segment[f->segments++] = *p;
    }
    f->device = s->st_dev;
    f->inode = s->st_ino;
    f->size = s->st_size;
    f->changed = s->st_ctim;
    f->known = k;
}

void (*tt_modules_keep)(const struct tt_module *, int fd);

static void keep(const struct tt_known *k, int fd, const struct stat *s)
{
    struct stat here;

    if (tt_modules_keep && (stat(k->module.path, &here) != 0 ||
                            here.st_ino != s->st_ino || here.st_dev != s->st_dev))
        tt_modules_keep(&k->module, fd);
}

static int add_new(struct tt_snapshot *s, int fd, const struct tt_region *l,
                   const struct stat *status, struct seen *f)
{
    const struct tt_mapping only = {.start = l->start, .end = l->end};
    struct tt_known *k;
    struct tt_image image;
    int error = tt_image_of_file(&image, fd);

    if (error)
        return error;
    if (tt_image_lies_at(&image, l->start, l->offset)) {
        k = tt_registry_find(&image, l->path);
        error = k ? tt_snapshot_add_known(s, k, &image, &only) : -TT_ERR_MEMORY;
        if (!error && f)
            see(f, status, &image, k);
        if (!error)
            keep(k, fd, status);
    }
    tt_image_fini(&image);
    return error;
}

static int add_seen(struct tt_snapshot *s, const struct tt_region *l,
                    const struct seen *f)
{
    const struct tt_mapping only = {.start = l->start, .end = l->end};
    struct tt_image image = {.phdr = f->segment, .phdrs = f->segments, .fd = -1};

    return tt_image_lies_at(&image, l->start, l->offset)
               ? tt_snapshot_add_known(s, f->known, &image, &only)
               : 0;
}

static int add_file(struct tt_snapshot *s, pid_t pid, const struct tt_region *l)
{
    struct stat status;
    struct seen *f;
    int fd = tt_region_open(l, pid), error;

    if (fd < 0)
        return 0;
    if (fstat(fd, &status) != 0) {
        close(fd);
        return 0;
    }
    f = seen_at(&status, l->path);
    error = is_seen(f, &status, l->path) ? add_seen(s, l, f)
                                         : add_new(s, fd, l, &status, f);
    close(fd);
    return error == -TT_ERR_MEMORY ? error : 0;
}

/* ── Regions ──────────────────────────────────────────────────────────────────────── */

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
