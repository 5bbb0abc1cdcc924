/* SPDX-License-Identifier: MIT */
/* table-test.c - the tables that views answer with: values, order, memory. */
#include "table.h"

#include <math.h>

#include "failing.h"
#include "tap.h"

enum { SELF, CHANGE, REAL, NAME };

static void begin(struct tt_table *t, const struct tt_memory *m)
{
    tt_table_init(t, "test", m);
    tt_table_column(t, "self", "self", "ns", TT_COLUMN_AMOUNT, 0);
    tt_table_column(t, "change", "change", "ns", TT_COLUMN_CHANGE, 0);
    tt_table_column(t, "real", "real", "", TT_COLUMN_REAL, 0);
    tt_table_column(t, "name", "name", "", TT_COLUMN_TEXT, TT_COLUMN_NAME);
}

static void add(struct tt_table *t, enum tt_row_role role, uint32_t group, uint64_t self,
                const char *name)
{
    tt_table_row(t, role, 0, group);
    tt_table_amount(t, SELF, self);
    tt_table_string(t, NAME, name);
}

static void add_missing(struct tt_table *t, enum tt_row_role role, uint32_t group,
                        const char *name)
{
    tt_table_row(t, role, 0, group);
    tt_table_string(t, NAME, name);
}

static void check_order(const struct tt_table *t, const char *names)
{
    char got[64] = "";

    for (size_t i = 0; i < tt_table_rows(t); i++)
        strncat(got, tt_table_value(t, i, NAME)->text, sizeof got - strlen(got) - 1);
    CHECK_STR(got, names);
}

/* ── Values ───────────────────────────────────────────────────────────────────────── */

TEST(a_value_is_missing_until_it_is_set)
{
    struct tt_table t;

    begin(&t, NULL);
    tt_table_row(&t, TT_ROW_ENTRY, 3, 4);
    for (size_t i = 0; i < tt_table_columns(&t); i++)
        CHECK(tt_table_value(&t, 0, i) == NULL);
    tt_table_amount(&t, SELF, UINT64_MAX);
    tt_table_change(&t, CHANGE, INT64_MIN);
    tt_table_real(&t, REAL, 0.25);
    tt_table_string(&t, NAME, "f");
    CHECK(tt_table_value(&t, 0, SELF)->n == UINT64_MAX);
    CHECK(tt_table_value(&t, 0, CHANGE)->change == INT64_MIN);
    CHECK(tt_table_value(&t, 0, REAL)->real == 0.25);
    CHECK_STR(tt_table_value(&t, 0, NAME)->text, "f");
    CHECK_INT(tt_table_row_at(&t, 0)->depth, 3);
    CHECK_INT(tt_table_row_at(&t, 0)->group, 4);
    CHECK(!t.failed);
    tt_table_fini(&t);
}

TEST(what_is_no_number_and_no_text_stays_missing)
{
    struct tt_table t;

    begin(&t, NULL);
    tt_table_row(&t, TT_ROW_ENTRY, 0, 0);
    tt_table_real(&t, REAL, NAN);
    CHECK(tt_table_value(&t, 0, REAL) == NULL);
    tt_table_real(&t, REAL, INFINITY);
    CHECK(tt_table_value(&t, 0, REAL) == NULL);
    tt_table_string(&t, NAME, NULL);
    CHECK(tt_table_value(&t, 0, NAME) == NULL);
    tt_table_amount(&t, UINT32_MAX, 1); /* no such column */
    CHECK(!t.failed);
    tt_table_fini(&t);
}

TEST(columns_are_found_by_their_keys)
{
    struct tt_table t;

    begin(&t, NULL);
    CHECK_INT(tt_table_find(&t, "name"), NAME);
    CHECK_INT(tt_table_find(&t, "self"), SELF);
    CHECK(tt_table_find(&t, "nam") == UINT32_MAX);
    CHECK(tt_table_find(&t, "") == UINT32_MAX);
    tt_table_fini(&t);
}

TEST(all_64_columns_may_have_values_and_a_65th_is_refused)
{
    struct tt_table t;

    tt_table_init(&t, "test", NULL);
    for (uint32_t i = 0; i < TT_TABLE_COLUMNS; i++)
        tt_table_column(&t, "n", "n", "", TT_COLUMN_AMOUNT, 0);
    tt_table_row(&t, TT_ROW_ENTRY, 0, 0);
    for (uint32_t i = 0; i < TT_TABLE_COLUMNS; i += 3)
        tt_table_amount(&t, i, i);
    for (uint32_t i = 0; i < TT_TABLE_COLUMNS; i++)
        if (CHECK_INT(tt_table_value(&t, 0, i) != NULL, i % 3 == 0) && i % 3 == 0)
            CHECK_INT(tt_table_value(&t, 0, i)->n, i);
    CHECK(!t.failed);
    tt_table_fini(&t);

    tt_table_init(&t, "test", NULL);
    for (uint32_t i = 0; i <= TT_TABLE_COLUMNS; i++)
        tt_table_column(&t, "n", "n", "", TT_COLUMN_AMOUNT, 0);
    CHECK(t.failed);
    tt_table_fini(&t);
}

