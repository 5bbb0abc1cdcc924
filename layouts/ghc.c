/* SPDX-License-Identifier: MIT */
/* ghc.c - `tallytree report ghc`: the reports of GHC's cost-centre profiler.
 *
 * A context is a cost-centre stack, the root is MAIN.  Time is counted in ticks of a
 * millisecond; a tick of a deterministic clock is one.  Stacks without any figure, with all
 * below them, are left out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "layouts.h"
#include "sorted.h"
#include "table-json.h"
#include "table-print.h"

enum flag { PLAIN = 1, VERBOSE, ALL, JSON };

const struct tt_flag tt_ghc_flags[] = {
    {NULL, 'p', PLAIN, NULL, NULL, "time and allocation, as +RTS -p; the default"},
    {NULL, 'P', VERBOSE, NULL, NULL, "ticks and bytes too"},
    {"pa", 0, ALL, NULL, NULL, "all cost centres"},
    {"pj", 0, JSON, NULL, NULL, "as JSON"},
    {NULL, 0, 0, NULL, NULL, NULL},
};

struct centre {
    uint64_t ticks, alloc;
    uint32_t block;
};

struct ghc {
    const struct tt_profile *p;
    struct tt_text *out;
    enum flag form;
    const struct tt_metric_columns *time, *alloc, *calls; /* NULL: there is none */
    uint64_t tick;                                        /* time of a tick */
    uint64_t total_ticks, total_alloc;
    uint64_t interval; /* us of a tick */
    uint64_t word;     /* bytes of a word, as the unit of allocation; 1: bytes */
};

/* ── Figures ──────────────────────────────────────────────────────────────────────── */

/* Ticks are whole: they are differences of rounded running sums, and add up. */
static uint64_t ticks_between(const struct ghc *g, uint32_t from, uint32_t to)
{
    const struct tt_metric_columns *m = g->time;
    uint64_t before = 0, then = 0;

    if (!m)
        return 0;
    before = tt_sum_of(m->self, 0, from) + tt_sum_of(m->elsewhere, 0, from);
    then = tt_sum_of(m->self, 0, to) + tt_sum_of(m->elsewhere, 0, to);
    return (then + g->tick / 2) / g->tick - (before + g->tick / 2) / g->tick;
}

static uint64_t ticks_of(const struct ghc *g, uint32_t c)
{
    return ticks_between(g, c, c + 1);
}

static uint64_t inherited_ticks(const struct ghc *g, uint32_t c)
{
    return ticks_between(g, c, tt_end_of(g->p, c));
}

static uint64_t alloc_of(const struct ghc *g, uint32_t c)
{
    return g->alloc ? (tt_self_of(g->alloc, c) + tt_elsewhere_of(g->alloc, c)) * g->word
                    : 0;
}

static uint64_t inherited_alloc(const struct ghc *g, uint32_t c)
{
    return g->alloc ? tt_total_of(g->p, g->alloc, c) * g->word : 0;
}

static uint64_t entries_of(const struct ghc *g, uint32_t c)
{
    return g->calls ? tt_self_of(g->calls, c) : 0;
}

static int is_empty(const struct ghc *g, uint32_t c)
{
    uint32_t end = tt_end_of(g->p, c);

    return c && !inherited_ticks(g, c) && !inherited_alloc(g, c) &&
           !(g->calls && tt_sum_of(g->calls->self, c, end));
}

static double percent(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole * 100 : 0;
}

/* ── Names ────────────────────────────────────────────────────────────────────────── */

static const char *label_of(const struct ghc *g, uint32_t block)
{
    return block ? tt_block_name(g->p, block) : "MAIN";
}

static const char *module_of(const struct ghc *g, uint32_t block)
{
    return block ? g->p->strings + g->p->block[block].module : "MAIN";
}

enum { PLACE = 256 };

static const char *place_of(const struct ghc *g, uint32_t block, char place[PLACE])
{
    const struct tt_block_row *b = &g->p->block[block];
    const char *file = g->p->strings + b->file;
    int length;

    if (!block)
        return "<built-in>";
    if (!*file)
        return "<no location info>";
    if (!b->line)
        return file;
    length = snprintf(place, PLACE, "%.200s:%u:%u", file, b->line, b->column);
    if (b->kind == TT_KIND_CENTRE && b->length > 1) /* it is within one line */
        (void)snprintf(place + length, PLACE - (size_t)length, "-%u",
                       b->column + b->length - 1);
    return place;
}

struct widths {
    size_t label, module, place, id;
};

static size_t larger(size_t a, size_t b) { return a > b ? a : b; }

