/* SPDX-License-Identifier: MIT */
/* report-layout.c - reports that are files of other tools, as formats to write: `export`
 * writes what `report` prints. */
#include "report-layout.h"

#include <stdio.h>

#include "layouts.h"
#include "scratch.h"
#include "table-csv.h"
#include "table-json.h"
#include "table-print.h"
#include "view.h"

static int put_text(struct tt_text *text, int error, struct tt_writer *w)
{
    if (!error && text->failed)
        error = -TT_ERR_MEMORY;
    if (!error)
        tt_put_bytes(w, text->bytes.item, text->bytes.count);
    tt_text_fini(text);
    return error;
}

static int write_layout(struct tt_export *e, struct tt_writer *w,
                        tt_report_function *report, char *name, char *flag)
{
    char *argv[] = {name, flag, NULL};
    struct tt_text text;

    tt_text_init(&text, &tt_scratch);
    return put_text(&text, report(e->profile, 2, argv, &text, e->error, sizeof e->error),
                    w);
}

static int write_ghc(struct tt_export *e, struct tt_writer *w)
{
    char name[] = "ghc", flag[] = "-pj";

    return write_layout(e, w, tt_report_ghc, name, flag);
}

static int has_files(const struct tt_profile *p)
{
    for (uint32_t b = 1; b < p->blocks; b++)
        if (p->block[b].file)
            return 1;
    return 0;
}

static int write_tdk(struct tt_export *e, struct tt_writer *w)
{
    char name[] = "tdk", flag[] = "--csv";

    if (!has_files(e->profile)) {
        (void)snprintf(e->error, sizeof e->error,
                       "there are no statements in it, nor functions with a file: TDK's "
                       "format has nothing else");
        return -TT_ERR_OPTION;
    }
    return write_layout(e, w, tt_report_tdk, name, flag);
}

/* All of the tree, under the keys of its view. */
static int write_tree(struct tt_export *e, struct tt_writer *w, int as_json)
{
    struct tt_query q;
    struct tt_table t;
    struct tt_text text;
    int error;

    tt_query_init(&q, &tt_scratch);
    tt_text_init(&text, &tt_scratch);
    error = tt_query_set(&q, "view", "tree");
    error = error ?: tt_query_set(&q, "limit", "all");
    error = error ?: tt_query_set(&q, "threshold", "0");
    if (!error && (e->metric != TT_NONE || e->profile->metrics > 1))
        error = tt_query_set(&q, "metric",
                             e->metric == TT_NONE ? "*"
                                                  : e->profile->metric[e->metric].name);
    if (!error && (error = tt_view(e->profile, &q, &t)) == 0) {
        as_json ? tt_text_json(&text, &t, e->profile) : tt_text_csv(&text, &t);
        tt_table_fini(&t);
    }
    if (error)
        (void)snprintf(e->error, sizeof e->error, "%s", q.error);
    tt_query_fini(&q);
    return put_text(&text, error, w);
}

static int write_json(struct tt_export *e, struct tt_writer *w)
{
    return write_tree(e, w, 1);
}

static int write_csv(struct tt_export *e, struct tt_writer *w)
{
    return write_tree(e, w, 0);
}

const struct tt_format tt_format_ghc_json = {
    .name = "ghc",
    .about = "GHC's time profile as JSON (-pj)",
    .write = write_ghc,
};
const struct tt_format tt_format_tdk_csv = {
    .name = "tdk",
    .about = "the data that TDK saves",
    .write = write_tdk,
};
const struct tt_format tt_format_json_tree = {
    .name = "json",
    .about = "the tree with all metrics, as `report tree --json` prints it",
    .write = write_json,
};
const struct tt_format tt_format_csv_tree = {
    .name = "csv",
    .about = "the tree with all metrics, as `report tree --csv` prints it",
    .write = write_csv,
};
