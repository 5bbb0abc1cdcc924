/* SPDX-License-Identifier: MIT */
/* ruby.c - the frames of a thread that runs Ruby.
 *
 *      thread ─► context ─► frame, frame, frame ...    one after the other, the innermost first
 *                            └► code of a script, or a method that is written in C
 *
 * Each fiber has a context and a native stack.  A run of frames ends with one
 * that is marked: C code began its loop.  The loop is two functions, one within the other.
 * A method in C has a frame between those of two loops: it replaces the native frame of its
 * function, whose name stripped libraries do not have, or of another one to which that jumped.  Frames of blocks in C, and of code
 * that has not begun, are not shown.  async-signal-safe, except tt_ruby_find */
#include "ruby.h"

#include <link.h>
#include <pthread.h>
#include <stdio.h>

#include "foreign-text.h"
#include "loaded-symbol.h"
#include "ruby-code.h"
#include "runs.h"

enum {
    /* A context. */
    CONTEXT_FRAMES = 0, /* the address of its memory for frames, */
    CONTEXT_WORDS = 8,  /* and its size */
    CONTEXT_FRAME = 16,
    CONTEXT_THREAD = 48,
    CONTEXT_STACK = 144, /* where its native stack begins, */
    CONTEXT_STACK_SIZE = 160,
    CONTEXT_SIZE = 168,
    THREAD_CONTEXT = 40,
    /* A frame. */
    FRAME_AT = 0,
    FRAME_CODE = 16,
    FRAME_SCOPE = 32,
    FRAME_SIZE = 64,
    /* A scope, from its first word on; its address is that of the last one. */
    SCOPE_METHOD = 0,
    SCOPE_OUTER = 8,
    SCOPE_FLAGS = 16,
    SCOPE_SIZE = 24,
    SCOPE_IS_OUTERMOST = 2,
    SCOPE_ENDS_RUN = 0x20,
    SCOPE_IS_C = 0x80,
    SCOPE_KIND = 0x7fff0001,
    SCOPE_IS_C_METHOD = 0x55550001,
    SCOPE_IS_FIRST = 0x79990001, /* of a thread; nothing runs in it */
    VARIABLES_METHOD = 8,
    /* Limits. */
    FRAMES_MAX = 200000,
    NESTING_MAX = 64,
    WORDS_MAX = 1 << 27,
    TRIES = 16,
    CALLERS = 4,
    SURE = 8,
    RUBIES = 2,
};

struct ruby {
    struct tt_interpreter base; /* first */
    uint64_t context;           /* of a thread: offset from its pthread_t */
    uint64_t loop, inner_loop;  /* addresses; inner: 0 if not known */
    uint64_t data, data_end;
    uint64_t names; /* once they are found */
    uint32_t searches;
    struct {
        uint64_t function;
        uint32_t times; /* seen as the caller of a method in C */
    } caller[CALLERS];
    uint32_t failures; /* failed walks before the first good one */
    int is_proved;
};

/* ── Frames ───────────────────────────────────────────────────────────────────────── */

struct taking {
    struct ruby *r;
    struct tt_interpreted_stack *s;
    uint64_t run;
    uint32_t begin;
    uint32_t outer; /* after the last frame of a script */
};

static int is_method(const struct tt_peek *peek, uint64_t object)
{
    return tt_ruby_internal(peek, object) == TT_RUBY_METHOD;
}

/* The method whose code this is: the scope of a block leads to that of its method.  0: it is
 * of none. */
static uint64_t method_of(const struct tt_peek *peek, char scope[SCOPE_SIZE])
{
    for (int n = 0; n < NESTING_MAX; n++) {
        uint64_t method = tt_foreign_word(scope, SCOPE_METHOD),
                 outer = tt_foreign_word(scope, SCOPE_OUTER) & ~(uint64_t)3;
        if (method && is_method(peek, method))
            return method;
        if (tt_foreign_word(scope, SCOPE_FLAGS) & SCOPE_IS_OUTERMOST)
            return method && tt_ruby_internal(peek, method) == TT_RUBY_VARIABLES &&
                           tt_safe_word(peek, method + VARIABLES_METHOD, &method) &&
                           is_method(peek, method)
                       ? method
                       : 0;
        if (!tt_safe_read(peek, outer - SCOPE_FLAGS, scope, SCOPE_SIZE))
            return 0;
    }
    return 0;
}

