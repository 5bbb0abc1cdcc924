/* SPDX-License-Identifier: MIT */
/* outside.c - processes recorded from outside.
 *
 * This process has the recording; the one that is recorded knows nothing of it.  Between two
 * looks at what the system has written we sleep, or see the process end. */
#include "outside.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach.h"
#include "clock.h"
#include "command.h"
#include "control.h"
#include "launch.h"
#include "unseen.h"

struct outside {
    struct tt_running *run;
    const struct tt_outside_options *options;
    const pid_t *pid; /* of those that are recorded; the first gives the name */
    size_t pids, at;  /* at: the one that we wait for; those before it have ended */
    int fd;           /* its descriptor; -1: there are none of processes */
    const char *why;  /* from outside, for the header */
    pid_t child;      /* that we have started */
    int at_exec;      /* it is about to become the program */
    struct tt_attach *attach;
    struct tt_options runtime;
};

static volatile int interrupted;

/* ── Beginning ────────────────────────────────────────────────────────────────────── */

/* There are no scopes to measure from outside, and time is what the events count. */
static int read_options(struct outside *o)
{
    struct tt_options *r = &o->runtime;
    int error = tt_options_read(r, o->options->words, NULL), n;

    for (int i = 0; i < TT_KINDS; i++)
        r->mode[i] = TT_MODE_CALLS;
    r->mode[TT_KIND_NATIVE] = TT_MODE_SAMPLED;
    r->clock = TT_CLOCK_MONOTONIC;
    n = snprintf(r->output, sizeof r->output, "%s/%s.%d", o->run->folder,
                 o->run->program.base, (int)o->pid[0]);
    return error || (n > 0 && n < (int)sizeof r->output) ? error : -TT_ERR_OPTION;
}

static int open_events(struct outside *o)
{
    struct tt_perf_options p = {.pid = o->pid,
                                .pids = o->pids,
                                .side = o->options->side,
                                .hz = o->runtime.hz,
                                .stack = o->options->stack,
                                .at_exec = o->at_exec && o->options->delay == 0,
                                .counters = o->options->counters};
    char reason[512];
    int error;

    memcpy(p.counter, o->options->counter, sizeof p.counter);
    error = tt_attach_open(&o->attach, &p, reason, sizeof reason);

    if (error)
        tt_complain("record: %s", reason);
    return error;
}

static int start_recording(struct outside *o)
{
    int error = tt_start_with(&o->runtime);

    if (error) {
        tt_complain("record: %s: %s", o->runtime.output, tt_error_text(error));
        return error;
    }
    tt_attach_describe(o->attach, o->run->program.base, o->why);
    return 0;
}

static int begin_in_folder(struct outside *o)
{
    int error = read_options(o);

    if (error) {
        tt_complain("record: %s: %s", o->run->name, tt_error_text(error));
        return error;
    }
    error = open_events(o);
    if (!error && (error = start_recording(o)) != 0) {
        tt_attach_close(o->attach);
        o->attach = NULL;
    }
    return error;
}

/* Nothing is missed from here on; on failure nothing is left behind. */
static int begin(struct outside *o)
{
    int error;

    if (tt_running_make(o->run, o->pid[0]) != 0) {
        tt_complain("record: %s: %s", o->run->folder, strerror(errno));
        return -TT_ERR_FILE;
    }
    error = begin_in_folder(o);
    if (error)
        (void)rmdir(o->run->folder);
    return error;
}

/* The program could not be started. */
static void cancel(struct outside *o)
{
    if (!o->attach)
        return;
    tt_attach_close(o->attach);
    (void)tt_stop();
    (void)unlink(o->runtime.output);
    (void)rmdir(o->run->folder);
}

/* ── Sampling ─────────────────────────────────────────────────────────────────────── */

/* Ours is left to be waited for. */
static int has_ended(const struct outside *o)
{
    siginfo_t info = {.si_pid = 0};

    if (o->at_exec)
        return waitid(P_PID, (id_t)o->pid[o->at], &info, WEXITED | WNOHANG | WNOWAIT) !=
                   0 ||
               info.si_pid != 0;
    return kill(o->pid[o->at], 0) != 0 && errno == ESRCH;
}

/* The next process that runs; 0: there is none. */
static int watch(struct outside *o)
{
    for (; o->at < o->pids; o->at++) {
        o->fd = (int)syscall(SYS_pidfd_open, (long)o->pid[o->at], 0L);
        if (o->fd >= 0 || !has_ended(o))
            return 1;
    }
    return 0;
}

static void unwatch(struct outside *o)
{
    if (o->fd >= 0)
        close(o->fd);
    o->fd = -1;
}

