/* SPDX-License-Identifier: MIT */
/* view.c - answers queries: finds the view and the metric, and notes what no view can
 * show.
 *
 * A block's inclusive figure is the sum of the totals of its outermost contexts.  In
 * preorder that needs no path: a context is outermost if it comes after the subtree of
 * the last outermost one. */
#include "view.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "apart.h"
#include "filter.h"
#include "likeness.h"
#include "metric-view.h"
#include "range.h"
#include "samples.h"
#include "several.h"
#include "views.h"

/* A name in a filter is usually meant to be one block; notes names that match several. */
static void note_namesakes(const struct tt_profile *p, const struct tt_query *q,
                           struct tt_table *t)
{
    const struct tt_filter *f = q->filter.item;

    for (size_t i = 0; i < q->filter.count; i++) {
        char names[300];
        const uint32_t count = f[i].kind == TT_FILTER_STRAND ||
                                       f[i].kind == TT_FILTER_TIME
                                   ? 0
                                   : tt_namesakes(p, f[i].pattern, names, sizeof names);
        if (count > 1)
            tt_table_note(t, "ambiguous filter", "filter: '%.80s' is %u blocks: %s",
                          f[i].pattern, count, names);
    }
}

int tt_view(const struct tt_profile *p, struct tt_query *q, struct tt_table *t)
{
    const char *name = q->view ? q->view : "flat";
    int error = -TT_ERR_OPTION;
    struct tt_several several;
    const struct tt_named_view *v = tt_view_named(name);

    tt_table_init(t, v ? v->name : "", q->memory);
    if (!v)
        return tt_query_wrong(q, "there is no view '%.40s'", name);
    if (q->metric && v->metrics == TT_VIEW_ONE && tt_several_find(p, q, &several) == 0 &&
        several.count)
        return tt_query_wrong(q,
                              "the view '%s' shows one metric; 'flat', 'tree', 'callers' "
                              "and 'graph' show several side by side",
                              name);
    if (q->metric && v->metrics == TT_VIEW_TIME &&
        tt_metric_find(p, q->metric) != tt_samples_metric(p))
        return tt_query_wrong(q, "the view '%s' shows time only", name);
    error = v->run(p, q, t);
    if (!error)
        note_namesakes(p, q, t);
    return error == 0 && t->failed ? -TT_ERR_MEMORY : error;
}

/* ── The metric ───────────────────────────────────────────────────────────────────── */

uint32_t tt_calls_metric(const struct tt_profile *p)
{
    uint32_t m = tt_metric_find(p, "calls");

    return m != TT_NONE && (p->metric[m].flags & TT_METRIC_CALLS) ? m : TT_NONE;
}

int tt_view_metric(const struct tt_profile *p, struct tt_query *q,
                   struct tt_metric_choice *choice)
{
    uint32_t main = tt_metric_find(p, q->metric);
    struct tt_several several;

    if (main == TT_NONE && tt_several_find(p, q, &several) != 0)
        return -TT_ERR_OPTION;
    if (main == TT_NONE && several.count)
        main = several.metric[0];
    *choice = (struct tt_metric_choice){TT_NONE, TT_NONE, TT_NONE, NULL, 0};
    if (main == TT_NONE)
        return tt_query_unknown_metric(q, p, q->metric);
    choice->main = main;
    choice->calls = tt_calls_metric(p);
    choice->samples = tt_metric_find(p, "samples");
    choice->column = &p->metric[main];
    choice->total = tt_grand_total(p, choice->column);
    if (choice->calls != TT_NONE && choice->calls != main && choice->total &&
        !tt_grand_total(p, &p->metric[choice->calls]))
        choice->calls = TT_NONE; /* not counted */
    return 0;
}

double tt_share_error(double share, uint64_t samples)
{
    const double z = 1.959964; /* 95 % of a normal distribution lie within ± z */
    double n = (double)samples;

    if (!samples)
        return 1;
    share = share < 0 ? 0 : share > 1 ? 1 : share;
    return z / (1 + z * z / n) * sqrt(share * (1 - share) / n + z * z / (4 * n * n));
}

