/* SPDX-License-Identifier: MIT */
/* print-test.c - tables as text, CSV and JSON, by hand; and tables themselves. */
#include <stdlib.h>

#include "print.h"
#include "profile.h"
#include "tap.h"

/* ── A table ──────────────────────────────────────────────────────────────────────── */

static void begin(struct tt_table *t)
{
    tt_table_init(t, "test", NULL);
    tt_table_column(t, "self", "self", "ns", TT_COLUMN_AMOUNT, 0);
    tt_table_column(t, "self_low", "", "ns", TT_COLUMN_AMOUNT, TT_COLUMN_LOW);
    tt_table_column(t, "share", "%", "", TT_COLUMN_SHARE, 0);
    tt_table_column(t, "share_error", "", "", TT_COLUMN_SHARE, TT_COLUMN_ERROR);
    tt_table_column(t, "change", "change", "bytes", TT_COLUMN_CHANGE, 0);
    tt_table_column(t, "name", "name", "", TT_COLUMN_TEXT, TT_COLUMN_NAME);
    tt_table_column(t, "id", "id", "", TT_COLUMN_AMOUNT, TT_COLUMN_DETAIL);
}

static void add(struct tt_table *t, enum tt_row_role role, uint32_t depth, uint64_t self,
                const char *name)
{
    tt_table_row(t, role, depth, 0);
    tt_table_amount(t, 0, self);
    tt_table_string(t, 5, name);
}

static struct tt_text text_of(const struct tt_table *t, uint32_t width, int color)
{
    struct tt_text out;

    tt_text_init(&out, NULL);
    tt_text_table(&out, t, width, color);
    return out;
}

/* ── Text ─────────────────────────────────────────────────────────────────────────── */

TEST(amounts_of_a_column_share_one_unit)
{
    struct tt_table t;
    struct tt_text out;

    begin(&t);
    add(&t, TT_ROW_ENTRY, 0, 12345678, "main");
    add(&t, TT_ROW_ENTRY, 1, 1000, "child");
    out = text_of(&t, 0, 0);
    CHECK_STR(tt_text_string(&out), "self ms  name\n"
                                    " 12.346  main\n"
                                    "  0.001    child\n");
    tt_text_fini(&out);
    tt_table_fini(&t);
}

TEST(a_low_figure_makes_a_bracket_and_a_wide_one_is_marked)
{
    struct tt_table t;
    struct tt_text out;

    begin(&t);
    add(&t, TT_ROW_ENTRY, 0, 900, "close");
    tt_table_amount(&t, 1, 850);
    add(&t, TT_ROW_ENTRY, 0, 100, "wide");
    tt_table_amount(&t, 1, 79);
    add(&t, TT_ROW_ENTRY, 0, 7, "sure");
    tt_table_amount(&t, 1, 7);
    out = text_of(&t, 0, 0);
    CHECK_STR(tt_text_string(&out), "self ns  name\n"
                                    "850–900  close\n"
                                    "79–100!  wide\n"
                                    "      7  sure\n");
    tt_text_fini(&out);
    tt_table_fini(&t);
}

TEST(shares_have_two_figures_and_their_errors)
{
    struct tt_table t;
    struct tt_text out;

    begin(&t);
    add(&t, TT_ROW_ENTRY, 0, 1, "a");
    tt_table_real(&t, 2, 0.12345);
    tt_table_real(&t, 3, 0.008);
    add(&t, TT_ROW_ENTRY, 0, 2, "b");
    tt_table_real(&t, 2, 1);
    out = text_of(&t, 0, 0);
    CHECK_STR(tt_text_string(&out), "self ns                 %  name\n"
                                    "      1  12.35 % ± 0.80 %  a\n"
                                    "      2          100.00 %  b\n");
    tt_text_fini(&out);
    tt_table_fini(&t);
}

