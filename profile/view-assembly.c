/* SPDX-License-Identifier: MIT */
/* view-assembly.c - the instructions of functions, each with its figures.
 *
 * The code of a function contains inlined functions too.  Rows name the function of each
 * instruction, so that those of one function add up to its self figure; the part without
 * an address has a separate row.  Without code, as in a page, there is a row for each
 * address with a figure. */
#include <stdio.h>
#include <stdlib.h>

#include "addressed.h"
#include "listing.h"
#include "metric-view.h"
#include "sorted.h"
#include "view-order.h"
#include "view.h"
#include "views.h"

enum { AROUND = 8, OWN_LIMIT = 10 }; /* instructions around hot ones; functions */

struct spot {              /* an address with figures */
    uint32_t place, outer; /* outer: the block whose code it is in */
    uint32_t module, id;   /* strings */
    uint64_t address, all;
};

struct piece {         /* the code of a function */
    size_t first, end; /* of the spots */
    uint64_t mine, all;
};

struct assembly {
    const struct tt_metric_view *l;
    const struct tt_profile *p;
    const struct tt_listing *listing; /* NULL: no code is to be had */
    struct tt_addressed a;
    struct tt_table *t;
    struct tt_columns c;
    uint32_t address, bytes, label, name, function, module, file, line, at_file, at_line;
    int sorted; /* by figure, without what has none */
    int whole;  /* cold stretches are shown */
    struct tt_vector spot, piece, target;
    uint64_t sum;
    const char *last_file; /* of the line that was shown last */
    uint32_t last_line;
};

/* ── What there is ────────────────────────────────────────────────────────────────── */

static int is_wanted(const struct assembly *v, uint32_t place)
{
    const struct tt_place_row *r = &v->p->place[place];
    int wanted = v->a.mine[place] != 0;

    for (uint32_t i = 0; i < r->frames; i++)
        wanted |= v->a.wanted[v->p->place_frame[r->first + i].block];
    return wanted;
}

static int by_code(const void *a, const void *b)
{
    const struct spot *x = a, *y = b;

    return TT_ORDER(x->module, y->module) ?: TT_ORDER(x->id, y->id)
           ?: TT_ORDER(x->outer, y->outer) ?: TT_ORDER(x->address, y->address)
           ?: TT_ORDER(x->place, y->place);
}

static int is_same_code(const struct spot *x, const struct spot *y)
{
    return x->module == y->module && x->id == y->id && x->outer == y->outer;
}

static int find_spots(struct assembly *v)
{
    for (uint32_t i = 0; i < v->p->places; i++) {
        const struct tt_place_row *r = &v->p->place[i];
        if (!is_wanted(v, i))
            continue;
        if (tt_vector_push(&v->spot,
                           &(struct spot){i, v->p->place_frame[r->first].block, r->module,
                                          r->id, r->address, v->a.all[i]}) != 0)
            return -TT_ERR_MEMORY;
    }
    tt_vector_sort(&v->spot, by_code);
    return 0;
}

static int by_share(const void *a, const void *b)
{
    const struct piece *x = a, *y = b;

    return TT_ORDER(y->mine, x->mine) ?: TT_ORDER(x->first, y->first);
}

static int find_pieces(struct assembly *v)
{
    const struct spot *s = v->spot.item;
    struct piece *piece = NULL;

    for (size_t i = 0; i < v->spot.count; i++) {
        if (!piece || !is_same_code(&s[i - 1], &s[i])) {
            if (!(piece = tt_vector_add(&v->piece, 1)))
                return -TT_ERR_MEMORY;
            piece->first = i;
        }
        piece->end = i + 1;
        piece->all += s[i].all;
        piece->mine += v->a.mine[s[i].place];
    }
    tt_vector_sort(&v->piece, by_share);
    return 0;
}

/* ── Rows ─────────────────────────────────────────────────────────────────────────── */

static void put_figures(struct assembly *v, uint64_t self)
{
    struct tt_figures f = {.has = TT_HAS_SELF, .self = self, .self_low = self};

    tt_metric_view_figures(v->l, v->t, &v->c, &f);
}

