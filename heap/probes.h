/* SPDX-License-Identifier: MIT */
/* probes.h - probes in our code by which the system's tracers see objects come and go.
 *
 *      otel_memory:alloc   address, size, bytes that it counts for
 *      otel_memory:free    address
 *
 * OpenTelemetry's profiler looks for these names and arguments.  A tracer that listens
 * raises the semaphore; without one a probe costs a load. */
#ifndef TT_PROBES_H
#define TT_PROBES_H

#include <stdint.h>

extern volatile uint16_t tt_otel_memory_alloc_semaphore, tt_otel_memory_free_semaphore;

void tt_probe_alloc(const void *, uint64_t size, uint64_t weighted);
void tt_probe_free(const void *);

#endif
