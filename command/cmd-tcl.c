/* SPDX-License-Identifier: MIT */
/* cmd-tcl.c - `tallytree tcl`: a Tcl script, run by Tcl's own shell.
 *
 * A small library that is loaded into the shell, see adapters/tcl/tcl-start.c, watches
 * its interpreters; $TALLYTREE_TCL has its options, with the words of
 * tallytree::start. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "complain.h"
#include "launch.h"
#include "options.h"
#include "replacing.h"
#include "running.h"

enum flag { OUTPUT = 1, MODE, CORRECTION, OPTION, ENCODING, SHELL, GLOB_IN, GLOB_OUT };

static const struct tt_flag tcl_flags[] = {
    {"output", 'o', OUTPUT, "OUT", "@files", "write the profile to OUT"},
    TT_REPLACING_FLAG,
    {"mode", 0, MODE, "MODE", "statements blocks coverage procs sampled",
     "what is recorded (default: statements)"},
    {"include", 0, GLOB_IN, "GLOB", NULL,
     "record only files that match; may be repeated"},
    {"exclude", 0, GLOB_OUT, "GLOB", NULL, "skip files that match; may be repeated"},
    {"correction", 0, CORRECTION, "METHOD", "ours a b c",
     "how overhead is corrected (default: ours)"},
    {"recursion", 0, OPTION, "POLICY", TT_RECURSION_VALUES,
     "how recursion is folded (default: edge)"},
    {"budget", 0, OPTION, "BYTES", NULL,
     "limit memory of each process to BYTES (default: 64M)"},
    {"log", 0, OPTION, "SIZE", "none", "limit the log of samples by time (default: 8M)"},
    {"encoding", 0, ENCODING, "NAME", NULL, "encoding of the script, as tclsh has it"},
    {"tclsh", 0, SHELL, "PROGRAM", "@files",
     "run the script by PROGRAM (default: tclsh8.6)"},
    {NULL, 0, 0, NULL, NULL, NULL},
};

enum { GLOBS_MOST = 32, WORDS_SIZE = 8192 };

struct tcl {
    struct tt_running run;
    char words[WORDS_SIZE]; /* each ended by 0x1f */
    const char *include[GLOBS_MOST], *exclude[GLOBS_MOST];
    int includes, excludes;
    const char *encoding, *shell;
    int failed;
};

static void add(struct tcl *t, const char *before, const char *word)
{
    size_t length = strlen(t->words);
    int n = snprintf(t->words + length, sizeof t->words - length, "%s%s\x1f", before,
                     word);

    if (n >= (int)(sizeof t->words - length) || strchr(word, '\x1f'))
        t->failed = 1;
}

/* Writes it as one element of a Tcl list: special characters get a backslash. */
static void add_globs(struct tcl *t, const char *option, const char *const *globs,
                      int count)
{
    char list[WORDS_SIZE];
    size_t n = 0;

    if (!count)
        return;
    for (int i = 0; i < count; i++) {
        for (const char *p = globs[i]; *p && n < sizeof list - 4; p++) {
            if (strchr("{}[]$;\"\\ \t\n#", *p))
                list[n++] = '\\';
            list[n++] = *p;
        }
        list[n++] = ' ';
    }
    list[n] = '\0';
    add(t, "-", option);
    add(t, "", list);
}

static int take_glob(const char **globs, int *count, const char *value)
{
    if (*count == GLOBS_MOST) {
        tt_complain("tcl: too many patterns: '%s'", value);
        return -1;
    }
    globs[(*count)++] = value;
    return 0;
}

/* A word, or "factor F". */
static int check_correction(const struct tt_flags *f)
{
    double factor;
    char more;

    if (sscanf(f->value, "factor %lf%c", &factor, &more) == 1 && factor > 0)
        return 0;
    return tt_command_word(&tt_command_tcl, f);
}

static int pass(struct tcl *t, const struct tt_flags *f, int error)
{
    if (error)
        return error;
    add(t, "-", f->flag->name);
    add(t, "", f->value);
    return 0;
}

