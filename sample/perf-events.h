/* SPDX-License-Identifier: MIT */
/* perf-events.h - what the system's perf events tell of a process, from outside of it.
 *
 *      thread 1 ─┐                 ring of processor 0 ─┐
 *      thread 2 ─┼─ an event each ─ ring of processor 1 ─┼─ in the order of time
 *      ...      ─┘   a processor   ...                  ─┘
 *
 * Of a machine there is one event a processor, for whatever runs there.
 *
 * Threads and children that come later inherit the events of who made them.  Samples have
 * the registers and a copy of the stack; other records say what is mapped, forked, named and
 * ended.  All of it belongs to one thread. */
#ifndef TT_PERF_EVENTS_H
#define TT_PERF_EVENTS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "machine.h"
#include "regions.h"

enum tt_perf_kind {
    TT_PERF_NONE, /* nothing of use */
    TT_PERF_SAMPLE,
    TT_PERF_MAPPED,
    TT_PERF_NAMED,
    TT_PERF_FORKED,
    TT_PERF_EXITED,
    TT_PERF_LOST,
};

struct tt_perf_event { /* pointers are good during the call */
    enum tt_perf_kind kind;
    uint32_t pid, tid;
    uint64_t time;    /* by CLOCK_MONOTONIC */
    uint64_t source;  /* the event's id; of tt_perf_read the thread it was opened for */
    uint32_t counter; /* 0: its time; else what of options.counter it is of, + 1 */
    union {
        struct {
            uint64_t weight; /* ns of CPU time, or how often it has happened */
            uint64_t place;  /* the address where it stood, in the kernel too */
            const uint64_t *kernel;
            uint32_t kernels; /* addresses in the kernel, innermost first */
            uint32_t has_registers;
            struct tt_registers registers;
            const char *stack; /* what lies from the stack pointer on */
            size_t stack_size;
        } sample;
        struct tt_region mapped;
        struct {
            const char *name;
            int exec; /* it has become another program */
        } named;
        struct {
            uint32_t pid; /* the parent's: the same for a thread */
        } forked;
        struct {
            uint64_t samples;
        } lost;
    } of;
};

/* From the bytes of a record of the kernel's; NONE for what is none of these, or damaged.  A
 * sample that has no period has no weight. */
void tt_perf_decode(struct tt_perf_event *, const void *record, size_t size,
                    int has_period);

enum { TT_COUNTERS_MAX = 8 };

/* What is counted beside the time: cycles, page-faults...; NULL: there is none so called. */
struct tt_counter {
    const char *name, *unit;
    uint32_t type;
    uint64_t config;
    uint64_t period; /* each of so many is a sample, if nothing is said */
};
const struct tt_counter *tt_counter_find(const char *name);
const struct tt_counter *tt_counter_at(size_t); /* NULL: there are no more */

/* Of a stack, at most so much is copied: what the system takes. */
enum { TT_PERF_STACK = 32 << 10, TT_PERF_STACK_MAX = 65528 };

enum tt_perf_side { TT_PERF_BOTH, TT_PERF_KERNEL, TT_PERF_USER };

struct tt_perf_options {
    const pid_t *pid; /* borrowed; at least one, or none of a machine */
    size_t pids;
    const unsigned char
        *processor; /* borrowed; of a machine: of each, is it recorded?  NULL:
                                       all are */
    int is_machine;
    uint32_t hz;
    enum tt_perf_side side; /* where samples are taken: in the kernel, in user code */
    uint32_t stack;         /* bytes of each sample's stack that are copied */
    int at_exec; /* it begins when the process becomes another program, and not at start */
    struct tt_counter counter[TT_COUNTERS_MAX];
    uint32_t counters;
};

struct tt_perf;

/* May the calling user look at a separate process? */
int tt_perf_is_allowed(void);

/* Opens events for all threads of these processes and of the children that they have.  0; or a negative error, and `reason` says what
 * went wrong, and what to do. */
int tt_perf_open(struct tt_perf **, const struct tt_perf_options *, char *reason,
                 size_t size);
void tt_perf_close(struct tt_perf *);

void tt_perf_start(struct tt_perf *);
void tt_perf_stop(struct tt_perf *);

/* Calls back for what came before that time, in its order.  How long it may take until the
 * next call, in ms, without a loss: tt_perf_rest. */
void tt_perf_read(struct tt_perf *, uint64_t before,
                  void (*each)(void *arg, const struct tt_perf_event *), void *arg);
unsigned tt_perf_rest(const struct tt_perf *);

/* Calls back for each child that the user may not look at. */
void tt_perf_denied(const struct tt_perf *, void (*each)(void *arg, pid_t), void *arg);

/* How many processors are recorded, and the CPU time of a sample, in ns. */
uint32_t tt_perf_processors(const struct tt_perf *);
uint64_t tt_perf_period(const struct tt_perf *);

/* Is the time in the kernel counted, and are its frames shown? */
int tt_perf_have_kernel(const struct tt_perf *);

#endif
