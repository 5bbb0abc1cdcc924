/* SPDX-License-Identifier: MIT */
/* input.c - profiles from files of any kind; many become one.
 *
 * A single profile is looked at where it lies.  Everything else goes through a builder, one
 * file after the other: what is kept in memory is what comes out, however many there are. */
#include "input.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "foreign.h"
#include "progress.h"
#include "recording.h"
#include "scratch.h"

/* ── One file ─────────────────────────────────────────────────────────────────────── */

static int fail(const char *path, const char *reason)
{
    tt_complain("%s: %s", path, reason);
    return -TT_ERR_FILE;
}

static int map_profile(struct tt_input *in, const char *path, int fd, size_t size)
{
    int error;

    in->image = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    if (in->image == MAP_FAILED)
        return fail(path, strerror(errno));
    in->size = size;
    in->is_mapped = 1;
    error = tt_profile_open(&in->profile, in->image, size, &tt_scratch);
    if (error) {
        tt_complain("%s: %s", path, in->profile.error);
        munmap(in->image, size);
    }
    return error;
}

enum content { RECORDING, PROFILE, FOREIGN };

static int is_standard_input(const char *path) { return strcmp(path, "-") == 0; }

static enum content content_of(const char magic[8])
{
    if (memcmp(magic, TT_PROFILE_MAGIC, 8) == 0)
        return PROFILE;
    return memcmp(magic, TT_MAGIC, 8) == 0 ? RECORDING : FOREIGN;
}

/* Opens a file and finds out what it is; the descriptor, or a negative error. */
static int open_file(const char *path, enum content *content, size_t *size)
{
    char magic[8] = {0};
    int fd = is_standard_input(path) ? dup(STDIN_FILENO)
                                     : open(path, O_RDONLY | O_CLOEXEC);
    struct stat s;

    if (fd < 0)
        return fail(path, strerror(errno));
    if (fstat(fd, &s) != 0 ||
        (S_ISREG(s.st_mode) && pread(fd, magic, sizeof magic, 0) < 0)) {
        (void)fail(path, strerror(errno));
        close(fd);
        return -TT_ERR_FILE;
    }
    *size = (size_t)s.st_size;
    *content = content_of(magic); /* what comes through a pipe can only be foreign */
    return fd;
}

static int add_profile(struct tt_builder *b, const char *path, int fd, size_t size)
{
    struct tt_input in;
    int error = map_profile(&in, path, fd, size);

    if (error)
        return error;
    error = tt_profile_check(&in.profile);
    if (error)
        tt_complain("%s: %s", path, in.profile.error);
    else if ((error = tt_builder_profile(b, &in.profile)) != 0)
        (void)fail(path, tt_error_text(error));
    tt_input_close(&in);
    return error;
}

static int add_recording(struct tt_builder *b, const char *path)
{
    struct tt_picture p;
    int error = tt_load(&p, path);

    if (error)
        return error;
    error = tt_builder_recording(b, &p);
    if (error)
        (void)fail(path, tt_error_text(error));
    tt_unload(&p);
    return error;
}

/* So many strands are not kept apart any more. */
enum { MANY_STRANDS = 4096 };

static int add_file(struct tt_builder *b, const char *path, int summary)
{
    enum content content;
    size_t size;
    int fd = open_file(path, &content, &size), error;

    if (fd < 0)
        return fd;
    error = content == PROFILE     ? add_profile(b, path, fd, size)
            : content == RECORDING ? add_recording(b, path)
                                   : tt_foreign_add(b, path, fd);
    close(fd);
    if (!error && tt_builder_has_overflown(b)) {
        error = -TT_ERR_FORMAT;
        tt_complain("%s: with this file the figures add up to more than 64 bits hold",
                    path);
    }
    if (!error && (summary || tt_builder_strands(b) > MANY_STRANDS) &&
        (error = tt_builder_summarise(b)) != 0)
        (void)fail(path, tt_error_text(error));
    return error;
}

/* ── A folder: the recordings of several processes ────────────────────────────────── */

int tt_input_is_folder(const char *path)
{
    struct stat s;

    return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

static int is_visible(const struct dirent *d) { return d->d_name[0] != '.'; }

/* A folder that is one recording: the file in it that stands for all; NULL: it is not. */
static char *find_whole(const char *path)
{
    char *name, magic[8] = "";
    FILE *f;

    if (asprintf(&name, "%s/info", path) < 0)
        return NULL;
    f = fopen(name, "re");
    if (f && fread(magic, 1, sizeof magic, f) == sizeof magic &&
        memcmp(magic, "Ftrace!", sizeof magic) == 0) {
        (void)fclose(f);
        return name;
    }
    if (f)
        (void)fclose(f);
    free(name);
    return NULL;
}

static int add_folder(struct tt_builder *b, const char *path, int summary)
{
    char *whole = find_whole(path);
    struct dirent **entry;
    int count, error = 0;

    if (whole) {
        error = add_file(b, whole, summary);
        free(whole);
        return error;
    }
    count = scandir(path, &entry, is_visible, alphasort);
    if (count < 0)
        return fail(path, strerror(errno));
    if (count == 0)
        error = fail(path, "this folder is empty");
    for (int i = 0; i < count; i++) {
        char *name = NULL;
        if (!error && asprintf(&name, "%s/%s", path, entry[i]->d_name) < 0)
            error = fail(path, tt_error_text(-TT_ERR_MEMORY));
        if (!error)
            error = add_file(b, name, summary);
        free(name);
        free(entry[i]);
        if (!error)
            tt_progress((uint64_t)i, (uint64_t)count);
    }
    free(entry);
    return error;
}

/* ── The whole ────────────────────────────────────────────────────────────────────── */

static int merge(struct tt_input *in, char *const *paths, int count, int summary)
{
    struct tt_builder *b = tt_builder_new(&tt_scratch);
    int error = b ? 0 : -TT_ERR_MEMORY;

    for (int i = 0; !error && i < count; i++) {
        error = tt_input_is_folder(paths[i]) ? add_folder(b, paths[i], summary)
                                             : add_file(b, paths[i], summary);
        if (error)
            goto fail_add;
        tt_progress((uint64_t)i, (uint64_t)count);
    }
    if (!error)
        error = tt_builder_finish(b, &in->image, &in->size);
    if (!error)
        error = tt_profile_open(&in->profile, in->image, in->size, &tt_scratch);
    if (error)
        tt_complain("%s", tt_error_text(error));
fail_add:
    tt_progress(1, 1);
    tt_builder_free(b);
    return error;
}

int tt_input_merge(struct tt_input *in, char *const *paths, int count, int summary)
{
    memset(in, 0, sizeof *in);
    return merge(in, paths, count, summary);
}

int tt_input_open(struct tt_input *in, char *const *paths, int count)
{
    enum content content = RECORDING;
    size_t size = 0;
    int fd, error;

    memset(in, 0, sizeof *in);
    if (count != 1 || tt_input_is_folder(paths[0]))
        return merge(in, paths, count, 0);
    fd = open_file(paths[0], &content, &size);
    if (fd < 0)
        return fd;
    error = content == PROFILE ? map_profile(in, paths[0], fd, size)
                               : merge(in, paths, count, 0);
    close(fd);
    return error;
}

void tt_input_close(struct tt_input *in)
{
    tt_profile_close(&in->profile);
    if (in->is_mapped)
        munmap(in->image, in->size);
    else
        tt_memory_put(&tt_scratch, in->image, in->size);
    in->image = NULL;
}