/* Sleeps; 0 when all processes have ended.  Where there are no descriptors of processes, one
 * has ended when its parent has seen that. */
static int rest(struct outside *o, unsigned ms)
{
    struct pollfd p = {.fd = o->fd, .events = POLLIN};

    if (poll(&p, 1, (int)ms) != 1 && !(o->fd < 0 && has_ended(o)))
        return 1;
    unwatch(o);
    o->at++;
    return watch(o);
}

/* 0 when all ended before that time. */
static int wait_until(struct outside *o, uint64_t when)
{
    while (tt_clock_monotonic() < when)
        if (interrupted || !rest(o, 20))
            return 0;
    return 1;
}

static void take_samples(struct outside *o, uint64_t end)
{
    unsigned ms = tt_attach_step(o->attach);

    while (!interrupted && tt_clock_monotonic() < end && rest(o, ms))
        ms = tt_attach_step(o->attach);
}

/* A link in the folder, as those of processes that are recorded from within. */
static void note_unseen(void *arg, const char *program)
{
    const struct outside *o = arg;
    char path[PATH_MAX + 64];

    for (int i = 0; i < 1000; i++) {
        (void)snprintf(path, sizeof path, "%s/" TT_UNSEEN_EVENTS "%d", o->run->folder, i);
        if (symlink(program, path) == 0 || errno != EEXIST)
            return;
    }
}

/* Until all processes have ended, or the duration is over, or we are interrupted. */
static void sample(struct outside *o)
{
    const struct tt_outside_options *t = o->options;
    uint64_t begin = tt_clock_monotonic() + (uint64_t)(t->delay * 1e9),
             end = t->duration > 0 ? begin + (uint64_t)(t->duration * 1e9) : UINT64_MAX;

    o->fd = -1;
    if (watch(o) && wait_until(o, begin)) {
        if (!o->at_exec || t->delay > 0)
            tt_attach_start(o->attach);
        take_samples(o, end);
    }
    tt_attach_stop(o->attach);
    tt_attach_unseen(o->attach, note_unseen, o);
    tt_attach_close(o->attach);
    unwatch(o);
    (void)tt_stop();
}

/* ── A program ────────────────────────────────────────────────────────────────────── */

static int prepare_nothing(void *arg)
{
    (void)arg;
    return 0;
}

static int started(void *arg, pid_t child)
{
    struct outside *o = arg;
    int error;

    o->child = child;
    o->pid = &o->child;
    o->pids = 1;
    error = begin(o);
    if (error && !o->options->is_asked_for)
        tt_complain("record: %s", o->run->program.reason);
    return error;
}

int tt_outside_go(struct tt_running *r, const struct tt_outside_options *options)
{
    struct outside o = {
        .run = r, .options = options, .why = r->program.outside, .at_exec = 1};
    const struct tt_launching l = {prepare_nothing, started, &o};
    pid_t child = tt_launch(r->program.path, r->argv, &l);
    int status;

    if (child < 0) {
        cancel(&o);
        return -child;
    }
    sample(&o);
    status = tt_launch_wait(child);
    (void)tt_running_gather(r);
    tt_launch_end(status);
}

/* ── A process ────────────────────────────────────────────────────────────────────── */

static void interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

static int find_name(struct tt_running *r, pid_t pid)
{
    char *path = r->program.path;
    FILE *f;

    (void)snprintf(path, sizeof r->program.path, "/proc/%d/comm", (int)pid);
    f = fopen(path, "re");
    if (!f) {
        tt_complain("record: there is no process %d", (int)pid);
        return -TT_ERR_FILE;
    }
    if (!fgets(path, sizeof r->program.path, f))
        *path = '\0';
    (void)fclose(f);
    tt_running_clean(path);
    r->program.base = path;
    return 0;
}

/* Ctrl-C is for us, and ends the recording alone; from before there is a folder, which
 * nobody would take away. */
int tt_outside_attach(struct tt_running *r, const pid_t *pid, size_t count,
                      const struct tt_outside_options *options)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = interrupt, .sa_flags = SA_RESTART};
    struct outside o = {.run = r,
                        .options = options,
                        .pid = pid,
                        .pids = count,
                        .why = count > 1 ? "they were running" : "it was running"};

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        (void)sigaction(ends[i], &action, NULL);
    if (find_name(r, pid[0]) != 0 || begin(&o) != 0)
        return TT_LAUNCH_FAILED;
    sample(&o);
    return tt_running_gather(r) == 0 ? TT_EXIT_DONE : TT_LAUNCH_FAILED;
}
