/* SPDX-License-Identifier: MIT */
/* needs: internals */
/* damage-test.c - a recording cut off or overwritten anywhere is an error or a picture. */
#include <stdint.h>

#include "recorded.h"
#include "tallytree.h"
#include "tap.h"

static uint64_t dice_state = 1;

static uint32_t dice(uint32_t sides)
{
    dice_state = dice_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(dice_state >> 33) % sides;
}

/* ── A recording with something of everything ─────────────────────────────────────── */

static void wander(const tt_block *block, const tt_metric *metric, int depth)
{
    for (int i = 0; i < 5; i++) {
        tt_mark mark = tt_push(block[dice(12)]);
        tt_tick(dice(1000));
        tt_add(metric[dice(6)], dice(100));
        if (depth && dice(3))
            wander(block, metric, depth - 1);
        tt_pop(mark);
    }
}

static void record(const char *options)
{
    static const char *const names[] = {"a", "b", "c", "d",       "e", "f",
                                        "g", "h", "i", "a\tname", "",  "a"};
    tt_block block[12];
    tt_metric metric[6];
    char text[2] = "m";

    CHECK_INT(tt_start(options), 0);
    for (uint32_t i = 0; i < 12; i++)
        block[i] = tt_block_get(names[i], "file", i, 1);
    for (int i = 0; i < 6; i++) {
        text[0] = (char)('m' + i);
        metric[i] = tt_metric_get(text, "unit");
    }
    for (int i = 0; i < 30; i++)
        wander(block, metric, 4);
    tt_push(block[0]); /* open ones too */
    tt_push(block[1]);
}

/* ── Looking at all of a picture, as reports do ───────────────────────────────────── */

static uint64_t seen; /* what is read must not be optimised away */

static void see_metric(void *arg, const struct tt_metric_record *m, int elsewhere,
                       uint64_t n)
{
    (void)arg;
    seen += strnlen(m->name, sizeof m->name) + strnlen(m->unit, sizeof m->unit) + n +
            (unsigned)elsewhere;
}

static void see_slowest(const struct tt_picture *p, const struct tt_slowest *s)
{
    for (uint32_t i = 0; s && i < s->count && i < s->capacity; i++) {
        const struct tt_slow_row *row = (const void *)(p->image +
                                                       (size_t)s->slot[i].rows *
                                                           TT_CELL_SIZE);
        for (uint32_t j = 0; j < s->slot[i].count; j++)
            seen += row[j].block + row[j].parent + row[j].self;
    }
}

static void see_details(const struct tt_picture *p, uint32_t cell)
{
    const struct tt_histogram *h = tt_picture_extension(p, cell, TT_HISTOGRAM);
    const struct tt_history *history = tt_picture_extension(p, cell, TT_HISTORY);

    for (int i = 0; h && i < TT_HISTOGRAM_BINS; i++)
        seen += h->bin[i];
    for (uint64_t i = 0; history && i < history->capacity && i < history->count; i++)
        seen += history->ring[(history->count - 1 - i) % history->capacity].duration;
    see_slowest(p, tt_picture_extension(p, cell, TT_SLOWEST));
    tt_picture_metrics(p, cell, see_metric, NULL);
}

static void see_picture(const struct tt_picture *p)
{
    for (uint32_t i = 0; i < p->blocks; i++)
        seen += strlen(p->block[i].info.name) + strlen(p->block[i].info.module) +
                strlen(p->block[i].info.file) + (unsigned)p->block[i].info.kind;
    for (uint32_t i = 0; i < p->strands; i++)
        seen += strlen(p->strand[i]->name) + p->strand_first[i];
    for (uint32_t i = 0; i < p->contexts; i++) {
        const struct tt_picture_context *c = &p->context[i];
        if (c->parent != UINT32_MAX) /* parents come first: a way up always ends */
            seen += (uint64_t)CHECK(c->parent < i && c->block < p->blocks);
        seen += tt_times_deviation(&c->times) > 0;
        see_details(p, c->cell);
    }
    for (uint32_t i = 0; i < p->arcs; i++) {
        const struct tt_picture_arc *a = &p->arc[i];
        CHECK(a->from < p->contexts && a->to < p->contexts && a->block < p->blocks);
        see_details(p, a->cell);
    }
}

/* 1 when it could be read. */
static int look(const void *image, size_t size)
{
    struct tt_picture p;
    void *exact = malloc(size ? size : 1);
    int error;

    if (size)
        memcpy(exact, image, size);
    error = tt_picture_read(&p, exact, size, 0);
    if (!error)
        see_picture(&p);
    else
        CHECK(p.error[0] != '\0' && memchr(p.error, '\0', sizeof p.error));
    tt_picture_fini(&p);
    free(exact);
    return !error;
}

