/* SPDX-License-Identifier: MIT */
/* tdk.c - `tallytree report tdk`: a line for each statement, as TDK's coverage and profile
 * windows and their saved data have it.
 *
 * Statements are identified by file, line and the index of their first character, so two
 * on one line stay two. */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "layouts.h"
#include "sorted.h"
#include "statistics.h"
#include "table-csv.h"
#include "table-print.h"

enum flag {
    CSV = 1,
    SORT,
    UNCOVERED,
    COVERED,
    INCLUDE,
    EXCLUDE,
    DEVIATION,
    SOURCE,
    COLOR
};

const struct tt_flag tt_tdk_flags[] = {
    {"csv", 0, CSV, NULL, NULL, "as its saved data: NrCallsToCmd,Filename,..."},
    {"sort", 0, SORT, "COLUMN", "calls file line min avg max total index length heat",
     "by this column; again, or with a -, the other way"},
    {"uncovered", 0, UNCOVERED, NULL, NULL, "only statements that never ran"},
    {"covered", 0, COVERED, NULL, NULL, "only statements that ran"},
    {"include", 0, INCLUDE, "GLOB", NULL, "only files like this"},
    {"exclude-file", 0, EXCLUDE, "GLOB", NULL, "no files like this"},
    {"deviation", 0, DEVIATION, NULL, NULL, "add the deviation of times"},
    {"source", 0, SOURCE, NULL, NULL, "the files themselves, with hits for each line"},
    {"color", 0, COLOR, "[WHEN]", "auto always never",
     "its lines in shades of heat, uncovered ones green"},
    {NULL, 0, 0, NULL, NULL, NULL},
};

enum key { CALLS, FILE_NAME, LINE, MIN, AVG, MAX, TOTAL, INDEX, LENGTH, HEAT, KEYS };

static const char *const key_names[KEYS] = {"calls", "file",  "line",  "min",    "avg",
                                            "max",   "total", "index", "length", "heat"};

static const char *const csv_names[KEYS] = {
    "NrCallsToCmd", "Filename", "CmdLine",      "Min",       "Avg",
    "Max",          "Total",    "CmdCharIndex", "CmdLength", "NrCallsToCmd"};

struct statement {
    uint32_t block;
    uint64_t calls, min, max, total; /* in the unit shown */
    double deviation;
    const char *file;
};

enum { SORTS_MOST = 16, GLOBS_MOST = 32 };

struct tdk {
    const struct tt_profile *p;
    struct statement *statement;
    size_t count;
    double scale; /* from the metric's unit to the unit shown */
    const char *unit;
    int statements; /* there are statements: then procedures have no lines */
    int source, color;
    int timed, csv, only_covered, only_uncovered, deviation;
    struct {
        enum key key;
        int reversed;
    } sort[SORTS_MOST];
    int sorts;
    const char *include[GLOBS_MOST], *exclude[GLOBS_MOST];
    int includes, excludes;
};

/* ── Statements ───────────────────────────────────────────────────────────────────── */

/* TDK counts whole microseconds. */
static uint64_t shown(const struct tdk *d, uint64_t amount)
{
    return tt_whole((double)amount * d->scale);
}

static void sum_times(const struct tdk *d, struct tt_times_row *sum)
{
    const struct tt_profile *p = d->p;

    for (size_t i = 0; i < p->many_times; i++) {
        const struct tt_times_row *t = &p->times[i];
        if (t->strand == TT_NONE)
            tt_times_add(&sum[tt_block_of_edge(p, t->row)], t, NULL);
    }
}

static void sum_calls(const struct tt_profile *p, uint64_t *calls)
{
    uint32_t metric = tt_metric_find(p, "calls");
    const struct tt_metric_columns *m = metric == TT_NONE ? NULL : &p->metric[metric];

    for (uint32_t c = 0; m && c < p->contexts; c++)
        calls[tt_block_of(p, c)] += tt_self_of(m, c);
    for (uint32_t b = 0; m && m->block && b < p->blocks; b++)
        calls[b] += m->block[b].beside;
    for (uint32_t i = 0; m && i < p->arcs; i++)
        if (tt_arc_is_dropped(p, &p->arc[i]))
            calls[p->arc[i].block] += p->arc[i].calls;
}

