/* SPDX-License-Identifier: MIT */
/* preload.c - the library that `tallytree record` loads into a program.
 *
 * It contains the runtime, starts it before main, and stops it after all else.  Programs
 * that are linked with the runtime find this one first.  If it cannot record, it does not
 * disturb the program: only the recording is missing, and its reason.
 *
 *      TALLYTREE         the words of tt_start
 *      TALLYTREE_FOLDER  every process writes its recording there: PROGRAM.PID
 *      TALLYTREE_CLOCK   how fast the processor's counter runs, and what exact times cost
 *      TALLYTREE_WHEN    "BEGIN END" by the system's clock, in ns: when samples count
 *      TALLYTREE_WALL    waiting threads are sampled, too
 *      TALLYTREE_HEAP    the allocator's events: one in so many bytes; 0: all
 *      TALLYTREE_MAPS    mappings of the program count as such events
 *      TALLYTREE_SEED    of the random choice of events, to repeat it
 *      TALLYTREE_INTERPRETERS  "none": their functions are not shown
 *      TALLYTREE_LINES   lines of an interpreter's functions are shown, too
 *      TALLYTREE_SOURCE  how samples are taken, for the header */
#include "preload.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "calibrate.h"
#include "clock.h"
#include "control.h"
#include "folder.h"
#include "graft.h"
#include "hooks.h"
#include "interpose-exec.h"
#include "interpose-fault.h"
#include "interpose-loader.h"
#include "interpose-signal.h"
#include "interpreters.h"
#include "modules.h"
#include "native-sampler.h"
#include "next-function.h"
#include "node.h"
#include "share.h"
#include "stack-cache.h"
#include "strand.h"
#include "system-call.h"
#include "unwind.h"
#include "wall.h"

static struct {
    pid_t pid; /* of the recording process; 0: none */
    int tried;
    const char *wall; /* NULL: not wanted; ""; or why it is impossible */
    uint64_t cpu;     /* CPU time of the process when it began, ns */
    int interpreters; /* they are looked for */
    int sanitizer;    /* present, so its allocator is not intercepted */
    char node[90];    /* for the header, if it is that */
    void (*exit)(int);
} preload;

/* A copy of the runtime in the program forwards its calls to this one. */
TT_API const struct tt_runtime *tt_host_runtime_1(void);
const struct tt_runtime *tt_host_runtime_1(void) { return tt_runtime_1(); }

/* A sanitizer's allocator calls the C library, and the library the allocator, while one
 * of them waits for itself: no code can run in between. */
static int has_collector(void) { return &tt_preload_collector && !preload.sanitizer; }

/* NULL if there is no sanitizer.  A failed dlsym would leave a message: making it, and
 * dlerror, take the lock of setlocale, which the caller of the malloc that we are in may
 * hold. */
extern void __asan_init(void) __attribute__((weak));
extern void __tsan_init(void) __attribute__((weak));
extern void __msan_init(void) __attribute__((weak));
extern void __lsan_init(void) __attribute__((weak));
extern void __hwasan_init(void) __attribute__((weak));

static int has_sanitizer(void)
{
    return __asan_init || __tsan_init || __msan_init || __lsan_init || __hwasan_init;
}

/* ── Interpreters ─────────────────────────────────────────────────────────────────── */

/* Stores the interpreters in the header, and why functions of some are not shown. */
static void say_interpreters(void)
{
    struct tt_header *h = tt_recording->header;
    size_t length = 0;

    for (const struct tt_interpreter *i = tt_interpreters_first();
         i && length < sizeof h->interpreters; i = i->next)
        length += (size_t)snprintf(h->interpreters + length,
                                   sizeof h->interpreters - length, "%s%s%s%s",
                                   length ? "; " : "", i->name,
                                   i->off ? ", not shown: " : "", i->off ? i->off : "");
    if (*preload.node && length < sizeof h->interpreters)
        (void)snprintf(h->interpreters + length, sizeof h->interpreters - length, "%s%s",
                       length ? "; " : "", preload.node);
}

static int has_shown_one(void)
{
    const struct tt_interpreter *i = tt_interpreters_first();

    while (i && i->off)
        i = i->next;
    return i != NULL;
}

void tt_preload_find_interpreters(void)
{
    static int busy;

    if (!tt_preload_is_here() || !preload.interpreters ||
        __atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE))
        return;
    tt_interpreters_find();
    say_interpreters();
    if (has_shown_one() && !preload.sanitizer)
        tt_preload_resume_loads();
    __atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
}

