/* SPDX-License-Identifier: MIT */
/* ocr-write.c - the files of OCR's profiler, one a thread: writing.
 *
 * A process is a node.  Nodes and their threads are numbered in order, in hexadecimal;
 * those that came from such files keep their numbers.  Names have only letters, digits
 * and '_', as OCR's analyser expects. */
#include <stdio.h>
#include <string.h>

#include "ocr-write.h"
#include "ocr.h"
#include "sorted.h"
#include "statistics.h"

enum { MS = 1000000 }; /* ns */

/* ── Which files ──────────────────────────────────────────────────────────────────── */

static const char *string_of(const struct tt_profile *p, uint32_t at)
{
    return tt_profile_string(p, at);
}

static int is_same_node(const struct tt_strand_row *x, const struct tt_strand_row *y)
{
    return x->host == y->host && x->process == y->process && x->pid == y->pid &&
           x->rank == y->rank && x->node == y->node;
}

/* Did it come from a file of OCR's?  Then its names have no '/'. */
static int has_number(const struct tt_profile *p, uint32_t strand)
{
    const struct tt_strand_row *s = &p->strand[strand];
    const char *process = string_of(p, s->process), *node = string_of(p, s->node);

    return *process && *node && s->pid == 0 && !strchr(process, '/') &&
           !strchr(node, '/') && !strchr(string_of(p, s->name), '/');
}

/* Entries are in the order of strands. */
static int has_figures(const struct tt_profile *p, uint32_t strand)
{
    size_t low = p->entries ? tt_first_from(&p->entry->strand, sizeof *p->entry,
                                            p->entries, strand)
                            : 0;

    while (low < p->entries && p->entry[low].strand == strand && !p->entry[low].amount)
        low++;
    return p->strands <= 1 || (low < p->entries && p->entry[low].strand == strand &&
                               p->entry[low].row < p->contexts);
}

int tt_ocr_part(struct tt_export *e, char name[TT_PART_NAME])
{
    const struct tt_profile *p = e->profile;
    const struct tt_strand_row *s = p->strand;
    uint32_t i = e->part;

    if (i >= (p->strands ? p->strands : 1))
        return 0;
    if (i == 0)
        e->node = e->thread = 0;
    else if (!is_same_node(&s[i - 1], &s[i]))
        e->node++, e->thread = 0;
    if (!has_figures(p, i))
        return 2;
    if (p->strands && has_number(p, i))
        (void)snprintf(name, TT_PART_NAME, "%s%s-%s", string_of(p, s[i].process),
                       string_of(p, s[i].node), string_of(p, s[i].name));
    else
        (void)snprintf(name, TT_PART_NAME, "profiler_%x-%x", e->node, e->thread);
    e->thread++;
    return 1;
}

/* ── Entries ──────────────────────────────────────────────────────────────────────── */

static void put_time(struct tt_writer *w, const struct ocr *o, const char *name,
                     int64_t value)
{
    uint64_t n = value > 0 ? (uint64_t)value : 0;

    tt_putf(w, ", %s(%llu.%06llu)", name, (unsigned long long)(n / o->ms),
            (unsigned long long)(n % o->ms * (MS / o->ms)));
}

/* In ms², with 12 decimals: exact. */
static void put_square(struct tt_writer *w, const struct ocr *o, const char *name,
                       const struct tt_sum128 *square, int in_ns)
{
    unsigned __int128 n = (unsigned __int128)square->high << 64 | square->low;
    unsigned __int128 unit = in_ns ? (unsigned __int128)MS * MS
                                   : (unsigned __int128)o->ms * o->ms;

    tt_putf(w, ", %s(%llu.%012llu)", name, (unsigned long long)(n / unit),
            (unsigned long long)((uint64_t)(n % unit) *
                                 (uint64_t)((unsigned __int128)MS * MS / unit)));
}

static void put_entry(const struct tt_export *e, struct tt_writer *w, const struct ocr *o,
                      const struct ocr_pair *ids, const struct ocr_entry *x)
{
    tt_putf(w, "ENTRY %u:%u = count(%llu)", ids->parent - 1, ids->child - 1,
            (unsigned long long)x->value[OCR_CALLS]);
    put_time(w, o, "sum", x->value[OCR_TOTAL]);
    put_square(w, o, "sumSq", e->as_ocr ? &x->flawed : &x->square,
               e->as_ocr && !o->is_flat);
    if (ids->parent != ids->child) {
        put_time(w, o, "sumChild", x->value[OCR_CHILDREN]);
        put_square(w, o, "sumSqChild", &x->children_square, 0);
        put_time(w, o, "sumRecurse", x->value[OCR_RECURSE]);
        put_square(w, o, "sumSqRecurse", &x->recurse_square, 0);
    }
    tt_put_char(w, '\n');
}

static void put_definitions(const struct tt_profile *p, struct tt_writer *w,
                            const struct ocr_sum *s)
{
    for (uint32_t b = 1; b < p->blocks; b++) {
        const char *name = tt_block_name(p, b);
        if (*name == '[' && !s->function[b].value[OCR_CALLS])
            continue; /* a block that Tallytree adds, such as [other blocks] */
        tt_put(w, "DEF ");
        if (!*name)
            tt_put_char(w, '_');
        for (; *name; name++) {
            int good = (*name >= '0' && *name <= '9') || (*name >= 'A' && *name <= 'Z') ||
                       (*name >= 'a' && *name <= 'z');
            tt_put_char(w, good ? *name : '_');
        }
        tt_putf(w, " %u\n", b - 1);
    }
}

/* Skips pairs of a function with itself: they are within its activation. */
static void put_thread(const struct tt_export *e, struct tt_writer *w,
                       const struct ocr *o, const struct ocr_sum *s)
{
    put_definitions(e->profile, w, s);
    for (uint32_t b = 1; b < e->profile->blocks; b++)
        if (s->function[b].value[OCR_CALLS] > 0)
            put_entry(e, w, o, &(struct ocr_pair){b, b}, &s->function[b]);
    for (uint32_t i = 0; i < o->pairs; i++)
        if (o->pair[i].parent && o->pair[i].child &&
            o->pair[i].parent != o->pair[i].child && s->pair[i].value[OCR_CALLS] > 0)
            put_entry(e, w, o, &o->pair[i], &s->pair[i]);
}

int tt_ocr_write(struct tt_export *e, struct tt_writer *w)
{
    struct ocr o;
    struct ocr_sum s = {0};
    int error = tt_ocr_init(&o, e->profile);

    if (error == -TT_ERR_OPTION)
        (void)snprintf(e->error, sizeof e->error,
                       "no activation was timed: OCR's files need mode exact");
    if (error == -TT_ERR_FORMAT) {
        (void)snprintf(e->error, sizeof e->error,
                       "activations are longer than OCR's files have room for");
        error = -TT_ERR_OPTION;
    }
    error = error ?: tt_ocr_sum_init(&o, &s);
    error = error ?: tt_ocr_thread(&o, e->part, &s);
    if (!error)
        put_thread(e, w, &o, &s);
    tt_ocr_sum_fini(&o, &s);
    tt_ocr_fini(&o);
    return error;
}
