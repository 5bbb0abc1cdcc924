/* SPDX-License-Identifier: MIT */
/* wall.c - samples sleeping threads from another thread of the process.
 *
 *      /proc: the call, the stack pointer, the place ─┐
 *      a copy of the stack                            ├─ unwind ─ charge
 *      CPU clock before = CPU clock after: it slept ──┘
 *
 * A thread that sleeps in a system call is never sent a signal: that would end the call,
 * or shorten it, and begin its time limit again.  Its stack does not change while it
 * sleeps, so another thread can read it.  Of its registers only the stack pointer and the
 * pc are known; those that functions have saved are on the stack, and code-x86_64.c finds
 * a frame pointer that was not.  If the thread's CPU clock has moved meanwhile, it woke
 * up, and the sample is discarded.
 *
 * Each round is a sample of all threads at one moment, and counts for the time since the
 * previous round.  Rounds come at random intervals, so that nothing is in step with them,
 * and take 2 % of a processor at most. */
#include "wall.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "native-sampler.h"
#include "next-function.h"
#include "strand.h"
#include "system-call.h"

enum { SHARE = 50 };

enum end { GOES_ON, STOPPED, ALONE };

enum { FREE, HELD, AWAITED }; /* values of tt_wall.held */

static struct {
    pthread_t thread, guard;
    int tid, guard_tid;
    int running;
    int stopper;  /* the thread that waits for the end of the rounds; 0: none does */
    uint32_t end; /* enum end, a futex */
    uint32_t hz;
    uint64_t cpu, chance;
    pid_t pid;                 /* the process of this thread */
    struct tt_stack_copy copy; /* the rounds' own */
} rounds;

/* Arguments of close_range that give a thread its own table of files, without those from
 * `first` to `last`.  If first > last it fails with EINVAL if that is possible, else with
 * another error. */
#define OWN_FILES(first, last)                                                           \
    (long[6]) { first, last, CLOSE_RANGE_UNSHARE }

/* ── Calls that wait ──────────────────────────────────────────────────────────────── */

#ifdef SYS_poll
#define OLD(call, name) {SYS_##call, name},
#else
#define OLD(call, name) /* this machine has no such call */
#endif

static const struct {
    long number;
    const char *name;
} calls[] = {{-1, "[waits: memory]"},
             {SYS_read, "[waits: read]"},
             {SYS_readv, "[waits: read]"},
             {SYS_pread64, "[waits: read]"},
             {SYS_preadv, "[waits: read]"},
             {SYS_preadv2, "[waits: read]"},
             {SYS_write, "[waits: write]"},
             {SYS_writev, "[waits: write]"},
             {SYS_pwrite64, "[waits: write]"},
             {SYS_pwritev, "[waits: write]"},
             {SYS_pwritev2, "[waits: write]"},
             {SYS_recvfrom, "[waits: receive]"},
             {SYS_recvmsg, "[waits: receive]"},
             {SYS_recvmmsg, "[waits: receive]"},
             {SYS_sendto, "[waits: send]"},
             {SYS_sendmsg, "[waits: send]"},
             {SYS_sendmmsg, "[waits: send]"},
             {SYS_sendfile, "[waits: send]"},
             {SYS_splice, "[waits: splice]"},
             {SYS_vmsplice, "[waits: splice]"},
             {SYS_tee, "[waits: splice]"},
             {SYS_copy_file_range, "[waits: copy]"},
             {SYS_accept, "[waits: accept]"},
             {SYS_accept4, "[waits: accept]"},
             {SYS_connect, "[waits: connect]"},
             {SYS_openat, "[waits: open]"},
             {SYS_close, "[waits: close]"},
             {SYS_flock, "[waits: flock]"},
             {SYS_fcntl, "[waits: fcntl]"},
             {SYS_ioctl, "[waits: ioctl]"},
             {SYS_fsync, "[waits: fsync]"},
             {SYS_fdatasync, "[waits: fsync]"},
             {SYS_sync_file_range, "[waits: fsync]"},
             {SYS_msync, "[waits: fsync]"},
             {SYS_wait4, "[waits: child]"},
             {SYS_waitid, "[waits: child]"},
             {SYS_clone, "[waits: child]"},
             {SYS_futex, "[waits: futex]"},
#ifdef SYS_futex_waitv
             {SYS_futex_waitv, "[waits: futex]"},
#endif
             {SYS_nanosleep, "[waits: sleep]"},
             {SYS_clock_nanosleep, "[waits: sleep]"},
             {SYS_restart_syscall, "[waits: sleep]"},
             {SYS_ppoll, "[waits: poll]"},
             {SYS_pselect6, "[waits: poll]"},
             {SYS_epoll_pwait, "[waits: epoll]"},
#ifdef SYS_epoll_pwait2
             {SYS_epoll_pwait2, "[waits: epoll]"},
#endif
             {SYS_io_getevents, "[waits: events]"},
             {SYS_io_pgetevents, "[waits: events]"},
             {SYS_io_uring_enter, "[waits: events]"},
             {SYS_rt_sigsuspend, "[waits: signal]"},
             {SYS_rt_sigtimedwait, "[waits: signal]"},
             {SYS_msgrcv, "[waits: message]"},
             {SYS_msgsnd, "[waits: message]"},
             {SYS_mq_timedreceive, "[waits: message]"},
             {SYS_mq_timedsend, "[waits: message]"},
             {SYS_semop, "[waits: semaphore]"},
             {SYS_semtimedop, "[waits: semaphore]"},
             OLD(open, "[waits: open]") OLD(poll, "[waits: poll]")
                 OLD(select, "[waits: poll]") OLD(epoll_wait, "[waits: epoll]")
                     OLD(pause, "[waits: signal]") OLD(vfork, "[waits: child]")};

