/* SPDX-License-Identifier: MIT */
/* hooks-stacks.c - coroutines, recognised by their stacks.
 *
 * Nothing reports that a program continues on another stack: it changes its stack
 * pointer.  So if a hook is called far from the previous one, or for another activation
 * than the top, we walk its callers.  If the walk meets an open activation, it is the
 * same stack.  If it meets known parts of another stack, it is that one; else a new one.
 * Each stack becomes a fiber.  Next time its range of memory identifies it, without a
 * walk.
 *
 * Records are never freed: one that was not used for long is reused for another stack. */
#include "hooks-stacks.h"

#include <string.h>
#include <sys/mman.h>

#include "brief-lock.h"
#include "control.h"
#include "stack.h"

enum { MOST_STACKS = 4096, STEPS = 256 };

struct stack {
    struct tt_fiber fiber;
    uintptr_t low, high;     /* both 0: free */
    struct tt_thread *owner; /* thread that runs it; NULL: it does not run */
    uint64_t used;           /* last time that it was run; 0: not yet as this stack */
};

static struct {
    uint32_t lock;
    struct stack *all;                   /* mapped */
    uint32_t count;                      /* that were ever used */
    uint32_t placed, place[MOST_STACKS]; /* those in use, by address */
    uint64_t now;
} stacks; /* all under the lock */

struct mine {           /* the thread's: the current stack, and its own */
    struct stack *runs; /* NULL: its own */
    uintptr_t low, high;
};
static __thread struct mine mine;

__thread struct tt_hook_here tt_hook_here;

static uintptr_t *low_of(struct stack *s) { return s ? &s->low : &mine.low; }
static uintptr_t *high_of(struct stack *s) { return s ? &s->high : &mine.high; }

static int has(struct stack *s, uintptr_t address)
{
    return address - *low_of(s) <= *high_of(s) - *low_of(s) && *high_of(s);
}

/* ── By address ───────────────────────────────────────────────────────────────────── */

