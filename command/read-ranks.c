/* SPDX-License-Identifier: MIT */
/* read-ranks.c - files that several ranks read.
 *
 * Of N ranks, each reads every Nth file.  The profiles are merged along the tree of tallytree-mpi.c:
 *
 *      0 ◀─ 1      2 ◀─ 3      4 ◀─ 5      6 ◀─ 7
 *      0 ◀──────── 2           4 ◀──────── 6
 *      0 ◀──────────────────── 4
 *
 * A part is two files: the profile, and what came of the files that have none in it, so that rank 0 says
 * of them what one process would say. */
#include "read-ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "add-profile.h"
#include "command.h"
#include "complain.h"
#include "finish.h"
#include "index.h"
#include "progress.h"
#include "scratch.h"
#include "sorted.h"
#include "summary.h"

/* Why a round is in vain; if there are several, the last one counts. */
enum vain { USEFUL, MANY, ALONE };

/* A file that is not in the profile. */
struct odd {
    uint64_t file;
    uint32_t outcome, reason; /* enum tt_outcome; the number of its text, from 1 */
};

struct reason {
    char text[TT_READING_REASON];
};

/* What a rank passes on; the odd ones and the reasons follow. */
struct part {
    uint64_t files, list; /* all of them: their number, and a hash of their paths */
    uint32_t vain, recordings, formats, taken;
    uint64_t odd, reasons;
};

struct share {
    struct tt_files_read *r;
    const struct tt_file_list *l;
    struct part sum;              /* of this rank and those below it */
    struct tt_vector odd, reason; /* struct odd, struct reason */
};

static void give_up(struct share *s, uint32_t why)
{
    if (s->sum.vain < why)
        s->sum.vain = why;
    tt_ranks_stop(s->r->ranks);
}

static int fail(const struct share *s, const char *why)
{
    tt_ranks_fail(s->r->ranks, why);
    return -TT_ERR_FILE;
}

/* ── This rank's files ────────────────────────────────────────────────────────────── */

static int add_odd(struct share *s, uint64_t file, uint32_t outcome, const char *text)
{
    struct odd *o = tt_vector_add(&s->odd, 1);
    struct reason *reason = text && s->reason.count < TT_READING_NAMED
                                ? tt_vector_add(&s->reason, 1)
                                : NULL;

    if (!o)
        return fail(s, tt_error_text(-TT_ERR_MEMORY));
    *o = (struct odd){.file = file, .outcome = outcome};
    if (reason) {
        (void)snprintf(reason->text, sizeof reason->text, "%s", text);
        o->reason = (uint32_t)s->reason.count;
    }
    return 0;
}

static int check(struct share *s, const char *path)
{
    char said[TT_READING_REASON] = "";
    struct tt_complaints before = tt_complain_into(
        (struct tt_complaints){said, sizeof said});
    const int error = tt_reading_check(s->r, path);

    (void)tt_complain_into(before);
    if (error == TT_READING_MANY)
        give_up(s, MANY);
    else if (error && tt_builder_wrong_sums(s->r->b))
        give_up(s, ALONE); /* one process says at which file */
    else if (error)
        return fail(s, said);
    return 0;
}

static int read_one(struct share *s, uint64_t i)
{
    const struct tt_list_file *f = (const struct tt_list_file *)s->l->file.item + i;
    char said[TT_READING_REASON] = "", reason[TT_READING_REASON] = "";
    struct tt_complaints before = tt_complain_into(
        (struct tt_complaints){said, sizeof said});
    enum tt_outcome outcome = TT_TAKEN;
    int error = f->is_named
                    ? tt_reading_named(s->r, f->path)
                    : tt_reading_member(s->r, f->path, reason, sizeof reason, &outcome);

    (void)tt_complain_into(before);
    if (error)
        return fail(s, said);
    return outcome == TT_TAKEN
               ? check(s, f->path)
               : add_odd(s, i, outcome, outcome == TT_UNREADABLE ? reason : NULL);
}

static int read_share(struct share *s)
{
    enum { PAUSE = 100000000 }; /* ns between two looks at what the others say */
    const struct tt_ranks *ranks = s->r->ranks;
    struct timespec t;
    int64_t at, next = 0;
    int error = 0;

    for (uint64_t i = ranks->rank; !error && !s->sum.vain && i < s->l->file.count;
         i += ranks->size) {
        clock_gettime(CLOCK_MONOTONIC, &t);
        at = t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
        if (at >= next && tt_ranks_is_stopped(ranks))
            break;
        next = at >= next ? at + PAUSE : next;
        error = read_one(s, i);
    }
    return error;
}

