/* SPDX-License-Identifier: MIT */
/* interpose-rights.c - changes of users and groups, which are for all threads.
 *
 * The system changes them for the calling thread.  The C library makes the call in each
 * thread, and ends the program if a result differs.  Our threads' results differ if the
 * program has changed its rights in one thread before, as by capset. */
#include <grp.h>
#include <sys/types.h>
#include <unistd.h>

#include "next-function.h"
#include "preload.h"

#define CHANGE(name, arguments, ...)                                                     \
    TT_NEXT_FUNCTION(int, name, __VA_ARGS__);                                            \
    TT_INTERPOSE int name(__VA_ARGS__)                                                   \
    {                                                                                    \
        const int paused_ = tt_preload_step_aside();                                     \
        const int result_ = next_##name() arguments;                                     \
        tt_preload_step_back(paused_);                                                   \
        return result_;                                                                  \
    }                                                                                    \
    struct tt_semicolon

CHANGE(setuid, (user), uid_t user);
CHANGE(seteuid, (user), uid_t user);
CHANGE(setreuid, (user, effective), uid_t user, uid_t effective);
CHANGE(setresuid, (user, effective, saved), uid_t user, uid_t effective, uid_t saved);
CHANGE(setgid, (group), gid_t group);
CHANGE(setegid, (group), gid_t group);
CHANGE(setregid, (group, effective), gid_t group, gid_t effective);
CHANGE(setresgid, (group, effective, saved), gid_t group, gid_t effective, gid_t saved);
CHANGE(setgroups, (count, groups), size_t count, const gid_t *groups);
CHANGE(initgroups, (user, group), const char *user, gid_t group);