static void add(struct taking *t, const struct tt_interpreted *f)
{
    t->s->frame[t->s->count] = *f;
    t->s->frame[t->s->count].by = &t->r->base;
    t->s->frame[t->s->count++].anchor = t->run;
}

/* Code of a script, and after the last one of a run what hides the outer loop. */
static int take_code(struct taking *t, const char frame[FRAME_SIZE],
                     char scope[SCOPE_SIZE])
{
    const uint64_t flags = tt_foreign_word(scope, SCOPE_FLAGS);
    struct tt_interpreted f = {.code = tt_foreign_word(frame, FRAME_CODE),
                               .at = tt_foreign_word(frame, FRAME_AT)};

    f.method = method_of(t->s->peek, scope);
    f.print = tt_ruby_print(t->s->peek, f.code, f.method);
    if (!f.print)
        return 0;
    add(t, &f);
    if (flags & SCOPE_ENDS_RUN) {
        add(t, &(struct tt_interpreted){0});
        t->run++;
    }
    t->outer = t->s->count;
    return 1;
}

/* A method in C belongs to the run of its caller.  Its place is that of its function. */
static void take_method(struct taking *t, const char scope[SCOPE_SIZE])
{
    struct tt_interpreted f = {.code = tt_foreign_word(scope, SCOPE_METHOD)};

    f.method = f.code;
    f.at = f.code ? tt_ruby_function(t->s->peek, f.code, &f.print) : 0;
    if (f.at && t->r->names)
        add(t, &f);
}

/* 0: it is no frame. */
static int take_frame(struct taking *t, const char frame[FRAME_SIZE])
{
    char scope[SCOPE_SIZE];
    uint64_t flags, kind;

    if (!tt_safe_read(t->s->peek, tt_foreign_word(frame, FRAME_SCOPE) - SCOPE_FLAGS,
                      scope, sizeof scope))
        return 0;
    flags = tt_foreign_word(scope, SCOPE_FLAGS);
    kind = flags & SCOPE_KIND;
    if (!(kind & 1))
        return 0;
    if (kind != SCOPE_IS_FIRST && !(flags & SCOPE_IS_C) &&
        tt_foreign_word(frame, FRAME_CODE) && tt_foreign_word(frame, FRAME_AT))
        return take_code(t, frame, scope);
    if (kind == SCOPE_IS_C_METHOD)
        take_method(t, scope);
    return 1;
}

static enum tt_interpreted_end take_frames(struct taking *t, uint64_t at, uint64_t end)
{
    enum { AT_ONCE = 8 };
    char frame[AT_ONCE][FRAME_SIZE];

    for (uint64_t n = 0; at < end; n++, at += FRAME_SIZE) {
        const uint64_t left = (end - at) / FRAME_SIZE;
        if (t->s->room - t->s->count < 2)
            return TT_INTERPRETED_FULL;
        if (n == FRAMES_MAX ||
            (n % AT_ONCE == 0 &&
             !tt_safe_read(t->s->peek, at, frame,
                           FRAME_SIZE * (left < AT_ONCE ? left : AT_ONCE))) ||
            !take_frame(t, frame[n % AT_ONCE]))
            return TT_INTERPRETED_BROKEN;
    }
    return TT_INTERPRETED_WHOLE;
}

/* ── The thread ───────────────────────────────────────────────────────────────────── */