static int is_one_of(const char *file, const char *const *globs, int count)
{
    for (int i = 0; i < count; i++)
        if (fnmatch(globs[i], file, 0) == 0)
            return 1;
    return 0;
}

static int is_wanted(const struct tdk *d, const struct statement *s)
{
    if (d->statements && d->p->block[s->block].kind != TT_KIND_STATEMENT)
        return 0;
    if (!*s->file || (d->includes && !is_one_of(s->file, d->include, d->includes)) ||
        is_one_of(s->file, d->exclude, d->excludes))
        return 0;
    return !(d->only_covered && !s->calls) && !(d->only_uncovered && s->calls);
}

static void list_statements(struct tdk *d, const struct tt_times_row *times,
                            const uint64_t *calls)
{
    for (uint32_t b = 1; b < d->p->blocks; b++)
        d->statements |= d->p->block[b].kind == TT_KIND_STATEMENT;
    for (uint32_t b = 1; b < d->p->blocks; b++) {
        const struct tt_times_row *t = &times[b];
        struct statement s = {.block = b,
                              .calls = calls[b],
                              .min = shown(d, t->min),
                              .max = shown(d, t->max),
                              .total = shown(d, t->sum),
                              .deviation = tt_deviation(t->count, t->sum, &t->square) *
                                           d->scale,
                              .file = d->p->strings + d->p->block[b].file};
        if (is_wanted(d, &s))
            d->statement[d->count++] = s;
    }
}

static double average(const struct statement *s)
{
    return s->calls ? (double)s->total / (double)s->calls : 0;
}

/* Shades from 0 to 19, of calls: a step is at least 2 calls wide. */
static uint64_t heat_step(const struct tdk *d)
{
    uint64_t most = 0;

    for (size_t i = 0; i < d->count; i++)
        if (d->statement[i].calls > most)
            most = d->statement[i].calls;
    return most / 20 + 1 > 2 ? most / 20 + 1 : 2;
}

/* ── Order ────────────────────────────────────────────────────────────────────────── */

static const struct tdk *sorting; /* qsort has no argument to pass it by */

/* As a first click on the column's head sorts: figures descending, all else ascending. */
static int compare_by(enum key key, const struct statement *a, const struct statement *b)
{
    const struct tt_block_row *x = &sorting->p->block[a->block];
    const struct tt_block_row *y = &sorting->p->block[b->block];

    switch (key) {
    case CALLS:
    case HEAT:
        return TT_ORDER(b->calls, a->calls);
    case FILE_NAME:
        return strcmp(a->file, b->file);
    case LINE:
        return TT_ORDER(x->line, y->line);
    case MIN:
        return TT_ORDER(b->min, a->min);
    case AVG:
        return TT_ORDER(average(b), average(a));
    case MAX:
        return TT_ORDER(b->max, a->max);
    case TOTAL:
        return TT_ORDER(b->total, a->total);
    case INDEX:
        return TT_ORDER(x->offset, y->offset);
    case LENGTH:
        return TT_ORDER(x->length, y->length);
    case KEYS:
        break;
    }
    return 0;
}

/* The keys that were given, then calls, file, line and index. */
static int compare(const void *x, const void *y)
{
    static const enum key rest[] = {CALLS, FILE_NAME, LINE, INDEX};
    const struct statement *a = x, *b = y;
    int result = 0;

    for (int i = 0; !result && i < sorting->sorts; i++) {
        result = compare_by(sorting->sort[i].key, a, b);
        if (sorting->sort[i].reversed)
            result = -result;
    }
    for (size_t i = 0; !result && i < sizeof rest / sizeof *rest; i++)
        result = compare_by(rest[i], a, b);
    return result ?: TT_ORDER(a->block, b->block);
}

/* ── Output ───────────────────────────────────────────────────────────────────────── */