static const char *name_of(long number)
{
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (calls[i].number == number)
            return calls[i].name;
    return "[waits: in the system]";
}

/* ── Where a thread is ────────────────────────────────────────────────────────────── */

static char *put_number(char *out, unsigned n)
{
    char digits[12], *d = digits + sizeof digits;

    do
        *--d = (char)('0' + n % 10);
    while (n /= 10);
    memcpy(out, d, (size_t)(digits + sizeof digits - d));
    return out + (digits + sizeof digits - d);
}

/* Reads a file of a thread of this process; less than 0: it does not exist. */
static long read_about(int tid, const char *name, char *text, size_t size)
{
    char path[64] = "/proc/self/task/", *end = put_number(path + 16, (unsigned)tid);
    long fd, n;

    memcpy(end, name, strlen(name) + 1);
    fd = tt_call_system(SYS_openat,
                        (long[6]){AT_FDCWD, (long)(uintptr_t)path, O_RDONLY | O_CLOEXEC});
    if (fd < 0)
        return -1;
    n = tt_call_system(SYS_read, (long[6]){fd, (long)(uintptr_t)text, (long)size - 1});
    (void)tt_call_system(SYS_close, (long[6]){fd});
    text[n > 0 ? n : 0] = '\0';
    return n;
}

/* "202 0x55.. 0x0 ... SP PC", "-1 SP PC", or "running": 0. */
static int parse_where(const char *text, struct tt_sleeper *s)
{
    enum { ARGUMENTS = 6 };
    uint64_t value[ARGUMENTS + 2];
    int n = 0;
    char *end;
    long number = strtol(text, &end, 10);

    if (end == text)
        return 0;
    for (; n < ARGUMENTS + 2 && *end == ' '; n++)
        value[n] = strtoull(end, &end, 16);
    if (n != ARGUMENTS + 2 && !(n == 2 && number == -1))
        return 0;
    s->sp = value[n - 2];
    s->pc = value[n - 1];
    s->wait = name_of(number);
    return 1;
}

static int is_denied(void) { return errno == EACCES || errno == EPERM; }

/* 1: it sleeps there; 0: it runs, or is runnable, or that is unknown.  For a program that
 * has given up its rights /proc is closed, even to itself, unless it makes itself
 * dumpable again: its threads count as lost as long as that lasts. */
static int find_where(struct tt_wall *w, struct tt_sleeper *s)
{
    char text[256];
    long n = read_about(w->tid, "/syscall", text, sizeof text);
    const int denied = n < 0 && is_denied();
    struct tt_recording *r = tt_recording_now();

    if (denied != w->denied && r) {
        w->denied = denied;
        tt_bump_shared(&r->header->lost_samplers, denied ? 1 : UINT64_MAX);
    }
    return n > 0 && parse_where(text, s);
}

/* ── The end ──────────────────────────────────────────────────────────────────────── */

static void wait_for_end(const struct timespec *limit)
{
    (void)tt_call_system(SYS_futex,
                         (long[6]){(long)(uintptr_t)&rounds.end, FUTEX_WAIT_PRIVATE,
                                   GOES_ON, (long)(uintptr_t)limit});
}

static uint32_t find_end(void) { return __atomic_load_n(&rounds.end, __ATOMIC_ACQUIRE); }

