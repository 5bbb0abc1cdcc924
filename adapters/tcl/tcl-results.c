/* SPDX-License-Identifier: MIT */
/* tcl-results.c - what was counted so far, for the program itself: a line for each place, whatever
 * the paths that led there. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tcl-history.h"
#include "tcl-package.h"

struct row {
    struct row *next;
    struct tt_block_info block;                   /* strings are owned */
    uint64_t calls, count, self, min, max, below; /* below: calls in it, and itself */
    double sum, mean, squares; /* squares: of distances from the mean */
};

struct results {
    struct row *first, **row; /* row: of the path to where tt_visit is, by depth */
    size_t depths, count;
    Tcl_HashTable rows; /* by identity */
    double us;          /* of a tick */
};

/* ── Rows ─────────────────────────────────────────────────────────────────────────── */

static struct row *make_row(struct results *r, const struct tt_block_info *b)
{
    struct row *row = calloc(1, sizeof *row);

    if (!row)
        return NULL;
    row->block = *b;
    row->block.name = strdup(b->name);
    row->block.file = strdup(b->file);
    row->next = r->first;
    r->first = row;
    r->count++;
    return row;
}

static struct row *row_of(struct results *r, const struct tt_block_info *b)
{
    Tcl_Obj *key = Tcl_ObjPrintf("%s\n%s\n%u\n%lu\n%d", b->file, b->name, b->line,
                                 (unsigned long)b->offset, (int)b->kind);
    Tcl_HashEntry *e;
    int is_new;

    Tcl_IncrRefCount(key);
    e = Tcl_CreateHashEntry(&r->rows, Tcl_GetString(key), &is_new);
    Tcl_DecrRefCount(key);
    if (is_new)
        Tcl_SetHashValue(e, make_row(r, b));
    return Tcl_GetHashValue(e);
}

static int set_depth(struct results *r, size_t depth, struct row *row)
{
    if (depth >= r->depths) {
        size_t depths = depth * 2 + 64;
        struct row **more = realloc(r->row, depths * sizeof(struct row *));
        if (!more)
            return -TT_ERR_MEMORY;
        r->row = more;
        r->depths = depths;
    }
    r->row[depth] = row;
    return 0;
}

/* Those of several contexts together, without a square that could be lost. */
static void add_times(struct row *row, const struct tt_visited *v)
{
    double a = (double)row->count, b = (double)v->activations,
           apart = v->mean - row->mean;

    if (!v->activations)
        return;
    if (!row->count || v->min < row->min)
        row->min = v->min;
    if (v->max > row->max)
        row->max = v->max;
    row->squares += v->deviation * v->deviation * b + apart * apart * a * b / (a + b);
    row->mean += apart * b / (a + b);
    row->count += v->activations;
    row->sum += (double)v->sum;
}

static int add_context(const struct tt_visited *v, void *arg)
{
    struct results *r = arg;
    struct row *row = NULL;

    if (v->depth && (v->block.kind == TT_KIND_STATEMENT ||
                     v->block.kind == TT_KIND_BLOCK || v->block.kind == TT_KIND_CENTRE)) {
        row = row_of(r, &v->block);
        if (!row)
            return -TT_ERR_MEMORY;
        row->calls += v->calls;
        row->self += v->self;
        add_times(row, v);
    }
    if (set_depth(r, v->depth, row) != 0)
        return -TT_ERR_MEMORY;
    for (size_t i = 0; i <= v->depth; i++)
        if (r->row[i])
            r->row[i]->below += v->calls;
    return 0;
}

static int collect(Tcl_Interp *interp, struct results *r)
{
    int error;

    *r = (struct results){.us = 1e6 / (double)tt_tcl_clock.hz};
    if (!tt_tcl_clock.hz)
        return tt_tcl_fail(interp, "it was never started");
    if (tt_tcl_mode == TT_TCL_SAMPLED)
        return tt_tcl_fail(interp, "samples are in what is written");
    Tcl_InitHashTable(&r->rows, TCL_STRING_KEYS);
    tt_tcl_books_settle((Interp *)(void *)interp);
    tt_tcl_books_pause();
    error = tt_visit(add_context, r);
    tt_tcl_books_resume();
    Tcl_DeleteHashTable(&r->rows);
    free(r->row);
    return error < 0 ? tt_tcl_fail(interp, tt_error_text(error)) : TCL_OK;
}

