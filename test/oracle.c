/* SPDX-License-Identifier: MIT */
/* oracle.c - what `tallytree replay` must find, worked out by brute force.
 *
 *      oracle EVENTS [--recursion P]        prints the dump of the recording
 *
 * It shares nothing with the runtime and remembers nothing from one push to the next: a
 * context is an array of blocks, looked for among all others; a policy looks at that array
 * each time; a tick walks the whole stack.
 *
 * Where a push of X at the path p (of d blocks, the root not among them) leads:
 *      block     to the nearest X on it
 *      repeat:K  to the end of the nearest stretch of K blocks equal to p's last K-1 and X
 *      edge      repeat:2
 *      drop      nowhere, when X is on it
 *      recent:K  to the nearest X among its last K+1
 *      cycle     to an X at depth a, the nearest one for which the d-a+1 blocks that end in
 *                it are those after it, and X: what the path has done since that X it did
 *                just before.  All X are tried, so that A B C B A B C ends at its 4th block
 *                when B follows.
 *      none      nowhere
 * and else to a child.
 *
 * A replace is a pop and a push; under cycle the push is from the replaced block, which
 * stays on the path.
 *
 * What is active is the stack that runs, down to the last captured context, the path of
 * that one, and what a replace left on the current path. */
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

struct frame {        /* an activation, or the entry of a captured context */
    int block;        /* -1: the entry of a context */
    int context, arc; /* arc -1: through a tree edge */
    int recursive;
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

/* Where a push of x at `from` leads; *arc is -1 when that is a child. */
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
        strands[i] = (struct strand){.name = copy(name), .own = new_stack("-", i)};
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

