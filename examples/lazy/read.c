/* SPDX-License-Identifier: MIT */
/* read.c - reads a program.
 *
 *      name x y = expression;                          a definition; -- begins a comment
 *
 *      let f x = e1; y = e2; in e   if a then b else c   \x y -> e
 *      case e of [] -> e1 | x:xs -> e2
 *      || && == /= < <= > >= : + - * / %   f x y   (e)   [1, 2]   (+)   'c'   "text"
 *
 * Text is a list of numbers.  A name is looked for in the function that it is in, then in
 * those around it, then among the definitions. */
#include <ctype.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lazy.h"

enum { NAMES = 64, WORD = 64 };

struct scope { /* of a function */
    struct scope *around;
    struct function *function;
    const char *name[NAMES]; /* of its slots, from 1 */
    int hidden[NAMES];       /* 1: not to be found any more */
    int count;
};

static struct {
    const char *file, *at;
    int line, word_line;
    char word[WORD]; /* the next one; "" at the end */
    struct function *functions, *lambdas;
    struct scope *scope;
    jmp_buf failed;
} in;

static _Noreturn void fail(const char *what, const char *word)
{
    fprintf(stderr, "lazy: %s:%d: %s%s%s%s\n", in.file, in.word_line, what,
            *word ? " '" : "", word, *word ? "'" : "");
    longjmp(in.failed, 1);
}

static void *make(size_t size)
{
    void *p = calloc(1, size);

    if (!p)
        fail("no memory", "");
    return p;
}

/* ── Words ────────────────────────────────────────────────────────────────────────── */

static void skip(void)
{
    for (;; in.at++) {
        if (in.at[0] == '-' && in.at[1] == '-')
            in.at += strcspn(in.at, "\n");
        if (*in.at == '\n')
            in.line++;
        if (!isspace((unsigned char)*in.at))
            return;
    }
}

static size_t operator_length(const char *s)
{
    static const char *const two[] = {"->", "==", "/=", "<=", ">=", "&&", "||", "[]"};

    for (size_t i = 0; i < sizeof two / sizeof *two; i++)
        if (strncmp(s, two[i], 2) == 0)
            return 2;
    return 1;
}

static void next(void)
{
    const char *p;

    skip();
    in.word_line = in.line;
    p = in.at;
    if (isalnum((unsigned char)*p))
        while (isalnum((unsigned char)*p) || *p == '_' || *p == '\'')
            p++;
    else if (*p == '"' || *p == '\'')
        p += strcspn(p + 1, *p == '"' ? "\"\n" : "'\n") + (p[1] ? 2 : 1);
    else if (*p)
        p += operator_length(p);
    if (p - in.at >= WORD)
        fail("a word is too long", "");
    memcpy(in.word, in.at, (size_t)(p - in.at));
    in.word[p - in.at] = '\0';
    in.at = p;
}

static int is(const char *word) { return strcmp(in.word, word) == 0; }

static int take(const char *word)
{
    if (!is(word))
        return 0;
    next();
    return 1;
}

static void want(const char *word)
{
    if (!take(word))
        fail(*in.word ? "something else is wanted than" : "the file ends too early",
             in.word);
}

static int is_name(void)
{
    static const char *const words[] = {"let", "in", "if", "then", "else", "case", "of"};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (is(words[i]))
            return 0;
    return isalpha((unsigned char)in.word[0]);
}

static char *take_name(void)
{
    char *name;

    if (!is_name())
        fail("a name is wanted, not", in.word);
    name = make(strlen(in.word) + 1);
    strcpy(name, in.word);
    next();
    return name;
}

/* ── Expressions ──────────────────────────────────────────────────────────────────── */

static struct expr *expression(void);

static struct expr *node(enum expr_kind kind, struct expr *a, struct expr *b)
{
    struct expr *e = make(sizeof *e);

    e->kind = kind;
    e->a = a;
    e->b = b;
    return e;
}

static struct expr *integer(long n)
{
    struct expr *e = node(INT, NULL, NULL);

    e->n = n;
    return e;
}

static void add_argument(struct expr *e, struct expr *argument)
{
    struct expr **grown = make(((size_t)e->args + 1) * sizeof *grown);

    if (e->args)
        memcpy(grown, e->arg, (size_t)e->args * sizeof *grown);
    grown[e->args++] = argument;
    e->arg = grown;
}

static struct expr *cons(struct expr *head, struct expr *tail)
{
    struct expr *e = node(CONS, NULL, NULL);

    add_argument(e, head);
    add_argument(e, tail);
    return e;
}

static struct expr *primitive(int operator, struct expr * a, struct expr *b)
{
    struct expr *e = node(PRIM, a, b);

    e->n = operator;
    return e;
}

