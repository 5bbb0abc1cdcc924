/* SPDX-License-Identifier: MIT */
/* graft.c - from a native stack to its context.
 *
 *      unwind ─ cut at the activation ─ recursion policy ─ blocks ─ walk down the tree
 *
 * To make a new block or context it only tries the locks: a handler must not wait. */
#include "graft.h"

#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>

#include "activation.h"
#include "assertion.h"
#include "block.h"
#include "budget.h"
#include "control.h"
#include "descent.h"
#include "extension.h"
#include "places.h"
#include "stack-cache.h"
#include "system-call.h"

enum { WAIT = 1 }; /* not the identity of any function */

static const struct tt_module *own; /* the module of this code: not shown */
static int lost;

/* ── The stack ────────────────────────────────────────────────────────────────────── */

/* The innermost valid activation.  If a function was left by longjmp, its activation is
 * below the stack pointer. */
struct tt_frame *tt_graft_search(const struct tt_grafting *h, uint64_t sp)
{
    struct tt_frame *f = tt_stack_placed(h->thread, h->thread->self->top);
    const char *p = (const char *)(uintptr_t)sp;

    if (p >= h->stack_low && p < h->stack_end)
        while (TT_CFA_OF(f) <= sp)
            f = tt_stack_placed(h->thread, tt_frame_below(f));
    return f;
}

/* Code without rules is read for each of its frames: as an interpreter's data, where faults are
 * resumed. */
static int load_bytes(uint64_t address, void *to, size_t size)
{
    enum { WORDS = 24, ADDRESS_BITS = 47 };
    const uint64_t skip = address & 7, words = (skip + size + 7) / 8;
    uint64_t word[WORDS];

    if (!tt_safe_loads || !tt_safe_thread.direct || words > WORDS ||
        address >> ADDRESS_BITS ||
        !tt_safe_copy(word, address - skip, words, tt_safe_thread.stack))
        return 0;
    memcpy(to, (const char *)word + skip, size);
    return 1;
}

static void look_at_own_stack(struct tt_grafting *h, uint64_t from)
{
    const char *sp = (const char *)(uintptr_t)from;

    if (sp >= h->stack_low && sp < h->stack_end)
        tt_peek_own(&h->peek, sp, h->stack_end);
    else
        tt_peek_own(&h->peek, NULL, NULL);
    h->peek.load = load_bytes;
}

static void unwind(struct tt_grafting *h, int in_call)
{
    h->stack = (struct tt_unwound){
        .frame = h->frame,
        .room = TT_STEPS_MAX - 2,
        .in_call = in_call,
        .cache = &h->cache,
        .generated = h->script.wanted ? tt_interpreters_generated() : NULL};
    tt_native_unwind(&h->stack, h->hold.modules, &h->registers, &h->peek);
}

/* Keeps only frames younger than the activation, with that of its function. */
static void cut_at_activation(struct tt_grafting *h)
{
    uint64_t cfa = TT_CFA_OF(h->at);
    uint32_t i = 0;

    if (cfa == TT_CFA_BOTTOM)
        return;
    while (i < h->stack.count && h->frame[i].sp < cfa)
        i++;
    if (i < h->stack.count)
        h->stack.end = TT_UNWIND_ROOT;
    /* A function's own frame is the activation itself. */
    if (i &&
        tt_block_entry(tt_frame_block(h->thread, h->at))->info.kind == TT_KIND_FUNCTION)
        i--;
    h->stack.count = i;
}

static int is_own(const struct tt_native *n)
{
    return n->mapping && n->mapping->module == own;
}

/* ── Interpreters ─────────────────────────────────────────────────────────────────── */

/* In checked builds every sample has a load fault, so that tests cover it. */
static inline __attribute__((unused)) int survives_a_fault(void)
{
    enum { NEVER_MAPPED = 8192 };
    uint64_t word;

    return !tt_safe_loads || !tt_safe_thread.direct ||
           !tt_safe_copy(&word, NEVER_MAPPED, 1, tt_safe_thread.stack);
}

static void begin_walk(struct tt_grafting *h, uint32_t natives)
{
    struct tt_interpreted_stack *s = &h->script.stack;

    s->native = h->frame;
    s->natives = natives;
    s->peek = &h->peek;
    s->frame = h->script.frame;
    s->room = TT_INTERPRETED_MAX;
    s->count = 0;
    h->script.count = 0;
    h->script.unplaced = 0;
}

