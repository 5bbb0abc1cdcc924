/* SPDX-License-Identifier: MIT */
/* cmd-dump.c - `tallytree dump`: everything in a recording, as lines of tab-separated
 * fields. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "complain.h"
#include "figures.h"
#include "load.h"
#include "profile.h"
#include "text.h"

/* ── Fields ───────────────────────────────────────────────────────────────────────── */

static void put_escaped(const char *text)
{
    char plain[TT_TEXT_PLAIN + 1];

    while (*text) {
        if (*text == ';' || *text == '\\')
            putchar('\\');
        text += tt_text_plain(text, plain);
        fputs(plain, stdout);
    }
}

static void put_block_name(const struct tt_picture_block *b)
{
    put_escaped(b->info.name);
    if (b->shares_name && (*b->info.file || b->info.line)) {
        fputs(" (", stdout);
        put_escaped(b->info.file);
        printf(":%u)", b->info.line);
    }
}

static void put_path(const struct tt_picture *p, uint32_t context, uint32_t *stack)
{
    uint32_t depth = 0;

    if (p->context[context].block == UINT32_MAX) {
        fputs("[root]", stdout);
        return;
    }
    for (uint32_t i = context; p->context[i].block != UINT32_MAX;
         i = p->context[i].parent)
        stack[depth++] = p->context[i].block;
    while (depth--) {
        put_block_name(&p->block[stack[depth]]);
        if (depth)
            putchar(';');
    }
}

static void put_number(const char *name, uint64_t n)
{
    printf("\t%s=%llu", name, (unsigned long long)n);
}

static void put_square(const char *name, const struct tt_square *s)
{
    unsigned __int128 n = (unsigned __int128)s->high << 64 | s->low;
    char digits[40], *p = digits + sizeof digits - 1;

    *p = '\0';
    do
        *--p = (char)('0' + (int)(n % 10));
    while (n /= 10);
    printf("\t%s=%s", name, p);
}

static void put_times(const struct tt_times *t)
{
    if (!t || !t->count)
        return;
    put_number("activations", t->count);
    put_number("sum", t->sum);
    put_number("min", t->min);
    put_number("max", t->max);
    put_square("square", &t->square);
    put_number("children", t->children);
    put_square("children_square", &t->children_square);
    put_number("recursive", t->recursive);
    put_square("recursive_square", &t->recursive_square);
    if (t->weighed)
        put_number("weighed", t->weighed);
}

static void put_metric(void *arg, const struct tt_metric_record *m, int elsewhere,
                       uint64_t amount)
{
    (void)arg;
    putchar('\t');
    put_escaped(m->name);
    printf("%s=%llu", elsewhere ? ".elsewhere" : "", (unsigned long long)amount);
}

static void put_generation(uint32_t n)
{
    if (n == 0xff)
        putchar('-');
    else
        printf("%s%u", n & 0x80 ? "a" : "", n & 0x7f);
}

static void put_objects(const char *name, const struct tt_objects *o)
{
    printf("\t%s=%llu,%llu,%llu", name, (unsigned long long)o->number,
           (unsigned long long)o->bytes, (unsigned long long)o->overhead);
}

struct space_line {
    const struct tt_picture *p;
    uint32_t context, *stack;
};

static void put_space(void *arg, const struct tt_space *row,
                      const struct tt_objects *alive)
{
    const struct space_line *line = arg;

    fputs("space\t", stdout);
    put_path(line->p, line->context, line->stack);
    putchar('\t');
    put_escaped(tt_picture_type(line->p, row->key));
    putchar('\t');
    put_generation(row->key >> TT_SPACE_FROM_SHIFT);
    putchar('>');
    put_generation(row->flags);
    fputs(row->kind == TT_CELL_SPACE_BELOW ? "\tbelow" : "", stdout);
    put_objects("all", &row->all);
    put_objects("alive", alive);
    putchar('\n');
}

static void put_details(const struct tt_picture *p, uint32_t cell)
{
    const struct tt_histogram *h = tt_picture_extension(p, cell, TT_HISTOGRAM);
    const struct tt_history *history = tt_picture_extension(p, cell, TT_HISTORY);
    const struct tt_slowest *slowest = tt_picture_extension(p, cell, TT_SLOWEST);

    for (int i = 0; h && i < TT_HISTOGRAM_BINS; i++)
        if (h->bin[i])
            printf("\tbin%d=%llu", i, (unsigned long long)h->bin[i]);
    for (uint64_t i = 0; history && i < history->capacity && i < history->count; i++) {
        const struct tt_activation
            *a = &history->ring[(history->count - 1 - i) % history->capacity];
        printf("\tlast%llu=%llu+%llu", (unsigned long long)i,
               (unsigned long long)a->start, (unsigned long long)a->duration);
    }
    for (uint32_t i = 0; slowest && i < slowest->count; i++)
        printf("\tslow%u=%llu+%llu", i, (unsigned long long)slowest->slot[i].start,
               (unsigned long long)slowest->slot[i].duration);
}

