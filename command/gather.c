/* SPDX-License-Identifier: MIT */
/* gather.c - what a recorded program has left behind, made into one profile.
 *
 * Each process has written a recording of its own; together they are the run.  Names are
 * looked up here and now, where the files are that ran, so that the profile says the same
 * on any machine. */
#include "gather.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "command.h"
#include "input.h"
#include "layout.h"
#include "naming.h"
#include "output.h"
#include "print.h"
#include "query.h"
#include "scratch.h"
#include "view.h"

/* ── The folder ───────────────────────────────────────────────────────────────────── */

struct found {
    int recordings, running;
};

/* Is it a recording whose process goes on? */
static int is_running(int folder, const char *name)
{
    struct tt_header h;
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC), running = 0;

    if (fd < 0)
        return 0;
    if (pread(fd, &h, sizeof h, 0) == sizeof h && h.state == TT_RECORDING_OPEN)
        running = kill((pid_t)h.pid, 0) == 0 || errno == EPERM;
    close(fd);
    return running;
}

static void each_file(const char *path, void (*each)(int folder, const char *, void *),
                      void *arg)
{
    DIR *d = opendir(path);
    const struct dirent *e;

    while (d && (e = readdir(d)))
        if (e->d_name[0] != '.')
            each(dirfd(d), e->d_name, arg);
    if (d)
        closedir(d);
}

static void count_file(int folder, const char *name, void *arg)
{
    struct found *f = arg;

    f->recordings++;
    f->running += is_running(folder, name);
}

static void remove_file(int folder, const char *name, void *arg)
{
    (void)arg;
    (void)unlinkat(folder, name, 0);
}

static void remove_folder(const char *path)
{
    each_file(path, remove_file, NULL);
    (void)rmdir(path);
}

/* ── The report ───────────────────────────────────────────────────────────────────── */

static int add_view(struct tt_text *text, const struct tt_profile *p,
                    const char *const words[], uint32_t width, int color)
{
    struct tt_query q;
    struct tt_table table;
    int error = 0;

    tt_query_init(&q, &tt_scratch);
    for (int i = 0; !error && words[i]; i += 2)
        error = tt_query_set(&q, words[i], words[i + 1]);
    if (!error)
        error = tt_view(p, &q, &table);
    if (!error) {
        tt_text_table(text, &table, width, color);
        tt_table_fini(&table);
    }
    tt_query_fini(&q);
    return error;
}

/* On standard error, since standard output is the program's. */
static void report(const struct tt_profile *p)
{
    static const char *const flat[] = {"view", "flat", "limit", "12", NULL};
    static const char *const tree[] = {"view",      "tree", "limit", "30",
                                       "threshold", "5%",   NULL};
    int color = isatty(STDERR_FILENO) && !getenv("NO_COLOR");
    struct winsize w = {0};
    struct tt_text text;

    (void)ioctl(STDERR_FILENO, TIOCGWINSZ, &w);
    tt_text_init(&text, &tt_scratch);
    tt_text_header(&text, p, color);
    if (add_view(&text, p, flat, w.ws_col, color) == 0) {
        tt_text_put(&text, "\n");
        (void)add_view(&text, p, tree, w.ws_col, color);
    }
    if (!text.failed)
        (void)fwrite(text.bytes.item, 1, text.bytes.count, stderr);
    tt_text_fini(&text);
}

/* ── The profile ──────────────────────────────────────────────────────────────────── */

static uint64_t total_of(const struct tt_profile *p, const char *metric)
{
    uint32_t i = tt_metric_find(p, metric);

    return i == TT_NONE ? 0 : tt_grand_total(p, &p->metric[i]);
}

static void summarise(const struct tt_gathering *g, const struct tt_profile *p,
                      const struct found *found)
{
    (void)fprintf(stderr, "tallytree: %s: %llu samples of %d process%s in %s\n",
                  g->program, (unsigned long long)total_of(p, "samples"),
                  found->recordings, found->recordings == 1 ? "" : "es", g->out);
    if (found->running)
        (void)fprintf(stderr,
                      "tallytree: %d of them still run%s, and write to %s: this is what "
                      "they had so far\n",
                      found->running, found->running == 1 ? "s" : "", g->folder);
}

/* From the profile without names to the one with. */
static int finish(const struct tt_gathering *g, const struct tt_profile *unnamed,
                  const struct found *found)
{
    struct tt_symbols_options options = {0};
    struct tt_profile named;
    void *image;
    size_t size;
    int error = tt_symbolize_image(&options, unnamed, 0, &image, &size);

    if (!error)
        error = tt_profile_open(&named, image, size, &tt_scratch);
    if (error) {
        tt_complain("%s", tt_error_text(error));
        goto fail_open;
    }
    error = tt_output_write(g->out, image, size);
    if (!error && g->reports)
        report(&named);
    if (!error)
        summarise(g, &named, found);
    tt_profile_close(&named);
fail_open:
    tt_memory_put(&tt_scratch, image, size);
    return error;
}

int tt_gather(const struct tt_gathering *g)
{
    char *folder = (char *)(uintptr_t)g->folder;
    struct found found = {0, 0};
    struct tt_input in;
    int error;

    each_file(g->folder, count_file, &found);
    if (!found.recordings) {
        tt_complain("%s: nothing was recorded: it did not load what was to record it, or "
                    "found no room in %s",
                    g->program, g->folder);
        (void)rmdir(g->folder);
        return -TT_ERR_FILE;
    }
    error = tt_input_open(&in, &folder, 1);
    if (error)
        goto fail;
    error = finish(g, &in.profile, &found);
    tt_input_close(&in);
    if (error)
        goto fail;
    if (!found.running)
        remove_folder(g->folder);
    return 0;

fail:
    tt_complain("what was recorded is in %s", g->folder);
    return error;
}