static void widen(const struct ghc *g, struct widths *w, uint32_t block, size_t indent)
{
    char place[PLACE];

    w->label = larger(w->label, indent + tt_text_length(label_of(g, block)));
    w->module = larger(w->module, tt_text_length(module_of(g, block)));
    w->place = larger(w->place, tt_text_length(place_of(g, block, place)));
}

static void put_padded(struct tt_text *out, const char *s, size_t width, int last)
{
    tt_text_put(out, s);
    tt_text_repeat(out, ' ', larger(width, tt_text_length(s)) - tt_text_length(s));
    if (!last)
        tt_text_put(out, " ");
}

static void put_centre(const struct ghc *g, const struct widths *w, uint32_t block,
                       size_t indent)
{
    char place[PLACE];

    tt_text_repeat(g->out, ' ', indent);
    put_padded(g->out, label_of(g, block), w->label - indent, 0);
    put_padded(g->out, module_of(g, block), w->module, 0);
    put_padded(g->out, place_of(g, block, place), w->place, 1);
}

static void put_verbose(const struct ghc *g, uint64_t ticks, uint64_t alloc)
{
    if (g->form == VERBOSE || g->form == ALL)
        tt_text_printf(g->out, "  %5llu %9llu", (unsigned long long)ticks,
                       (unsigned long long)alloc);
    tt_text_put(g->out, "\n");
}

/* ── The list of cost centres ─────────────────────────────────────────────────────── */

static int by_ticks(const void *a, const void *b)
{
    const struct centre *x = a, *y = b;

    return TT_ORDER(y->ticks, x->ticks) ?: TT_ORDER(y->alloc, x->alloc)
           ?: TT_ORDER(x->block, y->block);
}

static void put_centres(struct ghc *g, struct centre *centre)
{
    struct widths w = {.label = 11, .module = 6, .place = 3};
    size_t count = 0;

    for (uint32_t b = 0; b < g->p->blocks; b++)
        centre[b] = (struct centre){.block = b};
    for (uint32_t c = 0; c < g->p->contexts; c++) {
        centre[tt_block_of(g->p, c)].ticks += ticks_of(g, c);
        centre[tt_block_of(g->p, c)].alloc += alloc_of(g, c);
    }
    for (uint32_t b = 0; b < g->p->blocks; b++)
        if (centre[b].ticks > g->total_ticks / 100 ||
            centre[b].alloc > g->total_alloc / 100 || g->form == ALL) {
            centre[count++] = centre[b];
            widen(g, &w, centre[count - 1].block, 0);
        }
    qsort(centre, count, sizeof *centre, by_ticks);
    put_padded(g->out, "COST CENTRE", w.label, 0);
    put_padded(g->out, "MODULE", w.module, 0);
    put_padded(g->out, "SRC", w.place, 1);
    tt_text_printf(g->out, " %6s %6s", "%time", "%alloc");
    if (g->form != PLAIN)
        tt_text_printf(g->out, "  %5s %9s", "ticks", "bytes");
    tt_text_put(g->out, "\n\n");
    for (size_t i = 0; i < count; i++) {
        put_centre(g, &w, centre[i].block, 0);
        tt_text_printf(g->out, " %6.1f %6.1f", percent(centre[i].ticks, g->total_ticks),
                       percent(centre[i].alloc, g->total_alloc));
        put_verbose(g, centre[i].ticks, centre[i].alloc);
    }
    tt_text_put(g->out, "\n\n");
}

/* ── The stacks ───────────────────────────────────────────────────────────────────── */

struct stack { /* to be printed later */
    uint32_t context, depth;
    uint64_t entries;
};

static const struct ghc *sorting; /* qsort has no argument to pass it by */

/* Reversed, as a stack returns the last one first. */
static int by_entries(const void *a, const void *b)
{
    const struct stack *x = a, *y = b;

    return TT_ORDER(x->entries, y->entries)
               ?: strcmp(label_of(sorting, tt_block_of(sorting->p, y->context)),
                         label_of(sorting, tt_block_of(sorting->p, x->context)));
}

static int push_children(const struct ghc *g, struct tt_vector *stack, uint32_t context,
                         uint32_t depth)
{
    size_t first = stack->count;

    for (uint32_t c = context + 1; c < tt_end_of(g->p, context); c = tt_end_of(g->p, c)) {
        if (g->form != ALL && is_empty(g, c))
            continue;
        if (tt_vector_push(stack, &(struct stack){c, depth + 1, entries_of(g, c)}) != 0)
            return -TT_ERR_MEMORY;
    }
    sorting = g;
    if (stack->count > first)
        qsort((struct stack *)stack->item + first, stack->count - first, stack->size,
              by_entries);
    return 0;
}