/* ── Sums by block ────────────────────────────────────────────────────────────────── */

struct tally { /* of a set, in as few bytes as it takes: the loop is bound by memory */
    uint64_t self, inclusive, beside;
    uint32_t until, contexts; /* until: the end of its outermost context's subtree */
};

struct summing {
    const struct tt_metric_view *lens;
    const uint32_t *set; /* of each block; NULL: a separate set */
    uint32_t sets;
    struct tt_block_sum *sum;
};

static uint32_t set_of(const struct summing *s, uint32_t block)
{
    return s->set ? s->set[block] : block;
}

/* A dropped call is a leaf below the context it came from. */
static void tally_drop(const struct summing *s, const struct tt_arc_calls *d,
                       struct tally *tally)
{
    uint32_t set = set_of(s, d->block);

    if (set == TT_NONE)
        return;
    tally[set].self += tt_calls_of(d);
    if (d->context >= tally[set].until)
        tally[set].inclusive += tt_calls_of(d);
}

/* One pass over all contexts: running sums of self, and of the figures beside it. */
static void tally_contexts(const struct summing *s, const uint64_t *self,
                           const uint64_t *beside, struct tally *tally)
{
    const struct tt_metric_view *l = s->lens;
    const uint64_t *elsewhere = l->main->elsewhere;
    const struct tt_arc_calls *d = l->drop.item;

    for (uint32_t c = 0; c < l->p->contexts; c++) {
        uint32_t set = set_of(s, tt_block_of(l->p, c));
        struct tally *t = &tally[set == TT_NONE ? s->sets : set];
        t->contexts++;
        t->self += self[c + 1] - self[c];
        if (beside)
            t->beside += beside[c + 1] - beside[c];
        if (c >= t->until) {
            t->until = tt_end_of(l->p, c);
            t->inclusive += self[t->until] - self[c];
            if (elsewhere)
                t->inclusive += elsewhere[t->until] - elsewhere[c];
            if (d)
                t->inclusive += tt_calls_between(&l->drop, c, t->until);
        }
        for (; d && d->context == c; d++)
            tally_drop(s, d, tally);
    }
}

static void take_tallies(const struct summing *s, const struct tally *tally, int is_low)
{
    for (uint32_t i = 0; i < s->sets; i++) {
        struct tt_block_sum *sum = &s->sum[i];
        sum->self_low = tally[i].self;
        sum->inclusive_low = tally[i].inclusive;
        if (is_low) {
            sum->samples = tally[i].beside;
            continue;
        }
        sum->self = tally[i].self;
        sum->inclusive = tally[i].inclusive;
        sum->calls = tally[i].beside;
        sum->contexts = tally[i].contexts;
    }
}

static uint64_t tally_of(const struct tt_metric_columns *m, uint32_t block)
{
    return m ? m->tally[block].self : 0;
}

/* The same, from a digest. */
static void take_digest(const struct summing *s)
{
    const struct tt_metric_view *l = s->lens;
    const struct tt_metric_columns *samples = l->choice.samples == TT_NONE
                                                  ? NULL
                                                  : &l->p->metric[l->choice.samples];

    for (uint32_t b = 0; b < s->sets; b++) {
        const struct tt_block_tally *t = &l->main->tally[b];
        s->sum[b] = (struct tt_block_sum){.self = t->self,
                                          .self_low = t->self_low,
                                          .inclusive = t->inclusive,
                                          .inclusive_low = t->inclusive_low,
                                          .calls = tally_of(l->calls, b),
                                          .samples = tally_of(samples, b),
                                          .contexts = l->p->contexts_of[b]};
    }
}