static struct tt_where where_of_place(const struct assembly *v, uint32_t place)
{
    const struct tt_place_frame *f = tt_innermost(v->p, place);
    const struct tt_place_frame *at = &v->p->place_frame[v->p->place[place].first];
    const char *file = tt_profile_string(v->p, f->file),
               *at_file = tt_profile_string(v->p, at->file);

    return (struct tt_where){.function = tt_block_name(v->p, f->block),
                             .file = *file ? file : NULL,
                             .line = f->line,
                             .at_file = *at_file ? at_file : NULL,
                             .at_line = at->line};
}

/* Writes the line of the next instruction, with its text, if it is another line. */
static void put_line(struct assembly *v, const struct tt_where *w, const char *outer)
{
    const char *text = NULL, *reason, *slash;

    if (v->sorted || !w->file || !w->line ||
        (v->last_file && strcmp(v->last_file, w->file) == 0 && v->last_line == w->line))
        return;
    v->last_file = tt_table_text(v->t, "%s", w->file);
    v->last_line = w->line;
    slash = strrchr(w->file, '/');
    tt_table_row(v->t, TT_ROW_HEADING, 1, 0);
    tt_table_string(v->t, v->file, v->last_file);
    tt_table_amount(v->t, v->line, w->line);
    if (v->listing && v->listing->line)
        text = v->listing->line(v->listing->arg, w->file, w->line, &reason);
    tt_table_string(v->t, v->name,
                    tt_table_text(v->t, "%s:%u%s%s%s%s%s", slash ? slash + 1 : w->file,
                                  w->line, strcmp(w->function, outer) ? "  " : "",
                                  strcmp(w->function, outer) ? w->function : "",
                                  strcmp(w->function, outer) ? " (inlined)" : "",
                                  text ? "  " : "", text ? text : ""));
}

static void put_place_cells(struct assembly *v, const struct tt_place_row *r,
                            const struct tt_where *w, uint64_t address)
{
    tt_table_string(v->t, v->address,
                    tt_table_text(v->t, "%llx", (unsigned long long)address));
    tt_table_string(v->t, v->module, tt_profile_string(v->p, r->module));
    if (w->function)
        tt_table_string(v->t, v->function, tt_table_text(v->t, "%s", w->function));
    if (w->file)
        tt_table_string(v->t, v->file, tt_table_text(v->t, "%s", w->file));
    if (w->line)
        tt_table_amount(v->t, v->line, w->line);
    if (w->at_file && w->at_line) {
        tt_table_string(v->t, v->at_file, tt_table_text(v->t, "%s", w->at_file));
        tt_table_amount(v->t, v->at_line, w->at_line);
    }
}

/* Writes an address whose code is not available. */
static void put_bare(struct assembly *v, const struct spot *s, const char *outer)
{
    const struct tt_where w = where_of_place(v, s->place);

    put_line(v, &w, outer);
    tt_table_row(v->t, TT_ROW_ENTRY, 0, 0);
    put_figures(v, s->all);
    put_place_cells(v, &v->p->place[s->place], &w, s->address);
    tt_table_string(v->t, v->name, w.function);
    v->sum += s->all;
}

/* ── Instructions ─────────────────────────────────────────────────────────────────── */

static int by_number(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return TT_ORDER(x, y);
}

/* Finds the targets of jumps within the code: the labels. */
static int find_targets(struct assembly *v, const struct tt_listed *code)
{
    const struct tt_instruction *first = code->instruction,
                                *last = first + code->count - 1;
    uint64_t *to;
    size_t kept = 0;

    v->target.count = 0;
    for (size_t i = 0; i < code->count; i++)
        if (first[i].flow == TT_FLOW_JUMP && first[i].target >= first->address &&
            first[i].target <= last->address) {
            if (tt_vector_push(&v->target, &first[i].target) != 0)
                return -TT_ERR_MEMORY;
        }
    to = v->target.item;
    tt_vector_sort(&v->target, by_number);
    for (size_t i = 0; i < v->target.count; i++)
        if (!kept || to[kept - 1] != to[i])
            to[kept++] = to[i];
    v->target.count = kept;
    return 0;
}

