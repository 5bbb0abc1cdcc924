/* SPDX-License-Identifier: MIT */
/* unwind.c - from frame to frame, by rules where there are some.
 *
 * A step finds the rule of the pc (for a return address: of the call before it), computes
 * the CFA, reads the registers that were saved, and is in the caller.  If a module has no
 * rule, the code itself is examined (machine.h).  Each step is checked: the stack pointer
 * goes one way while it stays on one stack, and a return address is in known code, or
 * follows a call.  A walk that fails a check ends there and reports this. */
#include "unwind.h"

#include "expression.h"

enum {
    SWITCHES = 64,       /* changes of stack in one walk, before it counts as astray */
    FRAME_MAX = 1 << 20, /* bytes: a larger one is garbage */
};

enum step {
    STEP_ON,
    STEP_ROOT,
    STEP_NO_RULE,
    STEP_MEMORY,
    STEP_STRAY,
};

struct walk {
    struct tt_registers *r;
    struct tt_peek *peek;
    const struct tt_mapping *mapping; /* of the frame */
    const struct tt_rule *rule;       /* NULL: none */
    uint64_t function;                /* where it starts; 0: not known */
    int exact;                        /* pc is no return address */
    int made;                         /* the first frame of a coroutine */
    unsigned switches;
    uint64_t cfa;                         /* of the last rule */
    struct tt_unwind_cache *cache;        /* NULL: none */
    const struct tt_generated *generated; /* NULL: none */
};

/* ── By a rule ────────────────────────────────────────────────────────────────────── */

static int is_lost(const struct walk *w, unsigned reg) { return w->r->lost >> reg & 1; }

static int find_frame(struct walk *w, int32_t offset)
{
    return is_lost(w, TT_REGISTER_FP) &&
           tt_machine_find_frame(w->r, w->peek, w->function, offset);
}

static int evaluate_cfa(struct walk *w, uint64_t *cfa)
{
    return tt_expression_evaluate(w->mapping->rules, (uint32_t)w->rule->offset, w->r,
                                  w->peek, NULL, cfa);
}

static int find_cfa(struct walk *w, uint64_t *cfa)
{
    enum { FRAME = 16 }; /* saved by functions that realign their stack */
    const struct tt_rule *rule = w->rule;

    if (rule->flags & TT_RULE_EXPRESSION)
        return evaluate_cfa(w, cfa) || (find_frame(w, FRAME) && evaluate_cfa(w, cfa));
    if (is_lost(w, rule->base) &&
        !(rule->base == TT_REGISTER_FP && find_frame(w, rule->offset)))
        return 0;
    *cfa = w->r->value[rule->base] + (uint64_t)(int64_t)rule->offset;
    return 1;
}

/* The caller's value of a register, which does not change the others. */
static int find_register(struct walk *w, uint32_t how, uint64_t cfa, uint64_t *value)
{
    int64_t n = (int32_t)how >> TT_HOW_BITS;
    uint64_t at;

    switch (how & ((1u << TT_HOW_BITS) - 1)) {
    case TT_HOW_SAVED:
        return tt_peek_word(w->peek, cfa + (uint64_t)n, value);
    case TT_HOW_OFFSET:
        *value = cfa + (uint64_t)n;
        return 1;
    case TT_HOW_REGISTER:
        *value = n >= 0 && n < TT_REGISTERS ? w->r->value[n] : 0;
        return n < 0 || n >= TT_REGISTERS || !is_lost(w, (unsigned)n);
    case TT_HOW_AT:
        return tt_expression_evaluate(w->mapping->rules, (uint32_t)n, w->r, w->peek, &cfa,
                                      &at) &&
               tt_peek_word(w->peek, at, value);
    case TT_HOW_IS:
        return tt_expression_evaluate(w->mapping->rules, (uint32_t)n, w->r, w->peek, &cfa,
                                      value);
    default:
        *value = 0;
        return 1;
    }
}

/* A register that was popped still has a rule, which refers to memory below the stack
 * pointer; copies of stacks end there, and it already has its value. */
static int is_popped(const struct walk *w, int number, uint64_t at)
{
    return w->exact && w->peek->cut && number != TT_REGISTER_RA &&
           at < w->r->value[TT_REGISTER_SP];
}

/* Plain rules read memory alone, so that values may be changed as they are found. */
static int read_saved(struct walk *w, uint64_t cfa)
{
    const uint32_t *how = w->rule->how;

    for (uint32_t set = w->rule->set; set; set &= set - 1, how++) {
        uint64_t at = cfa + (uint64_t)(int64_t)((int32_t)*how >> TT_HOW_BITS);
        int number = __builtin_ctz(set);
        if (!is_popped(w, number, at) && !tt_peek_word(w->peek, at, &w->r->value[number]))
            return 0;
    }
    return 1;
}

