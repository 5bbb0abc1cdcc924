/* SPDX-License-Identifier: MIT */
/* cmd-symbolize.c - `tallytree symbolize`: adds missing names to a profile. */
#include <string.h>

#include "command.h"
#include "complain.h"
#include "file-list.h"
#include "input.h"
#include "name-blocks.h"
#include "output.h"
#include "replacing.h"
#include "scratch.h"

enum flag { OUTPUT = 1, LINES, INLINES, SYMBOLS, DEBUGINFOD };

static const struct tt_flag symbolize_flags[] = {
    {"output", 'o', OUTPUT, "OUT", "@files",
     "write the profile to OUT (default: replace FILE)"},
    TT_REPLACING_FLAG,
    {"lines", 0, LINES, NULL, NULL, "show each line of a function below it"},
    {"no-inlines", 0, INLINES, NULL, NULL, "charge inlined functions to their callers"},
    {"symbols", 0, SYMBOLS, "DIR", "@files", "look for modules in DIR; may be repeated"},
    {"debuginfod", 0, DEBUGINFOD, NULL, NULL,
     "fetch debug information from $DEBUGINFOD_URLS"},
    {NULL, 0, 0, NULL, NULL, NULL},
};

struct symbolizing {
    struct tt_names_wanted naming;
    const char *out;
};

static int take(struct symbolizing *s, int id, const char *value)
{
    if (id == OUTPUT)
        s->out = value;
    else if (id == LINES)
        s->naming.lines = 1;
    else if (id == INLINES)
        s->naming.no_inlines = 1;
    else if (id == DEBUGINFOD)
        s->naming.options.debuginfod = 1;
    return id == SYMBOLS ? tt_names_folder(&s->naming, value) : 0;
}

static uint32_t count_nameless(const struct tt_profile *p)
{
    uint32_t count = 0;

    for (uint32_t b = 0; b < p->blocks; b++)
        count += tt_block_is_nameless(p, b) != 0;
    return count;
}

/* Functions named by their address, without a file. */
static uint32_t count_addresses(const struct tt_profile *p)
{
    uint32_t count = 0;

    for (uint32_t b = 0; b < p->blocks; b++) {
        const char *name = tt_block_name(p, b);
        count += !*tt_profile_string(p, p->block[b].module) &&
                 strncmp(name, "0x", 2) == 0 && name[2] &&
                 !name[2 + strspn(name + 2, "0123456789abcdefABCDEF")];
    }
    return count;
}

/* Did another tool write it?  A recording may be symbolized several times, as files
 * become available. */
static int is_foreign(const struct tt_profile *p)
{
    for (uint32_t i = 0; i < p->facts; i++)
        if (strcmp(tt_profile_string(p, p->fact[i].name), "format") == 0)
            return 1;
    return 0;
}

/* If no address got a name, says so and returns 1. */
static int has_done_nothing(const char *path, const struct tt_profile *before,
                            const void *image, size_t size)
{
    const uint32_t nameless = count_nameless(before), addresses = count_addresses(before);
    struct tt_profile after;
    uint32_t left;

    if (!nameless && addresses)
        tt_complain("%s: none of %u addresses has a name: the file does not say which "
                    "files they lie in",
                    path, addresses);
    if (!nameless || tt_profile_open(&after, image, size, &tt_scratch) != 0)
        return addresses > 0;
    left = count_nameless(&after);
    tt_profile_close(&after);
    if (left < nameless)
        return 0;
    tt_complain("%s: no name was found for any of %u addresses; try --symbols DIR or "
                "--debuginfod",
                path, nameless);
    return 1;
}

static int symbolize(struct symbolizing *s, char *const *paths, int count)
{
    struct tt_input in;
    void *image = NULL;
    size_t size = 0;
    int error, nothing = 0;

    if (tt_input_open(&in, paths, count, TT_INPUT_UNNAMED) != 0)
        return TT_EXIT_FAILED;
    error = tt_profile_check(&in.profile);
    if (error)
        tt_complain("%s: %s", paths[0], in.profile.error);
    else if ((error = tt_symbolize_image(&s->naming, &in.profile, NULL, &image, &size)) !=
             0)
        tt_complain("%s", tt_error_text(error));
    else if ((error = tt_output_write(s->out ? s->out : paths[0], image, size)) == 0 &&
             is_foreign(&in.profile))
        nothing = has_done_nothing(paths[0], &in.profile, image, size);
    tt_memory_put(&tt_scratch, image);
    tt_input_close(&in);
    return error ? TT_EXIT_FAILED : nothing ? TT_EXIT_NO : TT_EXIT_DONE;
}

static int run(int argc, char **argv)
{
    struct symbolizing s = {0};
    struct tt_flags f;
    int status, id;

    tt_command_flags(&tt_command_symbolize, &f, argc, argv);
    while ((id = tt_command_next(&tt_command_symbolize, &f, &status)) > 0)
        if (take(&s, id, f.value) != 0) {
            id = -1;
            status = TT_EXIT_FAILED;
            break;
        }
    if (id == 0 && !f.count)
        status = tt_command_wants(&tt_command_symbolize, "a recording or a profile");
    else if (id == 0 && !s.out && (f.count > 1 || tt_is_folder(argv[1])))
        status = tt_command_wants(&tt_command_symbolize, "-o OUT for several files");
    else if (id == 0)
        status = symbolize(&s, argv + 1, f.count);
    tt_names_fini(&s.naming);
    return status;
}

const struct tt_command tt_command_symbolize = {
    .name = "symbolize",
    .synopsis = "[-o OUT] [--lines] [--symbols DIR]... FILE...",
    .about = "give names to code that was recorded without",
    .details =
        "Names addresses by the symbol tables and debug information of the files that\n"
        "ran, with inlined functions. A file is used only if its build-id matches; the\n"
        "header lists files that were replaced. Replaces FILE unless OUT is given. Run\n"
        "it again when more debug information is there. If no address of another tool's\n"
        "file found a name, the exit status is 1. Nothing is fetched from servers\n"
        "without --debuginfod.\n",
    .flags = symbolize_flags,
    .operands = "@files",
    .run = run,
};