/* 0: nothing jumps there. */
static unsigned label_of(const struct assembly *v, uint64_t address)
{
    const uint64_t *to = v->target.count ? bsearch(&address, v->target.item,
                                                   v->target.count, sizeof *to, by_number)
                                         : NULL;

    return to ? (unsigned)(to - (const uint64_t *)v->target.item) + 1 : 0;
}

static const char *text_of(struct assembly *v, const struct tt_place_row *r,
                           const struct tt_instruction *i)
{
    const unsigned label = i->flow == TT_FLOW_JUMP ? label_of(v, i->target) : 0;
    const char *name;

    if (!i->target)
        return tt_table_text(v->t, "%s", i->text);
    if (label)
        return tt_table_text(v->t, "%sL%u %s", i->text, label,
                             i->target > i->address ? "↓" : "↑");
    name = v->listing->name(v->listing->arg, tt_profile_string(v->p, r->module),
                            tt_profile_string(v->p, r->id), i->target);
    return name ? tt_table_text(v->t, "%s%s", i->text, name)
                : tt_table_text(v->t, "%s%llx", i->text, (unsigned long long)i->target);
}

static void put_bytes(struct assembly *v, const struct tt_instruction *i)
{
    char hex[2 * TT_INSTRUCTION_BYTES + 1] = "";

    for (uint32_t k = 0; k < i->size && k < TT_INSTRUCTION_BYTES; k++)
        (void)snprintf(hex + 2 * (size_t)k, 3, "%02x", i->byte[k]);
    tt_table_string(v->t, v->bytes, tt_table_text(v->t, "%s", hex));
}

struct printing {
    const struct tt_listed *code;
    const struct tt_place_row *of;
    const char *outer;
    size_t first, end; /* spots in this code */
    size_t cold;       /* instructions without a figure that are not shown so far */
};

/* Adds up the figures of an instruction; *next: the first spot after it; *place: one of
 * its spots. */
static uint64_t amount_of(const struct assembly *v, const struct printing *x,
                          const struct tt_instruction *i, size_t *next, uint32_t *place)
{
    const struct spot *s = v->spot.item;
    uint64_t amount = 0;

    for (; *next < x->end && s[*next].address < i->address + i->size; ++*next) {
        amount += s[*next].all;
        *place = s[*next].place;
    }
    return amount;
}

static void put_cold(struct assembly *v, struct printing *x)
{
    if (x->cold && !v->sorted) {
        tt_table_row(v->t, TT_ROW_REMAINDER, 0, 0);
        tt_table_string(
            v->t, v->name,
            tt_table_text(v->t, "[%zu instructions without figures]", x->cold));
        v->last_line = 0;
    }
    x->cold = 0;
}

static void put_instruction(struct assembly *v, struct printing *x,
                            const struct tt_instruction *i, uint64_t amount,
                            uint32_t place)
{
    struct tt_where w = {0};
    unsigned label = label_of(v, i->address);

    if (place != TT_NONE)
        w = where_of_place(v, place);
    else if (v->listing->where)
        v->listing->where(v->listing->arg, tt_profile_string(v->p, x->of->module),
                          tt_profile_string(v->p, x->of->id), i->address, &w);
    put_cold(v, x);
    if (w.function)
        put_line(v, &w, x->outer);
    tt_table_row(v->t, TT_ROW_ENTRY, 0, 0);
    if (amount)
        put_figures(v, amount);
    put_place_cells(v, x->of, &w, i->address);
    put_bytes(v, i);
    if (label)
        tt_table_string(v->t, v->label, tt_table_text(v->t, "L%u:", label));
    tt_table_string(v->t, v->name, text_of(v, x->of, i));
    v->sum += amount;
}

