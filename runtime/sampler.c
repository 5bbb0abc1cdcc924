/* SPDX-License-Identifier: MIT */
/* sampler.c - sampled mode: samples of the current contexts of strands.
 *
 * Two sources, one rule: a sample counts for the CPU time of its thread since the previous one.
 * So late, lost and merged signals cost precision, not time.
 *
 *   timer   each thread's own CPU-time timer, whose signal it handles itself
 *   thread  one thread that reads the `current` and the CPU clock of each strand in turn;
 *           no signals, and any rate, at the cost of a little time of one processor
 *
 * The signal is SIGPROF, if it is free: if the program, or another copy of this runtime,
 * handles it, the thread is used.  Samples of native stacks use a
 * separate signal. */
#include "sampler.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "activation.h"
#include "block.h"
#include "clock.h"
#include "extension.h"
#include "stack.h"

enum { HIDERS_MAX = 256 };

const struct tt_looker *tt_looker;

static struct {
    struct sigaction before; /* action of the timers' signal before */
    struct tt_recording *recording;
    pthread_t thread;
    int running; /* 1: timers; 2: the thread; read by threads that come, as `recording` */
    int leave;
    struct tt_marks marks;    /* the sampler thread's */
    struct tt_log_writer log; /* the same */
    uint64_t seen;            /* CPU time of threads that are no longer sampled, ns */
} sampler;

static int has_sampled(const struct tt_recording *r)
{
    const uint32_t *mode = r->options.mode;

    return (tt_looker && mode[TT_KIND_NATIVE] == TT_MODE_SAMPLED) ||
           mode[TT_KIND_SCOPE] == TT_MODE_SAMPLED ||
           mode[TT_KIND_BLOCK] == TT_MODE_SAMPLED ||
           mode[TT_KIND_FUNCTION] == TT_MODE_SAMPLED ||
           mode[TT_KIND_STATEMENT] == TT_MODE_SAMPLED ||
           mode[TT_KIND_CENTRE] == TT_MODE_SAMPLED;
}

static uint64_t ticks_of(const struct tt_recording *r, uint64_t ns)
{
    return (uint64_t)((unsigned __int128)ns * r->header->ticks_per_second / 1000000000u);
}

/* ── Timers ───────────────────────────────────────────────────────────────────────── */

/* async-signal-safe */
static void take_sample(struct tt_thread *t)
{
    struct tt_frame *top = t->self->top;
    uint64_t cpu = tt_clock_cpu(), ticks;

    ticks = ticks_of(t->recording, cpu - t->sampler.cpu);
    t->sampler.cpu = cpu;
    TT_SHOW(t->record->current, (uint64_t)((const char *)top->node - t->tree.base));
    if (t->clock.pauses || top->node == t->tree.root ||
        (tt_frame_flags(top) & TT_FRAME_TIMED) ||
        !__atomic_load_n(&tt_on, __ATOMIC_RELAXED))
        return;
    tt_busy_enter(&t->busy);
    tt_charge(t, top, ticks, 1);
    tt_busy_leave(&t->busy);
}

/* Samples that have more time than others know less together than as many equal ones. */
static void weigh(struct tt_recording *r, uint64_t ns)
{
    const uint64_t n = ns / tt_look_unit(r->options.hz);

    tt_bump_shared(&r->header->looks, 1);
    tt_bump_shared(&r->header->look_times, n);
    tt_bump_shared(&r->header->look_squares, n * n);
}

/* Looks are paid for: by a hundredth of the thread's time, and something in advance for the
 * first ones, which find everything cold.  The next one has the time of those that are skipped.
 * So its stack must not depend on the cost of the last one.  Else the code that runs after long
 * stacks would get their time.  The mean cost of several decides how long the next one waits,
 * and the thread repays a debt slowly. */
static int is_paid(const struct tt_sampler_state *s, uint64_t cpu)
{
    enum { SHARE = 100, ADVANCE = 1000000, MEANS = 32, MOST = 30, LONGEST = 1 << 25 };
    const int64_t mean = s->mean < LONGEST ? (int64_t)s->mean : LONGEST;
    int64_t debt = (int64_t)s->spent - ADVANCE - (int64_t)((cpu - s->start) / SHARE);

    debt = debt > MOST * mean ? MOST * mean : debt < -MOST * mean ? -MOST * mean : debt;
    return !mean ||
           (int64_t)(cpu - s->cpu) >= SHARE * MEANS * mean * mean / (MEANS * mean - debt);
}