static void end_rounds(enum end how)
{
    __atomic_store_n(&rounds.end, how, __ATOMIC_RELEASE);
    (void)tt_call_system(
        SYS_futex, (long[6]){(long)(uintptr_t)&rounds.end, FUTEX_WAKE_PRIVATE, INT_MAX});
}

/* ── A round ──────────────────────────────────────────────────────────────────────── */

static uint64_t ns_of(struct timespec t)
{
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* To the nanosecond, for sleeping and running threads. */
static int still_sleeps(void *arg)
{
    const struct tt_wall *w = arg;
    struct timespec cpu;

    return clock_gettime(w->clock, &cpu) == 0 && ns_of(cpu) == w->cpu;
}

static void charge(struct tt_wall *w, int done)
{
    w->known = done;
    if (done)
        w->owed = 0;
}

/* So that a thread that never ends also has its name. */
static void rename_thread(struct tt_thread *t, struct tt_wall *w)
{
    char name[64];
    long n;

    w->looks++;
    if (w->looks & (w->looks - 1))
        return;
    n = read_about(w->tid, "/comm", name, sizeof name);
    if (n > 1) {
        name[n - 1] = '\0'; /* the end of the line */
        tt_thread_rename_to(t, name);
    }
}

/* If it cannot be sampled now, the time that it slept is charged to its next sleep. */
static void look_at(struct tt_thread *t, struct tt_wall *w)
{
    struct tt_sleeper s = {.copy = &rounds.copy, .still_sleeps = still_sleeps, .arg = w};
    uint64_t now = tt_clock_monotonic(), passed = now - w->last, used;
    struct timespec cpu;

    if (clock_gettime(w->clock, &cpu) != 0)
        return;
    used = ns_of(cpu) - w->cpu;
    w->cpu += used;
    w->last = now;
    (void)__atomic_fetch_sub(&w->queued, (int64_t)used, __ATOMIC_RELAXED);
    if (used == 0 && w->known) {
        w->owed += passed;
        charge(w, tt_native_sampler_again(t, w, w->owed));
    } else if (find_where(w, &s)) {
        w->owed += passed;
        charge(w, tt_native_sampler_asleep(t, w, &s, w->owed));
        rename_thread(t, w);
    } else {
        w->known = 0;
        (void)__atomic_fetch_add(&w->queued, (int64_t)passed, __ATOMIC_RELAXED);
    }
}

/* Has the main thread ended, and is it kept only because of our two threads? */
static int is_alone(void)
{
    char text[256], *state;
    struct stat s;

    if (stat("/proc/self/task", &s) != 0 || s.st_nlink != 2 + 3 ||
        read_about(getpid(), "/stat", text, sizeof text) <= 0)
        return 0;
    state = strrchr(text, ')');
    return state && state[1] == ' ' && state[2] == 'Z';
}

/* While it is held a thread does not end (tt_wall_end), but others may come and go. */
static struct tt_wall *hold(struct tt_thread *t)
{
    struct tt_wall *w = tt_native_sampler_wall(t);

    if (!w || !__atomic_load_n(&w->ready, __ATOMIC_ACQUIRE))
        return NULL;
    __atomic_store_n(&w->held, HELD, __ATOMIC_RELAXED);
    return w;
}

static void release(struct tt_wall *w)
{
    if (__atomic_exchange_n(&w->held, FREE, __ATOMIC_RELEASE) == AWAITED)
        (void)tt_call_system(SYS_futex,
                             (long[6]){(long)(uintptr_t)&w->held, FUTEX_WAKE_PRIVATE, 1});
}

void tt_wall_end(struct tt_wall *w)
{
    uint32_t held = HELD;

    if (rounds.pid != getpid() ||
        !__atomic_compare_exchange_n(&w->held, &held, AWAITED, 0, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE))
        return;
    while (__atomic_load_n(&w->held, __ATOMIC_ACQUIRE) == AWAITED)
        (void)tt_call_system(SYS_futex, (long[6]){(long)(uintptr_t)&w->held,
                                                  FUTEX_WAIT_PRIVATE, AWAITED, 0});
}

/* The files in /proc are read without the threads' lock.  A held thread stays in the
 * list, and with it the link to the next one. */
static void go_round(void)
{
    int count = 0;

    tt_threads_lock();
    for (struct tt_thread *t = tt_threads_first(); t; t = t->next, count++) {
        struct tt_wall *w = hold(t);
        if (!w)
            continue;
        tt_threads_unlock();
        if (w->tid != __atomic_load_n(&rounds.stopper, __ATOMIC_RELAXED))
            look_at(t, w); /* its wait for us is not the program's */
        tt_threads_lock();
        release(w);
    }
    tt_threads_unlock();
    if (!count && is_alone())
        end_rounds(ALONE);
}

/* ── The rounds' thread ───────────────────────────────────────────────────────────── */

static int own_tid(void) { return (int)tt_call_system(SYS_gettid, (long[6]){0}); }

static uint64_t own_cpu(void)
{
    struct timespec t;

    return clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) == 0 ? ns_of(t) : 0;
}

