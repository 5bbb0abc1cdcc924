/* SPDX-License-Identifier: MIT */
/* preload.h - shared by the files of the preload library. */
#ifndef TT_PRELOAD_H
#define TT_PRELOAD_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

/* The signal of our timers; and unblocks it in the calling thread. */
int tt_preload_signal(void);
void tt_preload_unblock(void);

/* Starts recording, if the environment asks for it and it has not begun; a constructor
 * does this at the latest. */
void tt_preload_start(void);

/* Stores the CPU time of the process so far: it may end, or exec. */
void tt_preload_spend(void);

/* Does this process record?  A child of vfork, in its parent's memory, does not. */
int tt_preload_is_here(void);

/* Before exec, and after a failed one: returns `result`, and keeps errno. */
void tt_preload_leave(void);
int tt_preload_stay(int result);

/* Ends recording for good: the program is about to restrict its system calls. */
void tt_preload_cease(void);

/* interpose-signal.c: the system's sigaction. */
int tt_preload_sigaction(int, const struct sigaction *, struct sigaction *);

/* The system's sigaltstack: see tt_native_sampler_lend. */
int tt_preload_lend(char *stack, size_t size);

/* interpose-fault.c: lets the loads of tt_safe_copy survive faults, if possible; frees
 * the lock after a fork; and looks up the C library's calls that change actions. */
void tt_preload_resume_loads(void);
void tt_preload_faults_forked(void);
void tt_preload_find_actions(void);

/* Looks for interpreters in the loaded modules, and lists them in the header. */
void tt_preload_find_interpreters(void);

/* interpose-loader.c: watches calls that load and unload modules from now on. */
void tt_preload_watch(void);

/* interpose-exec.c: notes the programs that are started in this folder; NULL: off. */
void tt_preload_note_programs(const char *folder);

/* For the libraries that also interpose the allocator, or locks; others have none. */
struct tt_preload_collector {
    void (*start)(void); /* before the recording */
    void (*stop)(void);
    void (*forked)(void);              /* in the child */
    void (*began)(uintptr_t function); /* a thread began with this function; or NULL */
    int *on;
    const char *without; /* text for the header if a sanitizer prevents it */
};
extern const struct tt_preload_collector tt_preload_collector
    __attribute__((weak, visibility("hidden")));

/* Looks for the C library's syscall. */
void tt_preload_find_syscall(void);

#endif
