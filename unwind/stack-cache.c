/* SPDX-License-Identifier: MIT */
/* stack-cache.c - recognises stacks that were walked before, segment by segment.
 *
 * The key of a stack is a polynomial over its return addresses, so that segments can be
 * joined in any lengths: key(inner ++ outer) = key(inner) + power(inner) × key(outer).
 *
 * The ends of segments depend on the stack's contents and not on where the walk began, so
 * that stacks of different depths share their outer segments.
 *
 * A stack that recurs often is kept as a whole: all words that its segments check, in one
 * list, with a number for the caller's use. */
#include "stack-cache.h"

#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "machine.h"
#include "rules.h"

enum {
    SEGMENTS_BITS = 10,
    SEGMENTS = 1 << SEGMENTS_BITS,
    LAST = 16,
    WAYS_BITS = 10, /* cached ways of return addresses */
    NOT_SAVED = INT32_MIN,
    FRAMES = 32, /* of a segment, at most */
    CHECKS = FRAMES + 8,
    AT_ONCE = 4, /* checks; there are a multiple of these */
    WHOLES_BITS = 10,
    WHOLES = 1 << WHOLES_BITS,
    WHOLE_CHECKS = 64,
    RECENT_BITS = 8,
    TOO_LONG = 0xfffe, /* in the place of how many checks there are */
    SEEN_ONCE,
};

#define FACTOR 0xd1342543de82ef95u /* odd, and one less is twice an odd number, nearly */

enum {
    ENDS = 1,     /* its last frame is the outermost one */
    READS_FP = 2, /* the frame pointer on entry matters */
    SETS_FP = 4,  /* the last one restored is at `fp_at` */
};

struct segment {
    uint64_t pc, sp, fp; /* where it begins; pc 0: unused */
    uint64_t last;       /* the stack pointer of its last frame */
    uint64_t next_pc, next_sp;
    uint64_t key, power;
    uint32_t fp_at;
    uint16_t frames, checks;
    uint8_t flags;
    uint32_t at[CHECKS]; /* from sp */
    uint64_t value[CHECKS];
};

struct whole {                    /* a stack */
    uint64_t pc, sp, fp, end, of; /* of the call; pc 0: unused */
    uint64_t key;
    uint32_t number;
    uint16_t checks;
    uint8_t reads_fp;
    uint32_t at[WHOLE_CHECKS]; /* from sp */
    uint64_t value[WHOLE_CHECKS];
};

/* How to leave a frame: CFA = base + offset, and where registers were saved. */
struct way {
    uint64_t pc, mixed;
    uint64_t guesses; /* UNKNOWN: how many there were */
    int32_t offset, ra, fp;
    uint8_t base, kind;
};
/* GUESSED, UNKNOWN: of code without rules. */
enum { ODD, UNKNOWN, SIMPLE, GUESSED, ROOT };

struct tt_stack_cache {
    uint64_t generation; /* of the modules that it holds for */
    struct way way[1 << WAYS_BITS];
    struct segment *last[LAST]; /* of the last stack, from the innermost on */
    struct segment segment[SEGMENTS];
    struct whole *recent[1 << RECENT_BITS]; /* of those that begin so */
    struct whole whole[WHOLES];
};

struct tt_stack_cache *tt_stack_cache_new(void)
{
    void *p = mmap(NULL, sizeof(struct tt_stack_cache), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return p == MAP_FAILED ? NULL : p;
}

void tt_stack_cache_free(struct tt_stack_cache *r)
{
    if (r)
        munmap(r, sizeof *r);
}

/* ── Keys ─────────────────────────────────────────────────────────────────────────── */

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 31) * 0x7fb5d329728ea185u;
    x = (x ^ x >> 27) * 0x81dadef4bc2dd44du;
    return x ^ x >> 33;
}

void tt_stack_cache_frame(uint64_t *key, uint64_t *power, uint64_t pc)
{
    *key += *power * mix(pc);
    *power *= FACTOR;
}

static uint64_t word_at(uint64_t address)
{
    return *(const uint64_t *)(uintptr_t)address;
}

/* ── Walking ──────────────────────────────────────────────────────────────────────── */

struct making {
    struct segment *s;
    const struct tt_recalled *on;
    uint64_t pc, sp, fp;
    int restored; /* fp was read from the stack, at fp_at */
};

/* Offset from the CFA at which the rule saved a register; NOT_SAVED: it did not. */
static int32_t find_saved(const struct tt_rule *rule, unsigned column)
{
    if (!(rule->set >> column & 1))
        return NOT_SAVED;
    return (int32_t)rule->how[__builtin_popcount(rule->set & ((1u << column) - 1))] >>
           TT_HOW_BITS;
}

