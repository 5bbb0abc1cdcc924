/* SPDX-License-Identifier: MIT */
/* perl.c - the frames of a thread that runs Perl.
 *
 *      interpreter ─► stack of contexts ─► outer stack ─► ...
 *                     sub, loop, eval, sub ...             the last one is the innermost
 *
 * Contexts of subs, formats and compiled texts (eval, require) are functions; those of
 * blocks are not.  A run ends with a context that has nowhere to return to, and at the end
 * of a stack: native code began it.  The main program has no context.  A closure is a copy
 * of its sub, with the same instructions.  async-signal-safe, except tt_perl_find */
#include "perl.h"

#include <link.h>
#include <pthread.h>
#include <stdio.h>

#include "foreign-text.h"
#include "loaded-symbol.h"
#include "runs.h"

enum {
    /* An interpreter. */
    PERL_STATEMENT = 208,
    PERL_STACK = 224,
    PERL_MAIN = 1800,
    PERL_PHASE = 2512,
    PHASE_RUN = 4,
    /* A stack of contexts. */
    STACK_CONTEXTS = 8,
    STACK_OUTER = 16,
    STACK_LAST = 32,
    STACK_SIZE = 40,
    /* A context. */
    CONTEXT_TYPE = 0,
    CONTEXT_STATEMENT = 16,
    CONTEXT_RETURN = 48,
    CONTEXT_SUB = 72,
    CONTEXT_TEXT = 88,
    CONTEXT_SIZE = 104,
    TYPE_MASK = 15,
    TYPE_SUB = 9,
    TYPE_FORMAT = 10,
    TYPE_EVAL = 11,
    TYPE_IS_NO_SUB = 0x80, /* code within a regular expression */
    /* A statement. */
    STATEMENT_LINE = 32, /* of the word; in its upper half */
    STATEMENT_FILE = 48,
    /* A value: its body, its flags, and more. */
    VALUE_BODY = 0,
    VALUE_FLAGS = 8, /* of the word; in its upper half */
    VALUE_IS_SUB = 13,
    VALUE_IS_NAME = 9,
    VALUE_IS_TABLE = 12,
    VALUE_HAS_MORE = 0x02000000,
    /* Bodies. */
    SUB_PACKAGE = 32,
    SUB_START = 40,
    SUB_NAME = 56,
    SUB_FILE = 64,
    SUB_FLAGS = 88, /* of the word; in its upper half */
    SUB_SIZE = 96,
    SUB_HAS_OWN_NAME = 0x8000,
    NAME_TEXT = 32,
    NAME_PACKAGE = 40,
    TABLE_NAME = 32,
    TABLE_NAMES = 56, /* of the word; in its upper half: their number */
    TEXT_LENGTH = 0,  /* of the word; in its upper half */
    TEXT_BYTES = 8,
    /* Limits. */
    STACKS_MAX = 1000,
    CONTEXTS_MAX = 200000,
    TRIES = 16,
    PERLS = 2,
    /* The first keys of a thread: each a number, and its value. */
    KEYS = 32,
    KEY_SIZE = 16,
};

struct perl {
    struct tt_interpreter base; /* first */
    uint64_t key, loop;         /* addresses: of the thread's key, of the loop, */
    uint64_t start;             /* of what runs a main program */
    uint64_t values;            /* in a thread's data, of its keys; 0: not known */
    uint32_t failures;          /* failed walks before the first good one */
    int is_proved;
};

/* The address of a value's body, if it has this type; 0: it has not. */
static uint64_t body_of(const struct tt_peek *peek, uint64_t value, uint32_t type)
{
    char head[16];

    return value && tt_safe_read(peek, value, head, sizeof head) &&
                   (tt_foreign_word(head, VALUE_FLAGS) >> 32 & 0xff) == type
               ? tt_foreign_word(head, VALUE_BODY)
               : 0;
}

/* ── Texts ────────────────────────────────────────────────────────────────────────── */

/* Appends a text with its length before it.  NULL: it cannot be read. */
static char *put_text(const struct tt_peek *peek, uint64_t text, char *to,
                      const char *end)
{
    enum { BYTES = 1024 };
    char bytes[BYTES + 8];
    uint64_t length;

    if (!tt_safe_word(peek, text + TEXT_LENGTH, &length))
        return NULL;
    length >>= 32;
    if (length > BYTES ||
        !tt_safe_read(peek, text + TEXT_BYTES, bytes, (length + 7) & ~(uint64_t)7))
        return NULL;
    bytes[length] = '\0';
    return tt_foreign_put(bytes, to, end);
}

