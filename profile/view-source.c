/* SPDX-License-Identifier: MIT */
/* view-source.c - the source text of functions, each line with its figures.
 *
 * Self of a line is that of the function's own addresses there, so that lines add up to
 * its self figure.  Inclusive is the cost while the function was at that line, counted
 * once if it was there several times on a stack.  Inlined and called functions are not
 * part of the line's self; inlined functions are shown below their line. */
#include <stdlib.h>

#include "addressed.h"
#include "index.h"
#include "listing.h"
#include "metric-view.h"
#include "sorted.h"
#include "view.h"
#include "views.h"

enum { AROUND = 4 }; /* lines around those with figures */

struct hit { /* a line of a wanted function, or a function that is inlined there */
    uint32_t file, line, block, inlined; /* inlined: a block + 1; 0: the line itself */
    uint64_t self, inclusive;
    size_t until; /* the entry that was counted last */
};

struct source {
    const struct tt_metric_view *l;
    const struct tt_profile *p;
    const struct tt_listing *listing;
    struct tt_addressed a;
    struct tt_table *t;
    struct tt_columns c;
    uint32_t mark, line, name, function, file;
    struct tt_vector hit;
    struct tt_index index; /* of hits */
    uint64_t sum, self;    /* self: of all hits */
};

/* ── Lines ────────────────────────────────────────────────────────────────────────── */

static struct hit *hit_of(struct source *v, const struct hit *wanted)
{
    int is_new;
    uint32_t at = tt_index_get(&v->index, &v->hit, wanted, offsetof(struct hit, self),
                               &is_new);

    return at == TT_NO_NUMBER ? NULL : (struct hit *)v->hit.item + at;
}

/* Adds an entry's figure to a line, once for each entry. */
static int add_once(struct source *v, const struct hit *wanted, size_t entry,
                    uint64_t amount)
{
    struct hit *h = hit_of(v, wanted);

    if (!h)
        return -TT_ERR_MEMORY;
    if (h->until != entry + 1)
        h->inclusive += amount;
    h->until = entry + 1;
    return 0;
}

/* The functions at one address of the entry's stack. */
static int add_place(struct source *v, uint32_t place, size_t entry, uint64_t amount)
{
    const struct tt_place_row *r = &v->p->place[place];
    const struct tt_place_frame *f = &v->p->place_frame[r->first];
    int error = 0;

    for (uint32_t i = 0; !error && i < r->frames; i++) {
        struct hit h = {.file = f[i].file, .line = f[i].line, .block = f[i].block};
        if (!v->a.wanted[f[i].block])
            continue;
        error = add_once(v, &h, entry, amount);
        if (error || i + 1 == r->frames)
            continue;
        h.inlined = f[i + 1].block + 1;
        error = add_once(v, &h, entry, amount);
    }
    return error;
}

/* Adds self to a wanted function, at its innermost own frame; if a filter has made it
 * part of its caller, to the caller's line. */
static int add_self(struct source *v, uint32_t trail, uint64_t amount)
{
    const uint32_t place = v->p->trail[trail].place,
                   block = place == TT_NONE ? 0 : tt_trail_block(v->p, trail);
    const struct tt_place_frame *f;
    struct hit *h;

    if (place == TT_NONE || !v->a.wanted[block])
        return 0;
    f = tt_innermost(v->p, place);
    h = hit_of(v, &(struct hit){.file = f->file, .line = f->line, .block = f->block});
    if (!h)
        return -TT_ERR_MEMORY;
    h->self += amount;
    v->self += amount;
    return 0;
}

static int add_entries(struct source *v)
{
    const struct tt_profile *p = v->p;
    int error = 0;

    for (size_t i = 0; !error && i < p->trail_entries; i++) {
        const struct tt_entry *e = &p->trail_entry[i];
        if (e->metric != v->l->choice.main)
            continue;
        for (uint32_t t = (uint32_t)e->row; !error && t != TT_NONE;
             t = p->trail[t].parent)
            if (p->trail[t].place != TT_NONE)
                error = add_place(v, p->trail[t].place, i, e->amount);
        error = error ?: add_self(v, (uint32_t)e->row, e->amount);
    }
    return error;
}

