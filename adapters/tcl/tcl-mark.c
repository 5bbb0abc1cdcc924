/* SPDX-License-Identifier: MIT */
/* tcl-mark.c - from marks to activations in the tree.
 *
 *      item   0    1      2     3      4          one stack for each stack of Tcl's:
 *            run  while  g x   run    set y       the main one, and each coroutine's
 *            └──── f ────┘    └─── g ───┘
 *
 * A mark finds its run: nearly always the one on top, or one nested in it, or one further
 * down if runs have ended without a mark (return, error, break).  Tcl's chain of
 * callbacks shows which runs are still active.  Then everything in that run at the mark's
 * depth or deeper ends, and the statement begins: one step of the tree.  The clock is
 * read before and after, so that the time of the bookkeeping is not charged. */
#include "tcl-mark.h"
#include "tcl-history.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

struct tt_tcl_clock tt_tcl_clock;
enum tt_tcl_mode tt_tcl_mode;

/* ── The clock ────────────────────────────────────────────────────────────────────── */

static int cycles; /* the processor's counter runs at one speed */

static uint64_t monotonic(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline uint64_t now(void)
{
#if defined(__x86_64__)
    if (cycles)
        return __rdtsc();
#endif
    return monotonic();
}

uint64_t tt_tcl_now(void) { return now(); }

/* Unless it is not wanted. */
static inline uint64_t read_clock(void)
{
    return tt_tcl_clock.method == TT_TCL_COUNT ? 0 : now();
}

uint64_t tt_tcl_frequency(void)
{
#if defined(__x86_64__)
    static uint64_t hz;
    unsigned a, b, c, d;
    uint64_t ns, ticks;

    if (hz)
        return hz;
    hz = 1000000000u;
    if (!__get_cpuid(0x80000007, &a, &b, &c, &d) || !(d & 1u << 8))
        return hz;
    ns = monotonic();
    ticks = __rdtsc();
    while (monotonic() - ns < 2000000)
        ;
    ns = monotonic() - ns;
    ticks = __rdtsc() - ticks;
    hz = (uint64_t)((double)ticks * 1e9 / (double)ns);
    cycles = 1;
    return hz;
#else
    return 1000000000u;
#endif
}

/* ── Marks ────────────────────────────────────────────────────────────────────────── */

static struct {
    pthread_mutex_t lock;
    struct tt_tcl_mark **bucket;
    uint32_t count, size; /* a power of two */
} marks = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint32_t hash_of(const struct tt_tcl_mark *m)
{
    uint64_t h = (uint64_t)m->block << 32 | (uint64_t)m->depth << 4 | m->flags;

    h = (h ^ m->piece) * 0x9e3779b97f4a7c15u;
    return (uint32_t)(h >> 32);
}

static int grow_marks(void)
{
    uint32_t size = marks.size ? marks.size * 2 : 1024;
    struct tt_tcl_mark **bucket = calloc(size, sizeof *bucket), *m, *next;

    if (!bucket)
        return marks.size ? 0 : -TT_ERR_MEMORY;
    for (uint32_t i = 0; i < marks.size; i++)
        for (m = marks.bucket[i]; m; m = next) {
            next = m->next;
            m->next = bucket[hash_of(m) & (size - 1)];
            bucket[hash_of(m) & (size - 1)] = m;
        }
    free(marks.bucket);
    marks.bucket = bucket;
    marks.size = size;
    return 0;
}

static const struct tt_tcl_mark *find_mark(const struct tt_tcl_mark *like)
{
    struct tt_tcl_mark *m, **bucket;

    if (marks.count >= marks.size && grow_marks() != 0)
        return NULL;
    bucket = &marks.bucket[hash_of(like) & (marks.size - 1)];
    for (m = *bucket; m; m = m->next)
        if (m->block == like->block && m->piece == like->piece &&
            m->depth == like->depth && m->flags == like->flags)
            return m;
    m = malloc(sizeof *m);
    if (!m)
        return NULL;
    *m = *like;
    m->next = *bucket;
    *bucket = m;
    marks.count++;
    return m;
}

const struct tt_tcl_mark *tt_tcl_mark_get(const struct tt_tcl_mark *like)
{
    const struct tt_tcl_mark *m;

    pthread_mutex_lock(&marks.lock);
    m = find_mark(like);
    pthread_mutex_unlock(&marks.lock);
    return m;
}

/* ── The books of a thread ────────────────────────────────────────────────────────── */

struct item {
    const NRE_callback *run;
    Tcl_NRPostProc
        *does; /* what it does, and with what: another may come to be in its place */
    ClientData with;
    const ExecEnv *env; /* whose callback that is; NULL: its interpreter is no more */
    tt_mark mark;       /* 0: a run that is no command's body */
    uint32_t base;      /* the item of its run */
    uint32_t inner;     /* method c: something was timed within it */
    tt_block block;     /* of a statement, for its history */
    uint64_t since;     /* the books' time when it began */
};

struct stack {
    const ExecEnv
        *env; /* a coroutine's; NULL: the thread's own, with all its interpreters */
    tt_fiber *fiber;
    struct item *item;
    uint32_t count, room;
    struct stack *next;
};

struct books {
    struct stack *stack, *stacks; /* the running one; all */
    const ExecEnv *env;           /* Tcl's, at the last mark */
    uint64_t last;                /* when time was last charged */
    int64_t debt; /* ticks charged too many, as marks cost more than that */
    uint64_t marks;
    uint64_t time; /* all that was charged */
    uint32_t open, pauses;
    uint32_t
        detailed; /* there is more to do at a mark than our method has, or a history */
};

static __thread struct books books;

void tt_tcl_books_open(void)
{
    books.open = 1;
    books.detailed = tt_tcl_clock.method != TT_TCL_OURS || tt_tcl_history_length();
    books.last = now();
}

static __attribute__((noinline)) uint64_t otherwise(uint64_t ticks, int leaf)
{
    switch (tt_tcl_clock.method) {
    case TT_TCL_TALLY:
        return leaf ? ticks : 0;
    case TT_TCL_FACTOR:
        return leaf ? (uint64_t)((double)ticks / tt_tcl_clock.factor) : 0;
    case TT_TCL_COUNT:
        return 0;
    default:
        return ticks;
    }
}

/* Returns the program's part of the time since the last reading of the clock. */
static inline uint64_t passed(struct books *b, uint64_t at, int leaf)
{
    int64_t ticks = (int64_t)(at - b->last);

    if (b->pauses || ticks < 0)
        return 0;
    if (tt_tcl_clock.method == TT_TCL_OURS) {
        ticks += b->debt - (int64_t)tt_tcl_clock.cost;
        b->debt = ticks < 0 ? ticks : 0;
        ticks -= b->debt;
    } else {
        ticks = (int64_t)otherwise((uint64_t)ticks, leaf);
    }
    b->time += (uint64_t)ticks;
    return (uint64_t)ticks;
}

static __attribute__((noinline)) void keep_times(const struct stack *s, uint32_t count)
{
    for (uint32_t i = s->count; i-- > count;)
        if (s->item[i].block)
            tt_tcl_history_add(s->item[i].block, books.time - s->item[i].since);
}

/* Items from there on are over. */
static inline void cut(struct stack *s, uint32_t count)
{
    if (__builtin_expect(books.detailed, 0))
        keep_times(s, count);
    s->count = count;
}

/* ── Stacks ───────────────────────────────────────────────────────────────────────── */

static struct stack *make_stack(struct books *b, const ExecEnv *env)
{
    struct stack *s = calloc(1, sizeof *s);

    if (!s)
        return NULL;
    s->fiber = env ? tt_fiber_new() : NULL;
    s->env = env;
    s->next = b->stacks;
    b->stacks = s;
    if (env)
        tt_tcl_coroutine_watch(env);
    return s;
}

static struct stack *find_stack(struct books *b, const ExecEnv *env)
{
    struct stack *s = b->stacks;

    while (s && s->env != env)
        s = s->next;
    return s ? s : make_stack(b, env);
}

/* Code outside of coroutines runs on top of whatever called it: another interpreter's
 * coroutine, too. */
static __attribute__((noinline)) struct stack *stack_of(struct books *b,
                                                        const ExecEnv *env)
{
    struct stack *s = b->stack;

    b->env = env;
    if (env->corPtr)
        s = find_stack(b, env);
    else if (!s || (s->env && s->env->interp == env->interp))
        s = find_stack(b, NULL);
    if (!s || s == b->stack)
        return s;
    if (b->stack || s->fiber)
        (void)tt_fiber_switch(s->fiber);
    b->stack = s;
    return s;
}

static void free_stack(struct stack *s)
{
    tt_fiber_free(s->fiber);
    free(s->item);
    free(s);
}

static __attribute__((noinline)) int make_room(struct stack *s)
{
    uint32_t room = s->room ? s->room * 2 : 64;
    struct item *item = realloc(s->item, room * sizeof *item);

    if (!item)
        return -TT_ERR_MEMORY;
    s->item = item;
    s->room = room;
    return 0;
}

static inline struct item *add_item(struct stack *s)
{
    if (__builtin_expect(s->count == s->room, 0) && make_room(s) != 0)
        return NULL;
    return &s->item[s->count++];
}

/* ── Runs ─────────────────────────────────────────────────────────────────────────── */

enum { CALLBACKS = 8 }; /* to look through for each run: a call takes some five */

/* 1: it is, 0: it is not, -1: that was not far enough to know. */
static int is_in_chain(const struct item *item, const NRE_callback *from, uint32_t length)
{
    for (; from && length; from = from->nextPtr, length--)
        if (from == item->run)
            return from->procPtr == item->does && from->data[1] == item->with;
    return from ? -1 : 0;
}

/* How many items are left when those of runs that are over have gone.  Calls and returns are
 * found at once, whatever the depth. */
static uint32_t living(const struct stack *s, const ExecEnv *env, const NRE_callback *run)
{
    for (uint32_t bound = 1;; bound *= 4) {
        uint32_t count = s->count;
        int known = 1;
        for (uint32_t i = 0; count && i < bound; i++) {
            const struct item *top = &s->item[count - 1];
            const NRE_callback *from = top->env == env ? run
                                       : top->env      ? top->env->callbackPtr
                                                       : NULL;
            int found = is_in_chain(top, from, bound * CALLBACKS);
            if (found == 1)
                return count;
            known &= found == 0;
            count = top->base;
        }
        if (!count && known)
            return 0;
    }
}

/* The tree's mark of the lowest item from there on. */
static tt_mark lowest(const struct stack *s, uint32_t at)
{
    while (at < s->count && !s->item[at].mark)
        at++;
    return at < s->count ? s->item[at].mark : 0;
}

/* A piece of byte-code begins to run. */
static int enter_run(struct stack *s, const struct tt_tcl_mark *m, const ExecEnv *env,
                     const NRE_callback *run, uint64_t *ticks)
{
    uint32_t left = living(s, env, run);
    tt_mark gone;
    struct item *item;

    if (left && s->item[left - 1].run == run) {
        if (!(m->flags & TT_TCL_FIRST)) { /* back in it */
            gone = lowest(s, left);
            if (gone)
                (void)tt_step(*ticks, gone, 0);
            if (gone)
                *ticks = 0;
            cut(s, left);
            return 0;
        }
        left = s->item[left - 1].base; /* another, at the place of one that is over */
    }
    gone = lowest(s, left);
    cut(s, left);
    item = add_item(s);
    if (!item) {
        cut(s, left);
        return -1;
    }
    *item = (struct item){run, run->procPtr, run->data[1], env, 0, s->count - 1, 0, 0, 0};
    if (gone || m->piece) {
        tt_mark mark = tt_step(*ticks, gone, m->piece);
        item->mark = m->piece ? mark : 0;
        *ticks = 0;
    }
    return 0;
}

/* Both return whether the tree took long over it. */
static tt_mark begin(struct stack *s, const struct tt_tcl_mark *m, const ExecEnv *env,
                     const NRE_callback *run, uint64_t ticks)
{
    struct item *top = s->count ? &s->item[s->count - 1] : NULL;
    tt_mark left, slowly = 0;
    uint32_t at, base;

    if (!top || top->run != run || (m->flags & TT_TCL_FIRST)) {
        if (enter_run(s, m, env, run, &ticks) != 0)
            return TT_STEP_SLOWLY;
        slowly = TT_STEP_SLOWLY;
        top = &s->item[s->count - 1];
    }
    base = top->base;
    at = base + 1 + m->depth;
    left = at < s->count ? s->item[at].mark : 0;
    if (at < s->count)
        cut(s, at);
    top = add_item(s);
    if (!top)
        return TT_STEP_SLOWLY;
    top->run = run;
    top->does = run->procPtr;
    top->with = run->data[1];
    top->env = env;
    top->base = base;
    top->inner = 0;
    top->block = m->block;
    top->since = books.time;
    top->mark = tt_step(ticks, left, m->block);
    return (top->mark & TT_STEP_SLOWLY) | slowly;
}

static tt_mark end(struct stack *s, const struct tt_tcl_mark *m, const ExecEnv *env,
                   const NRE_callback *run, uint64_t ticks)
{
    uint32_t left = s->count, at;
    tt_mark gone;

    if (!left || s->item[left - 1].run != run)
        left = living(s, env, run);
    if (left && s->item[left - 1].run == run) {
        at = s->item[left - 1].base;
        if (!(m->flags & TT_TCL_LAST))
            at += 1 + m->depth;
        if (at < left)
            left = at;
    }
    gone = lowest(s, left);
    cut(s, left);
    return tt_step(ticks, gone, 0);
}

/* For methods c: does it run inside a statement that was empty?  Then the new one is
 * nested in those below it. */
static int is_leaf(struct stack *s, const struct tt_tcl_mark *m, const NRE_callback *run)
{
    struct item *top = s->count ? &s->item[s->count - 1] : NULL;
    int leaf = top && !top->inner && top->mark;
    uint32_t at;

    if (!top)
        return 0;
    if (m->flags & TT_TCL_END)
        at = 0;
    else
        at = top->run == run ? top->base + 1 + m->depth : s->count;
    if (!(m->flags & TT_TCL_END) &&
        at >= s->count) { /* nested: its own time is not charged */
        top->inner = 1;
        return 0;
    }
    return leaf;
}

/* Charges the time up to now, and makes the stack of this interpreter current. */
static inline struct stack *settle(struct books *b, const Interp *interp, uint64_t at)
{
    if (__builtin_expect(b->stack && b->env == interp->execEnvPtr, 1))
        return b->stack;
    (void)tt_step(passed(b, at, 0), 0, 0);
    b->last = at;
    return stack_of(b, interp->execEnvPtr);
}

/* Returns from when on time is charged after a mark that began at `at`.  If the mark took
 * the calibrated time, reading the clock again would cost as much; the next mark
 * subtracts that cost. */
static inline uint64_t after(uint64_t at, tt_mark slowly)
{
    switch (tt_tcl_clock.method) {
    case TT_TCL_OURS:
        return slowly & TT_STEP_SLOWLY ? now() - tt_tcl_clock.books : at;
    case TT_TCL_NONE:
    case TT_TCL_COUNT:
        return at;
    case TT_TCL_MANAGE:
    case TT_TCL_TALLY:
    case TT_TCL_FACTOR:
        break;
    }
    return now();
}

static __attribute__((noinline)) void pass(struct books *b, const Interp *interp,
                                           const struct tt_tcl_mark *m,
                                           const NRE_callback *run, uint64_t at)
{
    struct stack *s = settle(b, interp, at);
    uint64_t ticks;
    tt_mark slowly;

    if (!s)
        return;
    ticks = passed(b, at,
                   tt_tcl_clock.method == TT_TCL_TALLY ||
                           tt_tcl_clock.method == TT_TCL_FACTOR
                       ? is_leaf(s, m, run)
                       : 0);
    slowly = m->flags & TT_TCL_END ? end(s, m, b->env, run, ticks)
                                   : begin(s, m, b->env, run, ticks);
    b->last = after(at, slowly);
}

/* Nearly always the statement that ends and the one that begins are of one script, and
 * nothing lies between them. */
static inline struct item *is_next(const struct books *b, const Interp *interp,
                                   const struct tt_tcl_mark *m, const NRE_callback *run)
{
    const struct stack *s = b->stack;
    struct item *top;

    if (!s || b->detailed || b->env != interp->execEnvPtr || !s->count ||
        m->flags & (TT_TCL_FIRST | TT_TCL_END))
        return NULL;
    top = &s->item[s->count - 1];
    return top->run == run && s->count == top->base + 2 + m->depth ? top : NULL;
}

void tt_tcl_pass(Interp *interp, const struct tt_tcl_mark *m, const NRE_callback *run)
{
    struct books *b = &books;
    uint64_t at;
    struct item *top;

    if (!b->open)
        return;
    at = read_clock();
    b->marks++;
    top = is_next(b, interp, m, run);
    if (!top) {
        pass(b, interp, m, run, at);
        return;
    }
    top->mark = tt_step(passed(b, at, 0), top->mark, m->block);
    top->block = m->block;
    b->last = after(at, top->mark);
}

/* ── Cost centres ─────────────────────────────────────────────────────────────────── */

/* Ends everything that is over by now. */
static tt_mark end_over(struct stack *s, const ExecEnv *env, const NRE_callback *run)
{
    uint32_t left = living(s, env, run);
    tt_mark gone = lowest(s, left);

    cut(s, left);
    return gone;
}

void tt_tcl_centre_enter(Interp *interp, tt_block around, tt_block block,
                         const NRE_callback *run)
{
    struct books *b = &books;
    uint64_t at = read_clock();
    struct stack *s = b->open ? settle(b, interp, at) : NULL;
    struct item *item;
    uint64_t ticks;
    tt_mark gone;

    if (!s)
        return;
    b->marks++;
    ticks = passed(b, at, 0);
    /* where there is nothing but these, each of them says when it is over */
    gone = tt_tcl_mode >= TT_TCL_PROCS ? 0 : end_over(s, b->env, run);
    item = add_item(s);
    if (!item)
        return;
    *item = (struct item){run, run->procPtr, run->data[1], b->env, 0, s->count - 1, 0, 0,
                          0};
    item->mark = tt_step(ticks, gone, around ? around : block);
    b->last = after(at, item->mark);
    if (around)
        (void)tt_step(0, 0, block);
}

void tt_tcl_centre_leave(Interp *interp, const NRE_callback *run)
{
    struct books *b = &books;
    uint64_t at = read_clock();
    struct stack *s = b->open ? settle(b, interp, at) : NULL;
    uint32_t i = s ? s->count : 0;

    while (i && (s->item[i - 1].run != run || s->item[i - 1].env != b->env))
        i--;
    if (!i)
        return;
    b->marks++;
    b->last = after(at, tt_step(passed(b, at, 0), lowest(s, i - 1), 0));
    cut(s, i - 1);
}

void tt_tcl_books_settle(Interp *interp)
{
    struct books *b = &books;
    uint64_t at = read_clock();
    struct stack *s = b->open ? settle(b, interp, at) : NULL;
    uint64_t ticks;

    if (!s)
        return;
    ticks = passed(b, at, 0);
    (void)tt_step(ticks, end_over(s, b->env, b->env->callbackPtr), 0);
    b->last = read_clock();
}

/* ── All of a thread ──────────────────────────────────────────────────────────────── */

void tt_tcl_books_close(void)
{
    static const struct tt_tcl_mark over = {.flags = TT_TCL_END};
    struct books *b = &books;
    struct stack *s, *next;

    if (!b->open)
        return;
    (void)tt_step(passed(b, now(), b->stack && is_leaf(b->stack, &over, NULL)), 0, 0);
    if (b->stack && b->stack->fiber)
        (void)tt_fiber_switch(NULL);
    for (s = b->stacks; s; s = next) {
        next = s->next;
        if (!s->fiber && s->count)
            (void)tt_step(0, lowest(s, 0), 0);
        free_stack(s);
    }
    memset(b, 0, sizeof *b);
}

void tt_tcl_books_forget(const ExecEnv *env)
{
    struct books *b = &books;
    struct stack **link = &b->stacks, *s;

    while ((s = *link)) {
        for (uint32_t i = 0; i < s->count; i++)
            if (s->item[i].env == env)
                s->item[i].env = NULL;
        if (s->env != env || s == b->stack) {
            link = &s->next;
            continue;
        }
        *link = s->next;
        free_stack(s);
    }
    if (b->env == env)
        b->env = NULL;
}

void tt_tcl_books_skip(uint64_t since)
{
    struct books *b = &books;
    uint64_t at = now();

    if (b->open && at > since)
        b->last += at - since;
}

void tt_tcl_books_pause(void)
{
    struct books *b = &books;

    if (b->open && !b->pauses)
        (void)tt_step(passed(b, now(), 0), 0, 0);
    b->pauses++;
}

void tt_tcl_books_resume(void)
{
    struct books *b = &books;

    if (b->pauses && --b->pauses == 0)
        b->last = now();
}

uint32_t tt_tcl_books_height(tt_block block)
{
    const struct stack *s = books.stack;
    uint32_t i = s && block ? s->count : 0;

    while (i && s->item[i - 1].block != block)
        i--;
    return i;
}

uint64_t tt_tcl_books_marks(void) { return books.marks; }
