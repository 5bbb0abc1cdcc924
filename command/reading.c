/* SPDX-License-Identifier: MIT */
/* reading.c - files of any kind, read into one builder, one file after the other: memory depends on
 * the size of the result, not on the number of files. */
#include "reading.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "add-profile.h"
#include "command.h"
#include "complain.h"
#include "content-hash.h"
#include "finish.h"
#include "foreign.h"
#include "label.h"
#include "layout.h"
#include "leased-map.h"
#include "load.h"
#include "progress.h"
#include "read-recording.h"
#include "scratch.h"
#include "summary.h"

/* ── One file ─────────────────────────────────────────────────────────────────────── */

static int fail(const char *path, const char *reason)
{
    tt_complain("%s: %s", path, reason);
    return -TT_ERR_FILE;
}

/* Without a lease (leased-map.c) the file may change after it was checked: a copy does not. */
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

void tt_reading_drop(struct tt_input *in)
{
    if (!tt_leased_unmap(in->image))
        tt_memory_put(&tt_scratch, in->image);
    in->image = NULL;
}

static int is_standard_input(const char *path) { return strcmp(path, "-") == 0; }

/* A lease on standard input would also be one of other processes.  Small files are copied as fast. */
static int is_leased(struct tt_input *in, const char *path, int fd)
{
    enum { LEAST = 8 << 20 };

    if (in->size >= LEAST && !is_standard_input(path))
        in->image = tt_leased_map(fd, in->size);
    return in->image != NULL;
}

int tt_reading_profile(struct tt_input *in, const char *path, int fd, size_t size)
{
    int error;

    *in = (struct tt_input){.size = size, .is_profile = 1};
    if (!is_leased(in, path, fd) && copy_file(in, fd) != 0)
        return fail(path, strerror(errno));
    error = tt_profile_open(&in->profile, in->image, size, &tt_scratch);
    if (error) {
        tt_complain("%s: %s", path, in->profile.error);
        tt_reading_drop(in);
    }
    return error;
}

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

static enum tt_content content_of(const char start[16])
{
    if (memcmp(start, TT_PROFILE_MAGIC, 8) == 0)
        return TT_CONTENT_PROFILE;
    if (memcmp(start, TT_MAGIC, 8) == 0)
        return TT_CONTENT_RECORDING;
    return is_begun(start) ? TT_CONTENT_NOTHING : TT_CONTENT_FOREIGN;
}

/* Opens a file and detects its kind; returns the descriptor, or a negative error.  Does
 * not wait for a pipe without a writer, unless the user has named it. */
int tt_reading_open(const char *path, int is_named, enum tt_content *content,
                    size_t *size)
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
    *content = S_ISREG(s.st_mode) ? content_of(start) : TT_CONTENT_FOREIGN;
    return fd;
}

/* ── Runs ─────────────────────────────────────────────────────────────────────────── */

enum { RUN_SIZE = 64 };

/* By when it started and a process, so that a run has the same name however it is merged.
 * "" if that is not known. */
static void name_run(char run[RUN_SIZE], uint64_t started, uint64_t pid)
{
    *run = '\0';
    if (started)
        (void)snprintf(run, RUN_SIZE, "%llu.%llu", (unsigned long long)started,
                       (unsigned long long)pid);
}

/* Recordings that a run has left in its folder, which has a random name, belong to it. */
static void name_run_of_folder(char run[RUN_SIZE], const char *path)
{
    enum { DIGITS = 32 };
    const char *end = strrchr(path, '/');

    if (end && end - path >= DIGITS &&
        (end - path == DIGITS || end[-DIGITS - 1] == '/') &&
        strspn(end - DIGITS, "0123456789abcdef") == DIGITS)
        (void)snprintf(run, RUN_SIZE, "%.*s", DIGITS, end - DIGITS);
}

static void begin_run(struct tt_files_read *r, const char *run, int of_all)
{
    tt_builder_run(r->b, r->how & TT_INPUT_RUNS && *run ? run : NULL, of_all);
}

