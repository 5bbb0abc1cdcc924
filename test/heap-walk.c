/* SPDX-License-Identifier: MIT */
/* heap-walk.c SEED EVENTS - objects made at the ends of random paths.
 *
 * Functions with frames of several kinds call each other as a random path says, which seldom
 * changes as a whole and often at its inner end; there an object is made in one of three
 * places.  How many bytes were asked for on each path is said on stdout, as folded stacks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define APART __attribute__((noinline, noclone))
#define SEEN(p) __asm__ volatile("" : : "r"(p) : "memory")

enum { KINDS = 6, DEPTH_MAX = 40, PATHS_MAX = 1 << 16, LIVE = 512 };

struct walk {
    unsigned char kind[DEPTH_MAX]; /* outermost first */
    unsigned depth, place;
    size_t size;
};

typedef void step(const struct walk *, unsigned depth);
static step plain, saving, framed, large, twice, aligned;
static step *const steps[KINDS] = {plain, saving, framed, large, twice, aligned};
static const char *const names[KINDS] = {"plain", "saving", "framed",
                                         "large", "twice",  "aligned"};
static void *live[LIVE];
static unsigned at;
static unsigned long state;

static unsigned next(void)
{
    state = state * 6364136223846793005ul + 1442695040888963407ul;
    return (unsigned)(state >> 33);
}

static void keep(void *p)
{
    if (!p)
        abort();
    free(live[at]);
    live[at] = p;
    at = (at + 1) % LIVE;
}

/* ── Frames ───────────────────────────────────────────────────────────────────────── */

static APART void here(const struct walk *w)
{
    keep(malloc(w->size));
    SEEN(w);
}

static APART void there(const struct walk *w)
{
    volatile char room[120];

    room[0] = 1;
    SEEN(room);
    if (w->size % 2)
        keep(malloc(w->size));
    else
        keep(malloc(w->size));
    SEEN(w);
}

static void go(const struct walk *w, unsigned depth)
{
    if (depth < w->depth)
        steps[w->kind[depth]](w, depth + 1);
    else if (w->place)
        there(w);
    else
        here(w);
    SEEN(w);
}

static APART void plain(const struct walk *w, unsigned depth)
{
    go(w, depth);
    SEEN(plain);
}

/* Registers are saved, the frame pointer's among them. */
static APART void saving(const struct walk *w, unsigned depth)
{
    go(w, depth);
    __asm__ volatile("" : : : "rbx", "r12", "r13", "r14", "r15", "memory");
    SEEN(saving);
}

/* Its size is not known statically: only the frame pointer shows it. */
static APART void framed(const struct walk *w, unsigned depth)
{
    char *room = __builtin_alloca(16 + next() % 8 * 16);

    room[0] = 1;
    SEEN(room);
    go(w, depth);
    SEEN(framed);
}

static APART void large(const struct walk *w, unsigned depth)
{
    volatile char room[3000];

    room[0] = 1;
    SEEN(room);
    go(w, depth);
    SEEN(large);
}

/* From two places; the other one has an argument on the stack. */
static APART void pushed(int a, int b, int c, int d, int e, int f, const struct walk *w,
                         unsigned depth)
{
    SEEN(a + b + c + d + e + f);
    go(w, depth);
    SEEN(pushed);
}

static APART void twice(const struct walk *w, unsigned depth)
{
    if (w->size % 3)
        pushed(1, 2, 3, 4, 5, 6, w, depth);
    else
        go(w, depth);
    SEEN(twice);
}

static APART void aligned(const struct walk *w, unsigned depth)
{
    _Alignas(64) volatile char room[64];

    room[0] = 1;
    SEEN(room);
    go(w, depth);
    SEEN(aligned);
}

/* ── What it is ───────────────────────────────────────────────────────────────────── */

static struct path {
    char *name;
    unsigned long bytes;
} path[PATHS_MAX];
static unsigned paths;

static void count(const struct walk *w)
{
    char name[DEPTH_MAX * 16 + 16] = "main";
    unsigned long hash = 5381;
    unsigned i;

    for (i = 0; i < w->depth; i++) {
        strcat(strcat(name, ";"), names[w->kind[i]]);
        if (steps[w->kind[i]] == twice && w->size % 3)
            strcat(name, ";pushed");
    }
    strcat(name, w->place ? ";there" : ";here");
    for (const char *c = name; *c; c++)
        hash = hash * 33 + (unsigned char)*c;
    for (i = hash % PATHS_MAX; path[i].name && strcmp(path[i].name, name);)
        i = (i + 1) % PATHS_MAX;
    if (!path[i].name && (path[i].name = strdup(name)) && ++paths > PATHS_MAX / 2)
        abort();
    path[i].bytes += w->size;
}

int main(int argc, char **argv)
{
    unsigned long events = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    struct walk w = {.depth = 1};

    state = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
    for (unsigned long i = 0; i < events; i++) {
        unsigned from = next() % 16 ? w.depth - next() % 3 % w.depth : next() % 4;
        if (next() % 4 == 0) {
            w.depth = 1 + (from + next() % 4) % (DEPTH_MAX / 2);
            for (unsigned k = from < w.depth ? from : w.depth - 1; k < w.depth; k++)
                w.kind[k] = (unsigned char)(next() % (next() % 2 ? KINDS : 2));
        }
        w.place = next() % 3;
        w.size = 1 + next() % 300;
        go(&w, 0);
        count(&w);
    }
    for (unsigned i = 0; i < PATHS_MAX; i++)
        if (path[i].name)
            printf("%s %lu\n", path[i].name, path[i].bytes);
    return 0;
}
