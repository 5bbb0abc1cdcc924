/* SPDX-License-Identifier: MIT */
/* jit.h - names of code that a run-time compiler has made, from the files it writes.
 *
 * A perf map (perf-PID.map) has lines of START SIZE NAME in hex; a jitdump (jit-PID.dump)
 * has records, with source lines and code, too.  Of several functions at one address the last one
 * is used. */
#ifndef TT_JIT_H
#define TT_JIT_H

#include "symbols.h"

struct tt_jit;

/* Reads a file of either kind; takes the descriptor.  NULL: neither, or no memory.
 * Ignores a damaged end. */
struct tt_jit *tt_jit_open(int fd);
void tt_jit_close(struct tt_jit *);
void tt_jit_find(struct tt_jit *, uint64_t address, struct tt_spots *);
/* The code around an address, from a jitdump. */
void tt_jit_code(struct tt_jit *, uint64_t address, struct tt_code *);

#endif