static int add_slot(const char *name)
{
    struct scope *s = in.scope;

    if (s->count + 1 == NAMES)
        fail("a function has too many names", name);
    s->name[++s->count] = name;
    s->hidden[s->count] = 0;
    return s->count;
}

static void hide_slots(int from)
{
    for (int i = from; i <= in.scope->count; i++)
        in.scope->hidden[i] = 1;
}

static struct function *find_or_make(const char *name)
{
    struct function *f = program_find(in.functions, name);

    if (f)
        return f;
    f = make(sizeof *f);
    f->name = make(strlen(name) + 1);
    strcpy(f->name, name);
    f->line = in.word_line;
    f->next = in.functions;
    in.functions = f;
    return f;
}

static struct expr *global(const char *name)
{
    struct expr *e = node(GLOBAL, NULL, NULL);

    e->function = find_or_make(name);
    return e;
}

static struct expr *local(int out, int slot)
{
    struct expr *e = node(LOCAL, NULL, NULL);

    e->out = out;
    e->n = slot;
    return e;
}

static struct expr *name_of(const char *name)
{
    int out = 0;

    for (const struct scope *s = in.scope; s; s = s->around, out++)
        for (int i = s->count; i > 0; i--)
            if (!s->hidden[i] && strcmp(s->name[i], name) == 0)
                return local(out, i);
    return global(name);
}

/* Parameters, `end`, and a body. */
static void read_function(struct function *f, const char *end)
{
    struct scope *s = make(sizeof *s);

    s->around = in.scope;
    s->function = f;
    in.scope = s;
    while (is_name()) {
        add_slot(take_name());
        f->arity++;
    }
    want(end);
    f->body = expression();
    f->slots = s->count - f->arity;
    in.scope = s->around;
    free(s);
}

static struct expr *lambda_named(const char *name, const char *end)
{
    struct expr *e = node(LAMBDA, NULL, NULL);
    struct function *f = make(sizeof *f);
    const char *outer = in.scope->function->name;

    f->name = make(strlen(outer) + strlen(name) + 2);
    sprintf(f->name, "%s.%s", outer, name);
    f->line = in.word_line;
    f->next = in.lambdas;
    in.lambdas = f;
    e->function = f;
    read_function(f, end);
    f->block = tt_block_get(f->name, in.file, (uint32_t)f->line, 0);
    if (f->arity)
        return e;
    return f->slots ? fail("names in a local constant are wanted outside", name),
           e        : f->body;
}

/* A definition in a let: a function, or a value, whose names are those around it. */
static struct expr *local_definition(const char *name)
{
    return is_name() ? lambda_named(name, "=") : (want("="), expression());
}

/* The names are known in all definitions, so they are gone through twice. */
static struct expr *let(void)
{
    struct expr *e = node(LET, NULL, NULL);
    const char *at = in.at;
    int line = in.line, word_line = in.word_line, depth = 0, count = 0;
    char word[WORD];

    strcpy(word, in.word);
    e->n = in.scope->count + 1;
    while (!(depth == 0 && is("in"))) {
        if (depth == 0)
            count++, add_slot(take_name());
        while (*in.word && !(depth == 0 && is(";"))) {
            depth += is("let") - is("in");
            next();
        }
        want(";");
    }
    in.at = at;
    in.line = line;
    in.word_line = word_line;
    strcpy(in.word, word);
    for (int i = 0; i < count; i++) {
        char *name = take_name();
        add_argument(e, local_definition(name));
        want(";");
    }
    want("in");
    e->a = expression();
    hide_slots((int)e->n);
    return e;
}

static struct expr *case_of(void)
{
    struct expr *e = node(CASE, expression(), NULL);

    want("of");
    want("[]");
    want("->");
    e->b = expression();
    want("|");
    e->n = in.scope->count + 1;
    add_slot(take_name());
    want(":");
    add_slot(take_name());
    want("->");
    e->c = expression();
    hide_slots((int)e->n);
    return e;
}

static struct expr *condition(struct expr *a, struct expr *b, struct expr *c)
{
    struct expr *e = node(IF, a, b);

    e->c = c;
    return e;
}

static struct expr *text(void)
{
    struct expr *e = node(NIL, NULL, NULL);

    for (size_t i = strlen(in.word) - 1; i-- > 1;)
        e = cons(integer((unsigned char)in.word[i]), e);
    next();
    return e;
}

static struct expr *list(void)
{
    struct expr *first = expression();

    return cons(first, take(",") ? list() : node(NIL, NULL, NULL));
}

static struct expr *combine(const char *operator, struct expr * a, struct expr *b);

/* (+) is a function of that name. */
static struct expr *operator_function(void)
{
    struct expr *e = global(in.word);
    struct function *f = e->function;

    if (!f->body) {
        f->arity = 2;
        f->body = combine(in.word, local(0, 1), local(0, 2));
    }
    next();
    want(")");
    return e;
}

