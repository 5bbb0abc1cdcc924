/* SPDX-License-Identifier: MIT */
/* interpose-new.c - C++'s new and delete, if they do not use malloc.
 *
 * The C++ library's own operators call malloc and free, which are counted there; then we
 * do nothing here.  Those of an allocator's library do not, and are counted here.  If one
 * calls malloc after all, its object, or what it is a part of, is counted when it returns:
 * malloc has changed the distance to the next sample.
 *
 * The names are those of the C++ ABI.  An exception passes through our frames. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "heap.h"
#include "next-function.h"
#include "strand.h"

enum {
    NEW,
    ARRAY,
    NEW_QUIET,
    ARRAY_QUIET,
    NEW_AT,
    ARRAY_AT,
    NEW_AT_QUIET,
    ARRAY_AT_QUIET,
    OPERATORS
};
enum {
    DELETE,
    DELETE_SIZE,
    DELETE_QUIET,
    DELETE_AT,
    DELETE_SIZE_AT,
    DELETE_AT_QUIET,
    DELETES
};

static const char *const new_names[OPERATORS] = {
    "_Znwm",
    "_Znam",
    "_ZnwmRKSt9nothrow_t",
    "_ZnamRKSt9nothrow_t",
    "_ZnwmSt11align_val_t",
    "_ZnamSt11align_val_t",
    "_ZnwmSt11align_val_tRKSt9nothrow_t",
    "_ZnamSt11align_val_tRKSt9nothrow_t",
};
static const char *const delete_names[2][DELETES] = {
    {"_ZdlPv", "_ZdlPvm", "_ZdlPvRKSt9nothrow_t", "_ZdlPvSt11align_val_t",
     "_ZdlPvmSt11align_val_t", "_ZdlPvSt11align_val_tRKSt9nothrow_t"},
    {"_ZdaPv", "_ZdaPvm", "_ZdaPvRKSt9nothrow_t", "_ZdaPvSt11align_val_t",
     "_ZdaPvmSt11align_val_t", "_ZdaPvSt11align_val_tRKSt9nothrow_t"},
};

/* They have up to three arguments. */
typedef void *maker(size_t, size_t, const void *);
typedef void deleter(void *, size_t, size_t);

static struct {
    maker *make[OPERATORS];
    deleter *delete[2][DELETES];
    int counts; /* they are not the C++ library's */
    int found;  /* stored last */
} next;

/* ── Without any ──────────────────────────────────────────────────────────────────── */

static void *make_plain(size_t size, size_t unused, const void *unused_too)
{
    (void)unused, (void)unused_too;
    return malloc(size ? size : 1);
}

static void *make_aligned(size_t size, size_t alignment, const void *unused)
{
    (void)unused;
    return aligned_alloc(alignment, (size + alignment - 1) & ~(alignment - 1));
}

static void delete_plain(void *p, size_t unused, size_t unused_too)
{
    (void)unused, (void)unused_too;
    free(p);
}

/* ── The next ones ────────────────────────────────────────────────────────────────── */

static int is_standard(const void *function)
{
    Dl_info info;
    const char *base;

    if (!dladdr(function, &info) || !info.dli_fname)
        return 1;
    base = strrchr(info.dli_fname, '/');
    base = base ? base + 1 : info.dli_fname;
    return strncmp(base, "libstdc++", 9) == 0 || strncmp(base, "libc++", 6) == 0;
}

/* If a program in C has loaded a library in C++, its C++ library is in no scope of
 * ours. */
static void *find_in_library(const char *name)
{
    static const char *const libraries[] = {"libstdc++.so.6", "libc++abi.so.1",
                                            "libc++.so.1"};
    void *handle, *found = NULL;

    for (size_t i = 0; !found && i < sizeof libraries / sizeof *libraries; i++)
        if ((handle = dlopen(libraries[i], RTLD_LAZY | RTLD_NOLOAD)) != NULL)
            found = dlsym(handle, name);
    return found;
}

static void find(const char *name, void *at, void *otherwise)
{
    void *found = dlsym(RTLD_NEXT, name);

    if (!found)
        found = find_in_library(name);
    if (!found)
        found = otherwise;
    memcpy(at, &found, sizeof found);
}

/* Only an allocator knows the size of its objects. */
static int is_sized(const void *function)
{
    const void *usable = dlsym(RTLD_NEXT, "malloc_usable_size");
    Dl_info info, other;

    return usable && dladdr(function, &info) && dladdr(usable, &other) &&
           info.dli_fbase == other.dli_fbase;
}

