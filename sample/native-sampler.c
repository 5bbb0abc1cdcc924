/* SPDX-License-Identifier: MIT */
/* native-sampler.c - samples native stacks into their threads' trees.
 *
 *      signal ─ unwind ─ recursion policy ─ blocks ─ walk down the tree ─ charge
 *
 * Everything happens in the handler, on a separate stack: there is no trace to write, and
 * nothing grows with time.  If a block or a context is new and one of the locks is taken,
 * nothing is charged, and the next sample has the time of both. */
#include "native-sampler.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "clock.h"
#include "graft.h"
#include "wall.h"

enum { HANDLER_STACK = 64 << 10, LARGE_STACK = 256 << 10 };

static const uint64_t NONE = UINT64_MAX;

struct look { /* a thread's own, mapped; pages exist once used */
    char handler_stack[HANDLER_STACK] __attribute__((aligned(64)));
    void *context;
    uint64_t ns;
    uint64_t count;
    uint64_t waiting; /* `count` when seen asleep, until its next own sample; or NONE */
    struct tt_wall wall;
    struct tt_grafting hanging;
    struct tt_log_writer *writer; /* of the sampling thread; NULL: the thread's own */
    int done;
    int inside, charging; /* set by its handler, by another thread: never both */
    int lends;            /* the one after it is the thread's alternate stack */
};

/* After it come a page, the guard, and a stack for signal frames, if the thread's stack is
 * small.  Handlers of the program may run there, too, and find no less room than on theirs. */
static size_t page_size(void) { return (size_t)sysconf(_SC_PAGESIZE); }

static size_t guard_offset(size_t page)
{
    return (sizeof(struct look) + page - 1) & ~(page - 1);
}

static size_t look_size(void)
{
    const size_t page = page_size();

    return guard_offset(page) + page + LARGE_STACK;
}

static struct tt_native_sampler_options looking;
int (*tt_native_sampler_lend)(char *, size_t);

/* ── Charging ─────────────────────────────────────────────────────────────────────── */

static uint64_t ticks_of_look(const struct look *l)
{
    uint64_t rate = l->hanging.thread->recording->header->ticks_per_second;

    return (uint64_t)((unsigned __int128)l->ns * rate / 1000000000u);
}

/* Time below an activation that is timed by a clock is charged already: only the metric
 * is. */
static uint32_t metric_of(const struct look *l)
{
    return l->hanging.thread->stack.timed ? looking.metric : 0;
}

static void charge(struct look *l, struct tt_node *n, uint32_t made)
{
    uint32_t metric = metric_of(l);

    tt_log_add(l->hanging.thread, l->writer, n, ticks_of_look(l), TT_LOG_NOW);
    tt_graft_charge(&l->hanging, n, made, metric ? l->ns : ticks_of_look(l), metric);
}

/* ── A sample ─────────────────────────────────────────────────────────────────────── */

/* Charges an existing context, if nothing is hidden. */
static int charge_what_is_there(struct look *l)
{
    struct tt_node *n;

    if (metric_of(l) || !tt_graft_find(&l->hanging, &n))
        return 0;
    charge(l, n, l->hanging.path.count);
    return 1;
}

static int charge_with_locks(struct look *l)
{
    struct tt_node *n;
    uint32_t made;

    if (!tt_graft_make(&l->hanging, &n, &made))
        return 0;
    if (n)
        charge(l, n, made);
    tt_graft_done(&l->hanging);
    return 1;
}

/* Is the stack nearly used up?  A program may touch its end, as Ruby does when it begins. */
static int is_near_end(const struct look *l)
{
    enum { TWO_FRAMES = 64 << 10 }; /* of signals, with all registers that there are */
    const uint64_t low = (uint64_t)(uintptr_t)l->hanging.stack_low;
    const uint64_t sp = l->hanging.registers.value[TT_REGISTER_SP];

    return !l->lends && low && sp >= low && sp - low < TWO_FRAMES;
}

/* May loads fault here?  Not if the fault's signal was blocked when the sample's came, or if
 * there is no room for another signal's frame. */
static int may_fault(const struct look *l)
{
    const ucontext_t *interrupted = l->context;

    return sigismember(&interrupted->uc_sigmask, SIGSEGV) == 0 &&
           sigismember(&interrupted->uc_sigmask, SIGBUS) == 0 && !is_near_end(l);
}