static void drop(struct results *r)
{
    for (struct row *row = r->first, *next; row; row = next) {
        next = row->next;
        free((char *)(uintptr_t)row->block.name);
        free((char *)(uintptr_t)row->block.file);
        free(row);
    }
}

static double deviation_of(const struct row *row)
{
    return row->count ? sqrt(row->squares / (double)row->count) : 0;
}

/* ── As a dict ────────────────────────────────────────────────────────────────────── */

static void put(Tcl_Obj *dict, const char *name, double value)
{
    Tcl_DictObjPut(NULL, dict, Tcl_NewStringObj(name, -1), Tcl_NewDoubleObj(value));
}

/* What a mark costs is between what loops of some kinds said; two marks a call at most. */
static void put_bracket(const struct results *r, Tcl_Obj *dict, const struct row *row)
{
    const struct tt_tcl_clock *c = &tt_tcl_clock;
    double marks = 2 * (double)row->below, low = row->sum, high = row->sum;

    if (c->method == TT_TCL_OURS && c->high) {
        low -= marks * ((double)c->high - (double)c->cost);
        high += marks * ((double)c->cost - (double)c->low);
    }
    put(dict, "low", low > 0 ? low * r->us : 0);
    put(dict, "high", high * r->us);
}

static void put_history(const struct results *r, Tcl_Obj *dict, const struct row *row)
{
    uint32_t length = tt_tcl_history_length();
    uint64_t *ticks = length ? malloc(length * sizeof *ticks) : NULL;
    Tcl_Obj *list;

    if (!ticks)
        return;
    list = Tcl_NewListObj(0, NULL);
    length = tt_tcl_history_get(tt_block_make(&row->block), ticks);
    for (uint32_t i = 0; i < length; i++)
        Tcl_ListObjAppendElement(NULL, list, Tcl_NewDoubleObj((double)ticks[i] * r->us));
    Tcl_DictObjPut(NULL, dict, Tcl_NewStringObj("history", -1), list);
    free(ticks);
}

static Tcl_Obj *dict_of(const struct results *r, const struct row *row)
{
    Tcl_Obj *dict = Tcl_NewDictObj();

    Tcl_DictObjPut(NULL, dict, Tcl_NewStringObj("calls", -1),
                   Tcl_NewWideIntObj((Tcl_WideInt)row->calls));
    put(dict, "min", (double)row->min * r->us);
    put(dict, "avg", row->mean * r->us);
    put(dict, "max", (double)row->max * r->us);
    put(dict, "total", row->sum * r->us);
    put(dict, "self", (double)row->self * r->us);
    put(dict, "deviation", deviation_of(row) * r->us);
    put_bracket(r, dict, row);
    put_history(r, dict, row);
    return dict;
}

static Tcl_Obj *key_of(const struct tt_block_info *b)
{
    Tcl_Obj *word[] = {Tcl_NewStringObj(b->file, -1), Tcl_NewWideIntObj(b->line),
                       Tcl_NewWideIntObj((Tcl_WideInt)b->offset),
                       Tcl_NewWideIntObj(b->length), Tcl_NewStringObj(b->name, -1)};

    return Tcl_NewListObj(5, word);
}

int tt_tcl_results(ClientData data, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    struct results r;
    Tcl_Obj *dict;

    (void)data;
    if (objc != 1) {
        Tcl_WrongNumArgs(interp, 1, objv, "");
        return TCL_ERROR;
    }
    if (collect(interp, &r) != TCL_OK) {
        drop(&r);
        return TCL_ERROR;
    }
    dict = Tcl_NewDictObj();
    for (const struct row *row = r.first; row; row = row->next)
        Tcl_DictObjPut(NULL, dict, key_of(&row->block), dict_of(&r, row));
    drop(&r);
    Tcl_SetObjResult(interp, dict);
    return TCL_OK;
}

