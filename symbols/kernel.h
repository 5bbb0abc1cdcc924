/* SPDX-License-Identifier: MIT */
/* kernel.h - the running kernel's symbols, where it shows them. */
#ifndef TT_KERNEL_H
#define TT_KERNEL_H

#include "symbols.h"

struct tt_kernel;

/* NULL: no memory.  If nothing can be read, it finds no names. */
struct tt_kernel *tt_kernel_open(void);
/* The same from a file like /proc/kallsyms. */
struct tt_kernel *tt_kernel_open_file(const char *path);
void tt_kernel_close(struct tt_kernel *);

/* As tt_symbols_find; `id` must be empty, this boot's, or the build-id of this kernel. */
void tt_kernel_find(struct tt_kernel *, const char *id, uint64_t address,
                    struct tt_spots *);

#endif
