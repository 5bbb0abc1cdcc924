/* SPDX-License-Identifier: MIT */
/* cmd-report.c - `tallytree report`: a view of recordings and profiles as text, CSV or
 * JSON.
 *
 * The flags are the words of a query (profile/query.h), taken in order.  If the first
 * word names a layout of another profiler, that layout's own flags are available, too;
 * filters work in every layout. */
#include "layouts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "assertion.h"
#include "command.h"
#include "complain.h"
#include "filter.h"
#include "filters.h"
#include "input.h"
#include "name-blocks.h"
#include "newest.h"
#include "query.h"
#include "read-listing.h"
#include "scratch.h"
#include "show.h"
#include "view.h"
#include "views.h"

/* ── Flags ────────────────────────────────────────────────────────────────────────── */

enum { KEY = TT_FILTER_KEY, SYMBOLS = 3000, SOURCE, DEBUGINFOD };

static const struct tt_flag report_flags[] = {
    {"block", 0, KEY, "PATTERN", NULL, "the block that the view 'block' shows"},
    {"sort", 0, KEY, "COLUMN", NULL, "sort by COLUMN; -COLUMN: smallest first"},
    {"limit", 0, KEY, "N", "all", "show N rows, or all; --depth N: levels"},
    {"depth", 0, KEY, "N", "all", NULL},
    {"threshold", 0, KEY, "SHARE", NULL, "combine rows below SHARE, such as 0.5%"},
    {"view", 0, KEY, "VIEW", "@views", NULL},
    {"nodefraction", 0, KEY, "SHARE", NULL, NULL},
    {"nodecount", 0, KEY, "N", NULL, NULL},
    {NULL, 0, 0, NULL, NULL, NULL},
};

/* Those of them that the page of a view shows, if they act in it. */
static const struct tt_flag shared_flags[] = {
    {"block", 0, KEY, "PATTERN", NULL, "show these blocks"},
    {"sort", 0, KEY, "COLUMN", NULL, "sort by COLUMN; -COLUMN: smallest first"},
    {"limit", 0, KEY, "N", "all", "show N rows, or all"},
    {"depth", 0, KEY, "N", "all", "show N levels, or all"},
    {"threshold", 0, KEY, "SHARE", NULL, "combine rows below SHARE, such as 0.5%"},
    {"metric", 'm', KEY, "NAME", "time ticks calls samples",
     "show this metric; 'report header' lists them"},
    {NULL, 0, 0, NULL, NULL, NULL},
};

/* Flags of single views beside their keys, which are flags too. */
static const struct own_flag {
    const char *view;
    struct tt_flag flag;
} own_flags[] = {
    {"assembly",
     {"symbols", 0, SYMBOLS, "DIR", "@files", "look for the files that ran here"}},
    {"assembly", {"source", 0, SOURCE, "DIR", "@files", "look for source text here"}},
    {"assembly",
     {"debuginfod", 0, DEBUGINFOD, NULL, NULL,
      "fetch debug information from $DEBUGINFOD_URLS"}},
    {"source", {"source", 0, SOURCE, "DIR", "@files", "look for source text here"}},
    {NULL, {NULL, 0, 0, NULL, NULL, NULL}},
};

enum { FLAGS = 32 };

/* Adds the flags of a view. */
static size_t add_flags(const struct tt_named_view *v, struct tt_flag *flags,
                        size_t count)
{
    for (const struct tt_view_key *k = v->key; k->name; k++)
        if (!tt_flag_named(flags, k->name))
            flags[count++] = (struct tt_flag){k->name,  0,        KEY,
                                              k->value, k->words, k->about};
    for (const struct own_flag *o = own_flags; o->view; o++)
        if (strcmp(o->view, v->name) == 0 && !tt_flag_named(flags, o->flag.name))
            flags[count++] = o->flag;
    for (const struct tt_flag *f = shared_flags; f->id; f++)
        if (tt_view_takes(v, f->name) && !tt_flag_named(flags, f->name))
            flags[count++] = *f;
    TT_ASSERT(count < FLAGS); /* the last one is empty */
    return count;
}

