/* SPDX-License-Identifier: MIT */
/* perf-events.h - the system's perf events of a process, from outside of it.
 *
 *      thread 1 ─┐                 ring of processor 0 ─┐
 *      thread 2 ─┼─ an event each ─ ring of processor 1 ─┼─ in the order of time
 *      ...      ─┘   a processor   ...                  ─┘
 *
 * For a machine there is one event a processor, for whatever runs there.
 *
 * With waits there is a second ring a processor, for the stacks of threads that begin to wait
 * or wake others: there may be more of these than can be read, and they must not displace
 * the rest.
 *
 * New threads and children inherit the events of their creator.  Samples have the
 * registers and a copy of the stack; other records report mappings, forks, names and
 * ends.  All of it belongs to one thread. */
#ifndef TT_PERF_EVENTS_H
#define TT_PERF_EVENTS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "frame-program.h"
#include "machine.h"
#include "regions.h"
#include "tracepoint.h"

enum tt_perf_kind {
    TT_PERF_NONE, /* not used here */
    TT_PERF_SAMPLE,
    TT_PERF_MAPPED,
    TT_PERF_NAMED,
    TT_PERF_FORKED,
    TT_PERF_EXITED,
    TT_PERF_LOST,
    TT_PERF_COPIED, /* tt_perf_read adds it to the sample after it */
    TT_PERF_SLEEPS, /* a thread is about to wait: a sample of it */
    TT_PERF_WAKING, /* a thread wakes another one: a sample of it */
    TT_PERF_SWITCHED,
};

struct tt_perf_event { /* pointers are valid during the call */
    enum tt_perf_kind kind;
    uint32_t pid, tid;
    uint64_t time;    /* by CLOCK_MONOTONIC */
    uint64_t source;  /* the event's id; of tt_perf_read its thread */
    uint32_t counter; /* 0: CPU time; else 1 + its index in options.counter */
    union {
        struct {
            uint64_t weight; /* ns of CPU time, or the number of events */
            uint64_t place;  /* the sampled address, in the kernel too */
            const uint64_t *kernel;
            uint32_t kernels; /* addresses in the kernel, innermost first */
            uint32_t has_registers;
            struct tt_registers registers;
            const char *stack; /* the memory from the stack pointer on */
            size_t stack_size;
            struct tt_frame_copies frames; /* of an interpreter; size 0: none */
            const char *raw;               /* a tracepoint's record; NULL: none */
            size_t raw_size;
            uint64_t state; /* of TT_PERF_SLEEPS; bits of tracepoint.h */
            uint64_t woken; /* of TT_PERF_WAKING: the thread, */
            uint64_t flags; /* and bits of tracepoint.h */
        } sample;
        struct {
            const char *bytes;
            size_t size;
        } copied;
        struct tt_region mapped;
        struct {
            const char *name;
            int exec; /* it was an exec */
        } named;
        struct {
            uint32_t pid; /* the parent's; for a new thread the same */
        } forked;
        struct {
            uint64_t samples;
            int is_of_waits; /* of TT_PERF_SLEEPS and TT_PERF_WAKING alone */
        } lost;
        struct {
            int is_in;        /* it runs now, and else no longer */
            int is_preempted; /* it could run on */
        } switched;
    } of;
};

enum { TT_COUNTERS_MAX = 8 };

/* A counter beside the time: cycles, page-faults...; NULL: no such name. */
struct tt_counter {
    const char *name, *unit;
    uint32_t type;
    uint64_t config;
    uint64_t period; /* default: one sample in so many events */
};
const struct tt_counter *tt_counter_find(const char *name);

/* The most that is copied of a stack: the system's limit. */
enum {
    TT_PERF_STACK = 32 << 10,
    TT_PERF_WAIT_STACK = 8 << 10,
    TT_PERF_STACK_MAX = 65528
};

enum tt_perf_side { TT_PERF_BOTH, TT_PERF_KERNEL, TT_PERF_USER };

struct tt_perf_options {
    const pid_t *pid; /* borrowed; at least one, or none of a machine */
    size_t pids;
    const unsigned char
        *processor; /* borrowed; of a machine: for each, is it recorded?  NULL: all are */
    int is_machine;
    uint32_t hz;
    enum tt_perf_side side; /* take samples in the kernel, in user code, or both */
    uint32_t stack;         /* bytes copied of each sample's stack */
    int at_exec;            /* begins at the process's exec, not at the start */
    const struct tt_frame_program *frames; /* borrowed; NULL: copies no frames */
    struct tt_counter counter[TT_COUNTERS_MAX];
    uint32_t counters;
    uint32_t wait_stack; /* bytes copied of each stack that waits or wakes; 0: no waits */
    const struct tt_sched *sched; /* borrowed; NULL: no waits */
};

struct tt_perf;

/* May the calling user observe another process? */
int tt_perf_is_allowed(void);

/* Opens events for all threads of these processes and of their children.  Returns 0 or a
 * negative error, with the error and its remedy in `reason`. */
int tt_perf_open(struct tt_perf **, const struct tt_perf_options *, char *reason,
                 size_t size);
void tt_perf_close(struct tt_perf *);

void tt_perf_start(struct tt_perf *);
void tt_perf_stop(struct tt_perf *);

/* Calls `each` for the events before that time, in order.  tt_perf_rest: the ms until the
 * next read that avoid losses. */
void tt_perf_read(struct tt_perf *, uint64_t before,
                  void (*each)(void *arg, const struct tt_perf_event *), void *arg);
unsigned tt_perf_rest(const struct tt_perf *);

/* Calls `each` for each child that the user may not observe. */
void tt_perf_denied(const struct tt_perf *, void (*each)(void *arg, pid_t), void *arg);

/* The number of recorded processors, and the CPU time of a sample, in ns. */
uint32_t tt_perf_processors(const struct tt_perf *);
uint64_t tt_perf_period(const struct tt_perf *);

/* How long these processors have been idle since the machine started, by the kernel's
 * account, in ns; 0: unknown. */
uint64_t tt_perf_idle(const struct tt_perf *);

/* Are an interpreter's frames copied? */
int tt_perf_copy_frames(const struct tt_perf *);

/* Is the time in the kernel counted, and are its frames shown? */
int tt_perf_have_kernel(const struct tt_perf *);
/* Stores the reason why they are not. */
void tt_perf_why_no_kernel(char *reason, size_t size);

#endif
