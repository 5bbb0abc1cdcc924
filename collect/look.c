/* SPDX-License-Identifier: MIT */
/* look.c - native stacks, sampled into the tree of the thread that they are of.
 *
 *      signal ─ unwind ─ recursion policy ─ blocks ─ walk down the tree ─ charge
 *
 * Everything happens in the handler, on a stack of its own: there is no trace to write,
 * and nothing grows with time.  Mostly the whole path is in the tree already, and no lock
 * is looked at.  Where a block or a context is new, the locks are tried; when somebody has
 * one, nothing is charged, and the next look has the time of both. */
#include "look.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "block.h"
#include "clock.h"
#include "path.h"
#include "places.h"
#include "stack.h"

enum { HANDLER_STACK = 64 << 10 };

struct look { /* a thread's own, mapped; its pages are there once they are used */
    struct tt_thread *thread;
    void *context;
    uint64_t ns;
    const char *stack_low, *stack_end; /* of the thread */
    uint64_t count;
    int done;
    struct tt_frame *at; /* the activation below which the stack hangs */
    struct tt_unwound stack;
    struct tt_hold hold;
    struct tt_peek peek;
    struct tt_registers registers;
    struct tt_native frame[TT_STEPS_MAX];
    struct tt_path path;
    char handler_stack[HANDLER_STACK] __attribute__((aligned(64)));
};

static struct {
    struct tt_look_options options;
    const struct tt_module *own;
    int lost;
} looking;

/* ── Locks ────────────────────────────────────────────────────────────────────────── */

/* All that a new block or context may need; 0 when somebody has one of them. */
static int try_locks(struct tt_thread *t)
{
    if (pthread_mutex_trylock(&t->tree.lock) != 0)
        return 0;
    if (tt_block_try()) {
        if (tt_pages_try(t->recording))
            return 1;
        tt_block_done();
    }
    pthread_mutex_unlock(&t->tree.lock);
    return 0;
}

static void give_locks(struct tt_thread *t)
{
    tt_pages_done(t->recording);
    tt_block_done();
    pthread_mutex_unlock(&t->tree.lock);
}

/* ── The stack ────────────────────────────────────────────────────────────────────── */

/* The innermost activation that is still there: one whose function has been left, by
 * longjmp, lies below the stack pointer. */
static struct tt_frame *find_activation(const struct look *l, uint64_t sp)
{
    struct tt_frame *f = tt_stack_placed(l->thread, l->thread->self->top);
    const char *p = (const char *)(uintptr_t)sp;

    if (p >= l->stack_low && p < l->stack_end)
        while ((f->cfa & ~(uintptr_t)1) <= sp)
            f = tt_stack_placed(l->thread, tt_frame_below(f));
    return f;
}

static void unwind(struct look *l)
{
    const char *sp;

    tt_registers_of_context(&l->registers, l->context);
    sp = (const char *)(uintptr_t)l->registers.value[TT_REGISTER_SP];
    if (sp >= l->stack_low && sp < l->stack_end)
        tt_peek_own(&l->peek, sp, l->stack_end);
    else
        tt_peek_own(&l->peek, NULL, NULL);
    l->stack = (struct tt_unwound){.frame = l->frame, .room = TT_STEPS_MAX - 2};
    tt_native_unwind(&l->stack, l->hold.modules, &l->registers, &l->peek);
}

/* Only what is younger than the activation; its own function is. */
static void cut_at_activation(struct look *l)
{
    uint64_t cfa = l->at->cfa & ~(uint64_t)1;
    uint32_t i = 0;

    if (cfa == TT_CFA_BOTTOM)
        return;
    while (i < l->stack.count && l->frame[i].sp < cfa)
        i++;
    if (i < l->stack.count)
        l->stack.end = TT_UNWIND_ROOT;
    l->stack.count = i;
}

static int is_own(const struct tt_native *n)
{
    return n->mapping && n->mapping->module == looking.own;
}

/* ── The path ─────────────────────────────────────────────────────────────────────── */

static tt_block find_block(struct look *l, const struct tt_native *n, int locked)
{
    const struct tt_recording *r = l->thread->recording;
    tt_block block = tt_place_find(n);

    if (block &&
        __atomic_load_n(&tt_block_entry(block)->published, __ATOMIC_ACQUIRE) == r->epoch)
        return block;
    return locked ? tt_place_get(l->thread->recording, n) : 0;
}