/* The context of a thread that runs Ruby; 0: it does not, or not yet. */
static uint64_t context_of(const struct ruby *r, const struct tt_interpreted_stack *s,
                           char context[CONTEXT_SIZE])
{
    uint64_t at, other;

    return tt_safe_word(s->peek, s->thread + r->context, &at) && at &&
                   tt_safe_read(s->peek, at, context, CONTEXT_SIZE) &&
                   tt_foreign_word(context, CONTEXT_THREAD) &&
                   tt_safe_word(s->peek,
                                tt_foreign_word(context, CONTEXT_THREAD) + THREAD_CONTEXT,
                                &other) &&
                   other == at
               ? at
               : 0;
}

/* While a thread changes to another fiber, for some instructions the context is not that of
 * the stack.  The first thread's stack is larger than Ruby says. */
static int is_on_its_stack(const struct tt_interpreted_stack *s,
                           const char context[CONTEXT_SIZE])
{
    enum { OF_FIRST = 4 << 20 };
    uint64_t begin = tt_foreign_word(context, CONTEXT_STACK),
             size = tt_foreign_word(context, CONTEXT_STACK_SIZE);

    size += size >= OF_FIRST ? size / 4 : 0;
    return !s->natives || (s->native[0].sp < begin && begin - s->native[0].sp <= size);
}

static enum tt_interpreted_end take_context(struct taking *t,
                                            const char context[CONTEXT_SIZE])
{
    const uint64_t begin = tt_foreign_word(context, CONTEXT_FRAMES),
                   words = tt_foreign_word(context, CONTEXT_WORDS),
                   at = tt_foreign_word(context, CONTEXT_FRAME), end = begin + 8 * words;

    if (!at || !begin)
        return TT_INTERPRETED_NONE;
    if (words > WORDS_MAX || at < begin || at > end || (end - at) % FRAME_SIZE ||
        !is_on_its_stack(t->s, context))
        return TT_INTERPRETED_BROKEN;
    return take_frames(t, at, end);
}

/* ── Places ───────────────────────────────────────────────────────────────────────── */

static int is_hiding(const struct tt_interpreted *f) { return !f->code; }
static int is_in_c(const struct tt_interpreted *f)
{
    return f->code && f->code == f->method;
}

/* The native frame of a function, from one of them on and below an address; or `natives`. */
static uint32_t find_native(const struct tt_interpreted_stack *s, uint32_t from,
                            uint64_t below, uint64_t function)
{
    for (uint32_t i = from; i < s->natives && s->native[i].sp < below; i++)
        if (s->native[i].function == function)
            return i;
    return s->natives;
}

static int is_caller(const struct ruby *r, const struct tt_interpreted_stack *s,
                     uint32_t i)
{
    if (i && s->native[i - 1].function == r->loop)
        return 0;
    for (int c = 0; c < CALLERS; c++)
        if (r->caller[c].times >= SURE && r->caller[c].function == s->native[i].function)
            return 1;
    return 0;
}

/* Some functions of the interpreter call methods in C, and only those: they are where the
 * function of a method has its native frame. */
static void learn_caller(struct ruby *r, const struct tt_interpreted_stack *s, uint32_t i)
{
    const uint64_t function = i < s->natives ? s->native[i].function : 0;

    if (!function || function == r->loop || function == r->inner_loop)
        return;
    for (int c = 0; c < CALLERS; c++) {
        if (!r->caller[c].function)
            r->caller[c].function = function;
        if (r->caller[c].function == function) {
            r->caller[c].times += r->caller[c].times < SURE;
            return;
        }
    }
}

/* The next caller from a native frame on and below an address; or `natives`. */
static uint32_t next_caller(const struct ruby *r, const struct tt_interpreted_stack *s,
                            uint32_t from, uint64_t below)
{
    for (uint32_t i = from; i < s->natives && s->native[i].sp < below; i++)
        if (is_caller(r, s, i))
            return i;
    return s->natives;
}

static uint32_t count_callers(const struct ruby *r, const struct tt_interpreted_stack *s,
                              uint32_t from, uint64_t below)
{
    uint32_t callers = 0;

    while ((from = next_caller(r, s, from, below)) < s->natives) {
        callers++;
        from++;
    }
    return callers;
}

