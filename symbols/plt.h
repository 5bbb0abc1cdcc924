/* SPDX-License-Identifier: MIT */
/* plt.h - the stubs through which a module calls others, named after their targets. */
#ifndef TT_PLT_H
#define TT_PLT_H

#include <gelf.h>
#include <stdint.h>

/* Calls `take` for each stub: its addresses, and the symbol that it leads to; "": one that
 * leads to the address `to` in the same module.  Names are the file's.  Stops when `take`
 * does not return 0. */
int tt_plt_each(Elf *,
                int (*take)(void *arg, uint64_t low, uint64_t high, const char *symbol,
                            uint64_t to),
                void *arg);

#endif
