/* SPDX-License-Identifier: MIT */
/* walk.c - random events for `tallytree replay`: walk SEED LENGTH [DEPTH [still]]
 *
 * There are few names, so that blocks recur soon.  The seed also decides the rest: skewed or
 * not, one strand or several, fibers that stay or move (with `still`, all stay), the depth. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { WALK_STRANDS = 3, WALK_FIBERS = 3, WALK_STACKS = WALK_STRANDS + WALK_FIBERS };
enum { DEEPEST = 200 };

static struct walk {
    uint64_t state;
    int names, skewed, strands, fibers, moving, downwards,
        deepest; /* what kind of walk */
    int strand, captured;
    struct walk_stack {
        char kind[DEEPEST]; /* 'p': pushed; 'c': a context */
        int depth, owner;
    } stack[WALK_STACKS];      /* the strands' own, then the fibers' */
    int running[WALK_STRANDS]; /* index of stack */
    int pauses[WALK_STRANDS];
} walk;

static int dice(int sides)
{
    walk.state += 0x9e3779b97f4a7c15u;
    uint64_t z = walk.state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (int)((z ^ (z >> 31)) % (uint64_t)sides);
}

static const char *random_name(void)
{
    static char name[2];
    int n = dice(walk.names);

    for (int i = 0; i < 2 && walk.skewed; i++)
        n = dice(n + 1);
    name[0] = (char)('a' + n);
    return name;
}

static void random_strand(void)
{
    walk.strand = dice(walk.strands);
    printf("strand s%d\n", walk.strand);
}

static void random_fiber(void)
{
    int strand = walk.strand, to = strand, fiber = dice(walk.fibers + 1);

    if (fiber) {
        to = WALK_STRANDS + fiber - 1;
        if (!walk.moving && fiber % walk.strands != strand)
            return;
        for (int s = 0; s < walk.strands; s++)
            if (s != strand && walk.running[s] == to)
                return;
    }
    walk.running[strand] = to;
    if (fiber)
        printf("fiber f%d\n", fiber);
    else
        puts("fiber -");
}

static void random_push(struct walk_stack *s, char kind)
{
    if (s->depth >= walk.deepest)
        return;
    if (kind == 'c' && !walk.captured)
        return;
    if (kind == 'c')
        puts(dice(8) ? "enter-context k0" : "enter-context -");
    else
        printf("push %s\n", random_name());
    s->kind[s->depth++] = kind;
}

static void random_pop(struct walk_stack *s)
{
    if (s->depth == 0)
        return;
    puts(s->kind[--s->depth] == 'p' ? "pop" : "leave-context");
}

static void random_call(struct walk_stack *s)
{
    static const char *const kinds[] = {"strict", "lazy", "curried"};

    if (dice(3)) {
        printf("call-kind %s\n", kinds[dice(3)]);
        random_push(s, 'p');
        return;
    }
    if (!s->depth || s->kind[s->depth - 1] != 'p')
        return;
    puts("call-kind tail");
    s->depth--;
    while (s->depth && s->kind[s->depth - 1] == 'c')
        s->depth--;
    if (!dice(4))
        printf("call-kind %s\n", kinds[dice(3)]);
    if (dice(8))
        random_push(s, 'p');
}

static void random_rare_event(struct walk_stack *s)
{
    static const char *const rules[] = {"creation", "application", "ghc"};

    switch (dice(9)) {
    case 0:
        random_strand();
        break;
    case 1:
        random_fiber();
        break;
    case 2:
        walk.pauses[walk.strand]++;
        puts("pause");
        break;
    case 3:
    case 4:
        if (walk.pauses[walk.strand] > 0 && walk.pauses[walk.strand]--)
            puts("resume");
        break;
    case 5:
        walk.captured = 1;
        puts("capture k0");
        break;
    case 6:
        random_push(s, 'c');
        break;
    case 7:
        printf("count m%d %d\n", dice(3), dice(100));
        break;
    case 8:
        printf("stacks %s\n", rules[dice(3)]);
        break;
    }
}

static void random_event(void)
{
    struct walk_stack *s = &walk.stack[walk.running[walk.strand]];
    int n = dice(100);

    if (n < walk.downwards - 8)
        random_push(s, 'p');
    else if (n < walk.downwards)
        random_call(s);
    else if (n < 65)
        random_pop(s);
    else if (n < 70 && s->depth && s->kind[s->depth - 1] == 'p')
        printf("replace %s\n", random_name());
    else if (n < 85)
        printf("tick %d\n", dice(20));
    else if (n < 90)
        printf("sample %d\n", dice(20));
    else if (n < 98)
        random_rare_event(s);
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
    int length = argc > 2 ? atoi(argv[2]) : 1000;
    int deepest = argc > 3 ? atoi(argv[3]) : DEEPEST;

    walk.state = seed * 0x2545f4914f6cdd1du;
    walk.names = 2 + dice(7);
    walk.skewed = dice(2);
    walk.strands = 1 + dice(WALK_STRANDS);
    walk.fibers = dice(WALK_FIBERS + 1);
    walk.moving = dice(3) == 0 && argc <= 4;
    walk.deepest = deepest < DEEPEST ? deepest : DEEPEST;
    walk.downwards = 30 + dice(12);
    for (int i = 0; i < WALK_STRANDS; i++)
        walk.running[i] = i;
    printf("# random %" PRIu64 " %d\nstrand s0\n", seed, length);
    for (int i = 0; i < length; i++)
        random_event();
    return 0;
}
