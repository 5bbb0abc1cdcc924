/* SPDX-License-Identifier: MIT */
/* inlined.h - from an address to functions and lines, by a module's DWARF. */
#ifndef TT_INLINED_H
#define TT_INLINED_H

#include <elfutils/libdw.h>

#include "symbols.h"

struct tt_inlined;

/* Borrows the Dwarf; its addresses are a module's less `bias`.  NULL: no memory. */
struct tt_inlined *tt_inlined_new(Dwarf *, uint64_t bias);
void tt_inlined_free(struct tt_inlined *);

/* The functions around an address, from the outermost inwards, into spot[0 … most - 1];
 * how many.  0: nothing is known of it but, perhaps, a line: that is then spot[0]'s. */
size_t tt_inlined_find(struct tt_inlined *, uint64_t address, struct tt_spot *spot,
                       size_t most);
/* Finds only the line, in at_file, at_line, at_column; returns whether there is one. */
int tt_inlined_line(struct tt_inlined *, uint64_t address, struct tt_spot *);

#endif
