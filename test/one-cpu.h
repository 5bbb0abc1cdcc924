/* SPDX-License-Identifier: MIT */
/* one-cpu.h - a tracer and the process that it single-steps on one processor.
 *
 * They take turns, so a second processor only makes each turn wait for an interrupt: three to
 * four times as slow. */
#ifndef ONE_CPU_H
#define ONE_CPU_H

#include <sched.h>

/* Call it before the fork.  If it is not permitted, the test is slower, but right. */
static inline void stay_on_one_cpu(void)
{
    cpu_set_t set;
    int cpu = sched_getcpu();

    CPU_ZERO(&set);
    CPU_SET(cpu < 0 ? 0 : (unsigned)cpu, &set);
    (void)sched_setaffinity(0, sizeof set, &set);
}

#endif
