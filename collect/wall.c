/* SPDX-License-Identifier: MIT */
/* wall.c - threads that wait, looked at as those are that run.
 *
 * A stack does not change while its thread waits: one look is enough for all of the time
 * until it runs again, which its CPU clock shows.  That look is made by the thread itself, in
 * a handler, since no one else can see its registers.
 *
 * Each round is a sample of all threads at one moment, and counts for the time since the
 * round before.  Rounds come at random distances, so that nothing is in step with them, and
 * take two parts in a hundred of a processor at most. */
#include "wall.h"

#include <dlfcn.h>
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
#include <ucontext.h>
#include <unistd.h>

#include "clock.h"
#include "look.h"
#include "machine.h"
#include "preload.h"
#include "strand.h"

enum { SHARE = 50, WAKING = 20000 /* ns: from the handler back into the call */ };

enum end { GOES_ON, STOPPED, ALONE };

static struct {
    pthread_t thread, guard;
    int running;
    uint32_t end; /* enum end, a futex */
    uint32_t hz;
    uint64_t cpu, chance;
} rounds;

/* What gives a thread a table of files of its own, with nothing in it; from 1 on it says
 * EINVAL where that can be done, and else something else. */
#define OWN_FILES(first)                                                                 \
    (long[6]) { first, first ? 0 : UINT_MAX, CLOSE_RANGE_UNSHARE }

/* ── Calls that wait ──────────────────────────────────────────────────────────────── */

enum after {            /* what is done with a call that says EINTR for our signal */
             AGAIN = 1, /* made again: with the same arguments it goes on */
             RESUME,    /* the system has kept how long it was to last */
             LIMITED,   /* made again: its time limit begins anew */
};

/* Those of which it is known what to do; others are left alone. */
static const struct call {
    long number;
    const char *name;
    enum after after;
} calls[] = {
    {SYS_read, "[waits: read]", AGAIN},
    {SYS_write, "[waits: write]", AGAIN},
    {SYS_readv, "[waits: read]", AGAIN},
    {SYS_writev, "[waits: write]", AGAIN},
    {SYS_pread64, "[waits: read]", AGAIN},
    {SYS_pwrite64, "[waits: write]", AGAIN},
    {SYS_recvfrom, "[waits: receive]", AGAIN},
    {SYS_recvmsg, "[waits: receive]", AGAIN},
    {SYS_sendto, "[waits: send]", AGAIN},
    {SYS_sendmsg, "[waits: send]", AGAIN},
    {SYS_sendfile, "[waits: send]", AGAIN},
    {SYS_splice, "[waits: splice]", AGAIN},
    {SYS_accept, "[waits: accept]", AGAIN},
    {SYS_accept4, "[waits: accept]", AGAIN},
    {SYS_connect, "[waits: connect]", AGAIN},
    {SYS_openat, "[waits: open]", AGAIN},
    {SYS_flock, "[waits: flock]", AGAIN},
    {SYS_fcntl, "[waits: fcntl]", AGAIN},
    {SYS_fsync, "[waits: fsync]", AGAIN},
    {SYS_fdatasync, "[waits: fsync]", AGAIN},
    {SYS_wait4, "[waits: child]", AGAIN},
    {SYS_waitid, "[waits: child]", AGAIN},
    {SYS_futex, "[waits: futex]", RESUME},
    {SYS_nanosleep, "[waits: sleep]", RESUME},
    {SYS_clock_nanosleep, "[waits: sleep]", RESUME},
    {SYS_restart_syscall, "[waits: sleep]", RESUME},
    {SYS_ppoll, "[waits: poll]", AGAIN},
    {SYS_pselect6, "[waits: poll]", AGAIN},
    {SYS_epoll_pwait, "[waits: epoll]", LIMITED},
    {SYS_rt_sigsuspend, "[waits: signal]", AGAIN},
    {SYS_rt_sigtimedwait, "[waits: signal]", LIMITED},
    {SYS_msgrcv, "[waits: message]", AGAIN},
    {SYS_msgsnd, "[waits: message]", AGAIN},
    {SYS_mq_timedreceive, "[waits: message]", AGAIN},
    {SYS_mq_timedsend, "[waits: message]", AGAIN},
    {SYS_semop, "[waits: semaphore]", AGAIN},
#ifdef SYS_poll
    {SYS_open, "[waits: open]", AGAIN},
    {SYS_poll, "[waits: poll]", RESUME},
    {SYS_select, "[waits: poll]", AGAIN},
    {SYS_epoll_wait, "[waits: epoll]", LIMITED},
    {SYS_pause, "[waits: signal]", AGAIN},
#endif
    {-1, "[waits: memory]", AGAIN},
};

