/* SPDX-License-Identifier: MIT */
/* record.c - `tallytree record` and `tallytree PROGRAM`: any program, as it is.
 *
 * The program is started with a library that samples it from within, see collect/.  Its
 * processes write into a folder beside the output; when it has ended, that becomes one
 * profile with names.  Whatever goes wrong with us, the program's status is passed on. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "command.h"
#include "gather.h"
#include "launch.h"
#include "options.h"
#include "program.h"

enum flag { OUTPUT = 1, MODE, SAMPLED, PASSED, DELAY, DURATION };

static const struct tt_flag record_flags[] = {
    {"output", 'o', OUTPUT, "OUT", "@files", "the profile to write"},
    {"sampled", 0, SAMPLED, "[HZ]", NULL,
     "native stacks so often; scopes are sampled too"},
    {"exact", 0, MODE, NULL, NULL, "linked scopes: all calls and their times"},
    {"calls", 0, MODE, NULL, NULL, "linked scopes: all calls"},
    {"every", 0, MODE, "N", NULL, "linked scopes: all calls, each N-th timed"},
    {"recursion", 0, PASSED, "POLICY", "edge repeat: block cycle drop recent: none",
     "what a call does that repeats its path; edge"},
    {"budget", 0, PASSED, "BYTES", NULL, "cap on memory of each process; 64M"},
    {"histogram", 0, PASSED, NULL, NULL, "of the time of each scope"},
    {"slowest", 0, PASSED, "SCOPE:K", NULL, "keep its K slowest activations"},
    {"delay", 0, DELAY, "SECONDS", NULL, "begin so long after the program"},
    {"duration", 0, DURATION, "SECONDS", NULL, "end so long after that"},
    {NULL, 0, 0, NULL, NULL, NULL},
};

struct record {
    char words[2048]; /* for the runtime */
    const char *out;
    double delay, duration; /* duration 0: until it ends */
    struct tt_program program;
    char library[PATH_MAX];
    char name[PATH_MAX]; /* of the output */
    char folder[PATH_MAX];
    char **argv; /* of the program */
    int reports;
};

/* ── Flags ────────────────────────────────────────────────────────────────────────── */

static int add_words(struct record *r, const char *name, const char *value)
{
    size_t length = strlen(r->words);
    struct tt_options o;
    int n = snprintf(r->words + length, sizeof r->words - length, "%s%s%s%s",
                     length ? "," : "", name, value ? "=" : "", value ? value : "");

    if (n < (int)(sizeof r->words - length) && !(value && strpbrk(value, ", \t\n")) &&
        tt_options_read(&o, r->words, NULL) == 0)
        return 0;
    tt_complain("record: '--%s' cannot be '%s'", name, value ? value : "");
    return -TT_ERR_OPTION;
}

static int take_seconds(const char *name, const char *value, double *out)
{
    char *end;

    *out = strtod(value, &end);
    if (end != value && !*end && *out >= 0 && *out < 1e9)
        return 0;
    tt_complain("record: '--%s' wants seconds, not '%s'", name, value);
    return -TT_ERR_OPTION;
}

static int take_sampled(struct record *r, const char *hz)
{
    char native[40];

    if (add_words(r, "sampled", hz) != 0)
        return -TT_ERR_OPTION;
    (void)snprintf(native, sizeof native, "sampled%s%.20s", hz ? "=" : "", hz ? hz : "");
    return add_words(r, "native", native);
}

static int take_flag(struct record *r, const struct tt_flag *flag, const char *value)
{
    switch ((enum flag)flag->id) {
    case OUTPUT:
        r->out = value;
        break;
    case SAMPLED:
        return take_sampled(r, value);
    case MODE:
    case PASSED:
        return add_words(r, flag->name, value);
    case DELAY:
        return take_seconds(flag->name, value, &r->delay);
    case DURATION:
        return take_seconds(flag->name, value, &r->duration);
    }
    if (r->out && (strcmp(r->out, "-") == 0 || !*r->out)) {
        tt_complain("record: standard output is the program's; -o wants a file");
        return -TT_ERR_OPTION;
    }
    return 0;
}

