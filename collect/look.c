/* SPDX-License-Identifier: MIT */
/* look.c - native stacks, sampled into the tree of the thread that they are of.
 *
 *      signal ─ unwind ─ recursion policy ─ blocks ─ walk down the tree ─ charge
 *
 * Everything happens in the handler, on a stack of its own: there is no trace to write,
 * and nothing grows with time.  Where a block or a context is new and somebody has one of
 * the locks, nothing is charged, and the next look has the time of both. */
#include "look.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "clock.h"
#include "hang.h"
#include "wall.h"

enum { HANDLER_STACK = 64 << 10 };

struct look { /* a thread's own, mapped; its pages are there once they are used */
    void *context;
    uint64_t ns;
    uint64_t count;
    int done;
    uint64_t waiting;     /* `count` of the look at where it waits */
    int inside, charging; /* of its handler, and of another thread: never both */
    struct tt_wall wall;
    struct tt_hanging hanging;
    char handler_stack[HANDLER_STACK] __attribute__((aligned(64)));
};

static struct tt_look_options looking;

/* ── Charging ─────────────────────────────────────────────────────────────────────── */

static uint64_t ticks_of_look(const struct look *l)
{
    uint64_t rate = l->hanging.thread->recording->header->ticks_per_second;

    return (uint64_t)((unsigned __int128)l->ns * rate / 1000000000u);
}

/* Below an activation that a clock times, its time is known already. */
static uint32_t metric_of(const struct look *l)
{
    return l->hanging.thread->timed ? looking.metric : 0;
}

static void charge(struct look *l, struct tt_node *n, uint32_t made)
{
    uint32_t metric = metric_of(l);

    tt_hang_charge(&l->hanging, n, made, metric ? l->ns : ticks_of_look(l), metric);
}

/* ── A look ───────────────────────────────────────────────────────────────────────── */

/* With nothing to make: when all of it is there, and nothing is hidden. */
static int charge_what_is_there(struct look *l)
{
    struct tt_node *n;

    if (metric_of(l) || !tt_hang_find(&l->hanging, &n))
        return 0;
    charge(l, n, l->hanging.path.count);
    return 1;
}

static int charge_with_locks(struct look *l)
{
    struct tt_node *n;
    uint32_t made;

    if (!tt_hang_make(&l->hanging, &n, &made))
        return 0;
    if (n)
        charge(l, n, made);
    tt_hang_done(&l->hanging);
    return 1;
}

static void look_here(void *arg)
{
    struct look *l = arg;

    tt_registers_of_context(&l->hanging.registers, l->context);
    if (tt_hang_unwind(&l->hanging))
        l->done = charge_what_is_there(l) || charge_with_locks(l);
    tt_hang_release(&l->hanging);
}

/* Is this outside of the time that was asked for? */
static int is_out_of_time(void)
{
    uint64_t now;

    if (!looking.begin && !looking.end)
        return 0;
    now = tt_clock_monotonic();
    return now < looking.begin || (looking.end && now >= looking.end);
}

/* 0 while another thread charges what was seen last. */
static int go_inside(struct look *l)
{
    __atomic_store_n(&l->inside, 1, __ATOMIC_SEQ_CST);
    if (!__atomic_load_n(&l->charging, __ATOMIC_SEQ_CST))
        return 1;
    __atomic_store_n(&l->inside, 0, __ATOMIC_SEQ_CST);
    return 0;
}

/* async-signal-safe */
static int look_for(struct tt_thread *t, void *context, uint64_t ns, const char *wait)
{
    struct look *l = t->sampler.looker;

    if (t->pauses || is_out_of_time())
        return 1; /* nobody's */
    if (!go_inside(l))
        return 0;
    l->hanging.thread = t;
    l->hanging.wait = wait;
    l->context = context;
    l->ns = ns;
    l->done = 0;
    t->busy++;
    l->count++;
    if (!(l->count & (l->count - 1)))
        tt_thread_rename(t); /* in time for a thread that never ends */
    tt_call_on_stack(l->handler_stack + sizeof l->handler_stack, look_here, l);
    t->busy--;
    __atomic_store_n(&l->inside, 0, __ATOMIC_RELEASE);
    return l->done;
}

/* async-signal-safe */
static int look(struct tt_thread *t, void *context, uint64_t ns)
{
    struct look *l = t->sampler.looker;

    if (looking.wall)
        ns = tt_wall_stretch(&l->wall, ns);
    return look_for(t, context, ns, NULL);
}

/* ── Waiting ──────────────────────────────────────────────────────────────────────── */

struct tt_wall *tt_look_wall(struct tt_thread *t)
{
    struct look *l = __atomic_load_n(&t->sampler.looker, __ATOMIC_ACQUIRE);

    return l && looking.wall ? &l->wall : NULL;
}

/* What the look itself takes is none of the thread's CPU time. */
int tt_look_waiting(struct tt_thread *t, void *context, uint64_t ns, const char *wait)
{
    struct look *l = t->sampler.looker;
    uint64_t before = tt_clock_cpu(), cost;
    int done;

    if (t->busy || !__atomic_load_n(&tt_on, __ATOMIC_RELAXED))
        return 0;
    done = look_for(t, context, ns, wait);
    l->waiting = l->count;
    cost = tt_clock_cpu() - before;
    t->sampler.cpu += cost;
    (void)__atomic_fetch_add(&l->wall.queued, (int64_t)cost, __ATOMIC_RELAXED);
    return done;
}

static int charge_once_more(struct look *l, uint64_t ns)
{
    struct tt_node *n;
    uint32_t made;

    if (!tt_hang_again(&l->hanging, &n, &made))
        return 0;
    l->ns = ns;
    charge(l, n, made);
    tt_hang_done(&l->hanging);
    return 1;
}

int tt_look_again(struct tt_thread *t, uint64_t ns)
{
    struct look *l = t->sampler.looker;
    int done = 0;

    if (t->pauses || is_out_of_time())
        return 1;
    __atomic_store_n(&l->charging, 1, __ATOMIC_SEQ_CST);
    if (!__atomic_load_n(&l->inside, __ATOMIC_SEQ_CST) && l->waiting == l->count &&
        __atomic_load_n(&tt_on, __ATOMIC_ACQUIRE))
        done = charge_once_more(l, ns);
    __atomic_store_n(&l->charging, 0, __ATOMIC_SEQ_CST);
    return done;
}

/* ── Threads ──────────────────────────────────────────────────────────────────────── */

static int begin(struct tt_thread *t)
{
    struct look *l = t->sampler.looker;

    if (!l) {
        l = mmap(NULL, sizeof *l, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (l == MAP_FAILED)
            return -TT_ERR_MEMORY;
    }
    l->hanging.thread = t;
    tt_hang_find_stack(&l->hanging);
    if (looking.wall)
        tt_wall_begin(&l->wall);
    __atomic_store_n(&t->sampler.looker, l, __ATOMIC_RELEASE);
    return 0;
}

static void end(struct tt_thread *t)
{
    struct look *l = t->sampler.looker;

    if (looking.wall)
        tt_threads_lock(); /* nobody looks at it now */
    t->sampler.looker = NULL;
    if (looking.wall)
        tt_threads_unlock();
    if (l)
        munmap(l, sizeof *l);
}

struct tt_looker tt_native_looker = {
    .signal = SIGPROF, .action = sigaction, .begin = begin, .end = end, .look = look};

void tt_look_init(const struct tt_look_options *o)
{
    looking = *o;
    if (o->wall)
        tt_native_looker.other = tt_wall_signal;
    tt_hang_init();
    tt_looker = &tt_native_looker;
}