/* Between half of the mean and 1.5 times it, and long enough that the rounds cost
 * little. */
static uint64_t choose_rest(uint64_t cost)
{
    uint64_t mean = 1000000000u / rounds.hz;

    if (mean < cost * SHARE)
        mean = cost * SHARE;
    rounds.chance = rounds.chance * 6364136223846793005u + 1442695040888963407u;
    return mean / 2 + (rounds.chance >> 33) % mean;
}

/* With its own table of files: a file that is open for a moment must not take the number
 * that the program's next one would have. */
/* Closes all files for this thread alone, except the recording's: that has to grow, also
 * if the program may not open it again, having given up its rights. */
static int leave_files(void)
{
    const struct tt_recording *r = tt_recording_now();
    const long fd = r ? r->file.fd : -1;

    if (fd <= 0 || fd == INT_MAX)
        return tt_call_system(SYS_close_range, OWN_FILES(0, UINT_MAX)) != 0;
    return tt_call_system(SYS_close_range, OWN_FILES(0, fd - 1)) != 0 ||
           tt_call_system(SYS_close_range, OWN_FILES(fd + 1, UINT_MAX)) != 0;
}

static void *go_rounds(void *arg)
{
    uint64_t before = own_cpu(), cost = 0, ns;
    struct timespec rest;

    rounds.tid = own_tid();
    (void)pthread_setname_np(pthread_self(), "tallytree");
    if (leave_files() != 0)
        return arg;
    while (find_end() == GOES_ON) {
        ns = choose_rest(cost);
        rest.tv_sec = (time_t)(ns / 1000000000u);
        rest.tv_nsec = (long)(ns % 1000000000u);
        wait_for_end(&rest);
        go_round();
        cost = own_cpu() - before;
        before += cost;
        (void)__atomic_fetch_add(&rounds.cpu, cost, __ATOMIC_RELAXED);
    }
    return arg;
}

/* ── The thread that keeps the program's files ────────────────────────────────────── */

TT_NEXT_FUNCTION(int, pthread_create, pthread_t *, const pthread_attr_t *,
                 void *(*)(void *), void *);

static int create(pthread_t *thread, void *(*run)(void *))
{
    return next_pthread_create() ? next_pthread_create()(thread, NULL, run, NULL)
                                 : ENOSYS;
}

/* When the last thread of the program ended, its files would be closed without being
 * flushed: so this thread ends the program. */
static void *guard(void *arg)
{
    rounds.guard_tid = own_tid();
    (void)pthread_setname_np(pthread_self(), "tallytree");
    while (find_end() == GOES_ON)
        wait_for_end(NULL);
    (void)pthread_join(rounds.thread, NULL);
    if (find_end() == ALONE)
        exit(0); /* as the last thread would have done */
    return arg;
}

/* Does /proc show where threads are? */
static int is_shown(void)
{
    char text[16];

    return read_about(getpid(), "/syscall", text, sizeof text) > 0;
}

/* Can a thread have its own table of files? */
static int has_own_files(void)
{
    return tt_call_system(SYS_close_range, OWN_FILES(1, 0)) != 0 && errno == EINVAL;
}

