/* SPDX-License-Identifier: MIT */
/* needs: internals */
/* crash-test.c - figures that move are never gone, nor there twice: not for one instruction.
 *
 * A child evicts and merges, and we let it run one instruction at a time.  Whenever one has
 * changed the recording, what a kill would leave now is read, and has to add up. */
#include <pthread.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "budget.h"
#include "figures.h"
#include "one-cpu.h"
#include "recorded.h"
#include "stack.h"
#include "tap.h"
#include "tree-merge.h"

enum { BLOCKS = 10, DEPTH = 12, METRICS = 6 };

/* ── The child: what it does, and between what its figures have to lie ────────────── */

struct range {
    uint64_t least, most;
};

static struct walk { /* shared with the child */
    struct range calls[BLOCKS], self[BLOCKS], inclusive[BLOCKS], metric;
    uint32_t dice;
    int depth, stack[DEPTH];
    int timed;                 /* mode exact */
    int drops, charged[DEPTH]; /* policy drop: the block that a push stays at */
    char options[200], path[64];
    tt_block block[BLOCKS];
    tt_metric metrics[METRICS];
} * shared;

static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"};

static uint32_t dice(uint32_t sides)
{
    shared->dice = shared->dice * 1664525u + 1013904223u;
    return (shared->dice >> 8) % sides;
}

static int is_first(const struct walk *w, int at)
{
    for (int i = 0; i < at; i++)
        if (w->stack[i] == w->stack[at])
            return 0;
    return 1;
}

static void widen_inclusive(struct walk *w, uint64_t least, uint64_t most)
{
    for (int i = 0; i < w->depth; i++)
        if (is_first(w, i)) {
            w->inclusive[w->stack[i]].least += least;
            w->inclusive[w->stack[i]].most += most;
        }
}

static void push_one(struct walk *w, int block)
{
    w->stack[w->depth] = block;
    w->charged[w->depth] = w->drops && !is_first(w, w->depth) ? w->charged[w->depth - 1]
                                                              : block;
    w->calls[block].most++;
    (void)tt_push(w->block[block]);
    w->calls[block].least++;
    w->depth++;
}

static void sample(struct walk *w, uint64_t ticks)
{
    struct range *self = &w->self[w->charged[w->depth - 1]];

    self->most += ticks;
    widen_inclusive(w, 0, ticks);
    if (w->timed)
        tt_tick(ticks); /* charged with the next event */
    else
        tt_sample(ticks);
    self->least += ticks;
    widen_inclusive(w, ticks, 0);
}

static void add(struct walk *w, uint64_t amount)
{
    w->metric.most += amount;
    tt_add(w->metrics[dice(METRICS)], amount);
    w->metric.least += amount;
}

static void pop_one(struct walk *w)
{
    tt_pop(tt_mark_get());
    w->depth--;
}

static void walk(struct walk *w, int events)
{
    for (int i = 0; i < events; i++)
        if (w->depth && dice(3) == 0)
            sample(w, 1 + dice(9));
        else if (w->depth && dice(6) == 0)
            add(w, 1 + dice(9));
        else if (w->depth < DEPTH && dice(5) < 3)
            push_one(w, (int)dice(BLOCKS));
        else if (w->depth)
            pop_one(w);
}

static void *walk_in_thread(void *arg)
{
    struct walk *w = shared;

    w->depth = 0;
    walk(w, *(const int *)arg);
    while (w->depth)
        pop_one(w);
    return NULL;
}

/* One after another: the figures are ours to count. */
static void run_threads(int threads, int events)
{
    pthread_t thread;

    for (int i = 0; i < threads; i++)
        if (pthread_create(&thread, NULL, walk_in_thread, &events) != 0 ||
            pthread_join(thread, NULL) != 0)
            _exit(1);
}

static void begin(struct walk *w)
{
    char name[2] = "m";

    if (tt_start(w->options) != 0)
        _exit(1);
    for (int i = 0; i < BLOCKS; i++)
        w->block[i] = tt_block_get(names[i], "", 0, 0);
    for (int i = 0; i < METRICS; i++, name[0]++)
        w->metrics[i] = tt_metric_get(name, "");
}

