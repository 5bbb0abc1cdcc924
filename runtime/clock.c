/* SPDX-License-Identifier: MIT */
/* clock.c - chooses the clock, and measures how fast it runs.
 *
 * The processor's own counter is the cheapest, if it runs at a constant speed and
 * continues while the processor sleeps; its frequency is measured against the system's
 * clock.  Otherwise the system's clock is used. */
#include "clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

uint32_t tt_clock_kind = TT_CLOCK_MONOTONIC;

enum { MEASURE_NS = 2000000 };

static int counter_is_steady(void)
{
#if defined(__x86_64__)
    unsigned a, b, c, d;

    return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1u << 8);
#elif defined(__aarch64__)
    return 1;
#else
    return 0;
#endif
}

/* A reading of both clocks at one moment: the tightest of a few. */
static void read_both(uint64_t *ticks, uint64_t *ns)
{
    uint64_t best = UINT64_MAX;

    for (int i = 0; i < 8; i++) {
        uint64_t before = tt_clock_cycles(), now = tt_clock_monotonic(),
                 after = tt_clock_cycles();
        if (after - before < best) {
            best = after - before;
            *ticks = before + best / 2;
            *ns = now;
        }
    }
}

/* Not by nanosleep, which the program may have replaced, and where it may be cancelled. */
static void sleep_until(uint64_t ns)
{
    const int saved = errno;
    uint64_t now = tt_clock_monotonic();

    for (; now < ns; now = tt_clock_monotonic())
        (void)syscall(SYS_nanosleep, &(struct timespec){.tv_nsec = (long)(ns - now)},
                      NULL);
    errno = saved;
}

static uint64_t counter_frequency(void)
{
#if defined(__aarch64__)
    uint64_t hz;

    __asm__("mrs %0, cntfrq_el0" : "=r"(hz));
    if (hz)
        return hz;
#endif
    uint64_t ticks, ns, end_ticks, end_ns;

    read_both(&ticks, &ns);
    sleep_until(ns + MEASURE_NS);
    read_both(&end_ticks, &end_ns);
    return (uint64_t)((double)(end_ticks - ticks) * 1e9 / (double)(end_ns - ns));
}

static uint64_t frequency; /* measured once a process, under the lock of tt_start */

void tt_clock_know(uint64_t counter_hz) { frequency = counter_hz; }

void tt_clock_choose(struct tt_header *h)
{
    if (h->clock == TT_CLOCK_CYCLES && !frequency && !counter_is_steady())
        h->clock = TT_CLOCK_MONOTONIC;
    if (h->clock == TT_CLOCK_CYCLES && !frequency)
        frequency = counter_frequency();
    __atomic_store_n(&tt_clock_kind, h->clock, __ATOMIC_RELAXED);
    if (h->clock != TT_CLOCK_CALLER)
        h->ticks_per_second = h->clock == TT_CLOCK_CYCLES ? frequency : 1000000000u;
    h->start_ticks = h->clock == TT_CLOCK_CALLER ? 0 : tt_clock_now();
}

/* ── Preemption ───────────────────────────────────────────────────────────────────── */

/* "ON-CPU WAITED SLICES", in ns: how long a thread waited for a processor. */
static uint64_t waited_of(int tasks, const char *thread)
{
    char name[64], text[96], *at = text;
    ssize_t length = 0;
    int fd;

    (void)snprintf(name, sizeof name, "%.20s/schedstat", thread);
    fd = openat(tasks, name, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        length = read(fd, text, sizeof text - 1);
        close(fd);
    }
    if (length <= 0)
        return 0;
    text[length] = '\0';
    (void)strtoull(at, &at, 10);
    return strtoull(at, NULL, 10);
}

/* As the kernel fills it in. */
struct entry {
    uint64_t inode;
    int64_t offset;
    uint16_t length;
    unsigned char type;
    char name[];
};

static int is_gone(const struct tt_gone *gone, const char *thread)
{
    uint32_t id = (uint32_t)strtoul(thread, NULL, 10);

    for (int i = 0; gone && i < TT_GONE; i++)
        if (gone->thread[i] == id)
            return 1;
    return 0;
}

uint64_t tt_clock_preempted_here(void)
{
    int self = open("/proc/thread-self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    uint64_t waited = self >= 0 ? waited_of(self, ".") : 0;

    if (self >= 0)
        close(self);
    return waited;
}

/* By the system call: opendir allocates, and allocators may be recorded. */
uint64_t tt_clock_preempted(const struct tt_gone *gone, unsigned *threads)
{
    _Alignas(struct entry) char buffer[2048];
    int tasks = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    uint64_t sum = 0;
    unsigned count = 0;
    long size;

    if (tasks < 0)
        return 0;
    while ((size = syscall(SYS_getdents64, tasks, buffer, sizeof buffer)) > 0)
        for (long at = 0; at < size;) {
            const struct entry *e = (const void *)(buffer + at);
            at += e->length;
            if (e->name[0] == '.' || is_gone(gone, e->name))
                continue;
            sum += waited_of(tasks, e->name);
            count++;
        }
    close(tasks);
    if (threads)
        *threads = count;
    return sum;
}
