/* SPDX-License-Identifier: MIT */
/* reduce.c - a process's profile, to which those of others are added one by one. */
#include "reduce.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../profile/read-recording.h"
#include "add-profile.h"
#include "filter.h"
#include "finish.h"
#include "query.h"
#include "summary.h"

static int finish(struct tt_builder *b, struct tt_reduction *r)
{
    struct tt_reduction made = {NULL, 0};
    int error = tt_builder_finish(b, &made.image, &made.size);

    if (!error) {
        tt_memory_put(NULL, r->image);
        *r = made;
    }
    return error;
}

int tt_reduction_read(struct tt_reduction *r, const char *path)
{
    struct tt_builder *b = tt_builder_new(NULL);
    int fd = open(path, O_RDONLY | O_CLOEXEC), error = -TT_ERR_FILE;
    struct tt_picture picture;
    struct stat s;
    void *image;

    if (fd < 0 || !b || fstat(fd, &s) != 0)
        goto fail_open;
    image = mmap(NULL, (size_t)s.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    if (image == MAP_FAILED)
        goto fail_open;
    error = tt_picture_read(&picture, image, (size_t)s.st_size, 1);
    error = error ?: tt_builder_recording(b, &picture);
    error = error ?: finish(b, r);
    tt_picture_fini(&picture);
    munmap(image, (size_t)s.st_size);
fail_open:
    if (fd >= 0)
        close(fd);
    tt_builder_free(b);
    return error;
}

static int add(struct tt_builder *b, const void *image, size_t size)
{
    struct tt_profile p;
    int error = tt_profile_open(&p, image, size, NULL);

    if (error)
        return error;
    error = tt_profile_check(&p);
    error = error ?: tt_builder_profile(b, &p);
    tt_profile_close(&p);
    return error;
}

/* Replaces it by the profile without contexts below a share of the total. */
static int prune(struct tt_reduction *r, double share)
{
    struct tt_reduction left = {NULL, 0};
    struct tt_filtered filtered;
    struct tt_profile p;
    struct tt_query q;
    char text[40];
    int error = tt_profile_open(&p, r->image, r->size, NULL);

    if (error)
        return error;
    tt_query_init(&q, NULL);
    (void)snprintf(text, sizeof text, "%.10f%%", share * 100);
    error = tt_query_set(&q, "prune", text);
    error = error ?: tt_filter_apply(&p, &q, &filtered);
    if (!error) {
        left.size = filtered.profile->size;
        left.image = tt_memory_get(NULL, left.size);
        error = left.image ? 0 : -TT_ERR_MEMORY;
        if (!error)
            memcpy(left.image, filtered.profile->image, left.size);
        tt_filter_close(&filtered, NULL);
    }
    tt_query_fini(&q);
    tt_profile_close(&p);
    if (!error) {
        tt_memory_put(NULL, r->image);
        *r = left;
    }
    return error;
}

int tt_reduction_add(struct tt_reduction *r, const void *image, size_t size, size_t most,
                     size_t budget)
{
    enum { MANY_STRANDS = 4096 }; /* as in `tallytree merge` */
    struct tt_builder *b = tt_builder_new(NULL);
    int error = b ? add(b, r->image, r->size) : -TT_ERR_MEMORY;

    error = error ?: add(b, image, size);
    if (!error && (r->size + size > most || tt_builder_strands(b) > MANY_STRANDS))
        error = tt_builder_summarise(b);
    error = error ?: finish(b, r);
    tt_builder_free(b);
    for (double share = 1e-7; !error && r->size > budget && share < 1; share *= 4)
        error = prune(r, share);
    return error;
}

static int write_all(int fd, const char *at, size_t size)
{
    while (size) {
        ssize_t n = write(fd, at, size < 1u << 30 ? size : 1u << 30);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -TT_ERR_FILE;
        at += n;
        size -= (size_t)n;
    }
    return 0;
}

int tt_reduction_write(const struct tt_reduction *r, const char *path)
{
    mode_t mask = umask(0);
    char *name;
    int fd, error = -TT_ERR_FILE;

    umask(mask);
    if (asprintf(&name, "%s.XXXXXX", path) < 0)
        return -TT_ERR_MEMORY;
    fd = mkostemp(name, O_CLOEXEC);
    if (fd >= 0) {
        error = fchmod(fd, 0666 & ~mask) == 0 ? write_all(fd, r->image, r->size)
                                              : -TT_ERR_FILE;
        if (close(fd) != 0 || (!error && rename(name, path) != 0))
            error = -TT_ERR_FILE;
        if (error)
            (void)unlink(name);
    }
    free(name);
    return error;
}

void tt_reduction_free(struct tt_reduction *r)
{
    tt_memory_put(NULL, r->image);
    *r = (struct tt_reduction){NULL, 0};
}
