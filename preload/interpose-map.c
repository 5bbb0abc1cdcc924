/* SPDX-License-Identifier: MIT */
/* interpose-map.c - notices code that the program maps itself, and what replaces it.
 *
 * These call the system directly: the library's own functions do nothing more, and are
 * needed before they could be found. */
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "modules.h"
#include "next-function.h"
#include "preload.h"
#include "stack-cache.h"
#include "system-call.h"

struct mapping {
    void *at;
    size_t size;
    int protection, flags, fd;
    off_t offset;
};

static void note_mapping(void *p, const struct mapping *m)
{
    const int saved = errno,
              is_code = m->protection & PROT_EXEC && !(m->flags & MAP_ANONYMOUS),
              has_again = tt_modules_have_again();

    if (p == MAP_FAILED || !(is_code || has_again) || !tt_preload_is_here())
        return;
    if (has_again)
        tt_modules_replaced(p, m->size);
    if (is_code)
        tt_modules_mapped(p, m->size, m->fd, (uint64_t)m->offset);
    errno = saved;
}

static void *map(const struct mapping *m, const struct tt_caller *caller)
{
    const long a[6] = {(long)m->at, (long)m->size, m->protection,
                       m->flags,    m->fd,         m->offset};
    void *p = (void *)tt_call_system(SYS_mmap, a); /* MAP_FAILED is -1 */

    note_mapping(p, m);
    if (&tt_preload_collector && tt_preload_collector.mapped && p != MAP_FAILED)
        tt_preload_collector.mapped(p, m->size, caller);
    return p;
}

/* The headers may define one as the other. */
void *interposed_mmap(void *, size_t, int, int, int, off_t) __asm__("mmap");
void *interposed_mmap64(void *, size_t, int, int, int, off_t) __asm__("mmap64");

#define MAP(at, size, protection, flags, fd, offset)                                     \
    do {                                                                                 \
        const struct mapping m_ = {at, size, protection, flags, fd, offset};             \
        const struct tt_caller caller_ = TT_CALLER();                                    \
        return map(&m_, &caller_);                                                       \
    } while (0)

TT_INTERPOSE void *interposed_mmap(void *at, size_t size, int protection, int flags,
                                   int fd, off_t offset)
{
    MAP(at, size, protection, flags, fd, offset);
}

TT_INTERPOSE void *interposed_mmap64(void *at, size_t size, int protection, int flags,
                                     int fd, off_t offset)
{
    MAP(at, size, protection, flags, fd, offset);
}
