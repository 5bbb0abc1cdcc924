/* SPDX-License-Identifier: MIT */
/* php.c - the frames of the thread that runs PHP.
 *
 *      globals ─► call ─► call ─► call ─► ...    execute_data, the innermost first
 *                  └► function: a script's, or native and without a loop
 *
 * A run of calls ends with one that native code made, which is marked.  Only builds without
 * threads have their globals at a fixed address; so only one thread runs scripts: the one
 * with a loop on its stack.  A closure is a copy of its function, but has the same
 * instructions.  async-signal-safe, except tt_php_find */
#include "php.h"

#include <link.h>
#include <stdio.h>

#include "foreign-text.h"
#include "loaded-symbol.h"
#include "php-code.h"
#include "runs.h"

enum {
    /* A call. */
    CALL_AT = 0,
    CALL_FUNCTION = 24,
    CALL_INFO = 40,
    CALL_PREVIOUS = 48,
    CALL_SIZE = 56,
    CALL_FROM_NATIVE = 1 << 17,
    /* A function. */
    FUNCTION_TYPE = 0,
    FUNCTION_NAME = 8,
    FUNCTION_CLASS = 16,
    FUNCTION_SIZE = 184,
    TYPE_SCRIPT = 2,
    TYPE_EVAL = 4,
    /* Others. */
    CLASS_NAME = 8,
    INSTRUCTION_LINE = 24,
    TEXT_TYPE = 4,
    TEXT_HASH = 8,
    TEXT_LENGTH = 16,
    TEXT_BYTES = 24,
    TEXT_IS_STRING = 6,
    CALLS_MAX = 100000, /* native ones, too */
    TRIES = 16,
    PHPS = 2,
};

/* Offsets within a function, by version. */
struct layout {
    const char *version;
    uint32_t code, file, line;
};

static const struct layout layouts[] = {
    {"8.0", 80, 144, 152}, {"8.1", 80, 144, 152},  {"8.2", 88, 152, 160},
    {"8.3", 80, 144, 152}, {"8.4", 104, 168, 176},
};

struct php {
    struct tt_interpreter base; /* first */
    struct tt_php_code code;    /* that its compiler makes */
    struct layout layout;
    uint64_t current, loop; /* addresses: of the innermost call's, of the loop */
    uint32_t failures;      /* failed walks before the first good one */
    int is_proved;
};

/* ── Texts ────────────────────────────────────────────────────────────────────────── */

static int is_text(const struct tt_peek *peek, uint64_t text)
{
    uint64_t head;

    return tt_safe_word(peek, text, &head) &&
           (head >> 8 * TEXT_TYPE & 15) == TEXT_IS_STRING;
}

/* Appends a text to `to`; up to a NUL, which the names of nameless classes have.  Returns the end; NULL: it cannot be read. */
static char *put_text(const struct tt_peek *peek, uint64_t text, char *to,
                      const char *end)
{
    enum { BYTES = 1024 };
    char bytes[BYTES + 8];
    uint64_t length;

    if (!is_text(peek, text) || !tt_safe_word(peek, text + TEXT_LENGTH, &length))
        return NULL;
    length = length < BYTES ? length : BYTES;
    if (!tt_safe_read(peek, text + TEXT_BYTES, bytes, (length + 7) & ~(uint64_t)7))
        return NULL;
    bytes[length] = '\0';
    return tt_foreign_put(bytes, to, end);
}

/* ── Functions ────────────────────────────────────────────────────────────────────── */

static int is_script(const char function[FUNCTION_SIZE])
{
    return function[FUNCTION_TYPE] == TYPE_SCRIPT || function[FUNCTION_TYPE] == TYPE_EVAL;
}