/* ── Damage ───────────────────────────────────────────────────────────────────────── */

static const char *const recordings[] = {
    ("exact,clock=caller,histogram,history=a:5,slowest=a:3,slowest=b,recursion=block,"
     "budget=384nodes,budget=512K"),
    "exact,clock=caller,histogram,history=a:5,slowest=a:3,slowest=b,budget=256K",
    "every=4,clock=caller,recursion=repeat:3,budget=192nodes",
    "exact,recursion=cycle,budget=128K",
};
enum { RECORDINGS = sizeof recordings / sizeof *recordings };

static char *make_image(int which, size_t *size)
{
    void *copy;
    char *image;

    record(recordings[which]);
    copy = tt_snapshot(size);
    image = malloc(*size);
    memcpy(image, copy, *size);
    munmap(copy, *size);
    CHECK_INT(tt_stop(), 0);
    CHECK(look(image, *size));
    return image;
}

TEST(the_recording_that_is_damaged_has_something_of_everything)
{
    size_t size;
    char *image = make_image(0, &size);
    struct tt_picture p;
    int found[5] = {0};

    if (CHECK_INT(tt_picture_read(&p, image, size, 0), 0)) {
        CHECK(p.arcs > 0);
        CHECK(p.strand[0]->evictions > 0);
        for (uint32_t i = 0; i < p.contexts; i++) {
            uint32_t cell = p.context[i].cell;
            found[0] |= tt_picture_extension(&p, cell, TT_HISTOGRAM) != NULL;
            found[1] |= tt_picture_extension(&p, cell, TT_HISTORY) != NULL;
            found[2] |= tt_picture_extension(&p, cell, TT_SLOWEST) != NULL;
            found[3] |= tt_picture_extension(&p, cell, TT_CELL_METRICS) != NULL;
            found[4] |= tt_picture_extension(&p, cell, TT_CELL_LOSS) != NULL;
        }
        for (int i = 0; i < 5; i++)
            CHECK_INT(found[i], 1);
    }
    tt_picture_fini(&p);
    free(image);
}

TEST(a_recording_cut_off_anywhere_is_an_error_or_a_picture)
{
    for (int i = 0; i < RECORDINGS; i++) {
        size_t size;
        char *image = make_image(i, &size);
        int pictures = 0;
        for (size_t cut = 0; cut < size; cut += 97)
            pictures += look(image, cut);
        CHECK_INT(pictures, 0);
        CHECK(look(image, size));
        free(image);
    }
}

/* Parts that are referred through are hit more often than strings and free pages. */
static size_t place(size_t size)
{
    switch (dice(4)) {
    case 0:
        return dice(sizeof(struct tt_header));
    case 1:
        return TT_HEADER_SIZE + dice(4096);
    default:
        return dice((uint32_t)size);
    }
}

static void damage(char *image, size_t size)
{
    static const uint32_t words[] = {0,          1,  UINT32_MAX, 0x7fffffff,
                                     0x80000000, 16, 0xffff};
    size_t at = place(size);
    uint32_t word;

    switch (dice(4)) {
    case 0:
        image[at] = (char)dice(256);
        break;
    case 1:
        image[at] = (char)(image[at] ^ 1 << dice(8));
        break;
    case 2: /* one word of the file in the place of another */
        memmove(image + at / 4 % (size / 4) * 4, image + dice((uint32_t)size / 4) * 4, 4);
        break;
    default:
        word = dice(2) ? words[dice(7)] : dice((uint32_t)size / 64);
        memcpy(image + at / 4 % (size / 4) * 4, &word, 4);
    }
}

TEST(a_recording_overwritten_anywhere_is_an_error_or_a_picture)
{
    int pictures = 0;

    for (int i = 0; i < RECORDINGS; i++) {
        size_t size;
        char *image = make_image(i, &size), *copy = malloc(size);
        for (int j = 0; j < 5000; j++) {
            memcpy(copy, image, size);
            for (uint32_t n = 1 + dice(dice(4) ? 2 : 40); n; n--)
                damage(copy, size);
            pictures += look(copy, dice(8) ? size : dice((uint32_t)size));
        }
        free(copy);
        free(image);
    }
    CHECK(pictures > 0);
    CHECK(pictures < 20000);
}

TEST(what_is_no_recording_is_an_error)
{
    char zeros[20000] = "", magic[20000] = "Tallytr\n";

    CHECK(!look(zeros, 0));
    CHECK(!look(zeros, sizeof zeros));
    CHECK(!look(magic, sizeof magic));
    memset(magic + 8, 0xff, sizeof magic - 8);
    CHECK(!look(magic, sizeof magic));
}
