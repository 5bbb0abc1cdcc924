/* SPDX-License-Identifier: MIT */
/* hooks.c - functions that a compiler has call our hooks.
 *
 *      place of the call ──> site: block, and how far the end of its caller's stack is
 *
 * A frame is identified by the end of its caller's stack (its CFA), as scopes are: a
 * function that is entered above a frame, or at the same place, proves it dead, whether
 * it returned, was left by longjmp, or ended in a tail call.  So -pg, which reports only
 * entering, is enough for exact counts in the right context; only times need to know when
 * functions return.
 *
 * An inlined function has its caller's CFA: it counts as a little below that.  If exits
 * are not reported, a function with more stack arguments begins below one that was called
 * before it: so its return address shows whose frame it is, and frames above that are
 * dead. */
#include "hooks.h"

#include <errno.h>
#include <link.h>
#include <stddef.h>
#include <string.h>

#include "api.h"
#include "brief-lock.h"
#include "control.h"
#include "hooks-quick.h"
#include "hooks-stacks.h"
#include "loaded-symbol.h"
#include "next-function.h"
#include "stack.h"
#include "unwind.h"

static struct {
    uint32_t lock;
    int count_only;
} hooks;

/* ── The block of a site ──────────────────────────────────────────────────────────── */

static char *put_hex(char *out, uint64_t n)
{
    static const char digit[] = "0123456789abcdef";
    char text[16], *at = text + sizeof text;

    do
        *--at = digit[n & 15];
    while (n >>= 4);
    memcpy(out, at, (size_t)(text + sizeof text - at));
    return out + (text + sizeof text - at);
}

/* A name as "program+0x1234" for the function, which a symbol table may replace later. */
static tt_block make_block(const struct tt_mapping *m, uint64_t function)
{
    char name[200], id[2 * TT_BUILD_ID_MAX + 1], *end = id;
    const char *base = strrchr(m->module->path, '/');
    struct tt_block_info info = {.kind = TT_KIND_FUNCTION,
                                 .module = m->module->path,
                                 .file = id,
                                 .name = name,
                                 .offset = function - m->bias};
    size_t length;

    base = base ? base + 1 : m->module->path;
    length = strnlen(base, sizeof name - 24);
    memcpy(name, base, length);
    memcpy(name + length, "+0x", 3);
    *put_hex(name + length + 3, info.offset) = '\0';
    for (uint32_t i = 0; i < m->module->build_id_size; i++) {
        *end++ = "0123456789abcdef"[m->module->build_id[i] >> 4];
        *end++ = "0123456789abcdef"[m->module->build_id[i] & 15];
    }
    *end = '\0';
    return tt_block_make(&info);
}

/* One step from the hook's caller: its function, and the end of its frame. */
static void look_at(struct tt_hook_site *s, const struct tt_hook_call *c,
                    const struct tt_modules *modules, uintptr_t *function)
{
    static struct tt_native frame[2]; /* under the lock */
    struct tt_unwound stack = {.frame = frame, .room = 2};

    tt_hook_walk(&stack, modules, c);
    *function = stack.count ? frame[0].function : 0;
    s->distance = 2 * sizeof(void *);
    s->by_frame = 1;
    if (stack.count < 2)
        return;
    s->by_frame = frame[1].sp == c->fp + 2 * sizeof(void *);
    if (!s->by_frame)
        s->distance = (ptrdiff_t)(frame[1].sp - c->sp);
}

static const struct tt_hook_site *keep(const struct tt_hook_site *made)
{
    struct tt_hook_site *s;

    if (tt_append_table_reserve(&tt_hook_sites.table, sizeof *s) != 0)
        return NULL;
    s = tt_append_table_slot(tt_hook_sites.table, made->pc, sizeof *s);
    s->block = made->block;
    s->distance = made->distance;
    s->by_frame = made->by_frame;
    s->inlined = made->inlined;
    __atomic_store_n(&s->epoch, made->epoch, __ATOMIC_RELEASE);
    tt_append_table_show(tt_hook_sites.table, s, made->pc);
    return s;
}

