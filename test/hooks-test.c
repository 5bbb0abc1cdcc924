/* SPDX-License-Identifier: MIT */
/* needs: internals */
/* hooks-test.c - threads whose compiler's hooks have new code looked at. */
#include <pthread.h>
#include <sys/syscall.h>

#include "block.h"
#include "next-function.h"
#include "preload.h"
#include "recorded.h"
#include "tallytree.h"
#include "tap.h"

void __cyg_profile_func_enter(void *function, void *caller);
void __cyg_profile_func_exit(void *function, void *caller);

/* hooks.c looks for the C library's own, which are not to be called here. */
void *tt_next_function(const char *name)
{
    (void)name;
    return NULL;
}

#define HOOKED(name)                                                                     \
    static __attribute__((noinline)) void name(void)                                     \
    {                                                                                    \
        __cyg_profile_func_enter((void *)(uintptr_t)name, NULL);                         \
        __cyg_profile_func_exit((void *)(uintptr_t)name, NULL);                          \
    }
HOOKED(known)
HOOKED(looked_at)
HOOKED(handled)

static pid_t other;
static int is_through; /* the other thread, without having waited */

static void *call_new(void *arg)
{
    __atomic_store_n(&other, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
    looked_at();
    __atomic_store_n(&is_through, 1, __ATOMIC_RELEASE);
    return arg;
}

/* Does the other thread sleep? */
static int is_waiting(void)
{
    char path[64], text[256], *state;
    int fd;
    ssize_t n;

    snprintf(path, sizeof path, "/proc/self/task/%d/stat",
             (int)__atomic_load_n(&other, __ATOMIC_ACQUIRE));
    fd = open(path, O_RDONLY | O_CLOEXEC);
    n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    state = strrchr(text, ')');
    return state && state[1] && state[2] == 'S';
}

TEST(a_handler_of_who_holds_a_lock_waits_for_nobody_who_looks_at_new_code)
{
    struct recorded r;
    pthread_t thread;

    if (!CHECK(tt_start("calls") == 0))
        return;
    known();
    tt_block_lock(); /* in the midst of the profiler, a handler comes: */
    if (CHECK(pthread_create(&thread, NULL, call_new, NULL) == 0)) {
        while (!is_waiting() && !__atomic_load_n(&is_through, __ATOMIC_ACQUIRE))
            usleep(1000);
        CHECK_INT(is_through, 0);
        handled(); /* where it failed, both would wait for ever */
        tt_block_unlock();
        pthread_join(thread, NULL);
    }
    handled();
    r = recorded_here();
    CHECK_INT(recorded_lost_pushes(&r), 1);
    recorded_free(&r);
    tt_stop();
}