static uint64_t print_of(const struct php *p, const struct tt_peek *peek,
                         const char function[FUNCTION_SIZE])
{
    const uint64_t name = tt_foreign_word(function, FUNCTION_NAME);
    uint64_t h = tt_foreign_mix(1, tt_foreign_word(function, p->layout.file)), hash = 0;

    h = tt_foreign_mix(h, name);
    h = tt_foreign_mix(h, tt_foreign_word(function, FUNCTION_CLASS));
    h = tt_foreign_mix(h, tt_foreign_word(function, p->layout.code));
    h = tt_foreign_mix(h, (uint32_t)tt_foreign_word(function, p->layout.line));
    if (name)
        (void)tt_safe_word(peek, name + TEXT_HASH, &hash);
    return tt_foreign_mix(h, hash);
}

/* "Class::function"; the code of a file has no name. */
static int name_of(const struct tt_peek *peek, const char function[FUNCTION_SIZE],
                   char out[TT_INTERPRETED_TEXT])
{
    const uint64_t name = tt_foreign_word(function, FUNCTION_NAME),
                   class = tt_foreign_word(function, FUNCTION_CLASS);
    char *at = out, *end = out + TT_INTERPRETED_TEXT;
    uint64_t of;

    if (!name) {
        memcpy(out, "{main}", sizeof "{main}");
        return 1;
    }
    if (class && tt_safe_word(peek, class + CLASS_NAME, &of) &&
        (at = put_text(peek, of, out, end - sizeof "::")) && at > out) {
        memcpy(at, "::", 2);
        at += 2;
    }
    return at && put_text(peek, name, at, end) != NULL;
}

static int describe(const struct tt_interpreter *i, const struct tt_interpreted *f,
                    struct tt_peek *peek, struct tt_interpreted_text *out)
{
    const struct php *p = (const void *)i;
    char function[FUNCTION_SIZE];

    if (!tt_safe_read(peek, f->code, function, sizeof function) || !is_script(function) ||
        print_of(p, peek, function) != f->print)
        return 0;
    out->line = (uint32_t)tt_foreign_word(function, p->layout.line);
    return name_of(peek, function, out->name) &&
           put_text(peek, tt_foreign_word(function, p->layout.file), out->file,
                    out->file + sizeof out->file) != NULL;
}

static uint32_t line(const struct tt_interpreter *i, const struct tt_interpreted *f,
                     struct tt_peek *peek)
{
    uint64_t word;

    (void)i;
    return f->at && tt_safe_word(peek, f->at + INSTRUCTION_LINE, &word) ? (uint32_t)word
                                                                        : 0;
}

/* ── The walk ─────────────────────────────────────────────────────────────────────── */

/* Adds a call's function.  0: it is none. */
static int take_call(struct php *p, struct tt_interpreted_stack *s,
                     const char call[CALL_SIZE], uint64_t run)
{
    const uint64_t code = tt_foreign_word(call, CALL_FUNCTION);
    char function[FUNCTION_SIZE];

    if (!code) /* a generator's caller follows */
        return 1;
    if (!tt_safe_read(s->peek, code, function, sizeof function) ||
        (!p->is_proved && is_script(function) &&
         !is_text(s->peek, tt_foreign_word(function, p->layout.file))))
        return 0;
    if (is_script(function))
        s->frame[s->count++] = (struct tt_interpreted){
            .by = &p->base,
            .code = code,
            .print = print_of(p, s->peek, function),
            .at = tt_foreign_word(call, CALL_AT),
            .anchor = run};
    return 1;
}

/* The anchors are numbers of runs. */
static enum tt_interpreted_end take_calls(struct php *p, struct tt_interpreted_stack *s)
{
    uint64_t at, run = 1;
    uint32_t before = s->count;
    char call[CALL_SIZE];

    if (!tt_safe_word(s->peek, p->current, &at))
        return TT_INTERPRETED_BROKEN;
    for (int n = 0; at; n++) {
        if (s->count == s->room)
            return TT_INTERPRETED_FULL;
        if (n == CALLS_MAX || !tt_safe_read(s->peek, at, call, sizeof call) ||
            !take_call(p, s, call, run))
            return TT_INTERPRETED_BROKEN;
        if (s->count > before && tt_foreign_word(call, CALL_INFO) & CALL_FROM_NATIVE) {
            run++;
            before = s->count;
        }
        at = tt_foreign_word(call, CALL_PREVIOUS);
    }
    return TT_INTERPRETED_WHOLE;
}

