/* SPDX-License-Identifier: MIT */
/* python.c - the frames of a thread that runs CPython.
 *
 *      3.8 - 3.10   state ─► frame ─► frame ─► ...          one loop for each frame
 *      3.11, 3.12   state ─► cframe ─► cframe ─► ...        one for each loop, on its stack
 *                             └► frame ─► frame ...         until the run's end
 *      3.13 -       state ─► frame ─► entry frame ─► ...    the entry frame is on the stack
 *
 * A run of frames ends with one that is marked as its loop's first (3.11), or before the
 * entry frame of its loop (from 3.12 on).  Its anchor is the cframe or the entry frame.
 * Without anchors the loops among the native frames are counted, and assigned to the
 * frames in order.
 *
 * A handler may run between two stores of the interpreter.  Then only the innermost run
 * can be wrong: it is checked against the next one, and dropped if it does not lead
 * there. async-signal-safe, except tt_python_find */
#include "python-code.h"
#include "python-lines.h"

#include <link.h>
#include <pthread.h>
#include <stdio.h>

#include "loaded-symbol.h"
#include "runs.h"

enum {
    OWNED_BY_LOOP = 3, /* and above: not the frame of a function */
    INTERPRETERS_MAX = 64,
    THREADS_MAX = 4096,
    PYTHONS = 4,
    RUNS_MAX = TT_INTERPRETED_MAX,
    SURE = 8,
    TRIES = 16,
};

/* ── The thread ───────────────────────────────────────────────────────────────────── */

static int is_of(const struct tt_python *p, const struct tt_interpreted_stack *s,
                 uint64_t state)
{
    uint64_t id;

    return tt_safe_word(s->peek, state + p->layout.thread.id, &id) && id == s->thread;
}

/* Up to 3.11, while it runs in another interpreter of the process, the thread's own state
 * is not the current one. */
static uint64_t own_state(const struct tt_python *p, const struct tt_interpreted_stack *s)
{
    uint64_t key, own, current;

    if (!tt_safe_word(s->peek, p->runtime + p->layout.runtime.key, &key) ||
        !(uint32_t)key)
        return 0;
    own = (uintptr_t)pthread_getspecific((pthread_key_t)(key >> 32));
    if (!p->layout.runtime.current ||
        !tt_safe_word(s->peek, p->runtime + p->layout.runtime.current, &current) ||
        current == own || !is_of(p, s, current))
        return own;
    return current;
}

/* The thread's state in an interpreter's list; 0: it has none. */
static uint64_t state_in(const struct tt_python *p, const struct tt_interpreted_stack *s,
                         uint64_t interpreter)
{
    uint64_t state = 0;

    (void)tt_safe_word(s->peek, interpreter + p->layout.interpreter.threads, &state);
    for (int n = 0; state && n < THREADS_MAX && !is_of(p, s, state); n++)
        if (!tt_safe_word(s->peek, state + p->layout.thread.next, &state))
            return 0;
    return state && is_of(p, s, state) ? state : 0;
}

/* After the last one, 0. */
static uint64_t next_interpreter(const struct tt_python *p,
                                 const struct tt_interpreted_stack *s, uint64_t one)
{
    const uint64_t at = one ? one + p->layout.interpreter.next
                            : p->runtime + p->layout.runtime.interpreters;
    uint64_t next = 0;

    return tt_safe_word(s->peek, at, &next) ? next : 0;
}

/* Finds another thread's state in the interpreters' lists. */
static uint64_t other_state(const struct tt_python *p,
                            const struct tt_interpreted_stack *s)
{
    uint64_t one = next_interpreter(p, s, 0), state = 0;

    for (int i = 0; one && !state && i < INTERPRETERS_MAX; i++) {
        state = state_in(p, s, one);
        one = next_interpreter(p, s, one);
    }
    return state;
}

static uint64_t state_of(const struct tt_python *p, const struct tt_interpreted_stack *s)
{
    uint64_t state;

    if (s->state) /* found when the thread was sampled */
        return s->state;
    state = s->is_own ? own_state(p, s) : other_state(p, s);
    return state && is_of(p, s, state) ? state : 0;
}

/* ── Runs ─────────────────────────────────────────────────────────────────────────── */

enum run { RUN_ENDED, RUN_BROKEN, RUN_FULL };

static int add_frame(struct tt_python *p, struct tt_interpreted_stack *s, uint64_t code,
                     uint64_t at, uint64_t anchor)
{
    char head[TT_PYTHON_HEAD];

    if (!tt_python_head(p, s->peek, code, head))
        return 0;
    s->frame[s->count++] = (struct tt_interpreted){
        .by = &p->base,
        .code = code,
        .print = tt_python_print(p, s->peek, head),
        .at = at,
        .anchor = anchor};
    return 1;
}

