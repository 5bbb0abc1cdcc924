/* SPDX-License-Identifier: MIT */
/* mlworks-space-test.c - MLWorks' report of space: alloc and copied, copies by generation,
 * and the table of kinds, in their columns. */
#include "builder.h"
#include "finish.h"
#include "layouts.h"
#include "tap.h"
#include "text.h"

struct row {
    const char *type;
    uint32_t from;
    uint64_t number, bytes, overhead;
};

/* The figures of one function in a report of MLWorks' own. */
static const struct row rows[] = {
    {"record", TT_NONE, 5258, 84128, 21032},
    {"pair", TT_NONE, 15774, 126192, 0},
    {"record", 0, 2209, 35344, 8836},
    {"pair", 0, 11, 88, 0},
    {"record", 1, 32, 512, 128},
};

static const char lines[] =
    "      210320       35944  augment_cb[main._toplevel:903]\n"
    "                   35432         512\n"
    "          gen            records       pairs    closures     strings      arrays  "
    "bytearrays        code  weakarrays       total\n"
    "           0     no         5258       15774           0           0           0    "
    " "
    "      0           0           0       21032\n"
    "               size        84128      126192           0           0           0    "
    " "
    "      0           0           0      210320\n"
    "           overhead        21032           0           0           0           0    "
    " "
    "      0           0           0       21032\n"
    "           1     no         2209          11           0           0           0    "
    " "
    "      0           0           0        2220\n"
    "               size        35344          88           0           0           0    "
    " "
    "      0           0           0       35432\n"
    "           overhead         8836           0           0           0           0    "
    " "
    "      0           0           0        8836\n"
    "           2     no           32           0           0           0           0    "
    " "
    "      0           0           0          32\n"
    "               size          512           0           0           0           0    "
    " "
    "      0           0           0         512\n"
    "           overhead          128           0           0           0           0    "
    " "
    "      0           0           0         128\n";

static void report(const struct tt_profile *p, const char *manner, struct tt_text *out)
{
    char name[] = "mlworks", file[] = "--profile=-", error[160] = "";
    char flag[64], *argv[] = {name, file, flag, NULL};

    (void)snprintf(flag, sizeof flag, "--profile-manner=%s", manner);
    tt_text_init(out, NULL);
    CHECK_INT(tt_report_mlworks(p, 3, argv, out, error, sizeof error), 0);
    CHECK_STR(error, "");
}

static int open_profile(struct tt_profile *p)
{
    const struct tt_block_info f = {
        .name = "augment_cb", .module = "main._toplevel", .line = 903};
    const struct tt_block_info g = {.name = "g"};
    struct tt_builder *b = tt_builder_new(NULL);
    uint32_t calls = tt_builder_metric(b, "calls", "", TT_METRIC_CALLS);
    uint32_t at = tt_builder_context(b, TT_BUILDER_ROOT, tt_builder_block(b, &f));
    uint32_t other = tt_builder_context(b, at, tt_builder_block(b, &g));
    void *image;
    size_t size;

    tt_builder_add(b, TT_ROLE_SELF, at, calls, 1);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        tt_builder_space(b, at, rows[i].type, rows[i].from,
                         rows[i].from == TT_NONE ? 0 : rows[i].from + 1, rows[i].number,
                         rows[i].bytes, rows[i].overhead);
    tt_builder_space(b, other, "code", TT_NONE, 0, 1, 80, 8);
    tt_builder_space(b, other, "odd", TT_NONE, 0, 2, 20, 0);
    tt_builder_space(b, other, "odd", 0, TT_NONE, 1, 10, 0);
    tt_builder_fact(b, "collections", TT_FACT_SUM, 3, "");
    CHECK_INT(tt_builder_finish(b, &image, &size), 0);
    tt_builder_free(b);
    return tt_profile_open(p, image, size, NULL) == 0;
}

static void close_profile(struct tt_profile *p)
{
    void *image = (void *)(uintptr_t)p->image;

    tt_profile_close(p);
    tt_memory_put(NULL, image);
}

TEST(the_table_of_kinds_is_that_of_mlworks)
{
    struct tt_profile p;
    struct tt_text out;

    if (!CHECK(open_profile(&p)))
        return;
    report(&p, "65292", &out); /* space, copies, all kinds */
    CHECK(strstr(tt_text_string(&out), lines) != NULL);
    CHECK(strstr(tt_text_string(&out), "\n3 collections\n") != NULL);
    tt_text_fini(&out);
    close_profile(&p);
}

TEST(the_functions_add_up_to_the_total)
{
    struct tt_profile p;
    struct tt_text out;
    const char *line;
    unsigned long long alloc, copied, all_alloc = 0, all_copied = 0, total[2] = {0};
    char name[80];

    if (!CHECK(open_profile(&p)))
        return;
    report(&p, "4", &out);
    line = strstr(tt_text_string(&out), "copied  name\n");
    for (line = line ? line + 13 : "";
         sscanf(line, "%llu %llu %79[^\n]", &alloc, &copied, name) == 3;
         line = strchr(line, '\n') + 1) {
        if (strcmp(name, "total profiled") == 0) {
            total[0] = alloc;
            total[1] = copied;
        } else {
            all_alloc += alloc;
            all_copied += copied;
        }
    }
    CHECK_INT(total[0], 210320 + 100);
    CHECK_INT(all_alloc, total[0]);
    CHECK_INT(all_copied, total[1]);
    CHECK(strstr(tt_text_string(&out), "gen   ") == NULL);
    tt_text_fini(&out);
    close_profile(&p);
}

TEST(kinds_that_were_not_asked_for_are_zero)
{
    struct tt_profile p;
    struct tt_text out;

    if (!CHECK(open_profile(&p)))
        return;
    report(&p, "4100", &out); /* space, and pairs */
    CHECK(strstr(tt_text_string(&out),
                 "           0     no            0       15774           0") != NULL);
    tt_text_fini(&out);
    close_profile(&p);
}
