/* SPDX-License-Identifier: MIT */
/* table-print.h - any table as text for a terminal, as CSV, and as JSON. */
#ifndef TT_TABLE_PRINT_H
#define TT_TABLE_PRINT_H

#include "profile.h"
#include "table.h"
#include "text.h"

/* Prints aligned columns, the name last.  `width` is that of the terminal, 0: unlimited.
 * Names that do not fit are shortened in the middle; a depth that would indent a name by
 * more than half its room is a number before it: "[70] name".  Amounts of a column share
 * one readable unit.  If names have no room, dispensable columns are left out, and a note
 * names them.  A figure with a lower bound is a bracket, marked with a '!' if measuring
 * may have added more than 20 %.  Control characters of names do not reach the
 * terminal. */
void tt_text_table(struct tt_text *, const struct tt_table *, uint32_t width, int color);

/* One amount in its readable unit: "1.500 ms". */
void tt_text_amount(struct tt_text *, uint64_t n, const char *unit);

#endif
