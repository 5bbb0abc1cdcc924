/* SPDX-License-Identifier: MIT */
/* hp.c - the heap over time, as GHC writes it for hp2ps: reading and writing.
 *
 *      JOB "app +RTS -hc"
 *      DATE "Sat Nov 21 10:00 2026"
 *      SAMPLE_UNIT "seconds"
 *      VALUE_UNIT "bytes"
 *      BEGIN_SAMPLE 0.1
 *      (54)sort/main<TAB>12345
 *      END_SAMPLE 0.1
 *
 * All samples are points of one series; the largest is the profile.  A label that begins
 * with a number in brackets is a stack of cost centres, leaf first.  A program that ends
 * early leaves its last sample unfinished: that one is left out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats.h"
#include "heap-figures.h"
#include "json-reader.h"
#include "naming.h"

struct part {     /* of a sample */
    size_t label; /* in the text */
    uint64_t amount;
};

struct hp {
    struct tt_source *s;
    struct tt_builder *b;
    struct tt_heap_profile heap;
    char unit[32], clock[32];
    uint32_t series;
    struct tt_vector now, best, text, best_text; /* struct part; char */
    uint64_t time, last, total, most;
    int is_open, samples, has_time;
    uint64_t lost;
};

static int starts(const char *line, const char *word)
{
    return strncmp(line, word, strlen(word)) == 0;
}

/* Is this the last line?  Then it may be unfinished. */
static int is_at_end(struct hp *h) { return tt_source_want(h->s, 1) == 0; }

/* Takes the text in quotes after a keyword. */
static int take_text(struct hp *h, char *line, char **text)
{
    char *from = strchr(line, '"'), *to = strrchr(line, '"');

    if (!from || from == to)
        return tt_source_fail(h->s, "a text in quotes is due");
    *to = '\0';
    *text = from + 1;
    return 0;
}

/* ── Samples ──────────────────────────────────────────────────────────────────────── */

static int begin_sample(struct hp *h, const char *text)
{
    int64_t time;

    text += strspn(text, " \t");
    if (h->is_open)
        return tt_source_fail(h->s, "a sample begins within another");
    if (!tt_decimal(text, h->clock[0] ? 0 : 9, &time) || time < 0)
        return tt_source_fail(h->s, "'%.40s' is no time", text);
    /* Samples of the same time would be added up. */
    h->time = h->has_time && (uint64_t)time <= h->last ? h->last + 1 : (uint64_t)time;
    h->has_time = h->is_open = 1;
    h->now.count = h->text.count = 0;
    h->total = 0;
    return 0;
}

static void swap(struct tt_vector *a, struct tt_vector *b)
{
    struct tt_vector other = *a;

    *a = *b;
    *b = other;
}

static int end_sample(struct hp *h)
{
    const struct part *p = h->now.item;

    if (!h->is_open)
        return tt_source_fail(h->s, "no sample has begun");
    if (h->series == TT_NONE)
        h->series = tt_builder_series(h->b, "heap", h->unit, "kind", 0);
    for (size_t i = 0; i < h->now.count; i++)
        tt_builder_point(h->b, h->series, (const char *)h->text.item + p[i].label,
                         h->time, p[i].amount);
    if (!h->now.count)
        tt_builder_point(h->b, h->series, "", h->time, 0);
    h->is_open = 0;
    h->last = h->time;
    h->samples++;
    if (h->total <= h->most)
        return 0;
    h->most = h->total;
    swap(&h->now, &h->best);
    swap(&h->text, &h->best_text);
    return 0;
}

/* "label<TAB>12345" */
static int take_part(struct hp *h, char *line)
{
    char *tab = strrchr(line, '\t');
    int64_t amount;
    struct part part;
    size_t length;

    if (!tab || tab == line || !tt_decimal(tab + 1, 0, &amount) || amount < 0)
        return tt_source_fail(h->s, "a line of a sample is a label, a tab and a number");
    length = (size_t)(tab - line);
    if (__builtin_add_overflow(h->total, (uint64_t)amount, &h->total))
        return tt_source_fail(h->s, TT_TOO_MUCH);
    part = (struct part){tt_vector_text(&h->text, line, length), (uint64_t)amount};
    return part.label == TT_NO_PLACE ? tt_source_no_memory(h->s)
                                     : tt_source_append(h->s, &h->now, &part);
}

