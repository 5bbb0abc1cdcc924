/* SPDX-License-Identifier: MIT */
/* input.c - profiles from files of any kind; several are merged.
 *
 * A single profile is used directly.  Everything else goes through a builder, one file
 * after the other: memory depends on the size of the result, not on the number of
 * files. */
#include "input.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "add-profile.h"
#include "command.h"
#include "complain.h"
#include "file-list.h"
#include "finish.h"
#include "foreign.h"
#include "jobs.h"
#include "layout.h"
#include "load.h"
#include "name-blocks.h"
#include "progress.h"
#include "read-recording.h"
#include "scratch.h"
#include "summary.h"

/* What came of a file. */
enum outcome {
    UNREAD,
    TAKEN,
    ONLY_BEGUN, /* a recording with nothing in it */
    UNREADABLE, /* and it is left out, as it is one of a folder */
    FAILED      /* and the user named it */
};

/* What is read, and what could not be. */
struct reading {
    struct tt_builder *b;
    unsigned how;                /* enum tt_input_how */
    int once;                    /* a file is a pipe, and cannot be read again */
    size_t at, said;             /* the file; what is left out before this one was said */
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
/* As errors are returned: a recording was only begun; figures by strand are too many. */
enum { BEGUN = 1, TOO_MANY };

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

/* Above this number of strands, or of bytes in several files, figures are not kept by strand any
 * more. */
enum { MANY_STRANDS = 4096, MANY_BYTES = 100000000 };

static int has_many(const struct reading *r)
{
    return tt_builder_strands(r->b) > MANY_STRANDS ||
           (r->taken > 1 && tt_builder_is_wide(r->b, MANY_BYTES));
}

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

/* Checks that the sums fit 64 bits and memory; otherwise reading ends.  A strand's figures are
 * summarised with those of its file, so that the order of files does not matter: if there are
 * too many, all is read again. */
static int check_sum(struct reading *r, const char *path)
{
    int error;

    if (tt_builder_has_overflown(r->b)) {
        tt_complain("%s: with this file the figures add up to more than 64 bits hold",
                    path);
        return -TT_ERR_FORMAT;
    }
    if (!(r->how & TT_INPUT_SUMMARY)) {
        if (!has_many(r))
            return 0;
        if (!r->once)
            return TOO_MANY;
        r->how |= TT_INPUT_SUMMARY;
    }
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
    if (!(r->how & TT_INPUT_QUIET) && r->at >= r->said)
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

/* ── One after the other ──────────────────────────────────────────────────────────── */

static int is_empty(const char *path)
{
    struct stat s;

    return stat(path, &s) == 0 && s.st_size == 0;
}

/* Reads a file that the user named. */
static int read_named(struct reading *r, const char *path)
{
    int error = add_file(r, path, 1);

    if (error == BEGUN)
        return fail(path, is_empty(path)
                              ? "this file is empty"
                              : "this recording has nothing in it: its process "
                                "was killed at its start");
    return error;
}

/* Reads a file of a folder, which may be invalid: then the complaint is in `reason`. */
static int read_member(struct reading *r, const char *path, char *reason, size_t size,
                       enum outcome *outcome)
{
    struct tt_complaints before = tt_complain_into((struct tt_complaints){reason, size});
    int error = add_file(r, path, 0);

    (void)tt_complain_into(before);
    if (error == -TT_ERR_MEMORY)
        return fail(path, tt_error_text(error));
    *outcome = error == BEGUN ? ONLY_BEGUN : error ? UNREADABLE : TAKEN;
    return 0;
}

/* Notes what came of a file of a folder. */
static void note(struct reading *r, const char *path, enum outcome outcome,
                 const char *reason)
{
    const char *name = strrchr(path, '/');
    char folder[PATH_MAX];

    (void)snprintf(folder, sizeof folder, "%.*s", name ? (int)(name - path) : 0, path);
    r->files++;
    if (outcome == ONLY_BEGUN) {
        r->begun++;
        (void)snprintf(r->name, sizeof r->name, "%s", folder);
    } else if (outcome == UNREADABLE) {
        leave_out_bad(r, folder, reason);
    }
}

static int read_listed(struct reading *r, const struct tt_list_file *f)
{
    char reason[PATH_MAX + 300] = "";
    enum outcome outcome = TAKEN;
    int error = f->is_named ? read_named(r, f->path)
                            : read_member(r, f->path, reason, sizeof reason, &outcome);

    if (error)
        return error;
    if (!f->is_named)
        note(r, f->path, outcome, reason);
    return outcome == TAKEN ? check_sum(r, f->path) : 0;
}

static int read_in_turn(struct reading *r, const struct tt_file_list *l)
{
    const struct tt_list_file *f = l->file.item;
    int error = 0;

    for (r->at = 0; !error && r->at < l->file.count; r->at++) {
        error = read_listed(r, &f[r->at]);
        if (!error)
            tt_progress(r->at + 1, l->file.count);
    }
    return error;
}

/* ── By several processes ─────────────────────────────────────────────────────────── */

/* Each takes the next file, and makes a profile of all that it has read; these are merged here.
 * Merging is exact, so any job may read any file. */
struct shared {
    size_t next, done;
    int stop; /* reading ends: see the fields below */
    int too_many, no_memory;
    int not_written; /* errno */
    int alone; /* one process has to do it: to say at which file a sum is too large */
    int recordings;
    unsigned formats;
    size_t size[TT_JOBS_MAX];
    unsigned char outcome[]; /* of each file */
};

struct work {
    const struct tt_file_list *files;
    unsigned how, jobs;
    struct shared *shared;
    size_t bytes;
    int fd[TT_JOBS_MAX]; /* what each has made */
};

static size_t take_next(struct shared *s)
{
    if (__atomic_load_n(&s->stop, __ATOMIC_RELAXED))
        return SIZE_MAX;
    return __atomic_fetch_add(&s->next, 1, __ATOMIC_RELAXED);
}

static void stop_for(struct shared *s, int *reason)
{
    *reason = 1;
    __atomic_store_n(&s->stop, 1, __ATOMIC_RELAXED);
}

/* Nothing is said here: this process's parent reads a file again to say what is wrong. */
static enum outcome read_apart(struct reading *r, struct shared *s,
                               const struct tt_list_file *f)
{
    char reason[PATH_MAX + 300] = "";
    struct tt_complaints before = tt_complain_into(
        (struct tt_complaints){reason, sizeof reason});
    int error = add_file(r, f->path, f->is_named),
        sum = error ? 0 : check_sum(r, f->path);

    (void)tt_complain_into(before);
    if (sum == TOO_MANY)
        stop_for(s, &s->too_many);
    else if (sum && tt_builder_has_overflown(r->b))
        stop_for(s, &s->alone);
    else if (sum || error == -TT_ERR_MEMORY)
        stop_for(s, &s->no_memory);
    if (error && f->is_named)
        stop_for(s, &s->stop);
    if (!error)
        return TAKEN;
    return f->is_named ? FAILED : error == BEGUN ? ONLY_BEGUN : UNREADABLE;
}

/* Writes the profile, if there is one. */
static void deliver(const struct work *w, struct reading *r, unsigned job)
{
    struct shared *s = w->shared;
    size_t size = 0, done = 0;
    void *image = NULL;
    ssize_t n = 1;

    if (!r->taken || s->stop)
        return;
    /* How several files of one strand spread is not kept in a profile of that strand alone. */
    if (r->how & TT_INPUT_SUMMARY && r->taken > 1 && tt_builder_strands(r->b) == 1)
        stop_for(s, &s->alone);
    if (tt_builder_finish(r->b, &image, &size) != 0)
        size = 0;
    while (done < size && n > 0) {
        n = pwrite(w->fd[job], (const char *)image + done, size - done, (off_t)done);
        done += n > 0 ? (size_t)n : 0;
    }
    if (done && done == size) {
        s->size[job] = size;
    } else {
        s->not_written = n < 0 ? errno : 0;
        stop_for(s, &s->no_memory);
    }
    if (r->recordings)
        s->recordings = 1;
    __atomic_or_fetch(&s->formats, r->formats, __ATOMIC_RELAXED);
}

static void work(void *arg, unsigned job)
{
    const struct work *w = arg;
    const struct tt_list_file *f = w->files->file.item;
    struct reading r = {.b = tt_builder_new(&tt_scratch), .how = w->how};
    size_t i;

    tt_progress_stop();
    if (!r.b)
        stop_for(w->shared, &w->shared->no_memory);
    while ((i = take_next(w->shared)) < w->files->file.count) {
        w->shared->outcome[i] = (unsigned char)read_apart(&r, w->shared, &f[i]);
        __atomic_fetch_add(&w->shared->done, 1, __ATOMIC_RELAXED);
    }
    deliver(w, &r, job);
}

static void show_progress(void *arg)
{
    const struct work *w = arg;

    tt_progress(__atomic_load_n(&w->shared->done, __ATOMIC_RELAXED),
                w->files->file.count);
}

/* Notes what came of each file; those that are left out are read again, to say why. */
static int note_all(struct reading *r, const struct work *w)
{
    const struct tt_list_file *f = w->files->file.item;
    int error = 0;

    for (r->at = 0; !error && r->at < w->files->file.count; r->at++) {
        enum outcome outcome = w->shared->outcome[r->at];
        if (outcome == FAILED || (outcome == UNREADABLE && r->bad < NAMED)) {
            error = read_listed(r, &f[r->at]);
            continue;
        }
        r->taken += outcome == TAKEN;
        if (!f[r->at].is_named)
            note(r, f[r->at].path, outcome, "");
    }
    return error;
}

static int add_delivered(struct reading *r, const struct work *w, unsigned job)
{
    const size_t size = w->shared->size[job];
    struct tt_profile p;
    void *image = mmap(NULL, size, PROT_READ, MAP_PRIVATE, w->fd[job], 0);
    int error = image == MAP_FAILED ? -TT_ERR_MEMORY
                                    : tt_profile_open(&p, image, size, &tt_scratch);

    if (!error) {
        error = tt_builder_profile(r->b, &p);
        tt_profile_close(&p);
    }
    if (image != MAP_FAILED)
        munmap(image, size);
    if (error)
        (void)fail("what a job has read", tt_error_text(error));
    else if (tt_builder_has_overflown(r->b)) /* a second reading says at which file */
        error = -TT_ERR_FORMAT;
    return error ? error : check_sum(r, "all files");
}

/* 0, or an error; TOO_MANY; or *again: one process has to do it. */
static int gather(struct reading *r, const struct work *w, int *again)
{
    const struct shared *s = w->shared;
    int error;

    *again = s->alone;
    if (s->alone || s->too_many)
        return s->alone ? 0 : TOO_MANY;
    if (s->not_written)
        return fail("a temporary file", strerror(s->not_written));
    if (s->no_memory)
        return fail("merge", tt_error_text(-TT_ERR_MEMORY));
    r->recordings |= s->recordings;
    r->formats |= s->formats;
    error = note_all(r, w);
    for (unsigned i = 0; !error && i < w->jobs; i++)
        if (s->size[i])
            error = add_delivered(r, w, i);
    *again = error && tt_builder_has_overflown(r->b);
    /* A job stopped at a file that can be read by now: the others have not gone on. */
    *again |= !error && s->stop;
    return *again ? 0 : error;
}

static int share_work(struct work *w)
{
    w->bytes = sizeof *w->shared + w->files->file.count;
    w->shared = mmap(NULL, w->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                     -1, 0);
    for (unsigned i = 0; i < w->jobs; i++)
        w->fd[i] = -1;
    for (unsigned i = 0; i < w->jobs; i++)
        if ((w->fd[i] = tt_scratch_file()) < 0)
            return fail("a temporary file", strerror(errno));
    return w->shared == MAP_FAILED ? fail("merge", strerror(errno)) : 0;
}

static void end_work(const struct work *w)
{
    for (unsigned i = 0; i < w->jobs; i++)
        if (w->fd[i] >= 0)
            close(w->fd[i]);
    if (w->shared != MAP_FAILED)
        munmap(w->shared, w->bytes);
}

static int read_by_jobs(struct reading *r, const struct tt_file_list *l, unsigned jobs,
                        int *again)
{
    struct work w = {.files = l, .how = r->how, .jobs = jobs};
    int error = share_work(&w);

    if (!error)
        error = tt_jobs_run(jobs, work, show_progress, &w);
    if (!error)
        error = gather(r, &w, again);
    end_work(&w);
    return error;
}

/* ── The whole ────────────────────────────────────────────────────────────────────── */

/* Is there a file that can be read but once? */
static int is_read_once(const struct tt_file_list *l)
{
    const struct tt_list_file *f = l->file.item;
    struct stat s;

    for (size_t i = 0; i < l->file.count; i++)
        if (f[i].is_named && (is_standard_input(f[i].path) ||
                              (stat(f[i].path, &s) == 0 && !S_ISREG(s.st_mode))))
            return 1;
    return 0;
}

static int begin_again(struct reading *r)
{
    tt_builder_free(r->b);
    *r = (struct reading){.b = tt_builder_new(&tt_scratch),
                          .how = r->how,
                          .once = r->once,
                          .said = r->at > r->said ? r->at : r->said};
    return r->b ? 0 : fail("merge", tt_error_text(-TT_ERR_MEMORY));
}

static int read_all(struct reading *r, const struct tt_file_list *l, unsigned jobs)
{
    int again = 0, error;

    if (r->once || l->file.count < jobs)
        jobs = r->once ? 1 : (unsigned)l->file.count;
    error = jobs > 1 ? read_by_jobs(r, l, jobs, &again) : read_in_turn(r, l);
    if (error == TOO_MANY)
        r->how |= TT_INPUT_SUMMARY;
    if (error != TOO_MANY && !again)
        return error;
    error = begin_again(r);
    return error ? error : read_all(r, l, again ? 1 : jobs);
}

static int add_all(struct reading *r, const struct tt_file_list *l, unsigned jobs)
{
    int error = read_all(r, l, jobs);

    tt_progress(1, 1);
    if (error)
        return error;
    r->at = l->file.count;
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
void tt_input_name(struct tt_input *in, struct tt_names_wanted *wanted)
{
    struct tt_input named = {.has_addresses = 1};

    if (!in->has_addresses || !tt_is_unnamed(&in->profile) ||
        tt_symbolize_image(wanted, &in->profile, NULL, &named.image, &named.size) != 0)
        return;
    if (tt_profile_open(&named.profile, named.image, named.size, &tt_scratch) != 0) {
        tt_memory_put(&tt_scratch, named.image);
        return;
    }
    tt_input_close(in);
    *in = named;
}

int tt_input_merge(struct tt_input *in, char *const *paths, int count, unsigned how,
                   unsigned jobs)
{
    struct reading r = {.b = tt_builder_new(&tt_scratch), .how = how};
    struct tt_names_wanted wanted = {0};
    struct tt_file_list files;
    int error = tt_file_list_make(&files, paths, count);

    memset(in, 0, sizeof *in);
    if (!error && !r.b)
        error = fail("merge", tt_error_text(-TT_ERR_MEMORY));
    r.once = is_read_once(&files);
    if (!error)
        error = add_all(&r, &files, jobs);
    if (!error)
        error = finish(in, r.b);
    tt_builder_free(r.b);
    tt_file_list_free(&files);
    in->has_addresses = r.recordings || r.formats & TT_FORMAT_NATIVE;
    if (!error && !(how & TT_INPUT_UNNAMED))
        tt_input_name(in, &wanted);
    return error;
}

int tt_input_open(struct tt_input *in, char *const *paths, int count, unsigned how)
{
    enum content content = RECORDING;
    size_t size = 0;
    int fd, error;

    memset(in, 0, sizeof *in);
    if (count != 1 || how & TT_INPUT_ANEW || tt_is_folder(paths[0]))
        return tt_input_merge(in, paths, count, how, 1);
    fd = open_file(paths[0], 1, &content, &size);
    if (fd < 0)
        return fd;
    error = content == PROFILE ? read_profile(in, paths[0], fd, size)
                               : tt_input_merge(in, paths, count, how, 1);
    close(fd);
    return error;
}

void tt_input_close(struct tt_input *in)
{
    tt_profile_close(&in->profile);
    tt_memory_put(&tt_scratch, in->image);
    in->image = NULL;
}
