/* SPDX-License-Identifier: MIT */
/* print-recording.c - prints the recording from inside the program, without other tools.
 *
 * Both views work on a picture of a copy, so the program may go on meanwhile. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "control.h"
#include "figures.h"
#include "picture.h"
#include "share.h"

/* ── A picture of a copy ──────────────────────────────────────────────────────────── */

static int take_picture(struct tt_picture *p)
{
    size_t size;
    void *copy;
    int error;

    copy = tt_snapshot(&size);
    if (!copy)
        return -TT_ERR_STATE;
    error = tt_picture_read(p, copy, size, 1);
    if (error) {
        tt_picture_fini(p);
        munmap(copy, size);
    }
    return error;
}

static void drop_picture(struct tt_picture *p)
{
    tt_picture_fini(p);
    munmap(p->image, p->size);
}

/* ── tt_visit ─────────────────────────────────────────────────────────────────────── */

static void fill_visit(const struct tt_picture *p, const struct tt_picture_context *c,
                       struct tt_visited *v)
{
    const struct tt_times *times = tt_picture_times(p, c);

    *v = (struct tt_visited){.strand = p->strand[c->strand]->name,
                             .path = v->path,
                             .depth = c->depth,
                             .calls = c->calls,
                             .self = c->self,
                             .samples = c->samples,
                             .total = c->total,
                             .self_low = c->self_low,
                             .total_low = c->total_low,
                             .elsewhere = c->elsewhere.self,
                             .missed = c->missed,
                             .activations = times ? times->count : 0,
                             .min = times ? times->min : 0,
                             .max = times ? times->max : 0,
                             .sum = times ? times->sum : 0,
                             .mean = times ? (double)times->sum / (double)times->count
                                           : 0,
                             .deviation = times ? tt_times_deviation(times) : 0};
    if (c->block != UINT32_MAX)
        v->block = p->block[c->block].info;
    else
        v->block.name = v->block.file = v->block.module = "";
}

int tt_visit(int (*visit)(const struct tt_visited *, void *), void *arg)
{
    struct tt_picture p;
    struct tt_visited v;
    const char **path;
    int result;

    TT_HAND_ON(tt_visit, visit, arg);
    result = take_picture(&p);
    if (result)
        return result;
    path = malloc(((size_t)p.contexts + 1) * sizeof *path);
    result = path ? 0 : -TT_ERR_MEMORY;
    v.path = path;
    for (uint32_t i = 0; !result && i < p.contexts; i++) {
        fill_visit(&p, &p.context[i], &v);
        if (v.depth)
            path[v.depth - 1] = v.block.name;
        result = visit(&v, arg);
    }
    free((void *)path);
    drop_picture(&p);
    return result;
}

/* ── tt_print ─────────────────────────────────────────────────────────────────────── */

struct printer {
    const struct tt_picture *picture;
    int fd, error;
    size_t used;
    uint64_t all; /* ticks in all; calls where there are no ticks */
    int by_calls;
    char buffer[4096];
};

static void flush_printer(struct printer *out)
{
    const char *p = out->buffer;

    while (out->used && !out->error) {
        ssize_t n = write(out->fd, p, out->used);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            out->error = -TT_ERR_FILE;
            break;
        }
        p += n;
        out->used -= (size_t)n;
    }
    out->used = 0;
}

static __attribute__((format(printf, 2, 3))) void put(struct printer *out,
                                                      const char *format, ...)
{
    va_list list;
    int n;

    if (out->used > sizeof out->buffer / 2)
        flush_printer(out);
    va_start(list, format);
    n = vsnprintf(out->buffer + out->used, sizeof out->buffer - out->used, format, list);
    va_end(list);
    if (n > 0)
        out->used += (size_t)n < sizeof out->buffer - out->used
                         ? (size_t)n
                         : sizeof out->buffer - out->used - 1;
}

static double percent(const struct printer *out, uint64_t n)
{
    return out->all ? 100.0 * (double)n / (double)out->all : 0;
}

static double seconds(const struct printer *out, uint64_t ticks)
{
    uint64_t hz = out->picture->header->ticks_per_second;

    return (double)ticks / (double)(hz ? hz : 1);
}

static uint64_t lost_pushes(const struct tt_picture *p)
{
    uint64_t n = p->header->lost_pushes + p->header->lost_calls;

    for (uint32_t i = 0; i < p->strands; i++)
        n += p->strand[i]->lost_pushes;
    return n;
}