/* ── Lines ────────────────────────────────────────────────────────────────────────── */

static void put_fact(const char *name, uint64_t n)
{
    printf("recording\t%s\t%llu\n", name, (unsigned long long)n);
}

static void put_policy(const char *name, uint64_t policy, uint64_t length)
{
    printf("recording\t%s\t%s", name, tt_recursion_word((uint32_t)policy));
    if (length)
        printf(":%llu", (unsigned long long)length);
    printf("\n");
}

static void put_recording(const struct tt_header *h)
{
    printf("tallytree 1\nrecording\tprogram\t");
    put_escaped(h->program);
    printf("\nrecording\thost\t");
    put_escaped(h->host);
    printf("\nrecording\tstate\t%s\n", h->state == TT_RECORDING_ENDED ? "ended" : "open");
    put_fact("pid", h->pid);
    printf("recording\tclock\t%s\n", tt_clock_word(h->clock));
    put_fact("ticks_per_second", h->ticks_per_second);
    put_policy("recursion", h->recursion, h->recursion_length);
    if (h->unwound)
        put_policy("unwound", h->unwound - 1, h->unwound_length);
    for (uint32_t i = 0; i < TT_KINDS; i++)
        printf("recording\tmode.%s\t%s\n", tt_kind_word(i), tt_mode_word(h->mode[i]));
    put_fact("every", h->every);
    put_fact("hz", h->sample_hz);
    put_fact("budget", h->budget);
    put_fact("budget_nodes", h->budget_nodes);
    printf("recording\tinside\t%.3f\t%.3f\n", (double)h->inside.low / 1024,
           (double)h->inside.high / 1024);
    printf("recording\toutside\t%.3f\t%.3f\n", (double)h->outside.low / 1024,
           (double)h->outside.high / 1024);
    put_fact("lost_blocks", h->lost_blocks);
    put_fact("lost_strands", h->lost_strands);
    put_fact("lost_children", h->lost_children);
    put_fact("lost_pushes", h->lost_pushes);
    put_fact("lost_calls", h->lost_calls);
    put_fact("lost_figures", h->lost_figures);
    put_fact("lost_pages", h->lost_pages);
    put_fact("lost_samplers", h->lost_samplers);
    put_fact("lost_samples", h->lost_samples);
    put_fact("lost_stacks", h->lost_stacks);
    put_fact("torn", h->torn);
}

static void put_strand(const struct tt_picture *p, uint32_t i)
{
    static const char *const states[] = {"none", "open", "ended", "merged"};
    const struct tt_strand_record *s = p->strand[i];

    printf("strand\t%u\t", s->index);
    put_escaped(s->name);
    printf("\tstate=%s\tthread=%u", states[s->state & 3], s->thread);
    put_number("members", s->members);
    put_number("charged", s->charged);
    put_number("evictions", s->evictions);
    put_number("threshold", s->threshold);
    put_number("limbo", s->limbo);
    put_number("lost_pushes", s->lost_pushes);
    put_number("lost_ticks", s->lost_ticks);
    if (s->state == TT_STRAND_MERGED) {
        put_square("square", &s->square);
        printf("\tleast=%llu by %u\tmost=%llu by %u", (unsigned long long)s->least,
               s->least_thread, (unsigned long long)s->most, s->most_thread);
    }
    putchar('\n');
}

static void put_context(const struct tt_picture *p, uint32_t i, uint32_t *stack)
{
    const struct tt_picture_context *c = &p->context[i];

    fputs("context\t", stdout);
    put_path(p, i, stack);
    put_number("calls", c->calls);
    put_number("self", c->self);
    put_number("samples", c->samples);
    put_number("total", c->total);
    put_number("elsewhere", c->elsewhere.self);
    put_number("missed", c->missed);
    if (c->self_low != c->self) {
        put_number("self_low", c->self_low);
        put_number("total_low", c->total_low);
    }
    put_times(tt_picture_times(p, c));
    tt_picture_metrics(p, c->cell, put_metric, NULL);
    put_details(p, c->cell);
    putchar('\n');
    tt_picture_space(p, c->cell, put_space, &(struct space_line){p, i, stack});
}

