/* SPDX-License-Identifier: MIT */
/* ocr-report.c - `tallytree report ocr`: OCR's analyser, its flags and its sections.
 *
 * A node is a process, or the node that the strand names; its threads are numbered in
 * their order.  Without -n all threads belong to one node. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "layouts.h"
#include "ocr-print.h"
#include "text.h"

enum flag {
    BASE = 1,
    NODE,
    THREAD,
    STATS,
    RECURSE,
    EXCLUDE,
    SHIPPED,
    AS_OCR,
    AVERAGE,
    ALL_CALLS
};

const struct tt_flag tt_ocr_flags[] = {
    {"base-file", 'b', BASE, "BASE", NULL, "only strands whose name begins with BASE"},
    {"node", 'n', NODE, "N", NULL, "nodes apart: 'from:to', a list, or '*'"},
    {"thread", 't', THREAD, "T", NULL, "threads of a node: 'from:to', a list, or '*'"},
    {"stats", 's', STATS, NULL, NULL, "show mean and deviation over threads, too"},
    {"recurse", 'r', RECURSE, NULL, NULL, "the time of calls to itself, in brackets"},
    {"except", 'e', EXCLUDE, "F,G", NULL, "skip threads that ran only these functions"},
    {"shipped", 0, SHIPPED, NULL, NULL,
     "compute recursion as OCR's program, not its document"},
    {"as-ocr", 0, AS_OCR, NULL, NULL, "the same, and deviations with its flaws"},
    {"average-without-self", 0, AVERAGE, NULL, NULL, "add a column without recursion"},
    {"all-calls", 0, ALL_CALLS, NULL, NULL, "add a column with direct calls to itself"},
    {NULL, 0, 0, NULL, NULL, NULL},
};

struct run {
    const struct tt_profile *p;
    struct ocr o;
    struct ocr_style style;
    const char *base, *nodes, *threads, *except;
    uint32_t *node, *thread; /* of each strand: its node, its number in it */
    unsigned char *chosen;
    uint32_t strands, many_nodes;
    int as_ocr;
    struct tt_text *out;
};

/* ── Which threads ────────────────────────────────────────────────────────────────── */

/* Is this number, or name, in "from:to" (without `to`), in a list, or is it '*'? */
static int is_in(const char *choice, uint64_t number, const char *name)
{
    unsigned from, to;
    char decimal[24];
    const char *word = choice;

    if (!choice || strcmp(choice, "*") == 0)
        return 1;
    if (sscanf(choice, "%u:%u", &from, &to) == 2)
        return number >= from && number < to;
    (void)snprintf(decimal, sizeof decimal, "%llu", (unsigned long long)number);
    for (; *word;
         word += word[strcspn(word, ",")] ? strcspn(word, ",") + 1 : strcspn(word, ",")) {
        size_t length = strcspn(word, ",");
        if ((strlen(decimal) == length && strncmp(word, decimal, length) == 0) ||
            (strlen(name) == length && strncmp(word, name, length) == 0))
            return 1;
    }
    return 0;
}

static int is_range(const char *choice)
{
    unsigned from, to;
    int end = 0;

    return !choice || !strchr(choice, ':') ||
           (sscanf(choice, "%u:%u%n", &from, &to, &end) == 2 && !choice[end]);
}

static const char *node_name(const struct run *r, uint32_t strand)
{
    return r->p->strands ? r->p->strings + r->p->strand[strand].node : "";
}

static const char *thread_name(const struct run *r, uint32_t strand)
{
    return r->p->strands ? r->p->strings + r->p->strand[strand].name : "";
}

/* The name of OCR's file gives node and thread, "profiler_0-1f"; the strand has the part
 * before that as its process. */
static int is_file(const struct run *r, uint32_t strand)
{
    return r->o.is_flat && r->p->strands && r->p->strings[r->p->strand[strand].process] &&
           *node_name(r, strand);
}

static int has_base(const struct run *r, uint32_t strand)
{
    char name[512];

    if (!r->base)
        return 1;
    if (!is_file(r, strand))
        return strncmp(thread_name(r, strand), r->base, strlen(r->base)) == 0;
    (void)snprintf(name, sizeof name, "%s%s-%s",
                   r->p->strings + r->p->strand[strand].process, node_name(r, strand),
                   thread_name(r, strand));
    return strncmp(name, r->base, strlen(r->base)) == 0;
}

static int is_same_node(const struct run *r, uint32_t a, uint32_t b)
{
    const struct tt_strand_row *x = &r->p->strand[a], *y = &r->p->strand[b];

    return x->host == y->host && x->process == y->process && x->pid == y->pid &&
           x->rank == y->rank && x->node == y->node;
}

