/* SPDX-License-Identifier: MIT */
/* coroutines.c - WAY WHERE SEED: a program that switches stacks at random depths, by
 * `hand` or by `ucontext`, in its `first` thread, in `threads`, or with coroutines
 * `moving` between them; it prints how often each path was called, by its own counts. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#define OURS __attribute__((no_instrument_function, noinline))
#define THEIRS __attribute__((noinline))

enum { ROOT, MAIN, RUN, RESUME, IDLE, BODY, RED, GREEN, BLUE, LEAF, SUSPEND, NAMES };
static const char *const names[] = {"",    "main",  "run",  "resume", "idle",   "body",
                                    "red", "green", "blue", "leaf",   "suspend"};
enum { COROUTINES = 6, STACK = 32 << 10, STEPS = 3000, DEEPEST = 12, THREADS = 2 };

/* ── Books ────────────────────────────────────────────────────────────────────────── */

struct place {
    int parent, name, child[NAMES];
    unsigned long calls;
};
static struct place place[1 << 16];
static int places = 1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

struct coroutine {
    int at; /* its place */
    int ends;
    unsigned chance;
    void *sp, *back;
    ucontext_t here, there;
    char *stack;
};
static __thread int own; /* the place of the thread's own stack */
static __thread struct coroutine *running;
static int by_hand;

/* Not for the compiler to remember: a coroutine may go on in another thread. */
static OURS int *at(void) { return running ? &running->at : &own; }
static OURS struct coroutine *current(void) { return running; }
static OURS void set_current(struct coroutine *c) { running = c; }

static OURS int step_into(int from, int name)
{
    int *to = &place[from].child[name];

    pthread_mutex_lock(&lock);
    if (!*to) {
        place[places] = (struct place){.parent = from, .name = name};
        *to = places++;
    }
    place[*to].calls++;
    pthread_mutex_unlock(&lock);
    return *to;
}

static OURS void in(int name) { *at() = step_into(*at(), name); }
static OURS void out(void) { *at() = place[*at()].parent; }

static OURS void print_path(int p)
{
    if (place[p].parent) {
        print_path(place[p].parent);
        putchar(';');
    }
    fputs(names[place[p].name], stdout);
}

static OURS unsigned chance(unsigned *state, unsigned most)
{
    *state = *state * 1103515245u + 12345u;
    return (*state >> 16) % most;
}

/* ── Switching ────────────────────────────────────────────────────────────────────── */

OURS void change_stacks(void **from, void *to);
#ifdef __x86_64__
__asm__(".text\n.type change_stacks, @function\nchange_stacks:\n"
        "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
        "mov %rsp, (%rdi)\nmov %rsi, %rsp\n"
        "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n");
enum { SAVED = 6, TO = 6, ROOM = 8 };
#else
__asm__(".text\n.type change_stacks, %function\nchange_stacks:\n"
        "sub sp, sp, #160\nstp x29, x30, [sp]\nstp x19, x20, [sp, #16]\n"
        "stp x21, x22, [sp, #32]\nstp x23, x24, [sp, #48]\nstp x25, x26, [sp, #64]\n"
        "stp x27, x28, [sp, #80]\nstp d8, d9, [sp, #96]\nstp d10, d11, [sp, #112]\n"
        "stp d12, d13, [sp, #128]\nstp d14, d15, [sp, #144]\n"
        "mov x2, sp\nstr x2, [x0]\nmov sp, x1\n"
        "ldp x29, x30, [sp]\nldp x19, x20, [sp, #16]\n"
        "ldp x21, x22, [sp, #32]\nldp x23, x24, [sp, #48]\nldp x25, x26, [sp, #64]\n"
        "ldp x27, x28, [sp, #80]\nldp d8, d9, [sp, #96]\nldp d10, d11, [sp, #112]\n"
        "ldp d12, d13, [sp, #128]\nldp d14, d15, [sp, #144]\nadd sp, sp, #160\nret\n");
enum { SAVED = 20, TO = 1, ROOM = 20 };
#endif

static void body(void);

static OURS void begin(struct coroutine *c, char *stack, unsigned seed)
{
    void **top = (void **)(void *)(stack + STACK) - ROOM - 2;

    memset(c, 0, sizeof *c);
    c->stack = stack;
    c->chance = seed;
    memset(top, 0, (ROOM + 2) * sizeof *top);
    *(void (**)(void)) & top[TO] = body;
    c->sp = top;
    getcontext(&c->here);
    c->here.uc_stack.ss_sp = stack;
    c->here.uc_stack.ss_size = STACK;
    makecontext(&c->here, body, 0);
}

