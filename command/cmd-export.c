/* SPDX-License-Identifier: MIT */
/* cmd-export.c - `tallytree export`: recordings, profiles and foreign files in another
 * tool's format. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd-export.h"
#include "command.h"
#include "complain.h"
#include "drops.h"
#include "filter.h"
#include "filters.h"
#include "foreign.h"
#include "html.h"
#include "input.h"
#include "options.h"
#include "output.h"
#include "pack.h"
#include "replacing.h"
#include "report-layout.h"
#include "scratch.h"
#include "source-text.h"

enum { TO = 1, OUTPUT, BEFORE, MOST, AS_OCR, WITH_SOURCES, SOURCE, BY_TIME };

static const struct tt_flag export_flags[] = {
    {"to", 0, TO, "FORMAT", "@formats", "write this format"},
    {"output", 'o', OUTPUT, "OUT", "@files", "write to OUT (default: standard output)"},
    TT_REPLACING_FLAG,
    {"max-size", 0, MOST, "SIZE", "1M 10M", "html: leave out small parts to fit SIZE"},
    {"with-sources", 0, WITH_SOURCES, NULL, NULL,
     "html: include the text of source files"},
    {"source", 0, SOURCE, "DIR", "@files", "html: the same, and look for them here"},
    {"before", 0, BEFORE, "FILE", "@files",
     "write the figures of FILE beside those of FILE..."},
    {"by-time", 0, BY_TIME, NULL, NULL,
     "chrome, firefox, speedscope, v8: threads by time"},
    {"as-ocr", 0, AS_OCR, NULL, NULL, "ocr: squares with the flaws of OCR's profiler"},
    {"recursion", 0, TT_FOREIGN_RECURSION, "POLICY", TT_RECURSION_VALUES,
     "traces of events: as in `replay`"},
    {"budget", 0, TT_FOREIGN_BUDGET, "SIZE", NULL,
     "traces of events: limit memory to SIZE (default: 64M)"},
    {"executable", 0, TT_FOREIGN_EXECUTABLE, "PROGRAM", "@files",
     "the program that wrote gmon.out"},
    {NULL, 0, 0, NULL, NULL, NULL},
};

struct given {
    const struct tt_flag *flag;
    const char *value;
};

struct exporting {
    struct tt_query query;
    struct tt_vector given; /* struct given, in order */
    const struct tt_format *format;
    const char *out, *before;
    uint64_t most; /* bytes; 0: any number */
    char **file;
    int files, clean, as_ocr, with_sources, by_time;
    struct tt_source_folders folders;
    struct tt_text sources; /* JSON, if they are wanted */
};

/* ── Arguments ────────────────────────────────────────────────────────────────────── */

/* Formats that are written by folders that formats/ may not include. */
static const struct tt_format *const others[] = {
    &tt_format_csv_tree,  &tt_format_ghc_json, &tt_format_html,
    &tt_format_json_tree, &tt_format_tdk_csv,  NULL,
};

const struct tt_format *tt_export_format(size_t i)
{
    for (size_t at = 0; tt_formats[at]; at++)
        if (tt_formats[at]->write && i-- == 0)
            return tt_formats[at];
    return i < sizeof others / sizeof *others ? others[i] : NULL;
}

static int find_format(struct exporting *x, const char *name)
{
    const char *names[64];
    size_t count = 0;

    for (size_t i = 0; (x->format = tt_export_format(i)) != NULL; i++)
        if (strcmp(x->format->name, name) == 0)
            return 0;
    x->format = tt_format_find(name);
    if (x->format) {
        tt_complain("export: '%s' is only read, not written", name);
        return -TT_ERR_OPTION;
    }
    for (; tt_export_format(count) && count < 64; count++)
        names[count] = tt_export_format(count)->name;
    (void)tt_complain_of("format", name, names, count);
    return -TT_ERR_OPTION;
}

static int take(struct exporting *x, const struct tt_flags *f, int id)
{
    switch (id) {
    case TO:
        return find_format(x, f->value);
    case OUTPUT:
        x->out = f->value;
        return 0;
    case MOST:
        return tt_command_bytes(&tt_command_export, f, 1, 1ull << 62, &x->most);
    case BEFORE:
        x->before = f->value;
        return 0;
    case SOURCE:
        x->with_sources = 1;
        return tt_source_folders_add(&x->folders, f->value);
    case WITH_SOURCES:
        x->with_sources = 1;
        return 0;
    case AS_OCR:
        x->as_ocr = 1;
        return 0;
    case BY_TIME:
        x->by_time = 1;
        return 0;
    case TT_FOREIGN_RECURSION:
    case TT_FOREIGN_BUDGET:
    case TT_FOREIGN_EXECUTABLE:
        return tt_foreign_take("export", f->flag, f->value) < 0 ? -TT_ERR_OPTION : 0;
    default:
        x->clean |= id == TT_FILTER_CLEAN;
        if (tt_vector_push(&x->given, &(struct given){f->flag, f->value}) == 0)
            return 0;
        tt_complain("no memory");
        return -TT_ERR_MEMORY;
    }
}

