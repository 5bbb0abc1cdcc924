/* SPDX-License-Identifier: MIT */
/* finish-run.c - merges the recordings of a program's processes into one profile.
 *
 * Each process has written a separate recording; together they are the run.  Names are
 * looked up at once, while the files that ran are available, so that the profile is the
 * same on any machine. */
#include "finish-run.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "complain.h"
#include "filter.h"
#include "folder.h"
#include "header.h"
#include "input.h"
#include "layout.h"
#include "live-snapshot.h"
#include "name-blocks.h"
#include "output.h"
#include "query.h"
#include "scratch.h"
#include "show.h"
#include "sorted.h"
#include "statistics.h"
#include "table-print.h"
#include "unseen.h"
#include "view.h"

/* ── The folder ───────────────────────────────────────────────────────────────────── */

/* A recording of a process; if it executed other programs, there are several. */
struct image {
    pid_t pid;
    uint64_t writer; /* its process, too, or the one that records it from outside */
    uint64_t start;
    int open;
    char name[NAME_MAX + 1];
};

struct found {
    struct tt_vector images;
    int processes, running;
    int begun;     /* recordings with nothing in them */
    char **unseen; /* of programs that are not in it, a sentence each; NULL at the end */
};

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

/* If the program gave up its rights, others may write into the folder: opens neither
 * links nor special files. */