/* Before the recording begins: lines of functions are samples, as these are. */
static void read_interpreters(struct tt_options *o)
{
    const char *which = secure_getenv("TALLYTREE_INTERPRETERS");

    preload.interpreters = !which || strcmp(which, "none") != 0;
    if (preload.interpreters)
        tt_interpreters_find();
    /* An interpreter may be loaded later. */
    tt_interpreted_lines = preload.interpreters &&
                           secure_getenv("TALLYTREE_LINES") != NULL;
    if (tt_interpreted_lines)
        o->mode[TT_KIND_STATEMENT] = TT_MODE_SAMPLED;
}

/* ── Start ────────────────────────────────────────────────────────────────────────── */

/* Measuring takes 3 ms, which is much if a build runs a thousand processes. */
static void read_clock(void)
{
    const char *clock = secure_getenv("TALLYTREE_CLOCK");
    uint64_t known[5] = {0};
    char *end;

    for (int i = 0; clock && i < 5; i++, clock = end)
        known[i] = strtoull(clock, &end, 10);
    if (known[0] <= 1000000 || known[0] >= 100000000000)
        return;
    tt_clock_know(known[0]);
    if (known[2] && known[4])
        tt_calibration_know(&(struct tt_bracket){known[1], known[2]},
                            &(struct tt_bracket){known[3], known[4]});
}

static void read_times(struct tt_native_sampler_options *look)
{
    const char *when = secure_getenv("TALLYTREE_WHEN");
    char *end;

    if (!when)
        return;
    look->begin = strtoull(when, &end, 10);
    look->end = strtoull(end, NULL, 10);
}

/* Each thread has its strand from the start. */
static void enter_thread(void)
{
    struct tt_thread *t = tt_thread_enter();

    tt_graft_know_stack();
    if (t)
        tt_thread_leave(t);
}

static uint64_t process_cpu(void)
{
    struct timespec t;

    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) != 0)
        return 0;
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int tt_preload_is_here(void) { return preload.pid && preload.pid == getpid(); }

void tt_preload_spend(void)
{
    if (tt_preload_is_here())
        tt_recording->header->cpu = process_cpu() - preload.cpu;
}

void tt_preload_leave(void)
{
    const struct tt_thread *t = tt_preload_is_here() ? tt_self.thread : NULL;

    tt_preload_spend();
    if (t)
        tt_sampler_hush(t);
}

int tt_preload_stay(int result)
{
    const struct tt_thread *t = tt_preload_is_here() ? tt_self.thread : NULL;
    int saved = errno;

    if (t)
        tt_sampler_resume(t);
    errno = saved;
    return result;
}

/* Threads that were made by calls that we do not intercept have no timers; the CPU time
 * of the process shows that they exist.  The starts and ends of the other threads are not
 * seen either. */
static void say_unseen(void)
{
    enum { INTERVALS = 8 };
    uint64_t spent = tt_recording->header->cpu, seen = tt_sampler_seen() + tt_wall_cpu(),
             slack = INTERVALS * (1000000000u / tt_recording->options.hz);

    if (spent > seen + slack + spent / 50)
        tt_recording->header->unseen = spent - seen;
}

static void after_fork_in_child(void)
{
    const int saved = errno;

    if (tt_has_ceased())
        return;
    preload.cpu = process_cpu();
    preload.pid = preload.pid ? getpid() : 0;
    tt_modules_forked();
    tt_wall_forked();
    tt_hooks_forked();
    tt_preload_faults_forked();
    if (has_collector())
        tt_preload_collector.forked();
    enter_thread();
    errno = saved;
}

static int times_exactly(const struct tt_options *o)
{
    for (int i = 0; i < TT_KINDS; i++)
        if (o->mode[i] == TT_MODE_EXACT || o->mode[i] == TT_MODE_EVERY)
            return 1;
    return 0;
}

/* Chromium's zygote, which its other processes are forked from, ends if it has two threads. */
static int is_zygote(void)
{
    static const char option[] = "--type=zygote";
    char words[4096];
    const int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    const ssize_t size = fd < 0 ? -1 : read(fd, words, sizeof words);

    if (fd >= 0)
        close(fd);
    return size > 0 && memmem(words, (size_t)size, option, sizeof option) != NULL;
}

static const char *start_wall(uint32_t hz)
{
    if (is_zygote())
        return "; no waits: a zygote must have one thread";
    return tt_wall_start(hz) == 0
               ? ""
               : "; the system does not allow access to waiting threads";
}

