/* SPDX-License-Identifier: MIT */
/* embedded-profile.c - whatever bytes a page carries, they are no profile, or an image: a
 * profile that can be packed again, or one that is refused. */
#include <stdlib.h>
#include <string.h>

#include "embedded-profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void pack_again(const struct tt_profile *p)
{
    struct tt_vector embedded;
    void *image;
    size_t size;

    tt_vector_init(&embedded, NULL, 1);
    if (tt_embedded_pack(p, &embedded) != 0)
        abort();
    /* What came out of longer numbers than need be may be too large for those that do. */
    if (tt_embedded_unpack(embedded.item, embedded.count, NULL, &image, &size) == 0) {
        if (size != p->size)
            abort();
        tt_memory_put(NULL, image);
    }
    tt_vector_fini(&embedded);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tt_profile p;
    size_t length;
    void *image;

    if (tt_embedded_unpack(data, size, NULL, &image, &length) != 0)
        return 0;
    if (tt_profile_open(&p, image, length, NULL) == 0) {
        pack_again(&p);
        tt_profile_close(&p);
    }
    tt_memory_put(NULL, image);
    return 0;
}
