/* SPDX-License-Identifier: MIT */
/* preload.h - what the library that is loaded into a program shares between its files. */
#ifndef TT_PRELOAD_H
#define TT_PRELOAD_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

/* The signal of our timers, and that it reaches the calling thread. */
int tt_preload_signal(void);
void tt_preload_unblock(void);

/* Starts recording, if the environment asks for it and it has not begun; a constructor
 * does so at the latest. */
void tt_preload_start(void);

/* Notes what the process has spent so far: it may end, or become another program. */
void tt_preload_spend(void);

/* Is this a process that records?  Not a child of vfork, which has its parent's memory. */
int tt_preload_is_here(void);

/* Before the process becomes another program, and after that has failed: returns `result`, and
 * keeps errno. */
void tt_preload_leave(void);
int tt_preload_stay(int result);

/* Ends it for good: the system is about to be told which calls the program may make. */
void tt_preload_cease(void);

/* interpose-signal.c: the system's sigaction. */
int tt_preload_sigaction(int, const struct sigaction *, struct sigaction *);

/* And its sigaltstack: see tt_native_sampler_lend. */
int tt_preload_lend(char *stack, size_t size);

/* interpose-fault.c: from now on the loads of tt_safe_copy survive, where they can; a fork leaves
 * a lock; and the C library's calls that change actions are looked for. */
void tt_preload_resume_loads(void);
void tt_preload_faults_forked(void);
void tt_preload_find_actions(void);

/* Looks for interpreters in what is loaded, and says in the header which there are. */
void tt_preload_find_interpreters(void);

/* interpose-loader.c: the calls that change what is loaded are watched from now on. */
void tt_preload_watch(void);

/* interpose-exec.c: notes in this folder which programs are started; NULL: nowhere. */
void tt_preload_note_programs(const char *folder);

/* What the libraries have that stand before the allocator too, or before locks; the third one
 * has none. */
struct tt_preload_collector {
    void (*start)(void); /* before the recording */
    void (*stop)(void);
    void (*forked)(void);              /* in the child */
    void (*began)(uintptr_t function); /* a thread, with this function; or NULL */
    int *on;
    const char *without; /* what the header says where a sanitizer keeps it out */
};
extern const struct tt_preload_collector tt_preload_collector
    __attribute__((weak, visibility("hidden")));

/* Looks for the C library's syscall. */
void tt_preload_find_syscall(void);

#endif