TEST(a_column_behind_the_first_row_is_refused)
{
    struct tt_table t;

    begin(&t, NULL);
    tt_table_row(&t, TT_ROW_ENTRY, 0, 0);
    tt_table_column(&t, "late", "late", "", TT_COLUMN_AMOUNT, 0);
    CHECK(t.failed);
    CHECK_INT(tt_table_columns(&t), NAME + 1);
    tt_table_fini(&t);
}

TEST(texts_are_copies_that_stay_where_they_are)
{
    struct tt_table t;
    const char *first, *texts[1000];
    char name[512];

    begin(&t, NULL);
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    first = tt_table_text(&t, "%s", name);
    name[0] = 'y';
    for (int i = 0; i < 1000; i++)
        texts[i] = tt_table_text(&t, "text %d", i);
    CHECK_INT(strlen(first), sizeof name - 1);
    CHECK_INT(first[0], 'x');
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "text %d", i);
        CHECK_STR(texts[i], name);
    }
    CHECK_STR(tt_table_text(&t, "%s", ""), "");
    tt_table_note(&t, "kind", "%d %s", 3, "notes");
    CHECK_STR(tt_table_note_at(&t, 0)->text, "3 notes");
    CHECK(!t.failed);
    tt_table_fini(&t);
}

TEST(a_note_keeps_its_arguments_but_no_pieces_of_its_sentence)
{
    struct tt_table t;
    const struct tt_note *note;
    const struct tt_argument *a;

    begin(&t, NULL);
    tt_table_note(&t, "first", "nothing");
    tt_table_note(&t, "second", "%u block%-s: '%.3s' %-s%% %llu, %zu, %.2f, %d", 2u, "s",
                  "abcdef", "of", 1ull << 60, (size_t)7, 0.125, -3);
    CHECK_INT(tt_table_note_at(&t, 0)->arguments, 0);
    note = tt_table_note_at(&t, 1);
    a = (const struct tt_argument *)t.argument.item + note->first;
    CHECK_STR(note->kind, "second");
    CHECK_STR(note->text, "2 blocks: 'abc' of% 1152921504606846976, 7, 0.12, -3");
    CHECK_INT(note->arguments, 6);
    CHECK_INT(a[0].value.n, 2);
    CHECK_STR(a[1].value.text, "abcdef");
    CHECK(a[2].type == TT_COLUMN_AMOUNT && a[2].value.n == 1ull << 60);
    CHECK_INT(a[3].value.n, 7);
    CHECK(a[4].type == TT_COLUMN_REAL && a[4].value.real == 0.125);
    CHECK(a[5].type == TT_COLUMN_CHANGE && a[5].value.change == -3);
    CHECK(!t.failed);
    tt_table_fini(&t);
}

/* ── Order ────────────────────────────────────────────────────────────────────────── */

TEST(sorting_is_stable_and_what_is_missing_comes_last)
{
    struct tt_table t;

    begin(&t, NULL);
    add(&t, TT_ROW_ENTRY, 0, 2, "a");
    add(&t, TT_ROW_ENTRY, 0, 3, "b");
    add_missing(&t, TT_ROW_ENTRY, 0, "m");
    add(&t, TT_ROW_ENTRY, 0, 2, "c");
    add_missing(&t, TT_ROW_ENTRY, 0, "n");
    add(&t, TT_ROW_REMAINDER, 0, 9, "r");
    add(&t, TT_ROW_TOTAL, 0, 16, "t");
    tt_table_sort(&t, SELF, 1);
    check_order(&t, "bacmnrt");
    tt_table_sort(&t, SELF, 0);
    check_order(&t, "acbmnrt");
    tt_table_sort(&t, NAME, 1);
    check_order(&t, "nmcbart");
    tt_table_sort(&t, REAL, 1); /* nothing has one */
    check_order(&t, "nmcbart");
    tt_table_fini(&t);
}

TEST(every_type_has_its_order)
{
    struct tt_table t;
    static const int64_t changes[] = {-1, 3, INT64_MIN, INT64_MAX, 0};
    static const double reals[] = {-0.5, 1e300, 0, -1e300, 1e-300};
    static const uint64_t amounts[] = {1ull << 63, 1, UINT64_MAX, 0, (1ull << 63) - 1};

    begin(&t, NULL);
    for (int i = 0; i < 5; i++) {
        add(&t, TT_ROW_ENTRY, 0, amounts[i], tt_table_text(&t, "%c", 'a' + i));
        tt_table_change(&t, CHANGE, changes[i]);
        tt_table_real(&t, REAL, reals[i]);
    }
    tt_table_sort(&t, SELF, 0);
    check_order(&t, "dbeac");
    tt_table_sort(&t, CHANGE, 0);
    check_order(&t, "caebd");
    tt_table_sort(&t, REAL, 0);
    check_order(&t, "daceb");
    tt_table_sort(&t, REAL, 1);
    check_order(&t, "becad");
    tt_table_sort(&t, NAME, 0);
    check_order(&t, "abcde");
    tt_table_fini(&t);
}

