/* SPDX-License-Identifier: MIT */
/* graph-to-tree.c - from the root down, every call gets a context and its share.
 *
 * Functions that reach each other are one set (most sets are one function).  A set has a
 * total: the self costs of its members, plus the costs of calls that leave it.  An
 * arrival at the set brings an amount; each member's self, and each call that leaves,
 * gets its share of it.  Let these figures be x₁, x₂, … and sᵢ = x₁ + … + xᵢ.  The sum
 * that xᵢ has been given so far is
 *
 *      ⌊sᵢ · arrived / total⌋ - ⌊sᵢ₋₁ · arrived / total⌋
 *
 * so that the parts of an arrival add up to it, and the parts given to xᵢ, after all
 * arrivals, to xᵢ.  Amounts that are too small are not followed; in the end, self cost
 * that was not given to a context is kept beside the tree. */
#include "graph-to-tree.h"

#include <string.h>

#include "components.h"
#include "stated.h"

/* A share of all; calls that are looked at, beside some for each call of the file. */
enum { SMALLEST = 100000, MOST_WORK = 1 << 21, WORK_OF_CALL = 4 };

struct set {
    uint32_t entry;   /* where functions without a caller begin */
    uint32_t members; /* how many */
    int is_leaf;      /* no call leaves it */
    int visited;
};

struct arrival {
    uint32_t parent, function;
    uint64_t calls;
};

struct member { /* of the stack of a search through a set */
    uint32_t function, arc, context;
};

struct lost {
    uint32_t context, event;
    uint64_t amount;
};

struct unfolding {
    struct tt_arcs *a;
    const uint32_t *metric;
    uint32_t calls, functions, sets;
    const struct tt_arc_function *function;
    const struct tt_arc *arc;
    const uint64_t *self, *cost;
    uint32_t *set_of, *context; /* owned; of each function: its set; where it is open */
    uint32_t *stamp;            /* owned; of each function: the last search that reached
                                   it */
    struct set *set;            /* owned */
    /* Owned; `events` of each set: its total; the sum that calls bring to it; how much of
     * this sum has arrived; how much of the total has been given; how much is shown. */
    uint64_t *total, *in, *come, *given, *shown;
    /* Owned; `events` of each function, of each call: the sum of the figures before it in
     * its set; how much it has been given. */
    uint64_t *self_at, *cost_at, *self_given, *cost_given;
    /* Owned; of each event: all self; `given` before this arrival; how much earlier parts
     * of the arrival were too large. */
    uint64_t *all, *before, *owed;
    int is_shared;                      /* a function was arrived at more than once */
    struct tt_vector arrivals, amounts; /* struct arrival; `events` of each */
    struct tt_vector stack, lost;       /* struct member, struct lost */
    struct tt_stated shown_at;          /* the figures at contexts */
    uint64_t *inclusive;                /* owned; `events` of each function: as stated */
    uint32_t search;
    uint64_t work; /* calls that were looked at */
    int failed;
};

static uint64_t share(uint64_t x, uint64_t part, uint64_t whole)
{
    return whole ? (uint64_t)((unsigned __int128)x * part / whole) : 0;
}

static void *get(struct unfolding *u, size_t count, size_t size)
{
    void *p = tt_memory_get(u->a->memory, (count + 1) * size);

    u->failed |= !p;
    return p;
}

/* Sets: functions that call each other. */
static int find_sets(struct unfolding *u)
{
    const struct tt_digraph calls = {.nodes = u->functions,
                                     .first = &u->function->first,
                                     .first_size = sizeof *u->function,
                                     .to = u->arc ? &u->arc->to : NULL,
                                     .to_size = sizeof *u->arc};

    return tt_components_find(&calls, u->a->memory, u->set_of, &u->sets);
}

/* ── What sets cost ───────────────────────────────────────────────────────────────── */

static void add_row(struct unfolding *u, uint64_t *column, uint32_t set,
                    const uint64_t *figure)
{
    for (uint32_t e = 0; e < u->a->events; e++)
        column[(size_t)set * u->a->events + e] += figure[e];
}

/* Finds the member with the fewest callers: calls without a caller begin there. */
static void find_entries(struct unfolding *u)
{
    for (uint32_t s = 0; s < u->sets; s++)
        u->set[s].entry = TT_NONE;
    for (uint32_t i = 0; i < u->a->arc.count; i++)
        if (u->arc[i].from != u->arc[i].to)
            u->context[u->arc[i].to]++; /* number of callers, for now */
    for (uint32_t f = 0; f < u->functions; f++) {
        struct set *s = &u->set[u->set_of[f]];
        if (s->entry == TT_NONE || u->context[f] < u->context[s->entry])
            s->entry = f;
    }
}