static int read_other(struct walk *w, uint64_t cfa)
{
    struct tt_registers next = *w->r;
    const uint32_t *how = w->rule->how;

    for (uint32_t set = w->rule->set; set; set &= set - 1)
        if (!find_register(w, *how++, cfa, &next.value[__builtin_ctz(set)]))
            return 0;
    *w->r = next;
    return 1;
}

static enum step step_by_rule(struct walk *w)
{
    const struct tt_rule *rule = w->rule;
    uint64_t cfa;

    if (!find_cfa(w, &cfa))
        return STEP_MEMORY;
    w->cfa = cfa;
    if (!(rule->flags & TT_RULE_PLAIN ? read_saved(w, cfa) : read_other(w, cfa)))
        return STEP_MEMORY;
    if (!(rule->set >> TT_REGISTER_SP & 1))
        w->r->value[TT_REGISTER_SP] = cfa;
    if (!(rule->set >> rule->ra & 1) && is_lost(w, rule->ra))
        return STEP_MEMORY;
    w->r->value[TT_REGISTER_PC] = tt_machine_strip(w->r->value[rule->ra]);
    w->r->lost &= ~((uint64_t)rule->set | (uint64_t)1 << TT_REGISTER_SP);
    /* If the return address was not saved, only the innermost frame can have one. */
    if (!(rule->set >> rule->ra & 1) && !w->exact)
        return STEP_STRAY;
    return w->r->value[TT_REGISTER_PC] ? STEP_ON : STEP_ROOT;
}

/* ── One step ─────────────────────────────────────────────────────────────────────── */

static unsigned slot_of(uint64_t pc)
{
    return (unsigned)(pc * 0x9e3779b97f4a7c15u >> 55);
}

int tt_unwind_by_frames;

/* Whether a frame pointer leads to these registers, too. */
static int is_framed(struct tt_registers before, const struct walk *w)
{
    return tt_machine_follow_frame(&before, w->peek) &&
           memcmp(&before, w->r, sizeof before) == 0;
}

static int leave_again(struct walk *w, const struct tt_departure *how)
{
    const struct tt_registers before = *w->r;
    const uint64_t *pc = &w->r->value[TT_REGISTER_PC];

    if (how->base == TT_REGISTERS || !tt_machine_leave(how, w->r, w->peek))
        return 0;
    /* An address that was left in this way was checked then. */
    if (w->cache->guessed[slot_of(*pc)].pc == *pc ||
        tt_machine_follows_call(w->peek, *pc))
        return 1;
    *w->r = before;
    return 0;
}

/* The bytes around a return address; of a module, they never change. */
static int read_code(const struct walk *w, uint64_t pc, uint64_t code[2])
{
    enum { SIZE = 2 * sizeof *code };

    memset(code, 0, SIZE);
    return w->mapping || tt_peek_bytes(w->peek, pc - sizeof *code, code, SIZE);
}

static void keep_guess(struct walk *w, struct tt_guessed_place *g,
                       const struct tt_guessed_place *next)
{
    const int is_departure = next->found.departure.base != TT_REGISTERS;

    if (!is_departure && !next->found.endless)
        return;
    w->cache->guesses += is_departure && next->is_certain &&
                         (g->pc != next->pc || !g->is_certain ||
                          g->found.departure.base == TT_REGISTERS);
    w->cache->has_guessed = 1;
    *g = *next;
}

/* To follow the code takes a hundred times as long as to do again what it was found to do.  What
 * is found for a return address is kept: how its code leaves the frame, or that it comes to no
 * return.  Code in no module may change: there only the frame pointer is used again. */
static enum tt_guess guess(struct walk *w)
{
    const struct tt_registers before = *w->r;
    struct tt_guessed_place next = {.pc = before.value[TT_REGISTER_PC],
                                    .lost = before.lost,
                                    .is_certain = w->mapping != NULL};
    struct tt_guessed_place *g = w->cache ? &w->cache->guessed[slot_of(next.pc)] : NULL;
    enum tt_guess result;
    int known;

    if (!w->exact && !w->mapping && tt_unwind_by_frames &&
        tt_machine_follow_frame(w->r, w->peek))
        return TT_GUESS_CALLER;
    if (!g || w->exact || !read_code(w, next.pc, next.code))
        return tt_machine_guess(w->r, w->peek, w->exact, &next.found);
    known = g->pc == next.pc && memcmp(g->code, next.code, sizeof g->code) == 0 &&
            (g->is_certain || g->lost == next.lost);
    if (known && leave_again(w, &g->found.departure))
        return TT_GUESS_CALLER;
    next.found.endless = known && g->found.endless;
    result = tt_machine_guess(w->r, w->peek, 0, &next.found);
    if (!w->mapping)
        next.found.departure.base = TT_REGISTERS;
    if (result == TT_GUESS_CALLER && !next.found.endless &&
        next.found.departure.base == TT_REGISTERS && is_framed(before, w)) {
        next.found.departure = tt_machine_by_frame;
        next.is_certain = 0;
    }
    keep_guess(w, g, &next);
    return result;
}