static void walk_interpreters(struct tt_grafting *h, uint32_t natives)
{
    struct tt_interpreted_stack *s = &h->script.stack;

    TT_ASSERT(survives_a_fault());
    begin_walk(h, natives);
    for (struct tt_interpreter *i = tt_interpreters_first(); i && !s->count;
         i = (struct tt_interpreter *)(uintptr_t)i->next)
        if (!__atomic_load_n(&i->off, __ATOMIC_RELAXED)) {
            i->walk(i, s);
            h->script.unplaced |= s->end == TT_INTERPRETED_BROKEN;
        }
}

/* `all`: the number of native frames before some were cut off. */
static void merge_interpreters(struct tt_grafting *h, uint32_t all)
{
    struct tt_interpreted_stack *s = &h->script.stack;
    const uint32_t room = (TT_STEPS_MAX - 2u) >> (tt_interpreted_lines != 0);
    int unplaced;

    if (!s->count)
        return;
    s->natives = h->stack.count;
    s->limit = s->natives < all ? h->frame[s->natives].sp : UINT64_MAX;
    h->script.count = tt_interpreted_merge(s, h->stack.end == TT_UNWIND_ROOT,
                                           h->script.merged, room, &unplaced);
    h->script.unplaced |= unplaced;
    if (h->script.count > room || s->end == TT_INTERPRETED_FULL)
        h->stack.end = TT_UNWIND_TRUNCATED;
    if (h->script.count > room)
        h->script.count = room;
}

/* Is a merged frame within native frames that are removed? */
static int is_within(const struct tt_grafting *h, struct tt_merged m, uint32_t native)
{
    return m.is_interpreted ? h->script.frame[m.index].anchor < h->frame[native].sp
                            : m.index < native;
}

void tt_graft_remove(struct tt_grafting *h, uint32_t native)
{
    struct tt_merged *m = h->script.merged;
    uint32_t gone = 0;

    while (gone < h->script.count && is_within(h, m[gone], native))
        gone++;
    h->script.count -= gone;
    for (uint32_t i = 0; i < h->script.count; i++) {
        m[i] = m[i + gone];
        m[i].index -= m[i].is_interpreted ? 0 : native;
    }
    h->stack.count -= native;
    memmove(h->frame, h->frame + native, h->stack.count * sizeof *h->frame);
}

/* The kernel's frames are on another stack: they contain no anchor. */
void tt_graft_merge(struct tt_grafting *h, struct tt_interpreter *i, uint64_t state,
                    uint32_t kernels)
{
    for (uint32_t n = 0; n < kernels; n++)
        h->frame[n].sp = h->peek.low;
    begin_walk(h, h->stack.count);
    h->script.stack.state = state;
    i->walk(i, &h->script.stack);
    h->script.unplaced = h->script.stack.end == TT_INTERPRETED_BROKEN;
    merge_interpreters(h, h->stack.count);
}

/* ── The path ─────────────────────────────────────────────────────────────────────── */

static int is_published(const struct tt_recording *r, tt_block block)
{
    return __atomic_load_n(&tt_block_entry(block)->published, __ATOMIC_ACQUIRE) ==
           r->epoch;
}

static tt_block find_block(struct tt_grafting *h, const struct tt_native *n, int locked)
{
    const struct tt_recording *r = h->thread->recording;
    tt_block block = tt_place_find(n);

    if (block && is_published(r, block))
        return block;
    return locked ? tt_place_get(h->thread->recording, n) : 0;
}

static tt_block find_function(struct tt_grafting *h, const struct tt_interpreted *f,
                              int locked)
{
    struct tt_recording *r = h->thread->recording;
    tt_block block = tt_interpreted_find(f);

    if (block && is_published(r, block))
        return block;
    return locked ? tt_interpreted_get(r, f, &h->peek) : 0;
}

static uint64_t identity_of(tt_block block) { return block * 0x9e3779b97f4a7c15u | 1; }

static tt_block find_line(struct tt_grafting *h, const struct tt_interpreted *f,
                          int locked)
{
    struct tt_recording *r = h->thread->recording;
    tt_block block = tt_interpreted_find_line(f);

    if (block == TT_BLOCK_OTHER || (block && is_published(r, block)))
        return block;
    return locked ? tt_interpreted_get_line(r, f, &h->peek) : 0;
}

/* [other blocks] are one function. */
static void add_step(struct tt_grafting *h, uint64_t function, tt_block block)
{
    const struct tt_options *o = &h->thread->recording->options;

    tt_path_step(&h->path, o->unwound, o->unwound_length,
                 block == TT_BLOCK_OTHER ? identity_of(block) : function, block);
}