/* If only the number of calls is known: shares the total of a set among the calls that
 * lead to it.  Sets come after those that they call. */
static void share_by_calls(struct unfolding *u)
{
    const size_t sets = u->sets, arcs = u->a->arc.count;
    uint64_t *cost = u->a->cost.item, *total = get(u, sets, sizeof *total);
    uint64_t *calls = get(u, sets, sizeof *calls);
    uint32_t *first = get(u, sets, sizeof *first), *next = get(u, arcs, sizeof *next);

    for (uint32_t f = 0; !u->failed && f < u->functions; f++)
        total[u->set_of[f]] += u->self[f];
    for (uint32_t i = 0; !u->failed && i < arcs; i++) {
        uint32_t to = u->set_of[u->arc[i].to];
        if (u->set_of[u->arc[i].from] == to)
            continue;
        calls[to] += u->arc[i].calls;
        next[i] = first[to];
        first[to] = i + 1;
    }
    for (uint32_t s = 0; !u->failed && s < u->sets; s++) {
        uint64_t before = 0;
        for (uint32_t i = first[s]; i--; i = next[i]) {
            uint64_t then = before + u->arc[i].calls;
            cost[i] = share(then, total[s], calls[s]) - share(before, total[s], calls[s]);
            total[u->set_of[u->arc[i].from]] += cost[i];
            before = then;
        }
    }
    tt_memory_put(u->a->memory, next);
    tt_memory_put(u->a->memory, first);
    tt_memory_put(u->a->memory, calls);
    tt_memory_put(u->a->memory, total);
}

static void add_costs(struct unfolding *u)
{
    const uint32_t events = u->a->events;

    for (uint32_t f = 0; f < u->functions; f++) {
        add_row(u, u->total, u->set_of[f], u->self + (size_t)f * events);
        add_row(u, u->all, 0, u->self + (size_t)f * events);
        u->set[u->set_of[f]].members++;
        u->set[u->set_of[f]].is_leaf = 1;
    }
    for (uint32_t i = 0; i < u->a->arc.count; i++) {
        uint32_t from = u->set_of[u->arc[i].from], to = u->set_of[u->arc[i].to];
        if (from == to)
            continue;
        add_row(u, u->total, from, u->cost + (size_t)i * events);
        add_row(u, u->in, to, u->cost + (size_t)i * events);
        u->set[from].is_leaf = 0;
    }
    find_entries(u);
}

/* Computes the sum of the figures before each one in its set; `come` holds the sums until
 * then. */
static void add_places(struct unfolding *u)
{
    const uint32_t events = u->a->events;

    for (uint32_t f = 0; f < u->functions; f++) {
        uint64_t *sum = u->come + (size_t)u->set_of[f] * events;
        for (uint32_t e = 0; e < events; e++) {
            u->self_at[(size_t)f * events + e] = sum[e];
            sum[e] += u->self[(size_t)f * events + e];
        }
        for (uint32_t i = u->function[f].first; i < u->function[f + 1].first; i++)
            for (uint32_t e = 0; u->set_of[u->arc[i].to] != u->set_of[f] && e < events;
                 e++) {
                u->cost_at[(size_t)i * events + e] = sum[e];
                sum[e] += u->cost[(size_t)i * events + e];
            }
    }
    memset(u->come, 0, (size_t)u->sets * events * sizeof *u->come);
}

enum { CALLED = 1, IN_CYCLE = 2, BY_NAMESAKE = 4 };

static int is_inner(const struct unfolding *u, const struct tt_arc *a)
{
    return u->function[a->from].block == u->function[a->to].block;
}

static void find_callers(const struct unfolding *u, uint32_t *callers)
{
    for (uint32_t i = 0; i < u->a->arc.count; i++) {
        const struct tt_arc *a = &u->arc[i];
        if (is_inner(u, a))
            callers[a->to] |= a->from != a->to ? BY_NAMESAKE : 0;
        else
            callers[a->to] |= u->set_of[a->from] == u->set_of[a->to] ? CALLED | IN_CYCLE
                                                                     : CALLED;
    }
}