/* A text that ends with a NUL, at any address; read by words, the first one from before. */
static int read_file(const struct tt_peek *peek, uint64_t text, char *out, size_t size)
{
    enum { BYTES = 1024 };
    char bytes[BYTES + 8] = "";
    const uint32_t skip = text & 7;

    for (uint32_t at = 0; at < BYTES; at += 8) {
        if (!tt_safe_read(peek, text - skip + at, bytes + at, 8))
            return 0;
        if (memchr(bytes + (at ? at : skip), 0, at ? 8 : 8 - skip))
            break;
    }
    bytes[BYTES] = '\0';
    (void)tt_foreign_put(bytes + skip, out, out + size);
    return 1;
}

/* ── Functions ────────────────────────────────────────────────────────────────────── */

/* Appends "Package::".  A name may have none. */
static char *put_package(const struct tt_peek *peek, uint64_t package, char *to,
                         const char *end)
{
    const uint64_t body = body_of(peek, package, VALUE_IS_TABLE);
    uint64_t flags, name, names;
    char *at;

    if (!body || !tt_safe_word(peek, package + VALUE_FLAGS, &flags) ||
        !(flags >> 32 & VALUE_HAS_MORE) ||
        !tt_safe_word(peek, body + TABLE_NAME, &name) ||
        !tt_safe_word(peek, body + TABLE_NAMES, &names) || !name ||
        (names >> 32 && !tt_safe_word(peek, name, &name)))
        return to;
    at = put_text(peek, name, to, end - 2);
    if (!at || at == to)
        return to;
    memcpy(at, "::", 3);
    return at + 2;
}

static int name_sub(const struct tt_peek *peek, const char sub[SUB_SIZE], char *to,
                    const char *end)
{
    uint64_t name = tt_foreign_word(sub, SUB_NAME),
             package = tt_foreign_word(sub, SUB_PACKAGE), body;

    if (!(tt_foreign_word(sub, SUB_FLAGS) >> 32 & SUB_HAS_OWN_NAME)) {
        body = body_of(peek, name, VALUE_IS_NAME);
        if (!body || !tt_safe_word(peek, body + NAME_TEXT, &name) ||
            !tt_safe_word(peek, body + NAME_PACKAGE, &package))
            return 0;
    }
    to = put_package(peek, package, to, end);
    return put_text(peek, name, to, end) != NULL;
}

static int read_sub(const struct tt_peek *peek, uint64_t value, char sub[SUB_SIZE])
{
    const uint64_t body = body_of(peek, value, VALUE_IS_SUB);

    return body && tt_safe_read(peek, body + SUB_PACKAGE, sub + SUB_PACKAGE,
                                SUB_SIZE - SUB_PACKAGE);
}

/* Of a sub; the type of what is no sub. */
static uint64_t print_of(const char sub[SUB_SIZE], uint64_t type)
{
    uint64_t h = tt_foreign_mix(1 + type, tt_foreign_word(sub, SUB_PACKAGE));

    h = tt_foreign_mix(h, tt_foreign_word(sub, SUB_START));
    h = tt_foreign_mix(h, tt_foreign_word(sub, SUB_NAME));
    return tt_foreign_mix(h, tt_foreign_word(sub, SUB_FILE));
}

/* The main program, and a text that was compiled, have the file of their statement. */
static int describe(const struct tt_interpreter *i, const struct tt_interpreted *f,
                    struct tt_peek *peek, struct tt_interpreted_text *out)
{
    char sub[SUB_SIZE];
    uint64_t file;
    int is_sub;

    (void)i;
    if (!read_sub(peek, f->code, sub))
        return 0;
    is_sub = print_of(sub, TYPE_SUB) == f->print;
    out->line = 0;
    if (is_sub && !name_sub(peek, sub, out->name, out->name + sizeof out->name))
        return 0;
    if (!is_sub)
        (void)snprintf(out->name, sizeof out->name, "%s",
                       print_of(sub, TYPE_EVAL) == f->print ? "(eval)" : "(main)");
    file = tt_foreign_word(sub, SUB_FILE);
    if (!is_sub && !tt_safe_word(peek, f->at + STATEMENT_FILE, &file))
        return 0;
    return file && read_file(peek, file, out->file, sizeof out->file);
}

static uint32_t line(const struct tt_interpreter *i, const struct tt_interpreted *f,
                     struct tt_peek *peek)
{
    uint64_t word;