/* ── The parent: what a kill would leave ──────────────────────────────────────────── */

enum expected {
    BY_PATH = 1, /* each context keeps its figures too: nothing is evicted */
    EVICTS = 2,  /* something is */
    MERGES = 4   /* no ended strand is left */
};

struct watch {
    pid_t child;
    int expected;
    char *image; /* of the recording; the child's own */
    char *last;  /* what it was */
    size_t size;
    uint64_t digest;              /* of the first picture */
    uint64_t evictions;           /* meanwhile */
    uint64_t ended_before, ended; /* strands, in the first picture and in the last */
    unsigned long steps, pictures;
};

static void fold(uint64_t *digest, uint64_t path, uint64_t what, uint64_t amount)
{
    *digest += ((path ^ (what << 56)) * 0x9e3779b97f4a7c15u | 1) * amount;
}

struct folding {
    uint64_t *digest, path;
};

static void fold_metric(void *arg, const struct tt_metric_record *m, int elsewhere,
                        uint64_t amount)
{
    struct folding *f = arg;

    fold(f->digest, f->path, 20 + (uint64_t)elsewhere * METRICS + (uint8_t)m->name[0],
         amount);
}

static void fold_times(uint64_t *digest, uint64_t path, const struct tt_times *t)
{
    fold(digest, path, 10, t->count);
    fold(digest, path, 11, t->sum);
    fold(digest, path, 12, t->children);
    fold(digest, path, 13, t->recursive);
    fold(digest, path, 14, t->square.low);
    fold(digest, path, 15, t->children_square.low);
    fold(digest, path, 16, t->recursive_square.low);
}

static void fold_slowest(uint64_t *digest, uint64_t path, const struct tt_picture *p,
                         const struct tt_slowest *s)
{
    for (uint32_t i = 0; s && i < s->count; i++) {
        const struct tt_slow_row *row = (const void *)(p->image +
                                                       (size_t)s->slot[i].rows *
                                                           TT_CELL_SIZE);
        fold(digest, path, 5, s->slot[i].duration);
        for (uint32_t j = 0; j < s->slot[i].count; j++)
            fold(digest, path ^ row[j].block, 6, row[j].calls + row[j].self);
    }
}

/* What is beside a context or an arc. */
static void fold_extensions(uint64_t *digest, uint64_t path, const struct tt_picture *p,
                            uint32_t cell)
{
    const struct tt_histogram *h = tt_picture_extension(p, cell, TT_HISTOGRAM);
    const struct tt_history *last = tt_picture_extension(p, cell, TT_HISTORY);
    struct folding f = {digest, path};

    tt_picture_metrics(p, cell, fold_metric, &f);
    for (int i = 0; h && i < TT_HISTOGRAM_BINS; i++)
        fold(digest, path ^ (uint64_t)i, 7, h->bin[i]);
    for (uint64_t i = 0; last && i < last->count && i < last->capacity; i++)
        fold(digest, path, 8, last->ring[(last->count - 1 - i) % last->capacity].start);
    fold_slowest(digest, path, p, tt_picture_extension(p, cell, TT_SLOWEST));
}

/* A sum over all paths: it stays when a figure goes to another strand. */
static uint64_t digest_of(const struct tt_picture *p)
{
    uint64_t *path = calloc(p->contexts + 1, sizeof *path), digest = 0;

    for (uint32_t i = 0; i < p->contexts; i++) {
        const struct tt_picture_context *c = &p->context[i];
        path[i] = c->parent == UINT32_MAX
                      ? 0
                      : (path[c->parent] + c->block + 1) * 0x100000001b3u;
        fold(&digest, path[i], 1, c->calls);
        fold(&digest, path[i], 2, c->self);
        fold(&digest, path[i], 3, c->samples);
        fold(&digest, path[i], 4, c->elsewhere.self + c->elsewhere.calls);
        fold(&digest, path[i], 9, c->total);
        if (tt_picture_times(p, c))
            fold_times(&digest, path[i], tt_picture_times(p, c));
        fold_extensions(&digest, path[i], p, c->cell);
    }
    for (uint32_t i = 0; i < p->arcs; i++) {
        uint64_t at = path[p->arc[i].from] ^ path[p->arc[i].to] << 1 ^ p->arc[i].block;
        fold(&digest, at, 17, p->arc[i].calls);
        fold_extensions(&digest, at, p, p->arc[i].cell);
    }
    for (uint32_t i = 0; i < p->strands; i++)
        fold(&digest, 0, 18, p->strand[i]->members);
    free(path);
    return digest;
}