static const struct call *find_call(long number)
{
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (calls[i].number == number)
            return &calls[i];
    return NULL;
}

/* Which call is made where, of those that were seen: a number is lost when a call returns.
 * Written at the beginning and by the rounds; it only grows. */
enum { SITES = 1024 };
static struct {
    uint64_t pc;
    long number;
} sites[SITES];

static size_t slot_of(uint64_t pc)
{
    size_t i = (size_t)(pc * 0x9e3779b97f4a7c15u >> 32) % SITES;
    uint64_t found;

    while ((found = __atomic_load_n(&sites[i].pc, __ATOMIC_ACQUIRE)) && found != pc)
        i = (i + 1) % SITES;
    return i;
}

static void keep_site(uint64_t pc, long number)
{
    static size_t count;
    size_t i = slot_of(pc);

    if (number < 0 || sites[i].pc || count == SITES / 2)
        return;
    count++;
    sites[i].number = number;
    __atomic_store_n(&sites[i].pc, pc, __ATOMIC_RELEASE);
}

static long find_site(uint64_t pc)
{
    size_t i = slot_of(pc);

    return __atomic_load_n(&sites[i].pc, __ATOMIC_ACQUIRE) ? sites[i].number : -1;
}

/* Those of the C library that the system does not resume by itself are known from the
 * beginning: a signal may come to a thread that is in another call by then. */
static void find_sites(void)
{
    static const struct {
        const char *function;
        long number;
    } known[] = {
        {"select", SYS_pselect6},
        {"pselect", SYS_pselect6},
        {"ppoll", SYS_ppoll},
        {"epoll_pwait", SYS_epoll_pwait},
        {"sigsuspend", SYS_rt_sigsuspend},
        {"sigtimedwait", SYS_rt_sigtimedwait},
        {"msgrcv", SYS_msgrcv},
        {"msgsnd", SYS_msgsnd},
        {"semop", SYS_semop},
#ifdef SYS_poll
        {"select", SYS_select},
        {"epoll_wait", SYS_epoll_wait},
        {"pause", SYS_pause},
#endif
    };
    enum { SPAN = 400 };
    void *(*find)(void *, const char *);
    uint64_t pc[4];

    *(void **)&find = tt_preload_next("dlsym");
    for (size_t i = 0; find && i < sizeof known / sizeof *known; i++) {
        const void *f = find(RTLD_NEXT, known[i].function);
        int n = f ? tt_machine_calls(f, SPAN, known[i].number, pc, 4) : 0;
        while (n-- > 0)
            keep_site(pc[n], known[i].number);
    }
}

/* When the time limit of a call that would begin anew is over; 0: it has none.  UINT64_MAX:
 * that is not to be seen from here. */