/* Computes the inclusive cost that the calls state for each function: the cost of the
 * calls of it or, if there are none, its self and the cost of the calls that it makes.
 * Recursive calls are part of an outer call.  Calls within a cycle count inner ones
 * again, but no member costs more than the cycle. */
static void state(struct unfolding *u)
{
    const uint32_t events = u->a->events;
    uint32_t *callers = u->stamp;

    find_callers(u, callers);
    for (uint32_t f = 0; f < u->functions; f++)
        if (!callers[f])
            add_row(u, u->inclusive, f, u->self + (size_t)f * events);
    for (uint32_t i = 0; i < u->a->arc.count; i++) {
        const struct tt_arc *a = &u->arc[i];
        if (!is_inner(u, a))
            add_row(u, u->inclusive, a->to, u->cost + (size_t)i * events);
        if (!callers[a->from] && a->from != a->to)
            add_row(u, u->inclusive, a->from, u->cost + (size_t)i * events);
    }
    for (uint32_t f = 0; f < u->functions; f++)
        for (uint32_t e = 0; (callers[f] & IN_CYCLE) && e < events; e++) {
            const uint64_t most = u->total[(size_t)u->set_of[f] * events + e];
            uint64_t *x = &u->inclusive[(size_t)f * events + e];
            *x = *x < most ? *x : most;
        }
    if (u->a->inclusive)
        memcpy(u->inclusive, u->a->inclusive,
               (size_t)u->functions * events * sizeof *u->inclusive);
    memset(callers, 0, u->functions * sizeof *callers);
}

/* ── Contexts ─────────────────────────────────────────────────────────────────────── */

static uint32_t context_below(struct unfolding *u, uint32_t parent, uint32_t f)
{
    const uint32_t block = u->function[f].block;
    uint32_t context = tt_builder_context(u->a->b, parent, block);

    if (context == TT_NONE)
        u->failed = 1;
    else if (u->inclusive)
        tt_stated_context(&u->shown_at, context, parent, block);
    return context;
}

static void add_at(struct unfolding *u, enum tt_role role, uint32_t context,
                   uint32_t event, uint64_t amount)
{
    tt_builder_add(u->a->b, role, context, u->metric[event], amount);
    if (u->inclusive && amount)
        tt_stated_add(&u->shown_at, context, event, amount);
}

/* ── Arrivals ─────────────────────────────────────────────────────────────────────── */

/* Makes room for an arrival; returns its amounts, or NULL: no memory. */
static uint64_t *arrive(struct unfolding *u, uint32_t parent, uint32_t function,
                        uint64_t calls)
{
    struct arrival *a = tt_vector_add(&u->arrivals, 1);
    uint64_t *amount = a ? tt_vector_add(&u->amounts, u->a->events) : NULL;

    if (amount)
        *a = (struct arrival){parent, function, calls};
    else
        u->failed = 1;
    return amount;
}

/* The arrival of functions without a caller. */
static void arrive_at_root(struct unfolding *u, uint32_t set)
{
    const size_t row = (size_t)set * u->a->events;
    int any = 0;
    uint64_t *amount;

    for (uint32_t e = 0; e < u->a->events; e++)
        any |= u->total[row + e] > u->in[row + e];
    if (!any)
        return;
    amount = arrive(u, TT_BUILDER_ROOT, u->set[set].entry, 0);
    for (uint32_t e = 0; amount && e < u->a->events; e++)
        if (u->total[row + e] > u->in[row + e])
            amount[e] = u->total[row + e] - u->in[row + e];
}

/* Returns the part of this arrival that a figure of the set gets. */
static uint64_t part(struct unfolding *u, uint32_t set, uint32_t event, uint64_t x,
                     uint64_t at, uint64_t *given)
{
    const size_t row = (size_t)set * u->a->events + event;
    const uint64_t total = u->total[row], arrived = u->given[row];
    uint64_t all = share(at + x, arrived, total) - share(at, arrived, total);

    if (all < *given + u->owed[event]) {
        u->owed[event] += *given - all;
        return 0;
    }
    all -= *given + u->owed[event];
    u->owed[event] = 0;
    *given += all;
    return all;
}

static uint64_t part_of_self(struct unfolding *u, uint32_t set, uint32_t event,
                             uint32_t f)
{
    const size_t i = (size_t)f * u->a->events + event;

    return part(u, set, event, u->self[i], u->self_at[i], &u->self_given[i]);
}

