/* SPDX-License-Identifier: MIT */
/* cmd-check.c - `tallytree check`: tells a build whether the program has become slower.
 *
 * Compares the total and every block that mattered before.  A change within the spread of
 * runs or strands, or of samples, is noise, not a regression. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "complain.h"
#include "diff.h"
#include "input.h"
#include "pattern.h"
#include "scratch.h"
#include "show.h"

enum { METRIC = 1, MOST, LEAST, ONLY };

static const struct tt_flag check_flags[] = {
    {"max-regress", 0, MOST, "SHARE", NULL, "allow growth up to SHARE (default: 5%)"},
    {"min-share", 0, LEAST, "SHARE", NULL,
     "ignore blocks below SHARE of the total (default: 1%)"},
    {"only", 0, ONLY, "PATTERN", NULL, "check only blocks that match, not the total"},
    {"metric", 'm', METRIC, "NAME", "time ticks calls samples", "compare this metric"},
    {NULL, 0, 0, NULL, NULL, NULL},
};

struct checking {
    struct tt_query query;
    struct tt_show show;
    double most, least;
    const char *only;
    struct tt_pattern *pattern;
    struct tt_table answer;
    int regressions;
    int is_unsure; /* how much the figures of a run vary by chance is not known */
    int unknown;   /* regressions without a verdict */
    int matched;   /* blocks like `only` */
};

/* Reads "5%" or "0.05"; less than 0 if it is neither.  Refuses a number from 1 on without
 * a %: 5 would be 500 %, and let everything pass. */
static double share(const char *text, double most)
{
    char *end;
    double x = strtod(text, &end);

    if (end == text || !(x >= 0))
        return -1;
    if (strcmp(end, "%") == 0)
        x /= 100;
    else if (*end || x >= 1)
        return -1;
    return x <= most ? x : -1;
}

static int take(struct checking *c, const struct tt_flags *f, int id)
{
    double *to = id == MOST ? &c->most : &c->least;

    if (tt_show_take(&c->show, id, f->value))
        return 0;
    if (id == ONLY) {
        c->only = f->value;
    } else if (id == METRIC) {
        if (tt_query_set(&c->query, "metric", f->value) != 0) {
            tt_complain("check: %s", c->query.error);
            return -TT_ERR_OPTION;
        }
    } else if ((*to = share(f->value, id == MOST ? 1e4 : 1)) < 0) {
        tt_complain("check: '--%s' wants a share such as 5%% or 0.05%s, not '%s'",
                    f->flag->name, id == MOST ? "" : ", and 100% at most", f->value);
        return -TT_ERR_OPTION;
    }
    return 0;
}

/* ── The answer ───────────────────────────────────────────────────────────────────── */

enum column { BEFORE, THEN, CHANGE, SHARE, VERDICT, NAME, APART };

static void begin_answer(struct checking *c, const char *unit)
{
    struct tt_table *t = &c->answer;

    tt_table_init(t, "check", &tt_scratch);
    tt_table_column(t, "before", "before", unit, TT_COLUMN_AMOUNT, 0);
    tt_table_column(t, "then", "then", unit, TT_COLUMN_AMOUNT, 0);
    tt_table_column(t, "change", "change", unit, TT_COLUMN_CHANGE, 0);
    tt_table_column(t, "share", "by", "", TT_COLUMN_SHARE, 0);
    tt_table_column(t, "verdict", "", "", TT_COLUMN_TEXT, 0);
    tt_table_column(t, "name", "name", "", TT_COLUMN_TEXT, TT_COLUMN_NAME);
    tt_table_column(t, "apart", "apart", "", TT_COLUMN_TEXT, TT_COLUMN_DETAIL);
}

static uint64_t amount_in(const struct tt_table *t, size_t row, const char *key)
{
    const union tt_value *v = tt_table_value(t, row, tt_table_find(t, key));

    return v ? v->n : 0;
}

static const char *text_in(const struct tt_table *t, size_t row, const char *key)
{
    const union tt_value *v = tt_table_value(t, row, tt_table_find(t, key));

    return v ? v->text : "";
}

struct change { /* what the table says of a block or of all */
    uint64_t before, then;
    double by; /* a share of what was before: of the figures before they were rounded */
    const char *verdict, *name, *apart;
};