/* The flags of all views are read, and those of others are refused then; help and
 * completion show those of one view. */
static const struct tt_flag *view_flags(const char *view)
{
    static struct tt_flag flags[FLAGS];
    const struct tt_named_view *shown = tt_view_named(view);
    size_t own, count = 0;

    memset(flags, 0, sizeof flags);
    if (shown)
        count = add_flags(shown, flags, 0);
    own = count;
    for (const struct tt_named_view *v = tt_views; v->name; v++)
        count = add_flags(v, flags, count);
    for (size_t i = own; i < count; i++)
        flags[i] = (struct tt_flag){
            flags[i].name, 0, flags[i].id, flags[i].value ? "VALUE" : NULL, NULL, NULL};
    return flags;
}

static const struct tt_layout *find_layout(const char *name)
{
    for (const struct tt_layout *l = tt_layouts; l->name; l++)
        if (strcmp(l->name, name) == 0)
            return l;
    return NULL;
}

static const struct tt_flag *more_flags(const char *first)
{
    const struct tt_layout *layout = find_layout(first);

    return layout ? layout->flags : view_flags(first);
}

static int is_own(const struct tt_layout *layout, const struct tt_flag *flag)
{
    const struct tt_flag *own = layout ? layout->flags : NULL;

    while (own && own->id && own != flag)
        own++;
    return own == flag;
}

/* A layout shows a profile as its flags say, and the filters. */
static int layout_takes(const struct tt_layout *layout, const struct tt_flag *flag)
{
    if (is_own(layout, flag))
        return 1;
    if (flag->id == TT_SHOW_JSON || flag->id == TT_SHOW_CSV)
        return 0;
    return flag->id != KEY || strcmp(flag->name, "nodefraction") == 0 ||
           !tt_flag_named(report_flags, flag->name);
}

static int view_takes(const struct tt_named_view *view, const struct tt_flag *flag)
{
    int is_of_views = 0;

    for (const struct own_flag *o = own_flags; o->view; o++) {
        if (o->flag.id == flag->id && strcmp(o->view, view->name) == 0)
            return 1;
        is_of_views |= o->flag.id == flag->id;
    }
    return !is_of_views && (flag->id != KEY || tt_view_takes(view, flag->name));
}

static int takes_flag(const char *first, const struct tt_flag *flag)
{
    const struct tt_layout *layout = find_layout(first);
    const struct tt_named_view *view = tt_view_named(first);

    if (layout)
        return layout_takes(layout, flag);
    return !view || view_takes(view, flag);
}

/* ── What is asked ────────────────────────────────────────────────────────────────── */

struct given {
    const struct tt_flag *flag;
    const char *value;
};

struct report {
    struct tt_query query;
    const struct tt_layout *layout; /* NULL: a view */
    struct tt_vector given;         /* struct given: all flags, in order */
    struct tt_vector own;           /* char *, owned: the layout's arguments */
    struct tt_show show;
    const char *view;             /* the view before the files; NULL: none */
    struct tt_names_wanted names; /* where the files that ran are looked for */
    struct tt_source_folders source;
    int clean;
    char **file;
    int files;
    char name[NAME_MAX + 1], *newest; /* where no file is named */
};

static int no_memory(void)
{
    tt_complain("no memory");
    return -TT_ERR_MEMORY;
}

/* ── Arguments ────────────────────────────────────────────────────────────────────── */

static int add_own(struct report *r, const char *before, const char *name,
                   const char *value)
{
    char **own = tt_vector_add(&r->own, 1);
    const char *equals = name && value ? "=" : "";

    if (!own || asprintf(own, "%s%s%s%s", before, name ? name : "", equals,
                         value ? value : "") < 0)
        return no_memory();
    return 0;
}