/* 0 when a block is not known, and not to be made now. */
static int find_path(struct look *l, int locked)
{
    struct tt_recording *r = l->thread->recording;
    const struct tt_options *o = &r->options;
    tt_block block;

    tt_path_begin(&l->path);
    if (l->stack.end != TT_UNWIND_ROOT) {
        if (!locked)
            return 0;
        block = tt_place_marker(r, l->stack.end);
        tt_path_step(&l->path, o->recursion, o->recursion_length, UINT64_MAX, block);
    }
    for (uint32_t i = l->stack.count; i-- > 0;) {
        if (is_own(&l->frame[i]))
            continue;
        block = find_block(l, &l->frame[i], locked);
        if (!block)
            return 0;
        tt_path_step(&l->path, o->recursion, o->recursion_length,
                     tt_place_function(&l->frame[i]), block);
    }
    tt_path_end(&l->path);
    return 1;
}

/* ── The tree ─────────────────────────────────────────────────────────────────────── */

/* Down from the activation's context as far as it goes; how many steps were made. */
static uint32_t walk_down(struct look *l, int locked, struct tt_node **out)
{
    struct tt_tree *tree = &l->thread->tree;
    struct tt_node *n = l->at->node;
    uint32_t i, cell;

    for (i = 0; i < l->path.count; i++) {
        cell = locked ? tt_tree_child(tree, n, l->path.step[i].block)
                      : tt_tree_find(tree, n, l->path.step[i].block);
        if (!cell)
            break;
        n = tt_cell(tree->base, cell);
    }
    *out = n;
    return i;
}

/* The whole path, with room made for it where that is worth it. */
static uint32_t make_path(struct look *l, struct tt_node **out)
{
    struct tt_tree *tree = &l->thread->tree;
    uint32_t made = walk_down(l, 1, out);

    if (made == l->path.count || tree->refused++ < tree->patience ||
        tt_evict_tree(tree, l->thread) == 0)
        return made;
    return walk_down(l, 1, out);
}

static void charge_hidden_steps(struct look *l, uint64_t ticks)
{
    struct tt_tree *tree = &l->thread->tree;

    for (uint32_t i = 0; i < l->path.cuts; i++) {
        (void)tt_tree_tally(tree, l->path.cut[i].block);
        tt_tally_hidden(tree, l->path.cut[i].block, ticks);
    }
}

static uint64_t ticks_of_look(const struct look *l)
{
    uint64_t rate = l->thread->recording->header->ticks_per_second;

    return (uint64_t)((unsigned __int128)l->ns * rate / 1000000000u);
}

/* What found no room stands below the nearest context that did. */
static void charge_elsewhere(struct look *l, struct tt_node *n, uint32_t made,
                             uint64_t ticks)
{
    struct tt_tree *tree = &l->thread->tree;
    struct tt_loss *loss = tt_tree_loss(tree, n);
    struct tt_amounts amounts = {0, ticks, 1};
    tt_block last = l->path.step[l->path.count - 1].block;

    tt_bump(&l->thread->record->limbo, ticks);
    tt_tally_evicted(tree, last, &amounts);
    if (loss) {
        tt_bump(&loss->elsewhere.self, ticks);
        tt_bump(&loss->elsewhere.samples, 1);
    } else {
        tt_bump(&l->thread->record->lost_ticks, ticks);
        tt_tally_path(tree, n, ticks);
    }
    for (uint32_t i = made; i < l->path.count; i++)
        tt_tally_hidden(tree, l->path.step[i].block, ticks);
}

static void count_end(const struct look *l)
{
    struct tt_header *h = l->thread->recording->header;

    if (l->stack.end == TT_UNWIND_TRUNCATED)
        tt_bump_shared(&h->truncated, 1);
    else if (l->stack.end != TT_UNWIND_ROOT)
        tt_bump_shared(&h->broken, 1);
    if (l->stack.end == TT_UNWIND_UNKNOWN)
        __atomic_store_n(&looking.lost, 1, __ATOMIC_RELAXED);
}

/* Below an activation that a clock times, its time is known already. */
static uint32_t metric_of(const struct look *l)
{
    return l->thread->timed ? looking.options.metric : 0;
}

static void charge(struct look *l, struct tt_node *n, uint32_t made)
{
    uint64_t ticks = ticks_of_look(l);
    uint32_t metric = metric_of(l);

    count_end(l);
    if (made < l->path.count && !metric)
        charge_elsewhere(l, n, made, ticks);
    else
        tt_charge_below(l->thread, l->at, n, metric ? l->ns : ticks, metric);
    if (!metric)
        charge_hidden_steps(l, ticks);
}

/* ── A look ───────────────────────────────────────────────────────────────────────── */

/* With nothing to make: when all of it is there, and nothing is hidden. */
static int charge_what_is_there(struct look *l)
{
    struct tt_node *n;

    if (!find_path(l, 0) || l->path.cuts || metric_of(l) ||
        walk_down(l, 0, &n) < l->path.count)
        return 0;
    charge(l, n, l->path.count);
    return 1;
}

