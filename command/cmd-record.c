/* SPDX-License-Identifier: MIT */
/* cmd-record.c - `tallytree record` and `tallytree PROGRAM`: records any unmodified
 * program.
 *
 * The program is started with a library that samples it from within, see preload/.  Its
 * processes write into a folder beside the output; after the program has ended, that
 * becomes one profile with names.  Programs that the library cannot be loaded into, and
 * running processes, are sampled from outside.  Whatever fails here, the program's status
 * is passed on. */
#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "calibrate.h"
#include "cgroups.h"
#include "clock.h"
#include "cmd-record.h"
#include "command.h"
#include "complain.h"
#include "continuous.h"
#include "launch.h"
#include "options.h"
#include "outside.h"
#include "replacing.h"

enum flag {
    OUTPUT = 1,
    PROCESS,
    MACHINE,
    CGROUP,
    USER,
    PROCESSOR,
    LINKED,
    SERIES,
    SAMPLED,
    PASSED,
    PROFILE,
    MANNER,
    HEAP,
    MAPS,
    LOCKS,
    WALL,
    INTERPRETERS,
    COUNTER,
    WHOLE,
    KERNEL,
    STACK,
    SIDE,
    DELAY,
    DURATION,
    INTERVAL,
    KEEP,
    KEEP_SIZE,
    PUSH,
    LINES,
    SYMBOLS,
    INLINES,
    DEBUGINFOD
};

static const struct tt_flag record_flags[] = {
    {"output", 'o', OUTPUT, "OUT", "@files", "write the profile to OUT"},
    TT_REPLACING_FLAG,
    {"pid", 'p', PROCESS, "PID,...", NULL,
     "attach to these processes and their children"},
    {"all", 'a', MACHINE, NULL, NULL, "sample the whole machine, 100 Hz per processor"},
    {"all-cpus", 0, MACHINE, NULL, NULL, NULL}, /* as perf has it */
    {"cgroup", 0, CGROUP, "PATH", "@files", "like -a, only this cgroup"},
    {"user", 0, USER, "NAME", NULL, "like -a, only processes of this user"},
    {"cpu", 0, PROCESSOR, "LIST", NULL, "like -a, only on these processors, as 0,2-3"},
    {"sampled", 0, SAMPLED, "[HZ]", NULL,
     "HZ samples per second of CPU time (default: 250)"},
    {NULL, 'F', SAMPLED, "HZ", NULL, NULL},   /* as perf has it */
    {NULL, 'e', COUNTER, "NAME", NULL, NULL}, /* as perf has it */
    {NULL, 'g', WHOLE, NULL, NULL, NULL},     /* perf's stacks: ours are always there */
    {"wall", 0, WALL, NULL, NULL, "record waiting time, too, and what threads wait for"},
    {"interpreters", 0, INTERPRETERS, "WHICH", "all none",
     "show functions of scripts: all (default) or none"},
    {"counter", 0, COUNTER, "NAME",
     "cycles instructions cache-misses branch-misses page-faults major-faults "
     "context-switches cpu-migrations",
     "record an event of the system; may be repeated"},
    {"kernel", 0, KERNEL, NULL, NULL, "sample by perf events, with kernel functions"},
    {"all-kernel", 0, SIDE, NULL, NULL, NULL}, /* as perf has it: and no user code */
    {"all-user", 0, SIDE, NULL, NULL, NULL},
    {"stack-size", 0, STACK, "BYTES", NULL,
     "perf events: copy BYTES of each stack (default: 32K)"},
    {"exact", 0, LINKED, NULL, NULL, "scopes and functions: count and time all calls"},
    {"calls", 0, LINKED, NULL, NULL, "scopes and functions: count all calls"},
    {"every", 0, LINKED, "N", NULL,
     "scopes and functions: count all calls, time each N-th"},
    {"heap", 0, HEAP, "[BYTES]", NULL, "record allocations; BYTES: sample one in BYTES"},
    {"maps", 0, MAPS, NULL, NULL, NULL},
    {"locks", 0, LOCKS, NULL, NULL,
     "record waits for locks and pipes, and what ended them"},
    {"recursion", 0, PASSED, "POLICY", TT_RECURSION_VALUES,
     "how recursion is folded (default: none; scopes: edge)"},
    {"budget", 0, PASSED, "BYTES", NULL,
     "limit memory of each process (default: 64M; -a: 256M)"},
    {"log", 0, PASSED, "SIZE", "none", NULL},
    {"histogram", 0, LINKED, NULL, NULL, NULL},
    {"slowest", 0, LINKED, "SCOPE:K", NULL, NULL},
    {"stacks", 0, LINKED, "RULE", TT_STACKS_VALUES, NULL},
    {"space-rate", 0, LINKED, "BYTES", NULL, NULL},
    {"space", 0, LINKED, "WHICH", TT_SPACE_VALUES, NULL},
    {"series", 0, SERIES, "WHICH", TT_SERIES_VALUES, NULL},
    /* The names that MLWorks' runtime has for them. */
    {"profile", 0, PROFILE, "OUT", "@files", NULL},
    {"profile-scan", 0, MANNER, "MS", NULL, NULL},
    {"profile-depth", 0, MANNER, "N", NULL, NULL},
    {"profile-select", 0, MANNER, "TEXT", NULL, NULL},
    {"profile-manner", 0, MANNER, "N", NULL, NULL},
    {"delay", 0, DELAY, "SECONDS", NULL,
     "start recording SECONDS after the program starts"},
    {"duration", 0, DURATION, "SECONDS", NULL, "record for SECONDS"},
    {"interval", 0, INTERVAL, "TIME", NULL,
     "-a, -p: a profile every TIME, as 1m, in the folder OUT"},
    {"keep", 0, KEEP, "TIME", NULL,
     "with --interval: keep profiles for TIME (default: 24h)"},
    {"keep-size", 0, KEEP_SIZE, "SIZE", NULL,
     "with --interval: keep at most SIZE of profiles"},
    {"push", 0, PUSH, "URL", NULL, NULL},
    {"lines", 0, LINES, NULL, NULL, "show each line of a function below it"},
    {"no-inlines", 0, INLINES, NULL, NULL, "charge inlined functions to their callers"},
    {"symbols", 0, SYMBOLS, "DIR", "@files",
     "look for debug information in DIR; may be repeated"},
    {"debuginfod", 0, DEBUGINFOD, NULL, NULL,
     "fetch debug information from $DEBUGINFOD_URLS"},
    {NULL, 0, 0, NULL, NULL, NULL},
};