static int is_within(const char *what, const char *name, uint64_t figure, struct range r)
{
    if (r.least <= figure && figure <= r.most)
        return 1;
    fprintf(stderr, "# %s of %s: %llu is not from %llu to %llu\n", what, name,
            (unsigned long long)figure, (unsigned long long)r.least,
            (unsigned long long)r.most);
    return 0;
}

static void add_metric(void *arg, const struct tt_metric_record *m, int elsewhere,
                       uint64_t amount)
{
    uint64_t *sum = arg;

    (void)m, (void)elsewhere;
    *sum += amount;
}

static int figures_add_up(const struct tt_picture *p, const struct walk *w)
{
    uint64_t metric = 0;
    int right = 1;

    for (uint32_t i = 0; i < p->blocks; i++) {
        const struct tt_picture_block *b = &p->block[i];
        int at = b->info.name[0] - 'a';
        if (b->info.name[1] || at < 0 || at >= BLOCKS)
            continue;
        right &= is_within("calls", names[at], b->calls, w->calls[at]);
        right &= is_within("self", names[at], b->self, w->self[at]);
        right &= is_within("inclusive", names[at], b->inclusive, w->inclusive[at]);
    }
    for (uint32_t i = 0; i < p->contexts; i++)
        tt_picture_metrics(p, p->context[i].cell, add_metric, &metric);
    return (p->header->lost_figures || is_within("all", "metrics", metric, w->metric)) &&
           right;
}

/* The evictions while we watched, and the ended strands that are left. */
static void count_strands(struct watch *w, const struct tt_picture *p)
{
    static uint64_t before;
    uint64_t evictions = 0;

    w->ended = 0;
    for (uint32_t i = 0; i < p->strands; i++) {
        evictions += p->strand[i]->evictions;
        w->ended += p->strand[i]->state == TT_STRAND_ENDED;
    }
    if (!w->pictures) {
        before = evictions;
        w->ended_before = w->ended;
    }
    w->evictions = evictions - before;
}

static int is_right(struct watch *w)
{
    char *copy = malloc(w->size);
    struct tt_picture p;
    int right;

    memcpy(copy, w->last, w->size);
    right = tt_picture_read(&p, copy, w->size, 0) == 0;
    if (!right)
        fprintf(stderr, "# %s\n", p.error);
    else
        right = figures_add_up(&p, shared);
    if (right && (w->expected & BY_PATH)) {
        uint64_t digest = digest_of(&p);
        if (!w->pictures)
            w->digest = digest;
        right = digest == w->digest;
        if (!right)
            fprintf(stderr, "# a context's figures have changed\n");
    }
    count_strands(w, &p);
    w->pictures++;
    tt_picture_fini(&p);
    free(copy);
    return right;
}

static void unmap_image(struct watch *w)
{
    if (w->image)
        munmap(w->image, w->size);
    free(w->last);
}

/* As large as the file is by now. */
static int map_image(struct watch *w)
{
    struct stat s;
    int fd;

    if (stat(shared->path, &s) != 0)
        return -1;
    if (w->size == (size_t)s.st_size)
        return 0;
    unmap_image(w);
    fd = open(shared->path, O_RDONLY | O_CLOEXEC);
    w->size = (size_t)s.st_size;
    w->image = mmap(NULL, w->size, PROT_READ, MAP_SHARED, fd, 0);
    w->last = calloc(1, w->size);
    close(fd);
    return w->image == MAP_FAILED ? -1 : 0;
}

/* One instruction; 0 when the child has stopped by itself. */
static int step(struct watch *w)
{
    int status = 0;

    if (ptrace(PTRACE_SINGLESTEP, w->child, NULL, NULL) != 0 ||
        waitpid(w->child, &status, 0) != w->child)
        return 0;
    w->steps++;
    if (CHECK(WIFSTOPPED(status)) && WSTOPSIG(status) == SIGTRAP)
        return 1;
    CHECK_INT(WSTOPSIG(status), SIGSTOP);
    return 0;
}

