/* SPDX-License-Identifier: MIT */
/* needs: internals */
/* dlopen-test.c - the runtime as a library that a program loads later, and lets go of. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "recorded.h"
#include "tap.h"

static struct api {
    void *library;
    int (*start)(const char *);
    int (*stop)(void);
    tt_block (*block_get)(const char *, const char *, uint32_t, uint32_t);
    tt_mark (*push)(tt_block);
    void (*pop)(tt_mark);
    int (*write)(const char *);
} api;

static void *symbol(const char *name)
{
    void *at = dlsym(api.library, name);

    CHECK(at != NULL);
    return at;
}

static int open_runtime(void)
{
    char path[4096];

    snprintf(path, sizeof path, "%s/libtallytree.so", getenv("TT_BUILD"));
    api.library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!CHECK(api.library != NULL)) {
        fprintf(stderr, "# %s\n", dlerror());
        return -1;
    }
    *(void **)&api.start = symbol("tt_start");
    *(void **)&api.stop = symbol("tt_stop");
    *(void **)&api.block_get = symbol("tt_block_get");
    *(void **)&api.push = symbol("tt_push");
    *(void **)&api.pop = symbol("tt_pop");
    *(void **)&api.write = symbol("tt_write");
    return tap.failed ? -1 : 0;
}

static void work(const char *name, int times)
{
    tt_block block = api.block_get(name, "", 0, 0);

    while (times--)
        api.pop(api.push(block));
}

static pthread_barrier_t barrier;

static void *work_and_stay(void *arg)
{
    work("thread", 7);
    pthread_barrier_wait(&barrier); /* it has worked */
    pthread_barrier_wait(&barrier); /* the library is closed */
    return arg;
}

/* The calls of a block in the file that the loaded runtime wrote. */
static uint64_t written_calls(const char *path, const char *name)
{
    struct recorded r;
    uint64_t calls = 0;

    CHECK_INT(api.write(path), 0);
    r = recorded_file(path, 0);
    if (CHECK_INT(r.error, 0))
        calls = recorded_calls(&r, name);
    recorded_free(&r);
    unlink(path);
    return calls;
}

TEST(the_runtime_is_loaded_and_closed_and_loaded_again_under_a_thread_that_it_knows)
{
    char path[] = "/tmp/tallytree-dlopen-XXXXXX";
    pthread_t thread;

    if (!getenv("TT_BUILD"))
        SKIP("TT_BUILD says where the library is");
    close(mkstemp(path));
    pthread_barrier_init(&barrier, NULL, 2);
    for (int i = 0; i < 20; i++) {
        if (open_runtime() != 0)
            return;
        CHECK_INT(api.start(i & 1 ? "exact" : "sampled=1000"), 0);
        work("main", 5);
        pthread_create(&thread, NULL, work_and_stay, NULL);
        pthread_barrier_wait(&barrier);
        if (i & 1) {
            CHECK_INT(written_calls(path, "main"), 5);
            CHECK_INT(written_calls(path, "thread"), 7);
        }
        if (i % 4 < 2)
            CHECK_INT(api.stop(), 0);
        CHECK_INT(dlclose(api.library), 0);
        pthread_barrier_wait(&barrier);
        pthread_join(thread, NULL);
        if (i % 4 >= 2 && open_runtime() == 0) {
            CHECK_INT(api.stop(), 0); /* it has gone on meanwhile */
            CHECK_INT(dlclose(api.library), 0);
        }
    }
    pthread_barrier_destroy(&barrier);
}