/* The line in a function, as a step below it. */
static int step_to_line(struct tt_grafting *h, const struct tt_interpreted *f, int locked)
{
    tt_block block = find_line(h, f, locked);

    if (block && block != TT_BLOCK_OTHER)
        add_step(h, identity_of(block), block);
    return block != 0;
}

/* Adds one step of the merged stack; 0 if its block is new and may not be made now.  For
 * the recursion policy, a native function below two interpreted functions is two
 * functions. */
static int step(struct tt_grafting *h, struct tt_merged m, int locked, uint64_t *inside)
{
    tt_block block = m.is_interpreted
                         ? find_function(h, &h->script.frame[m.index], locked)
                         : find_block(h, &h->frame[m.index], locked);
    uint64_t function;

    if (!block)
        return 0;
    if (m.is_interpreted)
        *inside = function = identity_of(block);
    else
        function = tt_place_function(&h->frame[m.index]) ^ *inside << 1;
    add_step(h, function, block);
    return !m.is_interpreted || !tt_interpreted_lines ||
           step_to_line(h, &h->script.frame[m.index], locked);
}

/* 0 if a block is new and may not be made now. */
static int find_path(struct tt_grafting *h, int locked)
{
    struct tt_recording *r = h->thread->recording;
    const uint32_t steps = h->script.count ? h->script.count : h->stack.count,
                   each = h->script.count && tt_interpreted_lines ? 2 : 1;
    uint64_t inside = 0;
    tt_block block;

    tt_path_begin(&h->path, each * steps + 2); /* a marker, and the wait */
    if (h->stack.end != TT_UNWIND_ROOT) {
        if (!locked)
            return 0;
        block = tt_place_marker(r, h->stack.end);
        add_step(h, UINT64_MAX, block);
    }
    for (uint32_t i = steps; i-- > 0;) {
        struct tt_merged m = {i, 0};
        if (h->script.count)
            m = h->script.merged[i];
        if ((m.is_interpreted || !is_own(&h->frame[m.index])) &&
            !step(h, m, locked, &inside))
            return 0;
    }
    if (h->wait) {
        block = tt_place_wait(r, h->wait, locked);
        if (!block)
            return 0;
        add_step(h, WAIT, block);
    }
    tt_path_end(&h->path);
    return 1;
}

/* ── The tree ─────────────────────────────────────────────────────────────────────── */

/* Walks down from the activation's context as far as nodes exist; returns the number of
 * steps. */
static uint32_t walk_down(struct tt_grafting *h, int locked, struct tt_node **out)
{
    struct tt_tree *tree = &h->thread->tree;
    struct tt_node *n = h->at->node;
    uint32_t i, cell;

    for (i = 0; i < h->path.count; i++) {
        cell = locked ? tt_tree_child(tree, n, h->path.step[i].block)
                      : tt_tree_find(tree, n, h->path.step[i].block);
        if (!cell)
            break;
        n = tt_tree_target(tree, cell);
    }
    *out = n;
    return i;
}

/* Walks the whole path and makes missing nodes, evicting others if that is worth it. */
static uint32_t make_path(struct tt_grafting *h, struct tt_node **out)
{
    struct tt_tree *tree = &h->thread->tree;
    uint32_t made = walk_down(h, 1, out);

    if (made == h->path.count || tree->refused++ < tree->patience)
        return made;
    (void)tt_evict_tree(tree, h->thread); /* even one that frees no cell moves contexts */
    return walk_down(h, 1, out);
}

/* ── Both ─────────────────────────────────────────────────────────────────────────── */

static int unwind_stack(struct tt_grafting *h, int is_own, int in_call)
{
    const int wanted = h->script.wanted && tt_interpreters_first();
    uint32_t all;

    h->script.count = h->script.stack.count = 0;
    tt_modules_hold(&h->hold);
    unwind(h, in_call);
    if (h->stack.end == TT_UNWIND_UNKNOWN)
        __atomic_store_n(&lost, 1, __ATOMIC_RELAXED);
    if (!h->stack.count)
        return 0;
    h->script.stack.is_own = is_own;
    if (wanted)
        walk_interpreters(h, h->stack.count);
    all = h->stack.count;
    h->at = tt_graft_activation(h, h->frame[0].sp);
    cut_at_activation(h);
    if (wanted)
        merge_interpreters(h, all);
    return 1;
}