    (void)i;
    return tt_safe_word(peek, f->at + STATEMENT_LINE, &word) ? (uint32_t)(word >> 32) : 0;
}

/* ── The walk ─────────────────────────────────────────────────────────────────────── */

struct taking {
    struct perl *p;
    struct tt_interpreted_stack *s;
    uint64_t statement; /* of the frame that comes next */
    uint64_t run;
    int ended; /* the next frame belongs to the next run */
    uint32_t begin, contexts;
};

static int add(struct taking *t, uint64_t code, uint64_t type)
{
    struct tt_interpreted_stack *s = t->s;
    char sub[SUB_SIZE];

    if (!read_sub(s->peek, code, sub))
        return 0;
    t->run += t->ended && s->count > t->begin;
    t->ended = 0;
    s->frame[s->count++] = (struct tt_interpreted){.by = &t->p->base,
                                                   .code = code,
                                                   .print = print_of(sub, type),
                                                   .at = t->statement,
                                                   .anchor = t->run};
    return 1;
}

static int take_context(struct taking *t, const char context[CONTEXT_SIZE])
{
    const uint32_t type = (uint32_t)tt_foreign_word(context, CONTEXT_TYPE) & 0xff,
                   kind = type & TYPE_MASK;
    const int is_sub = kind == TYPE_SUB && !(type & TYPE_IS_NO_SUB);
    const uint64_t text = kind == TYPE_EVAL ? tt_foreign_word(context, CONTEXT_TEXT) : 0;

    if ((is_sub || kind == TYPE_FORMAT) &&
        !add(t, tt_foreign_word(context, CONTEXT_SUB), TYPE_SUB))
        return 0;
    if (text && !add(t, text, TYPE_EVAL))
        return 0;
    if (is_sub || kind == TYPE_FORMAT || text)
        t->statement = tt_foreign_word(context, CONTEXT_STATEMENT);
    if ((is_sub || kind == TYPE_FORMAT || kind == TYPE_EVAL) &&
        !tt_foreign_word(context, CONTEXT_RETURN))
        t->ended = 1;
    return 1;
}

static enum tt_interpreted_end take_stack(struct taking *t, const char stack[STACK_SIZE])
{
    const int64_t last = (int32_t)tt_foreign_word(stack, STACK_LAST);
    const uint64_t contexts = tt_foreign_word(stack, STACK_CONTEXTS);
    char context[CONTEXT_SIZE];

    for (int64_t i = last; i >= 0; i--) {
        if (t->s->count == t->s->room)
            return TT_INTERPRETED_FULL;
        if (t->contexts++ == CONTEXTS_MAX ||
            !tt_safe_read(t->s->peek, contexts + (uint64_t)i * CONTEXT_SIZE, context,
                          sizeof context) ||
            !take_context(t, context))
            return TT_INTERPRETED_BROKEN;
    }
    return TT_INTERPRETED_WHOLE;
}

/* Is the main program running, or are subs that are called before or after it, or in another
 * thread? */
static int take_main(struct taking *t, uint64_t perl)
{
    uint64_t phase, code;

    if (t->s->natives && !tt_runs_has_loop(t->s, t->p->start))
        return 1;
    if (!tt_safe_word(t->s->peek, perl + PERL_PHASE, &phase) ||
        !tt_safe_word(t->s->peek, perl + PERL_MAIN, &code))
        return 0;
    return (uint32_t)phase != PHASE_RUN || t->s->count == t->s->room || add(t, code, 0);
}

static enum tt_interpreted_end take_all(struct taking *t, uint64_t perl)
{
    enum tt_interpreted_end end = TT_INTERPRETED_WHOLE;
    const struct tt_peek *peek = t->s->peek;
    char stack[STACK_SIZE];
    uint64_t at;

    if (!tt_safe_word(peek, perl + PERL_STATEMENT, &t->statement) ||
        !tt_safe_word(peek, perl + PERL_STACK, &at))
        return TT_INTERPRETED_BROKEN;
    for (int n = 0; at && end == TT_INTERPRETED_WHOLE; n++) {
        if (n == STACKS_MAX || !tt_safe_read(peek, at, stack, sizeof stack))
            return TT_INTERPRETED_BROKEN;
        end = take_stack(t, stack);
        at = tt_foreign_word(stack, STACK_OUTER);
        t->ended |= at != 0; /* the main program's frame belongs to the outermost stack */
    }
    if (end == TT_INTERPRETED_WHOLE && !take_main(t, perl))
        return TT_INTERPRETED_BROKEN;
    return end;
}