/* ── Those of other ranks ─────────────────────────────────────────────────────────── */

static int is_whole(const struct part *p, size_t size)
{
    const size_t rest = size - sizeof *p;

    return size >= sizeof *p && p->odd <= rest / sizeof(struct odd) &&
           p->reasons <= rest / sizeof(struct reason) &&
           p->odd * sizeof(struct odd) + p->reasons * sizeof(struct reason) == rest;
}

static int add_odds(struct share *s, const struct part *p)
{
    const struct odd *from = (const struct odd *)(p + 1);
    const struct reason *text = (const struct reason *)(from + p->odd);
    const uint32_t before = (uint32_t)s->reason.count;
    struct odd *o = p->odd ? tt_vector_add(&s->odd, p->odd) : NULL;
    struct reason *reason = p->reasons ? tt_vector_add(&s->reason, p->reasons) : NULL;

    if ((p->odd && !o) || (p->reasons && !reason))
        return fail(s, tt_error_text(-TT_ERR_MEMORY));
    for (uint64_t i = 0; i < p->odd; i++) {
        if (from[i].file >= p->files || from[i].reason > p->reasons)
            return fail(s, "what another rank has written cannot be read");
        o[i] = from[i];
        o[i].reason += from[i].reason ? before : 0;
    }
    for (uint64_t i = 0; i < p->reasons; i++) {
        reason[i] = text[i];
        reason[i].text[sizeof reason[i].text - 1] = '\0';
    }
    return 0;
}

static int add_profile(struct share *s, unsigned child)
{
    struct tt_profile p;
    size_t size = 0;
    void *image;
    int error = tt_ranks_get(s->r->ranks, "profile", child, &image, &size);

    if (error)
        return error;
    error = tt_profile_open(&p, image, size, &tt_scratch);
    if (!error) {
        error = tt_profile_check(&p);
        error = error ?: tt_builder_profile(s->r->b, &p);
        tt_profile_close(&p);
    }
    munmap(image, size);
    return error ? fail(s, tt_error_text(error)) : check(s, "all files");
}

static int add_part(struct share *s, const struct part *p, unsigned child)
{
    char text[160];
    int error;

    if (p->files != s->sum.files || p->list != s->sum.list) {
        (void)snprintf(
            text, sizeof text,
            "it finds other files than rank %u (%llu, and %llu there): all ranks "
            "have to see the same folders",
            child, (unsigned long long)s->sum.files, (unsigned long long)p->files);
        return fail(s, text);
    }
    error = add_odds(s, p);
    s->sum.recordings |= p->recordings;
    s->sum.formats |= p->formats;
    s->sum.taken += p->taken;
    s->r->taken += p->taken;
    if (p->vain)
        give_up(s, p->vain);
    return error || s->sum.vain || !p->taken ? error : add_profile(s, child);
}

static int take(struct share *s, unsigned child)
{
    size_t size = 0;
    void *part;
    int error = tt_ranks_get(s->r->ranks, "part", child, &part, &size);

    if (error)
        return error;
    error = is_whole(part, size)
                ? add_part(s, part, child)
                : fail(s, "what another rank has written cannot be read");
    munmap(part, size);
    return error;
}

static int take_all(struct share *s)
{
    const struct tt_ranks *ranks = s->r->ranks;
    int error = 0;

    for (unsigned bit = 1; !error && bit < ranks->size && !(ranks->rank & bit); bit <<= 1)
        if (ranks->rank + bit < ranks->size)
            error = take(s, ranks->rank + bit);
    return error;
}

/* ── Passing on ───────────────────────────────────────────────────────────────────── */

static int give_profile(struct share *s)
{
    size_t size = 0;
    void *image = NULL;
    int error = tt_builder_finish(s->r->b, &image, &size);

    if (error)
        return fail(s, tt_error_text(error));
    error = tt_ranks_put(s->r->ranks, "profile", image, size);
    tt_memory_put(&tt_scratch, image);
    return error;
}