static void put_arc(const struct tt_picture *p, const struct tt_picture_arc *a,
                    uint32_t *stack)
{
    fputs("arc\t", stdout);
    put_path(p, a->from, stack);
    putchar('\t');
    put_path(p, a->to, stack);
    put_number("calls", a->calls);
    put_times(tt_picture_extension(p, a->cell, TT_TIMES));
    putchar('\n');
}

/* For each strand, first its contexts, then its arcs. */
static void put_strands(const struct tt_picture *p, uint32_t *stack)
{
    uint32_t arc = 0;

    for (uint32_t s = 0; s < p->strands; s++) {
        uint32_t end = s + 1 < p->strands ? p->strand_first[s + 1] : p->contexts;
        put_strand(p, s);
        for (uint32_t i = p->strand_first[s]; i < end; i++)
            put_context(p, i, stack);
        for (; arc < p->arcs && p->arc[arc].from < end; arc++)
            put_arc(p, &p->arc[arc], stack);
    }
}

/* ── When most was alive ──────────────────────────────────────────────────────────── */

struct held_lines {
    const struct tt_picture *p;
    uint32_t *context_of, *stack; /* context_of a cell: the context + 1 */
};

/* Now, and at each of the maxima. */
static void put_held(void *arg, const struct tt_holding *h, uint32_t cell, int below)
{
    const struct held_lines *x = arg;
    const uint32_t maxima = tt_picture_maxima(x->p);
    uint64_t any = h->live;

    for (uint32_t i = 0; i < maxima; i++)
        any |= tt_picture_held(x->p, h, i);
    if (!any)
        return;
    fputs("held\t", stdout);
    if (x->context_of[cell])
        put_path(x->p, x->context_of[cell] - 1, x->stack);
    else
        putchar('-');
    putchar('\t');
    put_escaped(h->type ? tt_picture_type(x->p, h->type) : "-");
    if (h->collected)
        printf("\t%u", h->collected - 1u);
    else
        fputs("\t-", stdout);
    printf("%s\tnow=%llu", below ? "\tbelow" : "", (unsigned long long)h->live);
    for (uint32_t i = 0; i < maxima; i++)
        printf("\t%llu", (unsigned long long)tt_picture_held(x->p, h, i));
    putchar('\n');
}

static int put_maxima(const struct tt_picture *p, uint32_t *stack)
{
    struct held_lines x = {p, calloc(p->size / TT_CELL_SIZE + 1, sizeof *x.context_of),
                           stack};

    if (!x.context_of)
        return -TT_ERR_MEMORY;
    for (uint32_t i = 0; i < p->contexts; i++)
        x.context_of[p->context[i].cell] = i + 1;
    for (uint32_t i = 0; i < tt_picture_maxima(p); i++) {
        struct tt_maximum m = tt_picture_maximum(p, i);
        printf("maximum\t%llu\t%llu\n", (unsigned long long)m.time,
               (unsigned long long)m.most);
    }
    tt_picture_holdings(p, put_held, &x);
    free(x.context_of);
    return 0;
}

static void put_blocks(const struct tt_picture *p)
{
    for (uint32_t i = 0; i < p->blocks; i++) {
        const struct tt_picture_block *b = &p->block[i];
        if (!b->calls && !b->self && !b->inclusive)
            continue;
        fputs("block\t", stdout);
        put_block_name(b);
        put_number("calls", b->calls);
        put_number("self", b->self);
        put_number("inclusive", b->inclusive);
        put_number("hidden", b->hidden);
        put_number("evicted", b->evicted);
        putchar('\n');
    }
}

static int run(int argc, char **argv)
{
    struct tt_picture p;
    struct tt_flags f;
    uint32_t *stack;
    int status, error = -TT_ERR_MEMORY;

    tt_command_flags(&tt_command_dump, &f, argc, argv);
    if (tt_command_next(&tt_command_dump, &f, &status) < 0)
        return status;
    if (f.count != 1)
        return tt_command_wants(&tt_command_dump, "one recording");
    if (tt_load(&p, argv[1]) != 0)
        return TT_EXIT_FAILED;
    stack = malloc(((size_t)p.contexts + 1) * sizeof *stack);
    if (stack) {
        put_recording(p.header);
        put_strands(&p, stack);
        error = put_maxima(&p, stack);
        put_blocks(&p);
    }
    free(stack);
    tt_unload(&p);
    if (error)
        tt_complain("no memory");
    return error ? TT_EXIT_FAILED : TT_EXIT_DONE;
}

const struct tt_command tt_command_dump = {
    .name = "dump",
    .synopsis = "RECORDING",
    .about = "print a recording: every context with its tallies",
    .details =
        "Prints a recording as text: a line for each thread, each context with its\n"
        "tallies, each arc and each block. Tabs separate the fields.\n",
    .operands = "@files",
    .run = run,
};
