/* SPDX-License-Identifier: MIT */
/* safe-point.h - where a signal's handler may do what is not async-signal-safe.
 *
 * A handler may call pthread_create, and with it malloc, where the thread that it interrupted
 * is in none of the functions that pthread_create needs: then the call is like one that the
 * program makes itself, with any allocator and any C library. */
#ifndef TT_SAFE_POINT_H
#define TT_SAFE_POINT_H

/* Notes where the C library, the loader and the allocators are.  Once, by a constructor. */
void tt_safe_point_init(void);

/* Whether the thread that was interrupted in that context holds nothing that malloc,
 * pthread_create or the loader needs.  0 where that is not certain.  Async-signal-safe. */
int tt_safe_point(const void *context);

#endif
