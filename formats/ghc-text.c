/* SPDX-License-Identifier: MIT */
/* ghc-text.c - time profiles of GHC, as text (-p, -P, -pa): reading.
 *
 *      COST CENTRE  MODULE  SRC           no.  entries  %time %alloc   %time %alloc  ticks  bytes
 *
 *      MAIN         MAIN    <built-in>    148        0    0.0    0.0   100.0  100.0      0    832
 *       main        Main    P.hs:8:1-16   296        1    7.9   12.4   100.0  100.0     16  31221
 *
 * Names may have blanks, and old versions have no SRC: where columns begin is what the
 * heading says, and figures are counted from the right.  Ticks and bytes are there with -P
 * alone; else they are worked out of shares of a tenth of a percent. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ghc-prof.h"
#include "ghc-text.h"
#include "json-reader.h"
#include "naming.h"

enum { NUMBER, ENTRIES, TIME, ALLOC, ALL_TIME, ALL_ALLOC, TICKS, BYTES, MOST };
/* In percent; figures have one decimal. */
#define LARGEST 100.05

struct text {
    struct tt_ghc g;
    uint64_t ticks, bytes;       /* of all, as the file states them */
    double percent[2], whole[2]; /* the sum of their shares; what MAIN inherits */
    size_t module, place;        /* columns, in characters; place 0: there is none */
    int figures, has_heading;    /* how many a row has; are rows next */
    struct tt_vector open;       /* uint32_t: contexts */
};

/* ── The heading of the table ─────────────────────────────────────────────────── */

/* Takes the number after a text in a line, ignoring commas: 1, or 0. */
static int number_behind(const char *line, const char *what, uint64_t *n)
{
    const char *at = strstr(line, what);

    if (!at)
        return 0;
    at += strlen(what);
    at += strspn(at, " (=");
    if (*at < '0' || *at > '9')
        return 0;
    for (*n = 0; (*at >= '0' && *at <= '9') || *at == ','; at++)
        if (*at != ',' && (__builtin_mul_overflow(*n, 10, n) ||
                           __builtin_add_overflow(*n, (uint64_t)(*at - '0'), n)))
            return 0;
    return 1;
}

static void take_head(struct text *t, char *line)
{
    char *report = strstr(line, "Time and Allocation Profiling Report");
    const char *ticks = strstr(line, "secs");
    uint64_t n;

    if (report) {
        while (report > line && strchr(" \t", report[-1]))
            report--;
        *report = '\0';
        line += strspn(line, " \t");
        if (*line)
            tt_builder_fact(t->g.b, "date", TT_FACT_EACH, 1, line);
    } else if (strstr(line, "total time") && ticks) {
        (void)number_behind(ticks, "secs", &t->ticks);
        if (number_behind(ticks, "@", &n) && n && n <= 1000000000)
            t->g.tick = strstr(ticks, " ms") ? n * 1000000 : n * 1000;
    } else if (strstr(line, "total alloc")) {
        (void)number_behind(line, "total alloc", &t->bytes);
    } else if (strstr(line, "+RTS")) {
        tt_builder_fact(t->g.b, "program", TT_FACT_EACH, 1, line + strspn(line, " \t"));
    }
}

/* Returns how many characters there are before a place. */
static size_t column_of(const char *line, const char *place)
{
    size_t count = 0;

    for (; line < place; line++)
        count += ((unsigned char)*line & 0xc0) != 0x80;
    return count;
}

/* Takes the heading of the tree; only the tree's heading has the column of numbers. */
static int take_heading(struct text *t, const char *line)
{
    const char *module = strstr(line, "MODULE"), *number = strstr(line, " no. ");
    const char *place = strstr(line, "SRC");

    if (strncmp(line, "COST CENTRE", 11) != 0 || !module || !number)
        return 0;
    t->module = column_of(line, module);
    t->place = place ? column_of(line, place) : 0;
    t->figures = strstr(number, "ticks") && strstr(number, "bytes") ? MOST : TICKS;
    t->has_heading = 1;
    return 1;
}

/* ── Rows ─────────────────────────────────────────────────────────────────────────── */

/* Takes the figures off the end of a row; 1, or 0: there are none. */
static int take_figures(const struct text *t, char *line, double figure[MOST],
                        uint64_t whole[MOST])
{
    char *end = line + strlen(line), *word, *rest;

    for (int i = t->figures; i--;) {
        while (end > line && end[-1] == ' ')
            *--end = '\0';
        for (word = end; word > line && word[-1] != ' '; word--)
            ;
        if (word == end || word == line || *word < '0' || *word > '9')
            return 0;
        whole[i] = strtoull(word, &rest, 10);
        figure[i] = strtod(word, &rest);
        if (*rest)
            return 0;
        *word = '\0';
        end = word;
    }
    return 1;
}