static void watch(struct watch *w)
{
    do {
        if (!CHECK(map_image(w) == 0))
            return;
        if (memcmp(w->last, w->image, w->size) == 0)
            continue;
        memcpy(w->last, w->image, w->size);
        if (!CHECK(is_right(w))) {
            fprintf(stderr, "# after %lu instructions and %lu changes of %s\n", w->steps,
                    w->pictures, shared->options);
            break;
        }
    } while (step(w));
    unmap_image(w);
}

/* Watches what `act` does after `prepare`. */
static void watch_child(const char *options, void (*prepare)(void), void (*act)(void),
                        int expected)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    SKIP("most of the instructions that are stopped at would be the sanitizer's");
#endif
    struct watch w = {.expected = expected};
    char folder[] = "/tmp/tallytree-XXXXXX";
    int status;

    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (!CHECK(shared != MAP_FAILED && mkdtemp(folder) != NULL))
        return;
    snprintf(shared->path, sizeof shared->path, "%s/recording", folder);
    snprintf(shared->options, sizeof shared->options, "%s,clock=caller,output=%s",
             options, shared->path);
    shared->drops = strstr(options, "=drop") != NULL;
    shared->timed = strncmp(options, "exact", 5) == 0;
    stay_on_one_cpu();
    w.child = fork();
    if (w.child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
            _exit(77);
        begin(shared);
        prepare();
        raise(SIGSTOP);
        act();
        raise(SIGSTOP);
        _exit(0);
    }
    waitpid(w.child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        tap.skipped = "no tracing here";
    else if (CHECK(WIFSTOPPED(status)))
        watch(&w);
    if (!tap.skipped) {
        CHECK(w.pictures > 1);
        CHECK(!(expected & EVICTS) == !w.evictions);
        CHECK(!(expected & MERGES) || (w.ended_before && !w.ended));
    }
    fprintf(stderr, "# %lu instructions, %lu pictures, %lu evictions\n", w.steps,
            w.pictures, w.evictions);
    kill(w.child, SIGKILL);
    waitpid(w.child, &status, 0);
    unlink(shared->path);
    rmdir(folder);
    munmap(shared, sizeof *shared);
}

/* ── While it starts ──────────────────────────────────────────────────────────────── */

/* As command/input.c recognizes a recording that was only begun: no magic number, and the
 * fields after it are those of no other format. */
static int is_begun(const struct recorded *r)
{
    static const char none[8];
    const uint32_t *word = r->image;

    return r->size < 16 || (memcmp(r->image, none, 8) == 0 && word[2] <= 1 &&
                            (!word[3] || word[3] == sizeof(struct tt_header)));
}

struct starts {
    pid_t child;
    const char *path;
    unsigned long steps, begun, whole;
};

/* What a kill would leave now. */
static int look_at_start(struct starts *s, off_t *size, uint64_t last[2])
{
    int fd = open(s->path, O_RDONLY | O_CLOEXEC), right = 1;
    uint64_t first[2] = {0};
    struct recorded r;
    struct stat now;

    if (fd < 0 || fstat(fd, &now) != 0 || pread(fd, first, sizeof first, 0) < 0)
        return fd < 0;
    close(fd);
    if (now.st_size == *size && memcmp(first, last, sizeof first) == 0 && !first[0])
        return 1;
    *size = now.st_size;
    memcpy(last, first, sizeof first);
    r = recorded_file(s->path, 0);
    if (is_begun(&r))
        s->begun++;
    else if (!r.error)
        s->whole++;
    else
        right = 0;
    if (!right)
        fprintf(stderr, "# after %lu instructions: %s\n", s->steps, r.picture.error);
    recorded_free(&r);
    return right;
}