static void put_csv(const struct tdk *d, struct tt_text *out)
{
    tt_text_printf(out,
                   "NrCallsToCmd,Filename,CmdLine,Min,Avg,Max,Total,CmdCharIndex,"
                   "CmdLength%s\n",
                   d->deviation ? ",Deviation" : "");
    for (size_t i = 0; i < d->count; i++) {
        const struct statement *s = &d->statement[i];
        const struct tt_block_row *b = &d->p->block[s->block];
        tt_text_printf(out, "%llu,", (unsigned long long)s->calls);
        tt_text_csv_field(out, s->file);
        if (!d->timed)
            tt_text_printf(out, ",%u,,,,", b->line);
        else if (!s->calls)
            tt_text_printf(out, ",%u,0,0,0,0", b->line);
        else
            tt_text_printf(out, ",%u,%llu,%.1f,%llu,%llu", b->line,
                           (unsigned long long)s->min, average(s),
                           (unsigned long long)s->max, (unsigned long long)s->total);
        tt_text_printf(out, ",%llu,%u", (unsigned long long)b->offset, b->length);
        if (d->deviation)
            tt_text_printf(out, ",%.3f", s->deviation);
        tt_text_put(out, "\n");
    }
}

enum column {
    C_CALLS,
    C_MIN,
    C_AVG,
    C_MAX,
    C_TOTAL,
    C_DEVIATION,
    C_HEAT,
    C_LINE,
    C_INDEX,
    C_LENGTH,
    C_FILE,
    C_COVERED
};

static void put_row(const struct tdk *d, struct tt_table *t, const struct statement *s,
                    uint64_t step)
{
    const struct tt_block_row *b = &d->p->block[s->block];

    tt_table_row(t, TT_ROW_ENTRY, 0, 0);
    tt_table_amount(t, C_CALLS, s->calls);
    if (d->timed && s->calls) {
        tt_table_amount(t, C_MIN, s->min);
        tt_table_real(t, C_AVG, average(s));
        tt_table_amount(t, C_MAX, s->max);
        tt_table_amount(t, C_TOTAL, s->total);
    }
    if (d->timed && s->calls && d->deviation)
        tt_table_real(t, C_DEVIATION, s->deviation);
    if (s->calls)
        tt_table_amount(t, C_HEAT, s->calls / step);
    else
        tt_table_string(t, C_COVERED, "uncovered");
    tt_table_amount(t, C_LINE, b->line);
    tt_table_amount(t, C_INDEX, b->offset);
    tt_table_amount(t, C_LENGTH, b->length);
    tt_table_string(t, C_FILE, s->file);
}

static void put_table(const struct tdk *d, struct tt_text *out)
{
    uint64_t step = heat_step(d), covered = 0;
    struct tt_table t;

    tt_table_init(&t, "tdk", d->p->memory);
    tt_table_column(&t, "calls", "calls", "", TT_COLUMN_AMOUNT, 0);
    tt_table_column(&t, "min", "min", d->unit, TT_COLUMN_AMOUNT, 0);
    tt_table_column(&t, "avg", "avg", d->unit, TT_COLUMN_REAL, 0);
    tt_table_column(&t, "max", "max", d->unit, TT_COLUMN_AMOUNT, 0);
    tt_table_column(&t, "total", "total", d->unit, TT_COLUMN_AMOUNT, 0);
    tt_table_column(&t, "deviation", "deviation", d->unit, TT_COLUMN_REAL, 0);
    tt_table_column(&t, "heat", "heat", "", TT_COLUMN_AMOUNT, 0);
    tt_table_column(&t, "line", "line", "", TT_COLUMN_AMOUNT, 0);
    tt_table_column(&t, "index", "index", "", TT_COLUMN_AMOUNT, 0);
    tt_table_column(&t, "length", "length", "", TT_COLUMN_AMOUNT, 0);
    tt_table_column(&t, "file", "file", "", TT_COLUMN_TEXT, TT_COLUMN_NAME);
    tt_table_column(&t, "covered", "", "", TT_COLUMN_TEXT, 0);
    for (size_t i = 0; i < d->count; i++) {
        put_row(d, &t, &d->statement[i], step);
        covered += d->statement[i].calls != 0;
    }
    tt_table_note(&t, "covered", "%llu of %zu statements ran",
                  (unsigned long long)covered, d->count);
    tt_text_table(out, &t, 0, 0);
    tt_table_fini(&t);
}

