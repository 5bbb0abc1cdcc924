/* SPDX-License-Identifier: MIT */
/* oracle.c - computes by brute force what `tallytree replay` must find.
 *
 *      oracle EVENTS [--recursion P]        prints the dump of the recording
 *
 * It shares no code with the runtime, and keeps no state between pushes.  A context is an
 * array of blocks, which is searched among all others.  A policy reads that array each time,
 * and a tick walks the whole stack.
 *
 * A push of block X at the path p (d blocks without the root) goes
 *      block     to the nearest X in p
 *      repeat:K  to the end of the nearest K blocks that equal the last K-1 of p and X
 *      edge      as repeat:2
 *      drop      nowhere if X is in p
 *      recent:K  to the nearest X among the last K+1 of p
 *      cycle     to an X at depth a: the nearest one for which the d-a+1 blocks that end in
 *                it equal the blocks after it, followed by X.  So the path since that X
 *                repeats the path before it.  All X are tried: A B C B A B C ends at its 4th
 *                block if B follows.
 *      none      to a new child
 * and in all other cases to a child of p.
 *
 * A replace is a pop and a push.  Under cycle the push starts at the replaced block, which
 * stays on the path.  A tail call leaves a block and the contexts directly below it.  The next
 * strict or curried push starts at the place of that block, and so does a context that is
 * entered under ghc, unless the stack has changed meanwhile.  If one of those contexts was
 * entered unchanged, the place is unchanged, too.
 *
 * A captured context is entered unchanged, or not at all.  Under ghc, its blocks after the
 * prefix that it shares with the current path are pushed.
 *
 * Active are: the running stack, down to the last context that was entered unchanged; the path
 * of that context; the paths from which tail calls came; and the blocks that a replace left on
 * the current path.  A pop also leaves the place from which a tail call came. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GROW(array, count)                                                               \
    do {                                                                                 \
        if (((count) & ((count)-1)) == 0)                                                \
            (array) = allocate((array),                                                  \
                               (size_t)((count) ? 2 * (count) : 1) * sizeof *(array));   \
    } while (0)

typedef unsigned __int128 wide;

struct statistics {
    uint64_t count, sum, min, max, children, recursive;
    wide square, children_square, recursive_square;
};

enum { METRICS = 8, NAMES = 64 };

struct context {
    int strand, depth, *path;
    uint64_t hash;
    uint64_t calls, self, samples, total;
    int metric[METRICS], metrics; /* in the order of their first use */
    uint64_t amount[METRICS];
    struct statistics times;
};

struct arc {
    int from, to, block;
    uint64_t calls;
    struct statistics times;
};

enum {
    ENTERED = -1,
    APPLIED = -2,
    JOINED = -3, /* captured contexts: creation, &c. */
    LEFT = -4,   /* where a tail call left off */
    LEFT_ENTERED = -5
};

struct frame {        /* an activation, or the entry of a captured context */
    int block;        /* less than 0: of a context */
    int context, arc; /* arc -1: through a tree edge */
    int recursive, counted;
    uint64_t duration, children;
};

struct stack {
    char *name;
    int strand; /* whose contexts its frames are in */
    int running;
    struct frame *frame;
    int depth;
};

struct strand {
    char *name;
    struct stack *own, *current;
    int pauses;
    int call;             /* of the next push, from 1 */
    int tail, tail_depth; /* a context, and the depth it is good at; -1: none */
    int tail_block;       /* LEFT or LEFT_ENTERED */
};

struct block {
    char *name;
    uint64_t calls, inclusive, self, tree;
    int seen;
};

static struct context *contexts;
static struct arc *arcs;
static struct strand *strands;
static struct stack **fibers;
static struct block *blocks;
static int context_count, arc_count, strand_count, fiber_count, block_count;
static char *metrics[METRICS];
static int metric_count;
static struct {
    char *name;
    int context;
} captures[NAMES];
static int capture_count;
enum { BLOCK, REPEAT, DROP, RECENT, CYCLE, NONE };
static int policy = REPEAT, policy_length = 2;
static int rule = ENTERED;
static const char *const calls[] = {"strict", "lazy", "curried", "tail"};
static int now = -1; /* the strand that runs */
static int stamp;
static const char *file_name;
static int line_number;

__attribute__((format(printf, 1, 2), noreturn)) static void fail(const char *format, ...)
{
    va_list arguments;

    fprintf(stderr, "oracle: %s:%d: ", file_name, line_number);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(2);
}

