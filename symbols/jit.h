/* SPDX-License-Identifier: MIT */
/* jit.h - names of code that a run-time compiler has made, from what it says of it.
 *
 * A perf map (perf-PID.map) is lines of START SIZE NAME in hex; a jitdump (jit-PID.dump)
 * is records, with lines of sources too.  Of what was at one address the last is taken. */
#ifndef TT_JIT_H
#define TT_JIT_H

#include "symbols.h"

struct tt_jit;

/* Reads a file of either kind; takes the descriptor.  NULL: neither, or no memory; what is
 * damaged at its end is left out. */
struct tt_jit *tt_jit_open(int fd);
void tt_jit_close(struct tt_jit *);
void tt_jit_find(struct tt_jit *, uint64_t address, struct tt_spots *);

#endif