static uint64_t deadline_of(const struct tt_where *w, uint64_t now)
{
    if (w->number == SYS_rt_sigtimedwait)
        return w->argument[2] ? UINT64_MAX : 0;
    return (int)w->argument[3] > 0 ? now + (uint64_t)w->argument[3] * 1000000 : 0;
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

/* A file of a thread of this process; less than 0: there is none. */
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
static int parse_where(const char *text, struct tt_where *w)
{
    uint64_t value[8];
    int n = 0;
    char *end;

    memset(w, 0, sizeof *w);
    w->number = strtol(text, &end, 10);
    if (end == text)
        return 0;
    for (; n < 8 && *end == ' '; n++)
        value[n] = strtoull(end, &end, 16);
    if (n == 8)
        memcpy(w->argument, value, sizeof w->argument);
    if (n != 8 && !(n == 2 && w->number == -1))
        return 0;
    w->sp = value[n - 2];
    w->pc = value[n - 1];
    return 1;
}

/* 1: it waits there; 0: it runs, or wants to; -1: nobody knows. */
static int find_where(int tid, struct tt_where *w)
{
    char text[256];

    return read_about(tid, "/syscall", text, sizeof text) > 0 ? parse_where(text, w) : -1;
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

static void set_state(struct tt_wall *w, enum tt_wall_state state)
{
    __atomic_store_n(&w->state, (int)state, __ATOMIC_RELEASE);
}

/* Its handler does not come between: it would have run, and the clock with it. */
static void charge_again(struct tt_thread *t, struct tt_wall *w)
{
    uint64_t owed = __atomic_load_n(&w->owed, __ATOMIC_RELAXED);

    if (tt_look_again(t, owed))
        (void)__atomic_fetch_sub(&w->owed, owed, __ATOMIC_RELAXED);
}

static void ask(struct tt_wall *w, const struct tt_where *where)
{
    siginfo_t info;

    memset(&info, 0, sizeof info);
    info.si_signo = tt_preload_signal();
    info.si_code = SI_QUEUE;
    info.si_pid = getpid();
    info.si_uid = getuid();
    info.si_value.sival_ptr = &rounds;
    w->at = *where;
    set_state(w, TT_WALL_ASKED);
    if (tt_call_system(
            SYS_rt_tgsigqueueinfo,
            (long[6]){info.si_pid, w->tid, info.si_signo, (long)(uintptr_t)&info}) != 0)
        set_state(w, TT_WALL_UNKNOWN);
}

/* The call that it was interrupted in goes on in our handler, or is made again. */
static int is_same_place(const struct tt_wall *w, const struct tt_where *where)
{
    return where->number == SYS_restart_syscall ||
           (where->number == w->at.number && where->sp == w->at.sp &&
            where->pc == w->at.pc);
}

static int may_be_asked(const struct tt_wall *w, const struct tt_where *where,
                        uint64_t now)
{
    const struct call *c = find_call(where->number);

    if (!c || c->after != LIMITED)
        return c != NULL;
    return deadline_of(where, now) != UINT64_MAX &&
           !(now < w->deadline && is_same_place(w, where));
}

static void look_at_waiting(struct tt_thread *t, struct tt_wall *w,
                            const struct tt_where *where, uint64_t now)
{
    int state = __atomic_load_n(&w->state, __ATOMIC_ACQUIRE);
    uint64_t owed;

    keep_site(where->pc, where->number);
    if (state == TT_WALL_ASKED)
        return; /* the handler comes, and has all that is owed by then */
    if (state == TT_WALL_LOOKED && is_same_place(w, where) &&
        (w->cpu - w->left < WAKING || now < w->deadline)) {
        set_state(w, TT_WALL_KNOWN);
        charge_again(t, w);
    } else if (may_be_asked(w, where, now)) {
        ask(w, where);
    } else { /* where it waits is not to be seen */
        owed = __atomic_exchange_n(&w->owed, 0, __ATOMIC_RELAXED);
        (void)__atomic_fetch_add(&w->queued, (int64_t)owed, __ATOMIC_RELAXED);
    }
}

static void look_at(struct tt_thread *t, struct tt_wall *w, uint64_t now)
{
    uint64_t passed = now - w->last, used;
    struct tt_where where;
    struct timespec cpu;
    int waits;

    if (clock_gettime(w->clock, &cpu) != 0)
        return;
    used = ns_of(cpu) - w->cpu;
    w->cpu += used;
    w->last = now;
    (void)__atomic_fetch_sub(&w->queued, (int64_t)used, __ATOMIC_RELAXED);
    if (used == 0 && w->state == TT_WALL_KNOWN) {
        (void)__atomic_fetch_add(&w->owed, passed, __ATOMIC_RELAXED);
        charge_again(t, w);
        return;
    }
    waits = find_where(w->tid, &where);
    if (waits > 0) {
        if (w->state == TT_WALL_KNOWN)
            set_state(w, TT_WALL_UNKNOWN);
        (void)__atomic_fetch_add(&w->owed, passed, __ATOMIC_RELAXED);
        look_at_waiting(t, w, &where, now);
    } else {
        (void)__atomic_fetch_add(&w->queued, (int64_t)passed, __ATOMIC_RELAXED);
        if (w->state != TT_WALL_ASKED)
            set_state(w, TT_WALL_UNKNOWN);
    }
}

/* The first thread has ended, and stays because there are others: us two alone. */
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

static void go_round(void)
{
    uint64_t now = tt_clock_monotonic();
    int count = 0;

    tt_threads_lock();
    for (struct tt_thread *t = tt_threads_first(); t; t = t->next) {
        struct tt_wall *w = tt_look_wall(t);
        count++;
        if (w && __atomic_load_n(&w->ready, __ATOMIC_ACQUIRE))
            look_at(t, w, now);
    }
    tt_threads_unlock();
    if (!count && is_alone())
        end_rounds(ALONE);
}

/* ── The thread that goes round ───────────────────────────────────────────────────── */

static uint64_t own_cpu(void)
{
    struct timespec t;

    return clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) == 0 ? ns_of(t) : 0;
}

/* From half of the mean to half as much again, and so long that the rounds cost little. */
static uint64_t choose_rest(uint64_t cost)
{
    uint64_t mean = 1000000000u / rounds.hz;

    if (mean < cost * SHARE)
        mean = cost * SHARE;
    rounds.chance = rounds.chance * 6364136223846793005u + 1442695040888963407u;
    return mean / 2 + (rounds.chance >> 33) % mean;
}

/* With files of its own: a file that is open for a moment must not take the number that the
 * program's next one would have. */
static void *go_rounds(void *arg)
{
    uint64_t before = own_cpu(), cost = 0, ns;
    struct timespec rest;

    (void)pthread_setname_np(pthread_self(), "tallytree");
    if (tt_call_system(SYS_close_range, OWN_FILES(0)) != 0)
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

static int create(pthread_t *thread, void *(*run)(void *))
{
    int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

    *(void **)&next = tt_preload_next("pthread_create");
    return next ? next(thread, NULL, run, NULL) : ENOSYS;
}

/* They would be closed with the last of the program's threads, and cannot be flushed then:
 * it is this one that ends the program. */
static void *guard(void *arg)
{
    (void)pthread_setname_np(pthread_self(), "tallytree");
    while (find_end() == GOES_ON)
        wait_for_end(NULL);
    (void)pthread_join(rounds.thread, NULL);
    if (find_end() == ALONE)
        exit(0); /* as the last thread would have done */
    return arg;
}

/* Does /proc say where threads are, and can one of them have files of its own? */
static int is_possible(void)
{
    char text[16];

    return read_about(getpid(), "/syscall", text, sizeof text) > 0 &&
           tt_call_system(SYS_close_range, OWN_FILES(1)) != 0 && errno == EINVAL;
}

int tt_wall_start(uint32_t hz)
{
    sigset_t all, before;

    if (!is_possible())
        return -TT_ERR_STATE;
    find_sites();
    rounds.hz = hz;
    rounds.end = GOES_ON;
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

void tt_wall_stop(void)
{
    enum { PATIENCE = 2 };
    struct timespec until;

    if (!rounds.running || pthread_equal(pthread_self(), rounds.guard))
        return;
    rounds.running = 0;
    end_rounds(STOPPED);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE; /* who ends the process may hold what the rounds wait for */
    (void)pthread_timedjoin_np(rounds.guard, NULL, &until);
}

void tt_wall_forked(void)
{
    if (!rounds.running)
        return;
    rounds.cpu = 0;
    (void)tt_wall_start(rounds.hz);
}

uint64_t tt_wall_cpu(void) { return __atomic_load_n(&rounds.cpu, __ATOMIC_RELAXED); }

void tt_wall_begin(struct tt_wall *w)
{
    memset(w, 0, sizeof *w);
    if (pthread_getcpuclockid(pthread_self(), &w->clock) != 0)
        return;
    w->tid = (int)tt_call_system(SYS_gettid, (long[6]){0});
    w->last = tt_clock_monotonic();
    w->cpu = own_cpu();
    __atomic_store_n(&w->ready, 1, __ATOMIC_RELEASE);
}

/* What a CPU sample is worth may be less than its CPU time, when rounds said by chance that
 * the thread waited more than it did: by half at most. */
uint64_t tt_wall_stretch(struct tt_wall *w, uint64_t ns)
{
    int64_t queued = __atomic_load_n(&w->queued, __ATOMIC_RELAXED), least;

    /* The CPU time since the last round is not yet taken off. */
    least = -(int64_t)(ns / 2);
    if (queued < least)
        queued = least;
    (void)__atomic_fetch_sub(&w->queued, queued, __ATOMIC_RELAXED);
    return (uint64_t)((int64_t)ns + queued);
}

/* ── The handler ──────────────────────────────────────────────────────────────────── */

/* Is there one that would interrupt the call for the program itself? */
static int has_pending(const ucontext_t *context)
{
    uint64_t pending = 0, blocked;

    memcpy(&blocked, &context->uc_sigmask, sizeof blocked);
    if (tt_call_system(SYS_rt_sigpending,
                       (long[6]){(long)(uintptr_t)&pending, sizeof pending}) != 0)
        return 1;
    pending &= ~((uint64_t)1 << (tt_preload_signal() - 1));
    return (pending & ~blocked) != 0;
}

/* The system knows until when, as long as this handler is not left.  Meanwhile the program's
 * signals come as they would without us. */
static long resume(const ucontext_t *context)
{
    uint64_t all = UINT64_MAX, mask;
    long result;

    memcpy(&mask, &context->uc_sigmask, sizeof mask);
    mask |= (uint64_t)1 << (tt_preload_signal() - 1); /* its handler would end that */
    (void)tt_call_system(SYS_rt_sigprocmask,
                         (long[6]){SIG_SETMASK, (long)(uintptr_t)&mask, 0, sizeof mask});
    result = tt_call_system(SYS_restart_syscall, (long[6]){0});
    if (result < 0)
        result = -errno;
    (void)tt_call_system(SYS_rt_sigprocmask,
                         (long[6]){SIG_SETMASK, (long)(uintptr_t)&all, 0, sizeof all});
    return result;
}

/* Where it is: where it was asked, or in another call by now, which may not be known. */
static int find_interrupted(const struct tt_wall *w, const void *context,
                            struct tt_where *out)
{
    if (!tt_machine_was_interrupted(context, &out->pc, &out->sp, out->argument))
        return 0;
    if (out->pc == w->at.pc && out->sp == w->at.sp)
        *out = w->at;
    else
        out->number = tt_machine_keeps_arguments() ? find_site(out->pc) : -1;
    return 1;
}

static int is_resumed(const struct tt_where *at, const struct call *c)
{
    return c->after == RESUME &&
           !(at->number == SYS_clock_nanosleep && (at->argument[1] & TIMER_ABSTIME));
}

/* The call goes on as if nothing had happened.  Of one that is not known the system knows
 * whether it can; where it cannot, that says EINTR once more. */
static void mend(struct tt_wall *w, void *context)
{
    struct tt_where at;
    const struct call *c;

    if (!find_interrupted(w, context, &at))
        return;
    c = at.number < 0 ? NULL : find_call(at.number);
    if (!c || is_resumed(&at, c)) {
        tt_machine_answer(context, resume(context));
        return;
    }
    if (has_pending(context))
        return;
    if (c->after == LIMITED)
        w->deadline = deadline_of(&at, tt_clock_monotonic());
    tt_machine_repeat(context, at.number, at.argument[0]);
}

static const char *name_of_wait(const struct tt_wall *w, const void *context)
{
    uint64_t pc, sp;
    const struct call *c = find_call(w->at.number);

    tt_machine_place(context, &pc, &sp);
    return c && sp == w->at.sp && w->at.pc - pc <= TT_MACHINE_CALL_SIZE ? c->name : NULL;
}

int tt_wall_signal(struct tt_thread *t, const siginfo_t *info, void *context)
{
    struct tt_wall *w;
    uint64_t owed;

    if (info->si_code != SI_QUEUE || info->si_value.sival_ptr != &rounds)
        return 0;
    w = t ? tt_look_wall(t) : NULL;
    if (!w || __atomic_load_n(&w->state, __ATOMIC_ACQUIRE) != TT_WALL_ASKED)
        return 1;
    owed = __atomic_load_n(&w->owed, __ATOMIC_RELAXED);
    if (tt_look_waiting(t, context, owed, name_of_wait(w, context))) {
        (void)__atomic_fetch_sub(&w->owed, owed, __ATOMIC_RELAXED);
        w->left = own_cpu();
        set_state(w, TT_WALL_LOOKED);
    } else {
        set_state(w, TT_WALL_UNKNOWN);
    }
    mend(w, context);
    return 1;
}