static void number_strand(struct run *r, uint32_t i)
{
    int same = i && is_same_node(r, i - 1, i);
    uint64_t node = r->node[i] = i == 0 ? 0 : r->node[i - 1] + !same;
    uint64_t thread = r->thread[i] = same ? r->thread[i - 1] + 1 : 0;

    if (is_file(r, i)) {
        node = strtoull(node_name(r, i), NULL, 16);
        thread = r->p->strand[i].thread;
    }
    r->chosen[i] = is_in(r->threads, thread, thread_name(r, i)) &&
                   (!r->nodes || is_in(r->nodes, node, node_name(r, i))) &&
                   has_base(r, i);
}

static void number_strands(struct run *r)
{
    for (uint32_t i = 0; i < r->strands; i++)
        number_strand(r, i);
    for (uint32_t i = 0, last = TT_NONE; r->nodes && i < r->strands; i++)
        if (r->chosen[i] && r->node[i] != last) {
            r->many_nodes++;
            last = r->node[i];
        }
}

/* Has it only functions that were named after -e? */
static int is_ignored(const struct run *r, const struct ocr_sum *s)
{
    int any = 0;

    for (uint32_t b = 1; r->except && b < r->p->blocks; b++) {
        if (s->function[b].value[OCR_CALLS] <= 0)
            continue;
        if (!is_in(r->except, TT_NONE, tt_block_name(r->p, b)))
            return 0;
        any = 1;
    }
    return any;
}

static int has_calls(const struct run *r, const struct ocr_sum *s)
{
    for (uint32_t b = 1; b < r->p->blocks; b++)
        if (s->function[b].true_calls > 0)
            return 1;
    return 0;
}

/* Is it the only thread of its node that has this name? */
static int is_only(const struct run *r, uint32_t strand)
{
    for (uint32_t i = 0; i < r->strands; i++)
        if (i != strand && r->node[i] == r->node[strand] &&
            strcmp(thread_name(r, i), thread_name(r, strand)) == 0)
            return 0;
    return 1;
}

/* ── Sections ─────────────────────────────────────────────────────────────────────── */

static int print_thread(struct run *r, uint32_t strand, struct ocr_sum *one,
                        struct ocr_sum *node, struct ocr_sum *all)
{
    struct ocr_style style = r->style;
    const char *name = thread_name(r, strand);
    char heading[512];
    int ignored;

    if (tt_ocr_thread(&r->o, strand, one) != 0)
        return -TT_ERR_MEMORY;
    if (!has_calls(r, one))
        return 0; /* no function of it was profiled */
    ignored = is_ignored(r, one);
    if (is_file(r, strand) && !r->nodes)
        (void)snprintf(heading, sizeof heading, "#### Thread %s-%s%s ####",
                       node_name(r, strand), name, ignored ? " (ignored)" : "");
    else if (*name && is_only(r, strand))
        (void)snprintf(heading, sizeof heading, "#### Thread %s%s ####", name,
                       ignored ? " (ignored)" : "");
    else if (*name)
        (void)snprintf(heading, sizeof heading, "#### Thread %s (%u)%s ####", name,
                       r->thread[strand], ignored ? " (ignored)" : "");
    else
        (void)snprintf(heading, sizeof heading, "#### Thread %u%s ####",
                       r->thread[strand], ignored ? " (ignored)" : "");
    style.stats = 0;
    if (!ignored) {
        tt_ocr_add(&r->o, all, one);
        if (node)
            tt_ocr_add(&r->o, node, one);
    }
    return tt_ocr_print(&r->o, one, &style, heading, r->out);
}

/* The threads of one node from `*at` on, and then the node's sum. */
static int print_node(struct run *r, uint32_t *at, struct ocr_sum *one,
                      struct ocr_sum *all)
{
    uint32_t node = r->node[*at];
    struct ocr_sum sum = {0};
    char heading[160], name[64];
    int error = tt_ocr_sum_init(&r->o, &sum);

    (void)snprintf(name, sizeof name, "%u", node);
    if (*node_name(r, *at))
        (void)snprintf(name, sizeof name, "%s", node_name(r, *at));
    tt_text_printf(r->out, "############### Node %s ################\n", name);
    for (; !error && *at < r->strands && r->node[*at] == node; ++*at)
        if (r->chosen[*at])
            error = print_thread(r, *at, one, &sum, all);
    (void)snprintf(heading, sizeof heading, "#### Node %s total ####", name);
    error = error ?: tt_ocr_print(&r->o, &sum, &r->style, heading, r->out);
    tt_ocr_sum_fini(&r->o, &sum);
    return error;
}

static int print_all(struct run *r)
{
    struct ocr_sum one = {0}, all = {0};
    int error = tt_ocr_sum_init(&r->o, &one), apart = r->many_nodes > 1;

    error = error ?: tt_ocr_sum_init(&r->o, &all);
    for (uint32_t i = 0; !error && i < r->strands;) {
        if (!r->chosen[i])
            i++;
        else if (apart)
            error = print_node(r, &i, &one, &all);
        else
            error = print_thread(r, i++, &one, NULL, &all);
    }
    if (!error)
        error = tt_ocr_print(
            &r->o, &all, &r->style,
            apart ? "############### TOTAL ################" : "#### TOTAL ####", r->out);
    tt_ocr_sum_fini(&r->o, &all);
    tt_ocr_sum_fini(&r->o, &one);
    return error;
}