/* Where frames get their places, from the innermost native frame on. */
struct placing {
    struct ruby *r;
    struct tt_interpreted_stack *s;
    uint32_t native, to;
};

/* Methods in C that call one another.  A function may have jumped to another one, which has
 * the native frame in its place: with a caller for each method, it is that within the caller.
 * Those that have no place are removed. */
static void place_methods(struct placing *p, uint32_t from, uint32_t end)
{
    struct tt_interpreted_stack *s = p->s;
    const uint64_t below = s->frame[from].anchor;
    const int have_callers = count_callers(p->r, s, p->native, below) == end - from;

    for (uint32_t i = from; i < end; i++) {
        struct tt_interpreted f = s->frame[i];
        uint32_t found = find_native(s, p->native, below, f.at),
                 caller = found < s->natives ? found + 1 : found;
        if (found < s->natives)
            learn_caller(p->r, s, caller);
        if (have_callers) {
            caller = next_caller(p->r, s, p->native, below);
            found = caller > p->native ? caller - 1 : s->natives;
        }
        if (found < s->natives) {
            f.anchor = s->native[found].sp;
            s->frame[p->to++] = f;
        }
        if (caller < s->natives)
            p->native = have_callers ? caller + 1 : caller;
    }
}

/* A script's code goes to the inner loop, which hides the outer one. */
static void place_code(struct placing *p, struct tt_interpreted f)
{
    struct tt_interpreted_stack *s = p->s;
    const uint32_t inner = find_native(s, p->native, f.anchor, p->r->inner_loop);

    while (p->native < s->natives && s->native[p->native].sp < f.anchor)
        p->native++;
    if (is_hiding(&f) && (!p->to || s->frame[p->to - 1].anchor == f.anchor))
        return;
    if (!is_hiding(&f) && inner + 1 == p->native && p->r->inner_loop) {
        f.anchor = s->native[inner].sp;
        p->native = inner;
    }
    s->frame[p->to++] = f;
}

static void place(struct ruby *r, struct tt_interpreted_stack *s, uint32_t begin)
{
    struct placing p = {r, s, 0, begin};
    uint32_t end;

    for (uint32_t i = begin; i < s->count; i = end) {
        end = i;
        while (end < s->count && is_in_c(&s->frame[end]))
            end++;
        if (end > i)
            place_methods(&p, i, end);
        else
            place_code(&p, s->frame[end++]);
    }
    s->count = p.to;
}

/* ── The walk ─────────────────────────────────────────────────────────────────────── */

/* Frames of an unknown build are not shown, rather than shown wrongly. */
static void judge(struct ruby *r, enum tt_interpreted_end end, uint32_t frames)
{
    if (__atomic_load_n(&r->is_proved, __ATOMIC_RELAXED))
        return;
    if (end == TT_INTERPRETED_WHOLE && frames)
        __atomic_store_n(&r->is_proved, 1, __ATOMIC_RELAXED);
    else if (end == TT_INTERPRETED_BROKEN &&
             __atomic_add_fetch(&r->failures, 1, __ATOMIC_RELAXED) >= TRIES)
        __atomic_store_n(&r->base.off, "its frames are not where this version has them",
                         __ATOMIC_RELAXED);
}

/* Without the names, methods in C have only their native frames. */
static void find_names(struct ruby *r, const struct tt_peek *peek)
{
    if (!r->names && r->searches < TRIES) {
        r->searches++;
        __atomic_store_n(&r->names, tt_ruby_names(peek, r->data, r->data_end),
                         __ATOMIC_RELAXED);
    }
}

