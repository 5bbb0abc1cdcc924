/* SPDX-License-Identifier: MIT */
/* input.c - profiles from files of any kind; several are merged.
 *
 * A single profile is used directly.  Everything else goes through a builder, one file
 * after the other: memory depends on the size of the result, not on the number of
 * files. */
#include "input.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "add-profile.h"
#include "chain.h"
#include "command.h"
#include "complain.h"
#include "finish.h"
#include "foreign.h"
#include "layout.h"
#include "load.h"
#include "name-blocks.h"
#include "progress.h"
#include "read-recording.h"
#include "scratch.h"
#include "summary.h"

/* What is read, and what could not be. */
struct reading {
    struct tt_builder *b;
    unsigned how;                /* enum tt_input_how */
    int recordings;              /* there was one */
    unsigned formats;            /* flags of the foreign ones */
    uint32_t files;              /* in folders */
    uint32_t taken;              /* of all files, those that could be read */
    uint32_t begun;              /* recordings with nothing in them */
    uint32_t bad;                /* files that cannot be read */
    char name[PATH_MAX];         /* of the folder that the last of these was in */
    char reason[PATH_MAX + 300]; /* of the first bad one */
};

enum { NAMED = 8 }; /* bad files; more are counted */
enum { BEGUN = 1 }; /* as an error is returned, when a recording was only begun */

/* ── One file ─────────────────────────────────────────────────────────────────────── */

static int fail(const char *path, const char *reason)
{
    tt_complain("%s: %s", path, reason);
    return -TT_ERR_FILE;
}

/* A program that writes into a mapped file would change what was checked; if it truncates
 * the file, pages disappear.  So a copy is read; a large copy is in a nameless file. */
static int copy_file(struct tt_input *in, int fd)
{
    size_t have = 0;
    ssize_t n;

    in->image = tt_memory_get(&tt_scratch, in->size);
    errno = ENOMEM;
    while (in->image && have < in->size) {
        n = pread(fd, (char *)in->image + have, in->size - have, (off_t)have);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) /* it became shorter: the rest is zeros, which the check finds */
            break;
        have += (size_t)n;
    }
    return in->image ? 0 : -1;
}

static int read_profile(struct tt_input *in, const char *path, int fd, size_t size)
{
    int error;

    in->size = size;
    in->is_profile = 1;
    if (copy_file(in, fd) != 0)
        return fail(path, strerror(errno));
    error = tt_profile_open(&in->profile, in->image, size, &tt_scratch);
    if (error) {
        tt_complain("%s: %s", path, in->profile.error);
        tt_memory_put(&tt_scratch, in->image);
    }
    return error;
}

enum content { RECORDING, PROFILE, FOREIGN, NOTHING };

static int is_standard_input(const char *path) { return strcmp(path, "-") == 0; }

/* Is it a recording whose process was killed while it made the file?  Then there is no
 * magic number, and the next fields are zero or as in every recording. */
static int is_begun(const char start[16])
{
    static const char none[8];
    uint32_t version, size;

    memcpy(&version, start + 8, sizeof version);
    memcpy(&size, start + 12, sizeof size);
    return memcmp(start, none, sizeof none) == 0 &&
           (!version || version == TT_LAYOUT_VERSION) &&
           (!size || size == sizeof(struct tt_header));
}

static enum content content_of(const char start[16])
{
    if (memcmp(start, TT_PROFILE_MAGIC, 8) == 0)
        return PROFILE;
    if (memcmp(start, TT_MAGIC, 8) == 0)
        return RECORDING;
    return is_begun(start) ? NOTHING : FOREIGN;
}

/* Opens a file and detects its kind; returns the descriptor, or a negative error.  Does
 * not wait for a pipe without a writer, unless the user has named it. */