/* What we map could be what the program's next malloc needs: our tables, and the stacks of
 * the two threads. */
static int is_tight(const struct tt_options *o, int has_threads)
{
    const uint64_t own = (uint64_t)(has_threads ? 24 : 8) << 20;

    return tt_preload_is_tight(o->budget + own, own);
}

enum { IS_TIGHT = 1 }; /* no error of tt_start */

static int start(const char *words, const char *folder)
{
    struct tt_native_sampler_options looks = {0};
    struct tt_options o;
    int error = tt_options_read(&o, words, NULL);

    looks.wall = secure_getenv("TALLYTREE_WALL") != NULL;
    if (!error && is_tight(&o, looks.wall))
        return IS_TIGHT;
    if (!error)
        error = tt_folder_output(&o, folder);
    if (error)
        return error;
    read_times(&looks);
    read_interpreters(&o);
    read_clock();
    if (times_exactly(&o))
        looks.metric = tt_metric_get(looks.wall ? "wall" : "cpu", "ns");
    tt_native_sampler.signal = tt_preload_signal();
    tt_native_sampler.action = tt_preload_sigaction;
    tt_native_sampler_lend = tt_preload_lend;
    tt_native_sampler_init(&looks);
    tt_preload_unblock();
    if (has_collector())
        tt_preload_collector.start();
    tt_hooks_start(&o);
    error = tt_start_with(&o);
    if (error) {
        const int reason = errno;
        tt_looker = NULL;
        unlink(o.output);
        errno = reason;
    } else if (looks.wall) {
        preload.wall = start_wall(o.hz);
        tt_recording->header->wall = !*preload.wall;
    }
    return error;
}

static void say_source(void)
{
    const char *source = secure_getenv("TALLYTREE_SOURCE"), *wall = preload.wall,
               *rate = secure_getenv("TALLYTREE_HEAP");
    struct tt_header *h = tt_recording->header;

    h->heap_rate = rate ? strtoull(rate, NULL, 10) : 0;
    if (!source)
        source = "in-process, by CPU timers of each thread";
    (void)snprintf(h->source, sizeof h->source, "%s%s%s", source,
                   wall && !*wall ? ", and by a thread that reads waiting ones"
                   : wall         ? wall
                                  : "",
                   tt_hooks_count_only() ? "; -pg reports no returns"
                   : preload.sanitizer   ? tt_preload_collector.without
                                         : "");
}

/* Valgrind simulates the program, which never ended with our timers: we do not record. */
static int is_simulated(void)
{
    const char *loaded = getenv("LD_PRELOAD");

    return loaded && strstr(loaded, "/vgpreload_") != NULL;
}

static void begin(void)
{
    const char *words = secure_getenv("TALLYTREE"),
               *folder = secure_getenv("TALLYTREE_FOLDER");
    int error;

    if (preload.tried)
        return;
    preload.tried = 1;
    tt_modules_linked = 1;
    tt_stays_loaded = 1;
    tt_preload_find_syscall();
    tt_preload_find_actions();
    *(void **)&preload.exit = tt_next_function("_exit");
    preload.sanitizer = &tt_preload_collector && has_sanitizer();
    if (!words || !folder || is_simulated())
        return;
    error = start(words, folder);
    if (error == IS_TIGHT)
        tt_preload_note_tight(folder);
    else if (error)
        tt_preload_note_failure(folder, error, error == -TT_ERR_FILE ? errno : 0);
    if (error)
        return;
    preload.pid = getpid();
    preload.cpu = process_cpu();
    say_source();
    tt_preload_find_interpreters();
    (void)pthread_atfork(NULL, NULL, after_fork_in_child);
    tt_preload_watch();
    tt_preload_note_programs(folder);
    enter_thread();
    if (has_collector())
        __atomic_store_n(tt_preload_collector.on, 1, __ATOMIC_RELEASE);
}

void tt_preload_start(void)
{
    const int saved = errno;

    begin();
    errno = saved;
}

static void add_to_source(const char *text)
{
    struct tt_header *h = tt_recording->header;
    size_t length = strnlen(h->source, sizeof h->source - 1);

    (void)snprintf(h->source + length, sizeof h->source - length, "%s", text);
}

static int is_for_threads(long result)
{
    return result < 0 && (errno == EINVAL || errno == EUSERS);
}