/* Lower bounds and samples are rare, and take a separate pass. */
static int sum_contexts(const struct summing *s)
{
    const struct tt_metric_view *l = s->lens;
    const size_t bytes = ((size_t)s->sets + 1) * sizeof(struct tally);
    const uint64_t *samples = l->choice.samples == TT_NONE
                                  ? NULL
                                  : l->p->metric[l->choice.samples].self;
    struct tally *tally;

    if (!s->set && l->main->tally && !l->drop.count) {
        take_digest(s);
        return 0;
    }
    tally = tt_memory_get(l->memory, bytes);
    if (!tally)
        return -TT_ERR_MEMORY;
    tally_contexts(s, l->main->self, l->calls ? l->calls->self : NULL, tally);
    take_tallies(s, tally, 0);
    if (l->main->low || samples) {
        memset(tally, 0, bytes);
        tally_contexts(s, l->main->low ? l->main->low : l->main->self, samples, tally);
        take_tallies(s, tally, 1);
    }
    tt_memory_put(l->memory, tally);
    return 0;
}

int tt_context_sums(const struct tt_metric_view *l, struct tt_block_sum *sum)
{
    return sum_contexts(&(struct summing){.lens = l, .sets = l->p->blocks, .sum = sum});
}

/* Adds figures that belong to a block and to no context of it. */
static void sum_beside(const struct summing *s)
{
    const struct tt_profile *p = s->lens->p;
    const struct tt_block_figures *main = s->lens->main->block, *calls = NULL;

    if (s->lens->calls)
        calls = s->lens->calls->block;
    for (uint32_t b = 0; (main || calls) && b < p->blocks; b++) {
        uint32_t set = set_of(s, b);
        if (set == TT_NONE)
            continue;
        s->sum[set].self += main ? main[b].beside : 0;
        s->sum[set].self_low += main ? main[b].beside : 0;
        s->sum[set].calls += calls ? calls[b].beside : 0;
    }
    for (uint32_t i = 0; s->lens->calls && i < p->arcs; i++) {
        uint32_t set = TT_NONE;
        if (tt_arc_is_dropped(p, &p->arc[i]))
            set = set_of(s, p->arc[i].block);
        if (set != TT_NONE)
            s->sum[set].calls += p->arc[i].calls;
    }
}

static struct tt_block_sum *sum_up(const struct tt_metric_view *l, const uint32_t *set,
                                   uint32_t sets, const struct tt_memory *memory)
{
    struct summing s = {.lens = l, .set = set, .sets = sets};

    s.sum = tt_memory_get(memory, sets * sizeof *s.sum);
    if (!s.sum || sum_contexts(&s) != 0) {
        tt_memory_put(memory, s.sum);
        return NULL;
    }
    sum_beside(&s);
    for (uint32_t i = 0; !l->calls && i < sets; i++)
        if (l->main->flags & TT_METRIC_CALLS)
            s.sum[i].calls = s.sum[i].self;
    return s.sum;
}

/* Of calls and samples it is not known how many were below evicted contexts: inclusive
 * figures have at least those contexts' own. */
static void add_own(struct tt_block_sum *s)
{
    if (s->inclusive < s->self)
        s->inclusive = s->self;
    if (s->inclusive_low < s->self_low)
        s->inclusive_low = s->self_low;
}

static struct tt_block_sum *block_sums(const struct tt_metric_view *l,
                                       const struct tt_memory *memory)
{
    const struct tt_block_figures *f = l->main->block;
    struct tt_block_sum *sum = sum_up(l, NULL, l->p->blocks, memory);

    for (uint32_t b = 0; sum && f && b < l->p->blocks; b++) {
        sum[b].inclusive += f[b].hidden;
        sum[b].inclusive_low += f[b].hidden;
        add_own(&sum[b]);
    }
    return sum;
}

struct tt_block_sum *tt_block_sums(const struct tt_profile *p,
                                   const struct tt_metric_choice *choice,
                                   const struct tt_memory *memory)
{
    struct tt_block_sum *sum = NULL;
    struct tt_metric_view l;

    if (tt_metric_view_of_choice(&l, p, choice, memory) == 0)
        sum = block_sums(&l, memory);
    tt_metric_view_fini(&l);
    return sum;
}