static struct change change_in(const struct tt_table *t, size_t row)
{
    const union tt_value *by = tt_table_value(t, row, tt_table_find(t, "change"));

    return (struct change){.before = amount_in(t, row, "total.a"),
                           .then = amount_in(t, row, "total.b"),
                           .by = by ? by->real : HUGE_VAL,
                           .verdict = text_in(t, row, "total.verdict"),
                           .name = text_in(t, row, "name"),
                           .apart = text_in(t, row, "apart")};
}

static void answer(struct checking *c, enum tt_row_role role, const struct change *of)
{
    struct tt_table *t = &c->answer;
    const int is_unknown = c->is_unsure && !*of->verdict && of->by > c->most;

    tt_table_row(t, role, 0, 0);
    tt_table_amount(t, BEFORE, of->before);
    tt_table_amount(t, THEN, of->then);
    tt_table_change(t, CHANGE, (int64_t)(of->then - of->before));
    if (isfinite(of->by))
        tt_table_real(t, SHARE, of->by);
    tt_table_string(t, VERDICT, is_unknown ? "unknown" : of->verdict);
    c->unknown += is_unknown;
    tt_table_string(t, NAME, tt_table_text(t, "%s", of->name));
    if (*of->apart)
        tt_table_string(t, APART, tt_table_text(t, "%s", of->apart));
}

/* Has it grown by more than is allowed, and by more than chance if that is known?  A new block
 * has. */
static int is_regression(const struct checking *c, const struct change *of)
{
    return of->then && of->by > c->most && strcmp(of->verdict, "noise") != 0;
}

static void check_row(struct checking *c, const struct tt_table *t, size_t row,
                      uint64_t total)
{
    struct change of = change_in(t, row);
    const uint64_t larger = of.before > of.then ? of.before : of.then;

    if (c->pattern && !tt_pattern_matches(c->pattern, of.name))
        return;
    c->matched++;
    if (!is_regression(c, &of) || (double)larger < c->least * (double)total)
        return;
    if (!*of.verdict && !c->is_unsure)
        of.verdict = "more";
    answer(c, TT_ROW_ENTRY, &of);
    c->regressions++;
}

/* Nothing to compare is not a success. */
static int check_amounts(const struct checking *c, uint64_t before, uint64_t then)
{
    if (c->pattern && !c->matched)
        tt_complain("check: no block matches '%s': nothing was compared", c->only);
    else if (!before || !then)
        tt_complain("check: %s profile has nothing to compare: its total is 0",
                    before ? "the new" : "the base");
    else
        return 0;
    return -TT_ERR_STATE;
}

/* The root has the total: its row says whether the change is noise. */
static int check_rows(struct checking *c, const struct tt_table *t)
{
    struct change all = {.by = 0, .verdict = ""};

    for (size_t i = 0; i < tt_table_rows(t); i++)
        if (strcmp(text_in(t, i, "name"), "[root]") == 0)
            all = change_in(t, i);
    for (size_t i = 0; i < tt_table_rows(t); i++)
        if (strcmp(text_in(t, i, "name"), "[root]") != 0 &&
            tt_table_row_at(t, i)->role == TT_ROW_ENTRY)
            check_row(c, t, i, all.before);
    c->regressions += !c->pattern && is_regression(c, &all);
    if (all.by <= c->most)
        all.verdict = "";
    all.name = "total";
    all.apart = "";
    answer(c, TT_ROW_TOTAL, &all);
    tt_table_note(&c->answer, "regressions", "%-s: %d by more than %.4g %%",
                  c->regressions ? "regressions" : "no regression", c->regressions,
                  c->most * 100);
    if (c->unknown)
        tt_table_note(
            &c->answer, "chance unknown",
            "unknown: times of one run do not say how much they vary by chance; "
            "merge several runs of each side, and check these");
    return check_amounts(c, all.before, all.then);
}

/* Times that were measured vary from run to run, and so do estimates of memory; only several
 * runs say by how much. */
