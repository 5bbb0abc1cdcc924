/* SPDX-License-Identifier: MIT */
/* run.c - the machine.
 *
 * It evaluates an expression in a frame, down to a number, a cell or a function.  What is
 * to be done with that stands on a stack of its own, so that a call in a tail position
 * takes nothing: where it is made, the return of its caller is on top.
 *
 *      f x = g (h x)        evaluating g's body, `RETURN f` is gone, and the thunk `h x`
 *                           knows the context that it was made in
 *
 * An argument that is more than a name or a number becomes a thunk: an expression, its
 * frame, and a captured context.  Forcing it enters that context. */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lazy.h"

enum task { /* what to do with a value */
            DONE,
            RETURN, /* from a function: leave its activation */
            UPDATE, /* the thunk a is this value */
            CALL,   /* apply it to the arguments that the frame a holds */
            CHOOSE, /* of expr's branches, in the frame a */
            LEFT,   /* it is the left operand; the right one is in the frame a */
            RIGHT   /* it is the right one; a is the left one */
};

static struct entry {
    enum task task;
    const struct expr *expr;
    struct object *a;
    tt_mark mark;
} * stack;
static size_t depth, room, deepest;

static struct function *program;
static struct object *frame, *value, *spare; /* registers, which the collector knows */
static const struct expr *code;              /* NULL: there is a value */
int cafs_at_top;
static jmp_buf failed;

static _Noreturn void fail(const char *what)
{
    fflush(stdout);
    fprintf(stderr, "lazy: %s\n", what);
    if (profiled)
        tt_print_stack(2);
    longjmp(failed, 1);
}

static void push(enum task task, const struct expr *e, struct object *a, tt_mark mark)
{
    if (depth == room) {
        room = room * 2 + 1024;
        stack = realloc(stack, room * sizeof *stack);
        if (!stack)
            fail("no memory");
    }
    stack[depth++] = (struct entry){task, e, a, mark};
    deepest = depth > deepest ? depth : deepest;
}

void machine_roots(void (*visit)(struct object **))
{
    for (size_t i = 0; i < depth; i++)
        visit(&stack[i].a);
    visit(&frame);
    visit(&value);
    visit(&spare);
    for (struct function *f = program; f; f = f->next)
        visit(&f->value);
}

/* ── Delaying ─────────────────────────────────────────────────────────────────────── */

static struct object *number(long n)
{
    struct object *o = object_new(NUMBER, 0, 1);

    o->at[0].number = n;
    return o;
}

static struct object *frame_out(const struct expr *e)
{
    struct object *f = frame;

    for (int i = e->out; i > 0; i--)
        f = f->at[0].reference;
    object_use(f);
    return f;
}

static struct object *closure(const struct expr *e)
{
    struct object *o = object_new(CLOSURE, 1, 2);

    o->at[0].reference = frame;
    o->at[1].pointer = e->function;
    o->at[2].context = profiled ? tt_context_capture() : 0;
    return o;
}

static struct object *thunk(const struct expr *e)
{
    struct object *o = object_new(THUNK, 1, 2);

    o->at[0].reference = frame;
    o->at[1].pointer = e;
    o->at[2].context = profiled ? tt_context_capture() : 0; /* one word, one store */
    return o;
}

/* What an expression is, without evaluating it. */
static struct object *delay(const struct expr *e)
{
    switch (e->kind) {
    case INT:
        return number(e->n);
    case NIL:
        return &nil;
    case LOCAL:
        return frame_out(e)->at[e->n].reference;
    case GLOBAL:
        return e->function->value;
    case LAMBDA:
        return closure(e);
    default:
        return thunk(e);
    }
}

/* ── Calls ────────────────────────────────────────────────────────────────────────── */

/* The activation of what is called.  In a tail position the caller has left before: its
 * RETURN is taken over. */
static void enter(const struct function *f, enum tt_call call, tt_context context)
{
    int is_tail = stack[depth - 1].task == RETURN;
    tt_mark mark = 0, inner;

    if (profiled) {
        if (is_tail)
            tt_tail();
        if (context) /* of a closure: by the rule that was asked for */
            mark = tt_context_call(context);
        inner = tt_push_as(f->block, call);
        mark = mark ? mark : inner;
    }
    if (is_tail)
        stack[depth - 1].mark = mark;
    else
        push(RETURN, NULL, &nil, mark);
}

/* A frame for a function, with the first so many of these arguments. */
static struct object *make_frame(const struct function *f, unsigned taken)
{
    struct object *o = object_new(FRAME, 1u + (unsigned)(f->arity + f->slots), 0);

    for (unsigned i = 0; i < taken; i++)
        o->at[1 + i].reference = spare->at[1 + i].reference;
    return o;
}

