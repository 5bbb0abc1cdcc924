/* SPDX-License-Identifier: MIT */
/* outside.c - records processes from outside.
 *
 * This process has the recording; the recorded one is not involved.  Between two readings
 * of the kernel's buffers it sleeps, or sees the process end. */
#include "outside.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attach.h"
#include "chain.h"
#include "clock.h"
#include "command.h"
#include "complain.h"
#include "control.h"
#include "interpreted.h"
#include "launch.h"
#include "layout.h"
#include "modules.h"
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
static const int ends[] = {SIGINT, SIGTERM, SIGHUP};

/* ── Beginning ────────────────────────────────────────────────────────────────────── */

/* The process whose files names are looked up in: for a machine, this one. */
static pid_t first_of(const struct outside *o) { return o->pids ? o->pid[0] : getpid(); }

/* From outside there are no scopes to measure, and time is what the events count. */
static int read_options(struct outside *o)
{
    struct tt_options *r = &o->runtime;
    int error = tt_options_read(r, o->options->words, NULL), n;

    for (int i = 0; i < TT_KINDS; i++)
        r->mode[i] = TT_MODE_CALLS;
    r->mode[TT_KIND_NATIVE] = r->mode[TT_KIND_INTERPRETED] = TT_MODE_SAMPLED;
    tt_interpreted_lines = o->run->naming.lines;
    if (tt_interpreted_lines)
        r->mode[TT_KIND_STATEMENT] = TT_MODE_SAMPLED;
    r->clock = TT_CLOCK_MONOTONIC;
    n = snprintf(r->output, sizeof r->output, "%s/%s.%d", o->run->folder,
                 o->run->program.base, (int)first_of(o));
    return error || (n > 0 && n < (int)sizeof r->output) ? error : -TT_ERR_OPTION;
}

/* Otherwise it starts when our child executes the program. */
static int starts_itself(const struct outside *o)
{
    return !o->at_exec || o->options->delay > 0 || o->options->is_machine;
}

static int open_events(struct outside *o)
{
    struct tt_perf_options p = {.pid = o->pid,
                                .pids = o->pids,
                                .is_machine = o->options->is_machine,
                                .processor = o->options->processor,
                                .side = o->options->side,
                                .hz = o->runtime.hz,
                                .stack = o->options->stack,
                                .wait_stack = o->options->wait_stack,
                                .at_exec = !starts_itself(o),
                                .counters = o->options->counters};
    char reason[512];
    int error;

    memcpy(p.counter, o->options->counter, sizeof p.counter);
    error = tt_attach_open(&o->attach, &p, &o->options->filter, reason, sizeof reason);

    if (error)
        tt_complain("record: %s", reason);
    return error;
}

static int start_recording(struct outside *o)
{
    int error = tt_start_with(&o->runtime);

    if (error) {
        const char *reason = error == -TT_ERR_FILE ? strerror(errno) : "";
        tt_complain("record: %s: %s%s%s", o->runtime.output, tt_error_text(error),
                    *reason ? ": " : "", reason);
        return error;
    }
    tt_attach_describe(o->attach, o->run->program.base, o->why);
    return 0;
}

/* Once; the user's functions are recorded all the same. */
static void say_no_kernel(const struct outside *o)
{
    const struct tt_interval *i = o->options->interval;
    char reason[512];

    if (o->options->is_kernel_asked_for && !(i && i->previous) &&
        !tt_attach_has_kernel(o->attach, reason, sizeof reason))
        tt_complain("record: no time in the kernel is recorded: %s", reason);
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
    if (!error)
        say_no_kernel(o);
    return error;
}

/* Until this process ends, no other one makes a profile of its recording. */
static void hold_folder(const char *folder)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd >= 0)
        (void)flock(fd, LOCK_EX | LOCK_NB);
}

/* Nothing is missed from here on; on failure nothing remains. */
static int begin(struct outside *o)
{
    int error;

    if (tt_running_make(o->run, first_of(o)) != 0) {
        tt_complain("record: %s: %s", o->run->folder, strerror(errno));
        return -TT_ERR_FILE;
    }
    if (o->options->interval)
        hold_folder(o->run->folder);
    error = begin_in_folder(o);
    if (error)
        (void)rmdir(o->run->folder);
    return error;
}