/* Does the file have processes of one run, to which strands without a process then belong?
 * After a merge of several files this is not known of those. */
static int is_one_run(const struct tt_profile *p)
{
    int processes = 0;
    size_t size;

    for (uint32_t i = 0; i < p->strands; i++) {
        const struct tt_strand_row *s = &p->strand[i];
        if (tt_label_find(tt_profile_string(p, s->labels), TT_LABEL_RUN, &size))
            return 0;
        processes |= s->pid && s->rank == TT_NONE;
    }
    return processes;
}

static int add_profile(struct tt_files_read *r, const char *path, int fd, size_t size)
{
    struct tt_input in;
    char run[RUN_SIZE];
    int error = tt_reading_profile(&in, path, fd, size);

    if (error)
        return error;
    error = tt_profile_check(&in.profile);
    if (error) {
        tt_complain("%s: %s", path, in.profile.error);
    } else {
        const struct tt_profile *p = &in.profile;
        /* an interval of a chain is a part of a run */
        name_run(run, tt_fact_number(p, "until") ? 0 : tt_fact_number(p, "started"),
                 p->strands ? p->strand[0].pid : 0);
        begin_run(r, run, is_one_run(p));
        if ((error = tt_builder_profile(r->b, p)) != 0)
            (void)fail(path, tt_error_text(error));
        tt_builder_run(r->b, NULL, 0);
    }
    tt_input_close(&in);
    return error;
}

static int add_recording(struct tt_files_read *r, const char *path)
{
    struct tt_picture p;
    char run[RUN_SIZE];
    int error = tt_load(&p, path);

    if (error)
        return error;
    name_run(run, p.header->start_time, p.header->pid);
    name_run_of_folder(run, path);
    begin_run(r, run, 1);
    error = tt_builder_recording(r->b, &p);
    tt_builder_run(r->b, NULL, 0);
    if (error)
        (void)fail(path, tt_error_text(error));
    tt_unload(&p);
    return error;
}

/* ── Kinds ────────────────────────────────────────────────────────────────────────── */

/* Above this number of strands, or of bytes in several files, figures are not kept by strand any
 * more. */
enum { MANY_STRANDS = 4096, MANY_BYTES = 100000000 };

static int has_many(const struct tt_files_read *r, int exactly)
{
    return tt_builder_strands(r->b) > MANY_STRANDS ||
           (r->taken > 1 && tt_builder_is_wide(r->b, MANY_BYTES, exactly));
}

/* For a folder: a file that cannot be read completely must not be in the profile in
 * part. */