static uint64_t code_of(const struct tt_python *p, const char bytes[TT_PYTHON_FRAME])
{
    enum { TAGS = 3 };
    uint64_t code = tt_python_field(bytes, p->layout.frame.code);

    return p->layout.is_tagged ? code & ~(uint64_t)TAGS : code;
}

static int is_entry_frame(const struct tt_python *p, const char bytes[TT_PYTHON_FRAME])
{
    return p->layout.has_entry_frame &&
           (unsigned char)bytes[p->layout.frame.owner] >= OWNED_BY_LOOP;
}

/* The last frame of its loop? */
static int ends_run(const struct tt_python *p, const char bytes[TT_PYTHON_FRAME])
{
    if (p->layout.has_entry_frame)
        return 0;
    return !p->layout.frame.entry || bytes[p->layout.frame.entry];
}

/* Adds the run that begins with a frame; *next is then the frame of the next outer run.
 * Up to 3.11 a frame that is being left may already have no code. */
static enum run take_run(struct tt_python *p, struct tt_interpreted_stack *s,
                         uint64_t frame, uint64_t anchor, uint64_t *next)
{
    const struct tt_python_layout *l = &p->layout;
    const uint32_t begin = s->count;
    char bytes[TT_PYTHON_FRAME];
    int skipped = 0;

    for (; frame; frame = tt_python_field(bytes, p->layout.frame.previous)) {
        if (s->count == s->room)
            return RUN_FULL;
        if (!tt_safe_read(s->peek, frame + l->frame.begin, bytes + l->frame.begin,
                          l->frame.end - l->frame.begin))
            return RUN_BROKEN;
        *next = tt_python_field(bytes, p->layout.frame.previous);
        if (is_entry_frame(p, bytes)) {
            for (uint32_t i = begin; i < s->count; i++)
                s->frame[i].anchor = frame;
            return RUN_ENDED;
        }
        if (!add_frame(p, s, code_of(p, bytes),
                       tt_python_field(bytes, p->layout.frame.at), anchor) &&
            (s->count > begin || skipped++))
            return RUN_BROKEN;
        if (ends_run(p, bytes))
            return RUN_ENDED;
    }
    *next = 0;
    return p->layout.has_entry_frame || p->layout.frame.entry ? RUN_BROKEN : RUN_ENDED;
}

/* All runs from a frame on. */
static enum run take_chain(struct tt_python *p, struct tt_interpreted_stack *s,
                           uint64_t frame)
{
    enum run result = RUN_ENDED;

    for (uint32_t n = 0; frame && result == RUN_ENDED; n++)
        result = n < RUNS_MAX ? take_run(p, s, frame, 0, &frame) : RUN_BROKEN;
    return result;
}

/* ── Cframes ──────────────────────────────────────────────────────────────────────── */

struct cframe {
    uint64_t frame, previous;
};

static int read_cframe(const struct tt_python *p, const struct tt_interpreted_stack *s,
                       uint64_t at, struct cframe *out)
{
    return tt_safe_word(s->peek, at + p->layout.cframe.frame, &out->frame) &&
           tt_safe_word(s->peek, at + p->layout.cframe.previous, &out->previous);
}

/* From 3.12 on the frames of all loops are in one chain. */
static enum run take_loop(struct tt_python *p, struct tt_interpreted_stack *s,
                          uint64_t anchor, const struct cframe *c,
                          const struct cframe *outer)
{
    uint64_t next = 0;
    enum run result;

    if (p->layout.has_entry_frame)
        return take_chain(p, s, c->frame);
    result = take_run(p, s, c->frame, anchor, &next);
    return result == RUN_ENDED && next != outer->frame ? RUN_BROKEN : result;
}

/* Is the address after the end of a copy of the stack? */
static int is_cut(const struct tt_interpreted_stack *s, uint64_t address)
{
    return s->peek->cut && address >= s->peek->high;
}

/* The copy of the stack ends before the next cframe; but the frames are linked as well. */
static enum run take_after_cut(struct tt_python *p, struct tt_interpreted_stack *s,
                               uint64_t at, const struct cframe *c)
{
    uint64_t next = 0;
    enum run result = take_run(p, s, c->frame, at, &next);

    for (uint32_t n = 0; result == RUN_ENDED && next && n < RUNS_MAX; n++)
        result = take_run(p, s, next, c->previous, &next);
    return result;
}

