/* SPDX-License-Identifier: MIT */
/* page-cache.h - memory of other processes, read in pages and kept for a moment.
 *
 * A system call takes as long for a page as for a word, and what describes the frames of one
 * stack is mostly in a few pages. */
#ifndef TT_PAGE_CACHE_H
#define TT_PAGE_CACHE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct tt_page_cache;

/* NULL: no memory. */
struct tt_page_cache *tt_page_cache_new(void);
void tt_page_cache_free(struct tt_page_cache *);

/* What was read so far may have changed. */
void tt_page_cache_forget(struct tt_page_cache *);

/* 1: the bytes were read. */
int tt_page_cache_read(struct tt_page_cache *, pid_t, uint64_t address, void *to,
                       size_t size);

#endif
