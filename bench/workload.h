/* SPDX-License-Identifier: MIT */
/* workload.h - what a workload of the cost tables supplies. */
#ifndef WORKLOAD_H
#define WORKLOAD_H

/* Does at least this many marked calls; returns how many it did.  Thread-safe. */
long work(long calls);

#endif