static void look_here(void *arg)
{
    struct look *l = arg;

    tt_registers_of_context(&l->hanging.registers, l->context);
    tt_safe_begin(may_fault(l) ? TT_SAFE_IN_HANDLER : 0);
    if (tt_graft_unwind(&l->hanging))
        l->done = charge_what_is_there(l) || charge_with_locks(l);
    tt_graft_release(&l->hanging);
}

/* Is this outside of the requested interval? */
static int is_out_of_time(void)
{
    uint64_t now;

    if (!looking.begin && !looking.end)
        return 0;
    now = tt_clock_monotonic();
    return now < looking.begin || (looking.end && now >= looking.end);
}

/* 0 while another thread charges this thread's wait. */
static int go_inside(struct look *l)
{
    __atomic_store_n(&l->inside, 1, __ATOMIC_SEQ_CST);
    if (!__atomic_load_n(&l->charging, __ATOMIC_SEQ_CST))
        return 1;
    __atomic_store_n(&l->inside, 0, __ATOMIC_SEQ_CST);
    return 0;
}

/* async-signal-safe */
static int look_for(struct tt_thread *t, void *context, uint64_t ns)
{
    struct look *l = t->sampler.looker;

    if (t->clock.pauses || is_out_of_time())
        return 1; /* not charged */
    if (!go_inside(l))
        return 0;
    l->hanging.thread = t;
    l->hanging.wait = NULL;
    l->writer = NULL;
    l->context = context;
    l->ns = ns;
    l->done = 0;
    tt_busy_enter(&t->busy);
    TT_SHOW(l->count, l->count + 1);
    if (!(l->count & (l->count - 1)))
        tt_thread_rename(t); /* in time for a thread that never ends */
    tt_call_on_stack(l->handler_stack + sizeof l->handler_stack, look_here, l);
    tt_safe_end();
    tt_busy_leave(&t->busy);
    __atomic_store_n(&l->inside, 0, __ATOMIC_RELEASE);
    return l->done;
}

/* async-signal-safe */
static int look(struct tt_thread *t, void *context, uint64_t ns)
{
    struct look *l = t->sampler.looker;

    if (looking.wall)
        ns = tt_wall_stretch(&l->wall, ns);
    return look_for(t, context, ns);
}

/* ── Waiting ──────────────────────────────────────────────────────────────────────── */

struct tt_wall *tt_native_sampler_wall(struct tt_thread *t)
{
    struct look *l = __atomic_load_n(&t->sampler.looker, __ATOMIC_ACQUIRE);

    return l && looking.wall ? &l->wall : NULL;
}

/* t->sampler.looker may be gone: the thread is about to end, and waits for us. */
static struct look *look_of(struct tt_wall *w)
{
    return (struct look *)(void *)((char *)w - offsetof(struct look, wall));
}

/* Copies the stack in one call, mostly all of it.  If the system forbids that, reads it
 * in place: the thread cannot end meanwhile (wall.h). */
static void read_stack(struct look *l, uint64_t sp, struct tt_stack_copy *copy)
{
    const char *low = (const char *)(uintptr_t)sp, *end = l->hanging.stack_end;
    int is_inside = low >= l->hanging.stack_low && low < end;
    size_t size = sizeof copy->bytes;
    long n;

    if (is_inside && (size_t)(end - low) < size)
        size = (size_t)(end - low);
    n = tt_peek_take(sp, copy->bytes, size);
    if (n > 0)
        tt_peek_own_copy(&l->hanging.peek, sp, copy->bytes, (size_t)n);
    else if (is_inside)
        tt_peek_own(&l->hanging.peek, low, end);
    else
        tt_peek_own(&l->hanging.peek, NULL, NULL);
}

static int unwind_asleep(struct look *l, struct tt_sleeper *s)
{
    tt_registers_of_place(&l->hanging.registers, s->pc, s->sp);
    read_stack(l, s->sp, s->copy);
    return tt_graft_unwind_asleep(&l->hanging) && s->still_sleeps(s->arg);
}

static struct tt_log_writer rounds_log; /* of the rounds' thread */

static int charge_asleep(struct look *l, uint64_t ns)
{
    struct tt_node *n;
    uint32_t made;

    if (!tt_graft_make_asleep(&l->hanging, &n, &made))
        return 0;
    l->ns = ns;
    l->writer = &rounds_log;
    if (n) {
        charge(l, n, made);
        l->waiting = __atomic_load_n(&l->count, __ATOMIC_RELAXED);
    }
    tt_graft_done(&l->hanging);
    return n != NULL;
}

