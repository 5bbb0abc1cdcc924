/* SPDX-License-Identifier: MIT */
/* heap-figures.c - the metrics of heap profiles, and frames as Valgrind has them. */
#include "heap-figures.h"

#include <string.h>

static const struct {
    const char *name, *unit;
    uint32_t flags;
} metrics[TT_HEAP_FIGURES] = {
    {"bytes", "bytes", TT_METRIC_SPACE},
    {"allocations", "", 0},
    {"peak bytes", "bytes", TT_METRIC_SPACE | TT_METRIC_PEAK},
    {"peak number", "", TT_METRIC_PEAK},
    {"live bytes", "bytes", TT_METRIC_SPACE | TT_METRIC_PEAK},
    {"live number", "", TT_METRIC_PEAK},
};

void tt_heap_init(struct tt_heap_profile *h, struct tt_source *s, struct tt_builder *b)
{
    h->s = s;
    h->b = b;
    tt_frames_init(&h->names, b, s->memory);
    for (int i = 0; i < TT_HEAP_FIGURES; i++)
        tt_frames_init(&h->figure[i], b, s->memory);
}

int tt_heap_add(struct tt_heap_profile *h, enum tt_heap_figure figure, uint32_t context,
                uint64_t amount)
{
    int error = tt_frames_add(&h->figure[figure], context, amount);

    if (error == -TT_ERR_MEMORY)
        return tt_source_no_memory(h->s);
    return error ? tt_source_fail(h->s, TT_TOO_MUCH) : 0;
}

/* ── The end ──────────────────────────────────────────────────────────────────────── */

static uint64_t amount_at(const struct tt_heap_profile *h, enum tt_heap_figure figure,
                          size_t i)
{
    const struct tt_vector *amount = &h->figure[figure].amount;

    return i < amount->count ? ((const uint64_t *)amount->item)[i] : 0;
}

