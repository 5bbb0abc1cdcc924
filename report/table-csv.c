/* SPDX-License-Identifier: MIT */
/* table-csv.c - any table as CSV: RFC 4180, but lines end in a line feed alone. */
#include <stdio.h>
#include <string.h>

#include "table-csv.h"
#include "table-print.h"

void tt_text_csv_field(struct tt_text *out, const char *s)
{
    if (!s[strcspn(s, ",\"\r\n")]) {
        tt_text_put(out, s);
        return;
    }
    tt_text_put(out, "\"");
    for (; *s; s++) {
        if (*s == '"')
            tt_text_put(out, "\"");
        tt_text_bytes(out, s, 1);
    }
    tt_text_put(out, "\"");
}

static void put_value(struct tt_text *out, const struct tt_column *c,
                      const union tt_value *v)
{
    switch (c->type) {
    case TT_COLUMN_TEXT:
        tt_text_csv_field(out, v->text);
        break;
    case TT_COLUMN_AMOUNT:
        tt_text_printf(out, "%llu", (unsigned long long)v->n);
        break;
    case TT_COLUMN_CHANGE:
        tt_text_printf(out, "%lld", (long long)v->change);
        break;
    case TT_COLUMN_REAL:
    case TT_COLUMN_SHARE:
        tt_text_real(out, v->real);
        break;
    }
}

void tt_text_csv(struct tt_text *out, const struct tt_table *t)
{
    out->failed |= t->failed;
    tt_text_put(out, "role,depth,group");
    for (size_t i = 0; i < tt_table_columns(t); i++) {
        if (tt_table_column_at(t, i)->flags & TT_COLUMN_JSON)
            continue;
        tt_text_put(out, ",");
        tt_text_csv_field(out, tt_table_column_at(t, i)->key);
    }
    tt_text_put(out, "\n");
    for (size_t row = 0; row < tt_table_rows(t); row++) {
        const struct tt_row *r = tt_table_row_at(t, row);
        tt_text_printf(out, "%s,%u,%u", tt_row_role_word(r->role), r->depth, r->group);
        for (size_t i = 0; i < tt_table_columns(t); i++) {
            const struct tt_column *c = tt_table_column_at(t, i);
            const union tt_value *v = tt_table_value(t, row, i);
            if (c->flags & TT_COLUMN_JSON)
                continue;
            tt_text_put(out, ",");
            if (v)
                put_value(out, c, v);
        }
        tt_text_put(out, "\n");
    }
}
