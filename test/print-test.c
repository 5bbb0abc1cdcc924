/* SPDX-License-Identifier: MIT */
/* print-test.c - tables as text, CSV and JSON, and the header, by hand. */
#include <locale.h>
#include <stdlib.h>

#include "builder.h"
#include "failing.h"
#include "finish.h"
#include "header.h"
#include "profile.h"
#include "table-csv.h"
#include "table-json.h"
#include "table-print.h"
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

TEST(amounts_of_a_column_share_one_unit_unless_they_are_too_small_for_it)
{
    struct tt_table t;
    struct tt_text out;

    begin(&t);
    add(&t, TT_ROW_ENTRY, 0, 12345678, "main");
    add(&t, TT_ROW_ENTRY, 1, 1234, "child");
    tt_table_amount(&t, 1, 1100);
    add(&t, TT_ROW_ENTRY, 1, 7, "leaf");
    out = text_of(&t, 0, 0);
    CHECK_STR(tt_text_string(&out), "       self ms  name\n"
                                    "     12.346     main\n"
                                    "1.100–1.234 µs    child\n"
                                    "          7 ns    leaf\n");
    tt_text_fini(&out);
    tt_table_fini(&t);
}

static void compare(struct tt_table *t, uint64_t a, int64_t change)
{
    tt_table_init(t, "test", NULL);
    tt_table_column(t, "a", "before", "ns", TT_COLUMN_AMOUNT, 0);
    tt_table_column(t, "b", "now", "ns", TT_COLUMN_AMOUNT, 0);
    tt_table_column(t, "change", "change", "ns", TT_COLUMN_CHANGE, 0);
    tt_table_column(t, "bytes", "bytes", "bytes", TT_COLUMN_AMOUNT, 0);
    tt_table_row(t, TT_ROW_ENTRY, 0, 0);
    tt_table_amount(t, 0, a);
    tt_table_amount(t, 1, a + (uint64_t)change);
    tt_table_change(t, 2, change);
    tt_table_amount(t, 3, (uint64_t)5 << 40);
}