const struct tt_departure *tt_unwind_departure(const struct tt_unwind_cache *cache,
                                               uint64_t generation,
                                               const struct tt_mapping *mapping,
                                               uint64_t pc)
{
    const struct tt_guessed_place *g = &cache->guessed[slot_of(pc)];

    if (!mapping)
        return tt_unwind_by_frames ? &tt_machine_by_frame : NULL;
    return cache->generation == generation && !cache->busy && g->pc == pc &&
                   g->is_certain && g->found.departure.base != TT_REGISTERS
               ? &g->found.departure
               : NULL;
}

static enum step step_by_guess(struct walk *w, uint32_t *flags)
{
    *flags |= TT_NATIVE_GUESSED;
    switch (guess(w)) {
    case TT_GUESS_CALLER:
        return STEP_ON;
    case TT_GUESS_ROOT:
        return STEP_ROOT;
    default:
        return STEP_NO_RULE;
    }
}

static int on_window(const struct tt_peek *p, uint64_t sp)
{
    return sp >= p->low && sp <= p->high;
}

/* Downwards there is no caller, unless the stack was switched. */
static int is_astray(struct walk *w, uint64_t before)
{
    uint64_t now = w->r->value[TT_REGISTER_SP];

    if (now > before || (now == before && w->exact))
        return 0;
    return (on_window(w->peek, before) && on_window(w->peek, now)) ||
           ++w->switches > SWITCHES;
}

static enum step leave_signal(struct walk *w)
{
    if (!tt_machine_leave_signal(w->r, w->peek))
        return STEP_MEMORY;
    w->exact = 1;
    return ++w->switches > SWITCHES ? STEP_STRAY : STEP_ON;
}

static enum step step(struct walk *w, uint32_t *flags)
{
    uint64_t sp = w->r->value[TT_REGISTER_SP];
    enum step result;

    if (w->rule ? w->rule->flags & TT_RULE_SIGNAL
                : !w->made &&
                      tt_machine_is_trampoline(w->peek, w->r->value[TT_REGISTER_PC])) {
        *flags |= TT_NATIVE_SIGNAL;
        return leave_signal(w);
    }
    if (w->made || (w->rule && (w->rule->flags & TT_RULE_ROOT)))
        return STEP_ROOT;
    result = w->rule ? step_by_rule(w) : step_by_guess(w, flags);
    if (result == STEP_ON && is_astray(w, sp))
        result = STEP_STRAY;
    w->exact = 0;
    return result;
}

/* STEP_NO_RULE: it is no such code, or not left by its structures. */
static enum step leave_generated(struct walk *w, struct tt_native *frame)
{
    const uint64_t sp = w->r->value[TT_REGISTER_SP];
    enum step result = STEP_ON;

    if (!w->generated || !w->generated->leave(w->generated, w->r, w->peek, frame))
        return STEP_NO_RULE;
    frame->flags |= TT_NATIVE_GENERATED;
    if (is_astray(w, sp))
        result = STEP_STRAY;
    w->exact = 0;
    return result;
}

/* ── The walk ─────────────────────────────────────────────────────────────────────── */

static const struct tt_rule *find_rule(const struct tt_mapping *m, uint64_t at,
                                       const struct tt_function **function)
{
    *function = NULL;
    return m && m->rules
               ? tt_rules_find(m->rules, at - m->bias - m->rules->base, function)
               : NULL;
}

/* Whether the frame was made by hand, to be entered by a return: its address is where a
 * function starts, and no call is before it.  So do coroutines start. */
static int is_made(struct walk *w, const struct tt_function *caller)
{
    const struct tt_mapping *m = w->mapping;
    const struct tt_function *f;
    uint64_t pc = w->r->value[TT_REGISTER_PC], at;
    uint8_t code;

    if (w->exact || !m || !m->rules)
        return 0;
    at = pc - m->bias - m->rules->base;
    return (!caller || caller->end == at) && find_rule(m, pc, &f) && f->start == at &&
           tt_peek_bytes(w->peek, pc, &code, 1) && !tt_machine_follows_call(w->peek, pc);
}

/* The mapping and rule of the current pc; for a return address, of its call. */
static void find_place(struct walk *w, const struct tt_modules *modules,
                       struct tt_native *frame)
{
    uint64_t pc = w->r->value[TT_REGISTER_PC], at = pc - !w->exact;
    const struct tt_mapping *m = modules ? tt_modules_find(modules, at) : NULL;
    const struct tt_function *function;

