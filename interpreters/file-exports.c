/* SPDX-License-Identifier: MIT */
/* file-exports.c - the exported symbols of files, each file read once. */
#include "file-exports.h"

#include <unistd.h>

#include "assertion.h"
#include "image-symbol.h"
#include "image.h"
#include "modules.h"
#include "regions.h"

static void read_exports(int fd, uint64_t *address, const char *const *names,
                         uint32_t count)
{
    struct tt_image image;

    if (tt_image_of_file(&image, fd) != 0)
        return;
    for (uint32_t i = 0; i < count && (i == 0 || address[0]); i++)
        address[i] = tt_image_symbol(&image, names[i]);
    tt_image_fini(&image);
}

const uint64_t *tt_exports_of(struct tt_exports *known, const char *const *names,
                              uint32_t count, const struct tt_module *m,
                              const struct tt_region *r, pid_t pid)
{
    struct tt_exports *k = &known[m->id % TT_EXPORTS_FILES];
    int fd;

    TT_ASSERT(count <= TT_EXPORTS_MOST);
    if (k->module == m)
        return k->address;
    *k = (struct tt_exports){0};
    if ((fd = tt_region_open(r, pid)) >= 0) {
        read_exports(fd, k->address, names, count);
        close(fd);
        k->module = m;
    }
    return k->address;
}