/* Calls `each` for every stack, children by entries and label. */
static int each_stack(const struct ghc *g,
                      void (*each)(const struct ghc *, uint32_t context, uint32_t depth,
                                   void *arg),
                      void *arg)
{
    struct tt_vector stack;
    int error = 0;

    tt_vector_init(&stack, g->p->memory, sizeof(struct stack));
    each(g, 0, 0, arg);
    error = push_children(g, &stack, 0, 0);
    while (!error && stack.count) {
        struct stack s = ((struct stack *)stack.item)[--stack.count];
        each(g, s.context, s.depth, arg);
        error = push_children(g, &stack, s.context, s.depth);
    }
    tt_vector_fini(&stack);
    return error;
}

static void widen_for_stack(const struct ghc *g, uint32_t context, uint32_t depth,
                            void *arg)
{
    struct widths *w = arg;
    char id[16];

    widen(g, w, tt_block_of(g->p, context), depth);
    w->id = larger(w->id, (size_t)snprintf(id, sizeof id, "%u", context));
}

static void put_stack(const struct ghc *g, uint32_t context, uint32_t depth, void *arg)
{
    const struct widths *w = arg;

    put_centre(g, w, tt_block_of(g->p, context), depth);
    tt_text_printf(g->out, " %*u %11llu  %5.1f  %5.1f   %5.1f  %5.1f", (int)w->id,
                   context, (unsigned long long)entries_of(g, context),
                   percent(ticks_of(g, context), g->total_ticks),
                   percent(alloc_of(g, context), g->total_alloc),
                   percent(inherited_ticks(g, context), g->total_ticks),
                   percent(inherited_alloc(g, context), g->total_alloc));
    put_verbose(g, ticks_of(g, context), alloc_of(g, context));
}

static int put_stacks(const struct ghc *g)
{
    struct widths w = {.label = 11, .module = 6, .place = 3, .id = 3};
    int error = each_stack(g, widen_for_stack, &w);

    if (error)
        return error;
    tt_text_repeat(g->out, ' ', w.label + w.module + w.place + w.id + 3);
    tt_text_printf(g->out, " %11s  %12s   %12s\n", "", "individual", "inherited");
    put_padded(g->out, "COST CENTRE", w.label, 0);
    put_padded(g->out, "MODULE", w.module, 0);
    put_padded(g->out, "SRC", w.place, 0);
    put_padded(g->out, "no.", w.id, 1);
    tt_text_printf(g->out, " %11s  %5s %6s   %5s %6s", "entries", "%time", "%alloc",
                   "%time", "%alloc");
    if (g->form != PLAIN)
        tt_text_printf(g->out, "  %5s %9s", "ticks", "bytes");
    tt_text_put(g->out, "\n\n");
    return each_stack(g, put_stack, &w);
}

/* ── The reports ──────────────────────────────────────────────────────────────────── */

static const char *program_of(const struct ghc *g)
{
    const char *program = tt_profile_program(g->p);

    return program ? program : "";
}

static double seconds_of(const struct ghc *g)
{
    return (double)g->total_ticks * (double)g->interval / 1e6;
}

static const char *with_commas(uint64_t n, char out[32])
{
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)n), to = 0;

    for (int i = 0; i < length; i++) {
        if (i && (length - i) % 3 == 0)
            out[to++] = ',';
        out[to++] = digits[i];
    }
    out[to] = '\0';
    return out;
}

static int put_text(struct ghc *g)
{
    struct centre *centre = tt_memory_get(g->p->memory, g->p->blocks * sizeof *centre);
    char alloc[32];
    int error;

    if (!centre)
        return -TT_ERR_MEMORY;
    tt_text_printf(g->out,
                   "\tTime and Allocation Profiling Report  (Final)\n\n\t   %s\n\n"
                   "\ttotal time  = %11.2f secs   (%llu ticks @ %llu us, 1 processor)\n"
                   "\ttotal alloc = %11s bytes  (excludes profiling overheads)\n\n",
                   program_of(g), seconds_of(g), (unsigned long long)g->total_ticks,
                   (unsigned long long)g->interval, with_commas(g->total_alloc, alloc));
    put_centres(g, centre);
    error = put_stacks(g);
    tt_memory_put(g->p->memory, centre);
    return error;
}

