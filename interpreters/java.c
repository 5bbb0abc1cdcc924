/* SPDX-License-Identifier: MIT */
/* java.c - the methods of a thread that runs Java, on HotSpot.
 *
 *      native   read   wrapper   compiled   interpreter   entry   JavaCalls::call
 *      shown    read   read0     f  g       main                  JavaCalls::call
 *
 * Java has no list of frames: they are on the native stack, which only its structures
 * describe.  So this finds them while the stack is unwound (java-code.c).  Then each is replaced by
 * its methods, those that were compiled into it, too.  async-signal-safe, except tt_java_find */
#include "java.h"

#include <link.h>
#include <stdio.h>
#include <stdlib.h>

#include "foreign-text.h"
#include "java-code.h"
#include "java-method.h"
#include "java-scopes.h"
#include "loaded-symbol.h"

enum {
    SCOPES = 128,
    KNOWN = 32,
    TRIES = 16,
    JAVAS = 2,
    STUB = 1, /* tt_interpreted.method: the code is no method's */
};

/* ── The walk ─────────────────────────────────────────────────────────────────────── */

struct taking {
    struct tt_java *j;
    struct tt_interpreted_stack *s;
    const struct tt_native *n;
    int is_broken, has_methods;
    struct {
        uint64_t method, print;
    } known[KNOWN]; /* on this stack: while it is walked, none is another one */
};

static int add(struct taking *t, const struct tt_interpreted *f)
{
    struct tt_interpreted_stack *s = t->s;

    if (s->count == s->room)
        return 0;
    s->frame[s->count] = *f;
    s->frame[s->count].by = &t->j->base;
    s->frame[s->count++].anchor = t->n->sp;
    return 1;
}

static uint64_t print_of(struct taking *t, uint64_t method)
{
    const unsigned i = (method * 0x9e3779b97f4a7c15u >> 32) % KNOWN;
    struct tt_java_method m;

    if (t->known[i].method != method || !method) {
        t->known[i].method = method;
        t->known[i].print = tt_java_method(t->j, t->s->peek, method, &m)
                                ? tt_java_print(t->j, t->s->peek, &m)
                                : 0;
    }
    return t->known[i].print;
}

/* 0: there is no room.  A method that cannot be read leaves the native frame. */
static int add_method(struct taking *t, uint64_t method, uint32_t at)
{
    struct tt_interpreted f = {.code = method, .at = at};

    f.print = print_of(t, method);
    t->is_broken |= !f.print;
    t->has_methods |= f.print != 0;
    return !f.print || add(t, &f);
}

static int take_compiled(struct taking *t, int has_scopes)
{
    const uint64_t at = t->n->data + t->j->layout.compiled.method;
    struct tt_java_scope scope[SCOPES];
    uint64_t method;
    const uint32_t count = has_scopes ? tt_java_scopes(t->j, t->s->peek, t->n->data,
                                                       t->n->detail, scope, SCOPES)
                                      : 0;

    for (uint32_t i = 0; i < count; i++)
        if (!add_method(t, scope[i].method, scope[i].at))
            return 0;
    if (!count && tt_safe_word(t->s->peek, at, &method))
        return add_method(t, method, 0);
    return 1;
}

/* What native code enters Java by is not shown. */
static int take_stub(struct taking *t)
{
    struct tt_interpreted f = {.code = t->n->data, .method = STUB};

    if (t->n->detail)
        f = (struct tt_interpreted){0};
    else if (!tt_safe_word(t->s->peek, f.code + t->j->layout.blob.name, &f.print))
        return 1;
    return add(t, &f);
}

static int take(struct taking *t)
{
    switch ((enum tt_java_kind)(t->n->flags >> TT_JAVA_KIND_SHIFT)) {
    case TT_JAVA_COMPILED:
        return take_compiled(t, 1);
    case TT_JAVA_WRAPPER:
        return take_compiled(t, 0);
    case TT_JAVA_INTERPRETER:
        return add_method(t, t->n->data, t->n->detail);
    default:
        return take_stub(t);
    }
}

/* Methods of an unknown build are not shown, rather than shown wrongly. */
static void judge(struct tt_java *j, int is_broken)
{
    if (__atomic_load_n(&j->is_proved, __ATOMIC_RELAXED))
        return;
    if (!is_broken)
        __atomic_store_n(&j->is_proved, 1, __ATOMIC_RELAXED);
    else if (__atomic_add_fetch(&j->failures, 1, __ATOMIC_RELAXED) >= TRIES)
        __atomic_store_n(&j->base.off, "its methods are not where this version has them",
                         __ATOMIC_RELAXED);
}

