/* SPDX-License-Identifier: MIT */
/* interpose-malloc.c - the functions of the allocator, as the program calls them.
 *
 * Every function calls the next definition of its name and reports the result.  The
 * loader may need memory to find the next definition: until then, memory comes from a
 * separate arena, which never reuses any. */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "heap.h"
#include "interpose-unmap.h"
#include "next-function.h"
#include "preload.h"
#include "strand.h"

enum { ARENA = 256 << 10, ALIGNMENT = 16 };

typedef void *dlsym_function(void *, const char *);

static struct {
    void *(*malloc)(size_t);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    void *(*reallocarray)(void *, size_t, size_t);
    void *(*memalign)(size_t, size_t);
    int (*posix_memalign)(void **, size_t, size_t);
    void *(*aligned_alloc)(size_t, size_t);
    void *(*valloc)(size_t);
    void *(*pvalloc)(size_t);
    void (*free)(void *);
    void (*free_sized)(void *, size_t);
    void (*free_aligned_sized)(void *, size_t, size_t);
    size_t (*malloc_usable_size)(void *);
    int found; /* all that exist are found; stored last */
} next;

/* ── The arena ────────────────────────────────────────────────────────────────────── */

static char arena[ARENA] __attribute__((aligned(ALIGNMENT)));
static size_t arena_used;

static int is_arena(const void *p) { return (uintptr_t)p - (uintptr_t)arena < ARENA; }

