/* SPDX-License-Identifier: MIT */
/* input.c - profiles from files of any kind; several are merged.
 *
 * A single profile is used directly.  Everything else goes through a builder. */
#include "input.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "complain.h"
#include "file-list.h"
#include "finish.h"
#include "foreign.h"
#include "name-blocks.h"
#include "progress.h"
#include "read-jobs.h"
#include "read-ranks.h"
#include "reading.h"
#include "scratch.h"

static int fail(const char *path, const char *reason)
{
    tt_complain("%s: %s", path, reason);
    return -TT_ERR_FILE;
}

/* Is there a file that can be read but once? */
static int is_read_once(const struct tt_file_list *l)
{
    const struct tt_list_file *f = l->file.item;
    struct stat s;

    for (size_t i = 0; i < l->file.count; i++)
        if (f[i].is_named && (strcmp(f[i].path, "-") == 0 ||
                              (stat(f[i].path, &s) == 0 && !S_ISREG(s.st_mode))))
            return 1;
    return 0;
}

static int read_all(struct tt_files_read *r, const struct tt_file_list *l, unsigned jobs)
{
    int again = 0, error;

    if (l->file.count == 1) /* it is a run anyway, and its profile stays what it is */
        r->how &= ~(unsigned)TT_INPUT_RUNS;
    if (r->once || l->file.count < jobs)
        jobs = r->once ? 1 : (unsigned)l->file.count;
    if (r->ranks)
        error = tt_read_by_ranks(r, l, &again);
    else
        error = jobs > 1 ? tt_read_by_jobs(r, l, jobs, &again) : tt_reading_in_turn(r, l);
    if (!error && !again)
        error = tt_reading_end(r);
    if (error == TT_READING_MANY)
        r->how |= TT_INPUT_SUMMARY;
    if (error != TT_READING_MANY && !again)
        return error;
    error = tt_reading_again(r);
    return error ? error : read_all(r, l, again ? 1 : jobs);
}

static int add_all(struct tt_files_read *r, const struct tt_file_list *l, unsigned jobs)
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
    tt_reading_rest(r);
    return r->taken ? 0 : -TT_ERR_FILE;
}

static int finish(struct tt_input *in, struct tt_builder *b)
{
    int error = tt_builder_finish(b, &in->image, &in->size);

    error = error ?: tt_profile_open(&in->profile, in->image, in->size, &tt_scratch);
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
                   struct tt_readers by)
{
    struct tt_files_read r = {
        .b = tt_builder_new(&tt_scratch), .how = how, .ranks = by.ranks};
    struct tt_names_wanted wanted = {0};
    struct tt_file_list files;
    int error = tt_file_list_make(&files, paths, count);

    memset(in, 0, sizeof *in);
    if (!error && !r.b)
        error = fail("merge", tt_error_text(-TT_ERR_MEMORY));
    r.once = is_read_once(&files);
    error = error ?: add_all(&r, &files, by.jobs);
    error = error ?: finish(in, r.b);
    tt_builder_free(r.b);
    tt_file_list_free(&files);
    in->has_addresses = r.recordings || r.formats & TT_FORMAT_NATIVE;
    if (!error && !(how & TT_INPUT_UNNAMED))
        tt_input_name(in, &wanted);
    return error;
}

int tt_input_open(struct tt_input *in, char *const *paths, int count, unsigned how)
{
    enum tt_content content = TT_CONTENT_RECORDING;
    size_t size = 0;
    int fd, error;

    memset(in, 0, sizeof *in);
    if (count != 1 || how & TT_INPUT_ANEW || tt_is_folder(paths[0]))
        return tt_input_merge(in, paths, count, how, (struct tt_readers){.jobs = 1});
    fd = tt_reading_open(paths[0], 1, &content, &size);
    if (fd < 0)
        return fd;
    error = content == TT_CONTENT_PROFILE
                ? tt_reading_profile(in, paths[0], fd, size)
                : tt_input_merge(in, paths, count, how, (struct tt_readers){.jobs = 1});
    close(fd);
    return error;
}

void tt_input_close(struct tt_input *in)
{
    tt_profile_close(&in->profile);
    tt_reading_drop(in);
}