static int set_filters(struct exporting *x)
{
    const struct given *g = x->given.item;
    int error = 0;

    for (size_t i = 0; !error && i < x->given.count; i++)
        error = tt_filter_take(&x->query, "export", x->clean, g[i].flag, g[i].value);
    return error;
}

/* Returns the format that the output's name implies, if any: "run.html",
 * "callgrind.out.7". */
static void find_by_output(struct exporting *x)
{
    static const struct {
        const char *begin, *end, *format;
    } names[] = {
        {"callgrind.out", "", "callgrind"},
        {"", ".callgrind", "callgrind"},
        {"", ".html", "html"},
        {"", ".folded", "folded"},
        {"", ".speedscope.json", "speedscope"},
        {"", ".pb.gz", "pprof"},
        {"", ".pprof", "pprof"},
        {"", ".cpuprofile", "v8"},
        {"", ".pgcl", "pgcl"},
        {"", ".csv", "csv"},
    };
    const char *slash = strrchr(x->out, '/'), *name = slash ? slash + 1 : x->out;
    const size_t length = strlen(name);

    for (size_t i = 0; !x->format && i < sizeof names / sizeof *names; i++) {
        const size_t begin = strlen(names[i].begin), end = strlen(names[i].end);
        if (length > begin + end && strncmp(name, names[i].begin, begin) == 0 &&
            strcmp(name + length - end, names[i].end) == 0)
            (void)find_format(x, names[i].format);
    }
}

/* Checks the request, after all flags are known; returns a status, or less than 0 to
 * continue. */
static int prepare(struct exporting *x)
{
    if (!x->format && x->out)
        find_by_output(x);
    if (!x->format)
        return tt_command_wants(&tt_command_export, "--to FORMAT");
    if (!x->files)
        return tt_command_wants(&tt_command_export, "a recording or a profile");
    if (x->before && !(x->format->flags & TT_FORMAT_DIFFERS)) {
        tt_complain("export: the format '%s' cannot hold two figures", x->format->name);
        return TT_EXIT_FAILED;
    }
    if (x->by_time && !(x->format->flags & TT_FORMAT_BY_TIME)) {
        tt_complain(
            "export: '--by-time' is for chrome, firefox, speedscope and v8 alone");
        return TT_EXIT_FAILED;
    }
    if (x->as_ocr && !x->format->part) {
        tt_complain("export: '--as-ocr' is for ocr alone");
        return TT_EXIT_FAILED;
    }
    if (x->most && x->format != &tt_format_html) {
        tt_complain("export: '--max-size' is for html alone");
        return TT_EXIT_FAILED;
    }
    if (x->with_sources && x->format != &tt_format_html) {
        tt_complain("export: '--with-sources' and '--source' are for html alone");
        return TT_EXIT_FAILED;
    }
    return set_filters(x) ? TT_EXIT_FAILED : -1;
}

/* ── Writing ──────────────────────────────────────────────────────────────────────── */

/* It has large tables, too large for the stack. */
static struct tt_writer writer;

static int write_packed(struct exporting *x, struct tt_export *e, struct tt_output *o)
{
    int is_packed = x->format->flags & TT_FORMAT_PACKED, error = 0;
    struct tt_pack *pack = is_packed ? tt_pack_new(tt_output_put, o) : NULL;

    if (is_packed && !pack)
        error = -TT_ERR_MEMORY;
    tt_writer_init(&writer, pack ? tt_pack_put : tt_output_put, pack ? (void *)pack : o);
    if (!error && (error = x->format->write(e, &writer)) == 0) {
        error = tt_writer_flush(&writer);
        if (!error && pack)
            error = tt_pack_finish(pack);
        tt_pack_free(pack);
        return error; /* what the output cannot do has been said */
    }
    tt_pack_free(pack);
    tt_complain("export: %s", e->error[0] ? e->error : tt_error_text(error));
    return error;
}

static int write_file(struct exporting *x, struct tt_export *e, const char *path)
{
    struct tt_output output;
    int error = tt_output_open(&output, path), closing;

    if (error)
        return error;
    error = write_packed(x, e, &output);
    closing = tt_output_close(&output, !error);
    return error ?: closing;
}

