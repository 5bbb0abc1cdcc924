/* SPDX-License-Identifier: MIT */
/* cmd-doctor.c - `tallytree doctor`: what this machine allows the calling user, and what
 * to change.
 *
 * It tries everything that can be tried, because the system's settings do not say
 * everything: a container may forbid what they allow. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "cgroups.h"
#include "command.h"
#include "perf-events.h"
#include "program.h"

static const struct tt_flag doctor_flags[] = {
    {NULL, 0, 0, NULL, NULL, NULL},
};

static int missing; /* number of checks that failed */

static void say(int is_there, const char *what, const char *how)
{
    printf("%-4s %-18s %s\n", is_there ? "yes" : "no", what, how);
    missing |= !is_there;
}

/* Returns the number in a file of the system; -1000: there is none. */
static long setting(const char *path)
{
    enum { NONE = -1000 };
    FILE *f = fopen(path, "re");
    long value = NONE;

    if (f && fscanf(f, "%ld", &value) != 1)
        value = NONE;
    if (f)
        (void)fclose(f);
    return value;
}

static int can_open(const struct tt_perf_options *o, int *has_kernel, char *reason,
                    size_t size)
{
    struct tt_perf *e;
    int error = tt_perf_open(&e, o, reason, size);

    if (error)
        return 0;
    *has_kernel = tt_perf_have_kernel(e);
    tt_perf_close(e);
    return 1;
}

static void look_at_events(void)
{
    const pid_t self = getpid();
    struct tt_perf_options one = {.pid = &self, .pids = 1, .hz = 100, .stack = 1024},
                           all = {.is_machine = 1, .hz = 100, .stack = 1024};
    struct tt_sched sched;
    char reason[512] = "";
    int has_kernel = 0, is_allowed = can_open(&one, &has_kernel, reason, sizeof reason);

    say(is_allowed, "perf events",
        is_allowed ? "of your processes: record -p, --kernel, --counter" : reason);
    say(is_allowed && has_kernel, "kernel samples",
        is_allowed && has_kernel ? "time in the kernel counts"
                                 : "no time in the kernel: run as root, or set "
                                   "/proc/sys/kernel/perf_event_paranoid to 1");
    is_allowed = can_open(&all, &has_kernel, reason, sizeof reason);
    say(is_allowed, "whole machine", is_allowed ? "record -a" : reason);
    all.sched = &sched;
    all.wait_stack = 1024;
    is_allowed = tt_sched_find(&sched, reason, sizeof reason) == 0 &&
                 can_open(&all, &has_kernel, reason, sizeof reason);
    say(is_allowed, "waits from outside",
        is_allowed ? "record --locks -p, --locks -a" : reason);
}

/* All addresses are 0 for users that may not see them. */
static void look_at_kernel_symbols(void)
{
    unsigned long long address = 0;
    FILE *f = fopen("/proc/kallsyms", "re");
    int is_there = f && fscanf(f, "%llx", &address) == 1 && address != 0;

    if (f)
        (void)fclose(f);
    say(is_there, "kernel symbols",
        is_there ? "functions of the kernel have names"
                 : "run as root, or set /proc/sys/kernel/kptr_restrict to 0");
}

static void look_at_ticks(void)
{
    struct timespec tick;
    char text[80];
    long hz;

    if (clock_getres(CLOCK_MONOTONIC_COARSE, &tick) != 0 || tick.tv_sec || !tick.tv_nsec)
        return;
    hz = (1000000000 + tick.tv_nsec / 2) / tick.tv_nsec;
    (void)snprintf(text, sizeof text, "%ld Hz from within; more by perf events", hz);
    say(1, "rate of samples", text);
}

static void look_at_preload(void)
{
    static struct tt_program program;
    int status = tt_program_find(&program, "sh");

    say(!status && !program.reason[0], "preload library",
        status || program.reason[0] ? program.reason
                                    : "programs are recorded from within");
}

static void look_at_ptrace(void)
{
    static const char *const about[] = {
        "of all your processes: on and off -p",
        "on and off -p need root: /proc/sys/kernel/yama/ptrace_scope is 1; set it to 0",
        "on and off -p need root: /proc/sys/kernel/yama/ptrace_scope is 2; set it to 0",
        "no process may be attached to: /proc/sys/kernel/yama/ptrace_scope is 3 until "
        "the "
        "next boot",
    };
    long scope = setting("/proc/sys/kernel/yama/ptrace_scope");

    if (scope < 0 || scope > 3)
        scope = 0;
    say(scope == 0 || (scope < 3 && geteuid() == 0), "ptrace",
        scope < 3 && geteuid() == 0 ? "of all processes: on and off -p" : about[scope]);
}

static void look_at_debug_information(void)
{
    const char *servers = getenv("DEBUGINFOD_URLS");
    void *library = dlopen("libdebuginfod.so.1", RTLD_NOW);
    int is_there = library && servers && *servers;

    if (library)
        dlclose(library);
    say(access("/usr/lib/debug/.build-id", R_OK) == 0 || is_there, "debug information",
        is_there ? "record --debuginfod asks the servers of $DEBUGINFOD_URLS"
        : access("/usr/lib/debug/.build-id", R_OK) == 0
            ? "of installed packages, in /usr/lib/debug"
        : library ? "of the system's libraries: set DEBUGINFOD_URLS, or install packages "
                    "*-dbgsym"
                  : "of the system's libraries: install packages *-dbgsym, or "
                    "libdebuginfod1 and set DEBUGINFOD_URLS");
}

static void look_at_cgroups(void)
{
    char mount[PATH_MAX];
    int is_there = tt_cgroups_mount(mount);

    say(is_there, "cgroups",
        is_there ? "of processes: record --cgroup, report --by cgroup"
                 : "of version 2 are not mounted: --by cgroup, container and unit know "
                   "little");
}

static int run(int argc, char **argv)
{
    struct utsname u;
    struct tt_flags f;
    int status;

    tt_command_flags(&tt_command_doctor, &f, argc, argv);
    if (tt_command_next(&tt_command_doctor, &f, &status) < 0)
        return status;
    if (f.count)
        return tt_command_wants(&tt_command_doctor, "no arguments");
    if (uname(&u) == 0)
        printf("%s %s %s, user %u, perf_event_paranoid %ld\n", u.sysname, u.release,
               u.machine, (unsigned)geteuid(),
               setting("/proc/sys/kernel/perf_event_paranoid"));
    look_at_preload();
    look_at_ticks();
    look_at_events();
    look_at_kernel_symbols();
    look_at_debug_information();
    look_at_ptrace();
    look_at_cgroups();
    return missing ? TT_EXIT_NO : TT_EXIT_DONE;
}

const struct tt_command tt_command_doctor = {
    .name = "doctor",
    .synopsis = "",
    .about = "what this machine allows, and what to change",
    .details =
        "Tries what recording needs, and where something is missing says how to get it.\n"
        "The exit status is 1 where something is missing.\n",
    .flags = doctor_flags,
    .run = run,
};
