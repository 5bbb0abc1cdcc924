/* SPDX-License-Identifier: MIT */
/* recording.c - the mapped file that everything is tallied into.
 *
 * The whole budget is mapped at the start, and never moves; the file behind it grows step
 * by step, its room allocated before it is used: a full disk then reads as "budget used
 * up", never as SIGBUS.  What has been stored into a shared mapping is the kernel's to
 * keep, so a killed process leaves a whole recording with no work at its exit. */
#include "recording.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct tt_recording *tt_recording;

enum { GROW_PAGES = 256 }; /* the file grows by this many pages at a time */

/* ── Room on disk ─────────────────────────────────────────────────────────────────── */

static int allocate_range(int fd, off_t start, off_t end)
{
    static const char zeros[4096];
    int saved = errno, result;

    do
        result = fallocate(fd, 0, start, end - start);
    while (result != 0 && errno == EINTR);
    if (result != 0 && (errno == EOPNOTSUPP || errno == ENOSYS)) {
        for (result = 0; result == 0 && start < end; start += (off_t)sizeof zeros)
            result = pwrite(fd, zeros, sizeof zeros, start) == (ssize_t)sizeof zeros ? 0
                                                                                     : -1;
    }
    errno = saved;
    return result == 0 ? 0 : -TT_ERR_FILE;
}

/* Descriptors are the program's to number: ours stands where none of its own will come. */
static int put_aside(int fd)
{
    static const int high[] = {1000, 500, 200};
    int moved = -1;

    for (size_t i = 0; moved < 0 && i < sizeof high / sizeof *high; i++)
        moved = fcntl(fd, F_DUPFD_CLOEXEC, high[i]);
    if (moved < 0)
        return fd;
    close(fd);
    return moved;
}

static int is_file(const struct tt_recording *r, int fd)
{
    struct stat s;

    return fstat(fd, &s) == 0 && s.st_dev == r->device && s.st_ino == r->inode;
}

/* The file, which the program may have closed, and opened another one in its place. */
static int file_of(struct tt_recording *r)
{
    int fd, saved = errno;

    if (!is_file(r, r->fd)) {
        fd = open(r->options.output, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        if (fd >= 0 && !is_file(r, fd)) {
            close(fd);
            fd = -1;
        }
        if (fd < 0) {
            errno = saved;
            return -1;
        }
        r->fd = put_aside(fd);
    }
    errno = saved;
    return r->fd;
}

static void close_file(struct tt_recording *r)
{
    if (r->fd >= 0 && is_file(r, r->fd))
        close(r->fd);
    r->fd = -1;
}

/* The caller holds the lock. */
static int make_ready(struct tt_recording *r, uint32_t page)
{
    uint32_t end = (page + GROW_PAGES) / GROW_PAGES * GROW_PAGES;
    struct tt_header *h = r->header;

    if (page <= r->ready)
        return 0;
    if (end > h->pages)
        end = h->pages;
    if (r->fd >= 0 &&
        allocate_range(file_of(r), h->first + (off_t)r->ready * TT_PAGE_SIZE,
                       h->first + (off_t)end * TT_PAGE_SIZE) != 0) {
        h->pages = h->used; /* the disk is full: so is the budget */
        return -TT_ERR_FILE;
    }
    r->ready = end;
    return 0;
}

/* ── Pages ────────────────────────────────────────────────────────────────────────── */

static int pages_are_held(const struct tt_recording *r)
{
    return __atomic_load_n(&r->holder, __ATOMIC_RELAXED) == &tt_self;
}

static void lock_pages(struct tt_recording *r)
{
    if (!pages_are_held(r))
        pthread_mutex_lock(&r->lock);
}

static void unlock_pages(struct tt_recording *r)
{
    if (!pages_are_held(r))
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
    __atomic_store_n(&r->holder, NULL, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&r->lock);
}

/* From the free runs: the smallest that is large enough, its rest given back. */
static uint32_t take_free(struct tt_recording *r, uint32_t order)
{
    uint32_t have = order, page;

    while (have < TT_ORDERS && !r->free[have])
        have++;
    if (have == TT_ORDERS)
        return 0;
    page = r->free[have];
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

    if (end > r->header->pages || make_ready(r, end) != 0)
        return 0;
    __atomic_store_n(&r->header->used, end, __ATOMIC_RELEASE);
    return page;
}

uint32_t tt_page_take(struct tt_recording *r, enum tt_page_type type, uint32_t owner,
                      uint32_t order)
{
    uint32_t page = 0;

    if (order >= TT_ORDERS)
        return 0;
    lock_pages(r);
    if (type != TT_PAGE_CELL || r->cell_pages > 0) {
        page = take_free(r, order);
        if (page)
            memset(r->base + (size_t)tt_page_cell(r, page) * TT_CELL_SIZE, 0,
                   (size_t)TT_PAGE_SIZE << order);
        else
            page = take_new(r, order);
        if (page && type == TT_PAGE_CELL)
            r->cell_pages--;
        for (uint32_t i = 0; page && i < 1u << order; i++)
            __atomic_store_n(&r->map[page - 1 + i], (uint32_t)type | owner << 8,
                             __ATOMIC_RELEASE);
    }
    unlock_pages(r);
    return page;
}

void tt_page_give(struct tt_recording *r, uint32_t page, uint32_t order)
{
    lock_pages(r);
    if ((r->map[page - 1] & 0xff) == TT_PAGE_CELL)
        r->cell_pages++;
    for (uint32_t i = 0; i < 1u << order; i++)
        __atomic_store_n(&r->map[page - 1 + i], TT_PAGE_FREE, __ATOMIC_RELEASE);
    r->next[page] = r->free[order];
    r->free[order] = page;
    unlock_pages(r);
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
    h->recursion = o->recursion;
    h->recursion_length = o->recursion_length;
    h->budget = o->budget;
    h->budget_nodes = o->budget_nodes;
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
    memset(r->free, 0, sizeof r->free);
    r->ready = 0;
    r->cell_pages = h->budget_nodes ? (uint32_t)(h->budget_nodes / TT_PAGE_CELLS)
                                    : h->pages;
    memcpy(h->magic, TT_MAGIC, sizeof h->magic);
}

static int make_file(struct tt_recording *r, const char *path, uint32_t first)
{
    struct stat s;
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
                  0600);

    if (fd < 0)
        return -1;
    if (fstat(fd, &s) != 0 || !S_ISREG(s.st_mode)) {
        close(fd);
        return -1;
    }
    if (allocate_range(fd, 0, first) != 0) {
        close(fd);
        unlink(path);
        return -1;
    }
    r->device = s.st_dev;
    r->inode = s.st_ino;
    return put_aside(fd);
}

