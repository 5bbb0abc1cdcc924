/* SPDX-License-Identifier: MIT */
/* picture.c - whatever bytes a recording consists of, reading it ends in a picture or in an
 * error, and walking the picture stays within it. */
#include <stdlib.h>
#include <string.h>

#include "../test/see-picture.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tt_picture p;
    void *image = malloc(size ? size : 1);

    for (int live = 0; image && live < 2; live++) {
        memcpy(image, data, size);
        if (tt_picture_read(&p, image, size, live) == 0 && !see_picture(&p))
            abort();
        tt_picture_fini(&p);
    }
    free(image);
    return 0;
}