/* Prints the basis of the figures first. */
static void put_header(struct printer *out)
{
    const struct tt_picture *p = out->picture;
    const struct tt_header *h = p->header;
    uint64_t evicted = 0;

    for (uint32_t i = 0; i < p->blocks; i++)
        evicted += p->block[i].evicted;
    put(out, "%s, process %u on %s: %u strand%s, %u contexts, %u arcs\n", h->program,
        h->pid, h->host, p->strands, p->strands == 1 ? "" : "s", p->contexts - p->strands,
        p->arcs);
    put(out, "scopes %s, blocks %s, recursion %s, budget %llu KiB\n",
        tt_mode_word(h->mode[TT_KIND_SCOPE]), tt_mode_word(h->mode[TT_KIND_BLOCK]),
        tt_recursion_word(h->recursion), (unsigned long long)(h->budget >> 10));
    if (h->inside.high)
        put(out,
            "own cost: an activation adds %.0f to %.0f ticks to itself, %.0f to %.0f to "
            "its caller\n",
            (double)h->inside.low / 1024, (double)h->inside.high / 1024,
            (double)h->outside.low / 1024, (double)h->outside.high / 1024);
    if (out->all && (double)h->preempted / 1e9 >= seconds(out, out->all) / 100)
        put(out,
            "preempted: for %.6f s at most threads were ready to run while other "
            "programs had "
            "the processors; brackets do not include it\n",
            (double)h->preempted / 1e9);
    if (evicted)
        put(out, "budget: %.1f %% of ticks below evicted contexts\n",
            percent(out, evicted));
    if (lost_pushes(p) || h->lost_blocks || h->lost_strands || h->lost_children)
        put(out,
            "lost: %llu calls, %llu blocks' names, %llu strands, %llu child processes\n",
            (unsigned long long)lost_pushes(p), (unsigned long long)h->lost_blocks,
            (unsigned long long)h->lost_strands, (unsigned long long)h->lost_children);
    if (h->torn)
        put(out, "this copy was made while contexts were evicted: figures may be off\n");
}

static int heavier_block(const void *a, const void *b)
{
    const struct tt_picture_block *x = *(const struct tt_picture_block *const *)a,
                                  *y = *(const struct tt_picture_block *const *)b;

    if (x->self != y->self)
        return x->self < y->self ? 1 : -1;
    if (x->calls != y->calls)
        return x->calls < y->calls ? 1 : -1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

/* The bracket is wide where activations are short. */
static int is_doubtful(uint64_t figure, uint64_t low)
{
    return figure - low > figure / 5;
}

static void put_flat(struct printer *out)
{
    enum { ROWS = 30 };
    const struct tt_picture *p = out->picture;
    const struct tt_picture_block **row = malloc((p->blocks + 1) * sizeof *row);
    int doubtful = 0;

    if (!row) {
        out->error = -TT_ERR_MEMORY;
        return;
    }
    for (uint32_t i = 0; i < p->blocks; i++)
        row[i] = &p->block[i];
    qsort((void *)row, p->blocks, sizeof *row, heavier_block);
    put(out, "\n  self %%     at least s  at most s  inclusive s        calls  block\n");
    for (uint32_t i = 0; i < p->blocks && i < ROWS; i++) {
        const struct tt_picture_block *b = row[i];
        if (!b->calls && !b->self)
            continue;
        doubtful |= is_doubtful(b->self, b->self_low);
        put(out, "%8.2f %c %12.6f %10.6f %12.6f %12llu  %.200s",
            percent(out, out->by_calls ? b->calls : b->self),
            is_doubtful(b->self, b->self_low) ? '?' : ' ', seconds(out, b->self_low),
            seconds(out, b->self), seconds(out, b->inclusive),
            (unsigned long long)b->calls, b->info.name);
        if (b->shares_name)
            put(out, " (%.200s:%u)", b->info.file, b->info.line);
        put(out, "\n");
    }
    if (p->blocks > ROWS)
        put(out, "  and %u more blocks\n", p->blocks - ROWS);
    free((void *)row);
    if (doubtful)
        put(out, "  ? more than a fifth of this may be the profiler's own time\n");
}

static uint64_t weight_of(const struct printer *out, const struct tt_picture_context *c)
{
    return out->by_calls ? c->calls : c->total;
}

/* Omits contexts of less than half a percent, with all below them. */
static void put_tree(struct printer *out)
{
    const struct tt_picture *p = out->picture;

    put(out, "\n  total %%     self %%        calls  context\n");
    for (uint32_t i = 0; i < p->contexts;) {
        const struct tt_picture_context *c = &p->context[i];
        if (c->block == UINT32_MAX) {
            put(out, "%9.2f %10.2f %12s  [%s]\n", percent(out, c->total),
                percent(out, c->self), "", p->strand[c->strand]->name);
        } else if (weight_of(out, c) < out->all / 200) {
            i += c->size;
            continue;
        } else {
            put(out, "%9.2f %10.2f %12llu  %*s%.200s\n",
                out->by_calls ? percent(out, c->calls) : percent(out, c->total),
                percent(out, c->self), (unsigned long long)c->calls,
                c->depth < 60 ? (int)(2 * c->depth) : 120, "",
                p->block[c->block].info.name);
        }
        if (c->elsewhere.self || c->elsewhere.calls)
            put(out, "%9.2f %10s %12llu  %*s[elsewhere below]\n",
                percent(out, out->by_calls ? c->elsewhere.calls : c->elsewhere.self), "",
                (unsigned long long)c->elsewhere.calls,
                c->depth < 60 ? (int)(2 * c->depth) + 2 : 122, "");
        i++;
    }
}

int tt_print(int fd)
{
    struct tt_picture p;
    struct printer out = {.picture = &p, .fd = fd};
    uint64_t calls = 0;
    int error;

    TT_HAND_ON(tt_print, fd);
    error = take_picture(&p);
    if (error)
        return error;
    for (uint32_t i = 0; i < p.strands; i++)
        out.all += p.context[p.strand_first[i]].total;
    for (uint32_t i = 0; i < p.blocks; i++)
        calls += p.block[i].calls;
    out.by_calls = out.all == 0;
    if (out.by_calls)
        out.all = calls;
    put_header(&out);
    put_flat(&out);
    put_tree(&out);
    flush_printer(&out);
    drop_picture(&p);
    return out.error;
}