static int fill_site(struct tt_hook_site *s, const struct tt_hook_call *c)
{
    uintptr_t function;
    struct tt_hold hold;
    const struct tt_mapping *m;
    struct tt_hook_site start = {.epoch = s->epoch};
    int found = 0;

    tt_modules_hold(&hold);
    look_at(s, c, hold.modules, &function);
    s->inlined = c->function && function && c->function != function;
    s->distance -= s->inlined ? TT_HOOK_INLINED : 0;
    if (c->function)
        function = c->function;
    m = hold.modules && function ? tt_modules_find(hold.modules, function) : NULL;
    if (m) {
        s->block = make_block(m, function);
        found = s->block != TT_BLOCK_OTHER;
    }
    tt_modules_release(&hold);
    start.pc = function;
    start.block = s->block;
    return found && keep(&start);
}

/* Finds the function that a return address is in. */
static const struct tt_hook_site *add_caller(uintptr_t back, uintptr_t cfa)
{
    struct tt_hook_call c = {.pc = back, .sp = cfa, .fp = cfa};
    struct tt_hook_site made = {.pc = back, .epoch = tt_hook_sites.epoch};
    const struct tt_hook_site *start;
    struct tt_hold hold;
    uintptr_t function;

    tt_modules_hold(&hold);
    look_at(&made, &c, hold.modules, &function);
    tt_modules_release(&hold);
    start = function ? tt_hook_find(function) : NULL;
    made.block = start ? start->block : 0;
    return keep(&made);
}

static const struct tt_hook_site *add_site(const struct tt_hook_call *c)
{
    struct tt_hook_site made = {.pc = c->pc, .epoch = tt_hook_sites.epoch};

    return fill_site(&made, c) ? keep(&made) : NULL;
}

/* A thread that holds the loader's lock may wait for ours, or for a lock of our caller:
 * so the loader is called only if modules were loaded, and not under our lock. */
static void refresh_for(uintptr_t pc)
{
    struct tt_hold hold;
    int is_known;

    tt_modules_hold(&hold);
    is_known = hold.modules && tt_modules_find(hold.modules, pc);
    tt_modules_release(&hold);
    if (!is_known)
        (void)tt_modules_refresh();
}

static void begin_making(sigset_t *before, uintptr_t pc)
{
    tt_hook_hold_signals(before);
    refresh_for(pc);
    tt_brief_lock(&hooks.lock);
}

static void end_making(const sigset_t *before)
{
    tt_brief_unlock(&hooks.lock);
    tt_hook_let_signals(before);
}

/* NULL where nothing is known of the place. */
static const struct tt_hook_site *get_site(const struct tt_hook_call *c)
{
    const struct tt_hook_site *s = tt_hook_find(c->pc);
    sigset_t before;
    int saved = errno;

    if (s)
        return s;
    begin_making(&before, c->pc);
    s = tt_hook_find(c->pc);
    if (!s)
        s = add_site(c);
    end_making(&before);
    errno = saved;
    return s;
}

static const struct tt_hook_site *get_caller(uintptr_t back, uintptr_t cfa)
{
    const struct tt_hook_site *s = tt_hook_find(back);
    sigset_t before;
    int saved = errno;

    if (s)
        return s;
    begin_making(&before, back);
    s = tt_hook_find(back);
    if (!s)
        s = add_caller(back, cfa);
    end_making(&before);
    errno = saved;
    return s;
}

/* ── Entering ─────────────────────────────────────────────────────────────────────── */

static int is_bottom(const struct tt_frame *f)
{
    return (f->cfa & ~(uintptr_t)1) == TT_CFA_BOTTOM;
}

static struct tt_frame *top_of(const struct tt_strand *strand)
{
    struct tt_frame *f = strand->top;

    return tt_frame_flags(f) & TT_FRAME_SEAM ? tt_frame_below(f) + 1 : f;
}

/* Leaves dead frames: those at or below the CFA of a function that is not inlined, and
 * those above its caller's frame. */
static void leave_dead(struct tt_thread *t, uintptr_t cfa, tt_block caller)
{
    struct tt_frame *f = top_of(t->self), *dead = NULL, *above;

    for (; (f->cfa & ~(uintptr_t)1) <= cfa; f = tt_frame_below(f))
        dead = f;
    for (above = dead; caller && !is_bottom(f); f = tt_frame_below(f)) {
        if (tt_frame_block(t, f) == caller) {
            dead = above;
            break;
        }
        above = f;
    }
    if (dead && !tt_on_signal_stack(cfa))
        tt_stack_leave(t, dead, 0);
}

