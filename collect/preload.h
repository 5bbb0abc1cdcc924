/* SPDX-License-Identifier: MIT */
/* preload.h - what the library that is loaded into a program shares between its files. */
#ifndef TT_PRELOAD_H
#define TT_PRELOAD_H

#include <errno.h>
#include <signal.h>

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

/* The next definition of a function after ours; NULL: there is none. */
void *tt_preload_next(const char *name);

/* next_NAME(): that, looked for once. */
#define TT_AFTER_US(result, name, ...)                                                   \
    typedef result name##_function(__VA_ARGS__);                                         \
    static name##_function *next_##name(void)                                            \
    {                                                                                    \
        static name##_function *next;                                                    \
        if (!next)                                                                       \
            next = (name##_function *)tt_preload_next(#name);                            \
        return next;                                                                     \
    }                                                                                    \
    struct tt_semicolon

/* interpose-signal.c: the system's sigaction. */
int tt_preload_sigaction(int, const struct sigaction *, struct sigaction *);

/* And its sigaltstack: see tt_look_lend. */
int tt_preload_lend(char *stack, size_t size);

/* interpose-loader.c: the calls that change what is loaded are watched from now on. */
void tt_preload_watch(void);

/* interpose-exec.c: notes in this folder which programs are started; NULL: nowhere. */
void tt_preload_note_programs(const char *folder);

/* What the library has that stands before the allocator too; the other has none. */
struct tt_preload_heap {
    void (*start)(void); /* before the recording */
    void (*stop)(void);
    void (*forked)(void); /* in the child */
    int *on;
};
extern const struct tt_preload_heap tt_preload_heap
    __attribute__((weak, visibility("hidden")));

/* Looks for the C library's syscall. */
void tt_preload_find_syscall(void);

/* What the library's syscall does, without looking for it: allocators call such functions,
 * and the loader allocates. */
static inline long tt_call_system(long number, const long a[6])
{
    long result = number;

#if defined __x86_64__
    register long r10 __asm__("r10") = a[3];
    register long r8 __asm__("r8") = a[4];
    register long r9 __asm__("r9") = a[5];

    __asm__ volatile("syscall"
                     : "+a"(result)
                     : "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
#elif defined __aarch64__
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a[0];
    register long x1 __asm__("x1") = a[1];
    register long x2 __asm__("x2") = a[2];
    register long x3 __asm__("x3") = a[3];
    register long x4 __asm__("x4") = a[4];
    register long x5 __asm__("x5") = a[5];

    __asm__ volatile("svc 0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory");
    result = x0;
#endif
    if (result >= 0 || result < -4095)
        return result;
    errno = (int)-result;
    return -1;
}

#define TT_INTERPOSE __attribute__((visibility("default")))

#endif
