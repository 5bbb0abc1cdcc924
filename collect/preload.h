/* SPDX-License-Identifier: MIT */
/* preload.h - what the library that is loaded into a program shares between its files. */
#ifndef TT_PRELOAD_H
#define TT_PRELOAD_H

#include <signal.h>

/* The signal of our timers, kept from the program's masks and handlers. */
int tt_preload_signal(void);

/* Starts recording, if the environment asks for it and it has not begun; a constructor
 * does so at the latest. */
void tt_preload_start(void);

/* Ends it for good: the system is about to be told which calls the program may make. */
void tt_preload_cease(void);

/* The next definition of a function after ours; NULL: there is none. */
void *tt_preload_next(const char *name);

/* interpose-signal.c: the system's sigaction. */
int tt_preload_sigaction(int, const struct sigaction *, struct sigaction *);

/* Finds the system's functions of that file now: our own handler calls some of them. */
void tt_preload_find(void);

/* interpose-loader.c: the calls that change what is loaded are watched from now on. */
void tt_preload_watch(void);

#define TT_INTERPOSE __attribute__((visibility("default")))

#endif