static char *map_recording(void *at, size_t size, int fd)
{
    int flags = (fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED) | MAP_NORESERVE;
    void *p = mmap(at, size, PROT_READ | PROT_WRITE, flags | (at ? MAP_FIXED : 0), fd, 0);

    return p == MAP_FAILED ? NULL : p;
}

static int map_next(struct tt_recording *r, uint32_t pages)
{
    r->next_bytes = ((size_t)pages + 1) * sizeof(uint32_t);
    r->next = (uint32_t *)(void *)map_recording(NULL, r->next_bytes, -1);
    return r->next ? 0 : -TT_ERR_MEMORY;
}

int tt_recording_open(struct tt_recording **out, const struct tt_options *o)
{
    /* Not malloc: it may be a signal handler that drops it. */
    struct tt_recording *r = (void *)map_recording(NULL, sizeof *r, -1);
    struct tt_header plan;
    int error = -TT_ERR_MEMORY;

    *out = NULL;
    if (!r)
        return error;
    r->options = *o;
    r->attached = 1;
    lay_out(&plan, o->budget);
    r->fd = *o->output ? make_file(r, o->output, plan.first) : -1;
    if (*o->output && r->fd < 0) {
        error = -TT_ERR_FILE;
        goto fail_file;
    }
    r->base = map_recording(NULL, plan.size, r->fd);
    if (!r->base)
        goto fail_map;
    if (map_next(r, plan.pages) != 0)
        goto fail_next;
    pthread_mutex_init(&r->lock, NULL);
    set_up_header(r);
    *out = r;
    return 0;

fail_next:
    munmap(r->base, plan.size);
fail_map:
    if (r->fd >= 0) {
        close(r->fd);
        unlink(o->output);
    }
fail_file:
    munmap(r, sizeof *r);
    return error;
}

int tt_recording_fork(struct tt_recording *r)
{
    struct tt_header *parent = r->header;
    struct tt_options *o = &r->options;
    size_t size = parent->size, length = strlen(o->output);
    struct tt_header kept = *parent;
    int fd = -1;

    close_file(r);
    if (length) {
        int room = (int)(sizeof o->output - length);
        if (snprintf(o->output + length, (size_t)room, ".%d", (int)getpid()) < room)
            fd = make_file(r, o->output, parent->first);
        if (fd < 0)
            tt_bump_shared(&parent->lost_children, 1);
    }
    r->fd = fd;
    if (!map_recording(r->base, size, fd)) /* over the parent's */
        return -TT_ERR_MEMORY;
    memset(r->next, 0, r->next_bytes);
    set_up_header(r);
    r->header->ticks_per_second = kept.ticks_per_second;
    r->header->start_ticks = kept.start_ticks;
    r->header->inside = kept.inside;
    r->header->outside = kept.outside;
    memcpy(r->header->metric, kept.metric, sizeof kept.metric);
    memcpy(r->header->source, kept.source, sizeof kept.source);
    r->attached = 1;
    r->epoch++;
    return 0;
}

/* ── Ending one ───────────────────────────────────────────────────────────────────── */

void tt_recording_end(struct tt_recording *r, uint64_t ticks)
{
    struct tt_header *h = r->header;

    pthread_mutex_lock(&r->lock);
    h->end_ticks = ticks;
    h->pages = h->used; /* nothing more is taken: what follows may be cut off */
    __atomic_store_n(&h->state, TT_RECORDING_ENDED, __ATOMIC_RELEASE);
    if (r->fd >= 0) {
        if (ftruncate(file_of(r), h->first + (off_t)h->used * TT_PAGE_SIZE) != 0)
            r->ready = h->pages; /* it stays a little longer than it needs to be */
        close_file(r);
    }
    pthread_mutex_unlock(&r->lock);
}

void tt_recording_hold(struct tt_recording *r)
{
    (void)__atomic_fetch_add(&r->attached, 1, __ATOMIC_RELAXED);
}

void tt_recording_drop(struct tt_recording *r)
{
    if (__atomic_sub_fetch(&r->attached, 1, __ATOMIC_ACQ_REL) != 0)
        return;
    munmap(r->next, r->next_bytes);
    munmap(r->base, r->header->size);
    pthread_mutex_destroy(&r->lock);
    munmap(r, sizeof *r);
}

/* ── A copy ───────────────────────────────────────────────────────────────────────── */

/* The strands go on writing meanwhile: a figure is copied as it was or as it is, and what
 * is torn between figures is found by `moves`.  No lock of theirs would make it whole. */
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
    copy = map_recording(NULL, *size, -1);
    if (copy)
        copy_live((uint64_t *)(void *)copy, (uint64_t *)(void *)r->base, *size);
    pthread_mutex_unlock(&r->lock);
    return copy;
}