/* ── The sample that is the profile ───────────────────────────────────────────────── */

/* Returns where the names of "(54)leaf/caller/..." begin; NULL: it is a single name. */
static const char *stack_of(const char *label)
{
    const char *c = label;

    if (*c++ != '(' || *c < '0' || *c > '9')
        return NULL;
    c += strspn(c, "0123456789");
    return *c == ')' && c[1] ? c + 1 : NULL;
}

static uint32_t context_of(struct hp *h, const char *label)
{
    const char *stack = stack_of(label), *end, *slash;
    uint32_t context = TT_BUILDER_ROOT;

    if (!stack)
        return tt_builder_context(h->b, context,
                                  tt_frames_block(&h->heap.names, label, strlen(label)));
    for (end = stack + strlen(stack);; end = slash) { /* the outermost one is last */
        for (slash = end; slash > stack && slash[-1] != '/'; slash--)
            ;
        context = tt_builder_context(
            h->b, context, tt_frames_block(&h->heap.names, slash, (size_t)(end - slash)));
        if (slash == stack)
            return context;
        slash--;
    }
}

static int add_best(struct hp *h)
{
    const struct part *p = h->best.item;
    int error = 0;

    for (size_t i = 0; !error && i < h->best.count; i++)
        error = tt_heap_add(&h->heap, TT_HEAP_PEAK_BYTES,
                            context_of(h, (const char *)h->best_text.item + p[i].label),
                            p[i].amount);
    if (error)
        return error;
    tt_heap_finish(&h->heap, NULL);
    if (h->clock[0])
        tt_heap_clock(h->b, h->clock);
    else
        tt_builder_fact(h->b, "lasted", TT_FACT_MAX, h->last, "");
    if (h->lost)
        tt_builder_fact(h->b, "lost.samples", TT_FACT_SUM, h->lost, "");
    return 0;
}

/* ── The file ─────────────────────────────────────────────────────────────────────── */

static int take_head(struct hp *h, char *line)
{
    char *text = line;
    int error = take_text(h, line, &text);

    if (error)
        return error;
    if (starts(line, "JOB"))
        tt_builder_fact(h->b, "program", TT_FACT_EACH, 1, text);
    else if (starts(line, "DATE"))
        tt_builder_fact(h->b, "date", TT_FACT_EACH, 1, text);
    else if (starts(line, "VALUE_UNIT"))
        (void)snprintf(h->unit, sizeof h->unit, "%s", text);
    else if (strcmp(text, "seconds") != 0)
        (void)snprintf(h->clock, sizeof h->clock, "%s", text);
    return 0;
}

static int take_line(struct hp *h, char *line)
{
    static const char *const heads[] = {"JOB ", "DATE ", "SAMPLE_UNIT ", "VALUE_UNIT "};

    if (!*line)
        return 0;
    if (starts(line, "BEGIN_SAMPLE "))
        return begin_sample(h, line + 13);
    if (starts(line, "END_SAMPLE "))
        return end_sample(h);
    if (h->is_open)
        return take_part(h, line);
    if (starts(line, "MARK "))
        return 0;
    for (int i = 0; i < 4; i++)
        if (starts(line, heads[i]))
            return take_head(h, line);
    return tt_source_fail(h->s, "this is no sample, and no line of a head");
}

static int read_lines(struct hp *h)
{
    size_t length;
    char *line;
    int error = 0;

    while (!error && (error = tt_source_line(h->s, &line, &length)) > 0) {
        error = take_line(h, line);
        if (error == -TT_ERR_FORMAT && h->has_time && is_at_end(h)) {
            h->is_open = 1; /* that line is unfinished */
            tt_source_forgive(h->s);
            error = 0;
        }
    }
    if (!error && !h->has_time)
        error = tt_source_fail(h->s, "there is no sample in it");
    h->lost = h->is_open != 0;
    return error ?: add_best(h);
}

static int read_hp(struct tt_source *s, struct tt_builder *b)
{
    struct hp h = {.s = s, .b = b, .unit = "bytes", .series = TT_NONE};

    tt_heap_init(&h.heap, s, b);
    tt_vector_init(&h.now, s->memory, sizeof(struct part));
    tt_vector_init(&h.best, s->memory, sizeof(struct part));
    tt_vector_init(&h.text, s->memory, 1);
    tt_vector_init(&h.best_text, s->memory, 1);
    return read_lines(&h);
}

