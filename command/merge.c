/* SPDX-License-Identifier: MIT */
/* merge.c - `tallytree merge`: one profile of many recordings and profiles. */
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "input.h"
#include "output.h"

static const char usage[] = "usage: tallytree merge -o OUT FILE...\n"
                            "\n"
                            "Makes one profile of recordings, profiles and folders of "
                            "them.  Figures of the same\n"
                            "context add up; each strand's share is kept.  OUT is "
                            "written whole or not at all; '-'\n"
                            "is standard output.\n";

int tt_command_merge(int argc, char **argv)
{
    const char *out = NULL;
    struct tt_input in;
    int files = 0, error;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0) {
            fputs(usage, stdout);
            return TT_EXIT_DONE;
        }
        if (strcmp(argv[i], "-o") == 0 && i + 1 < argc)
            out = argv[++i];
        else
            argv[files++] = argv[i];
    }
    if (!out || !files) {
        fputs(usage, stderr);
        return TT_EXIT_FAILED;
    }
    if (tt_input_open(&in, argv, files) != 0)
        return TT_EXIT_FAILED;
    error = tt_output_write(out, in.image, in.size);
    tt_input_close(&in);
    return error ? TT_EXIT_FAILED : TT_EXIT_DONE;
}
