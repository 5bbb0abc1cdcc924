/* SPDX-License-Identifier: MIT */
/* picture-log.c - the sample log of a picture; how it is made: sample-log.c.
 *
 *      pages  [1…4] [3] [4] [5,6] [7] [open]      3 and 4 are in 1…4 already: a process was
 *                                                 killed before it gave them up */
#include "picture-log.h"

#include <stdlib.h>

#include "log-entry.h"
#include "picture.h"

struct page_range {
    uint32_t first, last, cell;
};

static int by_range(const void *a, const void *b)
{
    const struct page_range *x = a, *y = b;
    int order = (x->first > y->first) - (x->first < y->first);

    if (!order)
        order = (x->last < y->last) - (x->last > y->last);
    return order ? order : (x->cell > y->cell) - (x->cell < y->cell);
}

static const struct tt_log_page *log_page_at(const struct tt_picture *p, uint32_t cell)
{
    const struct tt_log_page *page = tt_picture_cell(p, cell);

    return tt_picture_page(p, cell) == TT_PAGE_LOG && page->state == TT_LOG_LIVE &&
                   page->shift < 64
               ? page
               : NULL;
}

static uint32_t list_pages(const struct tt_picture *p, struct page_range *list)
{
    const struct tt_log_page *page;
    uint32_t count = 0;

    for (uint32_t cell = tt_picture_first(p); cell < p->cells; cell += TT_PAGE_CELLS)
        if ((page = log_page_at(p, cell)) != NULL)
            list[count++] = (struct page_range){page->first, page->last, cell};
    qsort(list, count, sizeof *list, by_range);
    return count;
}

uint32_t tt_picture_logged(const struct tt_picture *p, uint32_t cell)
{
    const struct tt_node *n;

    for (int i = 0; i < 2; i++) {
        if ((tt_picture_page(p, cell) & 0xff) != TT_PAGE_CELL)
            return UINT32_MAX;
        if (p->index[cell])
            return p->index[cell] - 1;
        n = tt_picture_cell(p, cell);
        cell = n->target;
    }
    return UINT32_MAX;
}

size_t tt_picture_log_size(const struct tt_picture *p)
{
    size_t pages = 0;

    for (uint32_t cell = tt_picture_first(p); cell < p->cells; cell += TT_PAGE_CELLS)
        pages += log_page_at(p, cell) != NULL;
    return pages * TT_LOG_ENTRIES;
}

struct reading {
    const struct tt_picture *p;
    tt_picture_each_sample *each;
    void *arg;
    uint64_t lost;
};

/* The last entry gets what the others lost by rounding, and each gets its part of
 * samples. */
static void read_page(struct reading *r, const struct tt_log_page *page)
{
    const uint64_t *entry = (const uint64_t *)(const void *)(page + 1);
    const uint64_t bits = r->p->header->log_bits;
    uint64_t count = 0, i = 0, given = 0;

    for (uint32_t at = 0; at < TT_LOG_ENTRIES; at++)
        count += entry[at] != 0;
    for (uint32_t at = 0; at < TT_LOG_ENTRIES; at++) {
        struct tt_picture_sample s;
        uint64_t upto;
        if (!entry[at])
            continue;
        i++;
        upto = i + (uint64_t)((unsigned __int128)page->more * i / count);
        s.context = tt_picture_logged(r->p, tt_log_cell(entry[at], bits));
        s.time = page->base + (tt_log_offset(entry[at], bits) << page->shift);
        s.weight = tt_log_weight(entry[at]) + (i == count ? page->rest : 0);
        s.samples = upto - given;
        given = upto;
        if ((int64_t)s.weight < 0)
            s.weight = 0;
        if (s.context == UINT32_MAX)
            r->lost += s.weight;
        else
            r->each(r->arg, &s);
    }
}

int tt_picture_log(const struct tt_picture *p, tt_picture_each_sample *each, void *arg,
                   uint64_t *lost)
{
    struct reading r = {p, each, arg, p->header->log_lost};
    struct page_range *list;
    uint32_t count, last = 0;

    *lost = r.lost;
    if (!p->header->log || !p->header->log_bits || p->header->log_bits > TT_LOG_BITS_MAX)
        return 0;
    list = malloc(((size_t)p->header->used + 1) * sizeof *list);
    if (!list)
        return -TT_ERR_MEMORY;
    count = list_pages(p, list);
    for (uint32_t i = 0; i < count; i++) {
        if (list[i].last && list[i].last <= last)
            continue;
        if (list[i].last > last)
            last = list[i].last;
        read_page(&r, tt_picture_cell(p, list[i].cell));
    }
    free(list);
    *lost = r.lost;
    return 0;
}