/* Writes each part as a file of a folder; the folder appears complete or not at all. */
static int write_parts(struct exporting *x, struct tt_export *e)
{
    struct tt_folder folder;
    char name[TT_PART_NAME], *path;
    int error = tt_folder_open(&folder, x->out), there = 1, closing;

    if (error)
        return error;
    for (e->part = 0; !error && (there = x->format->part(e, name)) != 0; e->part++) {
        if (there != 1)
            continue;
        path = tt_folder_path(&folder, name);
        error = path ? write_file(x, e, path) : -TT_ERR_MEMORY;
        free(path);
    }
    closing = tt_folder_close(&folder, !error);
    return error ?: closing;
}

/* Returns the only part that is not empty; TT_NONE: there are several. */
static uint32_t only_part(struct exporting *x, struct tt_export *e)
{
    char name[TT_PART_NAME];
    uint32_t only = TT_NONE;
    int there;

    for (e->part = 0; (there = x->format->part(e, name)) != 0; e->part++) {
        if (there == 1 && only != TT_NONE)
            return TT_NONE;
        if (there == 1)
            only = e->part;
    }
    return only;
}

static int write_format(struct exporting *x, struct tt_export *e)
{
    e->as_ocr = x->as_ocr;
    e->by_time = x->by_time;
    if (!x->format->part)
        return write_file(x, e, x->out);
    if (x->out && strcmp(x->out, "-") != 0)
        return write_parts(x, e);
    if ((e->part = only_part(x, e)) != TT_NONE)
        return write_file(x, e, x->out);
    tt_complain("export: the format '%s' is a folder of files: name it by -o FOLDER",
                x->format->name);
    return -TT_ERR_OPTION;
}

/* ── A file that is not too large ─────────────────────────────────────────────────── */

static int put_nowhere(void *arg, const void *bytes, size_t size)
{
    uint64_t *count = arg;

    (void)bytes;
    *count += size;
    return 0;
}

/* Returns the size that the file would have. */
static int measure(struct exporting *x, struct tt_export *e, uint64_t *size)
{
    int error;

    *size = 0;
    tt_writer_init(&writer, put_nowhere, size);
    error = x->format->write(e, &writer);
    return error ?: tt_writer_flush(&writer);
}

/* Removes parts below a share of the profile. */
static int prune(const struct tt_profile *p, double share, struct tt_filtered *left)
{
    struct tt_query q;
    char text[40];
    int error;

    tt_query_init(&q, &tt_scratch);
    (void)snprintf(text, sizeof text, "%.10f%%", share * 100);
    error = tt_query_set(&q, "prune", text);
    error = error ?: tt_filter_apply(p, &q, left);
    tt_query_fini(&q);
    return error;
}

/* Makes e->profile small enough for --max-size by leaving out its smallest parts; then it
 * points to `left`, to be closed if *pruned. */
static int shrink(struct exporting *x, struct tt_export *e, struct tt_filtered *left,
                  int *pruned)
{
    const struct tt_profile *whole = e->profile;
    double share = 1e-6;
    uint64_t size;
    int error;

    *pruned = 0;
    while ((error = measure(x, e, &size)) == 0 && size > x->most) {
        if (*pruned)
            tt_filter_close(left, &tt_scratch);
        *pruned = 0;
        if (share > 0.5) {
            tt_complain("export: the page%s alone is %llu bytes, more than '--max-size'",
                        x->with_sources ? " with its sources" : "",
                        (unsigned long long)size);
            return -TT_ERR_OPTION;
        }
        error = prune(whole, share, left);
        if (error)
            break;
        *pruned = 1;
        e->profile = left->profile;
        share *= 2;
    }
    if (error)
        tt_complain("export: %s", tt_error_text(error));
    return error;
}

/* ── The command ──────────────────────────────────────────────────────────────────── */

/* Exports a profile that was read, after the filters. */
struct side {
    struct tt_input in;
    struct tt_filtered filtered, shown; /* shown: with the pushes that were dropped */
};

static int open_side(struct exporting *x, struct side *s, char **files, int count)
{
    int error = tt_input_open(&s->in, files, count, 0);

    if (error)
        return error;
    error = tt_profile_check(&s->in.profile);
    if (error) {
        tt_complain("%s: %s", files[0], s->in.profile.error);
        goto fail_check;
    }
    error = tt_filter_apply(&s->in.profile, &x->query, &s->filtered);
    s->shown = (struct tt_filtered){.profile = s->filtered.profile};
    if (!error && (x->format->flags & TT_FORMAT_PATHS) &&
        (error = tt_drops_apply(s->filtered.profile, &tt_scratch, &s->shown)) != 0)
        tt_filter_close(&s->filtered, &tt_scratch);
    if (!error)
        return 0;
    tt_complain("export: %s", x->query.error[0] ? x->query.error : tt_error_text(error));
fail_check:
    tt_input_close(&s->in);
    return error;
}