/* Makes a byte for each instruction: is it near one that has a figure? */
static unsigned char *find_shown(struct assembly *v, const struct printing *x)
{
    const size_t count = x->code->count;
    unsigned char *shown = calloc(count, 1);
    size_t next = x->first;
    uint32_t place;

    for (size_t i = 0; shown && i < count; i++) {
        if (!v->whole && !amount_of(v, x, &x->code->instruction[i], &next, &place))
            continue;
        for (size_t k = v->sorted || i < AROUND ? (v->sorted ? i : 0) : i - AROUND;
             k <= i + (v->sorted ? 0 : AROUND) && k < count; k++)
            shown[k] = 1;
    }
    return shown;
}

static int put_code(struct assembly *v, struct printing *x)
{
    unsigned char *shown = find_shown(v, x);
    size_t next = x->first;

    if (!shown || find_targets(v, x->code) != 0) {
        free(shown);
        return -TT_ERR_MEMORY;
    }
    for (size_t i = 0; i < x->code->count; i++) {
        const struct tt_instruction *in = &x->code->instruction[i];
        uint32_t place = TT_NONE;
        uint64_t amount = amount_of(v, x, in, &next, &place);
        if (shown[i])
            put_instruction(v, x, in, amount, place);
        else
            x->cold++;
    }
    put_cold(v, x);
    free(shown);
    return 0;
}

/* ── Functions ────────────────────────────────────────────────────────────────────── */

static void note_missing(struct assembly *v, const struct tt_place_row *r,
                         const char *reason)
{
    const char *id = tt_profile_string(v->p, r->id), *before = *id == '/' ? ", file "
                                                               : *id      ? ", build-id "
                                                                          : "";

    if (v->listing)
        tt_table_note(
            v->t, "no code",
            "%s%-s%s: %s; give the folder of the file that ran by '--symbols DIR'",
            tt_profile_string(v->p, r->module), before, id,
            reason ? reason : "there is no code");
}

/* Writes the spots from `i` on; returns the first one after the available code. */
static int put_part(struct assembly *v, const struct piece *piece, size_t *i,
                    const char *outer)
{
    const struct spot *s = v->spot.item;
    const struct tt_place_row *r = &v->p->place[s[*i].place];
    struct tt_listed code = {.count = 0};
    struct printing x = {&code, r, outer, *i, *i, 0};
    const struct tt_instruction *last;

    if (v->listing)
        v->listing->code(v->listing->arg, tt_profile_string(v->p, r->module),
                         tt_profile_string(v->p, r->id), r->address, &code);
    if (!code.count) {
        note_missing(v, r, code.reason);
        for (; *i < piece->end; ++*i)
            put_bare(v, &s[*i], outer);
        return 0;
    }
    last = &code.instruction[code.count - 1];
    while (x.end < piece->end && s[x.end].address < last->address + last->size)
        x.end++;
    if (x.end == *i || s[*i].address < code.instruction->address) { /* damaged */
        put_bare(v, &s[(*i)++], outer);
        return 0;
    }
    *i = x.end;
    return put_code(v, &x);
}

static int put_piece(struct assembly *v, const struct piece *piece)
{
    const struct spot *s = (const struct spot *)v->spot.item + piece->first;
    const struct tt_place_row *r = &v->p->place[s->place];
    const char *outer = tt_block_name(v->p, s->outer);
    int error = 0;

    v->last_file = NULL;
    if (!v->sorted) {
        tt_table_row(v->t, TT_ROW_HEADING, 0, 0);
        put_figures(v, piece->all);
        tt_table_string(
            v->t, v->name,
            tt_table_text(v->t, "%s  %s", outer, tt_profile_string(v->p, r->module)));
        tt_table_string(v->t, v->function, outer);
        tt_table_string(v->t, v->module, tt_profile_string(v->p, r->module));
    }
    for (size_t i = piece->first; !error && i < piece->end;)
        error = put_part(v, piece, &i, outer);
    return error;
}

static void put_rest(struct assembly *v, uint64_t amount, const char *name)
{
    if (!amount)
        return;
    tt_table_row(v->t, TT_ROW_REMAINDER, 0, 0);
    put_figures(v, amount);
    tt_table_string(v->t, v->name, name);
    v->sum += amount;
}