static int is_base(unsigned reg)
{
    return reg == TT_REGISTER_SP || reg == TT_REGISTER_FP;
}

static void find_guessed(struct way *w, const struct tt_recalled *on,
                         const struct tt_mapping *m)
{
    const struct tt_departure *l = tt_unwind_departure(on->guessed, on->generation, m,
                                                       w->pc);

    w->kind = UNKNOWN;
    w->guesses = on->guessed->guesses;
    if (!l || !is_base(l->base) || l->saved[TT_DEPARTURE_FP] == TT_DEPARTURE_LOST)
        return;
    w->kind = GUESSED;
    w->base = l->base;
    w->offset = l->offset;
    w->ra = -8;
    w->fp = l->saved[TT_DEPARTURE_FP] == TT_DEPARTURE_SAME ? NOT_SAVED
                                                           : l->saved[TT_DEPARTURE_FP];
}

/* Finds the way from a return address by its rule, if that is simple. */
static void find_way(struct way *w, const struct tt_recalled *on,
                     const struct tt_modules *modules, uint64_t pc)
{
    const struct tt_mapping *m = modules ? tt_modules_find(modules, pc - 1) : NULL;
    const struct tt_function *f = NULL;
    const struct tt_rule *rule = NULL;

    *w = (struct way){.pc = pc, .mixed = mix(pc)};
    if (m && m->rules)
        rule = tt_rules_find(m->rules, pc - 1 - m->bias - m->rules->base, &f);
    if (!rule)
        find_guessed(w, on, m);
    /* An address that is the end of a function may be the beginning of the next, entered
     * by a return: coroutines start so. */
    if (!rule || f->end == pc - m->bias - m->rules->base)
        return;
    if (rule->flags & TT_RULE_ROOT) {
        w->kind = ROOT;
        return;
    }
    w->base = rule->base;
    w->offset = rule->offset;
    w->ra = find_saved(rule, rule->ra);
    w->fp = find_saved(rule, TT_REGISTER_FP);
    if ((rule->flags & TT_RULE_PLAIN) && !(rule->flags & TT_RULE_SIGNAL) &&
        !(rule->set >> TT_REGISTER_SP & 1) && w->ra != NOT_SAVED && is_base(w->base))
        w->kind = SIMPLE;
}

static inline const struct way *way_of(struct tt_stack_cache *r,
                                       const struct tt_recalled *on, struct tt_hold *hold,
                                       uint64_t pc)
{
    struct way *w = &r->way[pc * 0x9e3779b97f4a7c15u >> (64 - WAYS_BITS)];

    if (w->pc != pc || (w->kind == UNKNOWN && w->guesses != on->guessed->guesses)) {
        if (!hold->modules)
            tt_modules_hold(hold);
        find_way(w, on, hold->modules, pc);
    }
    return w;
}

/* A word of the stack that the walk depends on; 0: it is not on the stack. */
static int check_word(struct making *m, uint64_t address, uint64_t *value)
{
    struct segment *s = m->s;
    uint64_t offset = address - s->sp;

    if (address < s->sp || address % 8 || address > m->on->high - 8 ||
        offset > UINT32_MAX || s->checks == CHECKS)
        return 0;
    *value = word_at(address);
    s->at[s->checks] = (uint32_t)offset;
    s->value[s->checks++] = *value;
    return 1;
}

static int find_cfa(struct making *m, const struct way *w, uint64_t *cfa)
{
    uint64_t same;

    if (w->base == TT_REGISTER_SP) {
        *cfa = m->sp + (uint64_t)(int64_t)w->offset;
    } else {
        *cfa = m->fp + (uint64_t)(int64_t)w->offset;
        if (!m->restored)
            m->s->flags |= READS_FP;
        else if (!check_word(m, m->s->sp + m->s->fp_at, &same) || same != m->fp)
            return 0;
    }
    return *cfa > m->sp && *cfa <= m->on->high;
}

/* As the unwinder checks it. */
static int is_after_call(uint64_t pc)
{
    struct tt_peek peek;

    tt_peek_own(&peek, NULL, NULL);
    return tt_machine_follows_call(&peek, pc);
}

