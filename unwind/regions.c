/* SPDX-License-Identifier: MIT */
/* regions.c - the code mappings of another process. */
#include "regions.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "assertion.h"
#include "tallytree.h"

static int append(struct tt_regions *r, const struct tt_region *region)
{
    struct tt_region *more;
    char *path;

    if (r->count == r->room) {
        more = reallocarray(r->at, r->room * 2 + 16, sizeof *more);
        if (!more)
            return -TT_ERR_MEMORY;
        r->at = more;
        r->room = r->room * 2 + 16;
    }
    path = strdup(region->path);
    if (!path)
        return -TT_ERR_MEMORY;
    r->at[r->count] = *region;
    r->at[r->count++].path = path;
    return 0;
}

static void drop(struct tt_regions *r, size_t i)
{
    TT_ASSERT(i < r->count);
    free((char *)(uintptr_t)r->at[i].path);
    r->at[i] = r->at[--r->count];
}

/* Keeps the part above the new one. */
static int keep_end(struct tt_regions *r, size_t i, uint64_t from)
{
    struct tt_region rest = r->at[i];

    if (rest.end <= from)
        return 0;
    rest.offset += from - rest.start;
    rest.start = from;
    return append(r, &rest);
}

int tt_regions_add(struct tt_regions *r, const struct tt_region *region)
{
    int error = 0;

    TT_ASSERT(region->start <= region->end);
    for (size_t i = r->count; i-- > 0 && !error;) {
        struct tt_region *old = &r->at[i];
        if (old->end <= region->start || old->start >= region->end)
            continue;
        error = keep_end(r, i, region->end);
        old = &r->at[i]; /* it may have moved */
        if (old->start < region->start)
            old->end = region->start;
        else
            drop(r, i);
    }
    return error || !*region->path ? error : append(r, region);
}

int tt_regions_copy(struct tt_regions *r, const struct tt_regions *from)
{
    int error = 0;

    for (size_t i = 0; i < from->count && !error; i++)
        error = append(r, &from->at[i]);
    return error;
}

void tt_regions_fini(struct tt_regions *r)
{
    while (r->count)
        drop(r, r->count - 1);
    free(r->at);
    memset(r, 0, sizeof *r);
}

/* "start-end mode offset major:minor inode   path" */
static int parse(char *text, struct tt_region *r)
{
    char mode[5];
    int path = 0;

    text[strcspn(text, "\n")] = 0;
    if (sscanf(text, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n",
               &r->start, &r->end, mode, &r->offset, &r->major, &r->minor, &r->inode,
               &path) != 7 ||
        !path)
        return 0;
    r->path = text + path;
    return mode[2] == 'x' && *r->path;
}

int tt_regions_read(struct tt_regions *r, pid_t pid)
{
    char name[64], text[4096 + 128];
    struct tt_region region;
    int error = 0, lines = 0;
    FILE *maps;

    (void)snprintf(name, sizeof name, "/proc/%d/maps", (int)pid);
    if (!(maps = fopen(name, "re")))
        return -TT_ERR_FILE;
    while (!error && fgets(text, sizeof text, maps)) {
        lines++;
        if (parse(text, &region))
            error = tt_regions_add(r, &region);
    }
    (void)fclose(maps);
    return error || lines ? error : -TT_ERR_FILE;
}

int tt_region_open(const struct tt_region *l, pid_t pid)
{
    char name[4096 + 64];
    struct stat st;
    int fd;

    (void)snprintf(name, sizeof name, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid,
                   l->start, l->end);
    if ((fd = open(name, O_RDONLY | O_CLOEXEC)) >= 0)
        return fd;
    (void)snprintf(name, sizeof name, "/proc/%d/root%s", (int)pid, l->path);
    if ((fd = open(name, O_RDONLY | O_CLOEXEC)) < 0 &&
        (fd = open(l->path, O_RDONLY | O_CLOEXEC)) < 0) /* it has ended */
        return -1;
    if (fstat(fd, &st) == 0 && st.st_ino == l->inode && S_ISREG(st.st_mode))
        return fd;
    close(fd);
    return -1;
}