static void *allocate(void *old, size_t size)
{
    void *p = realloc(old, size);

    if (!p)
        fail("no memory");
    return p;
}

static char *copy(const char *text)
{
    return strcpy(allocate(NULL, strlen(text) + 1), text);
}

/* ── Contexts ─────────────────────────────────────────────────────────────────────── */

static int find_block(const char *name)
{
    for (int i = 0; i < block_count; i++)
        if (strcmp(blocks[i].name, name) == 0)
            return i;
    GROW(blocks, block_count);
    blocks[block_count] = (struct block){.name = copy(name)};
    return block_count++;
}

static uint64_t hash_of(int strand, const int *path, int depth)
{
    uint64_t hash = (uint64_t)strand + 1;

    for (int i = 0; i < depth; i++)
        hash = (hash ^ (uint64_t)(path[i] + 1)) * 0x9e3779b97f4a7c15u;
    return hash;
}

static int find_context(int strand, const int *path, int depth, int make)
{
    uint64_t hash = hash_of(strand, path, depth);
    size_t size = (size_t)depth * sizeof *path;
    struct context *c;

    for (int i = 0; i < context_count; i++)
        if (contexts[i].hash == hash && contexts[i].strand == strand &&
            contexts[i].depth == depth &&
            (!size || !memcmp(contexts[i].path, path, size)))
            return i;
    if (!make)
        return -1;
    if (depth > 0) /* a path has all its beginnings */
        find_context(strand, path, depth - 1, 1);
    GROW(contexts, context_count);
    c = &contexts[context_count];
    *c = (struct context){.strand = strand, .depth = depth, .hash = hash};
    c->path = allocate(NULL, size + 1);
    memcpy(c->path, path, size);
    return context_count++;
}

static int find_arc(int from, int to, int block)
{
    for (int i = 0; i < arc_count; i++)
        if (arcs[i].from == from && arcs[i].to == to && arcs[i].block == block)
            return i;
    GROW(arcs, arc_count);
    arcs[arc_count] = (struct arc){.from = from, .to = to, .block = block};
    return arc_count++;
}

/* ── Policies ─────────────────────────────────────────────────────────────────────── */

static int block_at(const int *path, int from_end, int depth)
{
    return from_end < depth ? path[depth - 1 - from_end] : -1;
}

/* Do the `length` blocks that end at depth `at` equal the last ones of the path and X? */
static int stretch_repeats(const int *path, int depth, int x, int at, int length)
{
    if (length > at || length > depth + 1 || path[at - 1] != x)
        return 0;
    for (int i = 1; i < length; i++)
        if (block_at(path, i, at) != block_at(path, i - 1, depth))
            return 0;
    return 1;
}

/* The depth on the path where a push of x leads; 0: to a child. */
static int target_depth(const int *path, int depth, int x)
{
    for (int at = depth; at > 0; at--) {
        if (path[at - 1] != x)
            continue;
        if (policy == BLOCK)
            return at;
        if (policy == DROP)
            return depth;
        if (policy == RECENT && depth - at <= policy_length)
            return at;
        if (policy == REPEAT && stretch_repeats(path, depth, x, at, policy_length))
            return at;
        if (policy == CYCLE && stretch_repeats(path, depth, x, at, depth - at + 1))
            return at;
    }
    return 0;
}

/* Returns the target of a push of x at `from`; *arc is -1 if that is a child. */
static int step(int from, int x, int *arc)
{
    int strand = contexts[from].strand, depth = contexts[from].depth, to;
    int at = target_depth(contexts[from].path, depth, x);
    int *path;

    *arc = -1;
    if (at) {
        to = find_context(strand, contexts[from].path, at, 1);
        *arc = find_arc(from, to, x);
        return to;
    }
    path = allocate(NULL, ((size_t)depth + 1) * sizeof *path);
    memcpy(path, contexts[from].path, (size_t)depth * sizeof *path);
    path[depth] = x;
    to = find_context(strand, path, depth + 1, 1);
    free(path);
    return to;
}

/* ── Stacks ───────────────────────────────────────────────────────────────────────── */

static struct stack *new_stack(const char *name, int strand)
{
    struct stack *s = allocate(NULL, sizeof *s);

    *s = (struct stack){.name = copy(name), .strand = strand};
    return s;
}