static int begin_rounds(uint32_t hz)
{
    sigset_t all, before;

    rounds.hz = hz;
    rounds.pid = getpid();
    rounds.end = GOES_ON;
    rounds.stopper = 0;
    rounds.chance = tt_clock_monotonic();
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (create(&rounds.thread, go_rounds) == 0) {
        rounds.running = create(&rounds.guard, guard) == 0;
        if (!rounds.running) {
            end_rounds(STOPPED);
            (void)pthread_join(rounds.thread, NULL);
        }
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rounds.running ? 0 : -TT_ERR_MEMORY;
}

int tt_wall_start(uint32_t hz)
{
    return is_shown() && has_own_files() ? begin_rounds(hz) : -TT_ERR_STATE;
}

/* What is denied now may be shown later: see find_where. */
int tt_wall_resume(void)
{
    return is_shown() || is_denied() ? begin_rounds(rounds.hz) : -TT_ERR_STATE;
}

enum { PATIENCE = 2 }; /* s: the ending thread may hold a lock that the rounds need */

/* Not in a child that no handler of fork has seen, nor when the guard ends the program. */
static int is_here(void)
{
    return rounds.running && rounds.pid == getpid() &&
           !pthread_equal(pthread_self(), rounds.guard);
}

/* 1: both threads have ended. */
static int stop(void)
{
    struct timespec until;

    if (!is_here())
        return 0;
    rounds.running = 0;
    __atomic_store_n(&rounds.stopper, own_tid(), __ATOMIC_RELAXED);
    end_rounds(STOPPED);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE;
    return pthread_timedjoin_np(rounds.guard, NULL, &until) == 0;
}

void tt_wall_stop(void) { (void)stop(); }

/* The calling thread, and these two. */
static int is_alone_with_them(void)
{
    enum { OTHERS = 2, NO_THREAD = 2 }; /* links of the folder */
    struct stat s;

    return stat("/proc/self/task", &s) == 0 && s.st_nlink == NO_THREAD + OTHERS + 1;
}

/* A joined thread is a part of the process for a moment longer. */
static void wait_until_gone(int tid)
{
    const uint64_t until = tt_clock_monotonic() + PATIENCE * 1000000000ull;
    const struct timespec moment = {0, 50000};

    while (tt_call_system(SYS_tgkill, (long[6]){rounds.pid, tid, 0}) == 0 &&
           tt_clock_monotonic() < until)
        (void)tt_call_system(SYS_nanosleep, (long[6]){(long)(uintptr_t)&moment});
}

static int pause_rounds(void)
{
    if (!stop())
        return -1;
    wait_until_gone(rounds.tid);
    wait_until_gone(rounds.guard_tid);
    return 1;
}

int tt_wall_pause(void) { return is_here() && is_alone_with_them() ? pause_rounds() : 0; }

/* Is the line that begins so the same in two texts?  0 also if there is none. */
static int has_same(const char *a, const char *b, const char *name)
{
    const char *line = strstr(a, name), *end = line ? strchr(line + 1, '\n') : NULL,
               *other = strstr(b, name);

    return end && other && strncmp(line, other, (size_t)(end - line) + 1) == 0;
}

/* Have the calling thread and the rounds' one the same users, groups and capabilities? */
static int has_same_rights(void)
{
    static const char *const lines[] = {
        "\nUid:", "\nGid:", "\nGroups:", "\nCapPrm:", "\nCapEff:"};
    char own[2000], ours[2000]; /* bytes; more, if the groups are many */

    if (read_about(own_tid(), "/status", own, sizeof own) <= 0 ||
        read_about(rounds.tid, "/status", ours, sizeof ours) <= 0)
        return 0;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (!has_same(own, ours, lines[i]))
            return 0;
    return 1;
}

int tt_wall_pause_unequal(void)
{
    return is_here() && !has_same_rights() ? pause_rounds() : 0;
}

void tt_wall_forked(void)
{
    struct tt_wall *w = tt_self.thread ? tt_native_sampler_wall(tt_self.thread) : NULL;

    if (!rounds.running)
        return;
    if (w)
        w->held = FREE; /* it was the parent's rounds that held it */
    rounds.cpu = 0;
    rounds.running = 0;
    (void)tt_wall_resume();
}

uint64_t tt_wall_cpu(void) { return __atomic_load_n(&rounds.cpu, __ATOMIC_RELAXED); }

void tt_wall_begin(struct tt_wall *w)
{
    memset(w, 0, sizeof *w);
    if (pthread_getcpuclockid(pthread_self(), &w->clock) != 0)
        return;
    w->tid = own_tid();
    w->last = tt_clock_monotonic();
    w->cpu = own_cpu();
    __atomic_store_n(&w->ready, 1, __ATOMIC_RELEASE);
}

/* A CPU sample may count for less than its CPU time, if rounds by chance overestimated
 * the thread's waits: by half at most. */
uint64_t tt_wall_stretch(struct tt_wall *w, uint64_t ns)
{
    int64_t queued = __atomic_load_n(&w->queued, __ATOMIC_RELAXED), least;

    /* The CPU time since the last round is not yet subtracted. */
    least = -(int64_t)(ns / 2);
    if (queued < least)
        queued = least;
    (void)__atomic_fetch_sub(&w->queued, queued, __ATOMIC_RELAXED);
    return (uint64_t)((int64_t)ns + queued);
}