struct tt_block_sum *tt_set_sums(const struct tt_metric_view *l, const uint32_t *set,
                                 uint32_t sets)
{
    struct tt_block_sum *sum = sum_up(l, set, sets, l->memory);
    struct tt_block_sum *block = sum ? block_sums(l, l->memory) : NULL;

    for (uint32_t b = 0; block && b < l->p->blocks; b++) {
        struct tt_block_sum *s = set[b] == TT_NONE ? NULL : &sum[set[b]];
        if (s && block[b].inclusive > s->inclusive)
            s->inclusive = block[b].inclusive;
        if (s && block[b].inclusive_low > s->inclusive_low)
            s->inclusive_low = block[b].inclusive_low;
    }
    for (uint32_t i = 0; block && i < sets; i++)
        add_own(&sum[i]);
    if (!block) {
        tt_memory_put(l->memory, sum);
        sum = NULL;
    }
    tt_memory_put(l->memory, block);
    return sum;
}

/* ── What no view can see ─────────────────────────────────────────────────────────── */

static double percent(uint64_t part, uint64_t whole)
{
    return whole ? 100 * (double)part / (double)whole : 0;
}

/* A fact, with the metric's name, has the figures that filters removed. */
static void note_unseen(const struct tt_profile *p, const struct tt_metric_choice *choice,
                        struct tt_table *t)
{
    for (uint32_t i = 0; i < p->facts; i++)
        if (strcmp(tt_profile_string(p, p->fact[i].name), "hidden.unseen") == 0 &&
            strcmp(tt_profile_string(p, p->fact[i].text), choice->column->name) == 0)
            tt_table_note(
                t, "hidden unfiltered",
                "hidden: filters do not apply to %llu %s of %s that folded recursion "
                "hides, in all blocks together: inclusive figures may be too low",
                (unsigned long long)p->fact[i].number, choice->column->unit,
                choice->column->name);
}

static void note_hidden(const struct tt_profile *p, const struct tt_metric_choice *choice,
                        struct tt_table *t)
{
    const struct tt_block_figures *f = choice->column->block;
    uint32_t most = 0;

    for (uint32_t b = 0; f && b < p->blocks; b++)
        if ((int64_t)f[b].hidden > (int64_t)f[most].hidden)
            most = b;
    if (f && (int64_t)f[most].hidden > 0)
        tt_table_note(t, "hidden",
                      "hidden: contexts of folded recursion do not show all active "
                      "blocks; '%s' is missing most, %.2f %% of %s",
                      tt_block_name(p, most), percent(f[most].hidden, choice->total),
                      choice->column->name);
    note_unseen(p, choice, t);
}

static void note_evicted(const struct tt_profile *p,
                         const struct tt_metric_choice *choice, struct tt_table *t)
{
    const struct tt_metric_columns *m = choice->column;
    uint64_t evicted = tt_sum_of(m->elsewhere, 0, p->contexts);

    if (evicted)
        tt_table_note(t, "evicted",
                      "budget: %.2f %% of %s is in evicted contexts, in rows called "
                      "[elsewhere below]",
                      percent(evicted, choice->total), m->name);
}

/* Sampling costs some of it, too. */
static void note_unsampled(const struct tt_profile *p, const struct tt_metric_columns *m,
                           struct tt_table *t)
{
    enum { SHOWN = 2 };
    uint64_t cpu = tt_fact_number(p, "cpu"), sampled = tt_grand_total(p, m);
    double share = cpu > sampled ? percent(cpu - sampled, cpu) : 0;

    if (share >= SHOWN && (m->flags & TT_METRIC_TIME) && !tt_fact_text(p, "wall"))
        tt_table_note(t, "unsampled",
                      "unsampled: %.2f %% of CPU time is in no sample: threads or "
                      "processes were short-lived, or recording was paused",
                      share);
}

/* Maxima of processes are added up, whenever they were; so are those of runs. */
void tt_note_peaks(const struct tt_profile *p, struct tt_table *t)
{
    uint64_t parts = tt_fact_number(p, "recordings");

    for (uint32_t i = 0; i < p->facts; i++)
        if (strcmp(tt_profile_string(p, p->fact[i].name), "format") == 0)
            parts += p->fact[i].number;
    if (parts > 1)
        tt_table_note(t, "peaks",
                      "peak: the sum of the peaks of %llu processes or runs; what was "
                      "alive at one time may be less",
                      (unsigned long long)parts);
}