static void watch_start(struct starts *s)
{
    uint64_t last[2] = {0};
    off_t size = -1;
    int status;

    while (CHECK(look_at_start(s, &size, last)) &&
           ptrace(PTRACE_SINGLESTEP, s->child, NULL, NULL) == 0 &&
           waitpid(s->child, &status, 0) == s->child && WIFSTOPPED(status) &&
           WSTOPSIG(status) == SIGTRAP)
        s->steps++;
    CHECK(s->begun > 0 && s->whole > 0);
    fprintf(stderr, "# %lu instructions, %lu begun, %lu whole\n", s->steps, s->begun,
            s->whole);
}

TEST(a_start_that_is_ended_anywhere_leaves_a_begun_file_or_a_whole_one)
{
    if (!tap_is_long())
        SKIP("takes too long; make gate runs it");
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    SKIP("most of the instructions that are stopped at would be the sanitizer's");
#endif
    char folder[] = "/tmp/tallytree-XXXXXX", path[64], options[128];
    struct starts s = {.path = path};
    int status;

    if (!CHECK(mkdtemp(folder) != NULL))
        return;
    snprintf(path, sizeof path, "%s/recording", folder);
    snprintf(options, sizeof options, "calls,clock=caller,budget=128K,output=%s", path);
    stay_on_one_cpu();
    s.child = fork();
    if (s.child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
            _exit(77);
        raise(SIGSTOP);
        status = tt_start(options);
        raise(SIGSTOP);
        _exit(status != 0);
    }
    waitpid(s.child, &status, 0);
    if (WIFEXITED(status))
        tap.skipped = "no tracing here";
    else if (CHECK(WIFSTOPPED(status)))
        watch_start(&s);
    kill(s.child, SIGKILL);
    waitpid(s.child, &status, 0);
    unlink(path);
    rmdir(folder);
}

/* ── What is watched ──────────────────────────────────────────────────────────────── */

static void do_nothing(void) {}
static void walk_a_while(void) { walk(shared, tap_is_long() ? 300 : 120); }
static void walk_on(void) { walk(shared, tap_is_long() ? 150 : 60); }

static void evict(void)
{
    struct tt_thread *t = tt_thread_enter();

    (void)tt_evict_tree(&t->tree, t);
    tt_thread_leave(t);
}

static void end_threads(void) { run_threads(2, tap_is_long() ? 60 : 30); }
static void merge_all(void) { (void)tt_strands_merge(tt_recording); }

/* Ended strands that could not be merged when they ended, and no room any more. */
static void leave_no_room(void)
{
    const struct tt_header *h = tt_recording->header;

    run_threads(2, 80);
    while (h->pages - h->used > h->pages / 16 + 4) /* kept for threads that come late */
        walk(shared, 10);
}

static void walk_until_merged(void)
{
    for (int i = 0; i < 500 && !tt_recording->free[0]; i++)
        walk(shared, 1);
}

TEST(an_eviction_moves_each_figure_at_once)
{
    watch_child("calls,budget=128K", walk_a_while, evict, EVICTS);
    if (!tap_is_long())
        return;
    watch_child("calls,budget=128K,recursion=drop", walk_a_while, evict, EVICTS);
    watch_child("calls,budget=128K,recursion=block", walk_a_while, evict, EVICTS);
}

TEST(an_ended_strand_moves_each_figure_at_once)
{
    watch_child("calls,budget=128K", end_threads, merge_all, BY_PATH | MERGES);
    watch_child("exact,histogram,history=a=30,slowest=b=30,budget=1M,recursion=block",
                end_threads, merge_all, BY_PATH | MERGES);
}

TEST(an_ended_strand_keeps_the_slowest_and_the_last)
{
    watch_child("exact,history=a=3,slowest=b=2,budget=1M", end_threads, merge_all,
                MERGES);
}

TEST(an_ended_strand_moves_where_there_is_no_room)
{
    if (!tap_is_long())
        SKIP("takes too long; make gate runs it");
    watch_child("calls,budget=128K,recursion=none", leave_no_room, walk_until_merged,
                EVICTS | MERGES);
}

TEST(pushes_with_the_smallest_budgets_count_at_once)
{
    watch_child("calls,budget=64nodes,budget=128K", do_nothing, walk_on, EVICTS);
    if (tap_is_long())
        watch_child("calls,budget=64nodes,budget=128K,recursion=none", do_nothing,
                    walk_on, EVICTS);
}