/* ── Writing ──────────────────────────────────────────────────────────────────────── */

/* Chooses the series that was asked for, or the one with the name of the metric ("heap"
 * if none was asked for), or else the first; TT_NONE: none. */
static uint32_t choose_series(const struct tt_export *e)
{
    const struct tt_profile *p = e->profile;
    const char *name = e->metric == TT_NONE ? "heap" : p->metric[e->metric].name;
    uint32_t series = e->series ? e->series - 1 : tt_series_find(p, name);

    return series == TT_NONE && p->many_series ? 0 : series;
}

/* A text within quotes, or a label before a tab. */
static void put_plain(struct tt_writer *w, const char *text)
{
    for (; *text; text++)
        tt_put_char(w, (unsigned char)*text < ' ' || *text == '"' ? '\'' : *text);
}

static void put_head(const struct tt_profile *p, uint32_t series, struct tt_writer *w)
{
    const char *program = tt_profile_program(p), *date = tt_fact_text(p, "date");
    const char *clock = tt_fact_text(p, TT_SERIES_CLOCK);
    const char *unit = tt_profile_string(p, p->series[series].unit);

    tt_put(w, "JOB \"");
    put_plain(w, program ? program : "");
    tt_put(w, "\"\nDATE \"");
    put_plain(w, date ? date : "");
    tt_put(w, "\"\nSAMPLE_UNIT \"");
    put_plain(w, clock ? clock : "seconds");
    tt_put(w, "\"\nVALUE_UNIT \"");
    put_plain(w, *unit ? unit : "number");
    tt_put(w, "\"\n");
}

static void put_time(struct tt_writer *w, const char *word, uint64_t time, int is_clock)
{
    if (is_clock)
        tt_putf(w, "%s %llu\n", word, (unsigned long long)time);
    else if (time % 1000)
        tt_putf(w, "%s %llu.%09llu\n", word, (unsigned long long)time / 1000000000,
                (unsigned long long)time % 1000000000);
    else
        tt_putf(w, "%s %llu.%06llu\n", word, (unsigned long long)time / 1000000000,
                (unsigned long long)time % 1000000000 / 1000);
}

/* Writes a label; hp2ps expects a word that is not a number. */
static void put_label(struct tt_writer *w, const char *label)
{
    if (!*label)
        tt_put(w, "(all)");
    else if ((*label >= '0' && *label <= '9') || *label == '"')
        tt_put_char(w, '_');
    for (; *label; label++)
        tt_put_char(w, (unsigned char)*label <= ' ' ? '_' : *label);
}

static int write_hp(struct tt_export *e, struct tt_writer *w)
{
    const struct tt_profile *p = e->profile;
    uint32_t series = choose_series(e);
    int is_clock = tt_fact_text(p, TT_SERIES_CLOCK) != NULL;
    size_t i = 0, next;

    if (series == TT_NONE) {
        (void)snprintf(e->error, sizeof e->error,
                       "there is no series in it, and this format is nothing else");
        return -TT_ERR_OPTION;
    }
    put_head(p, series, w);
    while (i < p->points && p->point[i].series < series)
        i++;
    for (; i < p->points && p->point[i].series == series; i = next) {
        put_time(w, "BEGIN_SAMPLE", p->point[i].time, is_clock);
        for (next = i; next < p->points && p->point[next].series == series &&
                       p->point[next].time == p->point[i].time;
             next++) {
            if (!p->point[next].amount)
                continue;
            put_label(w, tt_profile_string(p, p->point[next].label));
            tt_putf(w, "\t%llu\n", (unsigned long long)p->point[next].amount);
        }
        put_time(w, "END_SAMPLE", p->point[i].time, is_clock);
    }
    return 0;
}

static enum tt_match detect(const char *head, size_t size)
{
    const char *end = memchr(head, '\n', size);

    return tt_match_if(end && size > 5 && memcmp(head, "JOB \"", 5) == 0 &&
                       end[1] == 'D');
}

const struct tt_format tt_format_hp = {
    .name = "hp",
    .about = "the heap over time, of GHC",
    .flags = TT_FORMAT_SERIES,
    .detect = detect,
    .read = read_hp,
    .write = write_hp,
};
