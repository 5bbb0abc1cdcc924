/* SPDX-License-Identifier: MIT */
/* preload.h - shared by the files of the preload library. */
#ifndef TT_PRELOAD_H
#define TT_PRELOAD_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct tt_caller;

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

/* A system call that may need the process to have one thread: if it fails for two, and the
 * others are ours, these end meanwhile. */
long tt_preload_call_alone(long number, const long a[6]);

/* Around a call that the C library makes in each thread: ours end meanwhile if their rights
 * differ from the caller's.  The second takes what the first returned, and keeps errno. */
int tt_preload_step_aside(void);
void tt_preload_step_back(int paused);

/* Ends recording for good: the program is about to restrict what its code may do.  `until`
 * is added to the header's source. */
void tt_preload_cease(const char *until);

/* Looks for interpreters in the loaded modules, and lists them in the header. */
void tt_preload_find_interpreters(void);

/* For the libraries that also interpose the allocator, or locks; others have none. */
struct tt_preload_collector {
    void (*start)(void); /* before the recording */
    void (*stop)(void);
    void (*forked)(void);                 /* in the child */
    void (*began)(uintptr_t function);    /* a thread began with this function; or NULL */
    void (*spawned)(pid_t, uintptr_t at); /* a call has started a child; or NULL */
    void (*exits)(const struct tt_caller *); /* a call ends the process; or NULL */
    void (*mapped)(void *, size_t, const struct tt_caller *); /* memory; or NULL */
    int *on;
    const char *without; /* text for the header if a sanitizer prevents it */
};
extern const struct tt_preload_collector tt_preload_collector
    __attribute__((weak, visibility("hidden")));

#endif