static uint64_t perl_of(const struct perl *p, const struct tt_interpreted_stack *s)
{
    const unsigned key = *(const unsigned *)(uintptr_t)p->key;
    uint64_t perl = 0;

    if (s->is_own)
        return (uintptr_t)pthread_getspecific((pthread_key_t)key);
    if (p->values && key < KEYS)
        (void)tt_safe_word(s->peek, s->thread + p->values + (uint64_t)key * KEY_SIZE,
                           &perl);
    return perl;
}

/* Frames of an unknown build are not shown, rather than shown wrongly. */
static void judge(struct perl *p, enum tt_interpreted_end end, uint32_t frames)
{
    if (__atomic_load_n(&p->is_proved, __ATOMIC_RELAXED))
        return;
    if (end == TT_INTERPRETED_WHOLE && frames)
        __atomic_store_n(&p->is_proved, 1, __ATOMIC_RELAXED);
    else if (end == TT_INTERPRETED_BROKEN &&
             __atomic_add_fetch(&p->failures, 1, __ATOMIC_RELAXED) >= TRIES)
        __atomic_store_n(&p->base.off, "its contexts are not where this version has them",
                         __ATOMIC_RELAXED);
}

static void walk(struct tt_interpreter *i, struct tt_interpreted_stack *s)
{
    struct perl *p = (void *)i;
    const uint32_t begin = s->count;
    const uint64_t perl = perl_of(p, s);
    struct taking t = {.p = p, .s = s, .run = 1, .begin = begin};

    s->end = TT_INTERPRETED_NONE;
    /* Before Perl starts, its key is another one's, and leads anywhere. */
    if (!perl || !(s->natives ? tt_runs_has_loop(s, p->loop)
                              : __atomic_load_n(&p->is_proved, __ATOMIC_RELAXED)))
        return;
    s->end = take_all(&t, perl);
    judge(p, s->end, s->count - begin);
    tt_runs_anchor(s, begin, p->loop, 1);
    if (s->count == begin && s->end == TT_INTERPRETED_WHOLE)
        s->end = TT_INTERPRETED_NONE;
}

/* ── Finding it ───────────────────────────────────────────────────────────────────── */

static unsigned byte_at(uint64_t address)
{
    return address ? *(const unsigned char *)(uintptr_t)address : 0;
}

/* The place of a thread's values of keys in the C library's data of the thread, so that those
 * of a sleeping thread can be read.  A value is stored, and searched there. */
static uint64_t find_values(void)
{
    enum { DATA = 1536 };
    static const char mark;
    const uint64_t *data = (const uint64_t *)pthread_self();
    uint64_t found = 0;
    pthread_key_t key;

    if (pthread_key_create(&key, NULL) != 0)
        return 0;
    if (key < KEYS && pthread_setspecific(key, &mark) == 0)
        for (uint32_t i = key * KEY_SIZE / 8; i < DATA / 8 && !found; i++)
            if (data[i] == (uintptr_t)&mark)
                found = i * sizeof *data - (uint64_t)key * KEY_SIZE;
    (void)pthread_setspecific(key, NULL);
    (void)pthread_key_delete(key);
    return found;
}

struct tt_interpreter *tt_perl_find(const struct dl_phdr_info *o)
{
    static struct perl perls[PERLS];
    static uint32_t count;
    const uint64_t loop = tt_loaded_symbol(o, "Perl_runops_standard", NULL),
                   key = loop ? tt_loaded_symbol(o, "PL_thr_key", NULL) : 0;
    struct perl *p = &perls[count];
    unsigned revision, version;

    if (!loop || count == PERLS)
        return NULL;
    for (uint32_t i = 0; i < count; i++)
        if (perls[i].loop == loop)
            return NULL;
    revision = byte_at(tt_loaded_symbol(o, "PL_revision", NULL));
    version = byte_at(tt_loaded_symbol(o, "PL_version", NULL));
    *p = (struct perl){.key = key,
                       .loop = loop,
                       .start = tt_loaded_symbol(o, "perl_run", NULL),
                       .values = find_values()};
    p->base = (struct tt_interpreter){.walk = walk, .describe = describe, .line = line};
    (void)snprintf(p->base.name, sizeof p->base.name, "perl %u.%u", revision, version);
    if (!key)
        p->base.off = "it was built without threads, and its structures are not known";
    else if (revision != 5 || version != 36)
        p->base.off = "the structures of this version are not known";
    count++;
    return &p->base;
}