TEST(what_has_changed_is_in_the_unit_of_the_change)
{
    struct tt_table t;
    struct tt_text out;

    compare(&t, 12000000000, 4200000);
    out = text_of(&t, 0, 0);
    CHECK_STR(tt_text_string(&out), "before ms     now ms  change ms  bytes TiB  \n"
                                    "12000.000  12004.200     +4.200      5.000  \n");
    tt_text_fini(&out);
    tt_table_fini(&t);
    compare(&t, 12000000000, -42); /* too small to be read beside it */
    out = text_of(&t, 0, 0);
    CHECK_STR(tt_text_string(&out), "before ms     now ms  change ms  bytes TiB  \n"
                                    "12000.000  12000.000     -0.000      5.000  \n");
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
    add(&t, TT_ROW_ENTRY, 0, 3, "c");
    tt_table_real(&t, 2, 0.5);
    tt_table_real(&t, 3, 0.1);
    out = text_of(&t, 0, 0);
    CHECK_STR(tt_text_string(&out), "self ns                   %  name\n"
                                    "      1   12.35 % ±  0.80 %  a\n"
                                    "      2  100.00 %            b\n"
                                    "      3   50.00 % ± 10.00 %  c\n");
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

TEST(groups_stand_between_rules_and_notes_come_last)
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
    tt_table_note(&t, "more", "%d more", 3);
    out = text_of(&t, 0, 0);
    CHECK_STR(tt_text_string(&out), "self ns  name\n"
                                    "             caller\n"
                                    "      5  f\n"
                                    "───────────────────\n"
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

static void check_text(const struct tt_table *t, uint32_t width, const char *wanted)
{
    struct tt_text out = text_of(t, width, 0);

    CHECK_STR(tt_text_string(&out), wanted);
    tt_text_fini(&out);
}

TEST(sums_stand_below_a_rule_and_groups_without_sides_below_a_blank_line)
{
    struct tt_table t;

    begin(&t);
    for (uint32_t group = 1; group <= 2; group++) {
        tt_table_row(&t, TT_ROW_ENTRY, 0, group);
        tt_table_amount(&t, 0, group);
        tt_table_string(&t, 5, group == 1 ? "a" : "b");
    }
    add(&t, TT_ROW_REMAINDER, 0, 4, "3 more");
    add(&t, TT_ROW_TOTAL, 0, 7, "total");
    check_text(&t, 0,
               "self ns  name\n"
               "      1  a\n"
               "\n"
               "      2  b\n"
               "───────────────\n"
               "      4  3 more\n"
               "      7  total\n");
    check_text(&t, 12,
               "self ns  name\n"
               "      1  a\n"
               "\n"
               "      2  b\n"
               "────────────\n"
               "      4  3 more\n"
               "      7  total\n");
    tt_table_fini(&t);
}

TEST(headings_begin_parts_and_remainders_inside_a_tree_stay_inside)
{
    struct tt_table t;

    begin(&t);
    add(&t, TT_ROW_HEADING, 0, 1, "first");
    add(&t, TT_ROW_ENTRY, 0, 2, "a");
    add(&t, TT_ROW_REMAINDER, 1, 3, "2 more");
    add(&t, TT_ROW_HEADING, 0, 4, "second");
    add(&t, TT_ROW_ENTRY, 0, 5, "b");
    add(&t, TT_ROW_REMAINDER, 1, 6, "1 more");
    check_text(&t, 0,
               "self ns  name\n"
               "      1  first\n"
               "      2  a\n"
               "      3    2 more\n"
               "\n"
               "      4  second\n"
               "      5  b\n"
               "      6    1 more\n");
    tt_table_fini(&t);
}

/* ── Figures ──────────────────────────────────────────────────────────────────────── */

static void check_amount(uint64_t n, const char *unit, const char *wanted)
{
    struct tt_text out;

    tt_text_init(&out, NULL);
    tt_text_amount(&out, n, unit);
    CHECK_STR(tt_text_string(&out), wanted);
    tt_text_fini(&out);
}

TEST(an_amount_has_the_largest_unit_that_it_fills)
{
    check_amount(0, "ns", "0 ns");
    check_amount(999, "ns", "999 ns");
    check_amount(1000, "ns", "1.000 µs");
    check_amount(1500000, "ns", "1.500 ms");
    check_amount(1000000000, "ns", "1.000 s");
    check_amount(UINT64_MAX, "ns", "18446744073.710 s");
    check_amount(1023, "bytes", "1023 B");
    check_amount(1536, "bytes", "1.500 KiB");
    check_amount(1ull << 20, "bytes", "1.000 MiB");
    check_amount(3ull << 30, "bytes", "3.000 GiB");
    check_amount(1ull << 40, "bytes", "1.000 TiB");
    check_amount(1234567, "ticks", "1234567 ticks");
    check_amount(UINT64_MAX, "", "18446744073709551615");
}

TEST(counts_and_changes_lose_no_digit_and_the_greatest_brackets_fit)
{
    struct tt_table t;

    tt_table_init(&t, "test", NULL);
    tt_table_column(&t, "n", "n", "", TT_COLUMN_AMOUNT, 0);
    tt_table_column(&t, "n_error", "", "", TT_COLUMN_AMOUNT, TT_COLUMN_ERROR);
    tt_table_column(&t, "n_low", "", "", TT_COLUMN_AMOUNT, TT_COLUMN_LOW);
    tt_table_column(&t, "change", "change", "", TT_COLUMN_CHANGE, 0);
    tt_table_column(&t, "mean", "mean", "", TT_COLUMN_REAL, 0);
    tt_table_row(&t, TT_ROW_ENTRY, 0, 0);
    tt_table_amount(&t, 0, UINT64_MAX);
    tt_table_amount(&t, 1, UINT64_MAX - 1);
    tt_table_amount(&t, 2, 10000000000000000001ull);
    tt_table_change(&t, 3, INT64_MIN);
    tt_table_real(&t, 4, 1e300);
    tt_table_row(&t, TT_ROW_ENTRY, 0, 0);
    tt_table_change(&t, 3, INT64_MAX);
    tt_table_real(&t, 4, -0.5);
    tt_table_row(&t, TT_ROW_ENTRY, 0, 0);
    tt_table_change(&t, 3, 0);
    check_text(&t, 0,
               "                                                                n"
               "                change        mean  \n"
               "10000000000000000001–18446744073709551615! ± 18446744073709551614"
               "  -9223372036854775808  1.000e+300  \n"
               "                                                                 "
               "  +9223372036854775807      -0.500  \n"
               "                                                                 "
               "                    +0              \n");
    tt_table_fini(&t);
}

TEST(a_bracket_belongs_to_its_own_column_though_that_is_not_shown)
{
    struct tt_table t;

    tt_table_init(&t, "test", NULL);
    tt_table_column(&t, "a", "a", "", TT_COLUMN_AMOUNT, 0);
    tt_table_column(&t, "b", "b", "", TT_COLUMN_AMOUNT, TT_COLUMN_DETAIL);
    tt_table_column(&t, "b_low", "", "", TT_COLUMN_AMOUNT, TT_COLUMN_LOW);
    tt_table_column(&t, "c", "c", "", TT_COLUMN_AMOUNT, 0);
    tt_table_column(&t, "c_error", "", "", TT_COLUMN_AMOUNT, TT_COLUMN_ERROR);
    tt_table_column(&t, "name", "name", "", TT_COLUMN_TEXT, TT_COLUMN_NAME);
    tt_table_row(&t, TT_ROW_ENTRY, 0, 0);
    tt_table_amount(&t, 0, 10);
    tt_table_amount(&t, 1, 20);
    tt_table_amount(&t, 2, 5);
    tt_table_amount(&t, 4, 7); /* c has no value, and is not shown */
    tt_table_string(&t, 5, "f");
    check_text(&t, 0,
               " a  name\n"
               "10  f\n");
    tt_table_fini(&t);
}

/* ── Names ────────────────────────────────────────────────────────────────────────── */

TEST(no_name_gets_at_the_terminal_or_leaves_its_line)
{
    struct tt_table t;

    begin(&t);
    add(&t, TT_ROW_ENTRY, 0, 1, "red \033[31m\a");
    add(&t, TT_ROW_ENTRY, 0, 2, "two\nlines\tand\r");
    add(&t, TT_ROW_ENTRY, 0, 3, "\xff\xc3\x28 c1 \xc2\x9b turned \xe2\x80\xae");
    tt_table_note(&t, "kind", "%s", "\033c");
    check_text(&t, 0,
               "self ns  name\n"
               "      1  red �[31m�\n"
               "      2  two lines and \n"
               "      3  ��( c1 � turned �\n"
               "\n�c\n");
    tt_table_fini(&t);
}

TEST(wide_characters_take_two_columns_and_marks_none)
{
    CHECK_INT(tt_text_width("abc"), 3);
    CHECK_INT(tt_text_width("äöü"), 3);
    CHECK_INT(tt_text_width("日本語"), 6);
    CHECK_INT(tt_text_width("한글"), 4);
    CHECK_INT(tt_text_width("e\xcc\x81"), 1);
    CHECK_INT(tt_text_width("🙂"), 2);
    CHECK_INT(tt_text_width("\xff\x80\xed\xa0\x80"), 5);
    CHECK_INT(tt_text_length("日本語e\xcc\x81"), 5);
}

/* Every character that is one, and every kind of bytes that is none. */
TEST(characters_are_those_of_utf8)
{
    char s[8];

    for (uint32_t code = 1; code < 0x110000; code++) {
        size_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
        struct tt_character c;
        memset(s, 0, sizeof s);
        s[0] = (char)(n == 1 ? code : (0xf00u >> n) | code >> 6 * (n - 1));
        for (size_t i = 1; i < n; i++)
            s[i] = (char)(0x80 | (code >> 6 * (n - 1 - i) & 0x3f));
        c = tt_text_character(s);
        if (code >= 0xd800 && code < 0xe000 && CHECK(c.code == 0xfffd && c.bytes == 1))
            continue;
        if (!CHECK_INT(c.code, code) || !CHECK_INT(c.bytes, n))
            return;
    }
    CHECK_INT(tt_text_character("\xc0\xaf").code, 0xfffd);         /* overlong */
    CHECK_INT(tt_text_character("\xe0\x9f\xbf").code, 0xfffd);     /* the same */
    CHECK_INT(tt_text_character("\xf0\x8f\xbf\xbf").code, 0xfffd); /* the same */
    CHECK_INT(tt_text_character("\xf4\x90\x80\x80").code, 0xfffd); /* past the last */
    CHECK_INT(tt_text_character("\xe6\x97").code, 0xfffd);         /* cut short */
}

static void check_show(const char *name, size_t room, const char *wanted)
{
    struct tt_text out;

    tt_text_init(&out, NULL);
    tt_text_show(&out, name, room);
    CHECK_STR(tt_text_string(&out), wanted);
    CHECK(tt_text_width(tt_text_string(&out)) <= room);
    tt_text_fini(&out);
}

TEST(a_shortened_name_never_takes_more_than_its_room)
{
    char name[128];

    check_show("abcdefgh", 8, "abcdefgh");
    check_show("abcdefgh", 7, "abc…fgh");
    check_show("abcdefgh", 6, "ab…fgh");
    check_show("abcdefgh", 1, "…");
    check_show("abcdefgh", 0, "");
    check_show("日本語の関数", 12, "日本語の関数");
    check_show("日本語の関数", 11, "日本…関数");
    check_show("日本語の関数", 10, "日本…関数");
    check_show("日本語の関数", 8, "日…関数");
    check_show("日本語の関数", 5, "日…数");
    for (size_t room = 0; room < 40; room++)
        for (size_t offset = 0; offset < 4; offset++) {
            struct tt_text out;
            snprintf(name, sizeof name,
                     "%.*s日本e\xcc\x81語ä\xff🙂の関数\x1b[mxyz", (int)offset,
                     "abc");
            tt_text_init(&out, NULL);
            size_t shown = tt_text_show(&out, name, room);
            CHECK(shown <= room);
            CHECK_INT(tt_text_width(tt_text_string(&out)), shown);
            tt_text_fini(&out);
        }
}

TEST(a_text_before_the_name_gets_a_quarter_of_the_terminal)
{
    struct tt_table t;

    tt_table_init(&t, "test", NULL);
    tt_table_column(&t, "file", "file", "", TT_COLUMN_TEXT, 0);
    tt_table_column(&t, "name", "name", "", TT_COLUMN_TEXT, TT_COLUMN_NAME);
    tt_table_row(&t, TT_ROW_ENTRY, 0, 0);
    tt_table_string(&t, 0,
                    "a/very/long/path/of/folders/in/folders/that/does/not/end/soon/x.c");
    tt_table_string(&t, 1, "f");
    tt_table_row(&t, TT_ROW_ENTRY, 0, 0);
    tt_table_string(&t, 0, "日.c");
    tt_table_string(&t, 1, "g");
    tt_table_row(&t, TT_ROW_ENTRY, 0, 0);
    tt_table_string(&t, 0, "日本語の関数日本語の関数.c");
    tt_table_string(&t, 1, "h");
    check_text(&t, 0,
               "file                                                               name\n"
               "a/very/long/path/of/folders/in/folders/that/does/not/end/soon/x.c  f\n"
               "日.c                                                               g\n"
               "日本語の関数日本語の関数.c                                         h\n");
    check_text(&t, 60,
               "file             name\n"
               "a/very/…oon/x.c  f\n"
               "日.c             g\n"
               "日本語…関数.c    h\n");
    tt_table_fini(&t);
}

TEST(notes_are_wrapped_between_words)
{
    static const char note[] =
        "filter: a  note of 1234567890123 ns, a_word_of_21_columns "
        "日本語 in it";
    struct tt_table t;

    tt_table_init(&t, "test", NULL);
    tt_table_column(&t, "name", "name", "", TT_COLUMN_TEXT, TT_COLUMN_NAME);
    tt_table_row(&t, TT_ROW_ENTRY, 0, 0);
    tt_table_string(&t, 0, "f");
    tt_table_note(&t, "kind", "%s", note);
    check_text(&t, 20,
               "name\nf\n\n"
               "filter: a  note of\n"
               "1234567890123 ns,\n"
               "a_word_of_21_columns\n"
               "日本語 in it\n");
    check_text(&t, 0,
               "name\nf\n\nfilter: a  note of 1234567890123 ns, a_word_of_21_columns "
               "日本語 in it\n");
    tt_table_fini(&t);
}

TEST(columns_that_can_be_spared_make_room_for_names_the_last_first)
{
    struct tt_table t;

    tt_table_init(&t, "test", NULL);
    tt_table_column(&t, "share", "share", "", TT_COLUMN_SHARE, 0);
    tt_table_column(&t, "self", "self", "", TT_COLUMN_AMOUNT, TT_COLUMN_SPARE);
    tt_table_column(&t, "calls", "calls", "", TT_COLUMN_AMOUNT, 0);
    tt_table_column(&t, "mean", "mean", "", TT_COLUMN_REAL, TT_COLUMN_SPARE);
    tt_table_column(&t, "name", "name", "", TT_COLUMN_TEXT, TT_COLUMN_NAME);
    tt_table_row(&t, TT_ROW_ENTRY, 0, 0);
    tt_table_real(&t, 0, 0.5);
    tt_table_amount(&t, 1, 1234);
    tt_table_amount(&t, 2, 7);
    tt_table_real(&t, 3, 8);
    tt_table_string(&t, 4, "a_name_of_20_columns");
    check_text(&t, 50,
               "  share  self  calls   mean  name\n"
               "50.00 %  1234      7  8.000  a_name_of_20_columns\n");
    check_text(&t, 48,
               "  share  self  calls  name\n"
               "50.00 %  1234      7  a_name_of_20_columns\n"
               "\ncolumns without room: mean\n");
    check_text(&t, 41,
               "  share  calls  name\n"
               "50.00 %      7  a_name_of_20_columns\n"
               "\ncolumns without room: self, mean\n");
    check_text(&t, 30,
               "  share  calls  name\n"
               "50.00 %      7  a_name…columns\n"
               "\ncolumns without room: self,\nmean\n");
    tt_table_note(&t, "kind", "a note");
    check_text(&t, 48,
               "  share  self  calls  name\n"
               "50.00 %  1234      7  a_name_of_20_columns\n"
               "\na note\ncolumns without room: mean\n");
    check_text(&t, 0,
               "  share  self  calls   mean  name\n"
               "50.00 %  1234      7  8.000  a_name_of_20_columns\n\na note\n");
    tt_table_fini(&t);
}

TEST(a_depth_that_leaves_no_room_is_a_number)
{
    struct tt_table t;

    begin(&t);
    for (uint32_t depth = 0; depth < 8; depth++)
        add(&t, TT_ROW_ENTRY, depth, 1, "name");
    check_text(&t, 29,
               "self ns  name\n"
               "      1  name\n"
               "      1    name\n"
               "      1      name\n"
               "      1        name\n"
               "      1          name\n"
               "      1            name\n"
               "      1            [6] name\n"
               "      1            [7] name\n");
    tt_table_fini(&t);
}

TEST(a_path_of_a_million_contexts_takes_no_more_than_its_rows)
{
    enum { ROWS = 200 };
    struct tt_table t;
    struct tt_text out;

    begin(&t);
    for (uint32_t i = 0; i < ROWS; i++)
        add(&t, TT_ROW_ENTRY, 1000000 + i, 1, "f");
    out = text_of(&t, 0, 0);
    CHECK(out.bytes.count < (size_t)ROWS * 200);
    CHECK(strstr(tt_text_string(&out), " [1000199] f\n"));
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
    CHECK(strstr(s, "[9007199254740992,null,null,null,null,\"q\\\"\\\\\\n\",null]"));
    CHECK(strstr(s, "[\"9007199254740993\",null,null,null,null,\"bad \\ufffd\\ufffd( "
                    "\\ufffd\\ufffd\\ufffd ü\",null]"));
    CHECK(strstr(s, "\"role\":\"remainder\""));
    CHECK(strstr(s,
                 "{\"key\":\"share\",\"title\":\"%\",\"unit\":\"\",\"type\":\"share\"}"));
    tt_text_fini(&out);
    tt_table_fini(&t);
}

/* A locale whose point is a comma, or (ps_AF) two bytes; made here, as few are installed.  The
 * order and the kinds of all characters would take seconds. */
static int use_locale(const char *folder, const char *name)
{
    char command[512], locale[32];

    snprintf(locale, sizeof locale, "%s.UTF-8", name);
    snprintf(
        command, sizeof command,
        "{ for c in CTYPE COLLATE; do printf 'LC_%%s\\ncopy \"POSIX\"\\nEND LC_%%s\\n' "
        "$c $c; "
        "done; printf 'LC_NUMERIC\\ncopy \"%s\"\\nEND LC_NUMERIC\\n'; } >'%s/source' && "
        "localedef -c -i '%s/source' -f UTF-8 '%s/%s' >/dev/null 2>&1",
        name, folder, folder, folder, locale);
    return setenv("LOCPATH", folder, 1) == 0 && system(command) >= 0 &&
           setlocale(LC_NUMERIC, locale) && strcmp(localeconv()->decimal_point, ".") != 0;
}

static void check_reals(void)
{
    struct tt_text out;

    tt_text_init(&out, NULL);
    tt_text_real(&out, -1234.5);
    tt_text_put(&out, " ");
    tt_text_real(&out, 1.25e-30);
    tt_text_put(&out, " ");
    tt_text_real(&out, 12345678901.25);
    tt_text_put(&out, " ");
    tt_text_real(&out, 17);
    CHECK_STR(tt_text_string(&out), "-1234.5 1.25e-30 12345678901.25 17");
    tt_text_fini(&out);
}

/* The locale of a program that we are built into is not ours. */
TEST(figures_for_machines_have_a_point_in_every_locale)
{
    char folder[] = "/tmp/tallytree-locale.XXXXXX", command[64];
    int made = 0;

    check_reals();
    if (!CHECK(mkdtemp(folder) != NULL))
        return;
    if (use_locale(folder, "de_DE") && ++made)
        check_reals();
    if (use_locale(folder, "ps_AF") && ++made)
        check_reals();
    setlocale(LC_NUMERIC, "C");
    unsetenv("LOCPATH");
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    CHECK_INT(system(command), 0);
    if (made < 2)
        SKIP("localedef cannot make these locales here");
}

/* ── The header ───────────────────────────────────────────────────────────────────── */

struct made {
    struct tt_builder *b;
    void *image;
    size_t size;
    struct tt_profile p;
};

static void begin_profile(struct made *m)
{
    *m = (struct made){.b = tt_builder_new(NULL)};
    (void)tt_builder_metric(m->b, "time", "ns", TT_METRIC_TIME);
}

static void check_header(struct made *m, const char *wanted)
{
    struct tt_text out;
    int error = tt_builder_finish(m->b, &m->image, &m->size);

    tt_builder_free(m->b);
    if (!error)
        error = tt_profile_open(&m->p, m->image, m->size, NULL);
    if (!CHECK_INT(error, 0))
        return;
    tt_text_init(&out, NULL);
    tt_text_header(&out, &m->p, 0);
    CHECK_STR(tt_text_string(&out), wanted);
    tt_text_fini(&out);
    tt_profile_close(&m->p);
    tt_memory_put(NULL, m->image);
}

TEST(the_header_says_what_made_a_profile_and_what_it_lacks)
{
    struct made m;

    begin_profile(&m);
    tt_builder_fact(m.b, "lost.pushes", TT_FACT_SUM, 12, "");
    tt_builder_fact(m.b, "lost.timed", TT_FACT_SUM, 5821597345, "");
    tt_builder_fact(m.b, "torn", TT_FACT_SUM, 1, "");
    tt_builder_fact(m.b, "evicted", TT_FACT_SUM, 2500000, "");
    tt_builder_fact(m.b, "hidden.unseen", TT_FACT_EACH, 3000, "time");
    tt_builder_fact(m.b, "hidden.unseen", TT_FACT_EACH, 7, "widgets");
    tt_builder_fact(m.b, "budget", TT_FACT_EACH, 1, "64 MiB");
    tt_builder_fact(m.b, "recursion", TT_FACT_EACH, 1, "edge");
    tt_builder_fact(m.b, "modes", TT_FACT_EACH, 1, "scope exact");
    tt_builder_fact(m.b, "modes", TT_FACT_EACH, 1, "native sampled at 97 Hz");
    tt_builder_fact(m.b, "clock", TT_FACT_EACH, 1, "cycles");
    tt_builder_fact(m.b, "lasted", TT_FACT_MAX, 1234567890, "");
    tt_builder_fact(m.b, "started", TT_FACT_MIN, 1000000000ull * 1000000000, "");
    tt_builder_fact(m.b, "host", TT_FACT_EACH, 1, "h1");
    tt_builder_fact(m.b, "program", TT_FACT_EACH, 1, "evil\033]0;x\a");
    check_header(&m, "program     evil�]0;x�\n"
                     "host        h1\n"
                     "started     2001-09-09 01:46:40 UTC\n"
                     "lasted      1.235 s\n"
                     "clock       cycles\n"
                     "modes       native sampled at 97 Hz, scope exact\n"
                     "recursion   edge\n"
                     "budget      64 MiB\n"
                     "evicted     2.500 ms\n"
                     "hidden      3.000 µs unseen of time\n"
                     "hidden      7 unseen of widgets\n"
                     "lost        12 pushes\n"
                     "lost        5.822 s of samples found no room in the log\n"
                     "torn        1\n"
                     "\n");
}

TEST(what_is_zero_or_empty_or_alone_has_no_line)
{
    struct made m;

    begin_profile(&m);
    tt_builder_fact(m.b, "program", TT_FACT_EACH, 1, "");
    tt_builder_fact(m.b, "started", TT_FACT_MIN, 0, "");
    tt_builder_fact(m.b, "recordings", TT_FACT_SUM, 1, "");
    tt_builder_fact(m.b, "lost.calls", TT_FACT_SUM, 0, "");
    tt_builder_fact(m.b, "torn", TT_FACT_SUM, 0, "");
    check_header(&m, "\n");
}

TEST(facts_that_are_not_known_have_their_lines_too)
{
    struct made m;

    begin_profile(&m);
    tt_builder_fact(m.b, "recordings", TT_FACT_SUM, 6, "");
    for (int i = 0; i < 6; i++) {
        char host[16];
        snprintf(host, sizeof host, "node%d", i);
        tt_builder_fact(m.b, "host", TT_FACT_EACH, 1, host);
    }
    tt_builder_fact(m.b, "compiler", TT_FACT_EACH, 1, "cc 1.0");
    tt_builder_fact(m.b, "compiler", TT_FACT_EACH, 2, "cc 2.0");
    tt_builder_fact(m.b, "a-name-that-is-long", TT_FACT_MAX, 9, "");
    tt_builder_fact(m.b, "skipped.frames", TT_FACT_SUM, 4, "");
    check_header(&m, "host        node0, node1, node2, node3 and 2 more\n"
                     "recordings  6\n"
                     "a-name-that-is-long 9\n"
                     "compiler    cc 1.0, cc 2.0\n"
                     "skipped     4 frames\n"
                     "\n");
}

/* ── Memory ───────────────────────────────────────────────────────────────────────── */

TEST(a_text_that_found_no_memory_says_so_in_every_form)
{
    struct tt_profile none = {0};
    struct tt_table t;

    begin(&t);
    for (uint32_t i = 0; i < 50; i++)
        add(&t, TT_ROW_ENTRY, i, i, "a name that is long enough to need some room");
    for (int form = 0; form < 3; form++) {
        int done = 0;
        for (long n = 0; !done; n++) {
            struct tt_text out;
            failing_after = n;
            tt_text_init(&out, &failing);
            if (form == 0)
                tt_text_table(&out, &t, 40, 1);
            else if (form == 1)
                tt_text_csv(&out, &t);
            else
                tt_text_json(&out, &t, &none);
            done = !out.failed;
            CHECK(done || n < 64);
            tt_text_fini(&out);
            CHECK_INT(failing_pieces, 0);
        }
    }
    t.failed = 1;
    for (int form = 0; form < 3; form++) {
        struct tt_text out;
        tt_text_init(&out, NULL);
        if (form == 0)
            tt_text_table(&out, &t, 40, 1);
        else if (form == 1)
            tt_text_csv(&out, &t);
        else
            tt_text_json(&out, &t, &none);
        CHECK(out.failed);
        tt_text_fini(&out);
    }
    tt_table_fini(&t);
}
