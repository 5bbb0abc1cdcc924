/* SPDX-License-Identifier: MIT */
/* progress.c - progress of long work: on a terminal, and nowhere else. */
#include "progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

static uint64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static int is_stopped;
static uint64_t began, drawn; /* 0: not yet */
static struct {
    uint64_t done, total;
} steps = {0, 1}; /* of the whole work */

void tt_progress_stop(void) { is_stopped = 1; }

void tt_progress_clear(void)
{
    if (drawn)
        fputs("\r\033[K", stderr);
    began = drawn = 0;
}

static void draw(uint64_t done, uint64_t total)
{
    enum { WIDTH = 40, PATIENCE_MS = 500, PAUSE_MS = 100 };
    uint64_t now;

    if (is_stopped || !isatty(STDERR_FILENO))
        return;
    now = now_ms();
    if (!began)
        began = now;
    if (now - began < PATIENCE_MS || now - drawn < PAUSE_MS)
        return;
    drawn = now;
    fprintf(stderr, "\r%.*s%.*s %3u %%", (int)(done * WIDTH / total),
            "########################################",
            (int)(WIDTH - done * WIDTH / total),
            "----------------------------------------", (unsigned)(done * 100 / total));
    fflush(stderr);
}

void tt_progress(uint64_t done, uint64_t total)
{
    steps.done = done;
    steps.total = total;
    if (done < total) {
        draw(done, total);
        return;
    }
    tt_progress_clear();
    steps.done = 0;
    steps.total = 1;
}

void tt_progress_within(uint64_t done, uint64_t size)
{
    enum { PARTS = 1000 };

    if (done < size)
        draw(steps.done * PARTS + done / (size / PARTS + 1), steps.total * PARTS);
}
