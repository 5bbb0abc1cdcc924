/* SPDX-License-Identifier: MIT */
/* known-names.c - names of addresses that stay known from one reading of a recording to the
 * next. */
#include "known-names.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "index.h"
#include "naming.h"
#include "progress.h"
#include "text-hash.h"
#include "worker.h"

enum {
    MOST = 1 << 19, /* addresses; with more, all are asked for again */
    PAUSE = 1       /* times as long as the last ones took */
};

struct address {
    char *module; /* owned, with the id behind it */
    const char *id;
    uint64_t address;
    uint32_t whole;
    uint32_t is_asked;      /* in this batch, or to be in the next one */
    struct tt_spots *spots; /* owned, one piece of memory; NULL: there is no answer yet */
};

struct tt_known_names {
    struct tt_vector address; /* struct address */
    struct tt_index index;
    struct tt_vector wanted;  /* uint32_t: those that the next batch asks for */
    struct tt_vector batch;   /* the same: that the worker is asked for */
    uint32_t answered;        /* of the batch */
    struct tt_worker *worker; /* NULL: there is no batch */
    struct tt_symbols *symbols;
    double began, next; /* of the batch; the next one may begin then */
    int ms;
};

/* ── Addresses ────────────────────────────────────────────────────────────────────── */

static uint64_t hash_of(const struct tt_question *q)
{
    const uint64_t h = tt_text_hash(q->module, strlen(q->module));

    return tt_mix(tt_mix(h, tt_text_hash(q->id, strlen(q->id))),
                  q->address << 1 ^ (uint64_t)q->whole);
}

static uint32_t find_address(const struct tt_known_names *k, const struct tt_question *q)
{
    const struct address *all = k->address.item;
    const uint64_t hash = hash_of(q);
    uint32_t n;

    for (size_t at = 0; (n = tt_index_next(&k->index, hash, &at)) != TT_NO_NUMBER;)
        if (all[n].address == q->address && all[n].whole == (uint32_t)q->whole &&
            strcmp(all[n].module, q->module) == 0 && strcmp(all[n].id, q->id) == 0)
            break;
    return n;
}

static uint32_t add_address(struct tt_known_names *k, const struct tt_question *q)
{
    const size_t module = strlen(q->module) + 1, id = strlen(q->id) + 1;
    char *text = malloc(module + id);
    struct address *a = text ? tt_vector_add(&k->address, 1) : NULL;
    const uint32_t number = (uint32_t)k->address.count - 1;

    if (a && tt_index_add(&k->index, NULL, hash_of(q), number) == 0) {
        memcpy(text, q->module, module);
        memcpy(text + module, q->id, id);
        *a = (struct address){text, text + module, q->address, (uint32_t)q->whole,
                              0,    NULL};
        return number; /* cppcheck-suppress memleak; the address has the text */
    }
    k->address.count -= a != NULL;
    free(text);
    return TT_NO_NUMBER;
}

static void forget_all(struct tt_known_names *k)
{
    struct address *all = k->address.item;

    for (size_t i = 0; i < k->address.count; i++) {
        free(all[i].module);
        free(all[i].spots);
    }
    k->address.count = k->wanted.count = 0;
    tt_index_fini(&k->index, NULL);
}

/* ── Answers ──────────────────────────────────────────────────────────────────────── */

static const char *put_text(char **at, const char *text)
{
    const char *copy = *at;
    const size_t size = strlen(text) + 1;

    memcpy(*at, text, size);
    *at += size;
    return copy;
}

static size_t size_of(const char *text) { return text ? strlen(text) + 1 : 0; }

/* NULL: no memory. */
static struct tt_spots *copy_spots(const struct tt_spots *s)
{
    size_t size = size_of(s->module) + size_of(s->reason);
    struct tt_spots *copy;
    struct tt_spot *spot;
    char *text;

    for (size_t i = 0; i < s->count; i++)
        size += size_of(s->spot[i].function) + size_of(s->spot[i].file) +
                size_of(s->spot[i].at_file);
    copy = malloc(sizeof *copy + s->count * sizeof *spot + size);
    if (!copy)
        return NULL;
    spot = (struct tt_spot *)(copy + 1);
    text = (char *)(spot + s->count);
    *copy = *s;
    copy->spot = spot;
    copy->module = s->module ? put_text(&text, s->module) : NULL;
    copy->reason = s->reason ? put_text(&text, s->reason) : NULL;
    for (size_t i = 0; i < s->count; i++) {
        spot[i] = s->spot[i];
        spot[i].function = put_text(&text, s->spot[i].function);
        spot[i].file = put_text(&text, s->spot[i].file);
        spot[i].at_file = put_text(&text, s->spot[i].at_file);
    }
    return copy;
}

/* ── One batch ────────────────────────────────────────────────────────────────────── */