/* Cleans up if the program could not be started. */
static void cancel(struct outside *o)
{
    if (!o->attach)
        return;
    tt_attach_close(o->attach);
    (void)tt_stop();
    (void)unlink(o->runtime.output);
    (void)rmdir(o->run->folder);
}

/* ── Files of containers ──────────────────────────────────────────────────────────── */

/* A container's files may be gone before names are looked up: copies files that are not
 * visible from here under their names, each once, to a place beside the recordings. */
enum { FILE_MAX = 64 << 20, FILES_MAX = 512 << 20 };
static const char *kept_in; /* the folder; NULL: nothing is kept */
static off_t kept;          /* bytes so far */

static int copy_file(int from, const char *path, off_t size)
{
    int to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    off_t at = 0;
    ssize_t n = 1;

    if (to < 0)
        return errno == EEXIST ? 0 : -1;
    while (at < size && n > 0)
        n = sendfile(to, from, &at, (size_t)(size - at));
    close(to);
    if (at == size)
        return 0;
    (void)unlink(path);
    return -1;
}

/* FOLDER/.files/.build-id/ab/cdef…: where names are looked up. */
static void keep_file(const struct tt_module *m, int fd)
{
    char path[PATH_MAX + 128], hex[2 * TT_BUILD_ID_MAX + 1] = "";
    struct stat s;

    if (!kept_in || m->build_id_size < 2 || fstat(fd, &s) != 0 || s.st_size > FILE_MAX ||
        kept + s.st_size > FILES_MAX)
        return;
    for (uint32_t i = 0; i < m->build_id_size; i++)
        (void)snprintf(hex + 2 * i, 3, "%02x", m->build_id[i]);
    (void)snprintf(path, sizeof path, "%s/.files", kept_in);
    (void)mkdir(path, 0700);
    (void)snprintf(path, sizeof path, "%s/.files/.build-id", kept_in);
    (void)mkdir(path, 0700);
    (void)snprintf(path, sizeof path, "%s/.files/.build-id/%.2s", kept_in, hex);
    (void)mkdir(path, 0700);
    (void)snprintf(path, sizeof path, "%s/.files/.build-id/%.2s/%s", kept_in, hex,
                   hex + 2);
    if (copy_file(fd, path, s.st_size) == 0)
        kept += s.st_size;
}

static int remove_entry(const char *path, const struct stat *s, int kind, struct FTW *f)
{
    (void)s;
    (void)kind;
    (void)f;
    return remove(path);
}

