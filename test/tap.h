/* SPDX-License-Identifier: MIT */
/* tap.h - a test program in C or C++ that speaks the Test Anything Protocol.
 *
 *      #include "tap.h"
 *
 *      TEST(a_pop_leaves_what_lies_above)
 *      {
 *          CHECK_INT(depth(), 2);
 *      }
 *
 * A test program needs no more: the tests find each other, and main is here.  They run in
 * one process, in the order of the file; with an argument, only those whose name contains
 * it.  A failed check prints its place on standard error, and the test continues; a check
 * is 1 if it holds, for `if (!CHECK(p)) return;`.  Checks may be made in any thread.  The
 * child of a fork reports to its parent by its exit status. */
#ifndef TAP_H
#define TAP_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tap_test {
    const char *name;
    void (*run)(void);
    int line;
    struct tap_test *next;
};

static struct {
    struct tap_test *tests; /* in the order of their lines */
    const char *skipped;    /* why the running test is */
    int failed;             /* checks of the running test */
} tap;

#define TEST(name)                                                                       \
    static void name(void);                                                              \
    __attribute__((constructor)) static void tap_add_##name(void)                        \
    {                                                                                    \
        static struct tap_test test = {#name, name, __LINE__, NULL};                     \
        tap_add(&test);                                                                  \
    }                                                                                    \
    static void name(void)

#define CHECK(condition) tap_check(!!(condition), #condition, __FILE__, __LINE__)
#define CHECK_INT(got, want)                                                             \
    tap_check_int((long long)(got), (long long)(want), #got, __FILE__, __LINE__)
#define CHECK_STR(got, want) tap_check_str(got, want, #got, __FILE__, __LINE__)

/* Leaves the test; no check after it is made. */
#define SKIP(why)                                                                        \
    do {                                                                                 \
        tap.skipped = (why);                                                             \
        return;                                                                          \
    } while (0)

/* `make gate` runs the tests at length, with TT_LONG set. */
static inline int tap_is_long(void) { return getenv("TT_LONG") != NULL; }

/* `make soak` runs those at length that take minutes. */
static inline int tap_is_soak(void) { return getenv("TT_SOAK") != NULL; }

/* Builds with sanitizers and emulated programs are slower, and run a fifth of n cases. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(TAP_EMULATED)
#define TAP_CASES(n) ((n) / 5)
#else
#define TAP_CASES(n) (n)
#endif

/* How many of so many repetitions to run. */
static inline int tap_times(int times) { return tap_is_long() ? times : (times + 3) / 4; }

static void tap_add(struct tap_test *test)
{
    struct tap_test **at = &tap.tests;

    while (*at && (*at)->line < test->line)
        at = &(*at)->next;
    test->next = *at;
    *at = test;
}

/* Counts a failure and opens its line of diagnostics. */
static void tap_fail(const char *file, int line)
{
    while (strncmp(file, "../", 3) == 0)
        file += 3;
    __atomic_fetch_add(&tap.failed, 1, __ATOMIC_RELAXED);
    fprintf(stderr, "# %s:%d: ", file, line);
}

static inline int tap_check(int holds, const char *what, const char *file, int line)
{
    if (!holds) {
        tap_fail(file, line);
        fprintf(stderr, "not so: %s\n", what);
    }
    return holds;
}

static inline int tap_check_int(long long got, long long want, const char *what,
                                const char *file, int line)
{
    if (got != want) {
        tap_fail(file, line);
        fprintf(stderr, "%s is %lld, not %lld\n", what, got, want);
    }
    return got == want;
}

static inline int tap_check_str(const char *got, const char *want, const char *what,
                                const char *file, int line)
{
    int same = got && want ? strcmp(got, want) == 0 : got == want;

    if (!same) {
        tap_fail(file, line);
        fprintf(stderr, "%s is\n#   \"%s\", not\n#   \"%s\"\n", what,
                got ? got : "(null)", want ? want : "(null)");
    }
    return same;
}

/* Runs a test and prints its line; the name's underscores are blanks. */
static int tap_run(const struct tap_test *test, int number)
{
    tap.failed = 0;
    tap.skipped = NULL;
    test->run();
    printf("%s %d - ", tap.failed ? "not ok" : "ok", number);
    for (const char *c = test->name; *c; c++)
        putchar(*c == '_' ? ' ' : *c);
    if (tap.skipped)
        printf(" # SKIP %s", tap.skipped);
    putchar('\n');
    fflush(stdout); /* or a fork would print it twice */
    return tap.failed != 0;
}

int main(int argc, char **argv)
{
    const char *part = argc > 1 ? argv[1] : "";
    int tests = 0, number = 0, failed = 0;

    for (const struct tap_test *test = tap.tests; test; test = test->next)
        tests += strstr(test->name, part) != NULL;
    printf("1..%d\n", tests);
    fflush(stdout);
    for (const struct tap_test *test = tap.tests; test; test = test->next)
        if (strstr(test->name, part))
            failed += tap_run(test, ++number);
    return failed != 0 || tests == 0;
}

#endif
