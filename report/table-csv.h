/* SPDX-License-Identifier: MIT */
/* table-csv.h - any table as CSV. */
#ifndef TT_TABLE_CSV_H
#define TT_TABLE_CSV_H

#include "table.h"
#include "text.h"

/* RFC 4180, but lines end in a line feed alone: a line of column keys, after "role",
 * "depth" and "group"; exact figures. */
void tt_text_csv(struct tt_text *, const struct tt_table *);
void tt_text_csv_field(struct tt_text *,
                       const char *); /* with its quotes, if it wants any */

#endif