/* ── As a table ───────────────────────────────────────────────────────────────────── */

enum column {
    CALLS,
    MIN,
    AVG,
    MAX,
    TOTAL,
    SELF,
    DEVIATION,
    LINE,
    INDEX,
    LENGTH,
    FILE_NAME
};

static double figure(const struct row *row, enum column column)
{
    switch (column) {
    case CALLS:
        return (double)row->calls;
    case MIN:
        return (double)row->min;
    case AVG:
        return row->mean;
    case MAX:
        return (double)row->max;
    case TOTAL:
        return row->sum;
    case SELF:
        return (double)row->self;
    case DEVIATION:
        return deviation_of(row);
    case LINE:
        return -(double)row->block.line;
    case INDEX:
        return -(double)row->block.offset;
    case LENGTH:
        return -(double)row->block.length;
    case FILE_NAME:
        break;
    }
    return 0;
}

static __thread enum column sorting; /* qsort has no argument to pass it by */

/* Figures fall, places rise. */
static int compare(const void *x, const void *y)
{
    const struct row *a = *(const struct row *const *)x,
                     *b = *(const struct row *const *)y;
    double p = figure(a, sorting), q = figure(b, sorting);
    int by_file = strcmp(a->block.file, b->block.file);

    if (p != q)
        return p < q ? 1 : -1;
    if (by_file)
        return by_file;
    return (a->block.offset > b->block.offset) - (a->block.offset < b->block.offset);
}

static void add_line(const struct results *r, Tcl_Obj *out, const struct row *row)
{
    char line[200];

    (void)snprintf(
        line, sizeof line, "%9llu %11.3f %11.3f %11.3f %13.3f %13.3f %6u %7llu %6u  ",
        (unsigned long long)row->calls, (double)row->min * r->us, row->mean * r->us,
        (double)row->max * r->us, row->sum * r->us, (double)row->self * r->us,
        row->block.line, (unsigned long long)row->block.offset, row->block.length);
    Tcl_AppendStringsToObj(out, line, row->block.file, "  ", row->block.name, "\n", NULL);
}

int tt_tcl_report(ClientData data, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    static const char *const options[] = {"-sort", NULL};
    static const char *const columns[] = {"calls", "min",    "avg",       "max",
                                          "total", "self",   "deviation", "line",
                                          "index", "length", "file",      NULL};
    struct row **sorted;
    struct results r;
    Tcl_Obj *out;
    size_t n = 0;
    int column = TOTAL, ignored;

    (void)data;
    if (objc != 1 && objc != 3) {
        Tcl_WrongNumArgs(interp, 1, objv, "?-sort column?");
        return TCL_ERROR;
    }
    if (objc == 3 && (Tcl_GetIndexFromObj(interp, objv[1], options, "option", TCL_EXACT,
                                          &ignored) != TCL_OK ||
                      Tcl_GetIndexFromObj(interp, objv[2], columns, "column", TCL_EXACT,
                                          &column) != TCL_OK))
        return TCL_ERROR;
    if (collect(interp, &r) != TCL_OK ||
        !(sorted = malloc((r.count + 1) * sizeof(*sorted)))) {
        drop(&r);
        return TCL_ERROR;
    }
    for (struct row *row = r.first; row; row = row->next)
        if (row->block.kind != TT_KIND_BLOCK || tt_tcl_mode == TT_TCL_PROCS)
            sorted[n++] = row;
    sorting = (enum column)column;
    qsort(sorted, n, sizeof *sorted, compare);
    out = Tcl_ObjPrintf("%9s %11s %11s %11s %13s %13s %6s %7s %6s  file\n", "calls",
                        "min us", "avg us", "max us", "total us", "self us", "line",
                        "index", "length");
    for (size_t i = 0; i < n; i++)
        add_line(&r, out, sorted[i]);
    free(sorted);
    drop(&r);
    Tcl_SetObjResult(interp, out);
    return TCL_OK;
}
