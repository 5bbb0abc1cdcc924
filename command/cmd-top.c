/* SPDX-License-Identifier: MIT */
/* cmd-top.c - `tallytree top`: a recording while it is written, in the terminal.
 *
 *      last ──── now          two readings of the recording (live-snapshot.h), filtered alike
 *          └ now %            the growth in between, as views have it (profile/since.c)
 *
 * Every figure is one of a view, as `tallytree report` shows it.  If the recording cannot
 * be read once, because it is being replaced, the picture before it is kept, and the
 * reason is shown.  After the recording has ended, only the totals are shown. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmd-top.h"
#include "command.h"
#include "complain.h"
#include "filters.h"
#include "read-listing.h"
#include "scratch.h"
#include "table-print.h"
#include "top-screen.h"
#include "view.h"
#include "views.h"

enum {
    KEY = TT_FILTER_KEY,
    INTERVAL = 1,
    LOOKS,
    PID,
    MACHINE,
    SORT,
    VIEW,
    SOURCE,
    SYMBOLS
};

static const struct tt_flag top_flags[] = {
    {"interval", 'i', INTERVAL, "S", NULL, "refresh every S seconds (default: 1)"},
    {"looks", 'n', LOOKS, "N", NULL, "print N refreshes, then exit"},
    {"pid", 'p', PID, "PID", NULL, "read the recording of this process"},
    {"all", 'a', MACHINE, NULL, NULL, "record the whole machine meanwhile, at 100 Hz"},
    {"all-cpus", 0, MACHINE, NULL, NULL, NULL}, /* as perf has it */
    {"sort", 0, SORT, "COLUMN", "now self inclusive calls",
     "sort by COLUMN, largest first"},
    {"view", 0, VIEW, "VIEW", "@views", "flat (default), tree, strands, or another"},
    {"block", 0, KEY, "PATTERN", NULL, "the functions that 'source' and 'assembly' show"},
    {"source", 0, SOURCE, "DIR", "@files", "look for source text here"},
    {"symbols", 0, SYMBOLS, "DIR", "@files", "look for the files that ran here"},
    {"limit", 0, KEY, "N", "all", "show N rows, or all"},
    {"depth", 0, KEY, "N", "all", "show N levels, or all"},
    {"threshold", 0, KEY, "SHARE", NULL, "combine rows below SHARE, such as 0.5%"},
    {NULL, 0, 0, NULL, NULL, NULL},
};

const char *const tt_watch_views[] = {"flat", "tree", "strands", NULL};

/* ── Readings ─────────────────────────────────────────────────────────────────────── */

static void forget(struct tt_live_snapshot **m)
{
    tt_live_snapshot_free(*m);
    *m = NULL;
}

/* A recording that has ended is not read again until another one replaces it. */
static int is_as_it_was(struct tt_watch *t)
{
    struct stat s;
    int is_same;

    if (t->paths != 1 || stat(t->path[0], &s) != 0 || !S_ISREG(s.st_mode))
        return 0;
    is_same = s.st_ino == t->read.st_ino && s.st_dev == t->read.st_dev &&
              s.st_size == t->read.st_size &&
              s.st_mtim.tv_sec == t->read.st_mtim.tv_sec &&
              s.st_mtim.tv_nsec == t->read.st_mtim.tv_nsec;
    t->read = s;
    return is_same && t->now && t->now->state == TT_LIVE_SNAPSHOT_ENDED;
}

int tt_watch_read(struct tt_watch *t)
{
    struct tt_live_snapshot *m;

    if (is_as_it_was(t))
        return 0;
    m = tt_live_snapshot_read(t->path, t->paths, &t->names);
    if (!m && t->now && tt_live_snapshot_is_gone(&t->now->in.profile)) {
        t->now->state = TT_LIVE_SNAPSHOT_GONE; /* and its recording with it */
        return 0;
    }
    if (!m)
        return -TT_ERR_FILE;
    if (tt_watched_machine_is_gone(&t->machine))
        m->state = TT_LIVE_SNAPSHOT_GONE;
    forget(&t->last);
    t->last = t->now;
    t->now = m;
    if (t->listing)
        tt_read_listing_refresh(t->listing);
    if (t->last && !tt_live_snapshot_is_of(m, t->last)) { /* another run */
        forget(&t->last);
        tt_read_listing_free(t->listing);
        t->listing = NULL;
    }
    return 0;
}

/* ── The query ────────────────────────────────────────────────────────────────────── */

static int complain_of(const struct tt_query *q, int error)
{
    if (error)
        tt_complain("top: %s", error == -TT_ERR_OPTION && q->error[0]
                                   ? q->error
                                   : tt_error_text(error));
    return error;
}