static int use_strand(const char *name)
{
    int i = 0;

    while (i < strand_count && strcmp(strands[i].name, name) != 0)
        i++;
    if (i == strand_count) {
        GROW(strands, strand_count);
        strands[i] = (struct strand){
            .name = copy(name), .own = new_stack("-", i), .tail_depth = -1};
        strands[i].current = strands[i].own;
        strands[i].own->running = 1;
        strand_count++;
        find_context(i, NULL, 0, 1);
    }
    return i;
}

static struct stack *running(void)
{
    if (now < 0)
        now = use_strand("main");
    return strands[now].current;
}

static int context_of(const struct stack *s, int frames)
{
    return frames ? s->frame[frames - 1].context : find_context(s->strand, NULL, 0, 1);
}

static int current_context(void)
{
    const struct stack *s = running();

    return context_of(s, s->depth);
}

static void each_of_path(const struct context *c, void (*each)(int, uint64_t), uint64_t n)
{
    for (int i = 0; i < c->depth; i++)
        each(c->path[i], n);
}

/* Calls back for every block that is active at a context, maybe several times for one. */
static void each_active(int at, void (*each)(int block, uint64_t), uint64_t n)
{
    const struct stack *s = running();
    int i = s->depth;

    while (i-- > 0) {
        const struct frame *f = &s->frame[i];
        if (f->block >= 0)
            each(f->block, n);
        if (f->block < 0)
            each_of_path(&contexts[f->context], each, n);
        if (f->block == ENTERED || f->block == LEFT_ENTERED)
            break;
    }
    each_of_path(&contexts[at], each, n);
}

static void charge_once(int block, uint64_t n)
{
    if (blocks[block].seen == stamp)
        return;
    blocks[block].seen = stamp;
    blocks[block].inclusive += n;
}

static void mark(int block, uint64_t unused)
{
    (void)unused;
    blocks[block].seen = stamp;
}

static int is_active(int at, int block)
{
    stamp++;
    each_active(at, mark, 0);
    return blocks[block].seen == stamp;
}

static void charge(uint64_t n)
{
    contexts[current_context()].self += n;
    stamp++;
    each_active(current_context(), charge_once, n);
}

static void add_times(struct statistics *t, const struct frame *f)
{
    wide d = f->duration, c = f->children;

    if (t->count++ == 0 || f->duration < t->min)
        t->min = f->duration;
    if (f->duration > t->max)
        t->max = f->duration;
    t->sum += f->duration;
    t->square += d * d;
    t->children += f->children;
    t->children_square += c * c;
    if (f->recursive) {
        t->recursive += f->duration;
        t->recursive_square += d * d;
    }
}

static struct frame *add_frame(void)
{
    struct stack *s = running();

    GROW(s->frame, s->depth);
    s->frame[s->depth] = (struct frame){.block = ENTERED, .arc = -1};
    return &s->frame[s->depth++];
}

static void push(int block, int from)
{
    int recursive = is_active(from, block), arc;
    int to = step(from, block, &arc);
    struct frame *f = add_frame();

    f->block = block;
    f->context = to;
    f->arc = arc;
    f->recursive = recursive;
    blocks[block].calls++;
    contexts[to].calls++;
    if (arc >= 0)
        arcs[arc].calls++;
}

static void count(const char *name, uint64_t n, int context)
{
    struct context *c = &contexts[context];
    int i = 0, k = 0;

    while (i < metric_count && strcmp(metrics[i], name) != 0)
        i++;
    if (i == metric_count)
        metrics[metric_count++] = copy(name);
    while (k < c->metrics && c->metric[k] != i)
        k++;
    if (k == c->metrics)
        c->metric[c->metrics++] = i;
    c->amount[k] += n;
}

static void leave(struct stack *s)
{
    struct frame *f = &s->frame[--s->depth];

    if (f->counted)
        count("tails and returns", 1, f->context);
    if (f->block >= 0) {
        add_times(&contexts[f->context].times, f);
        if (f->arc >= 0)
            add_times(&arcs[f->arc].times, f);
    }
    if (s->depth > 0)
        f[-1].children += f->block >= 0 ? f->duration : f->children;
}

static int join(int app, int fn)
{
    int common = 0, arc;

    while (common < contexts[app].depth && common < contexts[fn].depth &&
           contexts[app].path[common] == contexts[fn].path[common])
        common++;
    for (int i = common; i < contexts[fn].depth; i++)
        app = step(app, contexts[fn].path[i], &arc);
    return app;
}