static void find_next(void)
{
    maker *plain = make_plain, *aligned = make_aligned;
    deleter *freed = delete_plain;
    void *otherwise;

    for (int i = 0; i < OPERATORS; i++) {
        memcpy(&otherwise, i < NEW_AT ? &plain : &aligned, sizeof otherwise);
        find(new_names[i], &next.make[i], otherwise);
    }
    memcpy(&otherwise, &freed, sizeof otherwise);
    for (int i = 0; i < 2 * DELETES; i++)
        find(delete_names[i / DELETES][i % DELETES],
             &next.delete[i / DELETES][i % DELETES], otherwise);
    memcpy(&otherwise, &next.make[NEW], sizeof otherwise);
    next.counts = next.make[NEW] != plain && !is_standard(otherwise);
    tt_heap_new_is_sized = next.counts && is_sized(otherwise);
    __atomic_store_n(&next.found, 1, __ATOMIC_RELEASE);
}

static int counts(void)
{
    if (TT_UNLIKELY(!__atomic_load_n(&next.found, __ATOMIC_ACQUIRE)))
        find_next();
    return next.counts && __atomic_load_n(&tt_heap_on, __ATOMIC_RELAXED);
}

/* If every event is recorded, the distance is -1 after each. */
static inline int64_t watch_gap(void)
{
    if (!tt_heap_classed)
        tt_heap_gap = -2;
    return tt_heap_gap;
}

/* ── The operators ────────────────────────────────────────────────────────────────── */

#define MAKER(name, index)                                                               \
    TT_INTERPOSE void *name(size_t, size_t, const void *);                               \
    TT_INTERPOSE void *name(size_t size, size_t alignment, const void *quiet)            \
    {                                                                                    \
        struct tt_caller caller;                                                         \
        int64_t gap;                                                                     \
        void *p;                                                                         \
                                                                                         \
        if (!counts())                                                                   \
            return next.make[index](size, alignment, quiet);                             \
        gap = watch_gap();                                                               \
        p = next.make[index](size, alignment, quiet);                                    \
        if (p && tt_heap_gap == gap && tt_heap_wants(size)) {                            \
            caller = TT_CALLER();                                                        \
            tt_heap_made(p, size, TT_HEAP_NEW, &caller);                                 \
        }                                                                                \
        return p;                                                                        \
    }                                                                                    \
    struct tt_semicolon

MAKER(_Znwm, NEW);
MAKER(_Znam, ARRAY);
MAKER(_ZnwmRKSt9nothrow_t, NEW_QUIET);
MAKER(_ZnamRKSt9nothrow_t, ARRAY_QUIET);
MAKER(_ZnwmSt11align_val_t, NEW_AT);
MAKER(_ZnamSt11align_val_t, ARRAY_AT);
MAKER(_ZnwmSt11align_val_tRKSt9nothrow_t, NEW_AT_QUIET);
MAKER(_ZnamSt11align_val_tRKSt9nothrow_t, ARRAY_AT_QUIET);

#define DELETER(name, array, index)                                                      \
    TT_INTERPOSE void name(void *, size_t, size_t);                                      \
    TT_INTERPOSE void name(void *p, size_t second, size_t third)                         \
    {                                                                                    \
        if (counts() && p && tt_heap_maybe(p))                                           \
            tt_heap_gone(p);                                                             \
        next.delete[array][index](p, second, third);                                     \
    }                                                                                    \
    struct tt_semicolon

DELETER(_ZdlPv, 0, DELETE);
DELETER(_ZdaPv, 1, DELETE);
DELETER(_ZdlPvm, 0, DELETE_SIZE);
DELETER(_ZdaPvm, 1, DELETE_SIZE);
DELETER(_ZdlPvRKSt9nothrow_t, 0, DELETE_QUIET);
DELETER(_ZdaPvRKSt9nothrow_t, 1, DELETE_QUIET);
DELETER(_ZdlPvSt11align_val_t, 0, DELETE_AT);
DELETER(_ZdaPvSt11align_val_t, 1, DELETE_AT);
DELETER(_ZdlPvmSt11align_val_t, 0, DELETE_SIZE_AT);
DELETER(_ZdaPvmSt11align_val_t, 1, DELETE_SIZE_AT);
DELETER(_ZdlPvSt11align_val_tRKSt9nothrow_t, 0, DELETE_AT_QUIET);
DELETER(_ZdaPvSt11align_val_tRKSt9nothrow_t, 1, DELETE_AT_QUIET);
