/* SPDX-License-Identifier: MIT */
/* main.c - the command: finds the subcommand. */
#include <stdio.h>
#include <string.h>

#include "command.h"

static const char usage[] =
    "usage: tallytree COMMAND [ARGS]\n"
    "\n"
    "  dump FILE                   print a recording: every context with its tallies\n"
    "  merge -o OUT FILE...        one profile of recordings and profiles\n"
    "  replay -o OUT [EVENTS]      make a recording from events, one a line\n"
    "  help [COMMAND]              this page, or a command's own\n"
    "\n"
    "tallytree --version prints the version.  See tallytree(1).\n";

static const struct command {
    const char *name;
    int (*run)(int argc, char **argv);
} commands[] = {
    {"dump", tt_command_dump},
    {"merge", tt_command_merge},
    {"replay", tt_command_replay},
};

static const struct command *find_command(const char *name)
{
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

static int help(int argc, char **argv)
{
    char *args[] = {argc > 2 ? argv[2] : NULL, (char[]){"--help"}, NULL};
    const struct command *c = argc > 2 ? find_command(argv[2]) : NULL;

    if (c)
        return c->run(2, args);
    if (argc > 2) {
        tt_complain("there is no command '%s'", argv[2]);
        return TT_EXIT_FAILED;
    }
    fputs(usage, stdout);
    return TT_EXIT_DONE;
}

int main(int argc, char **argv)
{
    const struct command *c;

    if (argc < 2) {
        fputs(usage, stderr);
        return TT_EXIT_FAILED;
    }
    if (strcmp(argv[1], "help") == 0 || strcmp(argv[1], "--help") == 0 ||
        strcmp(argv[1], "-h") == 0)
        return help(argc, argv);
    if (strcmp(argv[1], "--version") == 0) {
        puts("tallytree " TT_VERSION);
        return TT_EXIT_DONE;
    }
    c = find_command(argv[1]);
    if (!c) {
        tt_complain("there is no command '%s'; see 'tallytree help'", argv[1]);
        return TT_EXIT_FAILED;
    }
    return c->run(argc - 1, argv + 1);
}