/* Async-signal-safe. */
static void take_look(struct tt_thread *t, void *context)
{
    enum { MEAN_OF = 16 };
    uint64_t cpu = tt_clock_cpu(), ns = cpu - t->sampler.cpu, cost;

    if (!is_paid(&t->sampler, cpu)) {
        tt_bump_shared(&t->recording->header->skipped, 1);
        return;
    }
    if (t->busy.work || !__atomic_load_n(&tt_on, __ATOMIC_RELAXED)) {
        tt_bump_shared(&t->recording->header->late, t->busy.work != 0);
        return;
    }
    if (!tt_looker->look(t, context, ns)) {
        tt_bump_shared(&t->recording->header->late, 1);
        return;
    }
    weigh(t->recording, ns);
    t->sampler.cpu = tt_clock_cpu();
    cost = t->sampler.cpu - cpu;
    t->sampler.spent += cost;
    t->sampler.mean += cost / MEAN_OF - t->sampler.mean / MEAN_OF;
}

static int set_action(const struct sigaction *wanted, struct sigaction *before)
{
    return tt_looker ? tt_looker->action(tt_looker->signal, wanted, before)
                     : sigaction(SIGPROF, wanted, before);
}

/* Handlers of the program stay off our stack; the C library's of cancellation, which leaves
 * all that it interrupts, too: sigfillset() would leave that signal out. */
static void block_all(sigset_t *set)
{
    uint64_t mask = ~tt_looker->open;

    memset(set, 0xff, sizeof *set);
    memcpy(set, &mask, sizeof mask);
}

/* Async-signal-safe. */
static void set_mask(const void *set)
{
    (void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, set, NULL, sizeof(uint64_t));
}

/* Blocks the signals that the other handler would have blocked, as it may not return: a
 * thread may be cancelled in it. */
static void call_handler(const struct sigaction *other, int number, siginfo_t *info,
                         void *context)
{
    const ucontext_t *interrupted = context;
    uint64_t mask, more, ours;

    memcpy(&mask, &interrupted->uc_sigmask, sizeof mask);
    memcpy(&more, &other->sa_mask, sizeof more);
    memset(&ours, 0xff, sizeof ours);
    mask |= more | (uint64_t)1 << (number - 1);
    if (tt_looker)
        set_mask(&mask);
    if (other->sa_flags & SA_SIGINFO)
        other->sa_sigaction(number, info, context);
    else
        other->sa_handler(number);
    if (tt_looker)
        set_mask(&ours);
}

/* A foreign signal has its usual effect: by default it ends the program as soon as our
 * handler has returned.  Async-signal-safe. */
static void pass_on(int number, siginfo_t *info, void *context)
{
    const struct sigaction *before = &sampler.before;

    if ((before->sa_flags & SA_SIGINFO) ||
        (before->sa_handler != SIG_DFL && before->sa_handler != SIG_IGN)) {
        call_handler(before, number, info, context);
    } else if (before->sa_handler == SIG_DFL) {
        (void)set_action(before, NULL);
        (void)syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), number);
    }
}

/* Async-signal-safe. */
static void on_timer(int number, siginfo_t *info, void *context)
{
    int saved = errno;

    if (info->si_code != SI_TIMER || info->si_value.sival_ptr != &sampler) {
        pass_on(number, info, context);
    } else if (!tt_self.thread || !tt_self.thread->sampler.armed)
        ;
    else if (tt_looker)
        take_look(tt_self.thread, context);
    else
        take_sample(tt_self.thread);
    errno = saved;
}