static int set(struct tt_query *q, const char *key, const char *value)
{
    return value && *value ? complain_of(q, tt_query_set(q, key, value)) : 0;
}

static int is_since_view(const struct tt_watch *t)
{
    for (int i = 0; tt_watch_views[i]; i++)
        if (strcmp(t->view, tt_watch_views[i]) == 0)
            return 1;
    return 0;
}

/* Returns the reading before this one; NULL if nothing can have changed, or the view does
 * not show growth. */
static struct tt_live_snapshot *moment_before(const struct tt_watch *t)
{
    return t->now->state == TT_LIVE_SNAPSHOT_RUNNING && is_since_view(t) ? t->last : NULL;
}

const char *tt_watch_sort(const struct tt_watch *t)
{
    const int is_strands = strcmp(t->view, "strands") == 0;
    int is_now = strcmp(t->sort, "now") == 0, is_rate = strstr(t->sort, "_rate") != NULL;

    if (is_now || is_rate) {
        if (!moment_before(t))
            return is_rate && *t->sort == 'i' && !is_strands && is_since_view(t)
                       ? "inclusive"
                       : NULL;
        if (is_rate && !is_strands)
            return t->sort;
        return strcmp(t->view, "tree") == 0 ? "inclusive_rate" : "self_rate";
    }
    if (strcmp(t->sort, "inclusive") == 0 && is_strands)
        return NULL;
    return t->sort;
}

/* Complains. */
static int make_query(const struct tt_watch *t, struct tt_query *q)
{
    const struct tt_watch_flag *g = t->given.item;
    int error = 0;

    tt_query_init(q, &tt_scratch);
    for (size_t i = 0; !error && i < t->given.count; i++)
        error = tt_filter_take(q, "top", t->clean, g[i].flag, g[i].value);
    error = error ?: set(q, "metric", t->metric);
    for (int i = 0; !error && i < 3; i++)
        error = set(q, "strand", t->strand.filter[i]);
    error = error ?: set(q, "select", t->pattern);
    error = error ?: set(q, "block", t->block);
    error = error ?: set(q, "view", t->view);
    return error ?: set(q, "sort", tt_watch_sort(t));
}

/* The lines and instructions of functions are read from the files that run. */
static int open_listing(struct tt_watch *t)
{
    struct tt_symbols_options options = t->names.options;

    if (t->listing)
        return 0;
    tt_names_ask(&options, &t->now->in.profile);
    t->listing = tt_read_listing_new(&options, &t->source);
    if (t->listing)
        return 0;
    tt_complain("no memory");
    return -TT_ERR_MEMORY;
}

int tt_watch_look(struct tt_watch *t, struct tt_query *q, struct tt_table *table)
{
    struct tt_live_snapshot *before = moment_before(t);
    int error = make_query(t, q);

    tt_table_init(table, "", &tt_scratch);
    error = error ?: open_listing(t);
    if (error)
        return error;
    q->listing = tt_read_listing_of(t->listing);
    error = tt_live_snapshot_filter(t->now, q, t->filters);
    if (!error && before)
        error = tt_live_snapshot_filter(before, q, t->filters);
    if (!error && before) {
        q->since = before->filtered.profile;
        q->seconds = t->now->time - before->time;
    }
    error = error ?: tt_view(t->now->filtered.profile, q, table);
    return complain_of(q, error);
}

/* ── One line about it ────────────────────────────────────────────────────────────── */

/* Returns how long the run has lasted; 0: unknown. */
static double run_seconds(const struct tt_live_snapshot *m)
{
    const struct tt_profile *p = &m->in.profile;
    uint64_t lasted = tt_fact_number(p, "lasted"), started = tt_fact_number(p, "started");
    struct timespec t;
    double elapsed;

    if (m->state != TT_LIVE_SNAPSHOT_RUNNING || !started)
        return (double)lasted / 1e9;
    (void)clock_gettime(CLOCK_REALTIME, &t);
    elapsed = (double)t.tv_sec + (double)t.tv_nsec / 1e9 - (double)started / 1e9;
    return elapsed > 0 ? elapsed : 0;
}

void tt_watch_state(const struct tt_watch *t, struct tt_text *out)
{
    static const char *const states[] = {"running", "ended", "gone before it ended"};
    const struct tt_profile *p = &t->now->in.profile;
    const char *program = tt_profile_program(p);
    uint64_t open = tt_fact_number(p, "open"), all = tt_fact_number(p, "recordings");
    double seconds = run_seconds(t->now);

    tt_text_put(out, "tallytree top  ");
    (void)tt_text_show(out, program && *program ? program : t->path[0], SIZE_MAX);
    tt_text_printf(out, "  %s", states[t->now->state]);
    if (t->now->state == TT_LIVE_SNAPSHOT_RUNNING && open < all)
        tt_text_printf(out, " %llu of %llu", (unsigned long long)open,
                       (unsigned long long)all);
    if (seconds > 0)
        tt_text_printf(out, "  %.1f s", seconds);
    tt_text_printf(out, "  %u strand%s", p->strands, p->strands == 1 ? "" : "s");
}