/* The program may call with these signals blocked, when a load that faults kills it. */
static int way_to_read(void)
{
    const uint64_t fault = (uint64_t)1 << (SIGSEGV - 1) | (uint64_t)1 << (SIGBUS - 1);
    uint64_t mask = fault;

    if (tt_safe_loads)
        (void)tt_call_system(
            SYS_rt_sigprocmask,
            (long[6]){SIG_BLOCK, 0, (long)(uintptr_t)&mask, sizeof mask});
    return mask & fault ? 0 : TT_SAFE_CALLED;
}

uint64_t tt_graft_functions(struct tt_grafting *h, uint64_t sp)
{
    const struct tt_interpreted_stack *s = &h->script.stack;
    uint64_t key = 0;

    look_at_own_stack(h, sp);
    h->script.stack.is_own = 1;
    h->script.way = way_to_read(); /* a system call: once for each event */
    tt_safe_thread.stack = 0;
    tt_safe_begin(h->script.way);
    walk_interpreters(h, 0);
    tt_safe_end();
    for (uint32_t i = 0; i < s->count; i++) {
        key = (key ^ s->frame[i].code ^ s->frame[i].print) * 0xd6e8feb86659fd93u;
        key = (key ^ key >> 32) | 1;
    }
    return key;
}

void tt_graft_call(struct tt_grafting *h, char *end, void (*f)(void *), void *arg)
{
    if (!tt_interpreters_first())
        h->script.way = way_to_read();
    tt_safe_begin(h->script.way);
    tt_call_on_stack(end, f, arg);
    tt_safe_end();
}

int tt_graft_unwind_asleep(struct tt_grafting *h) { return unwind_stack(h, 0, 0); }

int tt_graft_unwind(struct tt_grafting *h)
{
    look_at_own_stack(h, h->registers.value[TT_REGISTER_SP]);
    return unwind_stack(h, 1, 0);
}

int tt_graft_unwind_call(struct tt_grafting *h, const struct tt_caller *c)
{
    tt_registers_of_place(&h->registers, c->pc, c->sp);
    h->registers.value[TT_REGISTER_FP] = c->fp;
    h->registers.lost &= ~((uint64_t)1 << TT_REGISTER_FP);
    look_at_own_stack(h, c->sp);
    return unwind_stack(h, 1, 1);
}

void tt_graft_release(struct tt_grafting *h) { tt_modules_release(&h->hold); }

int tt_graft_find(struct tt_grafting *h, struct tt_node **out)
{
    return find_path(h, 0) && !h->path.cuts && walk_down(h, 0, out) == h->path.count;
}

int tt_graft_path(struct tt_grafting *h) { return find_path(h, 1); }

int tt_graft_make(struct tt_grafting *h, struct tt_node **out, uint32_t *made)
{
    if (!tt_descent_try_lock(h->thread))
        return 0;
    *made = 0;
    *out = NULL;
    if (find_path(h, 1))
        *made = make_path(h, out);
    tt_stack_disturb(h->thread); /* the fast path that was interrupted, if any */
    return 1;
}

/* If there is no room for a context, the thread itself makes room later: only the thread
 * itself knows that it is not walking through cells that would be evicted. */
int tt_graft_make_asleep(struct tt_grafting *h, struct tt_node **out, uint32_t *made)
{
    if (!tt_descent_try_lock(h->thread))
        return 0;
    *made = 0;
    *out = NULL;
    if (find_path(h, 1)) {
        *made = walk_down(h, 1, out);
        h->thread->tree.refused += *made < h->path.count;
    }
    return 1;
}

int tt_graft_again(struct tt_grafting *h, struct tt_node **out, uint32_t *made)
{
    if (!tt_descent_try_lock(h->thread))
        return 0;
    *made = walk_down(h, 1, out);
    return 1;
}

void tt_graft_done(struct tt_grafting *h) { tt_descent_unlock(h->thread); }

/* ── Charging ─────────────────────────────────────────────────────────────────────── */

/* Is a function on the path of the activations?  One that found no room is a step, and
 * may be there, too. */
static int is_activated(const struct tt_grafting *h, tt_block block)
{
    const struct tt_tree *tree = &h->thread->tree;
    const tt_block function = tt_block_function(block);
    const struct tt_node *n = h->at->node;

    while (n != tree->root &&
           (n->key != block && (!function || tt_block_function(n->key) != function)))
        n = tt_parent(tree, n);
    return n != tree->root;
}

