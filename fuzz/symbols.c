/* SPDX-License-Identifier: MIT */
/* symbols.c - whatever bytes an ELF file, a perf map or a jitdump consists of, asking for
 * names ends.  The first byte says which it is. */
#include "symbols.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "debug-file.h"
#include "jit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int file_of(const uint8_t *data, size_t size)
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);

    if (fd >= 0 && write(fd, data, size) != (ssize_t)size)
        abort();
    return fd;
}

static void look_at(const struct tt_spots *s)
{
    size_t length = 0;

    for (size_t i = 0; i < s->count; i++)
        length += strlen(s->spot[i].function) + strlen(s->spot[i].file) +
                  strlen(s->spot[i].at_file);
    if (!s->count)
        length += strlen(s->reason);
    __asm__ volatile("" ::"r"(length));
}

static void ask_elf(int fd, int brief)
{
    struct tt_debug_file *m = tt_debug_file_open(fd, "fuzz", "", brief);
    struct tt_spots s;

    for (uint64_t at = 0x1000; m && at < 0x1400; at += 13) {
        tt_debug_file_find(m, at, at % 5 == 0, &s);
        look_at(&s);
    }
    tt_debug_file_close(m);
}

static void ask_jit(int fd)
{
    struct tt_jit *j = tt_jit_open(fd);
    struct tt_code code;
    struct tt_spots s;

    for (uint64_t at = 0; j && at < 0x4000; at += 61) {
        tt_jit_find(j, at, &s);
        look_at(&s);
        tt_jit_code(j, at, &code);
        free(code.bytes);
    }
    tt_jit_close(j);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fd = size ? file_of(data + 1, size - 1) : -1;

    if (fd < 0)
        return 0;
    if (*data == 'E')
        ask_elf(fd, size & 1);
    else
        ask_jit(fd);
    return 0;
}
