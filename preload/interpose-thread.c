/* SPDX-License-Identifier: MIT */
/* interpose-thread.c - gives threads their strand, and their timer, before they run. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <threads.h>

#include "graft.h"
#include "next-function.h"
#include "node.h"
#include "preload.h"
#include "strand.h"

struct beginning {
    void *(*run)(void *);
    int (*run_c11)(void *);
    void *arg;
};

static void enter(uintptr_t function)
{
    const int saved = errno; /* a thread begins with 0 */
    struct tt_thread *t = tt_thread_enter();

    tt_graft_know_stack();
    if (t)
        tt_thread_leave(t);
    if (&tt_preload_collector && tt_preload_collector.began)
        tt_preload_collector.began(function);
    errno = saved;
}

static void *begin(void *arg)
{
    struct beginning b = *(struct beginning *)arg;

    free(arg);
    enter((uintptr_t)b.run);
    return b.run(b.arg);
}

static int begin_c11(void *arg)
{
    struct beginning b = *(struct beginning *)arg;

    free(arg);
    enter((uintptr_t)b.run_c11);
    return b.run_c11(b.arg);
}

static struct beginning *prepare(struct beginning b)
{
    struct beginning *kept;

    tt_preload_start();
    tt_preload_node_has_read();
    if (!__atomic_load_n(&tt_on, __ATOMIC_RELAXED))
        return NULL;
    kept = malloc(sizeof *kept);
    if (kept)
        *kept = b;
    return kept;
}

TT_INTERPOSE int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                                void *(*run)(void *), void *arg)
{
    static int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    struct beginning *b = prepare((struct beginning){.run = run, .arg = arg});
    int error;

    if (!next)
        next = (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *),
                        void *))tt_next_function("pthread_create");
    if (!b)
        return next(thread, attributes, run, arg);
    error = next(thread, attributes, begin, b);
    if (error)
        free(b);
    return error;
}

TT_INTERPOSE int thrd_create(thrd_t *thread, thrd_start_t run, void *arg)
{
    static int (*next)(thrd_t *, thrd_start_t, void *);
    struct beginning *b = prepare((struct beginning){.run_c11 = run, .arg = arg});
    int error;

    if (!next)
        next = (int (*)(thrd_t *, thrd_start_t, void *))tt_next_function("thrd_create");
    if (!b)
        return next(thread, run, arg);
    error = next(thread, begin_c11, b);
    if (error != thrd_success)
        free(b);
    return error;
}
