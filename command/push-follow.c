/* SPDX-License-Identifier: MIT */
/* push-follow.c - the profiles of a chain that were not sent so far.
 *
 *      minutes   ▌1▐▌2▐▌3▐▌4▐                 each is taken once
 *      hour      ▌1 2 3 4   ▐                 later, merged: their time was taken
 *
 * Several profiles get their names at the same time, so a later one may be there first: what was
 * taken is a list of times, a line each of a file beside the queue.  Times that no file of the
 * chain can have any more are left out.
 *
 * If profiles were merged while no process followed, a part of the merged one may have been
 * taken.  The rest is not sent, and a message says so.  Time between two parts that were taken is no such rest: files follow each
 * other, so the recorder was away. */
#include "push-follow.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "complain.h"
#include "content-hash.h"
#include "push-queue.h"
#include "tallytree.h"

int tt_follow_open(struct tt_follow *f, const char *folder, const char *queue)
{
    char *path = realpath(folder, NULL);
    unsigned long long from, to;
    struct tt_content_hash h;
    FILE *state;

    *f = (struct tt_follow){.folder = folder, .queue = queue};
    tt_vector_init(&f->span, NULL, sizeof(struct tt_dates));
    if (!path) {
        tt_complain("push: %s: %s", folder, strerror(errno));
        return -TT_ERR_FILE;
    }
    h = tt_content_hash_add(TT_CONTENT_HASH_OF_NOTHING, path, strlen(path));
    free(path);
    (void)snprintf(f->state, sizeof f->state, "%.4000s/followed-%016llx", queue,
                   (unsigned long long)(h.high ^ h.low));
    state = fopen(f->state, "re");
    while (state && fscanf(state, "%llu %llu", &from, &to) == 2)
        (void)tt_vector_push(&f->span, &(struct tt_dates){from, to});
    if (state)
        (void)fclose(state);
    return 0;
}

void tt_follow_close(struct tt_follow *f) { tt_vector_fini(&f->span); }

/* Was any of its time taken?  Then from when, and until when. */
static int is_taken(const struct tt_follow *f, struct tt_dates s, struct tt_dates *taken)
{
    const struct tt_dates *span = f->span.item;

    *taken = (struct tt_dates){s.to, s.from};
    for (size_t i = 0; i < f->span.count; i++) {
        if (s.from >= span[i].to || span[i].from >= s.to)
            continue;
        taken->from = span[i].from < taken->from ? span[i].from : taken->from;
        taken->to = span[i].to > taken->to ? span[i].to : taken->to;
    }
    return taken->from < taken->to;
}

/* Complains of a time that is not sent, if there is any. */
static void complain_of(const char *path, uint64_t from, uint64_t to)
{
    const time_t seconds = (time_t)(from / 1000);
    char date[32];
    struct tm t;

    if (from >= to)
        return;
    (void)gmtime_r(&seconds, &t);
    (void)strftime(date, sizeof date, "%Y-%m-%d %H:%M:%S UTC", &t);
    tt_complain("push: %s: its %llu.%03u s from %s are not sent, because another part of "
                "it was: 'tallytree push' with this file sends it whole",
                path, (unsigned long long)((to - from) / 1000),
                (unsigned)((to - from) % 1000), date);
}

/* The rest of f->next is not sent. */
static void leave_rest(struct tt_follow *f)
{
    struct tt_dates taken;
    char path[PATH_MAX];

    (void)is_taken(f, f->next, &taken);
    tt_chain_name(path, sizeof path, f->folder, f->next);
    complain_of(path, f->next.from, taken.from);
    complain_of(path, taken.to, f->next.to);
    tt_follow_took(f);
}

/* Drops times before this one. */
static void forget_before(struct tt_follow *f, uint64_t first)
{
    struct tt_dates *span = f->span.item;
    size_t kept = 0;

    for (size_t i = 0; i < f->span.count; i++)
        if (span[i].to > first)
            span[kept++] = span[i];
    f->span.count = kept;
}

/* How much of a file's time is new? */
enum novelty { NOTHING, PART, ALL };

static enum novelty novelty_of(const struct tt_follow *f, struct tt_dates s)
{
    struct tt_dates taken;

    if (!is_taken(f, s, &taken))
        return ALL;
    return taken.from > s.from || taken.to < s.to ? PART : NOTHING;
}

/* The earliest one; of several, the one with the most. */
static int is_before(struct tt_dates a, struct tt_dates b)
{
    return a.from < b.from || (a.from == b.from && a.to > b.to);
}

int tt_follow_next(struct tt_follow *f, char path[PATH_MAX])
{
    DIR *d = opendir(f->folder);
    const struct dirent *e;
    struct tt_dates s;
    uint64_t first = UINT64_MAX;
    enum novelty most = NOTHING;

    while (d && (e = readdir(d))) {
        enum novelty n;
        if (!tt_chain_span(e->d_name, &s))
            continue;
        n = novelty_of(f, s);
        first = s.from < first ? s.from : first;
        if (n == NOTHING || n < most || (n == most && !is_before(s, f->next)))
            continue;
        f->next = s;
        most = n;
    }
    if (d)
        (void)closedir(d);
    if (first != UINT64_MAX)
        forget_before(f, first);
    if (most == PART)
        leave_rest(f);
    if (most == ALL)
        tt_chain_name(path, PATH_MAX, f->folder, f->next);
    return most == ALL;
}

void tt_follow_took(struct tt_follow *f)
{
    const struct tt_dates *span;
    char part[PATH_MAX];
    FILE *state;
    int failed = 0;

    (void)tt_vector_push(&f->span, &f->next);
    (void)snprintf(part, sizeof part, "%.4080s.part", f->state);
    state = fopen(part, "we");
    span = f->span.item;
    for (size_t i = 0; state && i < f->span.count; i++)
        failed |= fprintf(state, "%llu %llu\n", (unsigned long long)span[i].from,
                          (unsigned long long)span[i].to) < 0;
    if (state) {
        failed |= fflush(state) != 0 || fsync(fileno(state)) != 0;
        failed |= fclose(state) != 0;
    }
    if (state && !failed && rename(part, f->state) == 0) {
        (void)tt_queue_sync(f->queue);
        return;
    }
    tt_complain("push: %s: %s", f->state, strerror(errno));
    (void)unlink(part);
}
