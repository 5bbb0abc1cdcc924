/* SPDX-License-Identifier: MIT */
/* program.c - a program that is to be run: its file, and which library can be loaded into
 * it.
 *
 * A program's loader loads the libraries in LD_PRELOAD.  It cannot load ours if the
 * program is static, or has another C library or word size; it ignores LD_PRELOAD if the
 * program has more rights than we have. */
#include "program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "program-file.h"

enum { NOT_EXECUTABLE = 126, NOT_FOUND = 127 };

static __attribute__((format(printf, 2, 3))) void say(struct tt_program *p,
                                                      const char *format, ...)
{
    va_list list;

    va_start(list, format);
    (void)vsnprintf(p->reason, sizeof p->reason, format, list);
    va_end(list);
}

/* ── The file ─────────────────────────────────────────────────────────────────────── */

static int is_executable(const char *path)
{
    struct stat s;

    if (stat(path, &s) != 0)
        return 0;
    errno = S_ISDIR(s.st_mode) ? EISDIR : EACCES;
    return S_ISREG(s.st_mode) && access(path, X_OK) == 0;
}

/* As execvp does: skips files that cannot be executed, but remembers them. */
static int find_in_path(struct tt_program *p, const char *name)
{
    const char *at = getenv("PATH"), *end;
    int denied = 0, n;

    for (at = at ? at : "/bin:/usr/bin"; at; at = *end ? end + 1 : NULL) {
        end = at + strcspn(at, ":");
        n = snprintf(p->path, sizeof p->path, "%.*s%s%s", (int)(end - at), at,
                     end > at ? "/" : "", name);
        if (n < 0 || n >= (int)sizeof p->path)
            continue;
        if (is_executable(p->path))
            return 0;
        denied |= errno == EACCES;
    }
    errno = denied ? EACCES : ENOENT;
    return denied ? NOT_EXECUTABLE : NOT_FOUND;
}

static int find_file(struct tt_program *p, const char *name)
{
    if (!strchr(name, '/'))
        return find_in_path(p, name);
    if (snprintf(p->path, sizeof p->path, "%s", name) >= (int)sizeof p->path) {
        errno = ENAMETOOLONG;
        return NOT_EXECUTABLE;
    }
    if (is_executable(p->path))
        return 0;
    return errno == ENOENT || errno == ENOTDIR ? NOT_FOUND : NOT_EXECUTABLE;
}

/* ── What can be loaded into it ───────────────────────────────────────────────────── */

/* Returns 1 if our file can be opened. */
static int our_loader(Elf64_Ehdr *e, char *out, size_t size)
{
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

    out[0] = '\0';
    if (fd < 0)
        return 0;
    if (tt_program_file_header(fd, e) && tt_program_file_loader(fd, e, out, size) != 1)
        out[0] = '\0';
    close(fd);
    return 1;
}

static void check_loader(struct tt_program *p, const char *path, int fd,
                         const Elf64_Ehdr *e)
{
    char loader[256], ours[256];
    Elf64_Ehdr us = *e; /* if it cannot be read */
    int found;

    if (!our_loader(&us, ours, sizeof ours))
        return;
    if (e->e_ident[EI_CLASS] != us.e_ident[EI_CLASS] || e->e_machine != us.e_machine) {
        say(p, "%s is for another processor architecture than tallytree", path);
        return;
    }
    found = tt_program_file_loader(fd, e, loader, sizeof loader);
    if (found == 0) {
        say(p, "%s is statically linked: nothing can be loaded into it", path);
        p->outside = "it is statically linked";
    } else if (found < 0 || strcmp(loader, ours) != 0) {
        say(p, "%s is started by %s, which cannot load a library for %s", path,
            found < 0 ? "no loader" : loader, ours);
        p->outside = found > 0 ? "it uses another C library" : NULL;
    }
}

/* A program that gets rights by its file is started without libraries of its user. */
static int check_rights(struct tt_program *p, const char *path, int fd)
{
    struct stat s;

    if (fstat(fd, &s) != 0)
        return 0;
    if ((s.st_mode & S_ISUID) && s.st_uid != geteuid())
        say(p, "%s is setuid: the system does not allow access to it", path);
    else if ((s.st_mode & S_ISGID) && (s.st_mode & S_IXGRP) && s.st_gid != getegid())
        say(p, "%s is setgid: the system does not allow access to it", path);
    else if (geteuid() != 0 && fgetxattr(fd, "security.capability", NULL, 0) > 0)
        say(p, "%s has capabilities: the system does not allow access to it", path);
    else
        return 0;
    return 1;
}