/* ── Source ───────────────────────────────────────────────────────────────────────── */

static int by_place(const void *x, const void *y)
{
    const struct statement *a = x, *b = y;
    const struct tt_block_row *p = &sorting->p->block[a->block],
                              *q = &sorting->p->block[b->block];

    return strcmp(a->file, b->file) ?: TT_ORDER(p->line, q->line)
           ?: TT_ORDER(p->offset, q->offset);
}

/* TDK's colours: green if it never ran, the others from orange to black. */
static void put_color(struct tt_text *out, const struct statement *s, uint64_t step)
{
    unsigned left = s->calls
                        ? 19 - (unsigned)(s->calls / step > 19 ? 19 : s->calls / step)
                        : 0;

    if (!s->calls)
        tt_text_put(out, "\033[38;2;89;198;17m");
    else
        tt_text_printf(out, "\033[48;2;%u;%u;%um\033[38;2;255;255;255m", 249 * left / 19,
                       171 * left / 19, 33 * left / 19);
}

/* A source line, with the calls and the time of the first statement on it. */
static void put_line(const struct tdk *d, struct tt_text *out, unsigned number,
                     const struct statement *s, uint64_t step, const char *text)
{
    char figures[64] = "";

    if (s && d->timed && s->calls)
        (void)snprintf(figures, sizeof figures, "%9llu %10llu",
                       (unsigned long long)s->calls, (unsigned long long)s->total);
    else if (s)
        (void)snprintf(figures, sizeof figures, "%9llu %10s",
                       (unsigned long long)s->calls, "");
    if (s && d->color)
        put_color(out, s, step);
    tt_text_printf(out, "%20s %6u  %s", figures, number, text);
    tt_text_put(out, s && d->color ? "\033[0m\n" : "\n");
}

/* Up to the first statement of another file. */
static size_t put_source(const struct tdk *d, struct tt_text *out, size_t i,
                         uint64_t step)
{
    const char *file = d->statement[i].file;
    FILE *in = fopen(file, "re");
    char *line = NULL;
    size_t room = 0;
    unsigned number = 0;
    ssize_t length;

    tt_text_printf(out, "%s%s\n", file, in ? "" : ": it is not here");
    while (in && (length = getline(&line, &room, in)) >= 0) {
        const struct statement *s = NULL;
        number++;
        if (length && line[length - 1] == '\n')
            line[length - 1] = '\0';
        while (i < d->count && strcmp(d->statement[i].file, file) == 0 &&
               d->p->block[d->statement[i].block].line <= number) {
            if (!s && d->p->block[d->statement[i].block].line == number)
                s = &d->statement[i];
            i++;
        }
        put_line(d, out, number, s, step, line);
    }
    free(line);
    if (in)
        (void)fclose(in);
    while (i < d->count && strcmp(d->statement[i].file, file) == 0)
        i++;
    return i;
}

static void put_sources(struct tdk *d, struct tt_text *out)
{
    uint64_t step = heat_step(d);
    size_t i = 0;

    qsort(d->statement, d->count, sizeof *d->statement, by_place);
    tt_text_printf(out, "%9s %10s %6s\n", "calls", d->timed ? "total" : "", "line");
    while (i < d->count)
        i = put_source(d, out, i, step);
}

/* ── The whole ────────────────────────────────────────────────────────────────────── */

/* A column that is given again is reversed. */
static int add_sort(struct tdk *d, const char *value)
{
    int reversed = *value == '-';
    enum key key = CALLS;

    while (key < KEYS && strcmp(value + reversed, key_names[key]) != 0 &&
           strcmp(value + reversed, csv_names[key]) != 0)
        key++;
    if (key == KEYS || d->sorts == SORTS_MOST)
        return -TT_ERR_OPTION;
    for (int i = 0; i < d->sorts; i++)
        if (d->sort[i].key == key) {
            d->sort[i].reversed ^= 1;
            return 0;
        }
    d->sort[d->sorts].key = key;
    d->sort[d->sorts++].reversed = reversed;
    return 0;
}