/* Cuts a row at a column; returns where the next text begins. */
static char *cut_at(char *line, size_t column)
{
    char *at = line, *end;

    for (; *at && (column || ((unsigned char)*at & 0xc0) == 0x80); at++)
        column -= ((unsigned char)*at & 0xc0) != 0x80;
    if (at > line && *at && at[-1] != ' ') /* the text is longer than the column: cut at
                                              the next blank */
        at += strcspn(at, " ");
    for (end = at; end > line && end[-1] == ' '; end--)
        ;
    at += strspn(at, " ");
    if (end < at)
        *end = '\0';
    return at;
}

static void trim(char *text)
{
    for (char *end = text + strlen(text); end > text && end[-1] == ' ';)
        *--end = '\0';
}

static uint64_t share_of(double percent, uint64_t all)
{
    double part = percent / 100 * (double)all + 0.5;

    return part < (double)UINT64_MAX ? (uint64_t)part : all;
}

/* Is it all there?  Rows have shares, each of which is rounded to a tenth of a percent, or
 * also their figures, whose sums are stated. */
static int check_whole(const struct text *t, int rows)
{
    const uint64_t found[] = {t->g.time.total / t->g.tick, t->g.bytes.total};
    const uint64_t stated[] = {t->ticks, t->bytes};

    for (int i = 0; i < 2; i++)
        if (t->figures == MOST ? found[i] < stated[i]
                               : t->percent[i] < t->whole[i] - 0.051 * (rows + 1))
            return tt_source_fail(t->g.s,
                                  "the file was cut off: its rows have less %s than it "
                                  "states in all",
                                  i ? "memory" : "time");
    return 0;
}

static int take_row(struct text *t, char *line)
{
    double figure[MOST] = {0};
    uint64_t whole[MOST] = {0}, ticks, bytes;
    size_t depth = strspn(line, " ");
    uint32_t context = TT_BUILDER_ROOT, block, *open = t->open.item;
    char none[] = "", *module, *place = none;

    if (!take_figures(t, line, figure, whole))
        return tt_source_fail(t->g.s, "a row ends in %d figures", t->figures);
    if (figure[TIME] > LARGEST || figure[ALLOC] > LARGEST)
        return tt_source_fail(t->g.s, "a share is larger than the whole");
    if (depth > t->open.count)
        return tt_source_fail(t->g.s, "a row is indented by more than one behind the one "
                                      "before it");
    t->open.count = depth;
    if (t->place)
        place = cut_at(line, t->place);
    trim(place);
    module = cut_at(line, t->module);
    trim(module);
    block = tt_ghc_block(&t->g, line + depth, module, place);
    if (depth || strcmp(line, "MAIN") != 0 || strcmp(module, "MAIN") != 0)
        context = tt_builder_context(t->g.b, depth ? open[depth - 1] : TT_BUILDER_ROOT,
                                     block);
    if (context == TT_NONE || tt_vector_push(&t->open, &context) != 0)
        return tt_source_no_memory(t->g.s);
    for (int i = 0; i < 2; i++) {
        t->percent[i] += figure[TIME + i];
        if (context == TT_BUILDER_ROOT)
            t->whole[i] = figure[ALL_TIME + i];
    }
    ticks = t->figures == MOST ? whole[TICKS] : share_of(figure[TIME], t->ticks);
    bytes = t->figures == MOST ? whole[BYTES] : share_of(figure[ALLOC], t->bytes);
    return tt_ghc_add(&t->g, context, whole[ENTRIES], bytes, ticks);
}

/* Takes a line.  1: it is the empty line after the rows, which ends them. */
static int take_line(struct text *t, char *line, int *rows)
{
    if (!t->has_heading) {
        if (!take_heading(t, line))
            take_head(t, line);
        return 0;
    }
    if (!line[strspn(line, " \t")])
        return *rows > 0;
    ++*rows;
    return take_row(t, line);
}

static int read_rows(struct text *t)
{
    size_t length;
    char *line;
    int rows = 0, error = 0;

    while (!error && (error = tt_source_line(t->g.s, &line, &length)) > 0)
        error = take_line(t, line, &rows);
    if (error < 0)
        return error;
    if (!rows)
        return tt_source_fail(t->g.s, "there is no table of stacks in it");
    error = check_whole(t, rows);
    if (error)
        return error;
    if (t->figures != MOST)
        tt_builder_fact(t->g.b, "figures", TT_FACT_EACH, 1, "from shares of 0.1 %");
    tt_ghc_finish(&t->g);
    return 0;
}

int tt_ghc_read_text(struct tt_source *s, struct tt_builder *b)
{
    struct text t = {0};

    tt_ghc_init(&t.g, s, b);
    tt_vector_init(&t.open, s->memory, sizeof(uint32_t));
    return read_rows(&t);
}
