/* SPDX-License-Identifier: MIT */
/* call-results.c - the profile of one call, as values for the program itself.
 *
 * It is a recording like any other, in memory.  After its end, its picture is summed up
 * by block, and its objects by block, type and generations. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "control.h"
#include "figures.h"
#include "picture.h"
#include "share.h"

struct kept { /* the data of tt_results; freed together */
    struct tt_results results;
    struct tt_function_result *function;
    struct tt_object_result *object;
    size_t object_room;
    void *image;
    struct tt_picture picture;
    uint32_t block; /* take rows of this block; UINT32_MAX: of the root */
    int failed;
};

static void take_objects(void *arg, const struct tt_space *row,
                         const struct tt_objects *alive)
{
    struct kept *k = arg;
    struct tt_object_result *o;
    void *grown;

    if (k->block == UINT32_MAX)
        return;
    if (k->results.objects == k->object_room) {
        k->object_room = k->object_room * 2 + 64;
        grown = realloc(k->object, k->object_room * sizeof *k->object);
        if (!grown) {
            k->failed = 1;
            return;
        }
        k->object = grown;
    }
    o = &k->object[k->results.objects++];
    *o = (struct tt_object_result){.function = k->block,
                                   .type = tt_picture_type(&k->picture, row->key),
                                   .from = row->key >> TT_SPACE_FROM_SHIFT,
                                   .to = row->flags,
                                   .number = row->all.number,
                                   .bytes = row->all.bytes,
                                   .overhead = row->all.overhead};
    k->function[k->block].alive += row->flags == TT_NO_GENERATION ? 0 - alive->bytes
                                                                  : alive->bytes;
}

static int by_object(const void *a, const void *b)
{
    const struct tt_object_result *x = a, *y = b;
    int order;

    if (x->function != y->function)
        return x->function < y->function ? -1 : 1;
    order = strcmp(x->type, y->type);
    if (order)
        return order;
    if (x->from != y->from) /* allocated, from nowhere, come first */
        return (uint8_t)(x->from + 1) < (uint8_t)(y->from + 1) ? -1 : 1;
    return (x->to > y->to) - (x->to < y->to);
}

static void sum_objects(struct kept *k)
{
    struct tt_object_result *o = k->object;
    size_t kept = 0;

    if (k->results.objects)
        qsort(o, k->results.objects, sizeof *o, by_object);
    for (size_t i = 0; i < k->results.objects; i++) {
        struct tt_function_result *f = &k->function[o[i].function];
        if (o[i].from == TT_NO_GENERATION) {
            f->objects += o[i].number;
            f->allocated += o[i].bytes;
            f->overhead += o[i].overhead;
        } else if (o[i].to != TT_NO_GENERATION) {
            f->copied += o[i].bytes;
        }
        if (kept && by_object(&o[kept - 1], &o[i]) == 0) {
            o[kept - 1].number += o[i].number;
            o[kept - 1].bytes += o[i].bytes;
            o[kept - 1].overhead += o[i].overhead;
        } else {
            o[kept++] = o[i];
        }
    }
    k->results.objects = kept;
}

static void take_function(struct kept *k, uint32_t i)
{
    const struct tt_picture_block *b = &k->picture.block[i];
    struct tt_function_result *f = &k->function[i];

    f->block = b->info;
    f->calls = b->calls;
    f->self = b->self;
    f->total = b->inclusive;
    f->samples = b->samples;
    if (strcmp(b->info.name, "[gc]") == 0)
        k->results.gc = b->inclusive;
    else if (strcmp(b->info.name, "[profiler]") == 0)
        k->results.profiler = b->inclusive;
}

/* A caller's clock is each thread's own: all that they have charged. */
static uint64_t ticks_charged(const struct tt_picture *p)
{
    const struct tt_header *h = p->header;
    uint64_t ticks = 0;

    if (h->clock != TT_CLOCK_CALLER)
        return h->end_ticks > h->start_ticks ? h->end_ticks - h->start_ticks : 0;
    for (uint32_t i = 0; i < p->strands; i++)
        ticks += p->strand[i]->charged;
    return ticks;
}

static int fill_results(struct kept *k, void *image, size_t size)
{
    struct tt_picture *p = &k->picture;
    const struct tt_header *h;
    int error = tt_picture_read(p, image, size, 1);

    if (error)
        return error;
    h = p->header;
    k->function = calloc((size_t)p->blocks + 1, sizeof *k->function);
    if (!k->function)
        return -TT_ERR_MEMORY;
    while (k->results.functions < p->blocks &&
           !p->block[k->results.functions].type) /* types come last */
        take_function(k, (uint32_t)k->results.functions++);
    for (uint32_t i = 0; i < p->contexts; i++) {
        k->block = p->context[i].block;
        tt_picture_space(p, p->context[i].cell, take_objects, k);
    }
    sum_objects(k);
    k->results.ticks = ticks_charged(p);
    k->results.ticks_per_second = h->ticks_per_second;
    k->results.collections = p->space ? p->space->collected : 0;
    k->results.function = k->function;
    k->results.object = k->object;
    return k->failed ? -TT_ERR_MEMORY : 0;
}

void tt_results_free(struct tt_results *results)
{
    struct kept *k = (struct kept *)(void *)results;

    TT_HAND_OVER(tt_results_free, results);
    if (!k)
        return;
    tt_picture_fini(&k->picture);
    free(k->function);
    free(k->object);
    free(k->image);
    free(k);
}

/* Copies a snapshot into memory of malloc, so that tt_results_free can free it. */
static int copy_image(struct kept *k, size_t *size)
{
    void *copy = tt_snapshot(size);

    if (!copy)
        return -TT_ERR_MEMORY;
    k->image = malloc(*size);
    if (k->image)
        memcpy(k->image, copy, *size);
    munmap(copy, *size);
    return k->image ? 0 : -TT_ERR_MEMORY;
}

int tt_profile_begin(const char *options)
{
    TT_HAND_ON(tt_profile_begin, options);
    if (__atomic_load_n(&tt_on, __ATOMIC_ACQUIRE))
        return -TT_ERR_STATE;
    return tt_start(options);
}

int tt_profile_end(struct tt_results **out)
{
    struct kept *k;
    size_t size = 0;
    int error;

    TT_HAND_ON(tt_profile_end, out);
    error = tt_stop();
    *out = NULL;
    if (error)
        return error;
    k = calloc(1, sizeof *k);
    error = k ? copy_image(k, &size) : -TT_ERR_MEMORY;
    if (!error)
        error = fill_results(k, k->image, size);
    if (error)
        tt_results_free(k ? &k->results : NULL);
    else
        *out = &k->results;
    return error;
}

int tt_profile_call(const char *options, void (*f)(void *arg), void *arg,
                    struct tt_results **out)
{
    int begun = tt_profile_begin(options), error;

    *out = NULL;
    f(arg);
    if (begun)
        return begun;
    error = tt_profile_end(out);
    return error;
}
