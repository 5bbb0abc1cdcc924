/* SPDX-License-Identifier: MIT */
/* heap-log.c - notes every event of the allocator; it is loaded after the collector.
 *
 * A reference must be as simple as possible: each event is a line of numbers in a mapped
 * file, at a place that is reserved by one addition.  HEAP_LOG names it, and HEAP_LOG_OF
 * the program. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "heap-log.h"

static struct log_event *event;
static uint64_t *count;
static pid_t whose;
static char early[1 << 16] __attribute__((aligned(16)));
static size_t early_used;
static int opening;

static void *(*next_malloc)(size_t);
static void *(*next_calloc)(size_t, size_t);
static void *(*next_realloc)(void *, size_t);
static void *(*next_memalign)(size_t, size_t);
static void (*next_free)(void *);

static void find_next(void)
{
    opening = 1;
    next_malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
    next_calloc = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "calloc");
    next_realloc = (void *(*)(void *, size_t))dlsym(RTLD_NEXT, "realloc");
    next_memalign = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "memalign");
    next_free = (void (*)(void *))dlsym(RTLD_NEXT, "free");
    opening = 0;
}

static void open_log(void)
{
    const char *path = getenv("HEAP_LOG"), *program = getenv("HEAP_LOG_OF");
    int fd = path && program && strcmp(program, program_invocation_short_name) == 0
                 ? open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)
                 : -1;
    char *p;

    if (fd < 0 || ftruncate(fd, LOG_BYTES) != 0)
        return;
    p = mmap(NULL, LOG_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if ((void *)p == MAP_FAILED)
        return;
    whose = getpid();
    count = (uint64_t *)(void *)p;
    event = (struct log_event *)(void *)(p + 64);
}

static void note(enum log_kind kind, const void *before, const void *address, size_t size)
{
    static __thread char self;
    static int tried;
    uint64_t i;

    if (!tried) {
        tried = 1;
        open_log();
    }
    if (!event || getpid() != whose)
        return;
    i = __atomic_fetch_add(count, 1, __ATOMIC_RELAXED);
    if (i < LOG_EVENTS)
        event[i] = (struct log_event){(uint32_t)kind, (uint32_t)((uintptr_t)&self >> 4),
                                      (uintptr_t)before, (uintptr_t)address, size};
}

static void *take_early(size_t size)
{
    void *p = early + early_used;

    early_used += (size + 15) & ~(size_t)15;
    return early_used <= sizeof early ? p : NULL;
}

static int is_early(const void *p)
{
    return (uintptr_t)p - (uintptr_t)early < sizeof early;
}

static int is_ready(void)
{
    if (!next_free && !opening)
        find_next();
    return !opening;
}

void *malloc(size_t size)
{
    void *p;

    if (!is_ready())
        return take_early(size);
    p = next_malloc(size);
    if (p)
        note(LOG_MADE, NULL, p, size);
    return p;
}

void *calloc(size_t n, size_t size)
{
    void *p;

    if (!is_ready())
        return take_early(n * size);
    p = next_calloc(n, size);
    if (p)
        note(LOG_MADE, NULL, p, n * size);
    return p;
}

/* The old place may be another thread's before this returns: it is noted first. */
void *realloc(void *before, size_t size)
{
    void *p;

    if (before)
        note(LOG_MOVING, NULL, before, 0);
    p = next_realloc(before, size);
    if (p)
        note(LOG_MOVED, before, p, size);
    else if (before)
        note(size ? LOG_STAYED : LOG_FREED, NULL, before, size);
    return p;
}

void *memalign(size_t alignment, size_t size)
{
    void *p = is_ready() ? next_memalign(alignment, size) : NULL;

    if (p)
        note(LOG_MADE, NULL, p, size);
    return p;
}

void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void **out, size_t alignment, size_t size)
{
    void *p = memalign(alignment, size);

    if (!p)
        return ENOMEM;
    *out = p;
    return 0;
}

void free(void *p)
{
    if (!p || is_early(p) || !is_ready())
        return;
    note(LOG_FREED, NULL, p, 0);
    next_free(p);
}
