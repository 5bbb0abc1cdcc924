/* SPDX-License-Identifier: MIT */
/* program-file.c - which loader or interpreter a program's file asks for. */
#include "program-file.h"

#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>

#include "system-call.h"

static long read_at(int fd, void *to, size_t size, uint64_t at)
{
    return tt_call_system(SYS_pread64,
                          (long[6]){fd, (long)(uintptr_t)to, (long)size, (long)at});
}

int tt_program_file_open(const char *path)
{
    return (int)tt_call_system(SYS_openat,
                               (long[6]){AT_FDCWD, (long)(uintptr_t)path,
                                         O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY});
}

void tt_program_file_close(int fd) { (void)tt_call_system(SYS_close, (long[6]){fd}); }

int tt_program_file_header(int fd, Elf64_Ehdr *e)
{
    return read_at(fd, e, sizeof *e, 0) == sizeof *e &&
           memcmp(e->e_ident, ELFMAG, SELFMAG) == 0;
}

int tt_program_file_loader(int fd, const Elf64_Ehdr *e, char *out, size_t size)
{
    Elf64_Phdr h = {0};

    for (unsigned i = 0; i < e->e_phnum; i++) {
        if (read_at(fd, &h, sizeof h, e->e_phoff + (uint64_t)i * sizeof h) != sizeof h)
            return -1;
        if (h.p_type != PT_INTERP)
            continue;
        if (h.p_filesz >= size ||
            read_at(fd, out, h.p_filesz, h.p_offset) != (long)h.p_filesz)
            return -1;
        out[h.p_filesz] = '\0';
        return 1;
    }
    return 0;
}

int tt_program_file_interpreter(int fd, char *out, size_t size)
{
    char line[256] = "";
    const long n = read_at(fd, line, sizeof line - 1, 0);
    const char *word;
    size_t length;

    if (n < 2 || line[0] != '#' || line[1] != '!')
        return 0;
    line[n] = '\0';
    word = line + 2 + strspn(line + 2, " \t");
    length = strcspn(word, " \t\n");
    if (!length || length >= size)
        return 0;
    memcpy(out, word, length);
    out[length] = '\0';
    return 1;
}