static void charge_hidden_steps(struct tt_grafting *h, uint64_t ticks)
{
    struct tt_tree *tree = &h->thread->tree;

    for (uint32_t i = 0; i < h->path.cuts; i++)
        if (!is_activated(h, h->path.cut[i].block)) {
            (void)tt_tree_tally(tree, h->path.cut[i].block);
            tt_tally_hidden(tree, h->path.cut[i].block, ticks);
        }
}

/* Charges a sample without room to the nearest context that has some. */
static void charge_elsewhere(struct tt_grafting *h, struct tt_node *n, uint32_t made,
                             uint64_t ticks)
{
    struct tt_tree *tree = &h->thread->tree;
    struct tt_loss *loss = tt_tree_loss(tree, n);
    struct tt_amounts amounts = {0, ticks, 1};
    tt_block last = h->path.step[h->path.count - 1].block;

    tt_bump(&h->thread->record->limbo, ticks);
    tt_tally_evicted(tree, last, &amounts);
    if (loss) {
        tt_bump(&loss->elsewhere.self, ticks);
        tt_bump(&loss->elsewhere.samples, 1);
    } else {
        tt_bump(&h->thread->record->lost_ticks, ticks);
        tt_tally_path(tree, n, ticks);
    }
    tt_path_shorten(&h->path, made);
}

static void count_end(const struct tt_grafting *h)
{
    struct tt_header *header = h->thread->recording->header;

    if (h->stack.end == TT_UNWIND_TRUNCATED)
        tt_bump_shared(&header->truncated, 1);
    else if (h->stack.end != TT_UNWIND_ROOT)
        tt_bump_shared(&header->broken, 1);
    if (!h->script.wanted)
        return;
    tt_bump_shared(&header->interpreted, h->script.count != 0);
    tt_bump_shared(&header->unplaced, h->script.unplaced != 0);
}

void tt_graft_charge(struct tt_grafting *h, struct tt_node *n, uint32_t made,
                     uint64_t amount, uint32_t metric)
{
    const uint32_t count = h->path.count, cuts = h->path.cuts;

    count_end(h);
    if (made < h->path.count && !metric)
        charge_elsewhere(h, n, made, amount);
    else
        tt_charge_below(h->thread, h->at, n, amount, metric);
    if (!metric)
        charge_hidden_steps(h, amount);
    h->path.count = count; /* it may be charged again */
    h->path.cuts = cuts;
}

/* ── Another stack ────────────────────────────────────────────────────────────────── */

/* This function uses less than that of the stack that it leaves. */
enum { LEFT = 512 };

__attribute__((noinline)) void tt_call_on_stack(char *end, void (*f)(void *), void *arg)
{
    tt_safe_thread.stack = (uintptr_t)__builtin_frame_address(0) - LEFT;
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

/* ── The thread ───────────────────────────────────────────────────────────────────── */

/* A thread keeps its stack, in the child of a fork too. */
static __thread __attribute__((tls_model("initial-exec"))) struct {
    const char *low, *end;
} stack;

static void ask_for_stack(void)
{
    pthread_attr_t a;
    void *low;
    size_t size;

    if (pthread_getattr_np(pthread_self(), &a) != 0)
        return;
    if (pthread_attr_getstack(&a, &low, &size) == 0) {
        stack.low = low;
        stack.end = stack.low + size;
    }
    pthread_attr_destroy(&a);
}

/* pthread_getattr_np takes a lock of the thread, and calls malloc with it. */
void tt_graft_know_stack(void)
{
    const int at_work = tt_work.stack;

    if (stack.low)
        return;
    tt_work.stack = 1;
    ask_for_stack();
    tt_work.stack = at_work;
}

void tt_graft_find_stack(struct tt_grafting *h)
{
    tt_graft_know_stack();
    h->stack_low = stack.low;
    h->stack_end = stack.end;
    h->script.stack.thread = (uint64_t)pthread_self();
}

int tt_graft_is_lost(void) { return __atomic_exchange_n(&lost, 0, __ATOMIC_RELAXED); }

void tt_graft_init(void)
{
    struct tt_hold hold;
    const struct tt_mapping *m;

    (void)tt_modules_refresh();
    tt_modules_hold(&hold);
    m = hold.modules ? tt_modules_find(hold.modules, (uintptr_t)tt_graft_init) : NULL;
    own = m ? m->module : NULL;
    tt_modules_release(&hold);
}