static int is_unsure(const struct checking *c, const struct tt_profile *a,
                     const struct tt_profile *b, const struct tt_table *t)
{
    const struct tt_profile *both[] = {a, b};
    const char *unit = tt_table_column_at(t, tt_table_find(t, "total.a"))->unit;
    int varies = strcmp(unit, "ns") == 0, runs = 0;

    for (int i = 0; i < 2; i++) {
        const uint32_t m = tt_metric_find(both[i], c->query.metric);
        runs += tt_fact_number(both[i], "recordings") > 1;
        varies |= m != TT_NONE && both[i]->metric[m].flags & TT_METRIC_SPACE &&
                  tt_fact_number(both[i], TT_FACT_HEAP_RATE);
    }
    return varies && runs < 2;
}

/* Figures that mean different things have no verdict. */
static const char *find_unlike(const struct tt_table *t)
{
    for (size_t i = 0; i < t->note.count; i++)
        if (strcmp(tt_table_note_at(t, i)->kind, "unlike") == 0)
            return tt_table_note_at(t, i)->text;
    return NULL;
}

static int check_profiles(struct checking *c, const struct tt_profile *a,
                          const struct tt_profile *b)
{
    const struct tt_diff_options options = {0};
    struct tt_table table;
    int error = tt_diff(a, b, &c->query, &options, &table);
    const char *unlike = error ? NULL : find_unlike(&table);

    if (error) {
        tt_complain("check: %s",
                    c->query.error[0] ? c->query.error : tt_error_text(error));
    } else if (unlike) {
        tt_complain("check: %s; record both in the same way", unlike);
        error = -TT_ERR_OPTION;
    } else {
        c->is_unsure = is_unsure(c, a, b, &table);
        begin_answer(c,
                     tt_table_column_at(&table, tt_table_find(&table, "total.a"))->unit);
        error = check_rows(c, &table);
        error = error ?: tt_show_table(&c->show, &c->answer, b);
        tt_table_fini(&c->answer);
    }
    tt_table_fini(&table);
    return error;
}

/* ── The command ──────────────────────────────────────────────────────────────────── */

static int open_checked(char **path, struct tt_input *in)
{
    int error = tt_input_open(in, path, 1, TT_INPUT_RUNS);

    if (!error && (error = tt_profile_check(&in->profile)) != 0) {
        tt_complain("%s: %s", *path, in->profile.error);
        tt_input_close(in);
    }
    return error;
}

static int check(struct checking *c, char **paths)
{
    struct tt_input a, b;
    char reason[128];
    int error;

    if (c->only && !(c->pattern = tt_pattern_new(c->only, reason, sizeof reason))) {
        tt_complain("check: '%s': %s", c->only, reason);
        return -TT_ERR_OPTION;
    }
    error = open_checked(paths, &a);
    if (error)
        return error;
    error = open_checked(paths + 1, &b);
    if (!error) {
        error = check_profiles(c, &a.profile, &b.profile);
        tt_input_close(&b);
    }
    tt_input_close(&a);
    return error;
}

static int run(int argc, char **argv)
{
    struct checking c = {.show = {.command = "check"}, .most = 0.05, .least = 0.01};
    struct tt_flags f;
    int status, id, error = 0;

    tt_query_init(&c.query, &tt_scratch);
    (void)tt_query_set(&c.query, "limit", "all");
    tt_command_flags(&tt_command_check, &f, argc, argv);
    while (!error && (id = tt_command_next(&tt_command_check, &f, &status)) > 0)
        error = take(&c, &f, id);
    if (!error && id < 0)
        goto done;
    if (!error && f.count != 2) {
        status = tt_command_wants(&tt_command_check, "two recordings or profiles");
        goto done;
    }
    error = error ?: check(&c, argv + 1);
    status = error ? TT_EXIT_FAILED : c.regressions ? TT_EXIT_NO : TT_EXIT_DONE;
done:
    tt_pattern_free(c.pattern);
    tt_query_fini(&c.query);
    return status;
}

const struct tt_command tt_command_check = {
    .name = "check",
    .synopsis = "[FLAGS] BASE NEW",
    .about = "compare with a baseline; exit status 1: slower",
    .details =
        "Compares the total and every block with a share of it, inclusive. Exit status\n"
        "0: nothing grew by more than --max-regress; 1: something did, and by more than\n"
        "chance, if samples or several runs on each side show that; 2: the profiles\n"
        "cannot be compared, for instance if no block matches PATTERN.\n",
    .flags = check_flags,
    .shows_tables = 1,
    .operands = "@files",
    .run = run,
};