/* Passes on a flag of the layout's own. */
static int pass_on(struct report *r, const struct given *g)
{
    const char letter[3] = {'-', g->flag->letter, '\0'};
    int error;

    if (g->flag->name)
        return add_own(r, "--", g->flag->name, g->value);
    error = add_own(r, letter, NULL, NULL);
    return error || !g->value ? error : add_own(r, g->value, NULL, NULL);
}

static int set_folder(struct report *r, const struct given *g)
{
    if (g->flag->id == SYMBOLS)
        return tt_names_folder(&r->names, g->value);
    return tt_source_folders_add(&r->source, g->value);
}

static int set_given(struct report *r, const struct given *g)
{
    if (g->flag->id == SYMBOLS || g->flag->id == SOURCE)
        return set_folder(r, g);
    if (is_own(r->layout, g->flag))
        return pass_on(r, g);
    if (strcmp(g->flag->name, "view") == 0)
        r->view = g->value;
    return tt_filter_take(&r->query, "report", r->clean, g->flag, g->value);
}

/* Sets flags that others depend on first, whatever their position. */
static void set_early(struct report *r, const struct given *g)
{
    if (is_own(r->layout, g->flag)) {
        if (r->layout->output && g->flag->name &&
            strcmp(g->flag->name, r->layout->output) == 0)
            (void)tt_show_take(&r->show, TT_SHOW_OUTPUT, g->value);
        return;
    }
    if (g->flag->id == TT_FILTER_CLEAN)
        r->clean = 1;
    else if (g->flag->id == DEBUGINFOD)
        r->names.options.debuginfod = 1;
    else
        (void)tt_show_take(&r->show, g->flag->id, g->value);
}

/* Collects the flags; the operands are in argv then.  Returns the status if that was all,
 * or less than 0 to continue. */
static int read_flags(struct report *r, int argc, char **argv)
{
    struct tt_flags f;
    int id, status;

    tt_command_flags(&tt_command_report, &f, argc, argv);
    while ((id = tt_command_next(&tt_command_report, &f, &status)) > 0) {
        if (tt_vector_push(&r->given, &(struct given){f.flag, f.value}) != 0) {
            (void)no_memory();
            return TT_EXIT_FAILED;
        }
    }
    r->file = argv + 1;
    r->files = f.count;
    return id < 0 ? status : -1;
}

static int set_all(struct report *r)
{
    const struct given *g = r->given.item;
    int error = 0;

    for (size_t i = 0; i < r->given.count; i++)
        set_early(r, &g[i]);
    for (size_t i = 0; !error && i < r->given.count; i++)
        error = set_given(r, &g[i]);
    return error;
}

/* Unless --view names it: is the first operand a view (or the layout that was found before)?  Then it is no
 * file. */
static void take_view(struct report *r)
{
    const int is_first = !r->view && r->files && tt_view_named(r->file[0]);

    if (is_first) {
        r->view = r->file[0];
        (void)tt_query_set(&r->query, "view", r->view);
    }
    if (is_first || r->layout) {
        r->file++;
        r->files--;
    }
}

static int is_view(const char *word) { return tt_view_named(word) || find_layout(word); }

/* Complains of a view after the files, or a second view, unless there is a file of that
 * name. */
static int complain_of_place(const struct report *r)
{
    for (int i = 0; i < r->files; i++) {
        const char *word = r->file[i];
        if (!is_view(word) || access(word, F_OK) == 0)
            continue;
        if (r->view || r->layout)
            tt_complain("report: one view at a time: '%s' is there already, so '%s' "
                        "would be a file",
                        r->layout ? r->layout->name : r->view, word);
        else
            tt_complain("report: the view comes before the files: tallytree report %s %s",
                        word, r->file[i ? 0 : 1]);
        return -TT_ERR_OPTION;
    }
    return 0;
}

