/* SPDX-License-Identifier: MIT */
/* interpose-unmap.c - memory that the program maps itself, if that is to be recorded.
 *
 * interpose-map.c reports what is mapped.  These call the system directly, as it does.  Our own
 * mappings are not the program's. */
#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>

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

void tt_heap_mapped(void *p, size_t size, const struct tt_caller *caller)
{
    if (is_wanted((const void *)caller->pc) && tt_heap_wants(size))
        tt_heap_made(p, size, TT_HEAP_MMAP, caller);
}

/* If the beginning of a mapping is unmapped, the rest counts as a new one.  If its end or
 * middle is, this is noticed when its beginning is unmapped. */
TT_INTERPOSE int munmap(void *at, size_t size)
{
    const long a[6] = {(long)at, (long)size};
    struct tt_heap_move m;
    size_t rest;
    int error;

    if (!WANTED() || !tt_heap_maybe(at))
        return (int)tt_call_system(SYS_munmap, a);
    tt_heap_move(&m, at);
    error = (int)tt_call_system(SYS_munmap, a);
    if (error) {
        struct tt_caller caller = TT_CALLER();
        tt_heap_moved(&m, NULL, 0, TT_HEAP_MMAP, &caller);
        return error;
    }
    rest = m.object.address && m.object.number == 1 && m.object.bytes > size
               ? m.object.bytes - size
               : 0;
    tt_heap_freed(&m);
    if (rest) {
        struct tt_caller caller = TT_CALLER();
        tt_heap_made((char *)at + size, rest, TT_HEAP_MMAP, &caller);
    }
    return 0;
}

TT_INTERPOSE void *mremap(void *at, size_t size, size_t wanted, int flags, ...)
{
    struct tt_heap_move m;
    struct tt_caller caller;
    long a[6] = {(long)at, (long)size, (long)wanted, flags};
    void *p;
    va_list list;

    va_start(list, flags);
    a[4] = flags & MREMAP_FIXED ? va_arg(list, long) : 0;
    va_end(list);
    if (!WANTED())
        return (void *)tt_call_system(SYS_mremap, a);
    caller = TT_CALLER();
    tt_heap_move(&m, at);
    p = (void *)tt_call_system(SYS_mremap, a);
    tt_heap_moved(&m, p == MAP_FAILED ? NULL : p, wanted, TT_HEAP_MMAP, &caller);
    return p;
}