static int is_operator(void)
{
    static const char *const all[] = {"==", "/=", "<", "<=", ">", ">=", ":",
                                      "+",  "-",  "*", "/",  "%", NULL};
    int i = 0;

    while (all[i] && !is(all[i]))
        i++;
    return all[i] != NULL && *in.at == ')';
}

static struct expr *atom(void)
{
    struct expr *e;
    char *name;

    if (isdigit((unsigned char)in.word[0])) {
        e = integer(strtol(in.word, NULL, 10));
        next();
        return e;
    }
    if (in.word[0] == '\'' && in.word[1] && in.word[2]) {
        e = integer((unsigned char)in.word[1]);
        next();
        return e;
    }
    if (in.word[0] == '"')
        return text();
    if (take("[]"))
        return node(NIL, NULL, NULL);
    if (take("[")) {
        e = list();
        want("]");
        return e;
    }
    if (take("(")) {
        if (is_operator())
            return operator_function();
        e = expression();
        want(")");
        return e;
    }
    name = take_name();
    e = name_of(name);
    free(name);
    return e;
}

static int is_atom(void)
{
    return is_name() || isdigit((unsigned char)in.word[0]) || is("(") || is("[") ||
           is("[]") || in.word[0] == '"' || in.word[0] == '\'';
}

static struct expr *application(void)
{
    struct expr *f = atom(), *e;

    if (!is_atom())
        return f;
    e = node(APPLY, f, NULL);
    while (is_atom())
        add_argument(e, atom());
    return e;
}

static struct expr *combine(const char *operator, struct expr * a, struct expr *b)
{
    if (strcmp(operator, "||") == 0)
        return condition(a, integer(1), b);
    if (strcmp(operator, "&&") == 0)
        return condition(a, b, integer(0));
    if (strcmp(operator, ":") == 0)
        return cons(a, b);
    if (strcmp(operator, "/=") == 0)
        return condition(primitive('=', a, b), integer(0), integer(1));
    if (operator[0] == '>')
        return primitive(operator[1] ? 'L' : '<', b, a);
    if (strcmp(operator, "<=") == 0)
        return primitive('L', a, b);
    return primitive(operator[0], a, b);
}

/* From loose to tight; those of a level are together. */
static struct expr *level(int of)
{
    static const char *const levels[][7] = {
        {"||"}, {"&&"},     {"==", "/=", "<", "<=", ">", ">="},
        {":"},  {"+", "-"}, {"*", "/", "%"}};
    struct expr *e;
    char operator[WORD];

    if (of == 6)
        return application();
    e = level(of + 1);
    for (int i = 0; i < 7 && levels[of][i];) {
        if (!is(levels[of][i])) {
            i++;
            continue;
        }
        strcpy(operator, in.word);
        next();
        e = combine(operator, e, level(of == 3 ? of : of + 1));
        i = 0;
    }
    return e;
}

static struct expr *expression(void)
{
    struct expr *a, *b;

    if (take("let"))
        return let();
    if (take("case"))
        return case_of();
    if (take("\\"))
        return lambda_named("lambda", "->");
    if (!take("if"))
        return level(0);
    a = expression();
    want("then");
    b = expression();
    want("else");
    return condition(a, b, expression());
}

/* ── Programs ─────────────────────────────────────────────────────────────────────── */

struct function *program_find(struct function *f, const char *name)
{
    while (f && strcmp(f->name, name) != 0)
        f = f->next;
    return f;
}

const char *program_block_name(tt_block block)
{
    const struct function *lists[] = {in.functions, in.lambdas};

    for (int i = 0; i < 2; i++)
        for (const struct function *f = lists[i]; f; f = f->next)
            if (f->block == block)
                return f->name;
    return NULL;
}

static void definition(void)
{
    char *name = take_name();
    struct function *f = find_or_make(name);

    if (f->body)
        fail("this is defined twice:", name);
    f->line = in.word_line;
    read_function(f, "=");
    want(";");
    free(name);
}

static char *contents(const char *file)
{
    FILE *f = fopen(file, "r");
    char *text = f ? calloc(1, 1 << 20) : NULL;

    if (!text || (fread(text, 1, (1 << 20) - 1, f) == 0 && ferror(f))) {
        perror(file);
        free(text);
        text = NULL;
    }
    if (f)
        fclose(f);
    return text;
}

struct function *program_read(const char *file)
{
    in.file = file;
    in.line = 1;
    in.at = contents(file);
    if (!in.at || setjmp(in.failed))
        return NULL;
    next();
    while (*in.word)
        definition();
    for (struct function *f = in.functions; f; f = f->next) {
        in.word_line = f->line;
        if (!f->body)
            fail("this is not defined:", f->name);
        f->block = tt_block_get(f->name, file, (uint32_t)f->line, 0);
    }
    return in.functions;
}