/* The function `value` is given all that it wants of the arguments in `spare`: more of them
 * are for what it returns. */
static void call(const struct object *fn, unsigned wanted, unsigned given,
                 enum tt_call kind, tt_context context)
{
    const struct function *f = fn->at[1].pointer;
    struct object *rest, *o;

    if (given > wanted) {
        rest = object_new(FRAME, 1 + given - wanted, 0);
        for (unsigned i = wanted; i < given; i++)
            rest->at[1 + i - wanted].reference = spare->at[1 + i].reference;
        push(CALL, NULL, rest, 0);
    }
    o = make_frame(f, wanted);
    o->at[0].reference = value->type == PARTIAL ? value->at[0].reference->at[0].reference
                                                : value->at[0].reference;
    enter(f, kind, context);
    frame = o;
    code = f->body;
}

/* Of a function that the program names: a thunk that is this call makes it a lazy one. */
static enum tt_call kind_of_call(void)
{
    return stack[depth - 1].task == UPDATE ? TT_CALL_LAZY : TT_CALL_STRICT;
}

/* Arguments that a partial application has come first. */
static void gather(void)
{
    struct object *all;
    unsigned had, more = spare->references - 1u;

    if (value->type != PARTIAL)
        return;
    had = value->references - 1u;
    all = object_new(FRAME, 1 + had + more, 0);
    for (unsigned i = 0; i < had; i++)
        all->at[1 + i].reference = value->at[1 + i].reference;
    for (unsigned i = 0; i < more; i++)
        all->at[1 + had + i].reference = spare->at[1 + i].reference;
    spare = all;
}

static void make_partial(tt_context context)
{
    struct object *o = object_new(PARTIAL, spare->references, 1);
    unsigned i;

    for (i = 1; i < spare->references; i++)
        o->at[i].reference = spare->at[i].reference;
    o->at[0].reference = value->type == PARTIAL ? value->at[0].reference : value;
    o->at[i].context = context;
    value = o;
}

/* Applies `value` to the arguments in the frame `spare`. */
static void apply(void)
{
    const struct object *fn;
    const struct function *f;
    tt_context context;
    unsigned given;

    if (value->type != CLOSURE && value->type != PARTIAL)
        fail("what is applied is no function");
    object_use(value);
    gather();
    fn = value->type == PARTIAL ? value->at[0].reference : value;
    f = fn->at[1].pointer;
    given = spare->references - 1u;
    context = value->at[value->fields - 1].context;
    if (given >= (unsigned)f->arity)
        call(fn, (unsigned)f->arity, given, TT_CALL_CURRIED, context);
    else
        make_partial(profiled && value->type == CLOSURE ? tt_context_capture() : context);
}

static void evaluate_apply(const struct expr *e)
{
    const struct function *f = e->a->function;

    spare = object_new(FRAME, 1u + (unsigned)e->args, 0);
    for (int i = 0; i < e->args; i++) {
        struct object *o = delay(e->arg[i]);
        object_set(spare, 1u + (unsigned)i, o);
    }
    if (e->a->kind == GLOBAL && f->arity > 0 && e->args >= f->arity) {
        value = f->value;
        call(f->value, (unsigned)f->arity, (unsigned)e->args, kind_of_call(), 0);
    } else {
        push(CALL, NULL, spare, 0);
        code = e->a;
    }
}

/* ── Evaluating ───────────────────────────────────────────────────────────────────── */

/* A definition without parameters is charged to whoever asks first, or to the top. */
static tt_mark enter_constant(const struct function *f)
{
    tt_mark mark = 0, inner;

    if (cafs_at_top)
        mark = tt_context_enter(0);
    inner = tt_push_as(f->block, TT_CALL_LAZY);
    return mark ? mark : inner;
}

/* Begins to make a value of the object in `value`. */
static void force(void)
{
    struct object *o = value;
    const struct expr *e;
    tt_mark mark = 0;

    while (o->type == INDIRECTION)
        o = o->at[0].reference;
    value = o;
    if (o->type != THUNK)
        return;
    e = o->at[1].pointer;
    if (!e)
        fail("a value is needed to find itself");
    object_use(o);
    if (profiled)
        mark = o->generation == STATIC ? enter_constant(o->at[2].pointer)
                                       : tt_context_enter(o->at[2].context);
    push(UPDATE, NULL, o, mark);
    frame = o->at[0].reference;
    o->at[1].pointer = NULL;
    code = e;
}

static void evaluate_let(const struct expr *e)
{
    for (int i = 0; i < e->args; i++) {
        struct object *o = delay(e->arg[i]); /* moves the frame, maybe */
        object_set(frame, (unsigned)(e->n + i), o);
    }
    code = e->a;
}