    w->mapping = frame->mapping = m;
    w->rule = find_rule(m, at, &function);
    w->made = is_made(w, function);
    w->function = w->rule ? m->bias + m->rules->base + function->start : 0;
    if (w->made)
        frame->function = pc;
    else
        frame->function = w->function;
}

/* The same from the cache. */
static int recall(struct walk *w, struct tt_native *frame)
{
    uint64_t pc = w->r->value[TT_REGISTER_PC];
    unsigned i = slot_of(pc);

    if (!w->cache || w->exact || w->cache->place[i].pc != pc ||
        !w->cache->place[i].mapping)
        return 0;
    w->mapping = frame->mapping = w->cache->place[i].mapping;
    w->rule = w->cache->place[i].rule;
    w->made = 0;
    w->function = frame->function = w->cache->place[i].function;
    return 1;
}

static void keep(const struct walk *w, const struct tt_native *frame)
{
    unsigned i = slot_of(frame->pc);

    if (!w->cache || w->exact || w->made || !w->rule)
        return;
    w->cache->place[i].pc = frame->pc;
    w->cache->place[i].mapping = w->mapping;
    w->cache->place[i].rule = w->rule;
    w->cache->place[i].function = frame->function;
}

/* Describes the current frame. */
static void describe(struct walk *w, const struct tt_modules *modules,
                     struct tt_native *frame)
{
    frame->pc = w->r->value[TT_REGISTER_PC];
    frame->sp = w->r->value[TT_REGISTER_SP];
    frame->flags = w->exact ? TT_NATIVE_EXACT : 0;
    frame->detail = 0;
    frame->data = 0;
    if (recall(w, frame))
        return;
    find_place(w, modules, frame);
    keep(w, frame);
}

static void open_cache(struct walk *w, const struct tt_modules *modules,
                       struct tt_unwind_cache *cache)
{
    if (!cache || !modules || cache->busy)
        return;
    cache->busy = 1;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (cache->generation && cache->generation != modules->generation) {
        memset(cache->place, 0, sizeof cache->place);
        if (cache->has_guessed)
            memset(cache->guessed, 0, sizeof cache->guessed);
    }
    cache->generation = modules->generation;
    w->cache = cache;
}

static void close_cache(struct walk *w)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (w->cache)
        w->cache->busy = 0;
}

/* A copy of a stack is seldom complete: if a frame is beyond its end, it was cut off. */
static int is_cut(const struct walk *w)
{
    const struct tt_peek *p = w->peek;

    return p->cut && p->high > p->low && w->cfa > p->high && w->cfa - p->high < FRAME_MAX;
}

static enum tt_unwind_end end_of(const struct walk *w, enum step step)
{
    switch (step) {
    case STEP_ROOT:
        return TT_UNWIND_ROOT;
    case STEP_NO_RULE:
        return w->mapping ? TT_UNWIND_NO_RULE : TT_UNWIND_UNKNOWN;
    case STEP_MEMORY:
        return is_cut(w) ? TT_UNWIND_TRUNCATED : TT_UNWIND_MEMORY;
    default:
        return TT_UNWIND_STRAY;
    }
}

void tt_native_unwind(struct tt_unwound *out, const struct tt_modules *modules,
                      struct tt_registers *registers, struct tt_peek *peek)
{
    struct walk w = {.r = registers,
                     .peek = peek,
                     .exact = !out->in_call,
                     .generated = out->generated};
    enum step result = STEP_ON;

    out->count = 0;
    open_cache(&w, modules, out->cache);
    for (; result == STEP_ON && out->count < out->room; out->count++) {
        struct tt_native *frame = &out->frame[out->count];
        describe(&w, modules, frame);
        if (!w.mapping && (result = leave_generated(&w, frame)) != STEP_NO_RULE)
            continue;
        /* A stray address is not a frame; so the previous one was wrong, too. */
        if (!w.mapping && !w.exact && !tt_machine_follows_call(peek, frame->pc) &&
            !tt_machine_is_trampoline(peek, frame->pc)) {
            result = STEP_STRAY;
            break;
        }
        result = step(&w, &frame->flags);
    }
    close_cache(&w);
    out->end = result == STEP_ON ? TT_UNWIND_TRUNCATED : end_of(&w, result);
}

uint64_t tt_native_place(const struct tt_native *n)
{
    uint64_t at = n->pc - !(n->flags & TT_NATIVE_EXACT);

    return n->mapping ? at - n->mapping->bias : at;
}

const char *tt_unwind_reason(enum tt_unwind_end end)
{
    static const char *const reason[TT_UNWIND_ENDS] = {
        "reached the root",
        "deeper than there was room for",
        "came from code of no known module",
        "came from code without unwind tables or frame pointers",
        "stack memory was not readable",
        "unwind tables led astray",
    };

    return (unsigned)end < TT_UNWIND_ENDS ? reason[end] : "unknown";
}
