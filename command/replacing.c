/* SPDX-License-Identifier: MIT */
/* replacing.c - protects files that Tallytree did not write from being replaced.
 *
 * Profiles and recordings are recognized by their first bytes, and formats of other tools
 * by their readers.  A file without a reader, such as a report, is recognized if it
 * begins like the new one. */
#include "replacing.h"

#include <ctype.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "complain.h"
#include "foreign.h"
#include "format.h"
#include "layout.h"

enum { HEAD = 1 << 16, MAGIC = 8, ALIKE = 9 };

static int is_forced;

void tt_replacing_force(void) { is_forced = 1; }
int tt_replacing_is_forced(void) { return is_forced; }

static int refuse(const char *path)
{
    tt_complain("%s: there is a file that Tallytree did not write; --force replaces it",
                path);
    return -TT_ERR_FILE;
}

/* Is there a file that could be lost?  *fd: it, or -1 if it cannot be read. */
static int has_old(const char *path, int *fd)
{
    struct stat s;

    if (is_forced || stat(path, &s) != 0 || !S_ISREG(s.st_mode) || s.st_size == 0)
        return 0;
    *fd = open(path, O_RDONLY | O_CLOEXEC);
    return 1;
}

static int is_ours(const char *head, ssize_t size)
{
    return size >= MAGIC && (memcmp(head, TT_MAGIC, MAGIC) == 0 ||
                             memcmp(head, TT_PROFILE_MAGIC, MAGIC) == 0);
}

int tt_replacing_check(const char *path)
{
    char head[MAGIC];
    int fd, ours;

    if (!has_old(path, &fd))
        return 0;
    ours = is_ours(head, pread(fd, head, sizeof head, 0));
    if (fd >= 0)
        close(fd);
    return ours ? 0 : refuse(path);
}

/* Returns the next character; runs of blanks are one, and leading ones are skipped. */
static int next(const char **at, const char *end, int is_first)
{
    const char *p = *at;

    while (p < end && isspace((unsigned char)*p))
        p++;
    if (p > *at && !is_first) {
        *at = p;
        return ' ';
    }
    *at = p < end ? p + 1 : p;
    return p < end ? (unsigned char)*p : -1;
}

static int begin_alike(const char *a, size_t a_size, const char *b, size_t b_size)
{
    const char *a_end = a + a_size, *b_end = b + b_size;

    for (int i = 0; i < ALIKE; i++) {
        int one = next(&a, a_end, i == 0);
        if (one < 0 || one != next(&b, b_end, i == 0))
            return 0;
    }
    return 1;
}

/* All pages begin alike, and so do all compressed files. */
static int is_telling(const char *head, size_t size)
{
    if (size >= 2 && (unsigned char)head[0] == 0x1f && (unsigned char)head[1] == 0x8b)
        return 0;
    return head[0] != '<' || memmem(head, size, "allytree", strlen("allytree")) != NULL;
}

/* A report as text, with the first fact of its header; as CSV; as JSON. */
static int is_report(const char *head, size_t size)
{
    enum { FACT = 12 };
    static const char json[] = "{\"tallytree\":", csv[] = "role,";
    size_t at = 0;

    if (size > sizeof json && (memcmp(head, json, sizeof json - 1) == 0 ||
                               memcmp(head, csv, sizeof csv - 1) == 0))
        return 1;
    while (at < size && at < FACT - 2 && islower((unsigned char)head[at]))
        at++;
    while (at && at < size && at < FACT && head[at] == ' ')
        at++;
    return at == FACT && at < size && head[at] != ' ';
}

/* Both are binary, and name the program that wrote them. */
static int are_binary(const char *a, size_t a_size, const char *b, size_t b_size)
{
    static const char name[] = "tallytree";

    return a[0] == b[0] && memchr(a, 0, a_size) &&
           memmem(a, a_size, name, sizeof name - 1) &&
           memmem(b, b_size, name, sizeof name - 1);
}

static int are_alike(int old, int with)
{
    static char head[2][HEAD];
    ssize_t a = pread(old, head[0], HEAD, 0), b = pread(with, head[1], HEAD, 0);
    const struct tt_format *format;

    if (is_ours(head[0], a))
        return 1;
    if (a <= 0 || b <= 0)
        return 0;
    if (is_report(head[0], (size_t)a) ||
        are_binary(head[0], (size_t)a, head[1], (size_t)b))
        return 1;
    if (is_telling(head[0], (size_t)a) &&
        begin_alike(head[0], (size_t)a, head[1], (size_t)b))
        return 1;
    format = tt_foreign_format(old);
    return format && format == tt_foreign_format(with);
}

int tt_replacing_check_with(const char *path, int with)
{
    int old, alike;

    if (!has_old(path, &old))
        return 0;
    alike = old >= 0 && are_alike(old, with);
    if (old >= 0)
        close(old);
    return alike ? 0 : refuse(path);
}