/* Steps from one frame to its caller: 1; 0: not possible in this way. */
static int step(struct making *m, const struct way *w)
{
    uint64_t cfa, at;

    if ((w->kind != SIMPLE && w->kind != GUESSED) || !find_cfa(m, w, &cfa) ||
        !check_word(m, cfa + (uint64_t)(int64_t)w->ra, &m->pc) ||
        (w->kind == GUESSED && !is_after_call(m->pc)))
        return 0;
    if (w->fp != NOT_SAVED) {
        at = cfa + (uint64_t)(int64_t)w->fp;
        if (at < m->s->sp || at % 8 || at > m->on->high - 8 || at - m->s->sp > UINT32_MAX)
            return 0;
        m->fp = word_at(at);
        m->s->fp_at = (uint32_t)(at - m->s->sp);
        m->s->flags |= SETS_FP;
        m->restored = 1;
    }
    m->pc = tt_machine_strip(m->pc);
    m->sp = cfa;
    return 1;
}

static int is_boundary(uint64_t pc, uint64_t sp) { return mix(pc ^ sp << 20) >> 59 == 0; }

/* The last one again, up to a whole number of steps; how many there are then. */
static unsigned fill_up(uint32_t *at, uint64_t *value, unsigned checks)
{
    for (; checks % AT_ONCE; checks++) {
        at[checks] = at[checks - 1];
        value[checks] = value[checks - 1];
    }
    return checks;
}

/* 0: the frame where it begins is not simple. */
static int make(struct tt_stack_cache *r, struct segment *s, const struct tt_caller *from,
                const struct tt_recalled *on, struct tt_hold *hold)
{
    struct making m = {.s = s, .on = on, .pc = from->pc, .sp = from->sp, .fp = from->fp};

    s->pc = 0;
    s->sp = from->sp;
    s->fp = from->fp;
    s->key = s->flags = 0;
    s->power = 1;
    s->frames = s->checks = 0;
    do {
        const struct way *w = way_of(r, on, hold, m.pc);
        tt_stack_cache_frame(&s->key, &s->power, m.pc);
        s->last = m.sp;
        s->frames++;
        if (w->kind == ROOT)
            s->flags |= ENDS;
        else if (!step(&m, w))
            return 0;
        else if (!m.pc)
            s->flags |= ENDS;
    } while (!(s->flags & ENDS) && s->frames < FRAMES && s->checks + 2 <= CHECKS &&
             m.sp < on->end && !is_boundary(m.pc, m.sp));
    s->checks = (uint16_t)fill_up(s->at, s->value, s->checks);
    s->next_pc = m.pc;
    s->next_sp = m.sp;
    s->pc = from->pc;
    return 1;
}

/* ── Recalling ────────────────────────────────────────────────────────────────────── */

static inline uint64_t differs(uint64_t sp, const uint32_t *at, const uint64_t *value)
{
    return word_at(sp + *at) ^ *value;
}

/* Without a branch but at the end: mostly all of it holds. */
static inline int holds(uint64_t sp, const uint32_t *at, const uint64_t *value,
                        unsigned checks)
{
    const uint32_t *end = at + checks;
    uint64_t other = 0;

    for (; at != end; at += AT_ONCE, value += AT_ONCE)
        other |= differs(sp, at, value) | differs(sp, at + 1, value + 1) |
                 differs(sp, at + 2, value + 2) | differs(sp, at + 3, value + 3);
    return !other;
}

static inline int is_from(const struct segment *s, const struct tt_caller *c,
                          uint64_t end)
{
    return s->pc == c->pc && s->sp == c->sp && s->last < end &&
           !((s->flags & READS_FP) && s->fp != c->fp) &&
           holds(s->sp, s->at, s->value, s->checks);
}

/* A hash of this stack's words at the offsets that led on in another stack with the same
 * beginning. */
static uint64_t fold(uint64_t sp, const uint32_t *at, unsigned checks)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < checks; i++)
        sum = (sum << 7 | sum >> 57) + word_at(sp + at[i]);
    return sum;
}

/* A first segment is found by its start.  Other stacks with the same start have an entry
 * each, by the words that the first one's checks read. */
static struct segment *find(struct tt_stack_cache *r, const struct tt_caller *c,
                            uint64_t end)
{
    uint64_t key = (c->pc ^ c->sp << 7) * 0x9e3779b97f4a7c15u;
    struct segment *s = &r->segment[key >> (64 - SEGMENTS_BITS)];

    if (is_from(s, c, end))
        return s;
    if (!s->pc)
        return s;
    if (s->sp == c->sp)
        key ^= fold(s->sp, s->at, s->checks);
    s = &r->segment[(key ^ s->pc) * 0xd6e8feb86659fd93u >> (64 - SEGMENTS_BITS)];
    if (!is_from(s, c, end))
        s->pc = 0;
    return s;
}

/* Leaves the innermost frame separately: a function that calls from several places has
 * the same segments above it.  1: its caller is in *c, with pc 0 if there is none; 0: not
 * simple. */
