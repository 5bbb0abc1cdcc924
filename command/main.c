/* SPDX-License-Identifier: MIT */
/* main.c - the command: finds the subcommand. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd-complete.h"
#include "cmd-record.h"
#include "command.h"
#include "complain.h"
#include "program.h"

static int is_one_of(const char *word, const char *const *words)
{
    while (*words && strcmp(word, *words) != 0)
        words++;
    return *words != NULL;
}

static const char *const help_words[] = {"help", "--help", "-help", "-h", NULL};

static void show_overview(FILE *out)
{
    fputs("usage: tallytree PROGRAM [ARGS]    records it, and shows where its time goes\n"
          "       tallytree COMMAND [ARGS]\n\n",
          out);
    for (size_t i = 0; tt_commands[i]; i++)
        fprintf(out, "  %-22s %s\n", tt_commands[i]->name, tt_commands[i]->about);
    fputs("  help [COMMAND]         this page, or a command's own\n"
          "\n"
          "tallytree --version prints the version.  See tallytree(1).\n",
          out);
}

/* `what` was looked for. */
static void complain_of_word(const char *what, const char *name)
{
    const char *names[64] = {"help"};
    size_t count = 1;

    for (size_t i = 0; tt_commands[i] && count < sizeof names / sizeof *names; i++)
        names[count++] = tt_commands[i]->name;
    (void)tt_complain_of(what, name, names, count);
}

static int help(int argc, char **argv)
{
    const struct tt_command *c;

    if (argc <= 2 || is_one_of(argv[2], help_words)) {
        show_overview(stdout);
        return TT_EXIT_DONE;
    }
    c = tt_command_find(argv[2]);
    if (c)
        tt_command_help(c);
    else
        complain_of_word("command", argv[2]);
    return c ? TT_EXIT_DONE : TT_EXIT_FAILED;
}

enum { NOT_FOUND = 127 }; /* as of a shell, and of `record` */

/* Is it a program to record, or a flag for that? */
static int is_program(const char *word)
{
    static struct tt_program program;

    return word[0] == '-' || strchr(word, '/') ||
           tt_program_find(&program, word) != NOT_FOUND;
}

static int run(int argc, char **argv)
{
    static const char *const version_words[] = {"version", "--version", "-version", NULL};
    const struct tt_command *c;

    if (argc < 2) {
        show_overview(stderr);
        return TT_EXIT_FAILED;
    }
    if (is_one_of(argv[1], help_words))
        return help(argc, argv);
    if (is_one_of(argv[1], version_words)) {
        puts("tallytree " TT_VERSION);
        return TT_EXIT_DONE;
    }
    if (strcmp(argv[1], "--complete") == 0)
        return tt_command_complete(argc - 1, argv + 1);
    c = tt_command_find(argv[1]);
    if (c)
        return c->run(argc - 1, argv + 1);
    if (is_program(argv[1]))
        return tt_record_and_report(argc, argv);
    if (access(argv[1], F_OK) == 0)
        tt_complain("there is no command or program '%s'; 'tallytree report %s' shows "
                    "what was recorded",
                    argv[1], argv[1]);
    else
        complain_of_word("command or program", argv[1]);
    return NOT_FOUND;
}

/* The command has succeeded if its output was written, or its reader has closed the
 * pipe. */
int main(int argc, char **argv)
{
    int status = run(argc, argv);

    if ((fflush(stdout) == 0 && !ferror(stdout)) || errno == EPIPE)
        return status;
    tt_complain("standard output: cannot be written");
    return TT_EXIT_FAILED;
}
