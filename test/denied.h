/* SPDX-License-Identifier: MIT */
/* denied.h - children that may not make some system call. */
#ifndef DENIED_H
#define DENIED_H

#if __has_include(<linux/seccomp.h>) /* not everywhere beside another C library */
#include <linux/filter.h>
#include <linux/seccomp.h>
#endif
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DENIED_NOT = 77 }; /* what a child ends with that cannot deny itself anything */

/* From here on `call` fails in this process; with `position`, only where that is its
 * fourth argument. */
static inline int deny(long number, const void *position)
{
#ifdef SECCOMP_RET_ERRNO
    const uint32_t low = (uint32_t)(uintptr_t)position;
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[3])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, low, 0, position != NULL),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof code[0], code};

    if (!position)
        code[3] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JA, 0, 0, 0);
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
#else
    return (void)number, (void)position, 0;
#endif
}

/* Runs it in a child; -1 when that did not end by itself. */
static inline int in_child(int (*run)(void))
{
    pid_t child = fork();
    int status = -1;

    if (child == 0)
        _exit(run());
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status)
                                                                    : -1;
}

#endif
