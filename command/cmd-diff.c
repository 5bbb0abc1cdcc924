/* SPDX-License-Identifier: MIT */
/* cmd-diff.c - `tallytree diff`: two profiles side by side, or a range of a run's time and the
 * rest of it. */
#include "diff.h"

#include <string.h>

#include "command.h"
#include "complain.h"
#include "filter.h"
#include "input.h"
#include "scratch.h"
#include "show.h"

enum { KEY = 1, TREE, NORMALISE, SCALING };

static const struct tt_flag diff_flags[] = {
    {"metric", 'm', KEY, "NAME", "time ticks calls samples", "compare this metric"},
    {"tree", 0, TREE, NULL, NULL, "compare contexts, not blocks"},
    {"limit", 0, KEY, "N", "all", "show N rows, or all"},
    {"sort", 0, KEY, "COLUMN", NULL, "sort by COLUMN; -COLUMN: smallest first"},
    {"normalise", 0, NORMALISE, NULL, NULL, "scale B to the total of A"},
    {"scaling", 0, SCALING, "[HOW]", "strong weak",
     "A and B ran on different numbers of threads or ranks"},
    {"select", 0, KEY, "PATTERN", NULL, "filter both, as in `report`"},
    {"exclude", 0, KEY, "PATTERN", NULL, NULL},
    {"fold", 0, KEY, "PATTERN", NULL, NULL},
    {"centre", 0, KEY, "PATTERN", NULL, NULL},
    {"prune", 0, KEY, "WHAT", NULL, NULL},
    {"root", 0, KEY, "PATTERN", NULL, NULL},
    {"collapse", 0, KEY, "PATTERN", NULL, NULL},
    {"strand", 0, KEY, "PATTERN", NULL, NULL},
    {"time", 0, KEY, "FROM..TO", NULL, NULL},
    {NULL, 0, 0, NULL, NULL, NULL},
};

struct comparison {
    struct tt_query query;
    struct tt_diff_options options;
    struct tt_show show;
};

static int set_scaling(struct comparison *c, const char *how)
{
    static const char *const words[] = {"strong", "weak"};

    if (how && strcmp(how, "strong") != 0 && strcmp(how, "weak") != 0)
        return tt_complain_of("scaling", how, words, 2);
    c->options.scaling = how && *how == 'w' ? TT_SCALING_WEAK : TT_SCALING_STRONG;
    return 0;
}

static int take(struct comparison *c, const struct tt_flags *f, int id)
{
    if (tt_show_take(&c->show, id, f->value))
        return 0;
    if (id == NORMALISE)
        c->options.normalise = 1;
    else if (id == TREE)
        (void)tt_query_set(&c->query, "view", "tree");
    else if (id == SCALING)
        return set_scaling(c, f->value);
    else if (tt_query_set(&c->query, f->flag->name, f->value) != 0) {
        tt_complain("diff: %s", c->query.error);
        return -TT_ERR_OPTION;
    }
    return 0;
}

static int complain(const struct comparison *c, int error)
{
    if (error)
        tt_complain("diff: %s",
                    c->query.error[0] ? c->query.error : tt_error_text(error));
    return error;
}

/* Both sides are open and filtered. */
static int show(struct comparison *c, const struct tt_profile *a,
                const struct tt_profile *b)
{
    struct tt_table table;
    int error = complain(c, tt_diff(a, b, &c->query, &c->options, &table));

    error = error ?: tt_show_table(&c->show, &table, b);
    tt_table_fini(&table);
    return error;
}

static int open_side(struct comparison *c, char **path, struct tt_input *in,
                     struct tt_filtered *filtered)
{
    int error = tt_input_open(in, path, 1, TT_INPUT_RUNS);

    if (error)
        return error;
    error = tt_profile_check(&in->profile);
    if (error)
        tt_complain("%s: %s", *path, in->profile.error);
    else
        error = complain(c, tt_filter_apply(&in->profile, &c->query, filtered));
    if (error)
        tt_input_close(in);
    return error;
}

/* A range of a file's time, and the rest of it. */
static int compare_range(struct comparison *c, char **path)
{
    struct tt_filtered range = {0}, rest = {0};
    struct tt_input in;
    int error = complain(c, tt_query_turn(&c->query));

    if (error)
        return error;
    error = open_side(c, path, &in, &rest);
    if (error)
        return error;
    error = complain(c, tt_query_turn(&c->query));
    error = error ?: complain(c, tt_filter_apply(&in.profile, &c->query, &range));
    error = error ?: show(c, rest.profile, range.profile);
    tt_filter_close(&range, &tt_scratch);
    tt_filter_close(&rest, &tt_scratch);
    tt_input_close(&in);
    return error;
}

static int compare(struct comparison *c, char **paths)
{
    struct tt_filtered a = {0}, b = {0};
    struct tt_input in_a, in_b;
    int error = open_side(c, paths, &in_a, &a);

    if (error)
        return error;
    error = open_side(c, paths + 1, &in_b, &b);
    if (error)
        goto fail_b;
    error = show(c, a.profile, b.profile);
    tt_filter_close(&b, &tt_scratch);
    tt_input_close(&in_b);
fail_b:
    tt_filter_close(&a, &tt_scratch);
    tt_input_close(&in_a);
    return error;
}

static int run(int argc, char **argv)
{
    struct comparison c = {.show = {.command = "diff"}};
    struct tt_flags f;
    int status, id, error = 0;

    tt_query_init(&c.query, &tt_scratch);
    tt_command_flags(&tt_command_diff, &f, argc, argv);
    while (!error && (id = tt_command_next(&tt_command_diff, &f, &status)) > 0)
        error = take(&c, &f, id);
    if (!error && id < 0)
        goto done;
    c.options.rest = f.count == 1 && c.query.filter.count && !c.options.scaling;
    if (!error && f.count != 2 && !c.options.rest) {
        status = tt_command_wants(&tt_command_diff,
                                  "two recordings or profiles, or --time and one");
        goto done;
    }
    if (!error)
        error = c.options.rest ? compare_range(&c, argv + 1) : compare(&c, argv + 1);
    status = error ? TT_EXIT_FAILED : TT_EXIT_DONE;
done:
    tt_query_fini(&c.query);
    return status;
}

const struct tt_command tt_command_diff = {
    .name = "diff",
    .synopsis = "[FLAGS] A B\n[FLAGS] --time FROM..TO F",
    .about = "compare two profiles, and tell changes from noise",
    .details =
        "Blocks are matched by name and file, contexts by the names on their paths. If\n"
        "a side has several runs, their means are compared. The spread of runs, or of\n"
        "threads, says whether a change is more than noise.\n"
        "With one file, a range of its time is compared with the rest of the run.\n",
    .flags = diff_flags,
    .shows_tables = 1,
    .operands = "@files",
    .run = run,
};