/* In the view 'strands', only rows that are contexts have levels. */
static int has_levels(const struct tt_query *q)
{
    const char *by = tt_query_other(q, "by");

    return strcmp(q->view, "strands") != 0 || (by && strstr(by, "context"));
}

static int complain_of_flags(const struct report *r)
{
    const char *shows = r->layout ? r->layout->name : r->query.view;
    const struct given *g = r->given.item;

    for (size_t i = 0; i < r->given.count; i++)
        if (!takes_flag(shows, g[i].flag))
            return tt_filter_refuse("report", r->layout ? "layout" : "view", shows,
                                    g[i].flag);
    if (r->query.depth && !has_levels(&r->query)) {
        tt_complain("report: in the view 'strands', 'depth' is for contexts; add "
                    "'--by context'");
        return -TT_ERR_OPTION;
    }
    return 0;
}

/* A first operand that is no file may have been meant as a view. */
static int complain_of_view(const struct report *r)
{
    const char *names[64];
    size_t count = 0;

    for (const struct tt_named_view *v = tt_views; v->name && count < 64; v++)
        names[count++] = v->name;
    for (const struct tt_layout *l = tt_layouts; l->name && count < 64; l++)
        names[count++] = l->name;
    if (!r->layout && r->files && find_layout(r->file[0])) {
        tt_complain("report: the layout '%s' comes before all flags", r->file[0]);
        return -TT_ERR_OPTION;
    }
    if (complain_of_place(r) != 0)
        return -TT_ERR_OPTION;
    if (r->files < 1 || access(r->file[0], F_OK) == 0 || strchr(r->file[0], '/') ||
        strcmp(r->file[0], "-") == 0 ||
        (r->files == 1 && !tt_query_suggest(r->file[0], names, count)))
        return 0;
    (void)tt_complain_of("view or file", r->file[0], names, count);
    return -TT_ERR_OPTION;
}

/* ── The report ───────────────────────────────────────────────────────────────────── */

static int complain_of_query(const struct report *r, int error)
{
    if (error)
        tt_complain("report: %s", error == -TT_ERR_OPTION && r->query.error[0]
                                      ? r->query.error
                                      : tt_error_text(error));
    return error;
}

static int write_layout(struct report *r, const struct tt_profile *p)
{
    char reason[160] = "";
    struct tt_text text;
    int error;

    tt_text_init(&text, &tt_scratch);
    error = tt_layout_run(r->layout, p, (int)r->own.count, r->own.item, &text, reason,
                          sizeof reason);
    if (error)
        tt_complain("report %s: %s", r->layout->name,
                    reason[0] ? reason : tt_error_text(error));
    else
        error = tt_show_text(&r->show, &text);
    tt_text_fini(&text);
    return error;
}

static int write_table(struct report *r, const struct tt_profile *p)
{
    struct tt_table table;
    int error = tt_view(p, &r->query, &table);

    if (error) {
        tt_table_fini(&table);
        return complain_of_query(r, error);
    }
    error = tt_show_table(&r->show, &table, p);
    tt_table_fini(&table);
    return error;
}

static int shows_code(const struct tt_query *q)
{
    return q->view &&
           (strcmp(q->view, "assembly") == 0 || strcmp(q->view, "source") == 0);
}

static int write_view(struct report *r, const struct tt_profile *p)
{
    struct tt_read_listing *listing = NULL;
    int error;

    if (shows_code(&r->query)) {
        tt_names_ask(&r->names.options, p);
        listing = tt_read_listing_new(&r->names.options, &r->source);
        if (!listing)
            return no_memory();
        r->query.listing = tt_read_listing_of(listing);
    }
    error = write_table(r, p);
    r->query.listing = NULL;
    tt_read_listing_free(listing);
    return error;
}

