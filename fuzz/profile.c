/* SPDX-License-Identifier: MIT */
/* profile.c - whatever bytes a profile consists of, opening it ends in a profile or in an
 * error, and everything that is done with one stays within it. */
#include <stdlib.h>
#include <string.h>

#include "add-profile.h"
#include "builder.h"
#include "diff.h"
#include "filter.h"
#include "finish.h"
#include "formats.h"
#include "growth.h"
#include "layouts.h"
#include "summary.h"
#include "swallow.h"
#include "table-json.h"
#include "table-print.h"
#include "view.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_CONTEXTS = 2000 }; /* larger ones only take longer */

static void view(const struct tt_profile *p, const char *text)
{
    struct tt_text out;
    struct tt_query q;
    struct tt_table t;

    tt_query_init(&q, NULL);
    tt_text_init(&out, NULL);
    q.since = p;
    if (tt_query_parse(&q, text) == 0) {
        if (tt_view(p, &q, &t) == 0) {
            tt_text_table(&out, &t, 80, 0);
            tt_text_json(&out, &t, p);
        }
        tt_table_fini(&t);
    }
    tt_text_fini(&out);
    tt_query_fini(&q);
}

static void layout(const struct tt_profile *p, const struct tt_layout *l)
{
    char name[16] = "layout", error[160], *argv[] = {name, NULL};
    struct tt_text out;

    tt_text_init(&out, NULL);
    (void)l->run(p, 1, argv, &out, error, sizeof error);
    tt_text_fini(&out);
}

static void merge_and_filter(const struct tt_profile *p)
{
    static const char *const filters[] = {"fold=*a*&prune=1%&root=/m/",
                                          "strand=name:*&prune=/a/&exclude=[pruned]"};
    struct tt_builder *b = tt_builder_new(NULL);
    struct tt_filtered filtered;
    struct tt_query q;
    void *image = NULL;
    size_t size = 0;

    if (!b)
        return;
    (void)tt_builder_profile(b, p);
    (void)tt_builder_profile(b, p);
    if (tt_builder_finish(b, &image, &size) == 0)
        tt_memory_put(NULL, image);
    tt_builder_free(b);
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++) {
        tt_query_init(&q, NULL);
        if (tt_query_parse(&q, filters[i]) == 0 && tt_filter_apply(p, &q, &filtered) == 0)
            tt_filter_close(&filtered, NULL);
        tt_query_fini(&q);
    }
}

static void compare(const struct tt_profile *p, const char *text, enum tt_scaling scaling)
{
    const struct tt_diff_options options = {.scaling = scaling,
                                            .normalise = scaling == TT_SCALING_NONE};
    struct tt_query q;
    struct tt_table t;

    tt_query_init(&q, NULL);
    (void)tt_query_parse(&q, text);
    (void)tt_diff(p, p, &q, &options, &t);
    tt_table_fini(&t);
    tt_query_fini(&q);
}

static const char *growth_name(const struct tt_profile *p,
                               const struct tt_metric_columns *m)
{
    (void)p;
    return m->name;
}

static void grow(const struct tt_profile *p)
{
    struct tt_builder *b = tt_builder_new(NULL);
    void *image = NULL;
    size_t size = 0;

    if (b && tt_growth(b, p, p, growth_name) == 0 &&
        tt_builder_finish(b, &image, &size) == 0)
        tt_memory_put(NULL, image);
    tt_builder_free(b);
}

static void write_by_time(const struct tt_profile *p)
{
    static struct tt_writer w;

    for (size_t i = 0; tt_formats[i]; i++) {
        struct tt_export e = {.profile = p, .metric = TT_NONE, .by_time = 1};
        tt_writer_init(&w, swallow, NULL);
        if (tt_formats[i]->flags & TT_FORMAT_BY_TIME)
            (void)tt_formats[i]->write(&e, &w);
    }
}

/* All strands but the first. */
static void choose(const struct tt_profile *p)
{
    unsigned char *strand = p->strands > 1 && p->entries ? calloc(p->strands, 1) : NULL;
    struct tt_builder *b = tt_builder_new(NULL);
    void *image = NULL;
    size_t size = 0;

    if (b && strand) {
        memset(strand + 1, 1, p->strands - 1);
        (void)tt_builder_filtered(b, p,
                                  &(struct tt_parts){.strand = strand, .same_paths = 1});
        if (tt_builder_summarise(b) == 0 && tt_builder_finish(b, &image, &size) == 0)
            tt_memory_put(NULL, image);
    }
    tt_builder_free(b);
    free(strand);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const views[] = {"view=flat",
                                        "view=assembly&limit=0&block=*",
                                        "view=assembly&sort=self",
                                        "view=source&block=*",
                                        "view=graph",
                                        "view=tree",
                                        "view=callers",
                                        "view=groups",
                                        "view=groups&rings=1",
                                        "view=flame",
                                        "view=lines",
                                        "view=strands",
                                        "view=strands&by=context",
                                        "view=series",
                                        "view=parallel",
                                        "view=parallel&block=*",
                                        "view=timeline&by=state",
                                        "view=whatif&block=*",
                                        "view=space",
                                        "view=header",
                                        "view=block&block=*",
                                        "view=block&sequence=*;*a*;*",
                                        "view=callers&block=*&metric=calls&limit=all",
                                        "view=graph&metric=calls",
                                        "view=strands&by=block",
                                        "view=strands&by=rank",
                                        "view=strands&by=rank-context",
                                        "view=strands&by=wait&metric=calls",
                                        "view=slowest",
                                        "view=slowest&by=last",
                                        "view=series&by=time&limit=1",
                                        "view=space&by=both",
                                        "view=space&by=block",
                                        "view=lines&by=file&uncovered=1",
                                        "view=tree&to=1&metric=calls"};
    struct tt_profile p;
    void *image = malloc(size ? size : 1);

    if (!image)
        return 0;
    memcpy(image, data, size);
    if (tt_profile_open(&p, image, size, NULL) == 0) {
        if (p.contexts <= MOST_CONTEXTS) {
            for (size_t i = 0; i < sizeof views / sizeof *views; i++)
                view(&p, views[i]);
            for (const struct tt_layout *l = tt_layouts; l->name; l++)
                layout(&p, l);
            merge_and_filter(&p);
            compare(&p, "", TT_SCALING_NONE);
            compare(&p, "view=tree", TT_SCALING_WEAK);
            grow(&p);
            choose(&p);
            write_by_time(&p);
        }
        tt_profile_close(&p);
    }
    free(image);
    return 0;
}
