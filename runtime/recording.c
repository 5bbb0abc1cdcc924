/* SPDX-License-Identifier: MIT */
/* recording.c - the mapped file that everything is tallied into.
 *
 * The whole budget is mapped at the start and never moves.  The file grows step by step,
 * and disk space is allocated before it is used: a full disk then reads as "budget used
 * up", never as SIGBUS.  The kernel keeps all stores into a shared mapping, so a killed
 * process leaves a complete recording without any work at its exit. */
#include "recording.h"

#include "clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "cancel.h"
#include "control.h"

struct tt_recording *tt_recording;

enum {
    GROW_PAGES = 256, /* the file grows by this many pages at a time */
    FIRST_PAGES = 4,  /* a recording has room for [other blocks], if for nothing else */
    LATE_PART = 16,   /* of the budget, and some pages: for threads that come late */
    LATE_KEPT = 4,
    LATE_SHARE = 4, /* of that is for the next of them */
    LATE_LEAST = 2  /* pages that any thread may have while there are any */
};

/* ── Room on disk ─────────────────────────────────────────────────────────────────── */

static int reserve(struct tt_recording *r, uint32_t end)
{
    const struct tt_header *h = r->header;
    int error = tt_file_reserve(&r->file, r->options.output,
                                h->first + (uint64_t)r->ready * TT_PAGE_SIZE,
                                h->first + (uint64_t)end * TT_PAGE_SIZE);

    tt_file_rest(&r->file);
    return error;
}

/* The kernel maps a whole step at once for less than page by page, at each first store.
 * Small recordings are left alone: they may not need the rest of their step. */
static void fill_step(const struct tt_recording *r, uint32_t end)
{
    enum { SMALL = 1 << 20, POPULATE_WRITE = 23 }; /* MADV_POPULATE_WRITE, Linux 5.14 */
    const size_t page = 4096, first = r->header->first;
    const size_t from = (first + (size_t)r->ready * TT_PAGE_SIZE) / page * page,
                 to = first + (size_t)end * TT_PAGE_SIZE;
    const int saved = errno;

    if (from >= SMALL)
        (void)madvise(r->base + from, to - from, POPULATE_WRITE);
    errno = saved;
}

/* The caller holds the lock. */
static int make_ready(struct tt_recording *r, uint32_t page)
{
    struct tt_header *h = r->header;
    const uint32_t step = page < GROW_PAGES ? GROW_PAGES / 8 : GROW_PAGES;
    uint32_t end = (page + step) / step * step;

    TT_ASSERT(pthread_mutex_trylock(&r->lock) != 0 ||
              tt_unusable); /* a handler may fork */
    TT_ASSERT(page <= h->pages);
    if (page <= r->ready)
        return 0;
    if (end > h->pages)
        end = h->pages;
    if (r->file.fd >= 0 && reserve(r, end) != 0 && reserve(r, end = page) != 0) {
        h->lost_pages += h->pages - h->used;
        h->pages = h->used; /* the disk is full: so is the budget */
        return -TT_ERR_FILE;
    }
    fill_step(r, end);
    r->ready = end;
    return 0;
}

/* ── Pages ────────────────────────────────────────────────────────────────────────── */

int tt_pages_are_held(const struct tt_recording *r)
{
    return __atomic_load_n(&r->holder, __ATOMIC_RELAXED) == &tt_self;
}

void tt_pages_lock(struct tt_recording *r)
{
    if (!tt_pages_are_held(r))
        pthread_mutex_lock(&r->lock);
}

void tt_pages_unlock(struct tt_recording *r)
{
    if (!tt_pages_are_held(r))
        pthread_mutex_unlock(&r->lock);
}

int tt_pages_try(struct tt_recording *r)
{
    if (pthread_mutex_trylock(&r->lock) != 0)
        return 0;
    __atomic_store_n(&r->holder, &tt_self, __ATOMIC_RELAXED);
    return 1;
}

void tt_pages_done(struct tt_recording *r)
{
    TT_ASSERT(tt_pages_are_held(r));
    __atomic_store_n(&r->holder, NULL, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&r->lock);
}

/* Takes the smallest free run that is large enough, and frees its rest. */
static uint32_t take_free(struct tt_recording *r, uint32_t order)
{
    uint32_t have = order, page;

    while (have < TT_ORDERS && !r->free[have])
        have++;
    if (have == TT_ORDERS)
        return 0;
    page = r->free[have];
    TT_ASSERT(page + (1u << have) - 1 <= r->header->used);
    TT_ASSERT((r->map[page - 1] & 0xff) == TT_PAGE_FREE);
    r->free[have] = r->next[page];
    while (have > order) {
        have--;
        r->next[page + (1u << have)] = r->free[have];
        r->free[have] = page + (1u << have);
    }
    return page;
}