static uint64_t part_of_cost(struct unfolding *u, uint32_t set, uint32_t event,
                             uint32_t arc)
{
    const size_t i = (size_t)arc * u->a->events + event;

    return part(u, set, event, u->cost[i], u->cost_at[i], &u->cost_given[i]);
}

/* Calls are shared in the proportion of the first event. */
static uint64_t part_of_calls(const struct unfolding *u, uint32_t set, uint64_t calls)
{
    const size_t at = (size_t)set * u->a->events;

    if (!u->total[at])
        return u->set[set].visited ? 0 : calls; /* the first arrival gets them all */
    return share(calls, u->given[at], u->total[at]) -
           share(calls, u->before[0], u->total[at]);
}

static void arrive_by(struct unfolding *u, uint32_t set, uint32_t arc, uint32_t context)
{
    const uint32_t to = u->arc[arc].to, events = u->a->events;
    const size_t row = (size_t)u->set_of[to] * events;
    uint64_t *amount = arrive(u, context, to, part_of_calls(u, set, u->arc[arc].calls));

    for (uint32_t e = 0; amount && e < events; e++) {
        uint64_t come = part_of_cost(u, set, e, arc);
        uint64_t before = u->come[row + e];
        u->come[row + e] += come;
        /* If calls claim more than there is, all get proportionally less. */
        amount[e] = u->in[row + e] <= u->total[row + e]
                        ? come
                        : share(u->total[row + e], before + come, u->in[row + e]) -
                              share(u->total[row + e], before, u->in[row + e]);
    }
}

/* ── One arrival at a set: its members, each once ─────────────────────────────────── */

static void add_calls(struct unfolding *u, uint32_t context, uint64_t calls)
{
    tt_builder_add(u->a->b, TT_ROLE_SELF, context, u->calls, calls);
}

static void open_member(struct unfolding *u, uint32_t set, uint32_t f, uint32_t parent)
{
    uint32_t context = context_below(u, parent, f);

    if (context == TT_NONE ||
        tt_vector_push(&u->stack, &(struct member){f, u->function[f].first, context}) !=
            0) {
        u->failed = 1;
        return;
    }
    u->context[f] = context;
    u->stamp[f] = u->search;
    for (uint32_t e = 0; e < u->a->events; e++)
        add_at(u, TT_ROLE_SELF, context, e, part_of_self(u, set, e, f));
}

/* A call within the set.  If its target is open, it leads back; otherwise its target was
 * visited elsewhere in this search, or is visited here for the first time. */
static void call_member(struct unfolding *u, uint32_t set, uint32_t arc, uint32_t context)
{
    uint32_t to = u->arc[arc].to, id;
    uint64_t calls = part_of_calls(u, set, u->arc[arc].calls);

    if (u->stamp[to] != u->search) {
        open_member(u, set, to, context);
    } else if (u->context[to] != TT_NONE) {
        id = tt_builder_arc(u->a->b, context, u->context[to], u->function[to].block);
        tt_builder_add(u->a->b, TT_ROLE_ARC, id, u->calls, calls);
        add_calls(u, u->context[to], calls);
        return;
    }
    /* The target's place in this search is not kept: its calls go to the context that
     * this call would have had. */
    add_calls(u, context_below(u, context, to), calls);
}

static void go_through(struct unfolding *u, uint32_t set, uint32_t entry, uint32_t parent)
{
    u->search++;
    u->stack.count = 0;
    open_member(u, set, entry, parent);
    while (u->stack.count && !u->failed) {
        struct member *m = (struct member *)u->stack.item + u->stack.count - 1;
        uint32_t arc = m->arc++, context = m->context;
        u->work++;
        if (arc == u->function[m->function + 1].first) {
            u->context[m->function] = TT_NONE;
            u->stack.count--;
        } else if (u->set_of[u->arc[arc].to] == set) {
            call_member(u, set, arc, context);
        } else {
            arrive_by(u, set, arc, context);
        }
    }
}

/* Is an arrival worth following?  Each member of the set gets a context, so it must bring
 * enough for all of them.  Otherwise a large cycle with many entries would use up all
 * contexts. */