    while (i > 0 && s->frame[i - 1].block >= 0)
        each(s->frame[--i].block, n);
    if (i > 0)
        each_of_path(&contexts[s->frame[i - 1].context], each, n);
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
    s->frame[s->depth] = (struct frame){.block = -1, .arc = -1};
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

static void leave(struct stack *s)
{
    struct frame *f = &s->frame[--s->depth];

    if (f->block >= 0) {
        add_times(&contexts[f->context].times, f);
        if (f->arc >= 0)
            add_times(&arcs[f->arc].times, f);
    }
    if (s->depth > 0)
        f[-1].children += f->block >= 0 ? f->duration : f->children;
}

static void enter_context(int context)
{
    const struct context *c = &contexts[context];
    int here = running()->strand;

    add_frame()->context = find_context(here, c->path, c->depth, 1);
}

/* A fiber comes to another strand: its blocks are pushed there, and not counted again. */
static void move_stack(struct stack *s, int strand)
{
    struct frame *f = s->frame;

    s->strand = strand;
    for (int i = 0; i < s->depth; i++, f++) {
        struct context c = contexts[f->context];
        if (f->block >= 0)
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
    leave(s);
}

/* Fble as shipped goes on from where it is: what is replaced stays on the path. */
static void replace(int block)
{
    int from = current_context();

    pop(0);
    push(block, policy == CYCLE ? from : current_context());
}

static void count(const char *name, uint64_t n)
{
    struct context *c = &contexts[current_context()];
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
        count(first, n);
    else if (!strcmp(word, "capture"))
        captures[find_capture(first)].context = current_context();
    else if (!strcmp(word, "enter-context"))
        enter_context(captures[find_capture(first)].context);
    else if (!strcmp(word, "leave-context"))
        pop(1);
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

/* ── The dump ─────────────────────────────────────────────────────────────────────── */

/* Strands in their order; parents first; children by name. */
static int compare_contexts(const struct context *a, const struct context *b)
{
    int order;

    if (a->strand != b->strand)
        return a->strand - b->strand;
    for (int i = 0; i < a->depth && i < b->depth; i++)
        if ((order = strcmp(blocks[a->path[i]].name, blocks[b->path[i]].name)) != 0)
            return order;
    return a->depth - b->depth;
}

static int compare_context_pointers(const void *a, const void *b)
{
    return compare_contexts(*(struct context *const *)a, *(struct context *const *)b);
}

static int compare_arcs(const void *a, const void *b)
{
    const struct arc *x = a, *y = b;
    int order = compare_contexts(&contexts[x->from], &contexts[y->from]);

    return order ? order : strcmp(blocks[x->block].name, blocks[y->block].name);
}

static int compare_blocks(const void *a, const void *b)
{
    const struct block *x = a, *y = b;

    return strcmp(x->name, y->name);
}

static void add_up(void)
{
    for (int i = 0; i < context_count; i++) {
        struct context *c = &contexts[i];
        for (int d = 0; d <= c->depth; d++)
            contexts[find_context(c->strand, c->path, d, 0)].total += c->self;
        stamp++;
        for (int d = 0; d < c->depth; d++) {
            struct block *b = &blocks[c->path[d]];
            b->tree += b->seen != stamp ? c->self : 0;
            b->seen = stamp;
        }
        if (c->depth)
            blocks[c->path[c->depth - 1]].self += c->self;
    }
}

static void print_name(const char *name)
{
    for (; *name; name++) {
        if (strchr(";\\", *name))
            putchar('\\');
        putchar(*name);
    }
}

static void print_path(const struct context *c)
{
    putchar('\t');
    if (c->depth == 0)
        fputs("[root]", stdout);
    for (int i = 0; i < c->depth; i++) {
        if (i)
            putchar(';');
        print_name(blocks[c->path[i]].name);
    }
}

static void print_wide(const char *name, wide n)
{
    char digits[40], *p = digits + sizeof digits;

    *--p = '\0';
    do
        *--p = (char)('0' + (int)(n % 10));
    while (n /= 10);
    printf("\t%s=%s", name, p);
}

static void print_times(const struct statistics *t)
{
    if (!t->count)
        return;
    print_wide("activations", t->count);
    print_wide("sum", t->sum);
    print_wide("min", t->min);
    print_wide("max", t->max);
    print_wide("square", t->square);
    print_wide("children", t->children);
    print_wide("children_square", t->children_square);
    print_wide("recursive", t->recursive);
    print_wide("recursive_square", t->recursive_square);
}

static void print_context(const struct context *c)
{
    fputs("context", stdout);
    print_path(c);
    printf("\tcalls=%" PRIu64 "\tself=%" PRIu64 "\tsamples=%" PRIu64 "\ttotal=%" PRIu64
           "\telsewhere=0\tmissed=0",
           c->calls, c->self, c->samples, c->total);
    print_times(&c->times);
    for (int i = 0; i < c->metrics; i++)
        printf("\t%s=%" PRIu64, metrics[c->metric[i]], c->amount[i]);
    putchar('\n');
}

static void print_arc(const struct arc *a)
{
    fputs("arc", stdout);
    print_path(&contexts[a->from]);
    print_path(&contexts[a->to]);
    printf("\tcalls=%" PRIu64, a->calls);
    print_times(&a->times);
    putchar('\n');
}

static void print_block(const struct block *b)
{
    fputs("block\t", stdout);
    print_name(b->name);
    printf("\tcalls=%" PRIu64 "\tself=%" PRIu64 "\tinclusive=%" PRIu64 "\thidden=%" PRIu64
           "\tevicted=0\n",
           b->calls, b->self, b->inclusive, b->inclusive - b->tree);
}

static void print_dump(void)
{
    struct context **sorted = allocate(NULL,
                                       ((size_t)context_count + 1) * sizeof *sorted);

    for (int i = 0; i < context_count; i++)
        sorted[i] = &contexts[i];
    qsort(sorted, (size_t)context_count, sizeof *sorted, compare_context_pointers);
    if (arc_count)
        qsort(arcs, (size_t)arc_count, sizeof *arcs, compare_arcs);
    puts("tallytree 1");
    for (int s = 0; s < strand_count; s++) {
        printf("strand\t%d\t%s\n", s, strands[s].name);
        for (int i = 0; i < context_count; i++)
            if (sorted[i]->strand == s)
                print_context(sorted[i]);
        for (int i = 0; i < arc_count; i++)
            if (contexts[arcs[i].from].strand == s)
                print_arc(&arcs[i]);
    }
    if (block_count)
        qsort(blocks, (size_t)block_count, sizeof *blocks, compare_blocks);
    for (int i = 0; i < block_count; i++)
        print_block(&blocks[i]);
}

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
