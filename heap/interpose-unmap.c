/* SPDX-License-Identifier: MIT */
/* interpose-unmap.c - memory that the program maps itself, if that is to be recorded.
 *
 * interpose-map.c reports what is mapped.  These call the system directly, as it does.  Our own
 * mappings are not the program's. */
#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "heap.h"
#include "interpose-unmap.h"
#include "next-function.h"
#include "strand.h"
#include "system-call.h"

int tt_heap_maps;

/* The address of this library: from the linker. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char etext[] __attribute__((visibility("hidden")));

static int is_ours(const void *returns_to)
{
    return (const char *)returns_to >= __ehdr_start && (const char *)returns_to < etext;
}

static int is_wanted(const void *returns_to)
{
    return TT_UNLIKELY(__atomic_load_n(&tt_heap_on, __ATOMIC_RELAXED) && tt_heap_maps) &&
           !is_ours(returns_to);
}

#define WANTED() is_wanted(__builtin_return_address(0))

static struct tt_heap_range pages_of(const void *p, size_t size, uint64_t stamp)
{
    const uint64_t from = (uintptr_t)p, page = (uint64_t)sysconf(_SC_PAGESIZE);

    return (struct tt_heap_range){from, from + ((size + page - 1) & ~(page - 1)), stamp};
}

void tt_heap_mapped(void *p, size_t size, const struct tt_caller *caller)
{
    struct tt_heap_range made;

    if (!is_wanted((const void *)caller->pc))
        return;
    made = pages_of(p, size, UINT64_MAX);
    tt_heap_remap(NULL, &made, size, caller);
}

/* What is left of a mapping counts as a new one. */
TT_INTERPOSE int munmap(void *at, size_t size)
{
    const long a[6] = {(long)at, (long)size};
    struct tt_heap_range gone;
    int error;

    if (!WANTED())
        return (int)tt_call_system(SYS_munmap, a);
    gone = pages_of(at, size, tt_heap_before_unmap());
    error = (int)tt_call_system(SYS_munmap, a);
    if (!error)
        tt_heap_remap(&gone, NULL, 0, NULL);
    return error;
}

TT_INTERPOSE void *mremap(void *at, size_t size, size_t wanted, int flags, ...)
{
    long a[6] = {(long)at, (long)size, (long)wanted, flags};
    struct tt_heap_range gone, made;
    struct tt_caller caller;
    int stays; /* what was there */
    void *p;
    va_list list;

    va_start(list, flags);
    a[4] = flags & MREMAP_FIXED ? va_arg(list, long) : 0;
    va_end(list);
    if (!WANTED())
        return (void *)tt_call_system(SYS_mremap, a);
    caller = TT_CALLER();
    stays = !size || flags & MREMAP_DONTUNMAP;
    gone = pages_of(at, size, tt_heap_before_unmap());
    p = (void *)tt_call_system(SYS_mremap, a);
    if (p != MAP_FAILED) {
        made = pages_of(p, wanted, UINT64_MAX);
        tt_heap_remap(stays ? NULL : &gone, &made, wanted, &caller);
    }
    return p;
}
