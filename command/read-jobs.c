/* SPDX-License-Identifier: MIT */
/* read-jobs.c - files that several processes read.
 *
 * Each takes the next file, and makes a profile of all that it has read; these are merged here.
 * Merging is exact, so any job may read any file. */
#include "read-jobs.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "add-profile.h"
#include "complain.h"
#include "finish.h"
#include "jobs.h"
#include "progress.h"
#include "scratch.h"
#include "summary.h"

static int fail(const char *path, const char *reason)
{
    tt_complain("%s: %s", path, reason);
    return -TT_ERR_FILE;
}

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
static enum tt_outcome read_apart(struct tt_files_read *r, struct shared *s,
                                  const struct tt_list_file *f)
{
    char reason[PATH_MAX + 300] = "";
    struct tt_complaints before = tt_complain_into(
        (struct tt_complaints){reason, sizeof reason});
    int error = tt_reading_file(r, f->path, f->is_named),
        sum = error ? 0 : tt_reading_check(r, f->path);

    (void)tt_complain_into(before);
    if (sum == TT_READING_MANY)
        stop_for(s, &s->too_many);
    else if (sum && tt_builder_wrong_sums(r->b))
        stop_for(s, &s->alone);
    else if (sum || error == -TT_ERR_MEMORY)
        stop_for(s, &s->no_memory);
    if (error && f->is_named)
        stop_for(s, &s->stop);
    if (!error)
        return TT_TAKEN;
    return f->is_named                 ? TT_FAILED
           : error == TT_READING_BEGUN ? TT_ONLY_BEGUN
                                       : TT_UNREADABLE;
}

/* Writes the profile, if there is one. */
static void deliver(const struct work *w, struct tt_files_read *r, unsigned job)
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
    struct tt_files_read r = {.b = tt_builder_new(&tt_scratch), .how = w->how};
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
static int note_all(struct tt_files_read *r, const struct work *w)
{
    const struct tt_list_file *f = w->files->file.item;
    int error = 0;

    for (r->at = 0; !error && r->at < w->files->file.count; r->at++) {
        enum tt_outcome outcome = w->shared->outcome[r->at];
        if (outcome == TT_FAILED ||
            (outcome == TT_UNREADABLE && r->bad < TT_READING_NAMED)) {
            error = tt_reading_listed(r, &f[r->at]);
            continue;
        }
        r->taken += outcome == TT_TAKEN;
        if (!f[r->at].is_named)
            tt_reading_note(r, f[r->at].path, outcome, "");
    }
    return error;
}

static int add_delivered(struct tt_files_read *r, const struct work *w, unsigned job)
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
    else if (tt_builder_wrong_sums(r->b)) /* a second reading says at which file */
        error = -TT_ERR_FORMAT;
    return error ?: tt_reading_check(r, "all files");
}

/* 0, or an error; TT_READING_MANY; or *again: one process has to do it. */
static int gather(struct tt_files_read *r, const struct work *w, int *again)
{
    const struct shared *s = w->shared;
    int error;

    *again = s->alone;
    if (s->alone || s->too_many)
        return s->alone ? 0 : TT_READING_MANY;
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
    *again = error && tt_builder_wrong_sums(r->b);
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

int tt_read_by_jobs(struct tt_files_read *r, const struct tt_file_list *l, unsigned jobs,
                    int *again)
{
    struct work w = {.files = l, .how = r->how, .jobs = jobs};
    int error = share_work(&w);

    error = error ?: tt_jobs_run(jobs, work, show_progress, &w);
    error = error ?: gather(r, &w, again);
    end_work(&w);
    return error;
}