/* A thread that has ended is in the way for a moment longer. */
static long repeat(long number, const long a[6])
{
    enum { TIMES = 20 };
    const struct timespec moment = {0, 50000};
    const int before = errno;
    long result = tt_call_system(number, a);

    for (int i = 1; i < TIMES && is_for_threads(result); i++) {
        (void)tt_call_system(SYS_nanosleep, (long[6]){(long)(uintptr_t)&moment});
        errno = before;
        result = tt_call_system(number, a);
    }
    return result;
}

/* Ends our threads; where they wait for it the caller is not cancelled. */
static int pause_wall(int (*pause)(void))
{
    const int saved = errno;
    int state, paused;

    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    paused = pause();
    (void)pthread_setcancelstate(state, NULL);
    errno = saved;
    return paused;
}

static void resume_wall(int paused, const char *otherwise)
{
    const int saved = errno;

    if (paused < 0 || (paused && tt_wall_resume() != 0))
        add_to_source(otherwise);
    errno = saved;
}

long tt_preload_call_alone(long number, const long a[6])
{
    const int before = errno;
    long result = tt_call_system(number, a);
    int paused;

    if (!is_for_threads(result) || !tt_preload_is_here())
        return result;
    paused = pause_wall(tt_wall_pause);
    if (paused > 0) {
        errno = before;
        result = repeat(number, a);
    }
    resume_wall(paused, "; no waits after it changed its namespaces");
    return result;
}

int tt_preload_step_aside(void)
{
    return tt_preload_is_here() ? pause_wall(tt_wall_pause_unequal) : 0;
}

void tt_preload_step_back(int paused)
{
    resume_wall(paused, "; no waits after it changed its rights");
}

/* The recording stays as it is now, like that of a process that was killed. */
void tt_preload_cease(const char *until)
{
    tt_preload_note_programs(NULL);
    tt_wall_stop();
    tt_sampler_cease();
    if (has_collector())
        tt_preload_collector.stop();
    add_to_source(until);
    preload.pid = 0;
    tt_cease();
}

/* ── The end ──────────────────────────────────────────────────────────────────────── */

/* Shells and children of fork end by these, handlers of signals may, and then nothing can
 * be waited for: the recording stays as it is now, and this was its end. */
static _Noreturn void exit_at_once(int status)
{
    const long arguments[6] = {status};

    tt_preload_spend();
    (void)tt_has_ceased();
    if (tt_preload_is_here()) {
        struct tt_header *h = tt_recording->header;
        h->end_ticks = tt_clock_now();
        __atomic_store_n(&h->state, TT_RECORDING_ENDED, __ATOMIC_RELEASE);
    }
    if (preload.exit)
        preload.exit(status);
    for (;;)
        (void)tt_call_system(SYS_exit_group, arguments);
}

_Noreturn void interposed_exit(int status) __asm__("_exit");
_Noreturn void interposed_exit_too(int status) __asm__("_Exit");

#define EXIT(status)                                                                     \
    do {                                                                                 \
        struct tt_caller here_ = TT_CALLER();                                            \
        if (&tt_preload_collector && tt_preload_collector.exits)                         \
            tt_preload_collector.exits(&here_);                                          \
        exit_at_once(status);                                                            \
    } while (0)

TT_INTERPOSE _Noreturn void interposed_exit(int status) { EXIT(status); }
TT_INTERPOSE _Noreturn void interposed_exit_too(int status) { EXIT(status); }

/* Also errno is as it would be without us: 0 when the program begins. */
static __attribute__((constructor)) void construct(void)
{
    const int saved = errno;
    uint64_t file;

    tt_preload_start();
    if (!tt_preload_is_here() || !preload.interpreters)
        return;
    file = tt_preload_name_node(preload.node, sizeof preload.node);
    if (*preload.node) {
        tt_recording->header->names_file = file;
        tt_unwind_by_frames = 1;
        if (!preload.sanitizer)
            tt_preload_resume_loads();
        say_interpreters();
    }
    errno = saved;
}

/* A child that no fork handler has seen leaves the recording to its parent. */
static __attribute__((destructor)) void destruct(void)
{
    if (!preload.pid || tt_has_ceased() || !tt_preload_is_here())
        return;
    tt_wall_stop();
    tt_preload_spend();
    say_unseen();
    say_interpreters();
    if (has_collector()) {
        if (tt_preload_collector.exits)
            tt_preload_collector.exits(NULL);
        tt_preload_collector.stop();
    }
    (void)tt_stop();
}