/* ── Rows ─────────────────────────────────────────────────────────────────────────── */

static int by_line(const void *a, const void *b)
{
    const struct hit *x = a, *y = b;

    return TT_ORDER(x->file, y->file) ?: TT_ORDER(x->line, y->line)
           ?: TT_ORDER(x->inlined, y->inlined) ?: TT_ORDER(x->block, y->block);
}

static void put_figures(struct source *v, unsigned has, uint64_t self, uint64_t inclusive)
{
    struct tt_figures f = {.has = has,
                           .self = self,
                           .self_low = self,
                           .inclusive = inclusive,
                           .inclusive_low = inclusive};

    tt_metric_view_figures(v->l, v->t, &v->c, &f);
}

static const char *text_of(struct source *v, const char *file, uint32_t line,
                           const char **reason)
{
    const char *text = NULL;

    *reason = NULL;
    if (v->listing && *file && line)
        text = v->listing->line(v->listing->arg, file, line, reason);
    return text ? tt_table_text(v->t, "%s", text) : NULL;
}

/* Marks lines that have a tenth of the functions' self. */
static int is_hot(const struct source *v, uint64_t self)
{
    enum { PART = 10 };

    return v->self && self >= v->self / PART && self;
}

static void put_line(struct source *v, const char *file, uint32_t line, const char *text,
                     const struct hit *h, size_t hits)
{
    uint64_t self = 0, inclusive = 0;

    for (size_t i = 0; i < hits && !h[i].inlined; i++) {
        self += h[i].self;
        inclusive += h[i].inclusive;
    }
    tt_table_row(v->t, TT_ROW_ENTRY, 0, 0);
    if (hits)
        put_figures(v, TT_HAS_SELF | TT_HAS_INCLUSIVE, self, inclusive);
    v->sum += self;
    if (is_hot(v, self))
        tt_table_string(v->t, v->mark, "▶");
    tt_table_string(v->t, v->file, file);
    if (line)
        tt_table_amount(v->t, v->line, line);
    if (hits)
        tt_table_string(v->t, v->function, tt_block_name(v->p, h->block));
    tt_table_string(v->t, v->name,
                    text   ? text
                    : hits ? tt_block_name(v->p, h->block)
                           : "");
    for (size_t i = 0; i < hits; i++) {
        if (!h[i].inlined)
            continue;
        tt_table_row(v->t, TT_ROW_CALLEE, 1, 0);
        put_figures(v, TT_HAS_INCLUSIVE, 0, h[i].inclusive);
        tt_table_string(
            v->t, v->name,
            tt_table_text(v->t, "└ %s (inlined)", tt_block_name(v->p, h[i].inlined - 1)));
        tt_table_string(v->t, v->function, tt_block_name(v->p, h[i].inlined - 1));
        tt_table_string(v->t, v->file, file);
        tt_table_amount(v->t, v->line, line);
    }
}

/* Adds lines between those with figures: all, if they are few, or those around.  Figures may be
 * at lines far beyond the end of the file. */
static void put_between(struct source *v, const char *file, uint32_t from, uint32_t to,
                        int whole)
{
    const char *reason, *text;

    for (uint32_t line = from; line < to; line++) {
        if (!whole && to - from > 2 * AROUND + 1 && line == from + AROUND) {
            tt_table_row(v->t, TT_ROW_REMAINDER, 0, 0);
            tt_table_string(v->t, v->name,
                            tt_table_text(v->t, "[%u lines without figures]",
                                          to - from - 2 * AROUND));
            line = to - AROUND;
        }
        if (!(text = text_of(v, file, line, &reason)))
            break;
        put_line(v, file, line, text, NULL, 0);
    }
}

/* Returns the line where the function is declared, which is mostly before its first line
 * with a figure. */