/* Our handler stays when the sampling is over, for signals that are still on their way. */
int tt_sampler_signal(void)
{
    struct sigaction action, before;
    int is_ours;

    if (set_action(NULL, &before) != 0)
        return -TT_ERR_STATE;
    is_ours = (before.sa_flags & SA_SIGINFO) && before.sa_sigaction == on_timer;
    if (is_ours && !tt_looker)
        return 0;
    if (!tt_looker && ((before.sa_flags & SA_SIGINFO) || before.sa_handler != SIG_DFL))
        return -TT_ERR_STATE;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_timer;
    action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    if (tt_looker)
        block_all(&action.sa_mask);
    if (!is_ours)
        sampler.before = before;
    return set_action(&action, NULL) == 0 ? 0 : -TT_ERR_STATE;
}

void tt_sampler_pass(const struct sigaction *wanted, struct sigaction *before)
{
    if (before)
        *before = sampler.before;
    if (wanted)
        sampler.before = *wanted;
}

static void count_lost(const struct tt_recording *r)
{
    tt_bump_shared(&r->header->lost_samplers, 1);
}

static int start_timer(const struct tt_thread *t)
{
    uint64_t ns = 1000000000u / t->recording->options.hz;
    struct itimerspec every = {
        .it_interval = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)},
        .it_value = {0, 1}, /* the system's next tick: some threads are short */
    };

    return timer_settime(t->sampler.timer, 0, &every, NULL);
}

static void arm_timer(struct tt_thread *t)
{
    struct sigevent event;

    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = tt_looker ? tt_looker->signal : SIGPROF;
    event.sigev_value.sival_ptr = &sampler;
#ifdef sigev_notify_thread_id
    event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
#else
    event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
#endif
    if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &t->sampler.timer) != 0) {
        count_lost(t->recording);
        return;
    }
    t->sampler.armed = t->sampler.has_timer = 1;
    if (start_timer(t) != 0)
        count_lost(t->recording);
}

/* A signal that was sent already is delivered before the system call returns. */
void tt_sampler_hush(const struct tt_thread *t)
{
    static const struct itimerspec never;

    if (t->sampler.armed && t->sampler.has_timer)
        (void)timer_settime(t->sampler.timer, 0, &never, NULL);
}

void tt_sampler_resume(const struct tt_thread *t)
{
    if (t->sampler.armed && t->sampler.has_timer && start_timer(t) != 0)
        count_lost(t->recording);
}

/* ── The thread ───────────────────────────────────────────────────────────────────── */

/* The arcs that hide blocks of a running stack: none if it has changed meanwhile. */
static int read_hiders(const struct tt_thread *t, uint32_t cell[HIDERS_MAX])
{
    uint64_t before = __atomic_load_n(&t->charging.changes, __ATOMIC_ACQUIRE);
    const struct tt_frame *f = __atomic_load_n(&t->stack.hider, __ATOMIC_ACQUIRE);
    int n = 0;

    while (f && n < HIDERS_MAX) {
        uint64_t edge = __atomic_load_n(&f->edge, __ATOMIC_ACQUIRE);
        cell[n++] = (uint32_t)edge;
        f = __atomic_load_n(&f->hider, __ATOMIC_ACQUIRE);
    }
    return (before & 1) ||
                   __atomic_load_n(&t->charging.changes, __ATOMIC_ACQUIRE) != before
               ? 0
               : n;
}

static void add_hidden_of(const struct tt_tree *tree, const struct tt_node *arc,
                          uint64_t ticks)
{
    const struct tt_node *target = tt_cell(tree->base, arc->target),
                         *n = tt_parent(tree, arc);
    struct tt_tally *tally;
    struct tt_marks *m = &sampler.marks;

    for (; n != target && n != tree->root; n = tt_parent(tree, n)) {
        if (!(n->flags & TT_NODE_OUTERMOST) || n->key >= m->size ||
            m->stamp[n->key] == m->serial)
            continue;
        m->stamp[n->key] = m->serial;
        tally = tt_tree_tally_find(tree, n->key);
        if (tally)
            tt_bump_shared(&tally->hidden, ticks);
    }
}

