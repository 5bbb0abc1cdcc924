/* SPDX-License-Identifier: MIT */
/* image.c - whatever an ELF file consists of, what unwinding needs is found or it is not. */
#include <sys/mman.h>
#include <unistd.h>

#include "image-symbol.h"
#include "image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fd = memfd_create("image", MFD_CLOEXEC);
    struct tt_image image;
    struct tt_frame_info info;
    struct tt_rules *rules;
    uint8_t id[TT_BUILD_ID_MAX];
    int found;

    if (write(fd, data, size) == (ssize_t)size && tt_image_of_file(&image, fd) == 0) {
        tt_image_build_id(&image, id);
        found = tt_image_frame_info(&image, &info) == 0;
        found |= tt_image_debug_frame(&image, &info) == 0;
        if (found && tt_rules_new(&rules, &info) == 0)
            tt_rules_free(rules);
        (void)tt_image_symbol(&image, "_PyRuntime");
        tt_image_fini(&image);
    }
    close(fd);
    return 0;
}
