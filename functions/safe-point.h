/* SPDX-License-Identifier: MIT */
/* safe-point.h - places where a signal handler may call functions that are not
 * async-signal-safe.
 *
 * A handler may call pthread_create, and with it malloc, if the thread that it
 * interrupted is in none of the functions that pthread_create needs: then the call is
 * like one that the program makes itself, with any allocator and any C library. */
#ifndef TT_SAFE_POINT_H
#define TT_SAFE_POINT_H

/* Finds the C library, the loader and the allocators.  Once, by a constructor. */
void tt_safe_point_init(void);

/* Does the thread that was interrupted in that context hold nothing that malloc,
 * pthread_create or the loader needs?  0 if that is not certain.  Async-signal-safe. */
int tt_safe_point(const void *context);

#endif
