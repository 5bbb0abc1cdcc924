/* SPDX-License-Identifier: MIT */
/* leased-map.h - large files that are read where they are, and do not change while they are. */
#ifndef TT_LEASED_MAP_H
#define TT_LEASED_MAP_H

#include <stddef.h>

/* Maps a whole file for reading; the caller may close fd.  NULL: its system gives no leases, it is
 * not the user's, or a program has it open for writing now.  As long as it is mapped, a program that
 * opens it for writing waits for the copy that is then made in a nameless file, and the map shows that
 * one.  If there is no room for the copy, the command says so and ends with status 2. */
void *tt_leased_map(int fd, size_t size);
/* 0: it is none. */
int tt_leased_unmap(const void *);

#endif