static void walk(struct tt_interpreter *i, struct tt_interpreted_stack *s)
{
    struct ruby *r = (void *)i;
    struct taking t = {.r = r, .s = s, .run = 1, .begin = s->count, .outer = s->count};
    char context[CONTEXT_SIZE];

    s->end = TT_INTERPRETED_NONE;
    if (!(s->natives ? tt_runs_has_loop(s, r->loop)
                     : __atomic_load_n(&r->is_proved, __ATOMIC_RELAXED)) ||
        !context_of(r, s, context))
        return;
    find_names(r, s->peek);
    s->end = take_context(&t, context);
    s->count = t.outer; /* methods that no script calls have no run */
    judge(r, s->end, s->count - t.begin);
    tt_runs_anchor(s, t.begin, r->loop, 1);
    place(r, s, t.begin);
    if (s->count == t.begin && s->end == TT_INTERPRETED_WHOLE)
        s->end = TT_INTERPRETED_NONE;
}

static int describe(const struct tt_interpreter *i, const struct tt_interpreted *f,
                    struct tt_peek *peek, struct tt_interpreted_text *out)
{
    const struct ruby *r = (const void *)i;

    return tt_ruby_describe(f, r->names, peek, out);
}

static uint32_t line(const struct tt_interpreter *i, const struct tt_interpreted *f,
                     struct tt_peek *peek)
{
    (void)i;
    return tt_ruby_line(f, peek);
}

/* ── Finding it ───────────────────────────────────────────────────────────────────── */

/* The loop that contains the instructions: the first function that the outer one calls. */
static uint64_t inner_loop_of(uint64_t loop, uint64_t size)
{
    enum { CALL = 0xe8, ALIGNED = 15 };
    const unsigned char *code = (const unsigned char *)(uintptr_t)loop;

    for (uint64_t at = 0; at + 5 <= size; at++) {
        int32_t distance;
        uint64_t target;
        memcpy(&distance, code + at + 1, sizeof distance);
        target = loop + at + 5 + (uint64_t)(int64_t)distance;
        if (code[at] == CALL && !(target & ALIGNED))
            return target;
    }
    return 0;
}

/* The names are among the data that changes. */
static void find_data(struct ruby *r, const struct dl_phdr_info *o)
{
    for (int i = 0; i < o->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &o->dlpi_phdr[i];
        const uint64_t begin = o->dlpi_addr + h->p_vaddr;
        if (h->p_type != PT_LOAD || !(h->p_flags & PF_W))
            continue;
        r->data = (begin + 7) & ~(uint64_t)7;
        r->data_end = begin + h->p_memsz;
    }
}

/* The thread's data is at the same offset in all threads if it was there from the start. */
static const char *find_context(struct ruby *r, const struct dl_phdr_info *o,
                                uint64_t current)
{
    if (!current || !o->dlpi_tls_data)
        return "its thread's data is not found";
    r->context = (uintptr_t)o->dlpi_tls_data + (current - o->dlpi_addr) -
                 (uintptr_t)pthread_self();
    return NULL;
}

static void init(struct ruby *r, const struct dl_phdr_info *o, uint64_t loop,
                 uint64_t size)
{
    const uint64_t version = tt_loaded_symbol(o, "ruby_version", NULL),
                   current = tt_loaded_symbol(o, "ruby_current_ec", NULL);
    const char *text = version ? (const char *)(uintptr_t)version : "?";

    *r = (struct ruby){.loop = loop, .inner_loop = inner_loop_of(loop, size)};
    r->base = (struct tt_interpreter){.walk = walk, .describe = describe, .line = line};
    (void)snprintf(r->base.name, sizeof r->base.name, "ruby %.*s",
                   (int)(strcspn(text, ".") + 2), text);
    find_data(r, o);
    if (strncmp(text, "3.1.", 4) != 0)
        r->base.off = "the structures of this version are not known";
    else
        r->base.off = find_context(r, o, current);
}

struct tt_interpreter *tt_ruby_find(const struct dl_phdr_info *o)
{
    static struct ruby rubies[RUBIES];
    static uint32_t count;
    uint64_t size = 0;
    const uint64_t loop = tt_loaded_symbol(o, "rb_vm_exec", &size);

    if (!loop || count == RUBIES)
        return NULL;
    for (uint32_t i = 0; i < count; i++)
        if (rubies[i].loop == loop)
            return NULL;
    init(&rubies[count], o, loop, size);
    return &rubies[count++].base;
}