static int is_ours(const struct tt_native *n) { return n->flags & TT_NATIVE_GENERATED; }

static void walk(struct tt_interpreter *i, struct tt_interpreted_stack *s)
{
    struct taking t = {.j = (void *)i, .s = s};
    int has_room = 1;

    for (uint32_t n = 0; n < s->natives && has_room; n++) {
        t.n = &s->native[n];
        has_room = !is_ours(t.n) || take(&t);
    }
    if (t.has_methods || t.is_broken)
        judge(t.j, t.is_broken);
    s->end = !has_room     ? TT_INTERPRETED_FULL
             : t.is_broken ? TT_INTERPRETED_BROKEN
             : s->count    ? TT_INTERPRETED_WHOLE
                           : TT_INTERPRETED_NONE;
}

/* ── Names ────────────────────────────────────────────────────────────────────────── */

static int describe_stub(const struct tt_interpreted *f, const struct tt_peek *peek,
                         struct tt_interpreted_text *out)
{
    enum { LONGEST = 80 };
    char name[LONGEST + 1] = {0};

    for (size_t i = 0; i < LONGEST; i++)
        if (!tt_java_bytes(peek, f->print + i, name + i, 1) || !name[i])
            break;
    (void)tt_foreign_put(name, out->name, out->name + sizeof out->name);
    *out->file = '\0';
    out->line = 0;
    return *out->name != '\0';
}

static int describe(const struct tt_interpreter *i, const struct tt_interpreted *f,
                    struct tt_peek *peek, struct tt_interpreted_text *out)
{
    return f->method == STUB ? describe_stub(f, peek, out)
                             : tt_java_describe((const void *)i, f, peek, out);
}

static uint32_t line(const struct tt_interpreter *i, const struct tt_interpreted *f,
                     struct tt_peek *peek)
{
    return f->method == STUB ? 0 : tt_java_line((const void *)i, f, peek);
}

/* ── Finding it ───────────────────────────────────────────────────────────────────── */

static uint32_t version_of(const struct tt_java *j, const struct tt_peek *peek)
{
    uint64_t number;

    return j->layout.major && tt_java_number(peek, j->layout.major, 4, &number) &&
                   number < 100
               ? (uint32_t)number
               : 0;
}

void tt_java_init(struct tt_java *j, struct tt_peek *peek, const char *off)
{
    j->base = (struct tt_interpreter){
        .walk = walk, .describe = describe, .line = line, .generated = &j->generated};
    j->generated = (struct tt_generated){tt_java_leave};
    j->version = off ? 0 : version_of(j, peek);
    (void)snprintf(j->base.name, sizeof j->base.name, j->version ? "java %u" : "java",
                   j->version);
    if (!off && !j->version)
        off = "its version is not known";
#if !defined __x86_64__
    off = "its code is known on x86-64 only";
#endif
    j->base.off = off;
}

/* All of the object: it stays, and its tables are complete. */
static void look_into(struct tt_peek *peek, const struct dl_phdr_info *o)
{
    uint64_t low = UINT64_MAX, high = 0;

    for (int i = 0; i < o->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &o->dlpi_phdr[i];
        const uint64_t begin = o->dlpi_addr + h->p_vaddr;
        if (h->p_type != PT_LOAD)
            continue;
        low = begin < low ? begin : low;
        high = begin + h->p_memsz > high ? begin + h->p_memsz : high;
    }
    tt_peek_own(peek, (const void *)(uintptr_t)low, (const void *)(uintptr_t)high);
}

/* While it is being loaded, its pointers are 0. */
static int is_relocated(struct tt_peek *peek, uint64_t variable)
{
    uint64_t table, name;

    return tt_peek_bytes(peek, variable, &table, sizeof table) && table &&
           tt_peek_bytes(peek, table, &name, sizeof name) && name;
}

struct tt_interpreter *tt_java_find(const struct dl_phdr_info *o)
{
    static struct tt_java javas[JAVAS];
    static uint32_t count;
    const uint64_t structs = tt_loaded_symbol(o, "gHotSpotVMStructs", NULL),
                   types = structs ? tt_loaded_symbol(o, "gHotSpotVMTypes", NULL) : 0;
    struct tt_java *j = &javas[count];
    struct tt_peek peek;

    if (!types || count == JAVAS)
        return NULL;
    for (uint32_t i = 0; i < count; i++)
        if (javas[i].tables == structs)
            return NULL;
    *j = (struct tt_java){.tables = structs};
    look_into(&peek, o);
    if (!is_relocated(&peek, structs) || !is_relocated(&peek, types))
        return NULL;
    tt_java_init(j, &peek, tt_java_layout(&j->layout, &peek, structs, types));
    count++;
    return &j->base;
}
