/* SPDX-License-Identifier: MIT */
/* continuous.c - recording for days, as a chain of profiles in a folder.
 *
 *      this process ── starts, stops, waits
 *        ├─ interval 1   ████████████▌names, profile
 *        ├─ interval 2            ░░░▐████████████▌names, profile
 *        ├─ tends the folder                       ▌merges, removes
 *        └─ pushes      sends each profile, if an address is given
 *
 * Each interval is recorded by a new process, so memory does not grow.  The next one listens (░)
 * before the last one ends, and begins where that has ended: no moment is lost, or in both.
 *
 * What a killed recorder leaves is a hidden folder with a recording, as of any program; the next
 * tending makes a profile of it. */
#include "continuous.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "command.h"
#include "complain.h"
#include "curl-library.h"
#include "launch.h"
#include "layout.h"
#include "live-snapshot.h"
#include "load.h"
#include "post.h"
#include "push-sender.h"

enum {
    MOST = 6, /* intervals that wait for their names; then the last one goes on */
    READY_WITHIN = 60, /* seconds in which the next one has to be ready */
    PUSHED_WITHIN = 5, /* seconds in which the last profile is sent */
    ALONE_WITHIN = 10, /* and an earlier recorder in the folder has to end */
    FRESH = 60         /* seconds in which an empty folder may be a recorder's */
};
static const char stem[] = "chain";

struct recorder {
    pid_t pid;                    /* 0: there is none */
    struct tt_interval *interval; /* shared */
};

struct continuous {
    struct tt_continuous *options;
    const char *folder;
    struct recorder current, ending[MOST];
    size_t endings;
    pid_t tending;    /* 0: no process */
    pid_t pushing;    /* the same */
    int has_profiles; /* that were made since the folder was tended */
    uint64_t after; /* what was recorded so far ended then, in ms since 1970; 0: never */
    uint64_t boundary, end; /* by the monotonic clock: of the interval, and of all */
    int is_over;
    int lock; /* of the folder: this process's, and of those that it records with */
};

static sigset_t awaited; /* the signals that this process waits for */

/* ── What was left ────────────────────────────────────────────────────────────────── */

/* Of a folder with the name of a recording that has no profile yet. */
enum content {
    EMPTY,
    FOREIGN, /* it is not ours */
    WAITING, /* a recording that waited for its predecessor, and has no end */
    BEGUN
};
struct left {
    char folder[PATH_MAX], recording[PATH_MAX];
    struct tt_header header;
    enum content content;
    int fd; /* holds it; -1: its recorder does */
};

static struct tt_dates dates_of(const struct left *l)
{
    const struct tt_header *h = &l->header;
    const uint64_t from = h->start_time / 1000000,
                   length = (h->end_ticks - h->start_ticks) / 1000000;

    return (struct tt_dates){from, from + (length ? length : 1)};
}

static int is_left(const char *name)
{
    const size_t length = strlen(name);

    return strncmp(name, ".chain.", 7) == 0 && length > 12 &&
           strcmp(name + length - 5, ".live") == 0;
}