static int take_flag(struct tcl *t, const struct tt_flags *f)
{
    const char *value = f->value;

    switch ((enum flag)f->flag->id) {
    case OUTPUT:
        return tt_running_writes(&t->run, "tcl", value);
    case MODE:
        return pass(t, f, tt_command_word(&tt_command_tcl, f));
    case CORRECTION:
        return pass(t, f, check_correction(f));
    case OPTION:
        return pass(t, f, tt_command_option(&tt_command_tcl, f));
    case GLOB_IN:
        return take_glob(t->include, &t->includes, value);
    case GLOB_OUT:
        return take_glob(t->exclude, &t->excludes, value);
    case ENCODING:
        t->encoding = value;
        break;
    case SHELL:
        t->shell = value;
        break;
    }
    return 0;
}

static int prepare(void *arg)
{
    const struct tcl *t = arg;

    if (setenv("TALLYTREE_TCL", t->words, 1) == 0)
        return 0;
    tt_complain("tcl: no memory");
    return -1;
}

static int is_there(const char *shell)
{
    static struct tt_program program;

    return tt_program_find(&program, shell) == 0;
}

/* Makes SHELL [-encoding NAME] SCRIPT ARGS, with room for one word before. */
static char **arguments(struct tcl *t, char **script, int count)
{
    char **argv = calloc((size_t)count + 6, sizeof *argv), **out;
    char encoding[] = "-encoding";

    if (!argv)
        return NULL;
    out = argv + 1;
    if (!t->shell)
        t->shell = is_there("tclsh8.6") ? "tclsh8.6" : "tclsh";
    *out++ = (char *)(uintptr_t)t->shell;
    if (t->encoding) {
        *out++ = strdup(encoding);
        *out++ = (char *)(uintptr_t)t->encoding;
    }
    memcpy(out, script, (size_t)count * sizeof *out);
    return argv + 1;
}

static int start(struct tcl *t, struct tt_flags *f)
{
    const char *slash = strrchr(f->argv[1], '/');
    int status;

    add_globs(t, "include", t->include, t->includes);
    add_globs(t, "exclude", t->exclude, t->excludes);
    t->run.argv = arguments(t, f->argv + 1, f->count);
    if (t->failed || !t->run.argv) {
        tt_complain(t->failed ? "tcl: the options are too long together"
                              : "tcl: no memory");
        return TT_LAUNCH_FAILED;
    }
    t->run.reports = !t->run.out;
    status = tt_running_find(&t->run, "tcl", "libtallytree-tcl-start.so");
    if (status)
        return status;
    t->run.program.base = slash ? slash + 1 : f->argv[1];
    return tt_running_go(&t->run, prepare, t);
}

static int run(int argc, char **argv)
{
    static struct tcl t;
    struct tt_flags f;
    int id, status;

    tt_command_flags(&tt_command_tcl, &f, argc, argv);
    while ((id = tt_command_next(&tt_command_tcl, &f, &status)) > 0)
        if (take_flag(&t, &f) != 0)
            return TT_LAUNCH_FAILED;
    if (id < 0)
        return status == TT_EXIT_DONE ? status : TT_LAUNCH_FAILED;
    if (!f.count) {
        (void)tt_command_wants(&tt_command_tcl, "a script");
        return TT_LAUNCH_FAILED;
    }
    return start(&t, &f);
}

const struct tt_command tt_command_tcl = {
    .name = "tcl",
    .synopsis = "[FLAGS] [--] SCRIPT [ARGS]",
    .about = "run a Tcl script, and time each of its statements",
    .details =
        "Runs a script by Tcl's own shell. Counts and times every command at its place:\n"
        "file, line, index and length. OUT is a profile (default:\n"
        "tallytree.SCRIPT.HOST.PID.tt, and a report is printed); 'tallytree report tdk\n"
        "OUT' has a line for each command. Input, output and exit status are the\n"
        "script's; Tallytree's own errors end with 125 to 127. Scripts that it starts\n"
        "by exec are recorded too.\n",
    .flags = tcl_flags,
    .operands = "@files",
    .runs_program = 1,
    .run = run,
};
