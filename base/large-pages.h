/* SPDX-License-Identifier: MIT */
/* large-pages.h - large pages for large arrays: a fault for each page of 4 KiB can take longer
 * than all work on what it holds. */
#ifndef TT_LARGE_PAGES_H
#define TT_LARGE_PAGES_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#ifdef __linux__
#include <sys/mman.h>
#endif

/* For an array that will be filled from its beginning.  Returns it. */
static inline void *tt_large_pages(void *p, size_t size)
{
#ifdef MADV_HUGEPAGE
    enum { PAGE = 1 << 16, FROM = 4 << 20 };
    const uintptr_t first = ((uintptr_t)p + PAGE - 1) / PAGE * PAGE;
    const uintptr_t end = ((uintptr_t)p + size) / PAGE * PAGE;

    if (p && size >= FROM)
        (void)madvise((char *)p + (first - (uintptr_t)p), end - first, MADV_HUGEPAGE);
#else
    (void)size;
#endif
    return p;
}

/* calloc() with that. */
static inline void *tt_large_array(size_t count, size_t size)
{
    return tt_large_pages(calloc(count, size), count * size);
}

#endif