static double now(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int question(void *arg, uint32_t number, struct tt_question *q)
{
    const struct tt_known_names *k = arg;
    const struct address *a = k->address.item;

    if (number >= k->batch.count)
        return 0;
    a += ((const uint32_t *)k->batch.item)[number];
    *q = (struct tt_question){
        .module = a->module, .id = a->id, .address = a->address, .whole = (int)a->whole};
    return 1;
}

static void end_batch(struct tt_known_names *k)
{
    const double end = now();
    const uint32_t *batch = k->batch.item;

    for (; k->answered < k->batch.count; k->answered++) /* it has not begun */
        ((struct address *)k->address.item)[batch[k->answered]].is_asked = 0;
    tt_worker_free(k->worker);
    tt_symbols_free(k->symbols);
    k->worker = NULL;
    k->symbols = NULL;
    k->next = end + PAUSE * (end - k->began);
    k->batch.count = 0;
}

/* What is wanted so far is asked for from here on. */
static int begin_batch(struct tt_known_names *k, const struct tt_symbols_options *o)
{
    const struct tt_vector batch = k->batch;

    k->batch = k->wanted;
    k->wanted = batch;
    k->wanted.count = 0;
    k->answered = 0;
    k->began = now();
    k->symbols = tt_symbols_new(o);
    k->worker = k->symbols ? tt_worker_new(k->symbols, question, k) : NULL;
    if (k->worker)
        return 0;
    end_batch(k);
    return -TT_ERR_MEMORY;
}

/* Takes answers until then (0: all). */
static int take_answers(struct tt_known_names *k, double until)
{
    const uint32_t *batch = k->batch.item;
    struct tt_spots spots;

    for (; k->answered < k->batch.count; k->answered++) {
        struct address *a = (struct address *)k->address.item + batch[k->answered];
        const double left = until > 0 ? until - now() : 0;
        const int ms = until <= 0 ? -1 : left > 0 ? (int)(left * 1000) : 0;

        if (!tt_worker_try(k->worker, k->answered, ms, &spots))
            return 0;
        free(a->spots);
        a->is_asked = 0;
        a->spots = copy_spots(&spots);
        if (!a->spots)
            return -TT_ERR_MEMORY;
        tt_progress(k->answered + 1, k->batch.count);
    }
    end_batch(k);
    return 0;
}

/* ── All of a profile ─────────────────────────────────────────────────────────────── */

static struct tt_question question_of(const struct tt_block_info *b, int no_inlines)
{
    return (struct tt_question){.module = b->module,
                                .id = b->file,
                                .address = b->offset,
                                .whole = b->kind == TT_KIND_FUNCTION || no_inlines};
}

/* Compilers at run time may put other code to the same place, so it is asked for again. */
static int is_settled(const struct address *a)
{
    return a->is_asked || (a->spots && strcmp(a->module, "[jit]") != 0);
}

static int want(struct tt_known_names *k, const struct tt_question *q)
{
    uint32_t n = find_address(k, q);
    struct address *a;

    if (n == TT_NO_NUMBER)
        n = add_address(k, q);
    if (n == TT_NO_NUMBER)
        return -TT_ERR_MEMORY;
    a = (struct address *)k->address.item + n;
    if (is_settled(a))
        return 0;
    if (tt_vector_push(&k->wanted, &n) != 0)
        return -TT_ERR_MEMORY;
    a->is_asked = 1;
    return 0;
}

/* In the order of places, in which files are read once. */
static int want_all(struct tt_known_names *k, const struct tt_profile *p, int no_inlines)
{
    uint32_t *block = tt_blocks_by_place(p, NULL);
    int error = block ? 0 : -TT_ERR_MEMORY;

    for (uint32_t i = 0; !error && i + 1 < p->blocks; i++) {
        const struct tt_block_info b = tt_block_info_of(p, block[i]);
        const struct tt_question q = question_of(&b, no_inlines);
        if (tt_is_nameless(&b))
            error = want(k, &q);
    }
    tt_memory_put(NULL, block);
    return error;
}

int tt_known_names_ask(struct tt_known_names *k, const struct tt_profile *p,
                       const struct tt_symbols_options *o, int no_inlines)
{
    const double until = k->ms < 0 ? 0 : now() + k->ms / 1e3;
    int error;

    if (!k->worker && k->address.count > MOST)
        forget_all(k);
    error = want_all(k, p, no_inlines);
    while (!error && (k->worker || k->wanted.count)) {
        if (!k->worker && until > 0 && now() < k->next)
            break;
        if (!k->worker)
            error = begin_batch(k, o);
        error = error ?: take_answers(k, until);
        if (k->worker) /* it is late */
            break;
    }
    tt_progress(1, 1);
    return error;
}

int tt_known_names_find(const struct tt_known_names *k, const struct tt_block_info *b,
                        int no_inlines, struct tt_spots *spots)
{
    const struct tt_question q = question_of(b, no_inlines);
    const uint32_t n = find_address(k, &q);
    const struct address *a = k->address.item;

    if (n == TT_NO_NUMBER || !a[n].spots)
        return 0;
    *spots = *a[n].spots;
    return 1;
}

/* ── Life ─────────────────────────────────────────────────────────────────────────── */

struct tt_known_names *tt_known_names_new(void)
{
    struct tt_known_names *k = calloc(1, sizeof *k);

    if (!k)
        return NULL;
    tt_vector_init(&k->address, NULL, sizeof(struct address));
    tt_vector_init(&k->wanted, NULL, sizeof(uint32_t));
    tt_vector_init(&k->batch, NULL, sizeof(uint32_t));
    k->ms = -1;
    return k;
}

void tt_known_names_free(struct tt_known_names *k)
{
    if (!k)
        return;
    end_batch(k);
    forget_all(k);
    tt_vector_fini(&k->address);
    tt_vector_fini(&k->wanted);
    tt_vector_fini(&k->batch);
    free(k);
}

void tt_known_names_wait(struct tt_known_names *k, int ms) { k->ms = ms; }