static uint32_t first_line(const struct source *v, const struct hit *h, size_t count)
{
    uint32_t first = h->line;

    for (size_t i = 0; i < count; i++) {
        const struct tt_block_row *b = &v->p->block[h[i].block];
        if (b->line && b->line < first && b->file == h->file)
            first = b->line;
    }
    return first;
}

static void put_file(struct source *v, const struct hit *h, size_t count, int whole)
{
    const char *file = tt_profile_string(v->p, h->file), *reason = NULL, *text;
    uint32_t at = first_line(v, h, count);

    tt_table_row(v->t, TT_ROW_HEADING, 0, 0);
    tt_table_string(v->t, v->name, *file ? file : "[no file known]");
    tt_table_string(v->t, v->file, file);
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i; end < count && h[end].line == h[i].line; end++)
            ;
        if (h[i].line && text_of(v, file, at, &reason))
            put_between(v, file, at, h[i].line, whole);
        text = text_of(v, file, h[i].line, &reason);
        put_line(v, file, h[i].line, text, &h[i], end - i);
        at = h[i].line + 1;
    }
    if (*file && reason)
        tt_table_note(v->t, "no source",
                      "%s: %s; give the folder of the sources by '--source DIR'", file,
                      reason);
    if (!*file)
        tt_table_note(v->t, "no lines",
                      "there are no lines without debug information: compile with "
                      "-g, or give the folder that has it by '--symbols DIR'");
}

static void add_columns(struct source *v)
{
    tt_metric_view_columns(v->l, v->t, &v->c);
    v->mark = (uint32_t)tt_table_columns(v->t);
    tt_table_column(v->t, "mark", "", "", TT_COLUMN_TEXT, 0);
    v->line = v->mark + 1;
    tt_table_column(v->t, "line", "line", "", TT_COLUMN_AMOUNT, 0);
    v->name = v->mark + 2;
    tt_table_column(v->t, "name", "source", "", TT_COLUMN_TEXT, TT_COLUMN_NAME);
    v->function = v->mark + 3;
    tt_table_column(v->t, "function", "function", "", TT_COLUMN_TEXT, TT_COLUMN_DETAIL);
    v->file = v->mark + 4;
    tt_table_column(v->t, "file", "file", "", TT_COLUMN_TEXT, TT_COLUMN_DETAIL);
}

static void put_all(struct source *v, struct tt_query *q)
{
    struct hit *h = v->hit.item;
    size_t end;

    tt_vector_sort(&v->hit, by_line);
    for (size_t i = 0; i < v->hit.count; i = end) {
        for (end = i; end < v->hit.count && h[end].file == h[i].file; end++)
            ;
        put_file(v, &h[i], end - i, q->limit == 0);
    }
    if (v->a.without) {
        tt_table_row(v->t, TT_ROW_REMAINDER, 0, 0);
        put_figures(v, TT_HAS_SELF, v->a.without, 0);
        tt_table_string(v->t, v->name, "[no address known]");
    }
    tt_table_row(v->t, TT_ROW_TOTAL, 0, 0);
    put_figures(v, TT_HAS_SELF, v->sum + v->a.without, 0);
    tt_table_string(v->t, v->name, "total");
    tt_view_notes(v->p, &v->l->choice, v->t);
}

int tt_view_source(const struct tt_profile *p, struct tt_query *q, struct tt_table *t)
{
    struct tt_metric_view l;
    struct source v = {.l = &l, .p = p, .t = t, .listing = q->listing};
    int error = tt_metric_view_init(&l, p, q);

    tt_vector_init(&v.hit, l.memory, sizeof(struct hit));
    if (!error) {
        error = tt_addressed_init(&v.a, &l, q);
        error = error ?: add_entries(&v);
        if (!error) {
            add_columns(&v);
            put_all(&v, q);
        }
        tt_addressed_fini(&v.a);
    }
    tt_index_fini(&v.index, l.memory);
    tt_vector_fini(&v.hit);
    tt_metric_view_fini(&l);
    return error;
}