static int open_file(const char *path, int is_named, enum content *content, size_t *size)
{
    char start[16] = {0};
    int fd = is_standard_input(path)
                 ? dup(STDIN_FILENO)
                 : open(path, O_RDONLY | O_CLOEXEC | (is_named ? 0 : O_NONBLOCK));
    struct stat s;

    if (fd < 0)
        return fail(path, strerror(errno));
    if (fstat(fd, &s) != 0 ||
        (S_ISREG(s.st_mode) && pread(fd, start, sizeof start, 0) < 0)) {
        (void)fail(path, strerror(errno));
        close(fd);
        return -TT_ERR_FILE;
    }
    if (!is_named && !S_ISREG(s.st_mode)) {
        close(fd);
        return fail(path, "this is no regular file");
    }
    *size = (size_t)s.st_size;
    /* A pipe can only have foreign formats. */
    *content = S_ISREG(s.st_mode) ? content_of(start) : FOREIGN;
    return fd;
}

static int add_profile(struct tt_builder *b, const char *path, int fd, size_t size)
{
    struct tt_input in;
    int error = read_profile(&in, path, fd, size);

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

/* Above this number, strands are not kept separately any more. */
enum { MANY_STRANDS = 4096 };

/* For a folder: a file that cannot be read completely must not be in the profile in
 * part. */
static int add_foreign_whole(struct reading *r, const char *path, int fd)
{
    struct tt_builder *one = tt_builder_new(&tt_scratch);
    struct tt_profile p;
    void *image = NULL;
    size_t size = 0;
    int error = one ? tt_foreign_add(one, path, fd, &r->formats) : -TT_ERR_MEMORY;

    if (error)
        goto fail_read;
    error = tt_builder_finish(one, &image, &size);
    if (!error)
        error = tt_profile_open(&p, image, size, &tt_scratch);
    if (!error) {
        error = tt_builder_profile(r->b, &p);
        tt_profile_close(&p);
    }
    if (error)
        (void)fail(path, tt_error_text(error));
fail_read:
    tt_memory_put(&tt_scratch, image);
    tt_builder_free(one);
    return error;
}

static int add_content(struct reading *r, const char *path, int is_named, int fd,
                       enum content content, size_t size)
{
    switch (content) {
    case PROFILE:
        return add_profile(r->b, path, fd, size);
    case RECORDING:
        r->recordings = 1;
        return add_recording(r->b, path);
    case FOREIGN:
        return is_named ? tt_foreign_add(r->b, path, fd, &r->formats)
                        : add_foreign_whole(r, path, fd);
    case NOTHING:
        break;
    }
    return BEGUN;
}

/* Checks that the sums fit 64 bits and memory; otherwise reading ends. */
static int check_sum(struct reading *r, const char *path)
{
    int error;

    if (tt_builder_has_overflown(r->b)) {
        tt_complain("%s: with this file the figures add up to more than 64 bits hold",
                    path);
        return -TT_ERR_FORMAT;
    }
    if (!(r->how & TT_INPUT_SUMMARY) && tt_builder_strands(r->b) <= MANY_STRANDS)
        return 0;
    error = tt_builder_summarise(r->b);
    if (error)
        (void)fail(path, tt_error_text(error));
    return error;
}

static int add_file(struct reading *r, const char *path, int is_named)
{
    enum content content;
    size_t size;
    int fd = open_file(path, is_named, &content, &size), error;

    if (fd < 0)
        return fd;
    error = add_content(r, path, is_named, fd, content, size);
    close(fd);
    r->taken += !error;
    return error;
}

/* ── What is left out ─────────────────────────────────────────────────────────────── */

static __attribute__((format(printf, 3, 4))) void leave_out(struct reading *r,
                                                            const char *path,
                                                            const char *format, ...)
{
    char text[PATH_MAX + 600];
    va_list list;

    va_start(list, format);
    (void)vsnprintf(text, sizeof text, format, list);
    va_end(list);
    tt_builder_fact(r->b, "missing", TT_FACT_EACH, 1, text);
    if (!(r->how & TT_INPUT_QUIET))
        tt_complain("%s%s%s", path ? path : "", path ? ": " : "", text);
}

/* `text` begins with the path of the file; the profile may be read elsewhere, so only its
 * name is kept. */
static void leave_out_bad(struct reading *r, const char *folder, const char *text)
{
    size_t length = strlen(folder);

    if (++r->bad == 1)
        (void)snprintf(r->reason, sizeof r->reason, "%s", text);
    if (r->bad > NAMED)
        return;
    if (strncmp(text, folder, length) == 0 && text[length] == '/')
        text += length + 1;
    leave_out(r, folder, "%s", text);
}

static void leave_out_rest(struct reading *r)
{
    if (r->bad > NAMED)
        leave_out(r, NULL, "%u more files that cannot be read", r->bad - NAMED);
    if (r->begun)
        leave_out(r, r->name, "%u of %u recordings %s nothing in %s: %s", r->begun,
                  r->files, r->begun == 1 ? "has" : "have", r->begun == 1 ? "it" : "them",
                  r->begun == 1 ? "its process was killed at its start"
                                : "their processes were killed at their start");
}

/* ── A folder: the recordings of several processes ────────────────────────────────── */

int tt_input_is_folder(const char *path)
{
    struct stat s;

    return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

/* Is it the same folder, by a link?  Its content would count twice. */
static int is_same(const char *folder, const char *other)
{
    struct stat a, b;

    return stat(folder, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

static int is_visible(const struct dirent *d) { return d->d_name[0] != '.'; }

/* Returns the main file of a folder that is a single recording; NULL: it is not. */
static char *find_whole(const char *path)
{
    char *name, magic[8] = "";
    ssize_t n;
    int fd;

    if (asprintf(&name, "%s/info", path) < 0)
        return NULL;
    fd = open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    n = fd < 0 ? -1 : pread(fd, magic, sizeof magic, 0); /* of a pipe there is none */
    if (fd >= 0)
        close(fd);
    if (n == sizeof magic && memcmp(magic, "Ftrace!", sizeof magic) == 0)
        return name;
    free(name);
    return NULL;
}

/* Adds a file of a folder, which may be invalid: then the complaint is kept. */
static int add_member(struct reading *r, const char *folder, const char *path)
{
    char reason[PATH_MAX + 300] = "";
    struct tt_complaints before;
    int error;

    r->files++;
    before = tt_complain_into((struct tt_complaints){reason, sizeof reason});
    error = add_file(r, path, 0);
    (void)tt_complain_into(before);
    if (error == BEGUN) {
        r->begun++;
        (void)snprintf(r->name, sizeof r->name, "%s", folder);
        return 0;
    }
    if (error == -TT_ERR_MEMORY)
        return fail(path, tt_error_text(error));
    if (error)
        leave_out_bad(r, folder, reason);
    return error ? 0 : check_sum(r, path);
}

static int add_folder(struct reading *, const char *path, int depth);

static int add_entry(struct reading *r, const char *folder, const char *name, int depth)
{
    char *path;
    int error;

    if (asprintf(&path, "%s/%s", folder, name) < 0)
        return fail(folder, tt_error_text(-TT_ERR_MEMORY));
    if (depth > 0 || !tt_input_is_folder(path))
        error = add_member(r, folder, path);
    else
        error = is_same(folder, path) ? 0 : add_folder(r, path, depth + 1);
    free(path);
    return error;
}

static int add_entries(struct reading *r, const char *path, int depth)
{
    struct dirent **entry;
    int count = scandir(path, &entry, is_visible, alphasort), error = 0;
    char *replaced;

    if (count < 0)
        return fail(path, strerror(errno));
    replaced = tt_chain_replaced(path, entry, count);
    if (!replaced)
        error = fail(path, tt_error_text(-TT_ERR_MEMORY));
    else if (count == 0 && depth == 0)
        error = fail(path, "this folder is empty");
    for (int i = 0; i < count; i++) {
        if (!error && !replaced[i])
            error = add_entry(r, path, entry[i]->d_name, depth);
        free(entry[i]);
        if (!error)
            tt_progress((uint64_t)i + 1, (uint64_t)count);
    }
    free(replaced);
    free(entry);
    return error;
}

static int add_folder(struct reading *r, const char *path, int depth)
{
    char *whole = find_whole(path);
    int error;

    if (!whole)
        return add_entries(r, path, depth);
    error = add_file(r, whole, 1);
    free(whole);
    return error;
}

/* ── The whole ────────────────────────────────────────────────────────────────────── */

static int is_empty(const char *path)
{
    struct stat s;

    return stat(path, &s) == 0 && s.st_size == 0;
}

/* Opens a file that the user named. */
static int add_named(struct reading *r, const char *path)
{
    int error = tt_input_is_folder(path) ? add_folder(r, path, 0) : add_file(r, path, 1);

    if (error == BEGUN)
        return fail(path, is_empty(path)
                              ? "this file is empty"
                              : "this recording has nothing in it: its process "
                                "was killed at its start");
    return error ? error : check_sum(r, path);
}

static int add_all(struct reading *r, char *const *paths, int count)
{
    int error = 0;

    for (int i = 0; !error && i < count; i++) {
        error = add_named(r, paths[i]);
        if (!error)
            tt_progress((uint64_t)i + 1, (uint64_t)count);
    }
    tt_progress(1, 1);
    if (error)
        return error;
    if (!r->taken && r->how & TT_INPUT_QUIET && r->bad)
        tt_complain("%s", r->reason);
    if (!r->taken)
        r->how &= ~(unsigned)TT_INPUT_QUIET;
    leave_out_rest(r);
    return r->taken ? 0 : -TT_ERR_FILE;
}

static int finish(struct tt_input *in, struct tt_builder *b)
{
    int error = tt_builder_finish(b, &in->image, &in->size);

    if (!error)
        error = tt_profile_open(&in->profile, in->image, in->size, &tt_scratch);
    if (error)
        tt_complain("%s", tt_error_text(error));
    return error;
}

/* Native code has only addresses before it is named; without names, addresses are
 * shown. */
static void add_names(struct tt_input *in)
{
    struct tt_names_wanted wanted = {0};
    struct tt_input named = {0};

    if (!tt_is_unnamed(&in->profile) ||
        tt_symbolize_image(&wanted, &in->profile, NULL, &named.image, &named.size) != 0)
        return;
    if (tt_profile_open(&named.profile, named.image, named.size, &tt_scratch) != 0) {
        tt_memory_put(&tt_scratch, named.image);
        return;
    }
    tt_input_close(in);
    *in = named;
}

static int merge(struct tt_input *in, char *const *paths, int count, unsigned how)
{
    struct reading r = {.b = tt_builder_new(&tt_scratch), .how = how};
    int error = -TT_ERR_MEMORY;

    if (r.b)
        error = add_all(&r, paths, count);
    else
        tt_complain("%s", tt_error_text(error));
    if (!error)
        error = finish(in, r.b);
    tt_builder_free(r.b);
    if (!error && (r.recordings || r.formats & TT_FORMAT_NATIVE) &&
        !(how & TT_INPUT_UNNAMED))
        add_names(in);
    return error;
}

int tt_input_open(struct tt_input *in, char *const *paths, int count, unsigned how)
{
    enum content content = RECORDING;
    size_t size = 0;
    int fd, error;

    memset(in, 0, sizeof *in);
    if (count != 1 || how & TT_INPUT_ANEW || tt_input_is_folder(paths[0]))
        return merge(in, paths, count, how);
    fd = open_file(paths[0], 1, &content, &size);
    if (fd < 0)
        return fd;
    error = content == PROFILE ? read_profile(in, paths[0], fd, size)
                               : merge(in, paths, count, how);
    close(fd);
    return error;
}

void tt_input_close(struct tt_input *in)
{
    tt_profile_close(&in->profile);
    tt_memory_put(&tt_scratch, in->image);
    in->image = NULL;
}