/* The cframes are on one stack, the innermost lowest, and end at the thread's own.  The
 * innermost one is shown only if it leads to the next one. */
static enum run take_cframes(struct tt_python *p, struct tt_interpreted_stack *s,
                             uint64_t at, uint64_t root)
{
    const uint64_t innermost = at;
    struct cframe c, outer = {0, 0};
    enum run result = RUN_ENDED;

    if (at != root && !read_cframe(p, s, at, &c))
        return RUN_BROKEN;
    while (at != root && result == RUN_ENDED) {
        if (c.previous != root && c.previous <= at)
            return RUN_BROKEN;
        if (!read_cframe(p, s, c.previous, &outer))
            return at != innermost && is_cut(s, c.previous) ? take_after_cut(p, s, at, &c)
                                                            : RUN_BROKEN;
        result = take_loop(p, s, at, &c, &outer);
        if (p->layout.has_entry_frame)
            return result;
        at = c.previous;
        c = outer;
    }
    return result;
}

static int is_loop(const struct tt_python *p, const struct tt_native *n)
{
    return p->loop && n->function == p->loop;
}

/* In good samples, from the second native frame on: the first may not be complete. */
static void learn_cframe(struct tt_python *p, const struct tt_interpreted_stack *s,
                         uint64_t at)
{
    for (uint32_t i = 1; i + 1 < s->natives; i++) {
        const struct tt_native *n = &s->native[i];
        if (at < n->sp || at >= n[1].sp)
            continue;
        if (!is_loop(p, n))
            return;
        p->cframe_seen = p->cframe_at == at - n->sp ? p->cframe_seen + 1 : 0;
        p->cframe_at = at - n->sp;
        return;
    }
}

/* A loop that has just begun may have linked its cframe before it filled it in: then the
 * next one is found by its loop's native frame. */
static enum run take_outer_cframes(struct tt_python *p, struct tt_interpreted_stack *s,
                                   uint64_t root)
{
    uint32_t loops = 0;

    if (p->cframe_seen < SURE)
        return RUN_BROKEN;
    for (uint32_t i = 0; i < s->natives; i++)
        if (is_loop(p, &s->native[i]) && loops++)
            return take_cframes(p, s, s->native[i].sp + p->cframe_at, root);
    return RUN_ENDED;
}

static enum run take_by_cframes(struct tt_python *p, struct tt_interpreted_stack *s,
                                uint64_t at, uint64_t root)
{
    const uint32_t begin = s->count;
    enum run result = take_cframes(p, s, at, root);

    if (result == RUN_ENDED)
        learn_cframe(p, s, at);
    if (result != RUN_BROKEN)
        return result;
    s->count = begin;
    return take_outer_cframes(p, s, root);
}

/* ── By count ─────────────────────────────────────────────────────────────────────── */

/* Each frame has a loop. */
static void anchor_by_count(const struct tt_python *p, struct tt_interpreted_stack *s,
                            uint32_t begin)
{
    for (uint32_t i = begin; i < s->count; i++)
        s->frame[i].anchor = i - begin + 1;
    tt_runs_anchor(s, begin, p->loop, 0);
}

/* ── The walk ─────────────────────────────────────────────────────────────────────── */

static enum run take_all(struct tt_python *p, struct tt_interpreted_stack *s,
                         uint64_t state, uint64_t first)
{
    return p->layout.has_cframe
               ? take_by_cframes(p, s, first, state + p->layout.thread.root)
               : take_chain(p, s, first);
}

/* ── Several interpreters ─────────────────────────────────────────────────────────── */

/* While a thread runs in one of them, its calls from another one are further out. */
static void take_other(struct tt_python *p, struct tt_interpreted_stack *s,
                       uint64_t state)
{
    const uint32_t begin = s->count;
    enum run result = RUN_ENDED;
    uint64_t first;

    if (!tt_safe_word(s->peek, state + p->layout.thread.frame, &first) || !first)
        return;
    if (p->layout.has_cframe)
        result = take_cframes(p, s, first, state + p->layout.thread.root);
    else
        result = take_chain(p, s, first);
    if (result == RUN_BROKEN)
        s->count = begin;
}

/* Runs have the order of their anchors; mostly they are in order. */
static void sort_runs(struct tt_interpreted_stack *s, uint32_t begin)
{
    for (uint32_t i = begin + 1; i < s->count; i++) {
        const struct tt_interpreted one = s->frame[i];
        uint32_t to = i;
        for (; to > begin && s->frame[to - 1].anchor > one.anchor; to--)
            s->frame[to] = s->frame[to - 1];
        s->frame[to] = one;
    }
}