/* A push that led back into the path leaves no separate path, unless it was a function's
 * call of itself, which is part of the activation in any case. */
static void note_recursion(const struct run *r)
{
    const struct tt_profile *p = r->p;
    uint64_t calls = 0;

    for (uint32_t i = 0; i < p->arcs; i++)
        if (p->arc[i].block != tt_block_of(p, p->arc[i].from))
            calls += p->arc[i].calls;
    if (calls && !r->as_ocr)
        tt_text_printf(
            r->out,
            "\nNote: %llu recursive calls were folded into their paths when this "
            "was recorded, so\nthat cumulative and recursive times may be wrong. "
            "Record with recursion=none.\n",
            (unsigned long long)calls);
}

/* A thread that does not exist is an error, not an empty table. */
static int check_chosen(const struct run *r, char *error, size_t size)
{
    uint32_t most = 0;

    for (uint32_t i = 0; i < r->strands; i++) {
        if (r->chosen[i])
            return 0;
        if (r->thread[i] > most)
            most = r->thread[i];
    }
    if (r->threads && !r->nodes && !r->base)
        (void)snprintf(error, size,
                       "no thread is '%.60s'; threads have the numbers 0 to %u",
                       r->threads, most);
    else
        (void)snprintf(error, size, "there is no such thread");
    return -TT_ERR_OPTION;
}

/* ── The whole ────────────────────────────────────────────────────────────────────── */

static int take_flags(struct run *r, int argc, char **argv, char *error, size_t size)
{
    struct tt_flags f;
    int id;

    tt_flags_init(&f, argc, argv, tt_ocr_flags);
    while ((id = tt_flags_next(&f)) > 0) {
        switch ((enum flag)id) {
        case BASE:
            r->base = f.value;
            break;
        case NODE:
            r->nodes = f.value;
            break;
        case THREAD:
            r->threads = f.value;
            break;
        case STATS:
            r->style.stats = 1;
            break;
        case RECURSE:
            r->style.recurse = 1;
            break;
        case EXCLUDE:
            r->except = f.value;
            break;
        case SHIPPED:
            r->style.shipped = 1;
            break;
        case AS_OCR:
            r->style.shipped = r->as_ocr = 1;
            break;
        case AVERAGE:
            r->style.average = 1;
            break;
        case ALL_CALLS:
            r->style.all_calls = 1;
            break;
        }
    }
    if (id < 0)
        (void)snprintf(error, size, "%s", f.error);
    else if (!is_range(r->nodes) || !is_range(r->threads))
        (void)snprintf(error, size, "'%s' is no range: 'from:to', without 'to' itself",
                       is_range(r->nodes) ? r->threads : r->nodes);
    else
        return 0;
    return -TT_ERR_OPTION;
}

/* OCR's files have only the recursion that the program has computed. */
static int open_figures(struct run *r, char *error, size_t size)
{
    int failed = tt_ocr_init(&r->o, r->p);

    if (failed == -TT_ERR_OPTION)
        (void)snprintf(error, size,
                       "no activation was timed: OCR's report needs mode exact");
    if (failed == -TT_ERR_FORMAT) {
        (void)snprintf(error, size,
                       "activations are longer than OCR's report has room for");
        failed = -TT_ERR_OPTION;
    }
    if (failed)
        return failed;
    r->style.unit = r->o.ms > 1 ? "ms" : r->p->metric[tt_metric_find(r->p, "time")].unit;
    r->style.shipped |= r->o.is_flat;
    r->o.as_ocr = r->as_ocr;
    return 0;
}

int tt_report_ocr(const struct tt_profile *p, int argc, char **argv, struct tt_text *out,
                  char *error, size_t size)
{
    struct run r = {.p = p, .out = out, .strands = p->strands ? p->strands : 1};
    int failed = take_flags(&r, argc, argv, error, size);

    if (failed)
        return failed;
    failed = open_figures(&r, error, size);
    r.node = tt_memory_get(p->memory, r.strands * sizeof *r.node);
    r.thread = tt_memory_get(p->memory, r.strands * sizeof *r.thread);
    r.chosen = tt_memory_get(p->memory, r.strands);
    if (!failed && (!r.node || !r.thread || !r.chosen))
        failed = -TT_ERR_MEMORY;
    if (!failed) {
        number_strands(&r);
        failed = check_chosen(&r, error, size);
    }
    if (!failed) {
        failed = print_all(&r);
        note_recursion(&r);
    }
    tt_memory_put(p->memory, r.chosen);
    tt_memory_put(p->memory, r.thread);
    tt_memory_put(p->memory, r.node);
    tt_ocr_fini(&r.o);
    return failed;
}