static OURS void go(struct coroutine *c)
{
    set_current(c);
    if (by_hand)
        change_stacks(&c->back, c->sp);
    else
        swapcontext(&c->there, &c->here);
    set_current(NULL);
}

static OURS void come_back(struct coroutine *c)
{
    if (by_hand)
        change_stacks(&c->sp, c->back);
    else
        swapcontext(&c->here, &c->there);
}

/* ── What is counted ──────────────────────────────────────────────────────────────── */

static volatile int sink;

static THEIRS void leaf(void)
{
    in(LEAF);
    sink++;
    out();
}

static THEIRS void suspend(void)
{
    in(SUSPEND);
    come_back(current());
    out();
}

static void red(int depth);
static void green(int depth);
static void blue(int depth);

/* Inlined into its caller: the return address of its callee is in a function that is
 * counted. */
static inline __attribute__((always_inline, no_instrument_function)) void wander(
    int depth)
{
    static void (*const ways[])(int) = {red, green, blue};
    unsigned what;

    while (!current()->ends && (what = chance(&current()->chance, 9)) != 0) {
        if (what < 4 && depth < DEEPEST)
            ways[what - 1](depth + 1);
        else if (what < 6)
            suspend();
        else
            leaf();
    }
}

#define WAY(name, NAME, size)                                                            \
    static THEIRS void name(int depth)                                                   \
    {                                                                                    \
        volatile char room[size];                                                        \
        in(NAME);                                                                        \
        room[0] = room[size - 1] = 1;                                                    \
        wander(depth);                                                                   \
        sink += room[0];                                                                 \
        out();                                                                           \
    }
WAY(red, RED, 16)
WAY(green, GREEN, 200)
WAY(blue, BLUE, 900)

static THEIRS void body(void)
{
    in(BODY);
    while (!current()->ends) {
        wander(0);
        suspend();
    }
    out();
    come_back(current());
}

static THEIRS void idle(void)
{
    in(IDLE);
    sink++;
    out();
}

static THEIRS void resume(struct coroutine *c)
{
    in(RESUME);
    go(c);
    out();
}

/* ── Threads ──────────────────────────────────────────────────────────────────────── */

static struct coroutine coroutine[THREADS][COROUTINES];
static pthread_mutex_t busy[COROUTINES];
static int moving;

static inline __attribute__((always_inline, no_instrument_function)) void drive(
    struct coroutine *mine, unsigned seed)
{
    for (int i = 0; i < STEPS + 3 * COROUTINES; i++) {
        int k = i < STEPS ? (int)chance(&seed, COROUTINES) : i % COROUTINES;
        if (moving && pthread_mutex_trylock(&busy[k]) != 0)
            continue;
        mine[k].ends |= i >= STEPS;
        if (mine[k].at || !mine[k].ends)
            resume(&mine[k]);
        idle(); /* -pg does not tell of returns: a call here says that k is left */
        if (moving)
            pthread_mutex_unlock(&busy[k]);
    }
}

static THEIRS void *run(void *number)
{
    int k = (int)(long)number;

    in(RUN);
    drive(coroutine[moving ? 0 : k], (unsigned)k + 17);
    out();
    return NULL;
}

static inline __attribute__((always_inline, no_instrument_function)) void run_all(
    int first_only)
{
    pthread_t thread[THREADS];

    if (first_only) {
        run(NULL);
        return;
    }
    for (long i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, run, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
}

int main(int argc, char **argv)
{
    const int all = THREADS * COROUTINES;
    char *stacks = mmap(NULL, (size_t)all * STACK, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    in(MAIN);
    if (argc < 4 || stacks == MAP_FAILED)
        return 2;
    by_hand = strcmp(argv[1], "hand") == 0;
    moving = strcmp(argv[2], "moving") == 0;
    for (int i = 0; i < all; i++) {
        pthread_mutex_init(&busy[i % COROUTINES], NULL);
        begin(&coroutine[i / COROUTINES][i % COROUTINES], stacks + (size_t)i * STACK,
              (unsigned)(atoi(argv[3]) * 100 + i));
    }
    run_all(strcmp(argv[2], "first") == 0);
    for (int i = 1; i < places; i++) {
        print_path(i);
        printf(" %lu\n", place[i].calls);
    }
    return 3;
}