/* The file in it; -1: there is none. */
static int open_recording(struct left *l)
{
    DIR *d = opendir(l->folder);
    const struct dirent *e;
    int fd = -1;

    while (d && fd < 0 && (e = readdir(d))) {
        if (e->d_name[0] == '.')
            continue;
        (void)snprintf(l->recording, sizeof l->recording, "%.2000s/%s", l->folder,
                       e->d_name);
        fd = open(l->recording, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        if (fd < 0)
            l->content = FOREIGN;
    }
    if (d)
        closedir(d);
    return fd;
}

/* A recording whose process was killed at once begins with zeros, or is empty. */
static void read_left(struct left *l)
{
    static const char none[sizeof l->header.magic];
    int fd = open_recording(l);
    ssize_t n;

    if (fd < 0)
        return;
    n = pread(fd, &l->header, sizeof l->header, 0);
    close(fd);
    if (n == 0 || memcmp(l->header.magic, none, sizeof none) == 0)
        l->content = WAITING;
    else if (n != sizeof l->header ||
             memcmp(l->header.magic, TT_MAGIC, sizeof l->header.magic) != 0)
        l->content = FOREIGN;
    else
        l->content = l->header.end_ticks > l->header.start_ticks ? BEGUN : WAITING;
}

static void each_left(const char *folder, void (*each)(void *arg, struct left *),
                      void *arg)
{
    DIR *d = opendir(folder);
    const struct dirent *e;

    while (d && (e = readdir(d))) {
        struct left l = {.content = EMPTY};
        if (!is_left(e->d_name))
            continue;
        (void)snprintf(l.folder, sizeof l.folder, "%.2000s/%s", folder, e->d_name);
        l.fd = open(l.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        if (l.fd < 0)
            continue;
        if (flock(l.fd, LOCK_EX | LOCK_NB) != 0) {
            close(l.fd);
            l.fd = -1;
        }
        read_left(&l);
        each(arg, &l);
        if (l.fd >= 0)
            close(l.fd);
    }
    if (d)
        closedir(d);
}

/* Where there was no time to put a recording into it, it may be about to come. */
static int is_fresh(const struct left *l)
{
    struct stat s;

    return fstat(l->fd, &s) != 0 || time(NULL) - s.st_mtime < FRESH;
}

/* One that is torn cannot be read another time; where memory is short, it can. */
static int is_readable(const struct left *l)
{
    struct tt_picture p;
    int error = tt_load(&p, l->recording);

    if (!error)
        tt_unload(&p);
    if (error == -TT_ERR_FORMAT)
        tt_outside_drop(l->folder, l->recording);
    return !error;
}

/* What was recorded still runs, and its recorder does not. */
static void end_recording(const struct left *l)
{
    const uint32_t ended = TT_RECORDING_ENDED;
    int fd = open(l->recording, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);

    if (fd < 0)
        return;
    (void)!pwrite(fd, &ended, sizeof ended, offsetof(struct tt_header, state));
    close(fd);
}

static void recover(void *arg, struct left *l)
{
    const struct continuous *c = arg;
    struct tt_running r = *c->options->run;
    const struct tt_dates s = dates_of(l);

    if (l->fd < 0 || l->content == FOREIGN ||
        (l->content == EMPTY && c->current.pid && is_fresh(l)))
        return;
    if (l->content != BEGUN) {
        tt_outside_drop(l->folder, l->recording);
        return;
    }
    if (!is_readable(l))
        return;
    end_recording(l);
    memcpy(r.folder, l->folder, sizeof r.folder);
    r.is_quiet = 1;
    r.program.base = l->header.program;
    r.naming.until = s.to * 1000000;
    tt_chain_name(r.name, sizeof r.name, c->folder, s);
    (void)tt_outside_recover(&r);
}

static void note_begin(void *arg, struct left *l)
{
    uint64_t *first = arg, from = dates_of(l).from;

    if (l->content == BEGUN && from < *first)
        *first = from;
}

static void note_end(void *arg, struct left *l)
{
    uint64_t *last = arg, to = dates_of(l).to;

    if (l->content == BEGUN && to > *last)
        *last = to;
}

/* ── Tending ──────────────────────────────────────────────────────────────────────── */

static uint64_t date(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void tend(struct continuous *c)
{
    uint64_t pending = UINT64_MAX;

    each_left(c->folder, recover, c);
    each_left(c->folder, note_begin, &pending);
    tt_chain_tend(c->folder, &c->options->limits, date(), pending);
}

/* ── Processes ────────────────────────────────────────────────────────────────────── */

/* 0: this is the child, which gets this signal when its parent ends. */
static pid_t make_child(int number)
{
    const pid_t parent = getpid(), pid = fork();

    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, number);
        if (getppid() != parent)
            (void)raise(number);
    } else if (pid < 0) {
        tt_complain("record: %s", strerror(errno));
    }
    return pid;
}

static void start_tending(struct continuous *c)
{
    if (c->tending || !c->has_profiles)
        return;
    c->has_profiles = 0;
    c->tending = make_child(SIGKILL);
    if (c->tending == 0) { /* Ctrl-C is for those that record */
        close(c->lock);
        tend(c);
        _exit(0);
    }
    if (c->tending < 0)
        c->tending = 0;
}

static struct tt_interval *new_interval(const struct continuous *c,
                                        const struct tt_interval *previous)
{
    struct tt_interval *i = mmap(NULL, sizeof *i, PROT_READ | PROT_WRITE,
                                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (i == MAP_FAILED)
        return NULL;
    i->previous = previous;
    i->folder = c->folder;
    i->lock = c->lock;
    i->after = previous ? 0 : c->after;
    return i;
}

/* In the child. */
static int record_interval(const struct continuous *c, struct tt_interval *i)
{
    const struct tt_continuous *o = c->options;
    char out[PATH_MAX];

    (void)snprintf(out, sizeof out, "%s/%s", c->folder, stem);
    o->run->out = out;
    o->run->is_quiet = 1;
    o->options->interval = i;
    (void)sigprocmask(SIG_UNBLOCK, &awaited, NULL);
    return o->pids ? tt_outside_attach(o->run, o->pid, o->pids, o->options)
                   : tt_outside_machine(o->run, o->options);
}

static int start_recorder(struct continuous *c, struct recorder *r,
                          const struct tt_interval *previous)
{
    r->interval = new_interval(c, previous);
    r->pid = r->interval ? make_child(SIGTERM) : -1;
    if (r->pid == 0)
        _exit(record_interval(c, r->interval));
    if (r->pid > 0)
        return 0;
    if (r->interval)
        munmap(r->interval, sizeof *r->interval);
    r->pid = 0;
    return -TT_ERR_MEMORY;
}

/* It has ended, in whatever way: the next one begins where it got to. */
static void settle(struct recorder *r)
{
    struct tt_interval *i = r->interval;

    if (i->over)
        return;
    if (!i->taken)
        i->taken = tt_clock_monotonic();
    i->to = date() - (tt_clock_monotonic() - i->taken) / 1000000;
    i->to = i->to > i->from ? i->to : i->from + 1;
    __atomic_store_n(&i->over, 1, __ATOMIC_RELEASE);
}

static void forget_recorder(struct continuous *c, struct recorder *r)
{
    const struct tt_interval *i = r->interval;

    c->after = i->to > c->after ? i->to : c->after;
    munmap(r->interval, sizeof *r->interval);
    r->pid = 0;
}

/* ── Waiting ──────────────────────────────────────────────────────────────────────── */

/* One of those that wait for their names; -1: it is none of them. */
static int find_ending(const struct continuous *c, pid_t pid)
{
    for (size_t i = 0; i < c->endings; i++)
        if (c->ending[i].pid == pid)
            return (int)i;
    return -1;
}

/* The current one has ended without having been stopped. */
static void lose_current(struct continuous *c, int status)
{
    settle(&c->current);
    if (c->current.interval->ended || c->is_over)
        c->is_over = 1;
    else if (WIFSIGNALED(status))
        tt_complain(
            "record: the recorder of this interval was killed by signal %d; the next "
            "one begins",
            WTERMSIG(status));
    forget_recorder(c, &c->current);
    c->has_profiles = 1;
}

/* At the end, it has said itself what it could not send. */
static void lose_pusher(struct continuous *c, int status)
{
    c->pushing = 0;
    if (!c->is_over)
        tt_complain("record: 'tallytree push' has ended with %s %d; the next interval "
                    "starts it again",
                    WIFSIGNALED(status) ? "signal" : "status",
                    WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

static void reap(struct continuous *c)
{
    int status, i;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid == c->tending) {
            c->tending = 0;
        } else if (pid == c->pushing) {
            lose_pusher(c, status);
        } else if (pid == c->current.pid) {
            lose_current(c, status);
        } else if ((i = find_ending(c, pid)) >= 0) {
            settle(&c->ending[i]);
            forget_recorder(c, &c->ending[i]);
            c->ending[i] = c->ending[--c->endings];
            c->has_profiles = 1;
        }
    }
}

/* Until then, or a process has ended; a signal to end us ends the waiting for good. */
static void wait_until(struct continuous *c, uint64_t when)
{
    const uint64_t now = tt_clock_monotonic(), ns = when > now ? when - now : 0;
    const struct timespec t = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    const int number = sigtimedwait(&awaited, NULL, &t);

    if (number > 0 && number != SIGCHLD)
        c->is_over = 1;
    reap(c);
}

/* ── One interval after the other ─────────────────────────────────────────────────── */

/* Profiles of several machines, and their merged ones, have the same bounds. */
static void set_boundary(struct continuous *c)
{
    const uint64_t length = c->options->limits.interval;
    uint64_t rest = length - date() % length;

    if (rest < length / 10)
        rest += length;
    c->boundary = tt_clock_monotonic() + rest * 1000000;
}

/* Those that have ended are recorded no more; 0: all have. */
static int keep_alive(struct tt_continuous *o)
{
    size_t kept = 0;

    if (!o->pids)
        return 1;
    for (size_t i = 0; i < o->pids; i++)
        if (tt_live_snapshot_is_alive((uint64_t)o->pid[i]))
            o->pid[kept++] = o->pid[i];
    if (kept)
        o->pids = kept;
    return kept != 0;
}

/* Waits until it is ready; 0: it has ended, or took too long, and is gone. */
static int await_ready(struct recorder *r)
{
    const uint64_t late = tt_clock_monotonic() + (uint64_t)READY_WITHIN * 1000000000u;
    const struct timespec pause = {0, 10000000};
    pid_t ended = 0;

    while (!ended && !__atomic_load_n(&r->interval->ready, __ATOMIC_ACQUIRE)) {
        if (tt_clock_monotonic() > late)
            (void)kill(r->pid, SIGKILL);
        (void)nanosleep(&pause, NULL);
        ended = waitpid(r->pid, NULL, WNOHANG);
    }
    if (ended) {
        munmap(r->interval, sizeof *r->interval);
        r->pid = 0;
    }
    return !ended;
}

/* The next interval, if it can begin; or else the current one goes on. */
static void hand_over(struct continuous *c)
{
    struct recorder next;

    set_boundary(c);
    if (c->endings == MOST || !keep_alive(c->options))
        return;
    if (start_recorder(c, &next, c->current.interval) != 0)
        return;
    if (!await_ready(&next)) {
        c->has_profiles = 1; /* its folder may be left */
        return;
    }
    __atomic_store_n(&c->current.interval->stop, 1, __ATOMIC_RELEASE);
    c->ending[c->endings++] = c->current;
    c->current = next;
}

/* One that was killed is followed by another one, a second later at the earliest. */
static void begin_again(struct continuous *c)
{
    wait_until(c, tt_clock_monotonic() + 1000000000u);
    if (!c->is_over && !keep_alive(c->options))
        c->is_over = 1;
    if (!c->is_over && start_recorder(c, &c->current, NULL) == 0 &&
        await_ready(&c->current))
        set_boundary(c);
}

/* ── Sending ──────────────────────────────────────────────────────────────────────── */

/* "pyroscope:URL", or the URL of an OpenTelemetry collector. */
static const char *url_of(const char *address, int *is_pyroscope)
{
    static const char pyroscope[] = "pyroscope:";

    *is_pyroscope = strncmp(address, pyroscope, sizeof pyroscope - 1) == 0;
    return *is_pyroscope ? address + sizeof pyroscope - 1 : address;
}

int tt_continuous_can_push(const char *address)
{
    int is_pyroscope,
        error = tt_sender_check("record: '--push'", url_of(address, &is_pyroscope));

    if (error)
        return error;
    if (tt_curl_is_there())
        return 0;
    tt_poster_lacks_curl("record");
    return -TT_ERR_STATE;
}

/* Ctrl-C is for this process alone: the pusher has to send the last profile. */
static void become_pusher(const struct continuous *c)
{
    int is_pyroscope;
    const char *url = url_of(c->options->push, &is_pyroscope);

    (void)setpgid(0, 0);
    (void)execl("/proc/self/exe", "tallytree", "push",
                is_pyroscope ? "--pyroscope" : "--otlp", url, "--follow", c->folder,
                (char *)NULL);
    tt_complain("record: /proc/self/exe: %s", strerror(errno));
    _exit(TT_EXIT_FAILED);
}

/* Recorders do not wait for it: it reads the folder by itself. */
static void start_pushing(struct continuous *c)
{
    if (!c->options->push || c->pushing)
        return;
    c->pushing = make_child(SIGTERM);
    if (c->pushing == 0)
        become_pusher(c);
    if (c->pushing < 0)
        c->pushing = 0;
}

/* Sends the last profile; if that takes long, it goes on without us. */
static void finish_pushing(struct continuous *c)
{
    const uint64_t late = tt_clock_monotonic() + PUSHED_WITHIN * 1000000000ull;

    start_pushing(c); /* if it has ended */
    if (c->pushing)
        (void)kill(c->pushing, SIGTERM);
    while (c->pushing && tt_clock_monotonic() < late)
        wait_until(c, late);
}

/* All that was recorded becomes profiles. */
static void finish(struct continuous *c)
{
    if (c->current.pid)
        (void)kill(c->current.pid, SIGTERM);
    while (c->current.pid || c->endings || c->tending)
        wait_until(c, tt_clock_monotonic() + 1000000000u);
    tend(c);
    finish_pushing(c);
}

/* ── Supervising ──────────────────────────────────────────────────────────────────── */

static void supervise(struct continuous *c)
{
    while (!c->is_over) {
        if (!c->current.pid) {
            begin_again(c);
        } else if (tt_clock_monotonic() >= c->end) {
            c->is_over = 1;
        } else if (tt_clock_monotonic() >= c->boundary) {
            hand_over(c);
            start_pushing(c);
        } else {
            wait_until(c, c->boundary < c->end ? c->boundary : c->end);
        }
        start_tending(c);
    }
}

/* ── The whole ────────────────────────────────────────────────────────────────────── */

/* One recorder a folder: the intervals of one that was killed end by themselves. */
static int take_folder(struct continuous *c)
{
    const char *folder = c->folder;
    const struct timespec pause = {0, 100000000};
    char path[PATH_MAX];
    int held;

    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        goto fail;
    (void)snprintf(path, sizeof path, "%s/.chain.lock", folder);
    c->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (c->lock < 0)
        goto fail;
    held = flock(c->lock, LOCK_EX | LOCK_NB);
    for (int i = 0; held != 0 && errno == EWOULDBLOCK && i < 10 * ALONE_WITHIN; i++) {
        (void)nanosleep(&pause, NULL);
        held = flock(c->lock, LOCK_EX | LOCK_NB);
    }
    if (held == 0)
        return 0;
    tt_complain("record: another recorder writes to %s", folder);
    return -TT_ERR_FILE;

fail:
    tt_complain("record: %s: %s", folder, strerror(errno));
    return -TT_ERR_FILE;
}

static void await_signals(void)
{
    sigemptyset(&awaited);
    sigaddset(&awaited, SIGCHLD);
    sigaddset(&awaited, SIGINT);
    sigaddset(&awaited, SIGTERM);
    sigaddset(&awaited, SIGHUP);
    (void)sigprocmask(SIG_BLOCK, &awaited, NULL);
}

/* The first interval; less than 0: it cannot be recorded, which it has complained of. */
static int begin(struct continuous *c)
{
    const double duration = c->options->options->duration;

    c->after = tt_chain_end(c->folder);
    each_left(c->folder, note_end, &c->after);
    if (start_recorder(c, &c->current, NULL) != 0)
        return -TT_ERR_MEMORY;
    if (!await_ready(&c->current))
        return -TT_ERR_STATE;
    set_boundary(c);
    c->end = duration > 0 ? tt_clock_monotonic() + (uint64_t)(duration * 1e9)
                          : UINT64_MAX;
    c->has_profiles = 1; /* of an earlier run */
    return 0;
}

int tt_continuous_go(struct tt_continuous *o)
{
    struct continuous c = {.options = o, .folder = o->run->out};

    if (take_folder(&c) != 0)
        return TT_LAUNCH_FAILED;
    await_signals();
    wait_until(&c, tt_clock_monotonic() + (uint64_t)(o->options->delay * 1e9));
    if (c.is_over)
        return TT_EXIT_DONE;
    o->options->delay = 0;
    if (begin(&c) != 0)
        return TT_LAUNCH_FAILED;
    tt_complain("record: a profile every %llu s is written to %s",
                (unsigned long long)(o->limits.interval / 1000), c.folder);
    start_pushing(&c);
    supervise(&c);
    finish(&c);
    return TT_EXIT_DONE;
}
