/* SPDX-License-Identifier: MIT */
/* cmd-lua.c - `tallytree lua`: a Lua script, run by Lua's own interpreter.
 *
 * A statement before the script makes the interpreter load the module (see adapters/lua)
 * and start it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "complain.h"
#include "launch.h"
#include "options.h"
#include "replacing.h"
#include "running.h"

enum flag { OUTPUT = 1, MODE, HZ, OPTION, HEAP, INTERPRETER };

static const struct tt_flag lua_flags[] = {
    {"output", 'o', OUTPUT, "OUT", "@files", "write the profile to OUT"},
    TT_REPLACING_FLAG,
    {"mode", 0, MODE, "MODE", "calls lines sampled", "what is recorded (default: calls)"},
    {"hz", 0, HZ, "N", NULL, "samples per second of CPU time (default: 250)"},
    {"heap", 0, HEAP, NULL, NULL, "record allocations too, by function and type"},
    {"recursion", 0, OPTION, "POLICY", TT_RECURSION_VALUES,
     "how recursion is folded (default: edge)"},
    {"budget", 0, OPTION, "BYTES", NULL, "limit memory to BYTES (default: 64M)"},
    {"log", 0, OPTION, "SIZE", "none", "limit the log of samples by time (default: 8M)"},
    {"lua", 0, INTERPRETER, "PROGRAM", "@files",
     "run the script by PROGRAM (default: lua5.4)"},
    {NULL, 0, 0, NULL, NULL, NULL},
};

enum { STATEMENT_SIZE = 2 * PATH_MAX };

struct lua {
    struct tt_running run;
    const char *interpreter;
    char fields[1024];              /* of the table that start is given */
    char statement[STATEMENT_SIZE]; /* before the script */
};

static int refuse(const char *what, const char *value)
{
    tt_complain("lua: %s '%s'", what, value);
    return -1;
}

static int add_field(struct lua *l, const char *name, const char *value)
{
    size_t used = strlen(l->fields);
    int n = snprintf(l->fields + used, sizeof l->fields - used, ", %s = \"%s\"", name,
                     value);

    return n < (int)(sizeof l->fields - used) ? 0 : refuse("this is too long:", value);
}

/* Passes on a value that was checked: none of its letters is special in Lua. */
static int take_flag(struct lua *l, const struct tt_flags *f)
{
    const struct tt_command *self = &tt_command_lua;
    const char *value = f->value;
    uint64_t hz;
    int error = 0;

    switch ((enum flag)f->flag->id) {
    case OUTPUT:
        return tt_running_writes(&l->run, "lua", value);
    case MODE:
        error = tt_command_word(self, f);
        break;
    case HZ:
        error = tt_command_number(self, f, "samples per second, from 1 to 10000", 1,
                                  10000, &hz);
        break;
    case OPTION:
        error = tt_command_option(self, f);
        break;
    case HEAP:
        value = "1";
        break;
    case INTERPRETER:
        l->interpreter = value;
        return 0;
    }
    return error ?: add_field(l, f->flag->name, value);
}

static int do_nothing(void *unused)
{
    (void)unused;
    return 0;
}

static int is_there(const char *name)
{
    static struct tt_program program;

    return tt_program_find(&program, name) == 0;
}

static int make_statement(struct lua *l)
{
    int n = snprintf(l->statement, sizeof l->statement,
                     "assert(package.loadlib([[%s]], 'luaopen_tallytree'))().start{"
                     "output = os.getenv('TALLYTREE_FOLDER') .. '/main'%s}",
                     l->run.library, l->fields);

    return n < (int)sizeof l->statement && !strstr(l->run.library, "]]")
               ? 0
               : refuse("no Lua loads a module from", l->run.library);
}

/* Makes INTERPRETER -e STATEMENT SCRIPT ARGS, with room for one word before. */
static int start(struct lua *l, char **script, int count)
{
    static char option[] = "-e";
    const char *slash = strrchr(script[0], '/');
    char **argv = calloc((size_t)count + 5, sizeof *argv);
    int status;

    if (!argv) {
        tt_complain("lua: no memory");
        return TT_LAUNCH_FAILED;
    }
    if (!l->interpreter)
        l->interpreter = is_there("lua5.4") ? "lua5.4" : "lua";
    l->run.argv = argv + 1;
    argv[1] = (char *)(uintptr_t)l->interpreter;
    argv[2] = option;
    argv[3] = l->statement;
    memcpy(argv + 4, script, (size_t)count * sizeof *argv);
    l->run.reports = !l->run.out;
    l->run.is_module = 1;
    status = tt_running_find(&l->run, "lua", "libtallytree-lua.so");
    if (!status && make_statement(l) != 0)
        status = TT_LAUNCH_FAILED;
    if (!status) {
        l->run.program.base = slash ? slash + 1 : script[0];
        status = tt_running_go(&l->run, do_nothing, NULL);
    }
    free(argv);
    return status;
}

static int run(int argc, char **argv)
{
    static struct lua l;
    struct tt_flags f;
    int id, status;

    tt_command_flags(&tt_command_lua, &f, argc, argv);
    while ((id = tt_command_next(&tt_command_lua, &f, &status)) > 0)
        if (take_flag(&l, &f) != 0)
            return TT_LAUNCH_FAILED;
    if (id < 0)
        return status == TT_EXIT_DONE ? status : TT_LAUNCH_FAILED;
    if (!f.count) {
        (void)tt_command_wants(&tt_command_lua, "a script");
        return TT_LAUNCH_FAILED;
    }
    return start(&l, f.argv + 1, f.count);
}

const struct tt_command tt_command_lua = {
    .name = "lua",
    .synopsis = "[FLAGS] [--] SCRIPT [ARGS]",
    .about = "run a Lua script, and time its functions or lines",
    .details =
        "Runs a script by Lua's own interpreter. Counts and times every call, with tail\n"
        "calls and coroutines, or every line, or samples the stack while the script\n"
        "runs at full speed. OUT is a profile (default: tallytree.SCRIPT.HOST.PID.tt,\n"
        "and a report is printed). Input, output and exit status are the script's;\n"
        "Tallytree's own errors end with 125 to 127.\n",
    .flags = lua_flags,
    .operands = "@files",
    .runs_program = 1,
    .run = run,
};