/* The status to exit with, or less than 0 to go on. */
static int read_flags(struct record *r, int argc, char **argv)
{
    struct tt_flags f;
    int id, status;

    tt_command_flags(&tt_command_record, &f, argc, argv);
    while ((id = tt_command_next(&tt_command_record, &f, &status)) > 0)
        if (take_flag(r, f.flag, f.value) != 0)
            return TT_LAUNCH_FAILED;
    if (id < 0)
        return status == TT_EXIT_DONE ? status : TT_LAUNCH_FAILED;
    if (!f.count) {
        (void)tt_command_wants(&tt_command_record, "a program");
        return TT_LAUNCH_FAILED;
    }
    f.argv[f.count + 1] = NULL;
    r->argv = f.argv + 1;
    return -1;
}

/* ── Where things are ─────────────────────────────────────────────────────────────── */

/* Beside the command where it was built, or in the libraries' folder beside its own. */
static int find_library(char *out, size_t size)
{
    static const char *const places[] = {"", "../lib/", "../lib/tallytree/"};
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);

    if (length < 0)
        length = 0;
    self[length] = '\0';
    if (strrchr(self, '/'))
        strrchr(self, '/')[1] = '\0';
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        int n = snprintf(out, size, "%s%slibtallytree-record.so", self, places[i]);
        if (n > 0 && n < (int)size && access(out, R_OK) == 0)
            break;
        out[0] = '\0';
    }
    if (!out[0]) {
        tt_complain("record: libtallytree-record.so is not where it was installed, "
                    "beside %s",
                    self);
        return -TT_ERR_FILE;
    }
    if (!strpbrk(out, " :\t\n"))
        return 0;
    tt_complain("record: the system's loader takes no library from '%s': its path has "
                "blanks or colons",
                out);
    return -TT_ERR_FILE;
}

/* tallytree.PROGRAM.HOST.PID, unless another name is wanted. */
static void name_output(struct record *r, pid_t pid)
{
    char host[64] = "";

    if (gethostname(host, sizeof host - 1) != 0 || !host[0])
        (void)snprintf(host, sizeof host, "localhost");
    host[strcspn(host, "/")] = '\0';
    if (r->out)
        (void)snprintf(r->name, sizeof r->name, "%s", r->out);
    else
        (void)snprintf(r->name, sizeof r->name, "tallytree.%.200s.%s.%d", r->program.base,
                       host, (int)pid);
}

/* Absolute, as the program may go elsewhere. */
static int name_folder(struct record *r, pid_t pid)
{
    char here[PATH_MAX] = "";
    int n;

    name_output(r, pid);
    if (r->name[0] != '/' && !getcwd(here, sizeof here))
        return -TT_ERR_FILE;
    n = snprintf(r->folder, sizeof r->folder, "%s%s%s.%d.live", here, *here ? "/" : "",
                 r->name, (int)pid);
    return n < (int)sizeof r->folder ? 0 : -TT_ERR_FILE;
}

/* ── The program ──────────────────────────────────────────────────────────────────── */

static uint64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int set_times(const struct record *r)
{
    uint64_t begin = now() + (uint64_t)(r->delay * 1e9),
             end = begin + (uint64_t)(r->duration * 1e9);
    char when[64];

    if (r->delay == 0 && r->duration == 0)
        return unsetenv("TALLYTREE_WHEN");
    (void)snprintf(when, sizeof when, "%llu %llu",
                   (unsigned long long)(r->delay > 0 ? begin : 0),
                   (unsigned long long)(r->duration > 0 ? end : 0));
    return setenv("TALLYTREE_WHEN", when, 1);
}