/* 1: the thread's own handler returns at once until `charging` is cleared. */
static int keep_out(struct look *l, const struct tt_thread *t)
{
    __atomic_store_n(&l->charging, 1, __ATOMIC_SEQ_CST);
    return !__atomic_load_n(&l->inside, __ATOMIC_SEQ_CST) &&
           __atomic_load_n(&tt_on, __ATOMIC_ACQUIRE) &&
           !__atomic_load_n(&t->busy.work, __ATOMIC_RELAXED);
}

static void let_in(struct look *l)
{
    __atomic_store_n(&l->charging, 0, __ATOMIC_SEQ_CST);
}

static int is_nobodys(const struct tt_thread *t)
{
    return __atomic_load_n(&t->clock.pauses, __ATOMIC_RELAXED) || is_out_of_time();
}

int tt_native_sampler_asleep(struct tt_thread *t, struct tt_wall *w, struct tt_sleeper *s,
                             uint64_t ns)
{
    struct look *l = look_of(w);
    int done = 0;

    l->waiting = NONE;
    if (is_nobodys(t))
        return 1;
    if (keep_out(l, t)) {
        l->hanging.thread = t;
        l->hanging.wait = s->wait;
        done = unwind_asleep(l, s) && charge_asleep(l, ns);
        tt_graft_release(&l->hanging);
    }
    let_in(l);
    return done;
}

static int charge_once_more(struct look *l, uint64_t ns)
{
    struct tt_node *n;
    uint32_t made;

    if (!tt_graft_again(&l->hanging, &n, &made))
        return 0;
    l->ns = ns;
    l->writer = &rounds_log;
    charge(l, n, made);
    tt_graft_done(&l->hanging);
    return 1;
}

int tt_native_sampler_again(struct tt_thread *t, struct tt_wall *w, uint64_t ns)
{
    struct look *l = look_of(w);
    int done;

    if (is_nobodys(t))
        return 1;
    done = keep_out(l, t) && l->waiting == __atomic_load_n(&l->count, __ATOMIC_RELAXED) &&
           charge_once_more(l, ns);
    let_in(l);
    return done;
}

/* ── Threads ──────────────────────────────────────────────────────────────────────── */

/* A signal's frame may be larger than the rest of a small stack.  The program does not
 * see the alternate stack: tt_native_sampler_lend. */
static void lend_stack(struct look *l)
{
    const struct tt_grafting *h = &l->hanging;
    const size_t page = page_size();
    char *guard = (char *)l + guard_offset(page);

    if (!h->stack_low || h->stack_end - h->stack_low >= LARGE_STACK ||
        !tt_native_sampler_lend)
        return;
    (void)mprotect(guard, page, PROT_NONE);
    l->lends = tt_native_sampler_lend(guard + page, LARGE_STACK);
}

static int begin(struct tt_thread *t)
{
    struct look *l = t->sampler.looker;

    if (!l) {
        l = mmap(NULL, look_size(), PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (l == MAP_FAILED)
            return -TT_ERR_MEMORY;
    }
    l->hanging.thread = t;
    l->waiting = NONE;
    l->charging = 0; /* may have been set at a fork */
    tt_graft_find_stack(&l->hanging);
    l->hanging.script.wanted = 1;
    lend_stack(l);
    if (looking.wall)
        tt_wall_begin(&l->wall);
    __atomic_store_n(&t->sampler.looker, l, __ATOMIC_RELEASE);
    return 0;
}

static void end(struct tt_thread *t)
{
    struct look *l = t->sampler.looker;

    if (looking.wall)
        tt_threads_lock(); /* the rounds do not visit this thread any more */
    __atomic_store_n(&t->sampler.looker, NULL, __ATOMIC_RELEASE);
    if (looking.wall)
        tt_threads_unlock();
    if (l && looking.wall)
        tt_wall_end(&l->wall);
    if (l && l->lends)
        (void)tt_native_sampler_lend(NULL, 0);
    if (l)
        munmap(l, look_size());
}

struct tt_looker tt_native_sampler = {
    .signal = SIGPROF, .action = sigaction, .begin = begin, .end = end, .look = look};

void tt_native_sampler_init(const struct tt_native_sampler_options *o)
{
    looking = *o;
    tt_graft_init();
    tt_looker = &tt_native_sampler;
}
