/* SPDX-License-Identifier: MIT */
/* caliper.c - code that Caliper's two forms share. */
#include "caliper.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "frames.h"
#include "json-reader.h"
#include "samples.h"

struct figure {
    uint32_t context, metric, rank, thread;
    int64_t self;
};

void tt_caliper_init(struct tt_caliper *x, struct tt_source *s, struct tt_builder *b)
{
    *x = (struct tt_caliper){
        .s = s, .b = b, .rank = TT_NONE, .thread = TT_NONE, .time = UINT64_MAX};
    tt_pairs_init(&x->figure, s->memory);
    tt_pairs_init(&x->has_self, s->memory);
    tt_vector_init(&x->inclusive, s->memory, sizeof(struct figure));
    tt_vector_init(&x->parent, s->memory, sizeof(uint32_t));
}

/* ── Columns ──────────────────────────────────────────────────────────────────────── */

static int is_among(const char *name, const char *const *words)
{
    while (*words && strcmp(name, *words) != 0)
        words++;
    return *words != NULL;
}

/* False for "min#time" or "Min time/rank": minima and shares do not add up. */
static int adds_up(const char *name)
{
    static const char *const of[] = {"min", "max", "avg", "ratio", "percent", "variance"};
    static const char *const order[] = {
        "aggregate.slot", "Node order",    "path.level",  "%",
        "percent",        "highwatermark", "iteration#",  "_iteration",
        "starttime",      "timestamp",     "time.offset", "timeoffset"};

    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        size_t length = strlen(of[i]);
        if (strncasecmp(name, of[i], length) == 0 && strchr("#_ .", name[length]))
            return 0;
    }
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (strstr(name, order[i]))
            return 0;
    return 1;
}

/* Takes a word out of a name: 1, it was there. */
static int take_out(char *name, const char *word)
{
    char *at = strstr(name, word);

    if (at)
        memmove(at, at + strlen(word), strlen(at + strlen(word)) + 1);
    return at != NULL;
}

/* "time.offset.ns": the time since the run began. */
static int is_moment(const char *name) { return strncmp(name, "time.offset", 11) == 0; }

enum { SECONDS = 9, MICROSECONDS = 3 };

/* Returns how many decimal digits a unit's time has below it; -1: it is not time.
 * Without a unit, scaled figures are seconds; for others *is_guess means that the first
 * value decides. */
static int time_shift(const char *name, const char *unit, int *is_guess)
{
    static const struct {
        const char *unit;
        int shift;
    } units[] = {{"sec", 9},  {"s", 9},  {"msec", 6}, {"ms", 6},
                 {"usec", 3}, {"us", 3}, {"nsec", 0}, {"ns", 0}};
    const char *end = name + strlen(name);

    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(unit, units[i].unit) == 0)
            return units[i].shift;
    if (*unit || !(strstr(name, "duration") || is_moment(name)))
        return -1;
    if (end - name > 3 && strcmp(end - 3, ".ns") == 0)
        return 0;
    if (strstr(name, "scale#"))
        return SECONDS;
    *is_guess = 1;
    return MICROSECONDS;
}

/* Old versions counted whole microseconds; later ones write seconds with a fraction. */
static void decide_unit(struct tt_caliper_column *c, const char *value)
{
    const char *point = strpbrk(value, ".eE");

    if (!value[strspn(value, "-+0.")])
        return; /* 0 is either */
    c->is_guess = 0;
    if (point && (*point != '.' || point[1 + strspn(point + 1, "0")]))
        c->shift = SECONDS;
}

enum tt_caliper_kind tt_caliper_whose(const char *name)
{
    static const char *const ranks[] = {"mpi.rank", "rank", NULL};
    static const char *const threads[] = {"omp.thread.id", "pthread.id", "thread", NULL};

    return is_among(name, ranks)     ? TT_CALIPER_RANK
           : is_among(name, threads) ? TT_CALIPER_THREAD
                                     : TT_CALIPER_NONE;
}

struct tt_caliper_column tt_caliper_column(struct tt_caliper *x, const char *name,
                                           const char *unit)
{
    static const char *const below[] = {"inclusive#", ".inclusive", " (inc)", " (I)"};
    struct tt_caliper_column c = {.kind = TT_CALIPER_METRIC};
    char own[200];
    int is_new;

    if (is_moment(name)) {
        c.shift = time_shift(name, unit, &c.is_guess);
        c.kind = c.shift < 0 ? TT_CALIPER_NONE : TT_CALIPER_TIME;
        return c;
    }
    if (tt_caliper_whose(name) || !adds_up(name) || strchr(unit, '%'))
        return (struct tt_caliper_column){.kind = tt_caliper_whose(name)};
    (void)snprintf(own, sizeof own, "%s", name);
    for (size_t i = 0; i < sizeof below / sizeof *below; i++)
        c.is_inclusive |= take_out(own, below[i]);
    c.shift = time_shift(name, unit, &c.is_guess);
    c.metric = tt_builder_metric(x->b, own, c.shift < 0 ? unit : "ns",
                                 c.shift < 0 ? 0 : TT_METRIC_TIME);
    c.is_time = c.shift >= 0;
    c.shift = c.shift < 0 ? 0 : c.shift;
    if (!c.is_inclusive)
        (void)tt_pairs_get(&x->has_self, c.metric, 0, &is_new);
    return c;
}