static int add_foreign_whole(struct tt_files_read *r, const char *path, int fd)
{
    struct tt_builder *one = tt_builder_new(&tt_scratch);
    struct tt_profile p;
    void *image = NULL;
    size_t size = 0;
    int error = one ? tt_foreign_add(one, path, fd, &r->formats) : -TT_ERR_MEMORY;

    if (error)
        goto fail_read;
    error = tt_builder_finish(one, &image, &size);
    error = error ?: tt_profile_open(&p, image, size, &tt_scratch);
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

/* These do not all have the time of their start, so their bytes are their name. */
static void name_foreign(struct tt_files_read *r, int fd, char run[RUN_SIZE])
{
    struct tt_content_hash hash = TT_CONTENT_HASH_OF_NOTHING;
    unsigned char digest[TT_CONTENT_HASH_SIZE];
    char part[1 << 16];
    struct stat s;
    ssize_t n;

    *run = '\0';
    if (!(r->how & TT_INPUT_RUNS) || fstat(fd, &s) != 0 || !S_ISREG(s.st_mode))
        return;
    for (off_t at = 0; (n = pread(fd, part, sizeof part, at)) > 0; at += n)
        hash = tt_content_hash_add(hash, part, (size_t)n);
    tt_content_hash_bytes(hash, digest);
    for (size_t i = 0; i < sizeof digest; i++)
        (void)snprintf(run + 2 * i, RUN_SIZE - 2 * i, "%02x", digest[i]);
}

static int add_foreign(struct tt_files_read *r, const char *path, int is_named, int fd)
{
    char run[RUN_SIZE];
    int error;

    name_foreign(r, fd, run);
    begin_run(r, run, 0);
    error = is_named ? tt_foreign_add(r->b, path, fd, &r->formats)
                     : add_foreign_whole(r, path, fd);
    tt_builder_run(r->b, NULL, 0);
    return error;
}

static int add_content(struct tt_files_read *r, const char *path, int is_named, int fd,
                       enum tt_content content, size_t size)
{
    switch (content) {
    case TT_CONTENT_PROFILE:
        return add_profile(r, path, fd, size);
    case TT_CONTENT_RECORDING:
        r->recordings = 1;
        return add_recording(r, path);
    case TT_CONTENT_FOREIGN:
        return add_foreign(r, path, is_named, fd);
    case TT_CONTENT_NOTHING:
        break;
    }
    return TT_READING_BEGUN;
}

/* Checks that the sums fit 64 bits and memory; otherwise reading ends.  A strand's figures are
 * summarised with those of its file, so that the order of files does not matter: if there are
 * too many, all is read again. */
static int check(struct tt_files_read *r, const char *path, int exactly)
{
    const char *wrong = tt_builder_wrong_sums(r->b);
    int error;

    if (wrong) {
        tt_complain("%s: %s", path, wrong);
        return -TT_ERR_FORMAT;
    }
    if (!(r->how & TT_INPUT_SUMMARY)) {
        if (!has_many(r, exactly))
            return 0;
        if (!r->once)
            return TT_READING_MANY;
        r->how |= TT_INPUT_SUMMARY;
    }
    error = tt_builder_summarise(r->b);
    if (error)
        (void)fail(path, tt_error_text(error));
    return error;
}

/* Ranks decide together while they read, and what is read once must be decided before the next. */
int tt_reading_check(struct tt_files_read *r, const char *path)
{
    return check(r, path, r->ranks || r->once);
}

int tt_reading_end(struct tt_files_read *r)
{
    return r->ranks ? 0 : check(r, "all files", 1);
}

int tt_reading_file(struct tt_files_read *r, const char *path, int is_named)
{
    enum tt_content content;
    size_t size;
    int fd = tt_reading_open(path, is_named, &content, &size), error;

    if (fd < 0)
        return fd;
    error = add_content(r, path, is_named, fd, content, size);
    close(fd);
    r->taken += !error;
    return error;
}

/* ── What is left out ─────────────────────────────────────────────────────────────── */

static __attribute__((format(printf, 3, 4))) void leave_out(struct tt_files_read *r,
                                                            const char *path,
                                                            const char *format, ...)
{
    char text[PATH_MAX + 600];
    va_list list;

    va_start(list, format);
    (void)vsnprintf(text, sizeof text, format, list);
    va_end(list);
    tt_builder_fact(r->b, "missing", TT_FACT_EACH, 1, text);
    if (!(r->how & TT_INPUT_QUIET) && r->at >= r->said)
        tt_complain("%s%s%s", path ? path : "", path ? ": " : "", text);
}

/* `text` begins with the path of the file; the profile may be read elsewhere, so only its
 * name is kept. */
static void leave_out_bad(struct tt_files_read *r, const char *folder, const char *text)
{
    size_t length = strlen(folder);

    if (++r->bad == 1)
        (void)snprintf(r->reason, sizeof r->reason, "%s", text);
    if (r->bad > TT_READING_NAMED)
        return;
    if (strncmp(text, folder, length) == 0 && text[length] == '/')
        text += length + 1;
    leave_out(r, folder, "%s", text);
}

void tt_reading_rest(struct tt_files_read *r)
{
    if (r->bad > TT_READING_NAMED)
        leave_out(r, NULL, "%u more files that cannot be read",
                  r->bad - TT_READING_NAMED);
    if (r->begun)
        leave_out(r, r->name, "%u of %u recordings %s nothing in %s: %s", r->begun,
                  r->files, r->begun == 1 ? "has" : "have", r->begun == 1 ? "it" : "them",
                  r->begun == 1 ? "its process was killed at its start"
                                : "their processes were killed at their start");
}

/* ── One after the other ──────────────────────────────────────────────────────────── */

/* A recording that was only begun has room for its header, of zeros. */
static const char *why_begun(const char *path)
{
    struct stat s;

    if ((is_standard_input(path) ? fstat(STDIN_FILENO, &s) : stat(path, &s)) != 0)
        return strerror(errno);
    if (s.st_size == 0)
        return "this file is empty";
    return s.st_size < TT_HEADER_SIZE
               ? "this file begins with zeros: it is no recording and no profile"
               : "this file begins with zeros: if it is a recording, its process was "
                 "killed at its start, and nothing is in it";
}

/* Reads a file that the user named. */
int tt_reading_named(struct tt_files_read *r, const char *path)
{
    int error = tt_reading_file(r, path, 1);

    return error == TT_READING_BEGUN ? fail(path, why_begun(path)) : error;
}

/* Reads a file of a folder, which may be invalid: then the complaint is in `reason`. */
int tt_reading_member(struct tt_files_read *r, const char *path, char *reason,
                      size_t size, enum tt_outcome *outcome)
{
    struct tt_complaints before = tt_complain_into((struct tt_complaints){reason, size});
    int error = tt_reading_file(r, path, 0);

    (void)tt_complain_into(before);
    if (error == -TT_ERR_MEMORY)
        return fail(path, tt_error_text(error));
    *outcome = error == TT_READING_BEGUN ? TT_ONLY_BEGUN
               : error                   ? TT_UNREADABLE
                                         : TT_TAKEN;
    return 0;
}

/* Notes what came of a file of a folder. */
void tt_reading_note(struct tt_files_read *r, const char *path, enum tt_outcome outcome,
                     const char *reason)
{
    const char *name = strrchr(path, '/');
    char folder[PATH_MAX];

    (void)snprintf(folder, sizeof folder, "%.*s", name ? (int)(name - path) : 0, path);
    r->files++;
    if (outcome == TT_ONLY_BEGUN) {
        r->begun++;
        (void)snprintf(r->name, sizeof r->name, "%s", folder);
    } else if (outcome == TT_UNREADABLE) {
        leave_out_bad(r, folder, reason);
    }
}

int tt_reading_listed(struct tt_files_read *r, const struct tt_list_file *f)
{
    char reason[PATH_MAX + 300] = "";
    enum tt_outcome outcome = TT_TAKEN;
    int error = f->is_named
                    ? tt_reading_named(r, f->path)
                    : tt_reading_member(r, f->path, reason, sizeof reason, &outcome);

    if (error)
        return error;
    if (!f->is_named)
        tt_reading_note(r, f->path, outcome, reason);
    return outcome == TT_TAKEN ? tt_reading_check(r, f->path) : 0;
}

int tt_reading_in_turn(struct tt_files_read *r, const struct tt_file_list *l)
{
    const struct tt_list_file *f = l->file.item;
    int error = 0;

    for (r->at = 0; !error && r->at < l->file.count; r->at++) {
        error = tt_reading_listed(r, &f[r->at]);
        if (!error)
            tt_progress(r->at + 1, l->file.count);
    }
    return error;
}

int tt_reading_again(struct tt_files_read *r)
{
    tt_builder_free(r->b);
    *r = (struct tt_files_read){.b = tt_builder_new(&tt_scratch),
                                .how = r->how,
                                .once = r->once,
                                .ranks = r->ranks,
                                .said = r->at > r->said ? r->at : r->said};
    return r->b ? 0 : fail("merge", tt_error_text(-TT_ERR_MEMORY));
}