static uint32_t take_new(struct tt_recording *r, uint32_t order)
{
    uint32_t page = r->header->used + 1, end = r->header->used + (1u << order);

    TT_ASSERT(r->header->used <= r->header->pages);
    if (end > r->header->pages || make_ready(r, end) != 0)
        return 0;
    TT_ASSERT(end <= r->ready);
    __atomic_store_n(&r->header->used, end, __ATOMIC_RELEASE);
    return page;
}

/* Cells continue with the next generation, so that old handles find them gone, whatever
 * the page was used for meanwhile. */
static void note_generations(struct tt_recording *r, uint32_t page)
{
    const struct tt_node *cell = tt_cell(r->base, tt_page_cell(r, page));

    for (uint32_t i = 0; i < TT_PAGE_CELLS; i++)
        if (cell[i].generation > r->past[page])
            r->past[page] = cell[i].generation;
}

static void clear_pages(struct tt_recording *r, uint32_t page, enum tt_page_type type,
                        uint32_t order)
{
    struct tt_node *cell = tt_cell(r->base, tt_page_cell(r, page));

    memset(cell, 0, (size_t)TT_PAGE_SIZE << order);
    for (uint32_t i = 0; type == TT_PAGE_CELL && i < TT_PAGE_CELLS; i++)
        cell[i].generation = tt_generation_after(r->past[page]);
}

/* The rest of the budget is not for the largest strand: late threads find room, too. */
static int may_take(const struct tt_recording *r, enum tt_page_type type, uint32_t has)
{
    const struct tt_header *h = r->header;
    uint32_t all = h->pages, left = h->pages - h->used;

    if (h->budget_nodes && type == TT_PAGE_CELL) {
        all = (uint32_t)(h->budget_nodes / TT_PAGE_CELLS);
        left = r->cell_pages;
    }
    return has < LATE_LEAST || left > all / LATE_PART + LATE_KEPT ||
           has < left / LATE_SHARE;
}

uint32_t tt_page_take(struct tt_recording *r, enum tt_page_type type, uint32_t owner,
                      uint32_t order)
{
    return tt_page_take_more(r, type, owner, order, 0);
}

uint32_t tt_page_take_more(struct tt_recording *r, enum tt_page_type type, uint32_t owner,
                           uint32_t order, uint32_t has)
{
    uint32_t page = 0;
    int may;

    TT_ASSERT(type != TT_PAGE_FREE && type <= TT_PAGE_TYPES && owner < 1u << 24);
    if (order >= TT_ORDERS)
        return 0;
    tt_pages_lock(r);
    if (type != TT_PAGE_CELL || r->cell_pages > 0) {
        may = may_take(r, type, has);
        page = may || !r->header->budget_nodes ? take_free(r, order) : 0;
        if (page)
            clear_pages(r, page, type, order);
        else if (may)
            page = take_new(r, order);
        if (page && type == TT_PAGE_CELL)
            r->cell_pages--;
        TT_ASSERT(!page || page + (1u << order) - 1 <= r->header->used);
        for (uint32_t i = 0; page && i < 1u << order; i++)
            __atomic_store_n(&r->map[page - 1 + i], (uint32_t)type | owner << 8,
                             __ATOMIC_RELEASE);
    }
    tt_pages_unlock(r);
    return page;
}

void tt_page_give(struct tt_recording *r, uint32_t page, uint32_t order)
{
    tt_pages_lock(r);
    TT_ASSERT(page > 0 && page + (1u << order) - 1 <= r->header->used);
    TT_ASSERT(r->map[page - 1] != TT_PAGE_FREE); /* not given back twice */
    if ((r->map[page - 1] & 0xff) == TT_PAGE_CELL) {
        note_generations(r, page);
        r->cell_pages++;
    }
    for (uint32_t i = 0; i < 1u << order; i++)
        __atomic_store_n(&r->map[page - 1 + i], TT_PAGE_FREE, __ATOMIC_RELEASE);
    r->next[page] = r->free[order];
    r->free[order] = page;
    tt_pages_unlock(r);
}