/* Names are looked up in the copies, which are then removed. */
static void remove_kept(const char *folder)
{
    char path[PATH_MAX + 16];

    (void)snprintf(path, sizeof path, "%s/.files", folder);
    (void)nftw(path, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    (void)rmdir(folder);
}

static int gather(struct tt_running *r)
{
    char path[PATH_MAX + 16];
    int error, has_files;

    (void)snprintf(path, sizeof path, "%s/.files", r->folder);
    has_files = access(path, F_OK) == 0;
    if (has_files)
        (void)tt_names_folder(&r->naming, path);
    error = tt_running_gather(r);
    if (has_files && !error)
        remove_kept(r->folder);
    return error;
}

/* ── Sampling ─────────────────────────────────────────────────────────────────────── */

/* Leaves our child to be waited for. */
static int has_ended(const struct outside *o)
{
    siginfo_t info = {.si_pid = 0};

    if (o->at_exec)
        return waitid(P_PID, (id_t)o->pid[o->at], &info, WEXITED | WNOHANG | WNOWAIT) !=
                   0 ||
               info.si_pid != 0;
    return kill(o->pid[o->at], 0) != 0 && errno == ESRCH;
}

/* Watches the next running process; 0: there is none. */
static int watch(struct outside *o)
{
    if (!o->pids)
        return 1; /* there is none to wait for */
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

/* Sleeps; 0 if all processes have ended.  Without pidfds, a process has ended when its
 * parent has waited for it. */
static int rest(struct outside *o, unsigned ms)
{
    struct pollfd p = {.fd = o->fd, .events = POLLIN};

    if (o->at_exec)
        tt_launch_follow(o->child);
    if (poll(&p, 1, (int)ms) != 1 && !(o->fd < 0 && o->pids && has_ended(o)))
        return 1;
    unwatch(o);
    o->at++;
    return watch(o);
}

/* Returns 0 if all ended before that time. */
static int wait_until(struct outside *o, uint64_t when)
{
    while (tt_clock_monotonic() < when)
        if (interrupted || !rest(o, 20))
            return 0;
    return 1;
}

static void take_samples(struct outside *o, uint64_t end)
{
    unsigned ms = tt_attach_step(o->attach, tt_attach_settled());

    while (!interrupted && tt_clock_monotonic() < end && rest(o, ms))
        ms = tt_attach_step(o->attach, tt_attach_settled());
}

/* ── One interval of many ─────────────────────────────────────────────────────────── */

/* In ms since 1970, of a time of the monotonic clock. */
static uint64_t date_of(uint64_t when)
{
    const uint64_t now = tt_clock_monotonic();
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return ((uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec - (now - when)) /
           1000000;
}

/* 0: it will not begin. */
static int await_previous(struct outside *o, const struct tt_interval *previous)
{
    while (!__atomic_load_n(&previous->over, __ATOMIC_ACQUIRE)) {
        unsigned ms = tt_attach_skip(o->attach,
                                     __atomic_load_n(&previous->taken, __ATOMIC_ACQUIRE));
        if (interrupted || !rest(o, ms))
            return 0;
    }
    return !interrupted;
}

/* Nothing is before this but the end of what was recorded before, maybe a while ago. */
static void begin_interval(struct outside *o, struct tt_interval *i)
{
    const struct tt_interval *p = i->previous;
    const uint64_t from = p ? p->taken : tt_clock_monotonic();

    i->from = p ? p->to : date_of(from);
    if (i->from < i->after)
        i->from = i->after;
    if (!p && i->after)
        o->run->naming.gap = (i->from - i->after) * 1000000;
    tt_attach_begin(o->attach, from);
    __atomic_store_n(&i->taken, from, __ATOMIC_RELEASE);
}

static void end_interval(struct tt_interval *i, uint64_t until)
{
    i->taken = until;
    i->to = date_of(until);
    if (i->to <= i->from) /* the clock was set back */
        i->to = i->from + 1;
    __atomic_store_n(&i->over, 1, __ATOMIC_RELEASE);
}

/* Up to when; 0: it did not begin. */
static uint64_t take_interval(struct outside *o)
{
    struct tt_interval *i = o->options->interval;
    int runs = 1;
    unsigned ms;

    __atomic_store_n(&i->ready, 1, __ATOMIC_RELEASE);
    if (i->previous && !await_previous(o, i->previous))
        return 0;
    begin_interval(o, i);
    do {
        const uint64_t settled = tt_attach_settled();
        ms = tt_attach_step(o->attach, settled);
        if (settled > i->taken)
            __atomic_store_n(&i->taken, settled, __ATOMIC_RELEASE);
        tt_attach_note_end(i->taken);
        if (__atomic_load_n(&i->stop, __ATOMIC_ACQUIRE) && !interrupted)
            break;
    } while (!interrupted && (runs = rest(o, ms)));
    i->ended = !runs;
    end_interval(i, runs && !interrupted ? i->taken : tt_clock_monotonic());
    return i->taken;
}

/* In the recording too, for when this process is killed before there is a profile. */
static void note_end(const char *path, uint64_t end)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);

    if (fd < 0)
        return;
    (void)!pwrite(fd, &end, sizeof end, offsetof(struct tt_header, end_ticks));
    close(fd);
}

/* Ctrl-C ends what is recorded; what has been recorded gets its names. */
static void let_finish(void)
{
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        sigaddset(&set, ends[i]);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
}

/* Its name is known when it is over. */
static int finish_interval(struct outside *o)
{
    const struct tt_interval *i = o->options->interval;
    struct tt_running *r = o->run;

    if (!i->over) {
        tt_outside_drop(r->folder, o->runtime.output);
        return TT_EXIT_DONE;
    }
    let_finish();
    note_end(o->runtime.output, i->taken);
    close(i->lock);
    r->naming.until = i->to * 1000000;
    tt_chain_name(r->name, sizeof r->name, i->folder, (struct tt_dates){i->from, i->to});
    return gather(r) == 0 ? TT_EXIT_DONE : TT_LAUNCH_FAILED;
}

int tt_outside_recover(struct tt_running *r) { return gather(r); }

void tt_outside_drop(const char *folder, const char *recording)
{
    if (*recording)
        (void)unlink(recording);
    tt_unseen_free(tt_unseen_take(folder));
    remove_kept(folder);
}

/* What was recorded becomes what is wanted of it. */
static int finish(struct outside *o)
{
    if (o->options->interval)
        return finish_interval(o);
    if (!o->options->began)
        return gather(o->run) == 0 ? TT_EXIT_DONE : TT_LAUNCH_FAILED;
    tt_outside_drop(o->run->folder, o->runtime.output);
    return TT_EXIT_DONE;
}

/* ── Beginning and end ────────────────────────────────────────────────────────────── */

/* Makes a link in the folder, as processes that are recorded from within do. */
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

/* On a busy machine, data would be lost before this process gets a CPU.  So it raises its
 * priority if it may; that costs others little, as it mostly sleeps. */
static int go_before(const struct outside *o)
{
    int before = getpriority(PRIO_PROCESS, 0);

    if (o->options->is_machine)
        (void)setpriority(PRIO_PROCESS, 0, -20);
    return before;
}

/* Runs until all processes have ended, the duration is over, or we are interrupted. */
static void sample(struct outside *o)
{
    const struct tt_outside_options *t = o->options;
    const int priority = go_before(o);
    uint64_t begin = tt_clock_monotonic() + (uint64_t)(t->delay * 1e9),
             until = UINT64_MAX;

    o->fd = -1;
    kept_in = t->is_machine ? o->run->folder : NULL;
    tt_modules_keep = keep_file;
    if (watch(o) && wait_until(o, begin)) {
        if (starts_itself(o)) {
            tt_attach_start(o->attach);
            begin = tt_clock_monotonic(); /* it reads the files of the process first */
        }
        if (t->interval)
            until = take_interval(o);
        else
            take_samples(o, t->duration > 0 ? begin + (uint64_t)(t->duration * 1e9)
                                            : UINT64_MAX);
    }
    tt_attach_stop(o->attach, until);
    tt_attach_unseen(o->attach, note_unseen, o);
    tt_attach_close(o->attach);
    (void)setpriority(PRIO_PROCESS, 0, priority);
    tt_modules_keep = NULL;
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
    if (gather(r) != 0)
        tt_running_has_status(r);
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

/* Ctrl-C ends only the recording.  Handled from before the folder is made, so that the
 * folder is always removed. */
static void be_ended(void)
{
    struct sigaction action = {.sa_handler = interrupt, .sa_flags = SA_RESTART};

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        (void)sigaction(ends[i], &action, NULL);
}

int tt_outside_attach(struct tt_running *r, const pid_t *pid, size_t count,
                      const struct tt_outside_options *options)
{
    struct outside o = {.run = r,
                        .options = options,
                        .pid = pid,
                        .pids = count,
                        .why = count > 1 ? "they were running" : "it was running"};

    be_ended();
    if (find_name(r, pid[0]) != 0 || begin(&o) != 0)
        return TT_LAUNCH_FAILED;
    sample(&o);
    return finish(&o);
}

/* ── A machine ────────────────────────────────────────────────────────────────────── */

int tt_outside_machine(struct tt_running *r, const struct tt_outside_options *options)
{
    struct outside o = {.run = r, .options = options, .why = "of the machine"};

    be_ended();
    (void)snprintf(r->program.path, sizeof r->program.path, "machine");
    r->program.base = r->program.path;
    if (begin(&o) != 0)
        return TT_LAUNCH_FAILED;
    if (options->began)
        options->began(options->arg, o.runtime.output);
    sample(&o);
    return finish(&o);
}