static uint32_t add_column(struct assembly *v, const char *key, const char *title,
                           enum tt_column_type type, uint32_t flags)
{
    tt_table_column(v->t, key, title, "", type, flags);
    return (uint32_t)tt_table_columns(v->t) - 1;
}

static void add_columns(struct assembly *v, int bytes)
{
    const uint32_t detail = TT_COLUMN_DETAIL, rare = detail | TT_COLUMN_JSON;

    tt_self_columns(v->l, v->t, &v->c);
    v->address = add_column(v, "address", "address", TT_COLUMN_TEXT, 0);
    v->bytes = add_column(v, "bytes", "bytes", TT_COLUMN_TEXT, bytes ? 0 : detail);
    v->label = add_column(v, "label", "", TT_COLUMN_TEXT, 0);
    v->name = add_column(v, "name", "instruction", TT_COLUMN_TEXT, TT_COLUMN_NAME);
    v->function = add_column(v, "function", "function", TT_COLUMN_TEXT, detail);
    v->module = add_column(v, "module", "module", TT_COLUMN_TEXT, detail);
    v->file = add_column(v, "file", "file", TT_COLUMN_TEXT, detail);
    v->line = add_column(v, "line", "line", TT_COLUMN_AMOUNT, detail);
    v->at_file = add_column(v, "at_file", "of the file", TT_COLUMN_TEXT, rare);
    v->at_line = add_column(v, "at_line", "of the line", TT_COLUMN_AMOUNT, rare);
}

static int put_all(struct assembly *v, struct tt_query *q)
{
    const uint32_t limit = tt_limit(q, OWN_LIMIT);
    const struct piece *piece = v->piece.item;
    uint64_t left = 0, mine = 0;
    int error = 0;

    for (size_t i = 0; !error && i < v->piece.count; i++) {
        mine += piece[i].mine;
        if (!v->sorted && i >= limit)
            left += piece[i].all;
        else
            error = put_piece(v, &piece[i]);
    }
    if (!error && v->sorted) {
        error = tt_view_sort(q, v->t, "self");
        tt_view_cut(v->l, v->t, &v->c, tt_limit(q, 0), tt_threshold(q, 0));
    }
    if (!v->listing)
        tt_table_note(v->t, "no instructions",
                      "instructions are shown by 'tallytree view' and 'tallytree report "
                      "assembly', on a machine that has the files that ran");
    put_rest(v, left, "[code of other functions]");
    put_rest(v, v->a.without, "[no address known]");
    tt_table_row(v->t, TT_ROW_TOTAL, 0, 0);
    put_figures(v, v->sum);
    tt_table_string(v->t, v->name,
                    v->sum > mine + v->a.without ? "total, with what is inlined there"
                                                 : "total");
    tt_view_notes(v->p, &v->l->choice, v->t);
    return error;
}

int tt_view_assembly(const struct tt_profile *p, struct tt_query *q, struct tt_table *t)
{
    const int bytes = tt_view_word(q, "assembly", "bytes");
    struct tt_metric_view l;
    struct assembly v = {.l = &l, .p = p, .t = t, .listing = q->listing};
    int error = bytes < 0 ? bytes : tt_metric_view_init(&l, p, q);

    if (bytes < 0)
        return error;
    v.sorted = q->sort != NULL;
    v.whole = q->limit == 0;
    tt_vector_init(&v.spot, l.memory, sizeof(struct spot));
    tt_vector_init(&v.piece, l.memory, sizeof(struct piece));
    tt_vector_init(&v.target, l.memory, sizeof(uint64_t));
    if (!error) {
        error = tt_addressed_init(&v.a, &l, q);
        error = error ?: find_spots(&v);
        error = error ?: find_pieces(&v);
        if (!error) {
            add_columns(&v, bytes);
            error = put_all(&v, q);
        }
        tt_addressed_fini(&v.a);
    }
    tt_vector_fini(&v.spot);
    tt_vector_fini(&v.piece);
    tt_vector_fini(&v.target);
    tt_metric_view_fini(&l);
    return error;
}