static void close_side(struct side *s)
{
    tt_filter_close(&s->shown, &tt_scratch);
    tt_filter_close(&s->filtered, &tt_scratch);
    tt_input_close(&s->in);
}

static int find_metric(struct exporting *x, struct tt_export *e)
{
    e->metric = TT_NONE;
    if (!x->query.metric)
        return 0;
    e->metric = tt_metric_find(e->profile, x->query.metric);
    if (x->format->flags & TT_FORMAT_SERIES)
        e->series = tt_series_find(e->profile, x->query.metric) + 1;
    if (e->metric != TT_NONE || e->series)
        return 0;
    (void)tt_query_unknown_metric(&x->query, e->profile, x->query.metric);
    tt_complain("export: %s", x->query.error);
    return -TT_ERR_OPTION;
}

/* Reads the sources that the profile names, and says what is missing. */
static int read_sources(struct exporting *x, struct tt_export *e)
{
    struct tt_source_counts c;
    int error = tt_source_texts_put(e->profile, &x->folders, &x->sources, &c);

    if (error)
        tt_complain("export: %s", tt_error_text(error));
    else if (!c.put && !c.missing)
        tt_complain("export: the profile names no source files");
    else if (c.missing)
        tt_complain("export: %zu of %zu source files were not found, such as %s; "
                    "'--source DIR' looks for them in DIR",
                    c.missing, c.put + c.missing + c.left,
                    c.first_missing ? c.first_missing : "?");
    if (!error && c.left)
        tt_complain("export: the page has room for %d MiB of source files; %zu with the "
                    "least self are left out",
                    TT_SOURCES_MOST >> 20, c.left);
    free(c.first_missing);
    e->sources = error ? NULL : tt_text_string(&x->sources);
    return error;
}

static int export_files(struct exporting *x)
{
    struct tt_export e = {0};
    struct tt_filtered left;
    struct side then, before;
    int pruned = 0;
    char *path[] = {(char *)(uintptr_t)x->before};
    int error = open_side(x, &then, x->file, x->files);

    if (error)
        return error;
    e.profile = then.shown.profile;
    error = find_metric(x, &e);
    if (!error && x->before) {
        error = open_side(x, &before, path, 1);
        e.before = error ? NULL : before.shown.profile;
    }
    if (!error && x->with_sources)
        error = read_sources(x, &e);
    if (!error && x->most)
        error = shrink(x, &e, &left, &pruned);
    error = error ?: write_format(x, &e);
    if (pruned)
        tt_filter_close(&left, &tt_scratch);
    if (e.before)
        close_side(&before);
    close_side(&then);
    return error;
}

static int run(int argc, char **argv)
{
    struct exporting x = {.file = argv + 1};
    struct tt_flags f;
    int id, status, error = 0;

    tt_query_init(&x.query, &tt_scratch);
    tt_vector_init(&x.given, NULL, sizeof(struct given));
    tt_text_init(&x.sources, NULL);
    tt_command_flags(&tt_command_export, &f, argc, argv);
    while (!error && (id = tt_command_next(&tt_command_export, &f, &status)) > 0)
        error = take(&x, &f, id);
    if (error)
        status = TT_EXIT_FAILED;
    x.files = f.count;
    if (!error && id == 0 && (status = prepare(&x)) < 0)
        status = export_files(&x) ? TT_EXIT_FAILED : TT_EXIT_DONE;
    tt_text_fini(&x.sources);
    tt_vector_fini(&x.given);
    tt_query_fini(&x.query);
    return status;
}

/* Lists the names, as many as fit on each line of the screen. */
static void show_formats(void)
{
    size_t column = printf("Formats:") > 0 ? 8 : 0;

    for (size_t i = 0; tt_export_format(i); i++) {
        const char *name = tt_export_format(i)->name;
        size_t length = strlen(name) + 1;
        if (column + length > 78) {
            printf("\n        ");
            column = 8;
        }
        printf(" %s", name);
        column += length;
    }
    putchar('\n');
}

const struct tt_command tt_command_export = {
    .name = "export",
    .synopsis = "--to FORMAT [FILTERS] [--metric NAME] [-o OUT] FILE...",
    .about = "convert to the formats of other tools",
    .details =
        "FILEs may be in any format that Tallytree reads. All metrics are written where\n"
        "the format has room for them; --metric chooses one.\n",
    .show = show_formats,
    .flags = export_flags,
    .takes_filters = 1,
    .operands = "@files",
    .run = run,
};