TEST(a_name_that_does_not_fit_loses_its_middle)
{
    struct tt_table t;
    struct tt_text out;

    begin(&t);
    add(&t, TT_ROW_ENTRY, 0, 1, "abcdefghijklmnopqrstuvwxyz");
    add(&t, TT_ROW_ENTRY, 0, 2, "äöüäöüäöüäöüäöüäöü");
    out = text_of(&t, 20, 0);
    CHECK_STR(tt_text_string(&out), "self ns  name\n"
                                    "      1  abcde…vwxyz\n"
                                    "      2  äöüäö…öüäöü\n");
    tt_text_fini(&out);
    tt_table_fini(&t);
}

TEST(groups_stand_apart_and_notes_come_last)
{
    struct tt_table t;
    struct tt_text out;

    begin(&t);
    tt_table_row(&t, TT_ROW_CALLER, 0, 1);
    tt_table_string(&t, 5, "caller");
    tt_table_row(&t, TT_ROW_ENTRY, 0, 1);
    tt_table_amount(&t, 0, 5);
    tt_table_string(&t, 5, "f");
    tt_table_row(&t, TT_ROW_ENTRY, 0, 2);
    tt_table_string(&t, 5, "g");
    tt_table_note(&t, "%d more", 3);
    out = text_of(&t, 0, 0);
    CHECK_STR(tt_text_string(&out), "self ns  name\n"
                                    "             caller\n"
                                    "      5  f\n"
                                    "\n"
                                    "         g\n"
                                    "\n3 more\n");
    tt_text_fini(&out);
    tt_table_fini(&t);
}

TEST(there_is_colour_only_where_it_was_asked_for)
{
    struct tt_table t;
    struct tt_text plain, colored;

    begin(&t);
    add(&t, TT_ROW_TOTAL, 0, 1, "total");
    plain = text_of(&t, 0, 0);
    colored = text_of(&t, 0, 1);
    CHECK(strchr(tt_text_string(&plain), '\033') == NULL);
    CHECK(strchr(tt_text_string(&colored), '\033') != NULL);
    tt_text_fini(&plain);
    tt_text_fini(&colored);
    tt_table_fini(&t);
}

TEST(an_empty_table_says_so)
{
    struct tt_table t;
    struct tt_text out;

    begin(&t);
    out = text_of(&t, 80, 0);
    CHECK_STR(tt_text_string(&out), "nothing to show\n");
    tt_text_fini(&out);
    tt_table_fini(&t);
}

/* ── CSV and JSON ─────────────────────────────────────────────────────────────────── */

TEST(csv_is_exact_and_quotes_what_has_to_be)
{
    struct tt_table t;
    struct tt_text out;

    begin(&t);
    add(&t, TT_ROW_ENTRY, 2, UINT64_MAX, "a,b \"c\"\nd");
    tt_table_change(&t, 4, -12);
    tt_table_real(&t, 2, 0.5);
    tt_text_init(&out, NULL);
    tt_text_csv(&out, &t);
    CHECK_STR(tt_text_string(&out),
              "role,depth,group,self,self_low,share,share_error,change,name,id\n"
              "entry,2,0,18446744073709551615,,0.5,,-12,\"a,b \"\"c\"\"\nd\",\n");
    tt_text_fini(&out);
    tt_table_fini(&t);
}

TEST(json_loses_no_digit_and_no_name_breaks_it)
{
    struct tt_profile none = {0};
    struct tt_table t;
    struct tt_text out;
    const char *s;

    begin(&t);
    add(&t, TT_ROW_ENTRY, 0, 1ull << 53, "q\"\\\n");
    add(&t, TT_ROW_REMAINDER, 0, (1ull << 53) + 1, "bad \xff\xc3\x28 \xed\xa0\x80 ü");
    tt_text_init(&out, NULL);
    tt_text_json(&out, &t, &none);
    s = tt_text_string(&out);
    CHECK(strstr(s, "[9007199254740992,null,null,null,null,\"q\\\"\\\\\\u000a\",null]"));
    CHECK(strstr(s, "[\"9007199254740993\",null,null,null,null,\"bad \\ufffd\\ufffd( "
                    "\\ufffd\\ufffd\\ufffd ü\",null]"));
    CHECK(strstr(s, "\"role\":\"remainder\""));
    CHECK(strstr(s,
                 "{\"key\":\"share\",\"title\":\"%\",\"unit\":\"\",\"type\":\"share\"}"));
    tt_text_fini(&out);
    tt_table_fini(&t);
}