static int is_peak(const struct tt_metric_columns *m)
{
    return (m->flags & TT_METRIC_PEAK) &&
           (strncmp(m->name, "peak", 4) == 0 || strncmp(m->name, "maximum", 7) == 0);
}

/* The time of an activation includes that of programs that interrupt it.  The system counts
 * from the begin of each thread, so filters do not apply, and it may exceed what was timed. */
static void note_preempted(const struct tt_profile *p,
                           const struct tt_metric_choice *choice, struct tt_table *t)
{
    enum { SHOWN = 1 };
    const struct tt_metric_columns *m = choice->column;
    uint64_t preempted = tt_fact_number(p, "preempted");
    double share = percent(preempted, choice->total);

    if (!m->low || !(m->flags & TT_METRIC_TIME) || share < SHOWN)
        return;
    if (p->whole || share > 100)
        tt_table_note(
            t, "preempted in all",
            "preempted: in the whole run, for %.3f ms at most threads were ready "
            "to run while other programs had the processors; such time is in "
            "these figures, and brackets do not exclude it",
            (double)preempted / 1e6);
    else
        tt_table_note(
            t, "preempted",
            "preempted: for %.3f ms at most (%.2f %% of %s) threads were ready to "
            "run while other programs had the processors; such time is in these "
            "figures, and brackets do not exclude it",
            (double)preempted / 1e6, share, m->name);
}

/* What the samples of a figure of n bytes vary by, squared, is at most n times the rate. */
static void note_heap_rate(const struct tt_profile *p,
                           const struct tt_metric_choice *choice, struct tt_table *t)
{
    const struct tt_metric_columns *m = choice->column;
    const uint64_t rate = tt_fact_number(p, TT_FACT_HEAP_RATE);

    if (!rate || !(m->flags & TT_METRIC_SPACE) || !choice->total)
        return;
    if (strcmp(m->unit, "bytes") == 0)
        tt_table_note(
            t, "memory sampled",
            "estimated: one in %llu bytes was sampled; the total of %s is within "
            "± %.2f %% in 95 of 100 cases, and smaller figures within more",
            (unsigned long long)rate, m->name,
            100 * 1.959964 * sqrt((double)rate / (double)choice->total));
    else
        tt_table_note(t, "objects sampled",
                      "estimated: one in %llu bytes was sampled; %s may differ by chance",
                      (unsigned long long)rate, m->name);
}

static void note_brackets(const struct tt_profile *p,
                          const struct tt_metric_choice *choice, struct tt_table *t)
{
    const struct tt_metric_columns *m = choice->column;
    uint64_t self = tt_sum_of(m->self, 0, p->contexts),
             low = tt_sum_of(m->low, 0, p->contexts);

    if (m->low && low < self)
        tt_table_note(t, "brackets",
                      "brackets: measuring itself may have added up to %.2f %% of %s",
                      percent(self - low, choice->total), m->name);
    note_preempted(p, choice, t);
    if (m->flags & TT_METRIC_SAMPLED) {
        uint64_t samples = choice->samples == TT_NONE
                               ? 0
                               : tt_own_samples(
                                     p, tt_grand_total(p, &p->metric[choice->samples]));
        if (!samples && !p->whole && tt_fact_text(p, "source") &&
            !tt_fact_text(p, "wall"))
            tt_table_note(t, "no sample",
                          "sampled: no sample was taken: the program used less CPU "
                          "time than lies between two samples; --sampled=HZ samples "
                          "more often, --wall records waiting time, too");
        else if (choice->samples != TT_NONE) /* some tools do not write their number */
            tt_table_note(
                t, "sampled",
                "sampled: %llu sample%-s%-s; ± is the 95 %% interval of a share",
                (unsigned long long)samples, samples == 1 ? "" : "s",
                tt_fact_number(p, "wall") >= tt_fact_number(p, "recordings") &&
                        tt_fact_text(p, "wall")
                    ? " of wall-clock time, with waits"
                    : "");
        note_unsampled(p, m, t);
    }
    tt_note_mixture(p, m, t);
    note_heap_rate(p, choice, t);
}