static int charge_with_locks(struct look *l)
{
    struct tt_node *n;
    uint32_t made;

    if (!try_locks(l->thread))
        return 0;
    if (find_path(l, 1)) {
        made = make_path(l, &n);
        charge(l, n, made);
    }
    give_locks(l->thread);
    return 1;
}

static void look_here(void *arg)
{
    struct look *l = arg;

    tt_modules_hold(&l->hold);
    unwind(l);
    if (l->stack.count) {
        l->at = find_activation(l, l->frame[0].sp);
        cut_at_activation(l);
        l->done = charge_what_is_there(l) || charge_with_locks(l);
    }
    tt_modules_release(&l->hold);
}

/* Calls f(arg) on another stack; the program's may be small. */
static void call_on_stack(char *end, void (*f)(void *), void *arg)
{
#if defined __x86_64__
    __asm__ volatile("movq %%rsp, %%rbx\n\tmovq %0, %%rsp\n\tcallq *%1\n\t"
                     "movq %%rbx, %%rsp"
                     : "+r"(end), "+r"(f), "+D"(arg)
                     :
                     : "rbx", "rax", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "cc",
                       "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6",
                       "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13",
                       "xmm14", "xmm15");
#elif defined __aarch64__
    register void *x0 __asm__("x0") = arg;

    __asm__ volatile("mov x19, sp\n\tmov sp, %1\n\tblr %2\n\tmov sp, x19"
                     : "+r"(x0), "+r"(end), "+r"(f)
                     :
                     : "x19", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10",
                       "x11", "x12", "x13", "x14", "x15", "x16", "x17", "x18", "x30",
                       "cc", "memory", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7",
                       "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15", "v16", "v17",
                       "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26",
                       "v27", "v28", "v29", "v30", "v31");
#endif
}

/* Is this outside of the time that was asked for? */
static int is_out_of_time(void)
{
    uint64_t now;

    if (!looking.options.begin && !looking.options.end)
        return 0;
    now = tt_clock_monotonic();
    return now < looking.options.begin ||
           (looking.options.end && now >= looking.options.end);
}

/* async-signal-safe */
static int look(struct tt_thread *t, void *context, uint64_t ns)
{
    struct look *l = t->sampler.looker;

    if (t->pauses || is_out_of_time())
        return 1; /* nobody's */
    l->thread = t;
    l->context = context;
    l->ns = ns;
    l->done = 0;
    t->busy++;
    l->count++;
    if (!(l->count & (l->count - 1)))
        tt_thread_rename(t); /* in time for a thread that never ends */
    call_on_stack(l->handler_stack + sizeof l->handler_stack, look_here, l);
    t->busy--;
    return l->done;
}

/* ── Threads ──────────────────────────────────────────────────────────────────────── */

static void find_stack(struct look *l)
{
    pthread_attr_t a;
    void *low;
    size_t size;

    l->stack_low = l->stack_end = NULL;
    if (pthread_getattr_np(pthread_self(), &a) != 0)
        return;
    if (pthread_attr_getstack(&a, &low, &size) == 0) {
        l->stack_low = low;
        l->stack_end = l->stack_low + size;
    }
    pthread_attr_destroy(&a);
}

static int begin(struct tt_thread *t)
{
    struct look *l = t->sampler.looker;

    if (!l) {
        l = mmap(NULL, sizeof *l, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (l == MAP_FAILED)
            return -TT_ERR_MEMORY;
    }
    l->thread = t;
    find_stack(l);
    t->sampler.looker = l;
    return 0;
}

static void end(struct tt_thread *t)
{
    struct look *l = t->sampler.looker;

    t->sampler.looker = NULL;
    if (l)
        munmap(l, sizeof *l);
}

int tt_look_is_lost(void)
{
    return __atomic_exchange_n(&looking.lost, 0, __ATOMIC_RELAXED);
}

struct tt_looker tt_native_looker = {
    .signal = SIGPROF, .action = sigaction, .begin = begin, .end = end, .look = look};

static const struct tt_module *own_module(void)
{
    struct tt_hold hold;
    const struct tt_mapping *m;
    const struct tt_module *module;

    tt_modules_hold(&hold);
    m = hold.modules ? tt_modules_find(hold.modules, (uintptr_t)look) : NULL;
    module = m ? m->module : NULL;
    tt_modules_release(&hold);
    return module;
}

void tt_look_init(const struct tt_look_options *o)
{
    looking.options = *o;
    (void)tt_modules_refresh();
    looking.own = own_module();
    tt_looker = &tt_native_looker;
}
