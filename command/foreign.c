/* SPDX-License-Identifier: MIT */
/* foreign.c - opens files that other tools wrote, and passes them to their readers. */
#include "foreign.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "complain.h"
#include "demangle.h"
#include "known.h"
#include "options.h"
#include "progress.h"
#include "scratch.h"
#include "unpack.h"
#include "walking.h"

static struct tt_reading foreign_reading = {.demangle = tt_demangle,
                                            .walker = &tt_stack_walker};

struct foreign {
    struct tt_source source;
    struct tt_stream file, *packed, *text; /* text: UTF-16 within gzip */
    int fd;
    uint64_t done, size; /* bytes of the file; size 0: not known */
    char *path;          /* owned, of a file that lies beside; or NULL */
};

static int64_t read_file(void *arg, void *to, size_t size)
{
    struct foreign *f = arg;
    ssize_t n;

    do
        n = read(f->fd, to, size < 1u << 30 ? size : 1u << 30);
    while (n < 0 && errno == EINTR);
    if (n >= 0) {
        f->done += (uint64_t)n;
        tt_progress_within(f->done, f->size);
        return n;
    }
    (void)snprintf(f->file.error, sizeof f->file.error, "%s", strerror(errno));
    return -TT_ERR_FILE;
}

static struct tt_source *open_beside(const struct tt_source *, const char *name);

static int open_foreign(struct foreign *f, const char *path, int fd)
{
    struct stat s;

    f->fd = fd;
    f->done = 0;
    f->size = fstat(fd, &s) == 0 && S_ISREG(s.st_mode) ? (uint64_t)s.st_size : 0;
    f->file = (struct tt_stream){.read = read_file, .arg = f};
    f->packed = tt_unpack_new(&f->file);
    f->text = f->packed ? tt_unpack_new(f->packed) : NULL;
    tt_source_init(&f->source, path, f->text, &tt_scratch);
    f->source.reading = &foreign_reading;
    f->source.beside = open_beside;
    return f->text ? 0 : -TT_ERR_MEMORY;
}

static void close_foreign(struct foreign *f)
{
    tt_source_fini(&f->source);
    tt_unpack_free(f->text);
    tt_unpack_free(f->packed);
}

static void close_beside(struct tt_source *s)
{
    struct foreign *f = (struct foreign *)s; /* its first member */

    close_foreign(f);
    close(f->fd);
    free(f->path);
    free(f);
}

/* A file names it: does not wait for it if it is a pipe or a device. */
static int open_regular(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat s;

    if (fd < 0 || (fstat(fd, &s) == 0 && S_ISREG(s.st_mode)))
        return fd;
    close(fd);
    return -1;
}

static struct tt_source *open_beside(const struct tt_source *s, const char *name)
{
    const char *slash = strrchr(s->name, '/');
    struct foreign *f = calloc(1, sizeof *f);
    int fd;

    if (*name == '/')
        slash = NULL;
    if (!f || asprintf(&f->path, "%.*s%s", slash ? (int)(slash - s->name + 1) : 0,
                       s->name, name) < 0)
        goto fail_path;
    fd = open_regular(f->path);
    if (fd < 0)
        goto fail_open;
    f->source.close = close_beside;
    if (open_foreign(f, f->path, fd) != 0)
        goto fail_foreign;
    f->source.close = close_beside;
    return &f->source;
fail_foreign:
    close_foreign(f);
    close(fd);
fail_open:
    free(f->path);
fail_path:
    free(f);
    return NULL;
}

/* Complains of a content in an unknown format. */
static void complain_of_unknown(struct tt_source *s)
{
    enum { HEAD = 1 << 16 };
    int64_t have = tt_source_want(s, HEAD);
    const char *kind = have > 0 ? tt_known_kind(tt_source_at(s), (size_t)have) : NULL;

    if (have == 0)
        tt_complain("%s: this file is empty", s->name);
    else if (kind)
        tt_complain("%s: this is %s", s->name, kind);
    else
        tt_complain("%s: this is not a recording, nor a profile, nor in any format that "
                    "is known",
                    s->name);
}

static int read_foreign(struct tt_source *s, struct tt_builder *b, unsigned *flags)
{
    const struct tt_format *format = tt_format_detect(s);
    int error;

    if (!format) {
        if (s->error[0])
            tt_complain("%s", s->error);
        else
            complain_of_unknown(s);
        return -TT_ERR_FORMAT;
    }
    tt_builder_no_strand(b);
    tt_builder_fact(b, "format", TT_FACT_EACH, 1, format->name);
    *flags |= format->flags;
    error = format->read(s, b);
    error = error ?: tt_source_failed(s);
    if (error)
        tt_complain("%s", s->error[0] ? s->error : tt_error_text(error));
    return error;
}

const struct tt_format *tt_foreign_format(int fd)
{
    const struct tt_format *format = NULL;
    struct foreign f = {0};

    if (lseek(fd, 0, SEEK_SET) != 0)
        return NULL;
    if (open_foreign(&f, "", fd) == 0)
        format = tt_format_detect(&f.source);
    close_foreign(&f);
    return format;
}

int tt_foreign_add(struct tt_builder *b, const char *path, int fd, unsigned *flags)
{
    struct foreign f = {.fd = -1};
    int error = open_foreign(&f, path, fd);

    if (error)
        tt_complain("%s: %s", path, tt_error_text(error));
    else
        error = read_foreign(&f.source, b, flags);
    close_foreign(&f);
    return error;
}

/* Files beside a profile are found by its path, so this path is absolute. */
static int take_executable(const char *command, const char *value)
{
    static char path[PATH_MAX];

    if (!realpath(value, path)) {
        tt_complain("%s: '%s': %s", command, value, strerror(errno));
        return -TT_ERR_OPTION;
    }
    foreign_reading.executable = path;
    return 1;
}

int tt_foreign_take(const char *command, const struct tt_flag *flag, const char *value)
{
    struct tt_options o;
    int error = tt_options_read(&o, "", NULL);

    if (flag->id == TT_FOREIGN_EXECUTABLE)
        return take_executable(command, value);
    if (flag->id == TT_FOREIGN_RECURSION) {
        foreign_reading.recursion = value;
        error = error ?: tt_options_recursion(&o, value);
    } else if (flag->id == TT_FOREIGN_BUDGET) {
        foreign_reading.budget = value;
        error = error ?: tt_options_budget(&o, value);
    } else {
        return 0;
    }
    return error ? tt_command_refuse(command, flag, value) : 1;
}