/* Without a value: always, as it was asked for. */
static int wants_color(const char *when)
{
    if (!when || strcmp(when, "always") == 0)
        return 1;
    return strcmp(when, "auto") == 0 && isatty(STDOUT_FILENO);
}

static int is_moment(const char *when)
{
    return !when || strcmp(when, "auto") == 0 || strcmp(when, "always") == 0 ||
           strcmp(when, "never") == 0;
}

static int take_flag(struct tdk *d, enum flag flag, const char *value)
{
    switch (flag) {
    case CSV:
        d->csv = 1;
        return 0;
    case SORT:
        return add_sort(d, value);
    case UNCOVERED:
        d->only_uncovered = 1;
        return 0;
    case COVERED:
        d->only_covered = 1;
        return 0;
    case INCLUDE:
        if (d->includes == GLOBS_MOST)
            return -TT_ERR_OPTION;
        d->include[d->includes++] = value;
        return 0;
    case EXCLUDE:
        if (d->excludes == GLOBS_MOST)
            return -TT_ERR_OPTION;
        d->exclude[d->excludes++] = value;
        return 0;
    case DEVIATION:
        d->deviation = 1;
        return 0;
    case SOURCE:
        d->source = 1;
        return 0;
    case COLOR:
        d->color = wants_color(value);
        return is_moment(value) ? 0 : -TT_ERR_OPTION;
    }
    return 0;
}

static int take_flags(struct tdk *d, int argc, char **argv, char *error, size_t size)
{
    struct tt_flags f;
    int id;

    tt_flags_init(&f, argc, argv, tt_tdk_flags);
    while ((id = tt_flags_next(&f)) > 0)
        if (take_flag(d, (enum flag)id, f.value) != 0) {
            (void)snprintf(error, size,
                           id == SORT
                               ? "there is no column '%s'; there are calls, file, line, "
                                 "min, avg, max, total, index, length and heat"
                           : id == COLOR ? "'%s' is none of auto, always and never"
                                         : "too many patterns: '%s'",
                           f.value);
            return -TT_ERR_OPTION;
        }
    if (id < 0)
        (void)snprintf(error, size, "%s", f.error);
    return id;
}

static void choose_unit(struct tdk *d)
{
    uint32_t m = tt_metric_find(d->p, "time");
    int in_ns = m != TT_NONE && strcmp(d->p->metric[m].unit, "ns") == 0;

    d->timed = d->p->many_times > 0;
    d->scale = in_ns ? 1e-3 : 1;
    d->unit = in_ns ? "µs" : m == TT_NONE ? "" : d->p->metric[m].unit;
}

int tt_report_tdk(const struct tt_profile *p, int argc, char **argv, struct tt_text *out,
                  char *error, size_t size)
{
    struct tdk d = {.p = p};
    struct tt_times_row *times;
    uint64_t *calls;
    int failed = take_flags(&d, argc, argv, error, size);

    if (failed)
        return failed;
    choose_unit(&d);
    times = tt_memory_get(p->memory, p->blocks * sizeof *times);
    calls = tt_memory_get(p->memory, p->blocks * sizeof *calls);
    d.statement = tt_memory_get(p->memory, p->blocks * sizeof *d.statement);
    if (times && calls && d.statement) {
        sum_times(&d, times);
        sum_calls(p, calls);
        list_statements(&d, times, calls);
        sorting = &d;
        qsort(d.statement, d.count, sizeof *d.statement, compare);
        if (d.source)
            put_sources(&d, out);
        else if (d.csv)
            put_csv(&d, out);
        else
            put_table(&d, out);
    } else {
        failed = -TT_ERR_MEMORY;
    }
    tt_memory_put(p->memory, d.statement);
    tt_memory_put(p->memory, calls);
    tt_memory_put(p->memory, times);
    return failed;
}