static void enter_context(int context)
{
    int here = running()->strand, root = find_context(here, NULL, 0, 1);
    struct context c = contexts[context < 0 ? root : context];
    int app = current_context(), fn = app;
    struct frame *f;

    if (rule == JOINED && strands[now].tail_depth == running()->depth) {
        f = add_frame();
        f->block = strands[now].tail_block;
        f->context = app = strands[now].tail;
    }
    if (rule != APPLIED)
        fn = find_context(here, c.path, c.depth, 1);
    if (rule == JOINED)
        fn = join(app, fn);
    f = add_frame();
    f->block = rule;
    f->context = fn;
    if (rule == APPLIED && strands[now].tail_depth == running()->depth - 1)
        strands[now].tail_depth++;
    else
        strands[now].tail_depth = -1;
}

/* ── Kinds of calls ───────────────────────────────────────────────────────────────── */

static void push_as(int block)
{
    struct strand *s = &strands[now];
    const char *kind = calls[s->call - 1];
    struct stack *stack = s->current;
    struct frame *f;
    char name[32];

    if (s->tail_depth == stack->depth && strcmp(kind, "lazy") != 0) {
        f = add_frame();
        f->block = s->tail_block;
        f->context = s->tail;
    }
    s->call = 0;
    s->tail_depth = -1;
    push(block, current_context());
    stack->frame[stack->depth - 1].counted = 1;
    snprintf(name, sizeof name, "%s calls", kind);
    count(name, 1, current_context());
}

static void leave_for_tail(void)
{
    struct stack *s = running();

    if (s->depth == 0 || s->frame[s->depth - 1].block < 0)
        fail("nothing to call from");
    strands[now].tail = current_context();
    if (!s->frame[s->depth - 1].counted)
        count("tails and returns", 1, current_context());
    leave(s);
    strands[now].tail_block = LEFT;
    while (s->depth > 0 && s->frame[s->depth - 1].block < 0) {
        if (s->frame[s->depth - 1].block == ENTERED ||
            s->frame[s->depth - 1].block == LEFT_ENTERED)
            strands[now].tail_block = LEFT_ENTERED;
        leave(s);
    }
    strands[now].tail_depth = s->depth;
}

static void call_kind(const char *kind)
{
    int i = 0;

    while (i < 4 && strcmp(calls[i], kind) != 0)
        i++;
    if (i == 4)
        fail("no kind %s", kind);
    strands[now].call = i < 3 ? i + 1 : 1;
    if (i == 3)
        leave_for_tail();
}

static void use_rule(const char *name)
{
    rule = !strcmp(name, "creation") ? ENTERED : !strcmp(name, "ghc") ? JOINED : APPLIED;
}

/* A fiber comes to another strand: its blocks are pushed there, and not counted again. */
static void move_stack(struct stack *s, int strand)
{
    struct frame *f = s->frame;

    s->strand = strand;
    for (int i = 0; i < s->depth; i++, f++) {
        struct context c = contexts[f->context];
        if (f->block == APPLIED)
            f->context = context_of(s, i);
        else if (f->block >= 0)
            f->context = step(context_of(s, i), f->block, &f->arc);
        else
            f->context = find_context(strand, c.path, c.depth, 1);
    }
}

static void switch_fiber(const char *name)
{
    struct stack *from = running(), *to = strands[now].own;
    int i = 0;

    if (strcmp(name, "-") != 0) {
        while (i < fiber_count && strcmp(fibers[i]->name, name) != 0)
            i++;
        if (i == fiber_count) {
            GROW(fibers, fiber_count);
            fibers[fiber_count++] = new_stack(name, now);
        }
        to = fibers[i];
    }
    if (to != from && to->running)
        fail("fiber %s runs elsewhere", name);
    if (to != from)
        strands[now].tail_depth = -1;
    from->running = 0;
    to->running = 1;
    strands[now].current = to;
    if (to->strand != now)
        move_stack(to, now);
}

/* ── Events ───────────────────────────────────────────────────────────────────────── */

static void tick(uint64_t n)
{
    const struct stack *s = running();

    if (strands[now].pauses)
        return;
    for (int i = 0; i < s->depth; i++)
        s->frame[i].duration += n;
    charge(n);
}

