/* SPDX-License-Identifier: MIT */
/* interpose-thread.c - gives threads their strand, and their timer, before they run. */
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <threads.h>

#include "graft.h"
#include "next-function.h"
#include "node.h"
#include "preload.h"
#include "strand.h"
#include "system-call.h"

TT_NEXT_FUNCTION(int, pthread_create, pthread_t *, const pthread_attr_t *,
                 void *(*)(void *), void *);
TT_NEXT_FUNCTION(int, thrd_create, thrd_t *, thrd_start_t, void *);

/* What a new thread shall do, until it has begun.  The program's malloc is not called: it
 * may have locks, and hooks. */
struct beginning {
    void *(*run)(void *);
    int (*run_c11)(void *);
    void *arg;
    int is_taken;
};
static struct beginning beginnings[64];

static struct beginning *map_beginning(void)
{
    const long p = tt_call_system(SYS_mmap, (long[6]){0, sizeof(struct beginning),
                                                      PROT_READ | PROT_WRITE,
                                                      MAP_PRIVATE | MAP_ANONYMOUS, -1});

    return p == -1 ? NULL : (struct beginning *)p;
}

static struct beginning *take_beginning(void)
{
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
        if (!__atomic_exchange_n(&beginnings[i].is_taken, 1, __ATOMIC_ACQUIRE))
            return &beginnings[i];
    return map_beginning();
}

static void give_beginning(struct beginning *b)
{
    if (b >= beginnings && b < beginnings + sizeof beginnings / sizeof *beginnings)
        __atomic_store_n(&b->is_taken, 0, __ATOMIC_RELEASE);
    else
        (void)tt_call_system(SYS_munmap, (long[6]){(long)(uintptr_t)b, sizeof *b});
}

static void enter(uintptr_t function)
{
    const int saved = errno; /* a thread begins with 0 */
    struct tt_thread *t = tt_thread_enter();

    tt_graft_know_stack();
    if (t) {
        t->rounds = 0;
        tt_thread_leave(t);
    }
    if (&tt_preload_collector && tt_preload_collector.began)
        tt_preload_collector.began(function);
    errno = saved;
}

static void *begin(void *arg)
{
    const struct beginning b = *(struct beginning *)arg;

    give_beginning(arg);
    enter((uintptr_t)b.run);
    return b.run(b.arg);
}

static int begin_c11(void *arg)
{
    const struct beginning b = *(struct beginning *)arg;

    give_beginning(arg);
    enter((uintptr_t)b.run_c11);
    return b.run_c11(b.arg);
}

static struct beginning *prepare(void *(*run)(void *), int (*run_c11)(void *), void *arg)
{
    const int saved = errno;
    struct beginning *b;

    tt_preload_start();
    tt_preload_node_has_read();
    if (!__atomic_load_n(&tt_on, __ATOMIC_RELAXED))
        return NULL;
    b = take_beginning();
    if (b) {
        b->run = run;
        b->run_c11 = run_c11;
        b->arg = arg;
    }
    errno = saved;
    return b;
}

TT_INTERPOSE int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                                void *(*run)(void *), void *arg)
{
    struct beginning *b = prepare(run, NULL, arg);
    int error;

    if (!b)
        return next_pthread_create()(thread, attributes, run, arg);
    error = next_pthread_create()(thread, attributes, begin, b);
    if (error)
        give_beginning(b);
    return error;
}

TT_INTERPOSE int thrd_create(thrd_t *thread, thrd_start_t run, void *arg)
{
    struct beginning *b = prepare(NULL, run, arg);
    int error;

    if (!b)
        return next_thrd_create()(thread, run, arg);
    error = next_thrd_create()(thread, begin_c11, b);
    if (error != thrd_success)
        give_beginning(b);
    return error;
}