/* ── Without a terminal ───────────────────────────────────────────────────────────── */

static int print_text(struct tt_watch *t, const struct tt_table *table, int is_first)
{
    struct tt_text text;
    uint32_t width;
    int color, error = tt_show_terminal(&t->show, &width, &color);

    if (error)
        return error;
    tt_text_init(&text, &tt_scratch);
    tt_text_put(&text, is_first ? "" : "\n");
    tt_watch_state(t, &text);
    tt_text_put(&text, "\n\n");
    tt_text_table(&text, table, width, color);
    error = tt_show_text(&t->show, &text);
    tt_text_fini(&text);
    return error;
}

static int print_look(struct tt_watch *t, int is_first)
{
    struct tt_table table;
    struct tt_query q;
    int error = tt_watch_look(t, &q, &table);

    if (!error)
        error = t->show.form == TT_FORM_TEXT
                    ? print_text(t, &table, is_first)
                    : tt_show_table(&t->show, &table, t->now->filtered.profile);
    tt_table_fini(&table);
    tt_query_fini(&q);
    return error;
}

static void wait_for_next(const struct tt_watch *t)
{
    double left = t->now->time + t->interval - tt_live_snapshot_clock();
    struct timespec wait;

    if (left <= 0)
        return;
    wait.tv_sec = (time_t)left;
    wait.tv_nsec = (long)((left - (double)wait.tv_sec) * 1e9);
    while (nanosleep(&wait, &wait) != 0 && errno == EINTR)
        ;
}

/* Has the reader of our output closed it? */
static int is_unread(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO};

    return poll(&out, 1, 0) > 0 && (out.revents & (POLLERR | POLLNVAL));
}

static int print_looks(struct tt_watch *t)
{
    int error = print_look(t, 1);

    for (unsigned long i = 1; !error && i != t->looks; i++) {
        if (t->now->state != TT_LIVE_SNAPSHOT_RUNNING || (!t->show.out && is_unread()))
            break;
        wait_for_next(t);
        error = tt_watch_read(t);
        error = error ?: print_look(t, 0);
    }
    return error;
}

/* ── The command ──────────────────────────────────────────────────────────────────── */

static int take_interval(struct tt_watch *t, const char *value)
{
    char *end;

    t->interval = strtod(value, &end);
    if (end != value && !*end && t->interval >= 0.05 && t->interval <= 86400)
        return 0;
    tt_complain("top: '--interval' wants seconds from 0.05 to 86400, not '%s'", value);
    return -TT_ERR_OPTION;
}

static int take_given(struct tt_watch *t, const struct tt_flags *f)
{
    if (tt_vector_push(&t->given, &(struct tt_watch_flag){f->flag, f->value}) != 0) {
        tt_complain("no memory");
        return -TT_ERR_MEMORY;
    }
    t->clean |= f->flag->id == TT_FILTER_CLEAN;
    return 0;
}

static int take_flag(struct tt_watch *t, int id, const struct tt_flags *f)
{
    uint64_t looks;
    int error;

    switch (id) {
    case INTERVAL:
        return take_interval(t, f->value);
    case LOOKS:
        error = tt_command_number(&tt_command_top, f, "a number from 1 to 1000000000", 1,
                                  1000000000, &looks);
        t->looks = (unsigned long)looks;
        return error;
    case PID:
        return tt_command_process(&tt_command_top, f, &t->pid);
    case MACHINE:
        t->is_machine = 1;
        return 0;
    case SORT:
        t->sort = f->value;
        return 0;
    case VIEW:
        t->view = f->value;
        return 0;
    case SOURCE:
        return tt_source_folders_add(&t->source, f->value);
    case SYMBOLS:
        return tt_names_folder(&t->names, f->value);
    default:
        return tt_show_take(&t->show, id, f->value) ? 0 : take_given(t, f);
    }
}

/* Finds the recording to read. */
static int find_path(struct tt_watch *t, int count, char **operand)
{
    if (t->pid || t->is_machine ? count != 0 || (t->pid && t->is_machine) : count < 1) {
        (void)tt_command_wants(&tt_command_top, "a recording, or -p PID, or -a");
        return -TT_ERR_OPTION;
    }
    if (t->is_machine) /* it is not there yet */
        return 0;
    t->path = operand;
    t->paths = count;
    if (!t->pid)
        return 0;
    t->path = t->found_path;
    t->paths = 1;
    t->found_path[0] = t->found;
    return tt_live_snapshot_find(t->pid, t->found, sizeof t->found);
}