uint32_t tt_pages_left(struct tt_recording *r, enum tt_page_type type)
{
    uint32_t left;

    pthread_mutex_lock(&r->lock);
    left = r->header->pages - r->header->used;
    if (type == TT_PAGE_CELL && r->cell_pages < left)
        left = r->cell_pages;
    pthread_mutex_unlock(&r->lock);
    return left;
}

/* ── Making one ───────────────────────────────────────────────────────────────────── */

static void describe_process(struct tt_header *h)
{
    TT_NOT_CANCELLED();
    struct timespec now;
    int fd = open("/proc/self/comm", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, h->program, sizeof h->program - 1);

    if (fd >= 0)
        close(fd);
    if (n > 0 && h->program[n - 1] == '\n')
        h->program[n - 1] = '\0';
    if (gethostname(h->host, sizeof h->host - 1) != 0)
        h->host[0] = '\0';
    clock_gettime(CLOCK_REALTIME, &now);
    h->start_time = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    h->pid = (uint32_t)getpid();
}

static void describe_options(struct tt_header *h, const struct tt_options *o)
{
    memcpy(h->mode, o->mode, sizeof o->mode);
    h->every = o->every;
    h->sample_hz = o->hz;
    h->sampler_thread = o->sampler_thread;
    h->histogram = o->histogram;
    h->clock = o->clock;
    h->ticks_per_second = o->hz_of_caller;
    h->recursion = o->recursion;
    h->recursion_length = o->recursion_length;
    h->unwound = o->unwound + 1;
    h->unwound_length = o->unwound_length;
    h->stacks = o->stacks;
    h->space_rate = o->space_rate;
    h->budget = o->budget;
    h->budget_nodes = o->budget_nodes;
    h->rank = o->rank;
}

/* Offsets that make header, map and pages fit into the budget. */
static void lay_out(struct tt_header *h, uint64_t budget)
{
    uint64_t pages = (budget - TT_HEADER_SIZE) / (TT_PAGE_SIZE + sizeof(uint32_t)) - 1;
    uint64_t first = TT_HEADER_SIZE + pages * sizeof(uint32_t);

    first = (first + TT_PAGE_SIZE - 1) / TT_PAGE_SIZE * TT_PAGE_SIZE;
    h->map = TT_HEADER_SIZE;
    h->first = (uint32_t)first;
    h->pages = (uint32_t)pages;
    h->size = first + pages * TT_PAGE_SIZE;
    TT_ASSERT(h->size <= budget && h->map + pages * sizeof(uint32_t) <= first);
}

/* Written last: a process that is killed before leaves eight zeros, by which a reader
 * knows that the recording was only begun. */
static void write_magic(struct tt_header *h)
{
    uint64_t word;

    _Static_assert(sizeof word == sizeof h->magic &&
                       offsetof(struct tt_header, magic) == 0,
                   "the magic is one word");
    memcpy(&word, TT_MAGIC, sizeof word);
    __atomic_store_n((uint64_t *)(void *)h, word, __ATOMIC_RELEASE);
}

/* The least for the number of cells, which leaves most bits for generations. */
static uint32_t bits_of_cells(uint64_t size)
{
    uint32_t bits = TT_CONTEXT_BLOCK_SHIFT - TT_CONTEXT_GENERATION_BITS;

    while (bits < 31 && size / TT_CELL_SIZE >> bits)
        bits++;
    return bits;
}

static void set_up_header(struct tt_recording *r)
{
    struct tt_header *h = r->header = (struct tt_header *)(void *)r->base;

    lay_out(h, r->options.budget);
    h->version = TT_LAYOUT_VERSION;
    h->header_size = sizeof *h;
    h->state = TT_RECORDING_OPEN;
    describe_process(h);
    describe_options(h, &r->options);
    r->map = (uint32_t *)(void *)(r->base + h->map);
    r->context_bits = bits_of_cells(h->size);
    memset(r->free, 0, sizeof r->free);
    r->ready = FIRST_PAGES;
    r->cell_pages = h->budget_nodes ? (uint32_t)(h->budget_nodes / TT_PAGE_CELLS)
                                    : h->pages;
    tt_log_init(r);
    write_magic(h);
}

static uint64_t least_size(const struct tt_header *plan)
{
    return plan->first + (uint64_t)FIRST_PAGES * TT_PAGE_SIZE;
}

uint64_t tt_recording_least_size(const struct tt_options *o)
{
    struct tt_header plan;

    lay_out(&plan, o->budget);
    return least_size(&plan);
}

