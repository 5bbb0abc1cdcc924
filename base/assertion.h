/* SPDX-License-Identifier: MIT */
/* assertion.h - TT_ASSERT(condition): conditions that always hold.
 *
 * A build with -DTT_CHECKED (meson: -Dchecked=true; the tests, the sanitizers and the
 * fuzzers use it) ends the process at the first assertion that fails.  Other builds
 * evaluate nothing.  A failure allocates nothing and takes no lock, so signal handlers
 * may assert, too. */
#ifndef TT_ASSERTION_H
#define TT_ASSERTION_H

#ifdef TT_CHECKED
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((noreturn, noinline, cold, unused)) static void tt_assertion_failed(
    const char *place)
{
    (void)!write(2, place, strlen(place));
    abort();
}

#define TT_ASSERTION_TEXT_(x) #x
#define TT_ASSERTION_TEXT(x) TT_ASSERTION_TEXT_(x)
#define TT_ASSERT(condition)                                                             \
    ((condition) ? (void)0                                                               \
                 : tt_assertion_failed("tallytree: " __FILE__ ":" TT_ASSERTION_TEXT(     \
                       __LINE__) ": assertion failed: " #condition "\n"))

/* Asserts that a checker's message is "". */
__attribute__((unused)) static inline void TT_ASSERT_NOTHING(const char *wrong)
{
    char text[160] = "tallytree: ";

    if (!*wrong)
        return;
    strncat(text, wrong, sizeof text - 16);
    tt_assertion_failed(strcat(text, "\n"));
}
#else
#define TT_ASSERT(condition) ((void)sizeof((condition) ? 1 : 0))
#endif

#endif