static int open_regular(int folder, const char *name, int flags)
{
    int fd = openat(folder, name, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat s;

    if (fd >= 0 && (fstat(fd, &s) != 0 || !S_ISREG(s.st_mode) || s.st_nlink != 1)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static void find_image(int folder, const char *name, void *arg)
{
    struct tt_header h = {.pid = 0};
    int fd = open_regular(folder, name, O_RDONLY), is;
    struct found *f = arg;
    struct image *image;

    if (fd < 0)
        return;
    is = pread(fd, &h, sizeof h, 0) == sizeof h &&
         memcmp(h.magic, TT_MAGIC, sizeof h.magic) == 0;
    close(fd);
    f->begun += !is;
    image = is ? tt_vector_add(&f->images, 1) : NULL;
    if (image) {
        image->pid = (pid_t)h.pid;
        image->writer = h.recorder ? h.recorder : h.pid;
        image->start = h.start_time;
        image->open = h.state == TT_RECORDING_OPEN;
        (void)snprintf(image->name, sizeof image->name, "%s", name);
    }
}

static int compare_images(const void *a, const void *b)
{
    const struct image *x = a, *y = b;

    return TT_ORDER(x->pid, y->pid) ?: TT_ORDER(x->start, y->start);
}

/* The process executed another program: this counts as an ended recording. */
static void end_image(const char *path, const struct image *image)
{
    const uint32_t ended = TT_RECORDING_ENDED;
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
        fd = folder < 0 ? -1 : open_regular(folder, image->name, O_WRONLY);

    if (folder >= 0)
        close(folder);
    if (fd < 0)
        return;
    (void)!pwrite(fd, &ended, sizeof ended, offsetof(struct tt_header, state));
    close(fd);
}

static void look_around(struct found *f, const char *folder)
{
    struct image *image;

    tt_vector_init(&f->images, NULL, sizeof *image);
    each_file(folder, find_image, f);
    image = f->images.item;
    tt_vector_sort(&f->images, compare_images);
    for (size_t i = 0; i < f->images.count; i++) {
        if (i + 1 < f->images.count && image[i].pid == image[i + 1].pid) {
            if (image[i].open)
                end_image(folder, &image[i]);
            continue;
        }
        f->processes++;
        f->running += image[i].open && tt_live_snapshot_is_alive(image[i].writer);
    }
    tt_vector_fini(&f->images);
}

/* The names that Node has written for us: the profile has them now. */
static void remove_names(uint64_t pid, uint64_t inode)
{
    char path[64];
    struct stat s;

    (void)snprintf(path, sizeof path, TT_PERF_MAP, (unsigned long long)pid);
    if (lstat(path, &s) == 0 && S_ISREG(s.st_mode) && s.st_ino == inode)
        (void)unlink(path);
}

static void remove_file(int folder, const char *name, void *arg)
{
    struct tt_header h = {.pid = 0};
    int fd = open_regular(folder, name, O_RDONLY);

    (void)arg;
    if (fd >= 0 && pread(fd, &h, sizeof h, 0) == sizeof h && h.names_file)
        remove_names(h.pid, h.names_file);
    if (fd >= 0)
        close(fd);
    (void)unlinkat(folder, name, 0);
}

/* Folders are removed when they are empty. */
static void remove_files(const char *path)
{
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    each_file(path, remove_file, NULL);
    if (folder < 0)
        return;
    (void)unlinkat(folder, TT_FOLDER_WAKES, 0);
    close(folder);
}

/* ── The report ───────────────────────────────────────────────────────────────────── */

static int add_table(struct tt_text *text, const struct tt_profile *p, struct tt_query *q,
                     uint32_t width, int color)
{
    struct tt_table table;
    int error = tt_view(p, q, &table);

    if (!error)
        tt_text_table(text, &table, width, color);
    tt_table_fini(&table);
    return error;
}

/* Functions, without their lines. */
static int add_view(struct tt_text *text, const struct tt_profile *p,
                    const char *const words[], uint32_t width, int color)
{
    struct tt_filtered filtered;
    struct tt_query q;
    int error;

    tt_query_init(&q, &tt_scratch);
    error = tt_query_set(&q, "fold", "kind:statement");
    for (int i = 0; !error && words[i]; i += 2)
        error = tt_query_set(&q, words[i], words[i + 1]);
    error = error ?: tt_filter_apply(p, &q, &filtered);
    if (!error) {
        error = add_table(text, filtered.profile, &q, width, color);
        tt_filter_close(&filtered, &tt_scratch);
    }
    tt_query_fini(&q);
    return error;
}

/* To standard error, since standard output is the program's. */
static void report(const struct tt_profile *p)
{
    static const char *const flat[] = {"view", "flat", "limit", "12", NULL};
    static const char *const tree[] = {"view",      "tree", "limit", "30",
                                       "threshold", "5%",   NULL};
    int color = tt_show_is_colored(STDERR_FILENO);
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

enum { COUNT_SIZE = 60 };

/* "1 sample", "2 samples". */
static void put_count(char out[COUNT_SIZE], const struct tt_profile *p,
                      const char *metric)
{
    uint64_t count = total_of(p, metric);

    (void)snprintf(out, COUNT_SIZE, "%llu %.*s", (unsigned long long)count,
                   (int)strlen(metric) - (count == 1), metric);
}

/* Texts that the header has too, such as recordings that could not be read. */
static void tell(const struct tt_profile *p, const char *fact)
{
    for (uint32_t i = 0; i < p->facts; i++)
        if (strcmp(tt_profile_string(p, p->fact[i].name), fact) == 0)
            tt_complain("%s", tt_profile_string(p, p->fact[i].text));
}

/* Those whose functions are not shown, with the reason. */
static void tell_interpreters(const struct tt_profile *p)
{
    for (uint32_t i = 0; i < p->facts; i++) {
        const char *text = tt_profile_string(p, p->fact[i].text);
        if (strcmp(tt_profile_string(p, p->fact[i].name), "interpreter") == 0 &&
            strstr(text, "not shown"))
            tt_complain("functions of %s", text);
    }
}

/* A program may restrict itself so that recording cannot go on: see preload.c. */
static void tell_ends(const struct tt_profile *p)
{
    static const char until[] = "; until it ";

    for (uint32_t i = 0; i < p->facts; i++) {
        const char *end = strstr(tt_profile_string(p, p->fact[i].text), until);
        if (end && strcmp(tt_profile_string(p, p->fact[i].name), "source") == 0)
            tt_complain("a process was recorded only %s", end + 2);
    }
}

/* A recording from outside has many processes. */
static int count_processes(const struct tt_profile *p)
{
    int count = 0;

    for (uint32_t s = 0; s < p->strands; s++)
        count += (p->strand[s].pid || !tt_fact_number(p, "processors")) &&
                 (s == 0 || !tt_is_one_process(p, s - 1, s));
    return count;
}

/* "2 processes"; of a machine whose rows have threads of many: "16039 threads". */
static void put_sources(char *out, size_t size, const struct tt_profile *p, int processes)
{
    const int is_of_machine = tt_fact_number(p, "processors") != 0;
    uint64_t threads = 0;

    for (uint32_t s = 0; is_of_machine && s < p->strands; s++)
        threads += p->strand[s].members;
    if (threads > p->strands)
        (void)snprintf(out, size, "%llu threads", (unsigned long long)threads);
    else
        (void)snprintf(out, size, "%d process%s", processes, processes == 1 ? "" : "es");
}

static void summarise(const struct tt_gathering *g, const struct tt_profile *p,
                      const struct found *found)
{
    char count[COUNT_SIZE], objects[COUNT_SIZE] = "", sources[COUNT_SIZE];
    int unseen = 0, processes = found->processes;

    if (tt_fact_number(p, "recordings") == 1 && p->strands)
        processes = count_processes(p);
    tell(p, "missing");
    put_count(count, p,
              tt_metric_find(p, "samples") == TT_NONE && total_of(p, "calls")
                  ? "calls"
                  : "samples");
    if (total_of(p, "objects"))
        put_count(objects, p, "objects");
    put_sources(sources, sizeof sources, p, processes);
    tt_complain("%s: %s%s%s of %s in %s", g->program, count, *objects ? " and " : "",
                objects, sources, g->out);
    if (tt_fact_number(p, "lost.samples"))
        tt_complain(
            "%llu samples are lost, as they came too fast: use a longer period, or "
            "a lower rate",
            (unsigned long long)tt_fact_number(p, "lost.samples"));
    tell(p, "rate");
    tell_interpreters(p);
    tell_ends(p);
    for (char *const *u = found->unseen; u && *u; u++)
        unseen++;
    if (unseen)
        tt_complain("%d program%s that it started %s not recorded: see the header",
                    unseen, unseen == 1 ? "" : "s", unseen == 1 ? "is" : "are");
    if (found->running)
        tt_complain("%d of them still run%s, and write%s to %s: this is what they had so "
                    "far; when they have ended, 'tallytree merge' reads that folder, and "
                    "it can be removed",
                    found->running, found->running == 1 ? "s" : "",
                    found->running == 1 ? "s" : "", g->folder);
}

enum { BRIEF = 100 }; /* samples */

/* With few samples, inlined functions say little, and finding them may take longer than
 * the run.  Only for what is shown at once: names of functions may be others, so that the
 * profile would not match that of a longer run. */
static int is_brief(const struct tt_profile *p)
{
    uint64_t samples = total_of(p, "samples");

    return samples && samples < BRIEF && !total_of(p, "objects");
}

/* Replaces the profile without names by the one with names. */
static int finish(const struct tt_gathering *g, const struct tt_profile *unnamed,
                  const struct found *found)
{
    struct tt_names_wanted naming = g->naming;
    struct tt_profile named;
    void *image;
    size_t size;
    int error;

    naming.options.brief = g->is_only_shown && !naming.lines && is_brief(unnamed);
    error = tt_symbolize_image(&naming, unnamed, found->unseen, &image, &size);

    error = error ?: tt_profile_open(&named, image, size, &tt_scratch);
    if (error) {
        tt_complain("%s", tt_error_text(error));
        goto fail_open;
    }
    error = tt_output_write(g->out, image, size);
    if (!error && g->reports)
        report(&named);
    if (!error && !g->is_quiet)
        summarise(g, &named, found);
    tt_profile_close(&named);
fail_open:
    tt_memory_put(&tt_scratch, image);
    return error;
}

static void complain_of_nothing(const struct tt_gathering *g, const struct found *found)
{
    char **unseen = found->begun ? NULL : tt_unseen_take(g->inner);

    if (found->begun) {
        tt_complain("%s: nothing was recorded: its process was killed at its start",
                    g->program);
        remove_files(g->inner);
    } else if (unseen && *unseen) {
        tt_complain("nothing was recorded: %s", *unseen);
    } else if (g->is_killed) {
        tt_complain("%s: nothing was recorded: its process was killed before its "
                    "recording began",
                    g->program);
    } else {
        tt_complain("%s: nothing was recorded: the program did not load the preload "
                    "library, or %s is full",
                    g->program, g->folder);
    }
    tt_unseen_free(unseen);
}

int tt_finish_run(const struct tt_gathering *g)
{
    char *folder = (char *)(uintptr_t)g->inner;
    struct found found = {.processes = 0};
    struct tt_input in;
    int error;

    (void)signal(SIGPIPE, SIG_IGN); /* the reader of our output may be gone */
    look_around(&found, g->inner);
    if (!found.processes) {
        complain_of_nothing(g, &found);
        return -TT_ERR_FILE;
    }
    error = tt_input_open(&in, &folder, 1, TT_INPUT_UNNAMED | TT_INPUT_QUIET);
    if (error)
        goto fail;
    found.unseen = tt_unseen_take(g->inner);
    error = finish(g, &in.profile, &found);
    tt_unseen_free(found.unseen);
    tt_input_close(&in);
    if (error)
        goto fail;
    if (!found.running)
        remove_files(g->inner);
    return 0;

fail:
    tt_complain(
        "what was recorded is in %s: 'tallytree merge -o OUT %s' makes the profile",
        g->folder, g->folder);
    return error;
}