static inline int leave_innermost(const struct way *w, struct tt_caller *c, uint64_t high)
{
    uint64_t cfa = (w->base == TT_REGISTER_SP ? c->sp : c->fp) +
                   (uint64_t)(int64_t)w->offset,
             ra = cfa + (uint64_t)(int64_t)w->ra, fp = cfa + (uint64_t)(int64_t)w->fp;

    if (w->kind == ROOT) {
        c->pc = 0;
        return 1;
    }
    if (w->kind != SIMPLE || cfa <= c->sp || cfa > high || ra < c->sp || ra > high - 8 ||
        ra % 8)
        return 0;
    if (w->fp != NOT_SAVED) {
        if (fp < c->sp || fp > high - 8 || fp % 8)
            return 0;
        c->fp = word_at(fp);
    }
    c->pc = tt_machine_strip(word_at(ra));
    c->sp = cfa;
    return 1;
}

/* *segments: how many of them are the last ones now; more than LAST where they are not all. */
static int recall(struct tt_stack_cache *r, struct tt_caller c, struct tt_recalled *on,
                  struct tt_hold *hold, unsigned *segments)
{
    const struct way *w = way_of(r, on, hold, c.pc);
    uint64_t key = 0, power = 1;
    uint32_t frames = 0;
    unsigned n = 0;

    if (c.sp < on->end && w->kind != GUESSED) {
        if (!leave_innermost(w, &c, on->high))
            return 0;
        key = w->mixed;
        power = FACTOR;
        frames = 1;
    }
    while (c.pc && c.sp < on->end && frames < on->most) {
        struct segment *s = n < LAST ? r->last[n] : NULL;
        if (!s || !is_from(s, &c, on->end))
            s = find(r, &c, on->end);
        if (!s->pc && !make(r, s, &c, on, hold))
            return 0;
        if (n < LAST)
            r->last[n] = s;
        n++;
        key += power * s->key;
        power *= s->power;
        frames += s->frames;
        if (s->flags & ENDS)
            break;
        if (s->flags & SETS_FP)
            c.fp = word_at(s->sp + s->fp_at);
        c.pc = s->next_pc;
        c.sp = s->next_sp;
    }
    on->key = key;
    *segments = n;
    return 1;
}

/* ── Whole stacks ─────────────────────────────────────────────────────────────────── */

static inline int is_whole(const struct whole *w, const struct tt_caller *c,
                           const struct tt_recalled *on)
{
    return w->pc == c->pc && w->sp == c->sp && w->of == on->of && w->end == on->end;
}

static inline int is_there(const struct whole *w, const struct tt_caller *c,
                           struct tt_recalled *on)
{
    on->key = w->key;
    return is_whole(w, c, on) && w->checks < TOO_LONG &&
           !(w->reads_fp && w->fp != c->fp) && holds(w->sp, w->at, w->value, w->checks);
}

static int add_check(struct whole *w, uint64_t address)
{
    if (w->checks == WHOLE_CHECKS)
        return 0;
    w->at[w->checks] = (uint32_t)(address - w->sp);
    w->value[w->checks++] = word_at(address);
    return 1;
}

/* Adds the checks of a segment, each once. *fp: where the frame pointer at its start was
 * saved; 0: it is still the initial one. */
static int add_segment(struct whole *w, const struct segment *s, uint64_t *fp)
{
    if (s->flags & READS_FP) {
        w->reads_fp |= !*fp;
        if (*fp && !add_check(w, *fp))
            return 0;
    }
    for (unsigned i = 0; i < s->checks; i++)
        if ((!i || s->at[i] != s->at[i - 1]) && !add_check(w, s->sp + s->at[i]))
            return 0;
    if (s->flags & SETS_FP)
        *fp = s->sp + s->fp_at;
    return 1;
}

/* Adds the innermost frame, and leaves it.  Returns where the frame pointer was saved, or 0. */
static uint64_t add_innermost(struct whole *w, const struct way *way, struct tt_caller *c,
                              const struct tt_recalled *on)
{
    const uint64_t cfa = (way->base == TT_REGISTER_SP ? c->sp : c->fp) +
                         (uint64_t)(int64_t)way->offset;

    w->reads_fp = way->base != TT_REGISTER_SP;
    (void)add_check(w, cfa + (uint64_t)(int64_t)way->ra);
    (void)leave_innermost(way, c, on->high);
    return way->fp != NOT_SAVED ? cfa + (uint64_t)(int64_t)way->fp : 0;
}

/* Adds the innermost frame, if recall() left it separately, and the segments above it, if they
 * are unchanged: an entry may have been reused. */
