/* SPDX-License-Identifier: MIT */
/* preload.c - the library that `tallytree record` has loaded into a program.
 *
 * It has the runtime in it, starts it before main, and stops it after all else.  Programs
 * that are linked with the runtime find this one first.  Where it cannot record it leaves
 * the program alone: the reason stands in no way but in that there is no recording.
 *
 *      TALLYTREE         the words of tt_start
 *      TALLYTREE_FOLDER  where every process puts its recording: PROGRAM.PID
 *      TALLYTREE_CLOCK   how fast the processor's counter runs, if that is known
 *      TALLYTREE_WHEN    "BEGIN END" by the system's clock, in ns: when samples count
 *      TALLYTREE_SOURCE  what the header says about who takes the samples */
#include "preload.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "control.h"
#include "look.h"
#include "modules.h"
#include "strand.h"

static struct {
    pid_t pid; /* of who records; 0: nobody */
    int tried;
    uint64_t cpu; /* the process had spent when it began, ns */
} preload;

/* ── The next ones ────────────────────────────────────────────────────────────────── */

/* Not by dlsym, which is one of those that we stand before. */
void *tt_preload_next(const char *name)
{
    static const char *const versions[] = {"GLIBC_2.34",  "GLIBC_2.32", "GLIBC_2.28",
                                           "GLIBC_2.17",  "GLIBC_2.15", "GLIBC_2.7",
                                           "GLIBC_2.3.2", "GLIBC_2.2.5"};
    void *found = NULL;

    for (size_t i = 0; !found && i < sizeof versions / sizeof *versions; i++)
        found = dlvsym(RTLD_NEXT, name, versions[i]);
    return found;
}

int tt_preload_signal(void) { return SIGRTMAX - 7; }

/* ── Start ────────────────────────────────────────────────────────────────────────── */

/* FOLDER/PROGRAM.PID; a process that became another program has one for each. */
static int choose_output(struct tt_options *o, const char *folder)
{
    char program[64] = "program";
    int fd = open("/proc/self/comm", O_RDONLY | O_CLOEXEC), n;
    ssize_t length = fd < 0 ? 0 : read(fd, program, sizeof program - 1);

    if (fd >= 0)
        close(fd);
    if (length > 0)
        program[length - 1] = '\0';
    for (char *p = program; *p; p++)
        *p = *p == '/' ? '_' : *p;
    for (int i = 0; i < 10000; i++) {
        n = snprintf(o->output, sizeof o->output, "%s/%s.%d", folder, program,
                     (int)getpid());
        if (n > 0 && i > 0 && n < (int)sizeof o->output)
            n += snprintf(o->output + n, sizeof o->output - (size_t)n, ".%d", i + 1);
        if (n < 0 || n >= (int)sizeof o->output)
            return -TT_ERR_OPTION;
        if (access(o->output, F_OK) != 0)
            return 0;
    }
    return -TT_ERR_FILE;
}

/* 2 ms are much where a build runs a thousand processes. */
static void read_clock(void)
{
    const char *clock = getenv("TALLYTREE_CLOCK");
    uint64_t hz = clock ? strtoull(clock, NULL, 10) : 0;

    if (hz > 1000000 && hz < 100000000000)
        tt_clock_know(hz);
}

static void read_times(struct tt_look_options *look)
{
    const char *when = getenv("TALLYTREE_WHEN");
    char *end;

    if (!when)
        return;
    look->begin = strtoull(when, &end, 10);
    look->end = strtoull(end, NULL, 10);
}

/* Each thread has its strand from its first moment on. */
static void enter_thread(void)
{
    struct tt_thread *t = tt_thread_enter();

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

/* Threads that were made by none of the calls that we stand before have no timers; what the
 * process has spent says that there are some.  Threads that go on have an interval each that
 * no look has seen so far. */
static void say_unseen(void)
{
    enum { INTERVALS = 8 };
    uint64_t spent = process_cpu() - preload.cpu, seen = tt_sampler_seen(), slack = 0,
             interval = 1000000000u / tt_recording->options.hz;

    tt_threads_lock();
    for (const struct tt_thread *t = tt_threads_first(); t; t = t->next)
        slack += INTERVALS * interval;
    tt_threads_unlock();
    if (spent > seen + slack + spent / 50)
        tt_recording->header->unseen = spent - seen;
}

static void after_fork_in_child(void)
{
    preload.cpu = process_cpu();
    preload.pid = preload.pid ? getpid() : 0;
    tt_modules_forked();
    enter_thread();
}

static int times_exactly(const struct tt_options *o)
{
    for (int i = 0; i < TT_KINDS; i++)
        if (o->mode[i] == TT_MODE_EXACT || o->mode[i] == TT_MODE_EVERY)
            return 1;
    return 0;
}

static int start(const char *words, const char *folder)
{
    struct tt_look_options looks = {0};
    struct tt_options o;
    int error = tt_options_read(&o, words, NULL);

    if (!error)
        error = choose_output(&o, folder);
    if (error)
        return error;
    read_times(&looks);
    read_clock();
    if (times_exactly(&o))
        looks.metric = tt_metric_get("cpu", "ns");
    tt_native_looker.signal = tt_preload_signal();
    tt_native_looker.action = tt_preload_sigaction;
    tt_look_init(&looks);
    error = tt_start_with(&o);
    if (error) {
        tt_looker = NULL;
        unlink(o.output);
    }
    return error;
}

static void say_source(void)
{
    const char *source = getenv("TALLYTREE_SOURCE");
    struct tt_header *h = tt_recording->header;

    (void)snprintf(h->source, sizeof h->source, "%s",
                   source ? source : "in-process, by CPU timers of each thread");
}

void tt_preload_start(void)
{
    const char *words = getenv("TALLYTREE"), *folder = getenv("TALLYTREE_FOLDER");

    if (preload.tried)
        return;
    preload.tried = 1;
    tt_preload_find();
    if (!words || !folder || start(words, folder) != 0)
        return;
    preload.pid = getpid();
    preload.cpu = process_cpu();
    say_source();
    (void)pthread_atfork(NULL, NULL, after_fork_in_child);
    tt_preload_watch();
    enter_thread();
}

/* The recording stays as it is, like that of a process that was killed. */
void tt_preload_cease(void)
{
    struct tt_header *h = tt_recording->header;
    size_t length = strnlen(h->source, sizeof h->source - 1);

    tt_sampler_cease();
    (void)snprintf(h->source + length, sizeof h->source - length,
                   "; until it filtered its system calls");
    preload.pid = 0;
}

static __attribute__((constructor)) void construct(void) { tt_preload_start(); }

/* A child that no handler of fork knows of leaves the recording to its parent. */
static __attribute__((destructor)) void destruct(void)
{
    if (preload.pid != getpid())
        return;
    say_unseen();
    (void)tt_stop();
}