static char *map_recording(size_t size, int fd)
{
    int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, flags | MAP_NORESERVE, fd, 0);

    return p == MAP_FAILED ? NULL : p;
}

/* Of memory alone, and beyond what a small recording needs. */
static void ask_large_pages(char *base, size_t size)
{
    enum { LARGE = 2 << 20 };
    const int saved = errno;

    if (size > LARGE)
        (void)madvise(base + LARGE, size - LARGE, MADV_HUGEPAGE);
    errno = saved;
}

static int map_next(struct tt_recording *r, uint32_t pages)
{
    size_t bytes = ((size_t)pages + 1) * sizeof *r->next;

    r->next_bytes = bytes + ((size_t)pages + 1) * sizeof *r->past;
    r->next = (uint32_t *)(void *)map_recording(r->next_bytes, -1);
    if (!r->next)
        return -TT_ERR_MEMORY;
    r->past = (uint16_t *)(void *)((char *)r->next + bytes);
    return 0;
}

/* stem: the length of the name to which it has a separate number; 0: no number. */
static int open_named(struct tt_recording **out, const struct tt_options *o, size_t stem)
{
    /* Not malloc: it may be a signal handler that drops it, or that forks. */
    struct tt_recording *r = (void *)map_recording(sizeof *r, -1);
    struct tt_header plan;
    int error = -TT_ERR_MEMORY;

    *out = NULL;
    if (!r)
        return error;
    r->options = *o;
    r->attached = 1;
    r->file.fd = -1;
    lay_out(&plan, o->budget);
    if (*o->output && (error = tt_file_make(&r->file, r->options.output,
                                            least_size(&plan), !stem)) != 0)
        goto fail_file;
    r->stem = stem ? stem : strlen(r->options.output);
    error = -TT_ERR_MEMORY;
    r->base = map_recording(plan.size, r->file.fd);
    if (!r->base)
        goto fail_map;
    if (r->file.fd < 0)
        ask_large_pages(r->base, plan.size);
    tt_file_rest(&r->file); /* the mapping keeps its lock */
    if (map_next(r, plan.pages) != 0)
        goto fail_next;
    pthread_mutex_init(&r->lock, NULL);
    set_up_header(r);
    *out = r;
    return 0;

fail_next:
    munmap(r->base, plan.size);
fail_map:
    tt_file_remove(&r->file, r->options.output);
fail_file:
    munmap(r, sizeof *r);
    return error;
}

int tt_recording_open(struct tt_recording **out, const struct tt_options *o)
{
    return open_named(out, o, 0);
}

/* ── Fork ─────────────────────────────────────────────────────────────────────────── */

void *tt_recording_detached(const struct tt_recording *r)
{
    const struct tt_header *h = r->header;
    char *copy = map_recording(h->size, -1);

    if (copy)
        memcpy(copy, r->base, h->first + (size_t)h->used * TT_PAGE_SIZE);
    return copy;
}

/* Stores into a private mapping of the file stay in this process. */
static int make_private(struct tt_recording *r)
{
    int fd = tt_file_descriptor(&r->file, r->options.output);

    return fd >= 0 && mmap(r->base, r->header->size, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, fd, 0) != MAP_FAILED
               ? 0
               : -TT_ERR_MEMORY;
}

void tt_recording_detach(struct tt_recording *r, void *copy)
{
    size_t size = r->header->size;

    if (r->file.fd < 0)
        return; /* in memory, which is a child's own anyway, or over */
    if (copy || (make_private(r) != 0 && (copy = tt_recording_detached(r))))
        (void)mremap(copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, r->base);
    tt_file_close(&r->file);
}

/* All descendants have the name of the first with their own number: names do not grow, and
 * where a number comes again the earlier file stays. */
static int open_beside(struct tt_recording **out, struct tt_options *o, size_t stem)
{
    size_t room = sizeof o->output - stem;

    if (*o->output &&
        (size_t)snprintf(o->output + stem, room, ".%d", (int)getpid()) >= room)
        return -TT_ERR_FILE;
    return open_named(out, o, stem);
}