static void enter(const struct tt_hook_site *s, const struct tt_hook_call *c,
                  uintptr_t cfa, tt_block caller)
{
    struct tt_thread *t = tt_thread_enter();

    if (!t) {
        tt_push_stray(s->block);
        return;
    }
    if (!s->inlined)
        leave_dead(t, cfa, caller);
    if (!tt_hook_enter(s, c, cfa, caller)) /* it may be that simple now */
        (void)tt_stack_enter(t, s->block, TT_KIND_FUNCTION, tt_hook_slot(s, cfa), cfa);
    tt_thread_leave(t);
}

/* A handler that interrupts the profiler only counts, and does not wait: others may wait
 * for a lock that its thread holds.  New code is examined by one thread at a time. */
void tt_hook_slowly(const struct tt_hook_call *c)
{
    const struct tt_hook_site *s, *caller;
    uintptr_t cfa, back;

    if (tt_is_at_work_below(c->sp)) {
        tt_push_stray(TT_BLOCK_OTHER);
        return;
    }
    s = get_site(c);
    if (!s)
        return;
    cfa = tt_hook_cfa(s, c->sp, c->fp);
    back = tt_hook_back(c, cfa);
    caller = back ? get_caller(back, cfa) : NULL;
    if (!tt_hook_is_here(cfa))
        tt_hook_follow(c, cfa);
    enter(s, c, cfa, caller ? caller->block : 0);
    if (!tt_hook_here.size) /* the thread's first */
        tt_hook_follow(c, cfa);
}

/* ── Leaving ──────────────────────────────────────────────────────────────────────── */

/* The latest frame of this function; NULL: it was entered before the recording.  Frames
 * below the end of its frame are dead, and dropped with it. */
static struct tt_frame *find_frame(const struct tt_strand *strand, tt_block block,
                                   uintptr_t end)
{
    struct tt_frame *f = top_of(strand);

    while (!is_bottom(f) && tt_frame_block(strand->thread, f) != block) {
        if ((f->cfa & ~(uintptr_t)1) > end)
            return NULL;
        f = tt_frame_below(f);
    }
    return is_bottom(f) ? NULL : f;
}

void tt_hook_leave_slowly(const struct tt_hook_call *c)
{
    const struct tt_strand *strand = &tt_self;
    const struct tt_hook_site *s, *start;
    struct tt_frame *f;
    uintptr_t cfa;

    if (!strand->thread || tt_is_at_work_below(c->sp) || !(s = get_site(c)))
        return;
    cfa = tt_hook_cfa(s, c->sp, c->fp);
    if (!tt_hook_is_here(cfa))
        tt_hook_follow(c, cfa);
    start = tt_hook_find(
        c->function); /* a place that returns of many functions is one's */
    f = find_frame(strand, start ? start->block : s->block,
                   cfa + (s->inlined ? TT_HOOK_INLINED : 0));
    if (f && !(tt_frame_is_fast(f) && tt_step_down(f)))
        tt_scope_leave_slowly(f);
}

/* ── Beginning ────────────────────────────────────────────────────────────────────── */

void tt_hooks_forget(void)
{
    (void)__atomic_fetch_add(&tt_hook_sites.epoch, 1, __ATOMIC_RELEASE);
}

void tt_hooks_forked(void)
{
    hooks.lock = 0;
    tt_hook_stacks_forked();
}

int tt_hooks_count_only(void) { return hooks.count_only; }

static int is_counter(const char *name)
{
    return strcmp(name, "mcount") == 0 || strcmp(name, "_mcount") == 0 ||
           strcmp(name, "__fentry__") == 0;
}

static int uses_counters(struct dl_phdr_info *o, size_t size, void *arg)
{
    (void)size;
    (void)arg;
    return tt_loaded_uses(o, is_counter);
}

void tt_hooks_start(struct tt_options *o)
{
    tt_hooks_machine();
    hooks.count_only = dl_iterate_phdr(uses_counters, NULL);
    if (hooks.count_only)
        o->mode[TT_KIND_FUNCTION] = TT_MODE_CALLS;
}
