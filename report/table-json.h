/* SPDX-License-Identifier: MIT */
/* table-json.h - any table as JSON. */
#ifndef TT_TABLE_JSON_H
#define TT_TABLE_JSON_H

#include "profile.h"
#include "table.h"
#include "text.h"

/* One object; its schema is in doc/json.md. */
void tt_text_json(struct tt_text *, const struct tt_table *, const struct tt_profile *);
void tt_text_json_string(struct tt_text *, const char *); /* with its quotes */

#endif
