/* SPDX-License-Identifier: MIT */
/* cmd-merge.c - `tallytree merge`: one profile of many recordings and profiles. */
#include "command.h"
#include "foreign.h"
#include "input.h"
#include "output.h"
#include "replacing.h"

enum flag { OUTPUT = 1, SUMMARY };

static const struct tt_flag merge_flags[] = {
    {"output", 'o', OUTPUT, "OUT", "@files",
     "the profile to write; - is standard output"},
    TT_REPLACING_FLAG,
    {"summary", 0, SUMMARY, NULL, NULL,
     "of each context only how it spreads over strands"},
    {"recursion", 0, TT_FOREIGN_RECURSION, "POLICY",
     "edge repeat: block cycle drop recent: none", "of traces of events, as of replay"},
    {"budget", 0, TT_FOREIGN_BUDGET, "SIZE", NULL, "and the cap on their memory, as 64M"},
    {"executable", 0, TT_FOREIGN_EXECUTABLE, "PROGRAM", "@files", "what gmon.out is of"},
    {NULL, 0, 0, NULL, NULL, NULL},
};

static int run(int argc, char **argv)
{
    const char *out = NULL;
    struct tt_input in;
    struct tt_flags f;
    unsigned how = TT_INPUT_ANEW | TT_INPUT_UNNAMED;
    int status, error, id;

    tt_command_flags(&tt_command_merge, &f, argc, argv);
    while ((id = tt_command_next(&tt_command_merge, &f, &status)) > 0) {
        if (id == OUTPUT)
            out = f.value;
        else if (id == SUMMARY)
            how |= TT_INPUT_SUMMARY;
        else if (tt_foreign_take("merge", f.flag, f.value) < 0)
            return TT_EXIT_FAILED;
    }
    if (id < 0)
        return status;
    if (!out)
        return tt_command_wants(&tt_command_merge, "-o OUT");
    if (!f.count)
        return tt_command_wants(&tt_command_merge, "a recording or a profile");
    if (tt_input_open(&in, argv + 1, f.count, how) != 0)
        return TT_EXIT_FAILED;
    error = tt_output_write(out, in.image, in.size);
    tt_input_close(&in);
    return error ? TT_EXIT_FAILED : TT_EXIT_DONE;
}

const struct tt_command tt_command_merge = {
    .name = "merge",
    .synopsis = "-o OUT FILE...",
    .about = "one profile of many recordings and profiles",
    .details =
        "Makes one profile of recordings, profiles and folders of them.  Figures of the\n"
        "same context add up.  Each strand's share is kept, with --summary and of more\n"
        "than 4096 strands only the least, the greatest and the deviation.  OUT is\n"
        "written whole or not at all.\n",
    .flags = merge_flags,
    .operands = "@files",
    .run = run,
};