static void sample(uint64_t n)
{
    if (strands[now].pauses)
        return;
    contexts[current_context()].samples++;
    charge(n);
}

static void pop(int contexts_too)
{
    struct stack *s = running();

    if (s->depth == 0 || (s->frame[s->depth - 1].block < 0) != contexts_too)
        fail("nothing to leave");
    strands[now].tail_depth = -1;
    leave(s);
    if (s->depth && s->frame[s->depth - 1].block <= LEFT)
        leave(s);
}

/* Fble as shipped continues from here: the replaced block stays on the path. */
static void replace(int block)
{
    int from = current_context();

    if (running()->depth == 0)
        fail("nothing to leave");
    leave(running());
    strands[now].tail_depth = -1;
    push(block, policy == CYCLE ? from : current_context());
}

static int find_capture(const char *name)
{
    int i = 0;

    while (i < capture_count && strcmp(captures[i].name, name) != 0)
        i++;
    if (i == capture_count)
        captures[capture_count++].name = copy(name);
    return i;
}

static void event(const char *word, const char *first, const char *second)
{
    uint64_t n = strtoull(second ? second : first ? first : "", NULL, 10);

    if (!strcmp(word, "block"))
        return;
    if (!strcmp(word, "strand")) {
        now = use_strand(first);
        return;
    }
    running();
    if (!strcmp(word, "fiber"))
        switch_fiber(first);
    else if (!strcmp(word, "push") && strands[now].call)
        push_as(find_block(first));
    else if (!strcmp(word, "push"))
        push(find_block(first), current_context());
    else if (!strcmp(word, "pop"))
        pop(0);
    else if (!strcmp(word, "replace"))
        replace(find_block(first));
    else if (!strcmp(word, "tick"))
        tick(n);
    else if (!strcmp(word, "sample"))
        sample(n);
    else if (!strcmp(word, "pause"))
        strands[now].pauses++;
    else if (!strcmp(word, "resume"))
        strands[now].pauses--;
    else if (!strcmp(word, "count"))
        count(first, n, current_context());
    else if (!strcmp(word, "capture"))
        captures[find_capture(first)].context = current_context();
    else if (!strcmp(word, "enter-context"))
        enter_context(strcmp(first, "-") ? captures[find_capture(first)].context : -1);
    else if (!strcmp(word, "leave-context"))
        pop(1);
    else if (!strcmp(word, "call-kind"))
        call_kind(first);
    else if (!strcmp(word, "stacks"))
        use_rule(first);
    else
        fail("unknown event %s", word);
}

static void close_stack(struct stack *s)
{
    while (s->depth)
        leave(s);
}

static void read_events(const char *path)
{
    FILE *in = fopen(path, "r");
    char line[1024], *word;

    file_name = path;
    if (!in)
        fail("cannot be read");
    while (fgets(line, sizeof line, in)) {
        line_number++;
        line[strcspn(line, "#")] = '\0';
        word = strtok(line, " \t\n");
        if (word) {
            const char *first = strtok(NULL, " \t\n"), *second = strtok(NULL, " \t\n");
            event(word, first, second);
        }
    }
    fclose(in);
    for (int i = 0; i < strand_count; i++)
        close_stack(strands[i].own);
    for (int i = 0; i < fiber_count; i++)
        close_stack(fibers[i]);
}

#include "oracle-dump.h"

/* ── The command line ─────────────────────────────────────────────────────────────── */

static void set_policy(const char *name)
{
    static const char *const names[] = {"block",  "repeat", "drop",
                                        "recent", "cycle",  "none"};
    size_t length = strcspn(name, ":");

    if (strcmp(name, "edge") == 0)
        name = "repeat:2", length = 6;
    for (int i = 0; i < 6; i++)
        if (strlen(names[i]) == length && strncmp(names[i], name, length) == 0) {
            policy = i;
            policy_length = name[length] ? atoi(name + length + 1) : 0;
            return;
        }
    fail("unknown policy %s", name);
}

int main(int argc, char **argv)
{
    file_name = "-";
    if (argc != 2 && (argc != 4 || strcmp(argv[2], "--recursion") != 0))
        fail("usage: oracle EVENTS [--recursion P]");
    if (argc == 4)
        set_policy(argv[3]);
    read_events(argv[1]);
    add_up();
    print_dump();
    return 0;
}