/* Without anchors the order of two interpreters is known, but not that of more. */
static void take_others(struct tt_python *p, struct tt_interpreted_stack *s,
                        uint64_t state)
{
    uint64_t one = next_interpreter(p, s, 0), other;
    const int has_anchors = p->layout.has_cframe || p->layout.has_entry_frame;
    const uint32_t begin = s->count;

    if (!one || !next_interpreter(p, s, one))
        return;
    for (int i = 0; one && i < INTERPRETERS_MAX; i++) {
        other = state_in(p, s, one);
        if (other && other != state && (has_anchors || s->count == begin))
            take_other(p, s, other);
        one = next_interpreter(p, s, one);
    }
}

/* Frames of an unknown build are not shown, rather than shown wrongly. */
static void judge(struct tt_python *p, enum run result, uint32_t frames)
{
    if (__atomic_load_n(&p->is_proved, __ATOMIC_RELAXED))
        return;
    if (result == RUN_ENDED && frames)
        __atomic_store_n(&p->is_proved, 1, __ATOMIC_RELAXED);
    else if (result == RUN_BROKEN &&
             __atomic_add_fetch(&p->failures, 1, __ATOMIC_RELAXED) >= TRIES)
        __atomic_store_n(&p->base.off, "its frames are not where this version has them",
                         __ATOMIC_RELAXED);
}

static void walk(struct tt_interpreter *i, struct tt_interpreted_stack *s)
{
    struct tt_python *p = (void *)i;
    const uint32_t begin = s->count;
    uint64_t state = state_of(p, s), first;
    enum run result;

    s->end = TT_INTERPRETED_NONE;
    if (!state || !tt_safe_word(s->peek, state + p->layout.thread.frame, &first) ||
        !first)
        return;
    result = take_all(p, s, state, first);
    judge(p, result, s->count - begin);
    if (result == RUN_ENDED && !s->state) {
        take_others(p, s, state);
        if (p->layout.has_cframe || p->layout.has_entry_frame)
            sort_runs(s, begin);
    }
    if (!p->layout.has_cframe && !p->layout.has_entry_frame)
        anchor_by_count(p, s, begin);
    if (result == RUN_BROKEN)
        s->end = TT_INTERPRETED_BROKEN;
    else if (result == RUN_FULL)
        s->end = TT_INTERPRETED_FULL;
    else if (s->count > begin)
        s->end = TT_INTERPRETED_WHOLE;
}

/* ── Finding it ───────────────────────────────────────────────────────────────────── */

static uint32_t version_of(const struct dl_phdr_info *o)
{
    uint64_t number = tt_loaded_symbol(o, "Py_Version", NULL),
             text = tt_loaded_symbol(o, "Py_GetVersion", NULL);
    unsigned major, minor;

    if (number)
        return (uint32_t)(*(const unsigned long *)(uintptr_t)number >> 16);
    if (text &&
        sscanf(((const char *(*)(void))(uintptr_t)text)(), "%u.%u", &major, &minor) == 2)
        return major << 8 | minor;
    return 0;
}

void tt_python_init(struct tt_python *p, struct tt_peek *peek, uint32_t version)
{
    p->base = (struct tt_interpreter){
        .walk = walk, .describe = tt_python_describe, .line = tt_python_line};
    (void)snprintf(p->base.name, sizeof p->base.name, "python %u.%u", version >> 8 & 255,
                   version & 255);
    p->base.off = tt_python_layout(p, peek, version);
}

struct tt_interpreter *tt_python_find(const struct dl_phdr_info *o)
{
    static struct tt_python pythons[PYTHONS];
    static uint32_t count;
    struct tt_python *p = &pythons[count];
    uint64_t runtime = tt_loaded_symbol(o, "_PyRuntime", NULL),
             type = tt_loaded_symbol(o, "PyCode_Type", NULL);
    struct tt_peek peek;

    if (!runtime || !type || count == PYTHONS)
        return NULL;
    for (uint32_t i = 0; i < count; i++)
        if (pythons[i].runtime == runtime)
            return NULL;
    *p = (struct tt_python){
        .runtime = runtime,
        .code_type = type,
        .frame_type = tt_loaded_symbol(o, "PyFrame_Type", NULL),
        .loop = tt_loaded_symbol(o, "_PyEval_EvalFrameDefault", NULL)};
    tt_peek_own(&peek, NULL, NULL);
    tt_python_init(p, &peek, version_of(o));
    count++;
    return &p->base;
}
