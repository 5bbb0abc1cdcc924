/* SPDX-License-Identifier: MIT */
/* lazy.h - a small lazy functional language, to show how a runtime is profiled.
 *
 *      read.c   text → functions, whose bodies are trees of expressions
 *      heap.c   objects in five generations, and the collector that copies them
 *      retain.c for whose sake they are alive
 *      run.c    the machine: expressions, frames, thunks, and what to do next
 *      main.c   the command line
 *
 * Each place where the profiler is told something begins with `if (profiled)`. */
#ifndef LAZY_H
#define LAZY_H

#include <stddef.h>
#include <stdint.h>
#include <tallytree.h>

/* ── Programs ─────────────────────────────────────────────────────────────────────── */

enum expr_kind {
    INT, /* n */
    NIL,
    LOCAL,  /* the slot n, of the frame so many functions further out as `out` says */
    GLOBAL, /* function */
    APPLY,  /* a to args */
    LAMBDA, /* function */
    LET,    /* slots n and on get args; then a */
    IF,     /* a, then b, else c */
    CASE,   /* of a: b for [], c for a cell, whose parts are in the slots n and n + 1 */
    CONS,   /* args */
    PRIM    /* n: the operator's character; of a and b */
};

struct expr {
    enum expr_kind kind;
    int out, args;
    long n;
    struct function *function;
    struct expr *a, *b, *c, **arg;
};

struct function { /* a definition, a lambda, or an operator */
    char *name;
    int line, arity, slots;
    struct expr *body; /* NULL: not defined */
    tt_block block;
    struct object *value; /* of a definition: itself, or without parameters what it is */
    struct function *next;
};

/* Reads a program; NULL after a complaint on standard error. */
struct function *program_read(const char *file);
struct function *program_find(struct function *, const char *name);

/* The name of the definition or lambda that a block stands for; NULL: of none. */
const char *program_block_name(tt_block);

/* ── Objects ──────────────────────────────────────────────────────────────────────── */

enum type { NUMBER, CELL, CLOSURE, PARTIAL, THUNK, INDIRECTION, FRAME, TYPES };
enum { GENERATIONS = 5, STATIC = 255 };

/*                     fields that are references       fields that are not
 *      NUMBER                                           the number
 *      CELL           head, tail
 *      CLOSURE        the frame around it               function, context
 *      PARTIAL        closure, arguments                context
 *      THUNK          frame                             expression, context
 *      INDIRECTION    the value, where a thunk was
 *      FRAME          the frame around it, slots */
struct object {
    uint8_t type, generation, is_moved, is_remembered;
    uint16_t references, fields;
    tt_retainers retained; /* by whom; see retain.c */
    tt_context origin;     /* where it was allocated, for the profiler */
    union field {
        struct object *reference;
        long number;
        const void *pointer;
        tt_context context;
    } at[];
};

extern int profiled, space_profiled, use_profiled;
extern struct object nil;

/* A new object whose references are &nil.  Whatever is not on the machine's stack, or in a
 * definition, may have moved afterwards. */
struct object *object_new(enum type, unsigned references, unsigned others);

/* Somebody looks at what is in it. */
static inline void object_use(const struct object *o)
{
    if (use_profiled)
        tt_object_use((uintptr_t)o);
}

/* Stores a reference: an old object may now know a younger one. */
void object_set(struct object *, unsigned field, struct object *);

struct object *object_static(enum type, unsigned references, unsigned others);
void heap_start(size_t young);
void heap_each(void (*see)(struct object *));
struct heap_figures {
    unsigned long collections[GENERATIONS];
    size_t most;        /* bytes alive after a collection */
    size_t alive, peak; /* at last, and at most, as the profiler is told */
} heap_figures(void);

struct list { /* of objects */
    struct object **at;
    size_t count, room;
};
void list_add(struct list *, struct object *);

/* retain.c: at the end of a collection of everything.  The heap is written to the file, if there
 * is one, as it was then. */
extern int retainers_profiled;
extern const char *heap_file;
void retainers_tell(void);

/* run.c: calls back for each reference that the machine holds. */
void machine_roots(void (*visit)(struct object **));

/* ── Running ──────────────────────────────────────────────────────────────────────── */

extern int cafs_at_top; /* definitions without parameters are charged to the top level */

/* Evaluates `main` and prints what it is: a number, or a list of numbers.  Returns the exit
 * status. */
int program_run(struct function *);
size_t machine_deepest(void);

#endif