TEST(groups_move_as_one_by_the_value_of_their_entry)
{
    struct tt_table t;

    begin(&t, NULL);
    add(&t, TT_ROW_CALLER, 1, 99, "1");
    add(&t, TT_ROW_ENTRY, 1, 1, "a");
    add_missing(&t, TT_ROW_CALLEE, 1, "-");
    add(&t, TT_ROW_ENTRY, 2, 3, "b"); /* none called it, or was called */
    add(&t, TT_ROW_CALLER, 3, 1, "3");
    add(&t, TT_ROW_CALLER, 3, 97, "4");
    add(&t, TT_ROW_ENTRY, 3, 2, "c");
    add_missing(&t, TT_ROW_CALLER, 4, "5");
    add_missing(&t, TT_ROW_ENTRY, 4, "d");
    add(&t, TT_ROW_CALLEE, 4, 1000, "6");
    add(&t, TT_ROW_TOTAL, 0, 6, "t");
    tt_table_sort(&t, SELF, 1);
    check_order(&t, "b34c1a-5d6t");
    tt_table_sort(&t, SELF, 0);
    check_order(&t, "1a-34cb5d6t");
    tt_table_fini(&t);
}

TEST(rows_do_not_leave_their_part)
{
    struct tt_table t;

    begin(&t, NULL);
    add(&t, TT_ROW_HEADING, 0, 0, "H");
    add(&t, TT_ROW_ENTRY, 0, 1, "a");
    add(&t, TT_ROW_ENTRY, 0, 2, "b");
    add(&t, TT_ROW_HEADING, 0, 0, "I");
    add(&t, TT_ROW_ENTRY, 0, 3, "c");
    add(&t, TT_ROW_ENTRY, 0, 4, "d");
    add(&t, TT_ROW_REMAINDER, 0, 5, "r");
    tt_table_sort(&t, SELF, 1);
    check_order(&t, "HbaIdcr");
    tt_table_fini(&t);
}

static uint32_t next_random(uint32_t *seed)
{
    return *seed = *seed * 1664525 + 1013904223;
}

TEST(a_hundred_thousand_rows_are_in_order_and_none_is_lost)
{
    enum { ROWS = 100000 };
    struct tt_table t;
    uint64_t sum = 0, sorted = 0;
    uint32_t seed = 1;

    begin(&t, NULL);
    for (uint32_t i = 0; i < ROWS; i++) {
        uint64_t n = next_random(&seed) >> 20;
        add(&t, TT_ROW_ENTRY, 0, n, "");
        tt_table_change(&t, CHANGE, (int64_t)i);
        sum += n * i;
    }
    tt_table_sort(&t, SELF, 1);
    for (size_t i = 0; i < ROWS; i++) {
        uint64_t n = tt_table_value(&t, i, SELF)->n;
        int64_t place = tt_table_value(&t, i, CHANGE)->change;
        sorted += n * (uint64_t)place;
        if (i == 0)
            continue;
        if (!CHECK(tt_table_value(&t, i - 1, SELF)->n >= n) ||
            !CHECK(tt_table_value(&t, i - 1, SELF)->n > n ||
                   tt_table_value(&t, i - 1, CHANGE)->change < place))
            break;
    }
    CHECK(sum == sorted);
    tt_table_fini(&t);
}

TEST(an_empty_table_can_be_sorted)
{
    struct tt_table t;

    begin(&t, NULL);
    tt_table_sort(&t, SELF, 1);
    CHECK(!t.failed);
    CHECK_INT(tt_table_rows(&t), 0);
    tt_table_fini(&t);
}

/* ── Memory ───────────────────────────────────────────────────────────────────────── */

TEST(every_allocation_may_fail)
{
    int done = 0;
    long n;

    for (n = 0; !done && n < 1000; n++) {
        struct tt_table t;
        failing_after = n;
        begin(&t, &failing);
        for (uint64_t i = 0; i < 40; i++) {
            add(&t, TT_ROW_ENTRY, 0, i, tt_table_text(&t, "row %d", (int)i));
            tt_table_change(&t, CHANGE, -1);
            tt_table_real(&t, REAL, 0.5);
        }
        tt_table_note(&t, "kind", "that was %s", "all");
        tt_table_sort(&t, SELF, 1);
        done = !t.failed;
        for (size_t i = 0; i < tt_table_rows(&t); i++) /* existing values can be read */
            for (size_t j = 0; j < tt_table_columns(&t); j++)
                if (tt_table_value(&t, i, j) && j == NAME)
                    CHECK(strlen(tt_table_value(&t, i, j)->text) < 7);
        if (done) {
            CHECK_INT(tt_table_rows(&t), 40);
            CHECK_STR(tt_table_value(&t, 0, NAME)->text, "row 39");
        }
        tt_table_fini(&t);
        CHECK_INT(failing_pieces, 0);
    }
    CHECK(done && n > 40); /* each text was refused once */
}