static int set_clock(void)
{
    struct tt_header h = {.clock = TT_CLOCK_CYCLES};
    char hz[24];

    tt_clock_choose(&h);
    if (h.clock != TT_CLOCK_CYCLES)
        return unsetenv("TALLYTREE_CLOCK");
    (void)snprintf(hz, sizeof hz, "%llu", (unsigned long long)h.ticks_per_second);
    return setenv("TALLYTREE_CLOCK", hz, 1);
}

static int set_preload(const struct record *r)
{
    const char *others = getenv("LD_PRELOAD");
    char *value;
    int error;

    if (asprintf(&value, "%s%s%s", r->library, others && *others ? ":" : "",
                 others ? others : "") < 0)
        return -1;
    error = setenv("LD_PRELOAD", value, 1);
    free(value);
    return error;
}

/* The address sanitizer wants to be loaded first, and ends a program where it is not: we
 * stand before none of its functions. */
static int set_sanitizer(void)
{
    const char *options = getenv("ASAN_OPTIONS");
    char *value;
    int error;

    if (asprintf(&value, "%s%sverify_asan_link_order=0", options ? options : "",
                 options && *options ? ":" : "") < 0)
        return -1;
    error = setenv("ASAN_OPTIONS", value, 1);
    free(value);
    return error;
}

/* In the child. */
static int prepare(void *arg)
{
    struct record *r = arg;

    if (name_folder(r, getpid()) != 0 || mkdir(r->folder, 0700) != 0) {
        tt_complain("record: %s: %s", r->folder, strerror(errno));
        return -1;
    }
    if (set_preload(r) != 0 || set_times(r) != 0 || set_clock() != 0 ||
        set_sanitizer() != 0 || setenv("TALLYTREE", r->words, 1) != 0 ||
        setenv("TALLYTREE_FOLDER", r->folder, 1) != 0) {
        tt_complain("record: no memory");
        (void)rmdir(r->folder);
        return -1;
    }
    return 0;
}

static int run_program(struct record *r)
{
    struct tt_gathering g = {.folder = r->folder,
                             .out = r->name,
                             .program = r->program.base,
                             .reports = r->reports};
    pid_t child = tt_launch(r->program.path, r->argv, prepare, r);
    int status;

    if (child < 0)
        return -child;
    status = tt_launch_wait(child);
    if (name_folder(r, child) == 0)
        (void)tt_gather(&g);
    tt_launch_end(status);
}

static int record(struct record *r)
{
    int status = tt_program_find(&r->program, r->argv[0]);

    if (status || r->program.reason[0]) {
        tt_complain("record: %s", r->program.reason);
        return status ? status : TT_LAUNCH_FAILED;
    }
    if (find_library(r->library, sizeof r->library) != 0)
        return TT_LAUNCH_FAILED;
    return run_program(r);
}

/* ── The command ──────────────────────────────────────────────────────────────────── */

static int run(int argc, char **argv)
{
    static struct record r;
    int status = read_flags(&r, argc, argv);

    return status < 0 ? record(&r) : status;
}

int tt_record_and_report(int argc, char **argv)
{
    static struct record r = {.reports = 1};
    int status = read_flags(&r, argc, argv);

    return status < 0 ? record(&r) : status;
}

const struct tt_command tt_command_record = {
    .name = "record",
    .synopsis = "[FLAGS] [--] PROGRAM [ARGS]",
    .about = "run any program, and record where its time goes",
    .details =
        "Runs a program as it is, and samples its threads and those of its children,\n"
        "250 times in a second of their CPU time, with their whole stacks.  OUT is a\n"
        "profile with names; without -o it is tallytree.PROGRAM.HOST.PID.  Input,\n"
        "output, signals and exit status are the program's; 125 to 127 are ours, as\n"
        "with env(1).  'tallytree PROGRAM ARGS' shows a report too.\n",
    .flags = record_flags,
    .operands = "@files",
    .runs_program = 1,
    .run = run,
};