static void walk(struct tt_interpreter *i, struct tt_interpreted_stack *s)
{
    struct php *p = (void *)i;
    const uint32_t begin = s->count;

    s->end = TT_INTERPRETED_NONE;
    if (!(s->natives ? tt_runs_has_loop(s, p->loop)
                     : __atomic_load_n(&p->is_proved, __ATOMIC_RELAXED)))
        return;
    s->end = take_calls(p, s);
    if (s->end == TT_INTERPRETED_WHOLE && s->count > begin)
        __atomic_store_n(&p->is_proved, 1,
                         __ATOMIC_RELAXED); /* one thread alone runs scripts */
    else if (s->end == TT_INTERPRETED_BROKEN && !p->is_proved && ++p->failures >= TRIES)
        __atomic_store_n(&p->base.off, "its calls are not where this version has them",
                         __ATOMIC_RELAXED);
    /* While the loop runs, its instruction is in a register. */
    if (s->count > begin && tt_runs_innermost(s, p->loop))
        s->frame[begin].at = 0;
    tt_runs_anchor(s, begin, p->loop, 1);
    if (s->count == begin && s->end == TT_INTERPRETED_WHOLE)
        s->end = TT_INTERPRETED_NONE;
}

/* ── Finding it ───────────────────────────────────────────────────────────────────── */

/* The version is in a constant text.  Returns the text from the version on, or NULL. */
static const char *version_of(const struct dl_phdr_info *o)
{
    static const char before[] = "X-Powered-By: PHP/";

    for (int i = 0; i < o->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &o->dlpi_phdr[i];
        const char *at = (const char *)(uintptr_t)(o->dlpi_addr + h->p_vaddr), *found;
        if (h->p_type != PT_LOAD || h->p_flags != PF_R)
            continue;
        found = memmem(at, h->p_filesz, before, sizeof before - 1);
        if (found)
            return found + sizeof before - 1;
    }
    return NULL;
}

static void init(struct php *p, const char *version)
{
    const char *name = version ? version : "?";

    p->base = (struct tt_interpreter){.walk = walk, .describe = describe, .line = line};
    (void)snprintf(p->base.name, sizeof p->base.name, "php %.*s",
                   (int)(strcspn(name, ".") + 2), name);
    for (uint32_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        if (version && strncmp(version, layouts[i].version, 3) == 0 && version[3] == '.')
            p->layout = layouts[i];
    if (!p->layout.version)
        p->base.off = "the structures of this version are not known";
}

/* Compiled code runs in the frame of the loop, whose callers are in the same module. */
static void find_code(struct php *p, const struct dl_phdr_info *o, uint64_t size)
{
    for (int i = 0; i < o->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &o->dlpi_phdr[i];
        const uint64_t begin = o->dlpi_addr + h->p_vaddr;
        if (h->p_type == PT_LOAD && p->loop >= begin && p->loop - begin < h->p_memsz) {
            p->code.text = begin;
            p->code.text_end = begin + h->p_memsz;
        }
    }
    if (tt_php_code_init(&p->code, p->current, p->loop, size))
        p->base.generated = &p->code.generated;
}

struct tt_interpreter *tt_php_find(const struct dl_phdr_info *o)
{
    static struct php phps[PHPS];
    static uint32_t count;
    enum { CURRENT = 488 }; /* within the globals */
    uint64_t size = 0;
    const uint64_t loop = tt_loaded_symbol(o, "execute_ex", &size),
                   globals = loop ? tt_loaded_symbol(o, "executor_globals", NULL) : 0;
    struct php *p = &phps[count];

    if (!globals || count == PHPS)
        return NULL;
    for (uint32_t i = 0; i < count; i++)
        if (phps[i].loop == loop)
            return NULL;
    *p = (struct php){.current = globals + CURRENT, .loop = loop};
    init(p, version_of(o));
    find_code(p, o, size);
    count++;
    return &p->base;
}