static void put_json_centre(const struct ghc *g, uint32_t block)
{
    char place[PLACE];

    tt_text_printf(g->out, "%s\n{\"id\": %u, \"label\": ", block ? "," : "", block);
    tt_text_json_string(g->out, label_of(g, block));
    tt_text_put(g->out, ", \"module\": ");
    tt_text_json_string(g->out, module_of(g, block));
    tt_text_put(g->out, ", \"src_loc\": ");
    tt_text_json_string(g->out, place_of(g, block, place));
    tt_text_printf(g->out, ", \"is_caf\": %s}",
                   strncmp(label_of(g, block), "CAF", 3) == 0 ? "true" : "false");
}

/* Stacks come in preorder: those open deeper than the next one are closed before it. */
static void put_json_stack(const struct ghc *g, uint32_t context, uint32_t depth,
                           void *arg)
{
    uint32_t *open = arg; /* number of open stacks */

    for (; *open > depth; --*open)
        tt_text_put(g->out, "]}");
    if (context && g->out->bytes.count &&
        ((const char *)g->out->bytes.item)[g->out->bytes.count - 1] == '}')
        tt_text_put(g->out, ",\n");
    tt_text_printf(g->out,
                   "{\"id\": %u, \"entries\": %llu, \"alloc\": %llu, \"ticks\": %llu, "
                   "\"children\": [",
                   tt_block_of(g->p, context), (unsigned long long)entries_of(g, context),
                   (unsigned long long)alloc_of(g, context),
                   (unsigned long long)ticks_of(g, context));
    ++*open;
}

static int put_json(struct ghc *g)
{
    uint32_t open = 0;
    int error;

    tt_text_put(g->out, "{\n\"program\": ");
    tt_text_json_string(g->out, program_of(g));
    tt_text_printf(
        g->out,
        ",\n\"arguments\": [],\n\"rts_arguments\": [\"-pj\"],\n"
        "\"end_time\": \"\",\n\"initial_capabilities\": 1,\n"
        "\"total_time\": %.2f,\n\"total_ticks\": %llu,\n"
        "\"tick_interval\": %llu,\n\"total_alloc\": %llu,\n\"cost_centres\": [",
        seconds_of(g), (unsigned long long)g->total_ticks,
        (unsigned long long)g->interval, (unsigned long long)g->total_alloc);
    for (uint32_t b = 0; b < g->p->blocks; b++)
        put_json_centre(g, b);
    tt_text_put(g->out, "],\n\"profile\": ");
    error = each_stack(g, put_json_stack, &open);
    for (; open; open--)
        tt_text_put(g->out, "]}");
    tt_text_put(g->out, "\n}\n");
    return error;
}

static const struct tt_metric_columns *find_metric(const struct tt_profile *p,
                                                   const char *const *names)
{
    for (; *names; names++) {
        uint32_t m = tt_metric_find(p, *names);
        if (m != TT_NONE)
            return &p->metric[m];
    }
    return NULL;
}

/* A tick of GHC is a ms.  If the profile states the frequency of its ticks, a tick is a
 * us, as a short program would have no ms. */
static void find_units(struct ghc *g)
{
    enum { WORD = 8 }; /* bytes, on machines for which Clean has profiles */
    uint64_t frequency = tt_fact_number(g->p, "frequency.ticks a second");

    if (g->time && strcmp(g->time->unit, "ns") == 0) {
        g->tick = 1000000;
    } else if (g->time && strcmp(g->time->unit, "ticks") == 0 && frequency >= 1000000) {
        g->tick = frequency / 1000000;
        g->interval = 1;
    }
    if (g->alloc && strcmp(g->alloc->unit, "words") == 0)
        g->word = WORD;
}

int tt_report_ghc(const struct tt_profile *p, int argc, char **argv, struct tt_text *out,
                  char *error, size_t size)
{
    static const char *const times[] = {"time", "ticks", "samples", NULL};
    static const char *const allocs[] = {"alloc", "bytes", "words", "heap", NULL};
    static const char *const calls[] = {"calls", NULL};
    struct ghc g = {
        .p = p, .out = out, .form = PLAIN, .tick = 1, .interval = 1000, .word = 1};
    struct tt_flags f;
    int id;

    tt_flags_init(&f, argc, argv, tt_ghc_flags);
    while ((id = tt_flags_next(&f)) > 0)
        g.form = (enum flag)id;
    if (id < 0) {
        (void)snprintf(error, size, "%s", f.error);
        return id;
    }
    g.time = find_metric(p, times);
    g.alloc = find_metric(p, allocs);
    g.calls = find_metric(p, calls);
    find_units(&g);
    g.total_ticks = ticks_between(&g, 0, p->contexts);
    g.total_alloc = inherited_alloc(&g, 0);
    return g.form == JSON ? put_json(&g) : put_text(&g);
}