/* The size of each piece is stored before it. */
static void *take_arena(size_t alignment, size_t size)
{
    size_t used, start;

    if (alignment < ALIGNMENT)
        alignment = ALIGNMENT;
    used = __atomic_load_n(&arena_used, __ATOMIC_RELAXED);
    do {
        start = (used + ALIGNMENT + alignment - 1) & ~(alignment - 1);
        if (size > ARENA || start > ARENA - size) {
            errno = ENOMEM;
            return NULL;
        }
    } while (!__atomic_compare_exchange_n(&arena_used, &used, start + size, 0,
                                          __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    memcpy(arena + start - sizeof size, &size, sizeof size);
    return arena + start;
}

static size_t arena_size(const void *p)
{
    size_t size;

    memcpy(&size, (const char *)p - sizeof size, sizeof size);
    return size;
}

/* ── The next ones ────────────────────────────────────────────────────────────────── */

/* The real dlsym finds the right version of a name, and the right library. */
static void find_next(void)
{
    static const struct {
        const char *name;
        void *at;
    } names[] = {
        {"malloc", &next.malloc},
        {"calloc", &next.calloc},
        {"realloc", &next.realloc},
        {"reallocarray", &next.reallocarray},
        {"memalign", &next.memalign},
        {"posix_memalign", &next.posix_memalign},
        {"aligned_alloc", &next.aligned_alloc},
        {"valloc", &next.valloc},
        {"pvalloc", &next.pvalloc},
        {"free", &next.free},
        {"free_sized", &next.free_sized},
        {"free_aligned_sized", &next.free_aligned_sized},
        {"malloc_usable_size", &next.malloc_usable_size},
    };
    dlsym_function *find = (dlsym_function *)tt_next_function("dlsym");

    for (size_t i = 0; find && i < sizeof names / sizeof *names; i++) {
        void *found = find(RTLD_NEXT, names[i].name);
        memcpy(names[i].at, &found, sizeof found);
    }
    __atomic_store_n(&next.found, 1, __ATOMIC_RELEASE);
}

/* 0: this very call is looking for them. */
static __attribute__((noinline, cold)) int look_for_next(void)
{
    static __thread int finding;
    int saved = errno;

    if (finding)
        return 0;
    finding = 1;
    find_next();
    finding = 0;
    errno = saved;
    return 1;
}

static inline int has_next(void)
{
    return !TT_UNLIKELY(!__atomic_load_n(&next.found, __ATOMIC_ACQUIRE)) ||
           look_for_next();
}

static size_t usable(void *p)
{
    return next.malloc_usable_size ? next.malloc_usable_size(p) : 0;
}

/* The loader frees its last message in the middle of its own work: we cannot call it
 * then, and memory from before is not worth the trouble. */
static inline int can_free(const void *p)
{
    return !is_arena(p) && __atomic_load_n(&next.found, __ATOMIC_ACQUIRE);
}

static int tried;

/* Recording begins before the first event, as soon as the environment is there. */
static inline int is_on(void)
{
    if (TT_UNLIKELY(!tried) && environ) {
        tried = 1;
        tt_preload_start();
    }
    return __atomic_load_n(&tt_heap_on, __ATOMIC_RELAXED);
}

#define SAY(p, size, type)                                                               \
    do {                                                                                 \
        if (is_on() && (p) && TT_UNLIKELY(tt_heap_wants(size))) {                        \
            struct tt_caller caller_ = TT_CALLER();                                      \
            tt_heap_made(p, size, type, &caller_);                                       \
        }                                                                                \
    } while (0)

/* ── The functions ────────────────────────────────────────────────────────────────── */

TT_INTERPOSE void *malloc(size_t size)
{
    void *p;

    if (!has_next())
        return take_arena(ALIGNMENT, size);
    p = next.malloc(size);
    SAY(p, size, TT_HEAP_MALLOC);
    return p;
}

TT_INTERPOSE void *calloc(size_t count, size_t size)
{
    size_t bytes;
    void *p;

    if (!has_next())
        return __builtin_mul_overflow(count, size, &bytes) ? NULL
                                                           : take_arena(ALIGNMENT, bytes);
    p = next.calloc(count, size);
    SAY(p, count * size, TT_HEAP_CALLOC);
    return p;
}

/* A piece of the arena moves to the allocator when it is resized. */
static void *leave_arena(void *p, size_t size)
{
    void *to = malloc(size);
    size_t before = arena_size(p);

    if (to)
        memcpy(to, p, before < size ? before : size);
    return to;
}

TT_INTERPOSE void *realloc(void *p, size_t size)
{
    struct tt_heap_move m;
    struct tt_caller c;
    void *to;

    if (is_arena(p))
        return leave_arena(p, size);
    if (!has_next())
        return take_arena(ALIGNMENT, size);
    if (!is_on())
        return next.realloc(p, size);
    c = TT_CALLER();
    tt_heap_move(&m, p);
    to = next.realloc(p, size);
    if (!to && p && !size)
        tt_heap_freed(&m);
    else
        tt_heap_moved(&m, to, size, TT_HEAP_REALLOC, &c);
    return to;
}

TT_INTERPOSE void *reallocarray(void *p, size_t count, size_t size)
{
    struct tt_heap_move m;
    struct tt_caller c;
    size_t bytes;
    void *to;

    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    if (is_arena(p))
        return leave_arena(p, bytes);
    if (!has_next())
        return take_arena(ALIGNMENT, bytes);
    if (!is_on())
        return next.realloc(p, bytes);
    c = TT_CALLER();
    tt_heap_move(&m, p);
    to = next.realloc(p, bytes);
    if (!to && p && !bytes)
        tt_heap_freed(&m);
    else
        tt_heap_moved(&m, to, bytes, TT_HEAP_REALLOC, &c);
    return to;
}

TT_INTERPOSE void *memalign(size_t alignment, size_t size)
{
    void *p;

    if (!has_next())
        return take_arena(alignment, size);
    p = next.memalign(alignment, size);
    SAY(p, size, TT_HEAP_ALIGNED);
    return p;
}

TT_INTERPOSE int posix_memalign(void **out, size_t alignment, size_t size)
{
    int error;

    if (!has_next()) {
        *out = take_arena(alignment, size);
        return *out ? 0 : ENOMEM;
    }
    error = next.posix_memalign(out, alignment, size);
    if (!error)
        SAY(*out, size, TT_HEAP_ALIGNED);
    return error;
}

TT_INTERPOSE void *aligned_alloc(size_t alignment, size_t size)
{
    void *p;

    if (!has_next())
        return take_arena(alignment, size);
    p = next.aligned_alloc(alignment, size);
    SAY(p, size, TT_HEAP_ALIGNED);
    return p;
}

TT_INTERPOSE void *valloc(size_t size)
{
    void *p;

    if (!has_next())
        return take_arena(4096, size);
    p = next.valloc(size);
    SAY(p, size, TT_HEAP_ALIGNED);
    return p;
}

TT_INTERPOSE void *pvalloc(size_t size)
{
    void *p;

    if (!has_next())
        return take_arena(4096, (size + 4095) & ~(size_t)4095);
    p = next.pvalloc(size);
    SAY(p, size, TT_HEAP_ALIGNED);
    return p;
}

TT_INTERPOSE void free(void *p)
{
    if (!can_free(p))
        return;
    if (__atomic_load_n(&tt_heap_on, __ATOMIC_RELAXED) && TT_UNLIKELY(tt_heap_maybe(p)))
        tt_heap_gone(p);
    next.free(p);
}

TT_INTERPOSE void free_sized(void *p, size_t size);
TT_INTERPOSE void free_sized(void *p, size_t size)
{
    if (!can_free(p))
        return;
    if (__atomic_load_n(&tt_heap_on, __ATOMIC_RELAXED) && TT_UNLIKELY(tt_heap_maybe(p)))
        tt_heap_gone(p);
    if (next.free_sized)
        next.free_sized(p, size);
    else
        next.free(p);
}

TT_INTERPOSE void free_aligned_sized(void *p, size_t alignment, size_t size);
TT_INTERPOSE void free_aligned_sized(void *p, size_t alignment, size_t size)
{
    if (!can_free(p))
        return;
    if (__atomic_load_n(&tt_heap_on, __ATOMIC_RELAXED) && TT_UNLIKELY(tt_heap_maybe(p)))
        tt_heap_gone(p);
    if (next.free_aligned_sized)
        next.free_aligned_sized(p, alignment, size);
    else
        next.free(p);
}

TT_INTERPOSE size_t malloc_usable_size(void *p)
{
    if (!p)
        return 0;
    if (is_arena(p))
        return arena_size(p);
    return has_next() ? usable(p) : 0;
}

/* ── The recording ────────────────────────────────────────────────────────────────── */

static void start(void)
{
    const char *rate = secure_getenv("TALLYTREE_HEAP"),
               *seed = secure_getenv("TALLYTREE_SEED");
    const char *when = secure_getenv("TALLYTREE_WHEN");
    struct timespec now;
    uint64_t begin;
    char *end;

    tt_heap_maps = secure_getenv("TALLYTREE_MAPS") != NULL;
    clock_gettime(CLOCK_REALTIME, &now);
    tt_heap_start(rate ? strtoull(rate, NULL, 10) : 0,
                  seed ? strtoull(seed, NULL, 10)
                       : (uint64_t)now.tv_sec << 32 ^ (uint64_t)now.tv_nsec << 16 ^
                             (unsigned)getpid(),
                  usable);
    if (when) {
        begin = strtoull(when, &end, 10);
        tt_heap_window(begin, strtoull(end, NULL, 10));
    }
}

static void settle(const struct tt_caller *caller)
{
    (void)caller;
    if (tt_preload_is_here())
        tt_heap_settle();
}

const struct tt_preload_collector tt_preload_collector = {
    .start = start,
    .stop = tt_heap_stop,
    .exits = settle,
    .forked = tt_heap_forked,
    .mapped = tt_heap_mapped,
    .on = &tt_heap_on,
    .without = "; no allocations: a sanitizer has the allocator"};