static void look_at_hidden(const struct tt_thread *t, const struct tt_node *n,
                           uint64_t ticks)
{
    uint32_t cell[HIDERS_MAX];
    int count = read_hiders(t, cell);

    if (!count || tt_marks_grow(&sampler.marks, t->tree.tally_size) != 0)
        return;
    sampler.marks.serial++;
    for (; n != t->tree.root; n = tt_parent(&t->tree, n))
        if (n->key < sampler.marks.size)
            sampler.marks.stamp[n->key] = sampler.marks.serial;
    for (int i = 0; i < count; i++)
        if (tt_cell(t->tree.base, cell[i])->kind == TT_CELL_ARC)
            add_hidden_of(&t->tree, tt_cell(t->tree.base, cell[i]), ticks);
}

/* Cells do not move while the tree's lock is held.  The strand may leave this node
 * meanwhile; that does not matter: the sample is of the moment when we read it. */
static void look_at(struct tt_thread *t, uint64_t ticks)
{
    struct tt_node *n;

    tt_nested_lock(&t->tree.lock, &tt_self);
    n = __atomic_load_n(&__atomic_load_n(&t->self->top, __ATOMIC_ACQUIRE)->node,
                        __ATOMIC_RELAXED);
    TT_SHOW(t->record->current, (uint64_t)((const char *)n - t->tree.base));
    if (n->kind == TT_CELL_CONTEXT && n != t->tree.root &&
        t->recording->options.mode[tt_block_entry(n->key)->info.kind] ==
            TT_MODE_SAMPLED) {
        tt_bump_shared(&n->self, ticks);
        tt_bump_shared(&n->samples, 1);
        tt_log_add(t, &sampler.log, n, ticks, TT_LOG_NOW);
        if (__atomic_load_n(&t->stack.hider, __ATOMIC_ACQUIRE))
            look_at_hidden(t, n, ticks);
    } else if (n == t->tree.limbo) {
        tt_bump_shared(&t->record->lost_ticks, ticks);
    }
    tt_nested_unlock(&t->tree.lock);
}

/* Of any thread; 0: it is gone. */
static uint64_t cpu_of(const struct tt_thread *t)
{
    struct timespec cpu;

    if (clock_gettime(t->sampler.clock, &cpu) != 0)
        return 0;
    return (uint64_t)cpu.tv_sec * 1000000000u + (uint64_t)cpu.tv_nsec;
}

static void go_round(const struct tt_recording *r)
{
    uint64_t now, before;

    tt_threads_lock();
    for (struct tt_thread *t = tt_threads_first(); t; t = t->next) {
        now = __atomic_load_n(&t->sampler.armed, __ATOMIC_ACQUIRE) ? cpu_of(t) : 0;
        if (!now)
            continue;
        before = __atomic_exchange_n(&t->sampler.cpu, now, __ATOMIC_RELAXED);
        if (now > before && !__atomic_load_n(&t->clock.pauses, __ATOMIC_RELAXED))
            look_at(t, ticks_of(r, now - before));
    }
    tt_threads_unlock();
}

static void *run_sampler(void *arg)
{
    const struct tt_recording *r = arg;
    uint64_t ns = 1000000000u / r->options.hz;
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    while (!__atomic_load_n(&sampler.leave, __ATOMIC_ACQUIRE)) {
        struct timespec now;

        until.tv_nsec += (long)(ns % 1000000000u);
        until.tv_sec += (time_t)(ns / 1000000000u) + until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (now.tv_sec > until.tv_sec + 1)
            until = now; /* the machine slept: do not make up for it */
        go_round(r);
    }
    return NULL;
}

static int start_thread(struct tt_recording *r)
{
    sigset_t all, before;
    int error;

    sampler.leave = 0;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(&sampler.thread, NULL, run_sampler, r);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!error)
        (void)pthread_setname_np(sampler.thread, "tallytree");
    return error ? -TT_ERR_MEMORY : 0;
}

/* ── Start and stop ───────────────────────────────────────────────────────────────── */

/* The system checks CPU timers when its clock ticks; its coarse clock ticks with it. */
static uint64_t find_tick(void)
{
    struct timespec tick;

    if (clock_getres(CLOCK_MONOTONIC_COARSE, &tick) != 0)
        return 0;
    return (uint64_t)tick.tv_sec * 1000000000u + (uint64_t)tick.tv_nsec;
}