static void check(struct tt_program *p)
{
    char path[PATH_MAX];
    int fd, script = 1;
    Elf64_Ehdr e;

    (void)snprintf(path, sizeof path, "%s", p->path);
    for (int i = 0; script && i < TT_SCRIPTS_MAX; i++) {
        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0) /* a program may be executable and not readable */
            return;
        script = tt_program_file_interpreter(fd, path, sizeof path);
        if (!script && tt_program_file_header(fd, &e)) {
            if (!check_rights(p, path, fd))
                check_loader(p, path, fd, &e);
        }
        close(fd);
    }
}

static int name_section(int fd, const Elf64_Ehdr *e, const Elf64_Shdr *h, char *out,
                        size_t size)
{
    Elf64_Shdr names;
    ssize_t n;

    if (pread(fd, &names, sizeof names,
              (off_t)(e->e_shoff + (uint64_t)e->e_shstrndx * sizeof names)) !=
        sizeof names)
        return -1;
    n = pread(fd, out, size - 1, (off_t)(names.sh_offset + h->sh_name));
    out[n > 0 ? n : 0] = '\0';
    return n > 0 ? 0 : -1;
}

static int find_section(int fd, const Elf64_Ehdr *e, const char *wanted, Elf64_Shdr *h)
{
    char name[64];

    for (unsigned i = 0; i < e->e_shnum; i++) {
        off_t at = (off_t)(e->e_shoff + (uint64_t)i * sizeof *h);
        if (pread(fd, h, sizeof *h, at) != sizeof *h ||
            name_section(fd, e, h, name, sizeof name) != 0)
            return 0;
        if (strcmp(name, wanted) == 0)
            return 1;
    }
    return 0;
}

static int has_section(int fd, const Elf64_Ehdr *e, const char *wanted)
{
    Elf64_Shdr h;

    return find_section(fd, e, wanted, &h);
}

/* Does a name that the loader is asked for end so? */
static int has_name(int fd, const Elf64_Ehdr *e, const char *end)
{
    const size_t size = strlen(end) + 1;
    char piece[1 << 16];
    size_t kept = 0;
    uint64_t at, stop;
    Elf64_Shdr h;

    if (!find_section(fd, e, ".dynstr", &h))
        return 0;
    for (at = h.sh_offset, stop = at + h.sh_size; at < stop;) {
        size_t room = sizeof piece - kept;
        ssize_t n = pread(fd, piece + kept, stop - at < room ? stop - at : room,
                          (off_t)at);
        if (n <= 0)
            return 0;
        if (memmem(piece, kept + (size_t)n, end, size))
            return 1;
        at += (uint64_t)n;
        n += (ssize_t)kept;
        kept = (size_t)n < size ? (size_t)n : size - 1;
        memmove(piece, piece + n - kept, kept);
    }
    return 0;
}

int tt_program_names(const struct tt_program *p, const char *end)
{
    int fd = open(p->path, O_RDONLY | O_CLOEXEC), is;
    Elf64_Ehdr e;

    if (fd < 0)
        return 0;
    is = tt_program_file_header(fd, &e) && e.e_ident[EI_CLASS] == ELFCLASS64 &&
         has_name(fd, &e, end);
    close(fd);
    return is;
}

int tt_program_is_patchable(const struct tt_program *p)
{
    int fd = open(p->path, O_RDONLY | O_CLOEXEC), is;
    Elf64_Ehdr e;

    if (fd < 0)
        return 0;
    is = tt_program_file_header(fd, &e) && e.e_ident[EI_CLASS] == ELFCLASS64 &&
         (has_section(fd, &e, "__patchable_function_entries") ||
          has_section(fd, &e, "__mcount_loc"));
    close(fd);
    return is;
}

int tt_program_find(struct tt_program *p, const char *name)
{
    int status = find_file(p, name);

    p->reason[0] = '\0';
    p->outside = NULL;
    p->base = p->path;
    if (status) {
        say(p, "%s: %s", name,
            status == NOT_FOUND ? "there is no such program" : strerror(errno));
        return status;
    }
    if (strrchr(p->path, '/'))
        p->base = strrchr(p->path, '/') + 1;
    check(p);
    return 0;
}
