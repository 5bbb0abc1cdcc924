/* SPDX-License-Identifier: MIT */
/* table-json.c - any table as JSON; doc/json.md has the schema. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "json-text.h"
#include "table-json.h"
#include "table-print.h"

static const char *const type_names[] = {"text", "amount", "change", "real", "share"};

/* ── Values ───────────────────────────────────────────────────────────────────────── */

void tt_text_json_string(struct tt_text *out, const char *s)
{
    char escape[TT_JSON_ESCAPE];
    size_t taken;

    tt_text_put(out, "\"");
    do {
        tt_text_bytes(out, s, tt_json_text(s, escape, &taken));
        tt_text_put(out, escape);
        s += taken;
    } while (*s);
    tt_text_put(out, "\"");
}

/* Numbers that a double cannot hold are strings. */
static void put_amount(struct tt_text *out, uint64_t n)
{
    const char *quote = n > 1ull << 53 ? "\"" : "";

    tt_text_printf(out, "%s%llu%s", quote, (unsigned long long)n, quote);
}

static void put_change(struct tt_text *out, int64_t n)
{
    const char *quote = n > 1ll << 53 || n < -(1ll << 53) ? "\"" : "";

    tt_text_printf(out, "%s%lld%s", quote, (long long)n, quote);
}

static void put_value(struct tt_text *out, enum tt_column_type type,
                      const union tt_value *v)
{
    if (!v) {
        tt_text_put(out, "null");
        return;
    }
    switch (type) {
    case TT_COLUMN_TEXT:
        tt_text_json_string(out, v->text);
        break;
    case TT_COLUMN_AMOUNT:
        put_amount(out, v->n);
        break;
    case TT_COLUMN_CHANGE:
        put_change(out, v->change);
        break;
    case TT_COLUMN_REAL:
    case TT_COLUMN_SHARE:
        if (isfinite(v->real))
            tt_text_real(out, v->real);
        else
            tt_text_put(out, "null");
        break;
    }
}

/* ── The parts ────────────────────────────────────────────────────────────────────── */

static void put_facts(struct tt_text *out, const struct tt_profile *p)
{
    const char *begin = "\n{\"name\":";

    tt_text_put(out, "[");
    for (uint32_t i = 0; i < p->facts; i++) {
        if (tt_fact_is_kept(&p->fact[i]))
            continue;
        tt_text_put(out, begin);
        begin = ",\n{\"name\":";
        tt_text_json_string(out, tt_profile_string(p, p->fact[i].name));
        tt_text_put(out, ",\"number\":");
        put_amount(out, p->fact[i].number);
        tt_text_put(out, ",\"text\":");
        tt_text_json_string(out, tt_profile_string(p, p->fact[i].text));
        tt_text_put(out, "}");
    }
    tt_text_put(out, "]");
}

static void put_columns(struct tt_text *out, const struct tt_table *t)
{
    tt_text_put(out, "[");
    for (size_t i = 0; i < tt_table_columns(t); i++) {
        const struct tt_column *c = tt_table_column_at(t, i);
        tt_text_put(out, i ? ",\n{\"key\":" : "\n{\"key\":");
        tt_text_json_string(out, c->key);
        tt_text_put(out, ",\"title\":");
        tt_text_json_string(out, c->title);
        tt_text_put(out, ",\"unit\":");
        tt_text_json_string(out, c->unit);
        tt_text_printf(out, ",\"type\":\"%s\"}", type_names[c->type]);
    }
    tt_text_put(out, "]");
}

static void put_rows(struct tt_text *out, const struct tt_table *t)
{
    tt_text_put(out, "[");
    for (size_t row = 0; row < tt_table_rows(t); row++) {
        const struct tt_row *r = tt_table_row_at(t, row);
        tt_text_printf(out, "%s\n{\"role\":\"%s\",\"depth\":%u,\"group\":%u,",
                       row ? "," : "", tt_row_role_word(r->role), r->depth, r->group);
        if (r->left)
            tt_text_printf(out, "\"left\":%llu,", (unsigned long long)r->left);
        tt_text_put(out, "\"values\":[");
        for (size_t i = 0; i < tt_table_columns(t); i++) {
            if (i)
                tt_text_put(out, ",");
            put_value(out, tt_table_column_at(t, i)->type, tt_table_value(t, row, i));
        }
        tt_text_put(out, "]}");
    }
    tt_text_put(out, "]");
}

static void put_notes(struct tt_text *out, const struct tt_table *t)
{
    tt_text_put(out, "[");
    for (size_t i = 0; i < t->note.count; i++) {
        if (i)
            tt_text_put(out, ",");
        tt_text_json_string(out, tt_table_note_at(t, i)->text);
    }
    tt_text_put(out, "]");
}

static void put_remarks(struct tt_text *out, const struct tt_table *t)
{
    tt_text_put(out, "[");
    for (size_t i = 0; i < t->note.count; i++) {
        const struct tt_note *note = tt_table_note_at(t, i);
        const struct tt_argument *a = (const struct tt_argument *)t->argument.item;
        tt_text_put(out, i ? ",\n{\"kind\":" : "\n{\"kind\":");
        tt_text_json_string(out, note->kind);
        tt_text_put(out, ",\"arguments\":[");
        for (size_t j = note->first; j < note->first + note->arguments; j++) {
            tt_text_put(out, j > note->first ? "," : "");
            put_value(out, a[j].type, &a[j].value);
        }
        tt_text_put(out, "],\"text\":");
        tt_text_json_string(out, note->text);
        tt_text_put(out, "}");
    }
    tt_text_put(out, "]");
}

void tt_text_json(struct tt_text *out, const struct tt_table *t,
                  const struct tt_profile *p)
{
    out->failed |= t->failed;
    tt_text_put(out, "{\"tallytree\":1,\n\"view\":");
    tt_text_json_string(out, t->view);
    tt_text_put(out, ",\n\"facts\":");
    put_facts(out, p);
    tt_text_put(out, ",\n\"columns\":");
    put_columns(out, t);
    tt_text_put(out, ",\n\"rows\":");
    put_rows(out, t);
    tt_text_put(out, ",\n\"notes\":");
    put_notes(out, t);
    tt_text_put(out, ",\n\"remarks\":");
    put_remarks(out, t);
    tt_text_put(out, "}\n");
}