int tt_sampler_start(struct tt_recording *r)
{
    int by_thread = r->options.sampler_thread != 0, error = 0;

    if (!has_sampled(r))
        return 0;
    if (!by_thread && (error = tt_sampler_signal()) != 0 && !tt_looker)
        by_thread = 1;
    if (by_thread)
        error = start_thread(r);
    if (error) {
        count_lost(r);
        return error;
    }
    r->header->sampler_thread = (uint32_t)by_thread;
    r->header->tick = by_thread ? 0 : find_tick();
    __atomic_store_n(&sampler.recording, r, __ATOMIC_RELAXED);
    __atomic_store_n(&sampler.running, by_thread ? 2 : 1, __ATOMIC_RELEASE);
    return 0;
}

/* Timers of other threads go with their strands; their signals find tt_on cleared. */
void tt_sampler_stop(struct tt_recording *r)
{
    if (!sampler.running || sampler.recording != r)
        return;
    if (sampler.running == 2) {
        __atomic_store_n(&sampler.leave, 1, __ATOMIC_RELEASE);
        pthread_join(sampler.thread, NULL);
        tt_marks_fini(&sampler.marks);
    }
    __atomic_store_n(&sampler.running, 0, __ATOMIC_RELAXED);
}

void tt_sampler_arm(struct tt_thread *t)
{
    int running = __atomic_load_n(&sampler.running, __ATOMIC_ACQUIRE);

    if (!running || __atomic_load_n(&sampler.recording, __ATOMIC_RELAXED) != t->recording)
        return;
    t->sampler.start = tt_clock_cpu();
    __atomic_store_n(&t->sampler.cpu, t->sampler.start, __ATOMIC_RELAXED);
    t->sampler.spent = t->sampler.mean = 0;
    t->sampler.has_timer = 0;
    if (pthread_getcpuclockid(pthread_self(), &t->sampler.clock) != 0)
        count_lost(t->recording);
    else if (running != 1)
        __atomic_store_n(&t->sampler.armed, 1, __ATOMIC_RELEASE);
    else if (!tt_looker || tt_looker->begin(t) == 0)
        arm_timer(t);
}

void tt_sampler_disarm(struct tt_thread *t)
{
    if (t->sampler.armed)
        tt_bump_shared(&sampler.seen, tt_clock_cpu() - t->sampler.start);
    if (t->sampler.armed && t->sampler.has_timer) /* the id of a timer may be 0 */
        timer_delete(t->sampler.timer);
    __atomic_store_n(&t->sampler.armed, 0, __ATOMIC_SEQ_CST);
    if (tt_looker)
        tt_looker->end(t);
}

uint64_t tt_sampler_seen(void)
{
    uint64_t seen;

    tt_threads_lock();
    seen = __atomic_load_n(&sampler.seen, __ATOMIC_RELAXED);
    for (const struct tt_thread *t = tt_threads_first(); t; t = t->next)
        if (t->sampler.armed) {
            uint64_t now = cpu_of(t);
            seen += (now > t->sampler.cpu ? now : t->sampler.cpu) - t->sampler.start;
        }
    tt_threads_unlock();
    return seen;
}

void tt_sampler_cease(void)
{
    tt_threads_lock();
    sampler.running = 0;
    for (struct tt_thread *t = tt_threads_first(); t; t = t->next) {
        if (t->sampler.armed && t->sampler.has_timer)
            timer_delete(t->sampler.timer);
        __atomic_store_n(&t->sampler.armed, 0, __ATOMIC_SEQ_CST);
    }
    tt_threads_unlock();
}

void tt_sampler_skip(struct tt_thread *t)
{
    if (t->sampler.armed)
        __atomic_store_n(&t->sampler.cpu, tt_clock_cpu(), __ATOMIC_RELAXED);
}

void tt_sampler_forked(struct tt_recording *r)
{
    struct tt_marks none = {NULL, 0, 0};

    sampler.marks = none;
    __atomic_store_n(&sampler.recording, r, __ATOMIC_RELAXED);
    if (sampler.running == 2 && start_thread(r) != 0) {
        sampler.running = 0;
        count_lost(r);
    }
}