uint32_t tt_caliper_number(const char *text)
{
    int64_t n;

    return tt_decimal(text, 0, &n) && n >= 0 && n < TT_NONE ? (uint32_t)n : TT_NONE;
}

/* ── Figures ──────────────────────────────────────────────────────────────────────── */

uint32_t tt_caliper_context(struct tt_caliper *x, uint32_t parent, const char *name)
{
    struct tt_block_info info = {.name = name, .kind = TT_KIND_SCOPE};
    uint32_t context = tt_builder_context(x->b, parent, tt_builder_block(x->b, &info));

    if (context == TT_NONE || (context >= x->parent.count &&
                               !tt_vector_add(&x->parent, context + 1 - x->parent.count)))
        return TT_NONE;
    ((uint32_t *)x->parent.item)[context] = parent;
    return context;
}

int tt_caliper_strand(struct tt_caliper *x, uint32_t rank, uint32_t thread)
{
    struct tt_strand_info info = {.rank = rank, .members = 1};
    char name[24] = "";

    x->rank = rank;
    x->thread = thread;
    if (rank == TT_NONE && thread == TT_NONE) {
        tt_builder_no_strand(x->b);
        return 0;
    }
    if (thread != TT_NONE)
        (void)snprintf(name, sizeof name, "thread %u", thread);
    info.name = name;
    info.thread = thread == TT_NONE ? 0 : thread;
    return tt_builder_strand(x->b, &info) == TT_NONE ? tt_source_no_memory(x->s) : 0;
}

static int add_inclusive(struct tt_caliper *x, uint32_t metric, uint32_t context,
                         int64_t amount)
{
    uint64_t what = (uint64_t)context << 32 | metric,
             whose = (uint64_t)x->rank << 32 | x->thread;
    int is_new;
    struct figure *f = tt_pairs_item(&x->figure, &x->inclusive, what, whose, &is_new);

    if (!f)
        return tt_source_no_memory(x->s);
    if (is_new)
        *f = (struct figure){context, metric, x->rank, x->thread, 0};
    f->self += amount;
    return 0;
}

void tt_caliper_time(struct tt_caliper *x, struct tt_caliper_column *c, const char *value)
{
    int64_t n;

    if (c->is_guess)
        decide_unit(c, value);
    if (tt_decimal(value, c->shift, &n) && n >= 0)
        x->time = (uint64_t)n;
}

int tt_caliper_add(struct tt_caliper *x, struct tt_caliper_column *c, uint32_t context,
                   const char *value)
{
    uint32_t parent;
    int64_t n;
    int error;

    if (c->is_guess)
        decide_unit(c, value);
    if (!tt_decimal(value, c->shift, &n))
        return tt_source_fail(x->s, "'%.40s' is no number, or too large", value);
    if (n < 0)
        return tt_source_fail(x->s, "a figure is below 0");
    if (__builtin_add_overflow(c->total, (uint64_t)n, &c->total) || c->total > INT64_MAX)
        return tt_source_fail(x->s, TT_TOO_MUCH);
    if (!c->is_inclusive) {
        tt_builder_add(x->b, TT_ROLE_SELF, context, c->metric, (uint64_t)n);
        if (c->is_time && x->time != UINT64_MAX)
            tt_builder_sample(x->b, c->metric, context, x->time, (uint64_t)n, 0);
        return 0;
    }
    error = add_inclusive(x, c->metric, context, n);
    parent = context < x->parent.count ? ((uint32_t *)x->parent.item)[context]
                                       : TT_BUILDER_ROOT;
    return error || parent == TT_BUILDER_ROOT ? error
                                              : add_inclusive(x, c->metric, parent, -n);
}

/* Adds the self figures.  If a child's figures were rounded up, or its parent has no
 * figure, self would be below 0; then nothing is added. */
int tt_caliper_finish(struct tt_caliper *x)
{
    const struct figure *f = x->inclusive.item;
    int error = 0;

    for (size_t i = 0; !error && i < x->inclusive.count; i++) {
        if (f[i].self <= 0 || tt_pairs_find(&x->has_self, f[i].metric, 0))
            continue;
        error = tt_caliper_strand(x, f[i].rank, f[i].thread);
        tt_builder_add(x->b, TT_ROLE_SELF, f[i].context, f[i].metric,
                       (uint64_t)f[i].self);
    }
    return error;
}