/* ── Tables ───────────────────────────────────────────────────────────────────────── */

static void check_order(const struct tt_table *t, const char *names)
{
    char got[64] = "";

    for (size_t i = 0; i < tt_table_rows(t); i++)
        strncat(got, tt_table_value(t, i, 5)->text, sizeof got - strlen(got) - 1);
    CHECK_STR(got, names);
}

TEST(sorting_is_stable_and_what_is_missing_comes_last)
{
    struct tt_table t;

    begin(&t);
    add(&t, TT_ROW_ENTRY, 0, 2, "a");
    add(&t, TT_ROW_ENTRY, 0, 3, "b");
    tt_table_row(&t, TT_ROW_ENTRY, 0, 0);
    tt_table_string(&t, 5, "m");
    add(&t, TT_ROW_ENTRY, 0, 2, "c");
    add(&t, TT_ROW_REMAINDER, 0, 9, "r");
    add(&t, TT_ROW_TOTAL, 0, 16, "t");
    tt_table_sort(&t, 0, 1);
    check_order(&t, "bacmrt");
    tt_table_sort(&t, 0, 0);
    check_order(&t, "acbmrt");
    tt_table_sort(&t, 5, 1);
    check_order(&t, "mcbart");
    tt_table_fini(&t);
}

TEST(groups_move_as_one)
{
    struct tt_table t;

    begin(&t);
    for (uint32_t g = 1; g <= 3; g++) {
        tt_table_row(&t, TT_ROW_CALLER, 0, g);
        tt_table_amount(&t, 0, 100 - g);
        tt_table_string(&t, 5, g == 1 ? "1" : g == 2 ? "2" : "3");
        tt_table_row(&t, TT_ROW_ENTRY, 0, g);
        tt_table_amount(&t, 0, g);
        tt_table_string(&t, 5, g == 1 ? "a" : g == 2 ? "b" : "c");
        tt_table_row(&t, TT_ROW_CALLEE, 0, g);
        tt_table_string(&t, 5, "-");
    }
    tt_table_sort(&t, 0, 1);
    check_order(&t, "3c-2b-1a-");
    tt_table_fini(&t);
}

static long left, pieces;

static void *get(void *arg, size_t size)
{
    (void)arg;
    if (left-- <= 0)
        return NULL;
    pieces++;
    return calloc(1, size);
}

static void put(void *arg, void *p, size_t size)
{
    (void)arg;
    (void)size;
    pieces--;
    free(p);
}

TEST(every_allocation_may_fail)
{
    static const struct tt_memory memory = {get, put, NULL};
    int done = 0;

    for (long n = 0; !done; n++) {
        struct tt_table t;
        struct tt_text out;
        left = n;
        tt_table_init(&t, "test", &memory);
        tt_table_column(&t, "a", "a", "", TT_COLUMN_AMOUNT, 0);
        tt_table_column(&t, "name", "name", "", TT_COLUMN_TEXT, TT_COLUMN_NAME);
        for (uint64_t i = 0; i < 20; i++) {
            tt_table_row(&t, TT_ROW_ENTRY, 0, 0);
            tt_table_amount(&t, 0, i);
            tt_table_string(&t, 1, tt_table_text(&t, "row %d", (int)i));
        }
        tt_table_note(&t, "that was all");
        if (!t.failed)
            tt_table_sort(&t, 0, 1);
        tt_text_init(&out, &memory);
        tt_text_table(&out, &t, 80, 0);
        done = !t.failed && !out.failed;
        tt_text_fini(&out);
        tt_table_fini(&t);
        CHECK_INT(pieces, 0);
    }
}
