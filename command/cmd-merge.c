/* SPDX-License-Identifier: MIT */
/* cmd-merge.c - `tallytree merge`: merges recordings and profiles into one profile. */
#include "command.h"
#include "complain.h"
#include "foreign.h"
#include "input.h"
#include "jobs.h"
#include "options.h"
#include "output.h"
#include "ranks.h"
#include "reading.h"
#include "replacing.h"

enum flag { OUTPUT = 1, SUMMARY, JOBS };

static const struct tt_flag merge_flags[] = {
    {"output", 'o', OUTPUT, "OUT", "@files",
     "write the profile to OUT; - is standard output"},
    TT_REPLACING_FLAG,
    {"summary", 0, SUMMARY, NULL, NULL,
     "keep only how contexts spread over threads and ranks"},
    {"jobs", 'j', JOBS, "N", NULL, "read N files at the same time (default: 1)"},
    {"recursion", 0, TT_FOREIGN_RECURSION, "POLICY", TT_RECURSION_VALUES,
     "traces of events: as in `replay`"},
    {"budget", 0, TT_FOREIGN_BUDGET, "SIZE", NULL,
     "traces of events: limit memory to SIZE (default: 64M)"},
    {"executable", 0, TT_FOREIGN_EXECUTABLE, "PROGRAM", "@files",
     "the program that wrote gmon.out"},
    {NULL, 0, 0, NULL, NULL, NULL},
};

static int take_jobs(const struct tt_flags *f, uint64_t *jobs)
{
    return tt_command_number(&tt_command_merge, f, "a number of processes from 1 to 256",
                             1, TT_JOBS_MAX, jobs);
}

static int merge(const char *out, char *const *paths, int count, unsigned how,
                 struct tt_readers by)
{
    struct tt_input in;
    int error = tt_input_merge(&in, paths, count, how, by);

    if (error)
        return TT_EXIT_FAILED;
    error = tt_output_write(out, in.image, in.size);
    tt_input_close(&in);
    return error ? TT_EXIT_FAILED : TT_EXIT_DONE;
}

/* What another rank than 0 complains of is said by rank 0, once. */
static int merge_by_ranks(const char *out, char *const *paths, int count, unsigned how,
                          struct tt_ranks *ranks)
{
    const struct tt_readers by = {.jobs = 1, .ranks = ranks};
    char said[TT_READING_REASON] = "";
    struct tt_complaints before;
    struct tt_input in;

    if (tt_ranks_meet(ranks, out) != 0)
        return TT_EXIT_FAILED;
    if (ranks->rank == 0)
        return tt_ranks_end(ranks, merge(out, paths, count, how, by));
    before = tt_complain_into((struct tt_complaints){said, sizeof said});
    (void)tt_input_merge(&in, paths, count, how, by);
    (void)tt_complain_into(before);
    if (said[0])
        tt_ranks_fail(ranks, said);
    return tt_ranks_end(ranks, TT_EXIT_FAILED);
}

static int run(int argc, char **argv)
{
    const char *out = NULL;
    struct tt_ranks ranks;
    struct tt_flags f;
    unsigned how = TT_INPUT_ANEW | TT_INPUT_UNNAMED | TT_INPUT_RUNS;
    uint64_t jobs = 1;
    int status, id;

    tt_command_flags(&tt_command_merge, &f, argc, argv);
    while ((id = tt_command_next(&tt_command_merge, &f, &status)) > 0) {
        if (id == OUTPUT)
            out = f.value;
        else if (id == SUMMARY)
            how |= TT_INPUT_SUMMARY;
        else if (id == JOBS ? take_jobs(&f, &jobs) != 0
                            : tt_foreign_take("merge", f.flag, f.value) < 0)
            return TT_EXIT_FAILED;
    }
    if (id < 0)
        return status;
    if (!out)
        return tt_command_wants(&tt_command_merge, "-o OUT");
    if (!f.count)
        return tt_command_wants(&tt_command_merge, "a recording or a profile");
    if (tt_ranks_find(&ranks)) {
        if (jobs > 1 && ranks.rank == 0)
            tt_complain("merge: under a launcher, -j has no effect: each rank reads one "
                        "file at a time");
        return merge_by_ranks(out, argv + 1, f.count, how, &ranks);
    }
    return merge(out, argv + 1, f.count, how,
                 (struct tt_readers){.jobs = (unsigned)jobs});
}

const struct tt_command tt_command_merge = {
    .name = "merge",
    .synopsis = "-o OUT FILE...",
    .about = "merge recordings and profiles into one profile",
    .details =
        "Merges recordings, profiles and folders of them into one profile. Figures of\n"
        "the same context are added. The figures of each thread are kept; with\n"
        "--summary, or if there are more than 4096 threads or 100 MB of their figures,\n"
        "only minimum, maximum and deviation are. OUT is written whole or not at all.\n"
        "Under mpirun or srun, each rank reads a part of the files.\n",
    .flags = merge_flags,
    .operands = "@files",
    .run = run,
};