static void note_strands(const struct tt_profile *p, struct tt_table *t)
{
    uint64_t merged = 0, members = 0;

    for (uint32_t i = 0; i < p->strands; i++)
        if (p->strand[i].members > 1) {
            merged++;
            members += p->strand[i].members;
        }
    if (merged)
        tt_table_note(t, "ended strands",
                      "strands: %llu threads that have ended are in %llu row%-s",
                      (unsigned long long)members, (unsigned long long)merged,
                      merged == 1 ? "" : "s");
}

/* Addresses without a name, whatever text is shown for them. */
static void note_unresolved(const struct tt_profile *p,
                            const struct tt_metric_choice *choice, struct tt_table *t)
{
    const struct tt_metric_columns *m = choice->column;
    unsigned char *nameless = tt_memory_get(p->memory, p->blocks);
    uint64_t self = 0;
    uint32_t count = 0;

    for (uint32_t b = 1; nameless && b < p->blocks; b++)
        if (tt_block_is_nameless(p, b)) {
            nameless[b] = 1;
            count++;
            self += (m->block ? m->block[b].beside : 0) +
                    (m->tally ? m->tally[b].self : 0);
        }
    for (uint32_t c = 0; count && !m->tally && c < p->contexts; c++)
        if (nameless[tt_block_of(p, c)])
            self += tt_self_of(m, c);
    if (self)
        tt_table_note(t, "unresolved",
                      "unresolved: %.2f %% of %s, in %u native block%-s without a name; "
                      "install debug symbols, then run `tallytree symbolize`",
                      percent(self, choice->total), m->name, count,
                      count == 1 ? "" : "s");
    tt_memory_put(p->memory, nameless);
}

void tt_note_losses(const struct tt_profile *p, struct tt_table *t)
{
    static const struct {
        const char *fact, *about, *what;
    } losses[] = {
        {"open", "open", "recordings had not been ended"},
        {"torn", "torn", "recordings changed while they were copied"},
        {"lost.blocks", "lost", "blocks found no room and are counted in [other blocks]"},
        {"lost.strands", "lost", "threads found no room"},
        {"lost.children", "lost", "child processes could not be recorded"},
        {"lost.samplers", "lost",
         "threads could not be sampled, or not while they waited"},
        {"lost.pushes", "lost", "pushes found no room, or interrupted the profiler"},
        {"lost.calls", "lost", "calls were evicted and found no room"},
        {"lost.figures", "lost", "figures found no room"},
        {"lost.objects", "lost", "events of objects interrupted the profiler"},
        {"lost.places", "lost",
         "freed objects found no room at their contexts, whose live figures are "
         "estimates"},
        {"lost.waits", "lost",
         "stacks of waits, or of what ended them, found no room in the system"},
        {"lost.lines", "lost", "lines of the file could not be read"},
        {"lost.events", "lost", "events of the file could not be read"},
        {"lost.records", "lost", "records were lost by perf"},
        {"lost.samples", "lost", "samples were lost; these figures are without them"},
        {"lost.pages", "lost", "pages of the recording found no room on the disk"},
        {"lost.stacks", "lost", "copied stacks could not be unwound"},
        {"cut off", "cut off", "files are cut off; the rest was read"},
        {"lost.nodes", "lost", "samples were in a node that the file does not have"},
    };

    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++) {
        uint64_t number = tt_fact_number(p, losses[i].fact);
        if (number)
            tt_table_note(t, losses[i].fact, "%-s: %llu %-s", losses[i].about,
                          (unsigned long long)number, losses[i].what);
    }
}

/* Columns do not show the metric if it has no unit. */
static void note_figures(const struct tt_profile *p,
                         const struct tt_metric_choice *choice, struct tt_table *t)
{
    uint32_t time = tt_metric_find(p, "time");

    if (time != TT_NONE && !tt_grand_total(p, &p->metric[time]) &&
        !(choice->column->flags & TT_METRIC_TIME))
        tt_table_note(t, "figures", "figures: of %s, as no time was measured",
                      choice->column->name);
}