/* How many of them begin at or below an address. */
static uint32_t count_below(uintptr_t address)
{
    uint32_t low = 0, high = stacks.placed;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (stacks.all[stacks.place[middle]].low <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct stack *find_stack(uintptr_t address)
{
    uint32_t n = count_below(address);
    struct stack *s = n ? &stacks.all[stacks.place[n - 1]] : NULL;

    return s && has(s, address) ? s : NULL;
}

static void remove_place(uint32_t at)
{
    struct stack *s = &stacks.all[stacks.place[at]];

    s->low = s->high = 0;
    stacks.placed--;
    memmove(stacks.place + at, stacks.place + at + 1,
            (stacks.placed - at) * sizeof *stacks.place);
}

/* Forgets stacks seen there before: their memory has been reused. */
static void clear_places(const struct stack *but, uintptr_t low, uintptr_t high)
{
    for (uint32_t at = count_below(high); at-- > 0;) {
        const struct stack *s = &stacks.all[stacks.place[at]];
        if (s == but)
            continue;
        if (s->high <= low)
            return;
        remove_place(at);
    }
}

static void place_stack(struct stack *s, uintptr_t low, uintptr_t high)
{
    uint32_t at;

    clear_places(NULL, low, high);
    at = count_below(low);
    memmove(stacks.place + at + 1, stacks.place + at,
            (stacks.placed - at) * sizeof *stacks.place);
    stacks.place[at] = (uint32_t)(s - stacks.all);
    stacks.placed++;
    s->low = low;
    s->high = high;
}

/* More of a stack was seen. */
static void extend(struct stack *s, uintptr_t low, uintptr_t high)
{
    uintptr_t *from = low_of(s), *to = high_of(s);

    if (*to && *from <= low && *to >= high)
        return;
    low = *to && *from < low ? *from : low;
    high = *to > high ? *to : high;
    clear_places(s, low, high);
    *from = low; /* the order stays: no other is in between */
    *to = high;
}

/* ── Records ──────────────────────────────────────────────────────────────────────── */

static uint32_t place_of(const struct stack *s)
{
    uint32_t at = 0;

    while (stacks.place[at] != (uint32_t)(s - stacks.all))
        at++;
    return at;
}

/* A record that does not run: a free one, or the least recently used. */
static struct stack *find_old(void)
{
    struct stack *old = NULL;

    for (uint32_t i = 0; i < stacks.count; i++) {
        struct stack *s = &stacks.all[i];
        if (!s->owner && (!old || (!s->high && old->high) ||
                          (!s->high == !old->high && s->used < old->used)))
            old = s;
    }
    if (old && old->high)
        remove_place(place_of(old));
    if (old)
        old->used = 0;
    return old;
}

static struct stack *make_stack(void)
{
    const size_t size = MOST_STACKS * sizeof *stacks.all;
    struct stack *s;

    if (!stacks.all) {
        void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p == MAP_FAILED)
            return NULL;
        stacks.all = p;
    }
    if (stacks.placed < stacks.count || stacks.count == MOST_STACKS) {
        s = find_old();
        if (s || stacks.count == MOST_STACKS)
            return s;
    }
    s = &stacks.all[stacks.count];
    if (tt_stack_init(&s->fiber, NULL, 0) != 0)
        return NULL;
    stacks.count++;
    return s;
}

/* ── Which stack is it? ───────────────────────────────────────────────────────────── */

struct walk {
    struct tt_native frame[STEPS];
    struct tt_unwound stack;
    uint32_t plain; /* how many there are before a signal's */
};

void tt_hook_walk(struct tt_unwound *out, const struct tt_modules *modules,
                  const struct tt_hook_call *c)
{
    struct tt_registers r;
    struct tt_peek peek;

    memset(&r, 0, sizeof r);
    r.value[TT_REGISTER_PC] = c->pc;
    r.value[TT_REGISTER_SP] = c->sp;
    r.value[TT_REGISTER_FP] = c->fp;
    tt_peek_own(&peek, NULL, NULL);
    tt_native_unwind(out, modules, &r, &peek);
}

static void walk_up(struct walk *w, const struct tt_hook_call *c)
{
    struct tt_hold hold;

    w->stack = (struct tt_unwound){.frame = w->frame, .room = STEPS};
    tt_modules_hold(&hold);
    tt_hook_walk(&w->stack, hold.modules, c);
    tt_modules_release(&hold);
    w->plain = 0;
    while (w->plain < w->stack.count && !(w->frame[w->plain].flags & TT_NATIVE_SIGNAL))
        w->plain++;
}

/* Does the walk meet an open activation?  The stack pointer of its caller is the end of
 * its frame. */
static int comes_by(const struct walk *w, const struct tt_thread *t)
{
    struct tt_frame *f = t->self->top;
    uint32_t i = 1;

    while (i < w->stack.count && TT_CFA_OF(f) != TT_CFA_BOTTOM) {
        if (w->frame[i].sp == TT_CFA_OF(f))
            return 1;
        if (w->frame[i].sp < TT_CFA_OF(f))
            i++;
        else
            f = tt_frame_below(f);
    }
    return 0;
}

/* The first known stack that the walk meets; 0: none.  A handler's stack is that of the
 * interrupted code, which may be in the middle of entering there. */
static int find_known(const struct walk *w, struct stack **out)
{
    for (uint32_t i = 0; i < w->stack.count; i++) {
        uintptr_t sp = w->frame[i].sp;
        *out = NULL;
        if (has(NULL, sp) || (*out = find_stack(sp)))
            return 1;
    }
    return 0;
}

/* The stack of a call; *out NULL: the thread's own.  0: unknown. */
static int find(const struct tt_hook_call *c, uintptr_t cfa, struct tt_thread *t,
                struct stack **out)
{
    static struct walk w; /* under the lock */
    uintptr_t high;
    int is_first;

    *out = NULL;
    if (has(NULL, cfa) || (*out = find_stack(cfa)))
        return 1;
    walk_up(&w, c);
    is_first = !mine.runs && !mine.high;
    high = w.plain ? w.frame[w.plain - 1].sp : cfa;
    high = high > cfa ? high : cfa;
    if (is_first || comes_by(&w, t)) {
        *out = mine.runs;
    } else if (!find_known(&w, out)) {
        if (w.plain < w.stack.count)
            return 0;
        if (!(*out = make_stack()))
            return 0;
        place_stack(*out, c->sp, high);
        return 1;
    }
    if (w.plain == w.stack.count) /* else it is a handler's, on a separate stack */
        extend(*out, c->sp, high);
    return 1;
}

/* ── Going there ──────────────────────────────────────────────────────────────────── */

static void show_here(struct stack *s)
{
    tt_hook_here.size = 0;
    TT_BARRIER();
    tt_hook_here.low = *low_of(s);
    TT_BARRIER();
    tt_hook_here.size = *high_of(s) - *low_of(s);
}

/* It is another thread's, which does not know yet that it has left it: its open
 * activations are lost. */
static struct stack *take_over(struct stack *s)
{
    struct stack *other;
    uintptr_t low = s->low, high = s->high;

    if (!s->owner)
        return s;
    remove_place(place_of(s));
    other = make_stack();
    if (other)
        place_stack(other, low, high);
    return other;
}

/* Activations of a reused record may still be open, and would never end. */
static void take_up(struct stack *s, int is_new)
{
    (void)tt_fiber_switch(s ? &s->fiber : NULL);
    if (is_new)
        tt_unwind(0);
}

/* Meanwhile it is at work: its handlers wait for nothing. */
static void lock_stacks(struct tt_thread *t)
{
    tt_busy_enter(&t->busy);
    tt_brief_lock(&stacks.lock);
}

static void unlock_stacks(struct tt_thread *t)
{
    tt_brief_unlock(&stacks.lock);
    tt_busy_leave(&t->busy);
}

static void go(const struct tt_hook_call *c, uintptr_t cfa, struct tt_thread *t)
{
    struct stack *to, *from = mine.runs;
    int found, is_new;

    lock_stacks(t);
    found = find(c, cfa, t, &to);
    if (found && to && to != from && !(to = take_over(to)))
        found = 0;
    is_new = found && to && !to->used;
    if (found && to) {
        to->owner = t;
        to->used = ++stacks.now;
    }
    if (found)
        show_here(to);
    unlock_stacks(t);
    if (!found || to == from)
        return;
    mine.runs = to;
    take_up(to, is_new);
    if (!from)
        return;
    lock_stacks(t);
    from->owner = NULL;
    unlock_stacks(t);
}

void tt_hook_follow(const struct tt_hook_call *c, uintptr_t cfa)
{
    struct tt_thread *t = tt_self.thread;
    sigset_t before;
    int saved = errno;

    if (!t || tt_is_at_work() ||
        t->stack.fiber != (mine.runs ? &mine.runs->fiber : &t->stack.own))
        return;
    tt_hook_hold_signals(&before);
    go(c, cfa, t);
    tt_hook_let_signals(&before);
    errno = saved;
}

void tt_hook_stacks_forked(void) { stacks.lock = 0; }