static int is_followed(const struct unfolding *u, uint32_t set, const uint64_t *amount)
{
    const size_t row = (size_t)set * u->a->events;
    int is_whole = 1, is_large = 0;

    if (u->set[set].is_leaf && u->set[set].members == 1)
        return 1;
    for (uint32_t e = 0; e < u->a->events; e++) {
        is_whole &= amount[e] == u->total[row + e];
        is_large |= amount[e] && amount[e] / u->set[set].members >= u->all[e] / SMALLEST;
    }
    return (is_whole && !u->set[set].visited) ||
           (is_large &&
            u->work <
                MOST_WORK + WORK_OF_CALL * (uint64_t)u->function[u->functions].first);
}

static void lose(struct unfolding *u, uint32_t context, const uint64_t *amount)
{
    for (uint32_t e = 0; e < u->a->events; e++)
        if (amount[e] &&
            tt_vector_push(&u->lost, &(struct lost){context, e, amount[e]}) != 0)
            u->failed = 1;
}

static void take_arrival(struct unfolding *u, const struct arrival *a, uint64_t *amount)
{
    const uint32_t set = u->set_of[a->function], events = u->a->events;
    const size_t row = (size_t)set * events;
    uint32_t context = context_below(u, a->parent, a->function);

    add_calls(u, context, a->calls);
    for (uint32_t e = 0; e < events; e++) {
        uint64_t left = u->total[row + e] - u->shown[row + e];
        amount[e] = amount[e] < left ? amount[e] : left;
        u->shown[row + e] += amount[e];
    }
    if (!is_followed(u, set, amount)) {
        lose(u, context, amount);
        return;
    }
    for (uint32_t e = 0; e < events; e++) {
        u->before[e] = u->given[row + e];
        u->given[row + e] += amount[e];
        u->owed[e] = 0;
    }
    go_through(u, set, a->function, a->parent);
    u->is_shared |= u->set[set].visited || u->set[set].members > 1;
    u->set[set].visited = 1;
}

static void take_arrivals(struct unfolding *u, uint64_t *amount)
{
    const uint32_t events = u->a->events;

    while (u->arrivals.count && !u->failed) {
        struct arrival a = ((struct arrival *)u->arrivals.item)[--u->arrivals.count];
        u->amounts.count -= events;
        memcpy(amount, (uint64_t *)u->amounts.item + u->amounts.count,
               events * sizeof *amount);
        take_arrival(u, &a, amount);
    }
}

/* ── What is not in the tree ──────────────────────────────────────────────────────── */

/* Adds self that is at no context; how much, of each event, in `lacking`. */
static void add_beside(struct unfolding *u, uint64_t *lacking)
{
    const uint32_t events = u->a->events;

    for (uint32_t f = 0; f < u->functions; f++)
        for (uint32_t e = 0; e < events; e++) {
            const size_t i = (size_t)f * events + e;
            uint64_t left = u->self[i] - u->self_given[i];
            tt_builder_add(u->a->b, TT_ROLE_BESIDE, u->function[f].block, u->metric[e],
                           left);
            lacking[e] += left;
        }
}

/* Puts that self "elsewhere below" the contexts that were not followed. */
static void add_elsewhere(struct unfolding *u, uint64_t *lacking)
{
    const struct lost *l = u->lost.item;

    for (size_t i = 0; i < u->lost.count; i++) {
        uint64_t amount = l[i].amount < lacking[l[i].event] ? l[i].amount
                                                            : lacking[l[i].event];
        add_at(u, TT_ROLE_ELSEWHERE, l[i].context, l[i].event, amount);
        lacking[l[i].event] -= amount;
        tt_vector_forget(&u->lost, i + 1);
    }
    for (uint32_t e = 0; e < u->a->events; e++)
        tt_builder_add(u->a->b, TT_ROLE_ELSEWHERE, TT_BUILDER_ROOT, u->metric[e],
                       lacking[e]);
}

static void add_calls_beside(struct unfolding *u)
{
    uint64_t all = 0;

    for (uint32_t i = 0; i < u->a->arc.count; i++) {
        const uint32_t set = u->set_of[u->arc[i].from];
        const uint64_t total = u->total[(size_t)set * u->a->events],
                       calls = u->arc[i].calls;
        uint64_t left = calls;
        if (total)
            left -= share(calls, u->given[(size_t)set * u->a->events], total);
        else if (u->set[set].visited)
            left = 0;
        tt_builder_add(u->a->b, TT_ROLE_BESIDE, u->function[u->arc[i].to].block, u->calls,
                       left);
        all += left;
    }
    tt_builder_add(u->a->b, TT_ROLE_ELSEWHERE, TT_BUILDER_ROOT, u->calls, all);
}