static uint64_t less(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

uint32_t tt_heap_metric(struct tt_builder *b, enum tt_heap_figure figure)
{
    return tt_builder_metric(b, metrics[figure].name, metrics[figure].unit,
                             metrics[figure].flags);
}

void tt_heap_add_space(struct tt_builder *b, uint32_t context, const char *type,
                       const uint64_t amount[TT_HEAP_FIGURES])
{
    const uint64_t bytes = amount[TT_HEAP_BYTES], number = amount[TT_HEAP_ALLOCATIONS];
    const uint64_t freed = less(bytes, amount[TT_HEAP_LIVE_BYTES]);
    const uint64_t freed_number = less(number, amount[TT_HEAP_LIVE_NUMBER]);

    if (bytes || number)
        tt_builder_space(b, context, type, TT_NONE, 0, number, bytes, 0);
    if (freed || freed_number)
        tt_builder_space(b, context, type, 0, TT_NONE, freed_number, freed, 0);
}

static void add_space(struct tt_heap_profile *h, const char *type)
{
    uint64_t amount[TT_HEAP_FIGURES];

    for (size_t i = 0; i < h->figure[TT_HEAP_BYTES].amount.count; i++) {
        for (int k = 0; k < TT_HEAP_FIGURES; k++)
            amount[k] = amount_at(h, (enum tt_heap_figure)k, i);
        tt_heap_add_space(h->b, (uint32_t)i, type, amount);
    }
}

void tt_heap_finish(struct tt_heap_profile *h, const char *type)
{
    if (type)
        add_space(h, type);
    for (int i = 0; i < TT_HEAP_FIGURES; i++)
        if (h->figure[i].total)
            tt_frames_flush(&h->figure[i], tt_heap_metric(h->b, (enum tt_heap_figure)i));
}

/* ── Frames ───────────────────────────────────────────────────────────────────────── */

static int is_digit(char c) { return c >= '0' && c <= '9'; }

/* Returns where the last " (" with text up to the end begins; `length` if nothing is in
 * brackets. */
static size_t find_place(const char *text, size_t length)
{
    size_t at = length;

    if (!length || text[length - 1] != ')')
        return length;
    for (size_t i = length; i-- >= 5;) /* "(in /lib/x (1).so)" */
        if (memcmp(text + i - 4, " (in ", 5) == 0)
            return i - 4;
    for (at = length - 1; at && is_digit(text[at - 1]); at--) /* "(file.c:12)" */
        ;
    if (at == length - 1 || !at || text[at - 1] != ':')
        return length;
    while (at-- > 1)
        if (text[at] == '(' && text[at - 1] == ' ')
            return at - 1;
    return length;
}

const char *tt_heap_frame_name(const char *text, size_t *length)
{
    size_t end = find_place(text, *length), at = 2;

    if (end > 2 && memcmp(text, "0x", 2) == 0)
        while (at < end && text[at] != ':')
            at++;
    *length = end;
    if (at == 2 || end - at < 3)
        return text;
    if (end - at == 5 && memcmp(text + at, ": ???", 5) == 0) {
        *length = at; /* the address is all that is known */
        return text;
    }
    *length = end - at - 2;
    return text + at + 2;
}

static uint32_t frame_block(struct tt_heap_profile *h, char *text, size_t length)
{
    struct tt_block_info info = {.kind = TT_KIND_FUNCTION};
    size_t place = find_place(text, length), name_length = length;
    char *name = text + (tt_heap_frame_name(text, &name_length) - text);

    if (place < length) {
        text[length - 1] = '\0';
        if (memcmp(text + place + 2, "in ", 3) == 0) {
            info.module = text + place + 5;
        } else {
            info.file = text + place + 2;
            *strrchr(text + place, ':') = '\0';
        }
    }
    name[name_length] = '\0';
    info.name = name;
    return tt_builder_block(h->b, &info);
}

uint32_t tt_heap_frame(struct tt_heap_profile *h, const char *text, size_t length)
{
    int is_new;
    uint32_t *block = tt_frames_find(&h->names, text, length, &is_new);
    char *copy;

    if (!block || !is_new)
        return block ? *block : TT_NONE;
    *block = TT_NONE;
    copy = tt_memory_get(NULL, length + 1);
    if (!copy)
        return TT_NONE;
    memcpy(copy, text, length);
    for (size_t i = 0; i < length; i++)
        copy[i] = copy[i] ? copy[i] : '?';
    *block = frame_block(h, copy, length);
    tt_memory_put(NULL, copy);
    return *block;
}

/* ── Figures over time ────────────────────────────────────────────────────────────── */

static int is_same_interval(const struct tt_heap_line *l, uint64_t a, uint64_t b)
{
    return l->interval ? a / l->interval == b / l->interval : a == b;
}

static void halve(struct tt_heap_line *l)
{
    uint64_t span = l->point[l->count - 1].time - l->point[0].time;
    size_t kept = 0;

    l->interval = l->interval ? l->interval * 2 : span / (TT_HEAP_LINE / 2) + 1;
    for (size_t i = 0; i < l->count; i++)
        if (kept && is_same_interval(l, l->point[kept - 1].time, l->point[i].time)) {
            if (l->point[i].amount > l->point[kept - 1].amount)
                l->point[kept - 1] = l->point[i];
        } else {
            l->point[kept++] = l->point[i];
        }
    l->count = kept;
}

void tt_heap_line_point(struct tt_heap_line *l, uint64_t time, uint64_t amount)
{
    if (l->count && time < l->point[l->count - 1].time)
        time = l->point[l->count - 1].time; /* if the clock goes back, keep the last
                                               time */
    if (l->count && is_same_interval(l, l->point[l->count - 1].time, time)) {
        if (amount < l->point[l->count - 1].amount)
            return;
        l->count--;
    }
    while (l->count == TT_HEAP_LINE)
        halve(l);
    l->point[l->count].time = time;
    l->point[l->count++].amount = amount;
}

void tt_heap_line_finish(const struct tt_heap_line *l, struct tt_builder *b,
                         const char *name, const char *unit)
{
    uint32_t series = l->count ? tt_builder_series(b, name, unit, "", l->interval)
                               : TT_NONE;

    for (size_t i = 0; i < l->count; i++)
        tt_builder_point(b, series, "", l->point[i].time, l->point[i].amount);
}

void tt_heap_clock(struct tt_builder *b, const char *unit)
{
    tt_builder_fact(b, TT_SERIES_CLOCK, TT_FACT_EACH, 0, unit);
}