static void evaluate_cons(const struct expr *e)
{
    spare = object_new(CELL, 2, 0);
    for (unsigned i = 0; i < 2; i++) {
        struct object *o = delay(e->arg[i]);
        object_set(spare, i, o);
    }
    value = spare;
}

static void evaluate(const struct expr *e)
{
    code = NULL;
    switch (e->kind) {
    case IF:
    case CASE:
        push(CHOOSE, e, frame, 0);
        code = e->a;
        break;
    case PRIM:
        push(LEFT, e, frame, 0);
        code = e->a;
        break;
    case APPLY:
        evaluate_apply(e);
        break;
    case LET:
        evaluate_let(e);
        break;
    case CONS:
        evaluate_cons(e);
        break;
    default:
        value = delay(e);
        force();
    }
}

/* ── With a value ─────────────────────────────────────────────────────────────────── */

static long number_in(const struct object *o)
{
    if (o->type != NUMBER)
        fail("this is no number");
    object_use(o);
    return o->at[0].number;
}

static long operate(int operator, long a, long b)
{
    switch (operator) {
    case '+':
        return a + b;
    case '-':
        return a - b;
    case '*':
        return a * b;
    case '=':
        return a == b;
    case '<':
        return a < b;
    case 'L':
        return a <= b;
    default:
        if (b == 0)
            fail("division by zero");
        return operator== '/' ? a / b : a % b;
    }
}

static void choose(const struct expr *e)
{
    if (e->kind == IF) {
        code = number_in(value) ? e->b : e->c;
    } else if (value == &nil) {
        code = e->b;
    } else if (value->type == CELL) {
        object_use(value);
        object_set(frame, (unsigned)e->n, value->at[0].reference);
        object_set(frame, (unsigned)e->n + 1, value->at[1].reference);
        code = e->c;
    } else {
        fail("this is no list");
    }
}

static void update(struct object *o)
{
    o->type = INDIRECTION;
    object_set(o, 0, value);
}

/* 0: all is done. */
static int go_on(void)
{
    struct entry k = stack[--depth];

    switch (k.task) {
    case DONE:
        return 0;
    case RETURN:
        if (profiled)
            tt_pop(k.mark);
        break;
    case UPDATE:
        update(k.a);
        if (profiled)
            tt_pop(k.mark);
        break;
    case CALL:
        spare = k.a;
        apply();
        break;
    case CHOOSE:
        frame = k.a;
        choose(k.expr);
        break;
    case LEFT:
        frame = k.a;
        push(RIGHT, k.expr, value, 0);
        code = k.expr->b;
        break;
    case RIGHT:
        value = number(operate((int)k.expr->n, number_in(k.a), number_in(value)));
        break;
    }
    return 1;
}

/* Makes a value of the object in `value`. */
static void evaluate_value(void)
{
    code = NULL;
    push(DONE, NULL, &nil, 0);
    force();
    do
        while (code)
            evaluate(code);
    while (go_on());
}

/* ── A program ────────────────────────────────────────────────────────────────────── */

static void make_values(void)
{
    for (struct function *f = program; f; f = f->next) {
        if (f->arity) {
            f->value = object_static(CLOSURE, 1, 2);
            f->value->at[1].pointer = f;
            f->value->at[2].context = 0;
        } else {
            f->value = object_static(THUNK, 1, 2);
            f->value->at[1].pointer = f->body;
            f->value->at[2].pointer = f;
        }
    }
}

/* A constant's slots are in a frame of its own, made when there is a heap. */
static void make_frames(void)
{
    for (struct function *f = program; f; f = f->next)
        if (!f->arity)
            object_set(f->value, 0, object_new(FRAME, 1u + (unsigned)f->slots, 0));
}

static void print_list(void)
{
    const char *between = "";
    struct object *o;

    putchar('[');
    while (value != &nil) {
        push(DONE, NULL, value->at[1].reference, 0); /* its tail is kept there */
        value = value->at[0].reference;
        evaluate_value();
        printf("%s%ld", between, number_in(value));
        between = ",";
        o = stack[--depth].a;
        value = o;
        evaluate_value();
    }
    puts("]");
}

size_t machine_deepest(void) { return deepest; }

int program_run(struct function *p)
{
    const struct function *main_function = program_find(p, "main");

    program = p;
    frame = value = spare = &nil;
    if (!main_function || main_function->arity) {
        fputs("lazy: there is no main, or it has parameters\n", stderr);
        return 2;
    }
    if (setjmp(failed))
        return 1;
    make_values();
    make_frames();
    value = main_function->value;
    evaluate_value();
    if (value->type == NUMBER)
        printf("%ld\n", value->at[0].number);
    else if (value->type == CELL)
        print_list();
    else
        fail("main is a function");
    return 0;
}
