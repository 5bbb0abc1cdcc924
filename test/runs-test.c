/* SPDX-License-Identifier: MIT */
/* runs-test.c - assigns frames of an interpreter to its loops, against a table of both. */
#include <stdlib.h>
#include <string.h>

#include "runs.h"
#include "tap.h"

enum { LOOP = 0x1000, OTHER = 0x2000, MOST = 40 };

/* Natives at 100, 200, ...; runs of frames, the innermost first. */
static struct tt_native native[MOST];
static struct tt_interpreted frame[MOST];
static struct tt_interpreted_stack stack;

/* 'L': a loop, other characters: other functions; a digit: the number of frames of a run. */
static void begin(const char *natives, const char *runs)
{
    stack = (struct tt_interpreted_stack){.native = native, .frame = frame, .room = MOST};
    for (; *natives; natives++, stack.natives++)
        native[stack.natives] = (struct tt_native){
            .function = *natives == 'L' ? LOOP : OTHER, .sp = 100 * (stack.natives + 1)};
    for (uint64_t run = 1; *runs; runs++, run++)
        for (int i = 0; i < *runs - '0'; i++)
            frame[stack.count++] = (struct tt_interpreted){.code = stack.count,
                                                           .anchor = run};
}

/* The anchors, in hundreds, as digits. */
static const char *anchors_of(const char *natives, const char *runs, int are_made_before)
{
    static char text[MOST + 1];

    begin(natives, runs);
    tt_runs_anchor(&stack, 0, LOOP, are_made_before);
    for (uint32_t i = 0; i < stack.count; i++)
        text[i] = (char)('0' + frame[i].anchor / 100);
    text[stack.count] = '\0';
    return text;
}

static const char *anchors(const char *natives, const char *runs)
{
    return anchors_of(natives, runs, 1);
}

TEST(each_run_is_at_its_loop)
{
    CHECK_STR(anchors("L", "1"), "1");         /* "a frame and a loop" */
    CHECK_STR(anchors("cLm", "3"), "222");     /* "a run of three" */
    CHECK_STR(anchors("cLcLm", "21"), "224");  /* "two runs" */
    CHECK_STR(anchors("LcLcLm", "12"), "355"); /* "the innermost loop begins or ends" */
    CHECK_STR(anchors("cLm", "12"), "22"); /* "the innermost run's loop has not begun" */
    CHECK_STR(anchors_of("cLm", "12", 0), "222"); /* frames are made in their loop */
    CHECK_STR(anchors("cLm", "111"),
              "222"); /* "a cut stack: outer runs are at the last loop" */
    CHECK_STR(anchors("LLLL", "11"),
              "12"); /* "more loops than runs: from the innermost on" */
    CHECK_STR(anchors("cm", "1"), "0"); /* "no loop" */
    CHECK_STR(anchors("", "11"), "00"); /* "no native frames" */
    CHECK_STR(anchors("cLm", ""), "");  /* "no frames" */
}

TEST(an_unknown_loop_has_no_native_frames)
{
    begin("cLm", "11");
    tt_runs_anchor(&stack, 0, 0, 1);
    CHECK(stack.count == 2 && !frame[0].anchor && !frame[1].anchor);
}

/* As many loops as runs: each run is at its own. */
TEST(as_many_loops_as_runs)
{
    int wrong = 0;

    for (int round = 0; round < TAP_CASES(1000); round++) {
        char natives[MOST] = "", runs[MOST] = "", expected[MOST] = "";
        int n = 0, r = 0, e = 0;
        while (n < 9) {
            const int is_loop = rand() & 1;
            natives[n++] = is_loop ? 'L' : 'c';
            if (!is_loop)
                continue;
            runs[r++] = (char)('1' + rand() % 3);
            for (int i = 0; i < runs[r - 1] - '0'; i++)
                expected[e++] = (char)('0' + n);
        }
        wrong += strcmp(anchors(natives, runs), expected) != 0;
    }
    CHECK_INT(wrong, 0);
}