/* Adds the inclusive cost of functions that no context shows. */
static void add_hidden(struct unfolding *u)
{
    const uint32_t events = u->a->events;

    for (uint32_t f = 0; f < u->functions; f++) {
        const size_t row = (size_t)u->set_of[f] * events;
        for (uint32_t e = 0; u->set[u->set_of[f]].members == 1 && e < events; e++)
            tt_builder_add(u->a->b, TT_ROLE_HIDDEN, u->function[f].block, u->metric[e],
                           u->total[row + e] - u->shown[row + e]);
    }
}

/* ── Life ─────────────────────────────────────────────────────────────────────────── */

static int init(struct unfolding *u)
{
    const size_t functions = u->functions, events = u->a->events, arcs = u->a->arc.count;

    u->set_of = get(u, functions, sizeof(uint32_t));
    u->context = get(u, functions, sizeof(uint32_t));
    u->stamp = get(u, functions, sizeof(uint32_t));
    u->self_at = get(u, functions * events, sizeof(uint64_t));
    u->self_given = get(u, functions * events, sizeof(uint64_t));
    u->cost_at = get(u, arcs * events, sizeof(uint64_t));
    u->cost_given = get(u, arcs * events, sizeof(uint64_t));
    u->all = get(u, events * 4, sizeof(uint64_t));
    if (u->all) {
        u->before = u->all + events;
        u->owed = u->before + events;
    }
    if (!u->a->by_calls) /* otherwise calls state nothing */
        u->inclusive = get(u, functions * events, sizeof(uint64_t));
    tt_stated_init(&u->shown_at, u->a->memory, u->a->events);
    tt_vector_init(&u->arrivals, u->a->memory, sizeof(struct arrival));
    tt_vector_init(&u->amounts, u->a->memory, sizeof(uint64_t));
    tt_vector_init(&u->stack, u->a->memory, sizeof(struct member));
    tt_vector_init(&u->lost, u->a->memory, sizeof(struct lost));
    if (u->failed || find_sets(u) != 0)
        return -TT_ERR_MEMORY;
    u->set = get(u, u->sets, sizeof *u->set);
    u->total = get(u, u->sets * events, sizeof(uint64_t));
    u->in = get(u, u->sets * events, sizeof(uint64_t));
    u->come = get(u, u->sets * events, sizeof(uint64_t));
    u->given = get(u, u->sets * events, sizeof(uint64_t));
    u->shown = get(u, u->sets * events, sizeof(uint64_t));
    return u->failed ? -TT_ERR_MEMORY : 0;
}

/* Frees the figures of calls, which are used only while there are arrivals. */
static void drop_costs(struct unfolding *u)
{
    tt_memory_put(u->a->memory, u->cost_given);
    tt_memory_put(u->a->memory, u->cost_at);
    u->cost_given = u->cost_at = NULL;
    tt_vector_fini(&u->a->cost);
}

int tt_graph_to_tree(struct tt_arcs *a, const uint32_t *metric, uint32_t calls)
{
    struct unfolding u = {.a = a,
                          .metric = metric,
                          .calls = calls,
                          .functions = (uint32_t)a->function.count - 1,
                          .function = a->function.item,
                          .arc = a->arc.item,
                          .self = a->self.item,
                          .cost = a->cost.item};
    uint64_t *lacking, *amount;
    int error = init(&u);

    if (!error) {
        amount = u.all + 3 * (size_t)a->events;
        if (a->by_calls)
            share_by_calls(&u);
        add_costs(&u);
        if (u.inclusive)
            state(&u);
        add_places(&u);
        for (uint32_t s = 0; s < u.sets && !u.failed; s++) {
            arrive_at_root(&u, s);
            take_arrivals(&u, amount);
        }
        drop_costs(&u);
        lacking = amount;
        memset(lacking, 0, a->events * sizeof *lacking);
        add_beside(&u, lacking);
        add_elsewhere(&u, lacking);
        add_calls_beside(&u);
        if (!u.inclusive)
            add_hidden(&u);
        else if (tt_stated_finish(&u.shown_at, a, u.functions, u.inclusive, metric) != 0)
            u.failed = 1;
        if (u.is_shared)
            tt_builder_fact(a->b, "paths", TT_FACT_EACH, 1, "estimated from calls");
    }
    return u.failed ? -TT_ERR_MEMORY : error;
}
