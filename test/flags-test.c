/* SPDX-License-Identifier: MIT */
/* flags-test.c - command lines by tables. */
#include "flags.h"
#include "tallytree.h"
#include "tap.h"

enum { OUTPUT = 1, SELECT, JSON, COLOR, ALL, QUIET };

static const struct tt_flag flags[] = {
    {"output", 'o', OUTPUT, "FILE", NULL, "write it there"},
    {"select", 0, SELECT, "PATTERN", NULL, "keep"},
    {"json", 'j', JSON, NULL, NULL, "as JSON"},
    {"color", 0, COLOR, "[WHEN]", NULL, "colour"},
    {NULL, 'a', ALL, NULL, NULL, "all"},
    {"quiet", 'q', QUIET, NULL, NULL, "say nothing"},
    {NULL, 0, 0, NULL, NULL, NULL},
};

/* What is read of a line of words, as "id=value id; operand operand", or the error. */
static const char *reads(const char *line)
{
    static char said[400];
    char words[200], *argv[20] = {(char[]){"command"}}, *rest = NULL;
    struct tt_flags f;
    int argc = 1, id;
    size_t n = 0;

    (void)snprintf(words, sizeof words, "%s", line);
    for (char *w = strtok_r(words, " ", &rest); w; w = strtok_r(NULL, " ", &rest))
        argv[argc++] = strcmp(w, "''") == 0 ? w + 2 : w;
    tt_flags_init(&f, argc, argv, flags);
    said[0] = '\0';
    while ((id = tt_flags_next(&f)) > 0)
        n += (size_t)snprintf(said + n, sizeof said - n, "%s%s%s ",
                              f.flag->name ? f.flag->name : "a", f.value ? "=" : "",
                              f.value ? f.value : "");
    if (id < 0) {
        (void)snprintf(said, sizeof said, "%s", f.error);
        return said;
    }
    n += (size_t)snprintf(said + n, sizeof said - n, "|");
    for (int i = 1; i <= f.count; i++)
        n += (size_t)snprintf(said + n, sizeof said - n, " %s", argv[i]);
    return said;
}

TEST(long_flags_are_written_in_four_ways)
{
    CHECK_STR(reads("--output x"), "output=x |");
    CHECK_STR(reads("--output=x"), "output=x |");
    CHECK_STR(reads("-output x"), "output=x |");
    CHECK_STR(reads("-output=x=y"), "output=x=y |");
    CHECK_STR(reads("--output="), "output= |");
    CHECK_STR(reads("--output ''"), "output= |");
    CHECK_STR(reads("--json --quiet"), "json quiet |");
}

TEST(letters_are_written_in_three)
{
    CHECK_STR(reads("-o x"), "output=x |");
    CHECK_STR(reads("-ox"), "output=x |");
    CHECK_STR(reads("-jaq"), "json a quiet |");
    CHECK_STR(reads("-jox y"), "json output=x | y");
    CHECK_STR(reads("-jo x"), "json output=x |");
}

TEST(operands_stand_anywhere)
{
    CHECK_STR(reads(""), "|");
    CHECK_STR(reads("a --json b -o c d"), "json output=c | a b d");
    CHECK_STR(reads("- --json -"), "json | - -");
    CHECK_STR(reads("a -- --json -o --"), "| a --json -o --");
}

TEST(a_value_may_look_like_a_flag)
{
    CHECK_STR(reads("--select --json x"), "select=--json | x");
    CHECK_STR(reads("--output --"), "output=-- |");
    CHECK_STR(reads("-o -"), "output=- |");
}

TEST(a_value_that_may_be_left_out_needs_the_equals_sign)
{
    CHECK_STR(reads("--color always"), "color | always");
    CHECK_STR(reads("--color=always"), "color=always |");
    CHECK_STR(reads("--color= x"), "color= | x");
}

TEST(what_is_wrong_names_what_is_right)
{
    CHECK_STR(reads("--slect x"),
              "there is no option '--slect'; did you mean '--select'?");
    CHECK_STR(reads("--slect=x"),
              "there is no option '--slect'; did you mean '--select'?");
    CHECK_STR(reads("-slect=x"), "there is no option '-slect'; did you mean '-select'?");
    CHECK_STR(reads("--sel x"), "there is no option '--sel'; did you mean '--select'?");
    CHECK_STR(reads("--zzzzz"), "there is no option '--zzzzz'");
    CHECK_STR(reads("--zzzzz=x"), "there is no option '--zzzzz'");
    CHECK_STR(reads("--a"), "there is no option '--a'");
    CHECK_STR(reads("-z"), "there is no option '-z'");
    CHECK_STR(reads("-jz"), "there is no option '-z'");
    CHECK_STR(reads("---json"), "there is no option '---json'; did you mean '--json'?");
    CHECK_STR(reads("--output"), "'--output' wants a value: FILE");
    CHECK_STR(reads("-output"), "'-output' wants a value: FILE");
    CHECK_STR(reads("-o"), "'-o' wants a value: FILE");
    CHECK_STR(reads("-jo"), "'-o' wants a value: FILE");
    CHECK_STR(reads("--json=x"), "'--json' takes no value");
}

TEST(a_number_is_digits_within_its_bounds)
{
    uint64_t n = 0;

    CHECK_INT(tt_flag_number("007", 0, 9, &n), 0);
    CHECK_INT(n, 7);
    CHECK_INT(tt_flag_number("18446744073709551615", 0, UINT64_MAX, &n), 0);
    CHECK(n == UINT64_MAX);
    for (const char *const *wrong =
             (const char *const[]){"", "-1", "+1", " 1", "1 ", "0x1", "1.5", "10", "1e0",
                                   "18446744073709551616", NULL};
         *wrong; wrong++) {
        n = 1;
        CHECK_INT(tt_flag_number(*wrong, 1, 9, &n), -TT_ERR_OPTION);
        CHECK_INT(n, 0);
    }
}

TEST(bytes_may_be_thousands_of_them)
{
    uint64_t n = 0;

    CHECK_INT(tt_flag_bytes("12", 1, 99, &n), 0);
    CHECK_INT(n, 12);
    CHECK_INT(tt_flag_bytes("512K", 1, UINT64_MAX, &n), 0);
    CHECK_INT(n, 512 << 10);
    CHECK_INT(tt_flag_bytes("3m", 1, UINT64_MAX, &n), 0);
    CHECK_INT(n, 3 << 20);
    CHECK_INT(tt_flag_bytes("16383G", 1, UINT64_MAX, &n), 0);
    CHECK(n == 16383ull << 30);
    for (const char *const *wrong =
             (const char *const[]){"", "K", "-1K", "1KiB", "1 K", "1KK", "1T", "4K", "0",
                                   "17179869184G", "000000000000000000000000001", NULL};
         *wrong; wrong++) {
        n = 1;
        CHECK_INT(tt_flag_bytes(*wrong, 1, 4095, &n), -TT_ERR_OPTION);
        CHECK_INT(n, 0);
    }
}