static int report(struct report *r)
{
    struct tt_filtered filtered;
    struct tt_input in;
    int error = tt_input_open(&in, r->file, r->files, 0);

    if (error)
        return error;
    error = !r->layout && tt_query_is_bounded(&r->query, &in.profile)
                ? 0
                : tt_profile_check(&in.profile);
    if (error) {
        tt_complain("%s: %s", r->file[0], in.profile.error);
        goto fail_check;
    }
    error = complain_of_query(r, tt_filter_apply(&in.profile, &r->query, &filtered));
    if (error)
        goto fail_check;
    error = r->layout ? write_layout(r, filtered.profile)
                      : write_view(r, filtered.profile);
    tt_filter_close(&filtered, &tt_scratch);
fail_check:
    tt_input_close(&in);
    return error;
}

/* ── The command ──────────────────────────────────────────────────────────────────── */

/* A layout is always text. */
static int check_form(const struct report *r)
{
    uint32_t width;
    int color;

    if (r->layout && r->show.form != TT_FORM_TEXT) {
        tt_complain("report %s: this layout is text, not %s", r->layout->name,
                    r->show.form == TT_FORM_JSON ? "JSON" : "CSV");
        return -TT_ERR_OPTION;
    }
    return tt_show_terminal(&r->show, &width, &color);
}

static int take_newest(struct report *r)
{
    r->newest = r->name;
    r->file = &r->newest;
    r->files = 1;
    return tt_newest_profile("report", r->name);
}

static int prepare(struct report *r)
{
    int error = set_all(r);

    error = error ?: check_form(r);
    if (error)
        return error;
    take_view(r);
    error = complain_of_view(r);
    error = error ?: complain_of_flags(r);
    error = error ?: complain_of_query(r, tt_query_check(&r->query));
    if (!error && !r->files)
        error = take_newest(r);
    return error;
}

static void fini(struct report *r)
{
    char **own = r->own.item;

    for (size_t i = 0; i < r->own.count; i++)
        free(own[i]);
    tt_vector_fini(&r->own);
    tt_vector_fini(&r->given);
    tt_names_fini(&r->names);
    tt_query_fini(&r->query);
}

static int run(int argc, char **argv)
{
    struct report r = {.layout = argc > 1 ? find_layout(argv[1]) : NULL,
                       .show = {.command = "report"}};
    int status;

    tt_query_init(&r.query, &tt_scratch);
    tt_vector_init(&r.given, NULL, sizeof(struct given));
    tt_vector_init(&r.own, NULL, sizeof(char *));
    status = read_flags(&r, argc, argv);
    if (status < 0 && r.layout && add_own(&r, "", r.layout->name, NULL) != 0)
        status = TT_EXIT_FAILED;
    if (status < 0)
        status = prepare(&r) || report(&r) ? TT_EXIT_FAILED : TT_EXIT_DONE;
    fini(&r);
    return status;
}

static void show_view(const struct tt_named_view *v)
{
    printf("  %-12s %s", v->name, v->about);
    for (const struct tt_view_key *k = v->key; k->name; k++)
        printf("%s --%s", k == v->key ? ":" : "", k->name);
    putchar('\n');
}

static void show_views(void)
{
    puts(
        "Views (or --view VIEW), with their flags; 'report VIEW --help' explains these:");
    for (const struct tt_named_view *v = tt_views; v->name; v++)
        show_view(v);
    if (tt_layouts[0].name)
        fputs("Layouts of older profilers ('report LAYOUT --help'):", stdout);
    for (const struct tt_layout *l = tt_layouts; l->name; l++)
        printf(" %s", l->name);
    if (tt_layouts[0].name)
        putchar('\n');
}

const struct tt_command tt_command_report = {
    .name = "report",
    .synopsis = "[VIEW] [FILTERS] [--json|--csv] [-o OUT] [FILE...]",
    .about = "print recordings and profiles in many views",
    .show = show_views,
    .flags = report_flags,
    .shows_tables = 1,
    .takes_filters = 1,
    .operands = "@views @layouts @files",
    .run = run,
    .more_flags = more_flags,
    .takes_flag = takes_flag,
};