int tt_recording_fork(struct tt_recording **out, struct tt_recording *parent)
{
    struct tt_options o = parent->options;
    const struct tt_header *of = parent->header;
    struct tt_header *h;
    int error = open_beside(out, &o, parent->stem);

    if (error && *o.output) {
        tt_bump_shared(&parent->header->lost_children, 1);
        *o.output = '\0';
        error = tt_recording_open(out, &o);
    }
    if (error)
        return error;
    h = (*out)->header;
    h->clock = of->clock;
    h->ticks_per_second = of->ticks_per_second;
    h->start_ticks = of->start_ticks;
    h->inside = of->inside;
    h->outside = of->outside;
    h->sampler_thread = of->sampler_thread;
    memcpy(h->metric, of->metric, sizeof h->metric);
    memcpy(h->source, of->source, sizeof h->source);
    return 0;
}

/* ── Ending one ───────────────────────────────────────────────────────────────────── */

uint64_t tt_recording_preempted(const struct tt_recording *r)
{
    const int timed = r->exact && __atomic_load_n(&r->timed, __ATOMIC_RELAXED);
    uint64_t now = timed ? tt_clock_preempted(&r->gone, NULL) + r->gone.sum : 0;

    return now > r->preempted ? now - r->preempted : 0; /* threads that we never saw */
}

/* Until something is timed, threads that were not there at the start need not be asked. */
static int counts(const struct tt_recording *r)
{
    return r->exact && (__atomic_load_n(&r->timed, __ATOMIC_RELAXED) || r->threads > 1 ||
                        syscall(SYS_gettid) == getpid());
}

/* The thread may still be there for a moment: it is remembered, lest it be counted twice. */
void tt_recording_left(struct tt_recording *r)
{
    TT_NOT_CANCELLED();
    uint64_t waited = counts(r) ? tt_clock_preempted_here() : 0;
    struct tt_gone *g = &r->gone;
    uint32_t i;

    if (!waited)
        return;
    pthread_mutex_lock(&r->lock);
    i = g->count++ % TT_GONE;
    g->thread[i] = (uint32_t)syscall(SYS_gettid);
    g->waited[i] = waited;
    g->sum += waited;
    pthread_mutex_unlock(&r->lock);
}

void tt_recording_joined(struct tt_recording *r, int again)
{
    struct tt_gone *g = &r->gone;
    uint32_t id = r->exact ? (uint32_t)syscall(SYS_gettid) : 0;

    if (!id)
        return;
    pthread_mutex_lock(&r->lock);
    for (int i = 0; i < TT_GONE; i++)
        if (g->thread[i] == id) {
            g->thread[i] = 0;
            g->sum -= again ? g->waited[i] : 0;
        }
    pthread_mutex_unlock(&r->lock);
}

void tt_recording_end(struct tt_recording *r, uint64_t ticks)
{
    struct tt_header *h = r->header;

    pthread_mutex_lock(&r->lock);
    h->preempted = tt_recording_preempted(r);
    h->end_ticks = ticks;
    h->pages = h->used; /* no more are taken */
    __atomic_store_n(&h->state, TT_RECORDING_ENDED, __ATOMIC_RELEASE);
    tt_file_end(&r->file, r->options.output);
    pthread_mutex_unlock(&r->lock);
}

void tt_recording_hold(struct tt_recording *r)
{
    (void)__atomic_fetch_add(&r->attached, 1, __ATOMIC_RELAXED);
}

void tt_recording_drop(struct tt_recording *r)
{
    TT_ASSERT(__atomic_load_n(&r->attached, __ATOMIC_RELAXED) > 0);
    if (__atomic_sub_fetch(&r->attached, 1, __ATOMIC_ACQ_REL) != 0)
        return;
    munmap(r->next, r->next_bytes);
    munmap(r->base, r->header->size);
    pthread_mutex_destroy(&r->lock);
    munmap(r, sizeof *r);
}

/* ── A copy ───────────────────────────────────────────────────────────────────────── */

/* The strands go on writing meanwhile.  Each figure is copied before or after a change,
 * and `moves` shows inconsistencies between figures.  Their locks would not make it
 * consistent. */
__attribute__((no_sanitize("thread"))) static void copy_live(uint64_t *to, uint64_t *from,
                                                             size_t size)
{
    for (size_t i = 0; i < size / sizeof *to; i++)
        to[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
}

void *tt_recording_copy(struct tt_recording *r, size_t *size)
{
    char *copy;

    pthread_mutex_lock(&r->lock);
    *size = r->header->first + (size_t)r->header->used * TT_PAGE_SIZE;
    copy = map_recording(*size, -1);
    if (copy)
        copy_live((uint64_t *)(void *)copy, (uint64_t *)(void *)r->base, *size);
    pthread_mutex_unlock(&r->lock);
    return copy;
}
