/* SPDX-License-Identifier: MIT */
/* program-test.c - names that the loader is asked for are found wherever they are in the file. */
#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "program.h"
#include "tap.h"

enum { PIECE = 1 << 16, NAMES_AT = 1024 }; /* the file is read in pieces of this size */

static struct tt_program program;

/* Writes a file with a header, two sections, and names.  They are one long name, except for the
 * text at `at`. */
static int write_file(size_t size, size_t at, const char *text, size_t length)
{
    static char file[NAMES_AT + 3 * PIECE];
    static int fd;
    Elf64_Ehdr *e = (void *)file;
    Elf64_Shdr *h = (void *)(file + 128);

    if (!fd) {
        fd = memfd_create("program", MFD_CLOEXEC);
        (void)snprintf(program.path, sizeof program.path, "/proc/self/fd/%d", fd);
    }
    memset(file, 0, sizeof file);
    memcpy(e->e_ident, ELFMAG, SELFMAG);
    e->e_ident[EI_CLASS] = ELFCLASS64;
    e->e_shoff = 128;
    e->e_shnum = 2;
    memcpy(file + 512, "\0.dynstr\0.shstrtab", 19);
    h[0] = (Elf64_Shdr){.sh_name = 9, .sh_offset = 512, .sh_size = 19};
    h[1] = (Elf64_Shdr){.sh_name = 1, .sh_offset = NAMES_AT, .sh_size = size};
    memset(file + NAMES_AT, 'x', size);
    memcpy(file + NAMES_AT + at, text, length);
    return ftruncate(fd, 0) == 0 &&
           pwrite(fd, file, NAMES_AT + size, 0) == (ssize_t)(NAMES_AT + size);
}

TEST(a_name_is_found_across_two_pieces)
{
    static const char name[] = "__san_init";
    int found = 0, wrong = 0;

    for (size_t at = PIECE - 30; at < PIECE + 20; at++) {
        CHECK(write_file(2 * PIECE + 100, at, name, sizeof name));
        found += tt_program_names(&program, "san_init");
        wrong += tt_program_names(&program, "san_ini");
    }
    CHECK_INT(found, 50);
    CHECK_INT(wrong, 0);
}

TEST(a_name_is_found_at_both_ends)
{
    CHECK(write_file(100, 0, "tt_start", 9));
    CHECK_INT(tt_program_names(&program, "tt_start"), 1);
    CHECK(write_file(100, 91, "tt_start", 9));
    CHECK_INT(tt_program_names(&program, "tt_start"), 1);
    CHECK(write_file(3 * PIECE - 5, 3 * (size_t)PIECE - 14, "tt_start", 9));
    CHECK_INT(tt_program_names(&program, "tt_start"), 1);
    CHECK(write_file(100, 92, "tt_start", 8)); /* its NUL is beyond the names */
    CHECK_INT(tt_program_names(&program, "tt_start"), 0);
}

TEST(a_file_that_ends_in_its_names_has_none)
{
    CHECK(write_file(2 * PIECE, 2 * (size_t)PIECE - 9, "tt_start", 9));
    CHECK(truncate(program.path, NAMES_AT + PIECE) == 0);
    CHECK_INT(tt_program_names(&program, "tt_start"), 0);
}
