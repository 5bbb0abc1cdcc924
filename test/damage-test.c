/* SPDX-License-Identifier: MIT */
/* needs: internals */
/* damage-test.c - a recording cut off or overwritten anywhere is an error or a picture. */
#include <stdint.h>

#include "figures.h"
#include "recorded.h"
#include "rows.h"
#include "see-picture.h"
#include "series.h"
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

static void make_objects(void)
{
    tt_type type = tt_type_get("pair");
    tt_context at = tt_alloc(type, 16, 8);

    tt_gc_begin(0);
    tt_survive(at, type, 16, 8, 0, 1);
    tt_gc_end();
    for (uint64_t id = 1; id < 40; id++) {
        tt_tick(1000);
        (void)tt_object_new(id, type, 1000 * id, 0);
        if (id % 3 == 0)
            tt_object_free(id / 2);
        tt_free(tt_alloc(type, 500, 12), type, 500, 12, TT_AGE(id % 8));
    }
    CHECK(tt_band_shared(tt_recording, tt_space_record(tt_recording), TT_BAND_TYPE, type,
                         10) != NULL); /* an allocator's */
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
    make_objects();
    for (int i = 0; i < 30; i++)
        wander(block, metric, 4);
    tt_push(block[0]); /* open ones too */
    tt_push(block[1]);
}

/* ── Looking at it ────────────────────────────────────────────────────────────────── */

/* Returns 1 if it could be read; `live`: as a copy of a file that is being written. */
static int look_as(const void *image, size_t size, int live)
{
    struct tt_picture p;
    void *exact = malloc(size ? size : 1);
    int error;

    if (size)
        memcpy(exact, image, size);
    error = tt_picture_read(&p, exact, size, live);
    if (!error)
        CHECK(see_picture(&p));
    else
        CHECK(p.error[0] != '\0' && memchr(p.error, '\0', sizeof p.error));
    tt_picture_fini(&p);
    free(exact);
    return !error;
}

static int look(const void *image, size_t size) { return look_as(image, size, 0); }

/* ── Damage ───────────────────────────────────────────────────────────────────────── */

static const char *const recordings[] = {
    ("exact,clock=caller,histogram,history=a:5,slowest=a:3,slowest=b,recursion=block,"
     "budget=384nodes,budget=512K"),
    "exact,clock=caller,histogram,history=a:5,slowest=a:3,slowest=b,budget=256K",
    "every=4,clock=caller,recursion=repeat:3,budget=192nodes",
    "exact,recursion=cycle,budget=128K",
    "exact,clock=caller,budget=512K,space=alloc+copies+types,series=type+block",
};
enum { RECORDINGS = sizeof recordings / sizeof *recordings, CASES = TAP_CASES(5000) };

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
        for (int j = 0; j < tap_times(CASES); j++) {
            memcpy(copy, image, size);
            for (uint32_t n = 1 + dice(dice(4) ? 2 : 40); n; n--)
                damage(copy, size);
            pictures += look_as(copy, dice(8) ? size : dice((uint32_t)size), j % 4 == 0);
        }
        free(copy);
        free(image);
    }
    CHECK(pictures > 0);
    CHECK(pictures < RECORDINGS * tap_times(CASES));
}

/* The first record or series of its kind. */
static void *first_page(char *image, uint32_t type)
{
    const struct tt_header *h = (const struct tt_header *)(void *)image;
    const uint32_t *map = (const uint32_t *)(void *)(image + h->map);
    uint32_t page = 0;

    while (page < h->used && (map[page] & 0xff) != type)
        page++;
    return page < h->used ? image + h->first + (size_t)page * TT_PAGE_SIZE : NULL;
}

TEST(a_text_without_an_end_is_an_error)
{
    size_t size;
    char *image = make_image(0, &size);
    struct tt_header *h = (struct tt_header *)(void *)image;
    char *const text[] = {h->program, h->host, h->source, h->metric[TT_METRICS_MAX].unit};
    const size_t room[] = {sizeof h->program, sizeof h->host, sizeof h->source,
                           TT_NAME_SIZE};

    for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
        char kept[sizeof h->program];
        memcpy(kept, text[i], room[i]);
        memset(text[i], 'x', room[i]);
        CHECK(!look(image, size));
        memcpy(text[i], kept, room[i]);
    }
    CHECK(look(image, size));
    free(image);
}

TEST(a_change_that_is_carried_out_late_is_checked_as_all_else)
{
    size_t size;
    char *image = make_image(RECORDINGS - 1, &size);
    struct tt_strand_record *strand = first_page(image, TT_PAGE_STRAND);
    char *band = first_page(image, TT_PAGE_BAND);

    if (CHECK(strand && band)) {
        strand->redo.where[0] = (uint32_t)(band - image) / 8 + 1; /* its `next` */
        strand->redo.value[0] = 0x7fffffff;
        CHECK(look(image, size));
        strand->redo.count = 1;
        CHECK(!look(image, size));
    }
    free(image);
}

/* As a reader may see it while it is being written. */
static uint32_t take_names_away(char *image)
{
    const struct tt_header *h = (const struct tt_header *)(void *)image;
    const uint32_t *map = (const uint32_t *)(void *)(image + h->map);
    uint32_t blocks = 0;

    for (uint32_t page = 0; page < h->used; page++) {
        struct tt_block_record *r = (void *)(image + h->first +
                                             (size_t)page * TT_PAGE_SIZE);
        for (uint32_t i = 0; (map[page] & 0xff) == TT_PAGE_BLOCK && i < TT_PAGE_CELLS;
             i++)
            if (r[i].id) {
                r[i].name = 1;
                blocks++;
            }
    }
    return blocks;
}

TEST(a_root_goes_without_what_is_not_there_yet)
{
    size_t size;
    char *image = make_image(0, &size);
    const struct tt_strand_record *strand = first_page(image, TT_PAGE_STRAND);
    struct tt_node *root = (void *)(image + (size_t)strand->root * TT_CELL_SIZE);

    root->extension = UINT32_MAX;
    CHECK(!look_as(image, size, 0));
    CHECK(look_as(image, size, 1));
    free(image);
}

TEST(a_block_whose_name_is_not_there_yet_has_none_but_a_place)
{
    struct tt_picture p;
    size_t size;
    char *image = make_image(0, &size);
    uint32_t blocks = take_names_away(image);

    CHECK_INT(tt_picture_read(&p, image, size, 0), -TT_ERR_FORMAT);
    tt_picture_fini(&p);
    CHECK_INT(tt_picture_read(&p, image, size, 1), 0);
    CHECK(blocks > 12);
    CHECK_INT(p.blocks, blocks);
    for (uint32_t i = 0; i < p.blocks; i++) {
        CHECK_STR(p.block[i].info.name, "");
        CHECK(p.block[i].info.file && p.block[i].info.module);
    }
    tt_picture_fini(&p);
    free(image);
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