static int add_all(struct tt_stack_cache *r, struct whole *w, const struct way *way,
                   const struct tt_recalled *on, unsigned segments)
{
    struct tt_caller c = {w->pc, w->sp, w->fp};
    uint64_t fp = 0;

    if (c.sp >= on->end || way->kind == ROOT)
        return !segments;
    if (way->kind == SIMPLE)
        fp = add_innermost(w, way, &c, on);
    else if (way->kind != GUESSED) /* no longer: its place has been used for another */
        return 0;
    for (unsigned i = 0; i < segments && i < LAST; i++) {
        const struct segment *s = r->last[i];
        if (s->pc != c.pc || s->sp != c.sp || !add_segment(w, s, &fp))
            return 0;
        c.pc = s->next_pc;
        c.sp = s->next_sp;
    }
    return segments <= LAST;
}

/* Keeps a stack as a whole when it comes for the second time in a row, among those with
 * the same start: this takes as long as checking it in parts. */
static void keep_whole(struct tt_stack_cache *r, struct whole *w,
                       const struct tt_caller *c, const struct tt_recalled *on,
                       struct tt_hold *hold, unsigned segments)
{
    const int is_again = is_whole(w, c, on) && w->key == on->key;

    if (is_again && w->checks == TOO_LONG)
        return;
    w->number = is_again ? w->number : 0;
    w->pc = c->pc;
    w->sp = c->sp;
    w->fp = c->fp;
    w->of = on->of;
    w->end = on->end;
    w->key = on->key;
    w->reads_fp = 0;
    w->checks = 0;
    if (!is_again)
        w->checks = SEEN_ONCE;
    else if (add_all(r, w, way_of(r, on, hold, c->pc), on, segments))
        w->checks = (uint16_t)fill_up(w->at, w->value, w->checks);
    else
        w->checks = TOO_LONG;
}

static int recall_in_parts(struct tt_stack_cache *r, struct whole *w,
                           const struct tt_caller *c, struct tt_recalled *on)
{
    struct tt_hold hold = {0};
    unsigned segments;
    int known = recall(r, *c, on, &hold, &segments);

    if (known)
        keep_whole(r, w, c, on, &hold, segments);
    if (hold.modules)
        tt_modules_release(&hold);
    return known;
}

/* A fresh one is all zero, and mostly not even there. */
static __attribute__((noinline, cold)) void forget(struct tt_stack_cache *r,
                                                   uint64_t generation)
{
    if (!r->generation) {
        r->generation = generation;
        return;
    }
    memset(r->way, 0, sizeof r->way);
    for (unsigned i = 0; i < SEGMENTS; i++)
        r->segment[i].pc = 0;
    for (unsigned i = 0; i < WHOLES; i++)
        r->whole[i].pc = 0;
    r->generation = generation;
}

/* As in find(): by its start, and others with the same start by their words.  NULL: not
 * found; *place: where it would be. */
static struct whole *find_whole(struct tt_stack_cache *r, const struct tt_caller *c,
                                struct tt_recalled *on, uint64_t key,
                                struct whole **place)
{
    struct whole *w = *place = &r->whole[key >> (64 - WHOLES_BITS)];

    if (is_there(w, c, on))
        return w;
    if (w->pc != c->pc || w->sp != c->sp || w->checks >= TOO_LONG)
        return NULL;
    key = (key ^ fold(w->sp, w->at, w->checks)) * 0xd6e8feb86659fd93u;
    w = *place = &r->whole[key >> (64 - WHOLES_BITS)];
    return is_there(w, c, on) ? w : NULL;
}

static __attribute__((noinline)) int recall_other(struct tt_stack_cache *r,
                                                  const struct tt_caller *c,
                                                  struct tt_recalled *on, uint64_t key)
{
    struct whole *place, *w = find_whole(r, c, on, key, &place);
    int known = w != NULL || recall_in_parts(r, place, c, on);

    r->recent[key >> (64 - RECENT_BITS)] = place;
    on->number = &place->number;
    return known;
}

int tt_stack_cache(struct tt_stack_cache *r, const struct tt_caller *c,
                   struct tt_recalled *on)
{
    const uint64_t key = (c->pc ^ c->sp << 7) * 0x9e3779b97f4a7c15u;
    struct whole *w = r->recent[key >> (64 - RECENT_BITS)];

    if (c->sp < on->low || c->sp >= on->high)
        return 0;
    if (r->generation != on->generation)
        forget(r, on->generation);
    if (!w || !is_there(w, c, on))
        return recall_other(r, c, on, key);
    on->number = &w->number;
    return 1;
}