/* ms */
#define DEFAULT_KEEP (24 * 3600 * 1000)

/* A sample of each processor takes less than 100 us. */
#define MACHINE_HZ "100"
#define MACHINE_BUDGET "256M" /* each of many programs has other contexts */

struct record {
    char words[2048];             /* for the runtime */
    double delay, duration;       /* duration 0: until it ends */
    struct tt_chain_limits chain; /* interval 0: it is one profile */
    const char *push;             /* where the profiles are sent; NULL: nowhere */
    const char *chained;          /* a flag of what needs an interval; NULL: none */
    int profile, manner; /* -profile is given; one of the flags that want it is */
    const char *heap;    /* NULL: not; "0": every event */
    int maps, wall, locks, series; /* series: which of them was said */
    int is_bare;                   /* functions of interpreters are not shown */
    int counts;                    /* a mode of calls is asked for */
    int switches;                  /* the program's functions can be switched on */
    const char *linked; /* an option that does not work from outside; NULL: none */
    struct tt_counter counter[TT_COUNTERS_MAX];
    uint32_t counters;
    int kernel; /* from outside, where the kernel is seen too */
    int is_machine;
    struct tt_attach_filter filter; /* of a machine's processes */
    unsigned char *processor;       /* owned; of each: is it recorded?  NULL: all are */
    int is_rated, is_budgeted;      /* the rate of samples is given; the budget is */
    enum tt_perf_side side;
    uint64_t stack; /* bytes of each stack that are copied from outside; 0: as ever */
    struct tt_vector
        pids; /* pid_t: processes that run; none: a program is to be started */
    struct tt_running run;
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
    return tt_command_cannot(&tt_command_record, name, value ? value : "");
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

static int take_heap(struct record *r, const struct tt_flags *f)
{
    static char text[24];
    uint64_t n = 0;

    if (f->value && tt_command_bytes(&tt_command_record, f, 0, 1ull << 60, &n) != 0)
        return -TT_ERR_OPTION;
    (void)snprintf(text, sizeof text, "%llu", n > 1 ? (unsigned long long)n : 0);
    r->heap = text;
    return 0;
}

/* The compiler's hooks are measured as scopes are. */
static int take_mode(struct record *r, const char *name, const char *value)
{
    char mode[40];

    if (add_words(r, name, value) != 0)
        return -TT_ERR_OPTION;
    r->counts |= strcmp(name, "calls") == 0;
    if (strcmp(name, "exact") != 0 && strcmp(name, "every") != 0)
        return 0;
    r->counts = 1;
    (void)snprintf(mode, sizeof mode, "%s%s%.20s", name, value ? ":" : "",
                   value ? value : "");
    return add_words(r, "hooks", mode);
}

/* NAME, or NAME=PERIOD. */
static int take_counter(struct record *r, const char *value)
{
    char name[40];
    size_t length = strcspn(value, "=");
    const struct tt_counter *c;

    (void)snprintf(name, sizeof name, "%.*s", (int)(length < 39 ? length : 39), value);
    c = tt_counter_find(name);
    if (!c)
        return tt_command_cannot(&tt_command_record, "counter", name);
    if (r->counters == TT_COUNTERS_MAX) {
        tt_complain("record: at most %d counters can be recorded", TT_COUNTERS_MAX);
        return -TT_ERR_OPTION;
    }
    r->counter[r->counters] = *c;
    if (value[length] && tt_flag_number(value + length + 1, 1, 1000000000000u,
                                        &r->counter[r->counters].period) != 0) {
        tt_complain("record: '--counter' wants NAME=PERIOD, not '%s'", value);
        return -TT_ERR_OPTION;
    }
    r->counters++;
    return 0;
}

/* The kernel's limit, which is that of a record's 16 bits. */
static int take_stack(struct record *r, const struct tt_flags *f)
{
    enum { LEAST = 256 };
    int error = tt_flag_bytes(f->value, LEAST, TT_PERF_STACK_MAX, &r->stack);

    if (error)
        tt_complain("record: '--stack-size' wants %d to %d bytes, as 64000 or 48K, not "
                    "'%s'",
                    LEAST, TT_PERF_STACK_MAX, f->value);
    return error;
}

static int take_interpreters(struct record *r, const char *value)
{
    r->is_bare = strcmp(value, "none") == 0;
    return r->is_bare || strcmp(value, "all") == 0
               ? 0
               : tt_command_cannot(&tt_command_record, "interpreters", value);
}

/* "12,34" */
static int take_processes(struct record *r, const struct tt_flags *f)
{
    struct tt_flags one = *f;
    char number[24];
    pid_t *pid;
    int error = 0;

    for (const char *at = f->value; !error && at; at = strchr(at, ',')) {
        at += *at == ',';
        (void)snprintf(number, sizeof number, "%.*s", (int)strcspn(at, ","), at);
        one.value = number;
        pid = tt_vector_add(&r->pids, 1);
        error = pid ? tt_command_process(&tt_command_record, &one, pid) : -TT_ERR_MEMORY;
    }
    return error;
}

static int take_cgroup(struct record *r, const char *value)
{
    static char name[PATH_MAX];
    char reason[2 * PATH_MAX];

    r->is_machine = 1;
    r->filter.cgroup = tt_cgroups_find(value, name, reason, sizeof reason);
    if (r->filter.cgroup)
        return 0;
    tt_complain("record: %s", reason);
    return -TT_ERR_OPTION;
}

static int take_user(struct record *r, const char *value)
{
    const struct passwd *p = getpwnam(value);
    uint64_t id;

    r->is_machine = r->filter.has_user = 1;
    if (p)
        r->filter.user = p->pw_uid;
    else if (tt_flag_number(value, 0, (uid_t)-1 - 1, &id) == 0)
        r->filter.user = (uid_t)id;
    else
        tt_complain("record: there is no user '%s'", value);
    return p || tt_flag_number(value, 0, (uid_t)-1 - 1, &id) == 0 ? 0 : -TT_ERR_OPTION;
}

/* "0,2-3" */
static int take_processors(struct record *r, const char *value)
{
    const long count = sysconf(_SC_NPROCESSORS_CONF);
    const char *at = value;
    char *end;
    int given = 0;

    r->is_machine = 1;
    if (!r->processor && !(r->processor = calloc((size_t)count, 1)))
        return -TT_ERR_MEMORY;
    for (; *at >= '0' && *at <= '9'; at = *end == ',' ? end + 1 : end) {
        long first = strtol(at, &end, 10),
             last = *end == '-' && end[1] >= '0' && end[1] <= '9'
                        ? strtol(end + 1, &end, 10)
                        : first;
        if (first > last || last >= count || (*end && *end != ','))
            break;
        memset(r->processor + first, 1, (size_t)(last - first + 1));
        given = !*end;
    }
    if (given && !*at)
        return 0;
    tt_complain("record: '--cpu' wants processors from 0 to %ld, as 0,2-3, not '%s'",
                count - 1, value);
    return -TT_ERR_OPTION;
}

static int take_profile(struct record *r, const char *value)
{
    r->profile = 1;
    if (tt_running_writes(&r->run, "record", value) != 0)
        return -TT_ERR_OPTION;
    return r->manner ? 0 : add_words(r, "profile-manner", "7");
}

/* NOLINTNEXTLINE(readability-function-size): one case each */
static int take_flag(struct record *r, const struct tt_flags *f)
{
    const struct tt_flag *flag = f->flag;
    const char *value = f->value;

    if (flag->id == LINKED || flag->id == SERIES || flag->id == MANNER ||
        flag->id == PROFILE || flag->id == HEAP || flag->id == MAPS || flag->id == WALL)
        r->linked = flag->name;
    if (flag->id == KEEP || flag->id == KEEP_SIZE)
        r->chained = flag->name;
    switch ((enum flag)flag->id) {
    case OUTPUT:
        r->run.out = value;
        break;
    case PROCESS:
        return take_processes(r, f);
    case MACHINE:
        r->is_machine = 1;
        break;
    case CGROUP:
        return take_cgroup(r, value);
    case USER:
        return take_user(r, value);
    case PROCESSOR:
        return take_processors(r, value);
    case SAMPLED:
        r->is_rated |= value != NULL;
        return take_sampled(r, value);
    case SERIES:
        r->series = 1;
        return add_words(r, flag->name, value);
    case LINKED:
        return take_mode(r, flag->name, value);
    case PASSED:
        r->is_budgeted |= strcmp(flag->name, "budget") == 0;
        return add_words(r, flag->name, value);
    case MANNER:
        r->manner = 1;
        return add_words(r, flag->name, value);
    case PROFILE:
        return take_profile(r, value);
    case HEAP:
        return take_heap(r, f);
    case MAPS:
        r->maps = 1;
        break;
    case LOCKS:
        r->locks = 1;
        break;
    case INTERPRETERS:
        return take_interpreters(r, value);
    case COUNTER:
        return take_counter(r, value);
    case WHOLE:
        break;
    case KERNEL:
        r->kernel = 1;
        break;
    case SIDE:
        r->kernel = 1;
        r->side = strcmp(flag->name, "all-user") == 0 ? TT_PERF_USER : TT_PERF_KERNEL;
        break;
    case INLINES:
        r->run.naming.no_inlines = 1;
        break;
    case STACK:
        return take_stack(r, f);
    case WALL:
        r->wall = 1;
        break;
    case DELAY:
        return take_seconds(flag->name, value, &r->delay);
    case DURATION:
        return take_seconds(flag->name, value, &r->duration);
    case INTERVAL:
        return tt_command_time(&tt_command_record, f, &r->chain.interval);
    case KEEP:
        return tt_command_time(&tt_command_record, f, &r->chain.keep);
    case KEEP_SIZE:
        return tt_command_bytes(&tt_command_record, f, 1, 1ull << 60, &r->chain.size);
    case PUSH:
        r->push = value;
        return 0;
    case LINES:
        r->run.naming.lines = 1;
        break;
    case DEBUGINFOD:
        r->run.naming.options.debuginfod = 1;
        break;
    case SYMBOLS:
        return tt_names_folder(&r->run.naming, value);
    }
    return 0;
}

static int complain_of_chain(const char *wants)
{
    (void)tt_command_wants(&tt_command_record, wants);
    return -TT_ERR_OPTION;
}

/* A file, or a folder for a chain of profiles. */
static int check_output(struct record *r)
{
    struct tt_chain_limits *c = &r->chain;

    if (!c->interval && r->push)
        return complain_of_chain(
            "--interval with --push; 'tallytree push' sends a finished profile");
    if (!c->interval && r->chained)
        return complain_of_chain("--interval with --keep and --keep-size");
    if (!c->interval)
        return r->run.out ? tt_running_writes(&r->run, "record", r->run.out) : 0;
    if (!r->run.out)
        return complain_of_chain("a folder with --interval: -o FOLDER");
    if (r->run.argv[0] || (!r->is_machine && !r->pids.count))
        return complain_of_chain("-a or -p with --interval, and no program");
    if (r->push && tt_continuous_can_push(r->push) != 0)
        return -TT_ERR_OPTION;
    c->keep = c->keep ? c->keep : DEFAULT_KEEP;
    return c->keep >= c->interval
               ? 0
               : complain_of_chain("--keep to be longer than --interval");
}

/* Returns the status to exit with, or less than 0 to continue. */
static int read_flags(struct record *r, int argc, char **argv)
{
    struct tt_flags f;
    int id, status;

    tt_command_flags(&tt_command_record, &f, argc, argv);
    while ((id = tt_command_next(&tt_command_record, &f, &status)) > 0)
        if (take_flag(r, &f) != 0)
            return TT_LAUNCH_FAILED;
    if (id < 0)
        return status == TT_EXIT_DONE ? status : TT_LAUNCH_FAILED;
    if (r->maps && !r->heap) {
        (void)tt_command_wants(&tt_command_record, "--heap with --maps");
        return TT_LAUNCH_FAILED;
    }
    if (r->heap && r->locks) {
        tt_complain("record: --heap and --locks cannot be combined: make two recordings");
        return TT_LAUNCH_FAILED;
    }
    if (r->heap && !r->series && add_words(r, "series", "type+block") != 0)
        return TT_LAUNCH_FAILED;
    if (r->manner && !r->profile) {
        (void)tt_command_wants(&tt_command_record, "-profile OUT with these flags");
        return TT_LAUNCH_FAILED;
    }
    if (r->is_machine && !r->is_rated && take_sampled(r, MACHINE_HZ) != 0)
        return TT_LAUNCH_FAILED;
    if (r->is_machine && !r->is_budgeted && !r->chain.interval &&
        add_words(r, "budget", MACHINE_BUDGET) != 0)
        return TT_LAUNCH_FAILED;
    if (r->is_machine && r->pids.count) {
        (void)tt_command_wants(
            &tt_command_record,
            "either -p, or -a with what selects processes of the machine");
        return TT_LAUNCH_FAILED;
    }
    if (!r->is_machine && !f.count != (r->pids.count != 0)) {
        (void)tt_command_wants(&tt_command_record, r->pids.count
                                                       ? "a program or -p, and not both"
                                                       : "a program");
        return TT_LAUNCH_FAILED;
    }
    f.argv[f.count + 1] = NULL;
    r->run.argv = f.argv + 1;
    return check_output(r) == 0 ? -1 : TT_LAUNCH_FAILED;
}

/* ── The program ──────────────────────────────────────────────────────────────────── */

/* Clears variables that were not requested: this process may be recorded itself. */
static int set(const char *name, const char *value)
{
    return value ? setenv(name, value, 1) : unsetenv(name);
}

static int set_times(const struct record *r)
{
    uint64_t begin = tt_clock_monotonic() + (uint64_t)(r->delay * 1e9),
             end = begin + (uint64_t)(r->duration * 1e9);
    char when[64];

    (void)snprintf(when, sizeof when, "%llu %llu",
                   (unsigned long long)(r->delay > 0 ? begin : 0),
                   (unsigned long long)(r->duration > 0 ? end : 0));
    return set("TALLYTREE_WHEN", r->delay > 0 || r->duration > 0 ? when : NULL);
}

/* Measures how fast the counter runs, and the cost of exact times if they are wanted, once for
 * all processes. */
static int set_clock(const struct record *r)
{
    struct tt_header h = {.clock = TT_CLOCK_CYCLES};
    struct tt_options o;
    char known[128];

    tt_clock_choose(&h);
    if (tt_options_read(&o, r->words, NULL) == 0 && tt_options_are_exact(&o))
        tt_calibrate(&h);
    (void)snprintf(known, sizeof known, "%llu %llu %llu %llu %llu",
                   (unsigned long long)h.ticks_per_second,
                   (unsigned long long)h.inside.low, (unsigned long long)h.inside.high,
                   (unsigned long long)h.outside.low, (unsigned long long)h.outside.high);
    return set("TALLYTREE_CLOCK", h.clock == TT_CLOCK_CYCLES ? known : NULL);
}

/* The address sanitizer wants to be loaded first, and otherwise ends the program.  It
 * need not be first here: our library replaces none of its functions. */
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

/* Python allocates small objects within large blocks, unless a variable makes it call
 * malloc for each object.  If the user has set the variable, it is kept. */
static int set_allocator(const struct record *r)
{
    return r->heap && !r->is_bare ? setenv("PYTHONMALLOC", "malloc", 0) : 0;
}

/* In the child. */
static int prepare(void *arg)
{
    const struct record *r = arg;

    if (set_times(r) == 0 && set_clock(r) == 0 && set_sanitizer() == 0 &&
        set_allocator(r) == 0 && set("TALLYTREE", r->words) == 0 &&
        set("TALLYTREE_FUNCTIONS", r->switches ? "1" : NULL) == 0 &&
        set("TALLYTREE_HEAP", r->heap) == 0 &&
        set("TALLYTREE_INTERPRETERS", r->is_bare ? "none" : NULL) == 0 &&
        set("TALLYTREE_LINES", r->run.naming.lines ? "1" : NULL) == 0 &&
        set("TALLYTREE_WALL", r->wall ? "1" : NULL) == 0 &&
        set("TALLYTREE_MAPS", r->maps ? "1" : NULL) == 0)
        return 0;
    tt_complain("record: no memory");
    return -1;
}

/* ── From outside ─────────────────────────────────────────────────────────────────── */

static int refuse_linked(const struct record *r, const char *reason)
{
    if (r->wall)
        tt_complain("record: --wall needs the preload library, which cannot be loaded: "
                    "%s; as root, --locks records waits from outside, and --counter "
                    "context-switches shows where threads stop running",
                    reason);
    else
        tt_complain("record: '--%s' works only in-process: %s", r->linked, reason);
    return TT_LAUNCH_FAILED;
}

static int record_chain(struct record *r, struct tt_outside_options *o)
{
    struct tt_continuous c = {.run = &r->run,
                              .options = o,
                              .pid = r->pids.item,
                              .pids = r->pids.count,
                              .limits = r->chain,
                              .push = r->push};

    return tt_continuous_go(&c);
}

static int record_outside(struct record *r)
{
    struct tt_outside_options o = {
        .words = r->words,
        .delay = r->delay,
        .duration = r->duration,
        .counters = r->counters,
        .is_kernel_asked_for = r->kernel && r->side != TT_PERF_USER,
        .is_asked_for = r->counters || r->kernel || r->is_machine,
        .side = r->side,
        .is_machine = r->is_machine,
        .processor = r->processor,
        .filter = r->filter,
        .stack = r->stack ? (uint32_t)r->stack : TT_PERF_STACK,
        .wait_stack = !r->locks  ? 0
                      : r->stack ? (uint32_t)r->stack
                                 : TT_PERF_WAIT_STACK};

    memcpy(o.counter, r->counter, sizeof o.counter);
    o.filter.is_bare = r->is_bare;
    if (r->linked)
        return refuse_linked(r, r->is_machine   ? "-a records from outside"
                                : r->pids.count ? "the process runs already"
                                                : r->run.program.reason);
    if (r->locks && r->processor) {
        tt_complain(
            "record: '--locks' needs all processors, because a thread may wake up on "
            "another one: leave out '--cpu'");
        return TT_LAUNCH_FAILED;
    }
    if (r->chain.interval)
        return record_chain(r, &o);
    if (r->is_machine && !r->run.argv[0])
        return tt_outside_machine(&r->run, &o);
    return r->pids.count ? tt_outside_attach(&r->run, r->pids.item, r->pids.count, &o)
                         : tt_outside_go(&r->run, &o);
}

/* Then only calls are wanted: native stacks are not sampled. */
static int can_switch(const struct record *r)
{
#ifdef __x86_64__
    return r->counts && !r->heap && !r->wall && !r->locks && !r->profile &&
           !r->counters && !r->run.program.outside &&
           tt_program_is_patchable(&r->run.program);
#else
    (void)r;
    return 0;
#endif
}

/* Sanitizers have an allocator that needs its real callers and must be loaded first; the
 * thread sanitizer must also create each thread. */
static int refuse_sanitizer(const struct record *r)
{
    const struct tt_program *p = &r->run.program;
    const char *const flag = r->heap ? "heap" : r->locks ? "locks" : "wall";
    int of_threads, of_memory;

    if (!tt_program_names(p, "san_init"))
        return 0;
    of_threads = tt_program_names(p, "__tsan_init");
    of_memory = tt_program_names(p, "__asan_init") ||
                tt_program_names(p, "__msan_init") ||
                tt_program_names(p, "__hwasan_init");
    if (!((r->heap || r->locks) && (of_memory || of_threads)) && !(r->wall && of_threads))
        return 0;
    tt_complain(
        "record: '--%s' does not work in a program with the %s sanitizer: %s; build "
        "it without '-fsanitize', or leave out '--%s'",
        flag, of_threads ? "thread" : "address", r->run.program.path, flag);
    return TT_LAUNCH_FAILED;
}

/* Timers of CPU time end at the kernel's ticks, perf events do not.  Libraries that are
 * linked or loaded can only be seen from within. */
static int is_beyond_ticks(const struct record *r)
{
    struct tt_options o;
    struct timespec tick;

    return tt_options_read(&o, r->words, NULL) == 0 &&
           clock_getres(CLOCK_MONOTONIC_COARSE, &tick) == 0 && !tick.tv_sec &&
           (uint64_t)o.hz * (uint64_t)tick.tv_nsec > 1000000000u && !r->linked &&
           !r->locks && !r->profile && !tt_program_names(&r->run.program, "tt_start") &&
           tt_perf_is_allowed();
}

/* Returns why it is recorded from outside, although it could be from within; NULL: it is
 * not. */
static const char *choose_outside(const struct record *r)
{
    return r->is_machine        ? "of the machine"
           : r->counters        ? "the system counts"
           : r->kernel          ? "with the kernel"
           : is_beyond_ticks(r) ? "the rate is more than the system's ticks allow"
                                : NULL;
}

static int record(struct record *r)
{
    int status;

    if (r->run.out && !r->chain.interval && tt_replacing_check(r->run.out) != 0)
        return TT_LAUNCH_FAILED;
    if (r->pids.count || (r->is_machine && !r->run.argv[0]))
        return record_outside(r);
    r->run.is_outside = 1;
    status = tt_running_find(&r->run, "record",
                             r->heap    ? "libtallytree-heap.so"
                             : r->locks ? "libtallytree-locks.so"
                                        : "libtallytree-record.so");
    if (!status && !r->run.program.outside &&
        (r->run.program.outside = choose_outside(r)) != NULL)
        (void)snprintf(r->run.program.reason, sizeof r->run.program.reason,
                       "%s records from outside", r->counters ? "--counter" : "--kernel");
    if (!status && r->run.program.outside)
        return record_outside(r);
    if (!status && r->stack) {
        tt_complain(
            "record: '--stack-size' applies only to recording from outside, because "
            "in-process stacks are not copied: leave it out, or add --kernel");
        return TT_LAUNCH_FAILED;
    }
    if (!status && (r->heap || r->wall || r->locks))
        status = refuse_sanitizer(r);
    r->switches = !status && can_switch(r);
    if (r->switches)
        status = tt_running_find(&r->run, "record", "libtallytree-switch.so.0");
    return status ? status : tt_running_go(&r->run, prepare, r);
}

/* ── The command ──────────────────────────────────────────────────────────────────── */

static int run(int argc, char **argv)
{
    static struct record r = {.pids.size = sizeof(pid_t)};
    int status = read_flags(&r, argc, argv);

    return status < 0 ? record(&r) : status;
}

int tt_record_and_report(int argc, char **argv)
{
    static struct record r = {.run.reports = 1, .pids.size = sizeof(pid_t)};
    int status = read_flags(&r, argc, argv);

    return status < 0 ? record(&r) : status;
}

const struct tt_command tt_command_record = {
    .name = "record",
    .synopsis = "[FLAGS] [--] PROGRAM [ARGS]\n[FLAGS] -p PID,...\n[FLAGS] -a [[--] "
                "PROGRAM [ARGS]]",
    .about = "run a program and record where its time goes",
    .details =
        "Runs an unmodified program and samples its threads and child processes with\n"
        "whole stacks, 250 times per second of CPU time. OUT is a profile with names\n"
        "(default: tallytree.PROGRAM.HOST.PID.tt). Input, output, signals and exit\n"
        "status are the program's; Tallytree's own errors end with 125 to 127.\n"
        "'tallytree PROGRAM ARGS' also prints a report. -p attaches to running\n"
        "processes, -a to the whole machine, until they end or Ctrl-C.\n",
    .flags = record_flags,
    .operands = "@files",
    .runs_program = 1,
    .run = run,
};