static int give_part(struct share *s)
{
    const size_t odd = s->odd.count * sizeof(struct odd),
                 reasons = s->reason.count * sizeof(struct reason);
    const size_t size = sizeof s->sum + odd + reasons;
    char *bytes = malloc(size);
    int error;

    if (!bytes)
        return fail(s, tt_error_text(-TT_ERR_MEMORY));
    s->sum.odd = s->odd.count;
    s->sum.reasons = s->reason.count;
    memcpy(bytes, &s->sum, sizeof s->sum);
    if (odd)
        memcpy(bytes + sizeof s->sum, s->odd.item, odd);
    if (reasons)
        memcpy(bytes + sizeof s->sum + odd, s->reason.item, reasons);
    error = tt_ranks_put(s->r->ranks, "part", bytes, size);
    free(bytes);
    return error;
}

static int give(struct share *s)
{
    char said[TT_READING_REASON] = "";
    struct tt_complaints before;
    int error = 0;

    /* How several files of one strand spread is not kept in a profile of that strand alone. */
    if (s->r->how & TT_INPUT_SUMMARY && s->sum.taken > 1 &&
        tt_builder_strands(s->r->b) == 1)
        give_up(s, ALONE);
    before = tt_complain_into((struct tt_complaints){said, sizeof said});
    if (!s->sum.vain && s->sum.taken)
        error = give_profile(s);
    error = error ?: give_part(s);
    (void)tt_complain_into(before);
    if (error && said[0])
        return fail(s, said);
    if (error || !tt_ranks_wait(s->r->ranks))
        return -TT_ERR_STATE;
    return TT_READING_MANY;
}

/* ── At rank 0 ────────────────────────────────────────────────────────────────────── */

static int by_file(const void *a, const void *b)
{
    const uint64_t x = ((const struct odd *)a)->file, y = ((const struct odd *)b)->file;

    return TT_ORDER(x, y);
}

/* Notes what came of each file, in the order of reading. */
static void note_all(struct share *s)
{
    const struct tt_list_file *f = s->l->file.item;
    const struct reason *reason = s->reason.item;
    struct tt_files_read *r = s->r;
    struct odd *o = s->odd.item;
    size_t at = 0;

    tt_vector_sort(&s->odd, by_file);
    for (r->at = 0; r->at < s->l->file.count; r->at++) {
        const struct odd *here = at < s->odd.count && o[at].file == r->at ? &o[at++]
                                                                          : NULL;
        if (!f[r->at].is_named)
            tt_reading_note(r, f[r->at].path,
                            here ? (enum tt_outcome)here->outcome : TT_TAKEN,
                            here && here->reason ? reason[here->reason - 1].text : "");
    }
}

static int conclude(struct share *s, int *again)
{
    struct tt_files_read *r = s->r;

    *again = s->sum.vain == ALONE;
    if (*again) {
        r->ranks = NULL;
        return 0;
    }
    if (s->sum.vain == MANY)
        return tt_ranks_repeat(r->ranks) == 0 ? TT_READING_MANY : -TT_ERR_FILE;
    r->recordings |= (int)s->sum.recordings;
    r->formats |= s->sum.formats;
    note_all(s);
    return 0;
}

/* ── The whole ────────────────────────────────────────────────────────────────────── */

static uint64_t hash(const struct tt_file_list *l)
{
    const struct tt_list_file *f = l->file.item;
    uint64_t h = l->file.count;

    for (size_t i = 0; i < l->file.count; i++)
        h = tt_mix(h, tt_hash(f[i].path, strlen(f[i].path)));
    return h;
}

static int read_and_take(struct share *s)
{
    struct tt_files_read *r = s->r;
    int error = 0;

    if (r->once)
        give_up(s, ALONE);
    else
        error = read_share(s);
    s->sum.recordings = (uint32_t)r->recordings;
    s->sum.formats = r->formats;
    s->sum.taken = r->taken;
    return error ?: take_all(s);
}

int tt_read_by_ranks(struct tt_files_read *r, const struct tt_file_list *l, int *again)
{
    struct share s = {.r = r, .l = l, .sum = {.files = l->file.count, .list = hash(l)}};
    int error;

    tt_progress_stop();
    tt_vector_init(&s.odd, &tt_scratch, sizeof(struct odd));
    tt_vector_init(&s.reason, &tt_scratch, sizeof(struct reason));
    error = read_and_take(&s);
    if (r->ranks->rank)
        error = error ? -TT_ERR_STATE : give(&s);
    else if (tt_ranks_failure(r->ranks) != 0 || error)
        error = -TT_ERR_FILE;
    else
        error = conclude(&s, again);
    tt_vector_fini(&s.odd);
    tt_vector_fini(&s.reason);
    return error;
}