static void note_sparse(const struct tt_profile *p, const struct tt_metric_choice *choice,
                        struct tt_table *t)
{
    if (!(choice->column->flags & TT_METRIC_TIME))
        return;
    for (uint32_t i = 0; i < p->facts; i++) {
        const char *text = tt_profile_string(p, p->fact[i].text),
                   *every = strstr(text, " every:");
        if (every && strcmp(tt_profile_string(p, p->fact[i].name), "modes") == 0)
            tt_table_note(t, "timed in part",
                          "estimated: one in %s activations of a %s was timed",
                          every + strlen(" every:"),
                          tt_table_text(t, "%.*s", (int)(every - text), text));
    }
}

static void note_missing(const struct tt_profile *p, struct tt_table *t)
{
    for (uint32_t i = 0; i < p->facts; i++)
        if (strcmp(tt_profile_string(p, p->fact[i].name), TT_NOTHING_LIKE) == 0)
            tt_table_note(t, "unmatched filter", "filter: no block matches '%s'",
                          tt_profile_string(p, p->fact[i].text));
}

/* Names the metrics without figures by time: the first few. */
static void note_unsplit(const struct tt_profile *p, struct tt_table *t)
{
    enum { NAMED = 4 };
    const char *names = "";
    uint32_t count = 0;

    for (uint32_t i = 0; i < p->facts; i++) {
        if (strcmp(tt_profile_string(p, p->fact[i].name), TT_FACT_UNSPLIT) != 0)
            continue;
        if (count++ < NAMED)
            names = tt_table_text(t, "%s%s%s", names, *names ? ", " : "",
                                  tt_profile_string(p, p->fact[i].text));
    }
    if (count > NAMED)
        names = tt_table_text(t, "%s and %u more", names, count - NAMED);
    if (count)
        tt_table_note(t, "range lacks", "time: a range of time has no figures of %s",
                      names);
}

/* Ranges that were taken out: ", without 1.000 s to 2.000 s". */
static const char *left_out(const struct tt_profile *p, struct tt_table *t)
{
    const char *texts = "";

    for (uint32_t i = 0; i < p->facts; i++)
        if (strcmp(tt_profile_string(p, p->fact[i].name), TT_FACT_WITHOUT) == 0)
            texts = tt_table_text(t, "%s, without %s", texts,
                                  tt_profile_string(p, p->fact[i].text));
    return texts;
}

const char *tt_strand_name(struct tt_table *t, const struct tt_profile *p,
                           uint32_t strand)
{
    const struct tt_strand_row *s = &p->strand[strand];
    const char *name = p->strings + s->name;

    return s->thread ? tt_table_text(t, "%s %llu", name, (unsigned long long)s->thread)
                     : name;
}

const char *tt_view_range(const struct tt_profile *p, struct tt_table *t)
{
    const uint64_t from = tt_fact_number(p, TT_FACT_FROM),
                   to = tt_fact_number(p, TT_FACT_TO);
    const struct tt_range run = tt_range_of_run(p);

    return tt_table_text(t, "%.3f s to %.3f s of %.3f s%s",
                         (double)(from - run.from) / 1e9, (double)(to - run.from) / 1e9,
                         (double)(run.to - run.from) / 1e9, left_out(p, t));
}

/* Says which part of the run is shown, and which figures it lacks. */
static void note_range(const struct tt_profile *p, struct tt_table *t)
{
    if (!tt_fact_number(p, TT_FACT_TO))
        return;
    tt_table_note(t, "range", "time: %-s, by %zu samples that are kept by time",
                  tt_view_range(p, t), p->samples);
    note_unsplit(p, t);
}

void tt_view_notes(const struct tt_profile *p, const struct tt_metric_choice *choice,
                   struct tt_table *t)
{
    note_missing(p, t);
    note_range(p, t);
    note_figures(p, choice, t);
    note_sparse(p, choice, t);
    note_hidden(p, choice, t);
    note_evicted(p, choice, t);
    note_brackets(p, choice, t);
    if (is_peak(choice->column))
        tt_note_peaks(p, t);
    note_strands(p, t);
    note_unresolved(p, choice, t);
    tt_note_losses(p, t);
}