static int is_for_screen(const struct tt_watch *t)
{
    const char *terminal = getenv("TERM");

    return isatty(STDOUT_FILENO) && !t->looks && !t->show.out &&
           t->show.form == TT_FORM_TEXT && terminal && strcmp(terminal, "dumb") != 0;
}

/* Refuses flags that the view ignores.  On the screen, another view may show them. */
static int check_flags(const struct tt_watch *t)
{
    const struct tt_named_view *view = tt_view_named(t->view);
    const struct tt_watch_flag *g = t->given.item;

    for (size_t i = 0; view && !is_for_screen(t) && i < t->given.count; i++)
        if (g[i].flag->id == KEY && !tt_view_takes(view, g[i].flag->name))
            return tt_filter_refuse("top", "view", t->view, g[i].flag);
    return 0;
}

/* Is the query valid?  Checked before the screen is opened. */
static int check(struct tt_watch *t)
{
    struct tt_query q;
    uint32_t width;
    int error = make_query(t, &q);

    error = error ?: check_flags(t);
    error = error ?: complain_of(&q, tt_query_check(&q));
    tt_query_fini(&q);
    return error ?: tt_show_terminal(&t->show, &width, &t->color);
}

/* Its first reading is of the first interval. */
static int start_machine(struct tt_watch *t)
{
    const double seconds = t->interval;
    const struct timespec wait = {(time_t)seconds,
                                  (long)((seconds - (double)(time_t)seconds) * 1e9)};
    int error = tt_watch_machine(&t->machine);

    if (error)
        return error;
    t->found_path[0] = t->machine.recording;
    t->path = t->found_path;
    t->paths = 1;
    error = tt_names_add(&t->names, t->machine.files);
    if (!error)
        (void)nanosleep(&wait, NULL);
    return error;
}

/* A refresh may not wait for names, but what is printed first has all of them. */
enum { NAMES_WITHIN = 200 }; /* ms */

static int show(struct tt_watch *t)
{
    const int is_screen = is_for_screen(t);
    int error;

    if (is_screen)
        tt_known_names_wait(t->names.known, NAMES_WITHIN);
    error = tt_watch_read(t);
    tt_known_names_wait(t->names.known, NAMES_WITHIN);
    error = error ?: check(t);
    if (!error)
        error = is_screen ? tt_watch_screen(t) : print_looks(t);
    return error;
}

static int run_top(struct tt_watch *t)
{
    int error = 0;

    t->names.known = tt_known_names_new();
    if (!t->names.known) {
        tt_complain("no memory");
        return -TT_ERR_MEMORY;
    }
    if (t->is_machine)
        error = start_machine(t);
    error = error ?: show(t);
    tt_unwatch_machine(&t->machine);
    forget(&t->last);
    forget(&t->now);
    tt_read_listing_free(t->listing);
    tt_known_names_free(t->names.known);
    return error;
}

static int run(int argc, char **argv)
{
    struct tt_watch t = {.interval = 1,
                         .view = "flat",
                         .sort = "now",
                         .filters = 1,
                         .show = {.command = "top"}};
    struct tt_flags f;
    int id, status, error = 0;

    tt_vector_init(&t.given, NULL, sizeof(struct tt_watch_flag));
    tt_command_flags(&tt_command_top, &f, argc, argv);
    while (!error && (id = tt_command_next(&tt_command_top, &f, &status)) > 0)
        error = take_flag(&t, id, &f);
    if (!error && id == 0) {
        error = find_path(&t, f.count, argv + 1);
        status = error || run_top(&t) ? TT_EXIT_FAILED : TT_EXIT_DONE;
    }
    tt_vector_fini(&t.given);
    tt_names_fini(&t.names);
    return error ? TT_EXIT_FAILED : status;
}

const struct tt_command tt_command_top = {
    .name = "top",
    .synopsis = "[FLAGS] [FILTERS] RECORDING...\n[FLAGS] [FILTERS] -p PID\n[FLAGS] "
                "[FILTERS] -a",
    .about = "watch a recording while it is written, or the machine",
    .details =
        "Keys: q quit; n, N sort by what is new, self or inclusive; s, i, c by self,\n"
        "inclusive, calls; v view; m metric; [ ] strand; / filter; space pause;\n"
        "arrows, page up, page down, home, end: choose a row; return: the callers and\n"
        "callees of its function, or the functions of its process; escape: back.\n",
    .flags = top_flags,
    .shows_tables = 1,
    .takes_filters = 1,
    .operands = "@files",
    .run = run,
};
