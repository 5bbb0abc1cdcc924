/* SPDX-License-Identifier: MIT */
/* needs: internals */
/* memory-test.c - the system has no memory left, at each of the moments it is asked for some:
 * the program goes on, and every push is in the recording or counted as lost. */
#include <errno.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "recorded.h"
#include "tap.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define UNABLE "the sanitizer gives out memory by itself"
#elif !defined(__GLIBC__)
#define UNABLE "only glibc's malloc has another name"
#else

static struct asked { /* shared with the children */
    long asked, left; /* left: requests until one fails; negative: none does */
    int for_ever;     /* and all after it */
} * asked;

static int refuses(void)
{
    if (!asked)
        return 0;
    __atomic_add_fetch(&asked->asked, 1, __ATOMIC_RELAXED);
    if (__atomic_load_n(&asked->left, __ATOMIC_RELAXED) < 0)
        return 0;
    long left = __atomic_fetch_sub(&asked->left, 1, __ATOMIC_RELAXED);
    if (left == 0 && asked->for_ever)
        __atomic_store_n(&asked->left, 0, __ATOMIC_RELAXED);
    if (left == 0)
        errno = ENOMEM;
    return left == 0;
}

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);

void *malloc(size_t size) { return refuses() ? NULL : __libc_malloc(size); }

void *calloc(size_t n, size_t size) { return refuses() ? NULL : __libc_calloc(n, size); }

void *realloc(void *p, size_t size) { return refuses() ? NULL : __libc_realloc(p, size); }

void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    if (refuses())
        return MAP_FAILED;
    return (void *)syscall(SYS_mmap, at, size, protection, flags, fd, offset);
}

static unsigned pushed;

static void push_deep(int depth)
{
    char name[16];

    snprintf(name, sizeof name, "b%d", depth % 200);
    tt_mark mark = tt_push(tt_block_get(name, "file", 1, 1));
    __atomic_add_fetch(&pushed, 1, __ATOMIC_RELAXED);
    tt_add(tt_metric_get("metric", ""), 1);
    if (depth)
        push_deep(depth - 1);
    tt_pop(mark);
}

static void *push_in_thread(void *arg)
{
    for (int i = 0; i < 3; i++) {
        TT_SCOPE("scope");
        __atomic_add_fetch(&pushed, 1, __ATOMIC_RELAXED);
    }
    push_deep(600);
    return arg;
}

static int ignore(const struct tt_visited *v, void *arg)
{
    (void)v, (void)arg;
    return 0;
}

/* 0: all is there; 1: there is no recording. */
static int live(const char *options)
{
    struct recorded r;
    uint64_t calls = 0;
    pthread_t thread;
    int started = tt_start(options), wrong;

    if (started == 0) {
        push_deep(1500);
        if (pthread_create(&thread, NULL, push_in_thread, NULL) == 0)
            pthread_join(thread, NULL);
        (void)tt_visit(ignore, NULL);
        (void)tt_write("/dev/null/no-folder");
        (void)tt_stop();
    }
    __atomic_store_n(&asked->left, -1, __ATOMIC_RELAXED);
    asked->for_ever = 0;
    if (started != 0)
        return started == -TT_ERR_MEMORY ? 1 : 2;
    r = recorded_here();
    for (uint32_t i = 0; !r.error && i < r.picture.blocks; i++)
        calls += r.picture.block[i].calls;
    calls += recorded_lost_pushes(&r) + (r.error ? 0 : r.picture.header->lost_calls);
    wrong = r.error || calls != pushed;
    if (wrong)
        fprintf(stderr, "# %d, %lu of %u\n", r.error, (unsigned long)calls, pushed);
    return wrong ? 3 : 0;
}

static void fail_each(const char *options, int for_ever)
{
    long n = 0, none = 0;
    int status;

    if (!asked)
        asked = mmap(NULL, sizeof *asked, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    do {
        asked->asked = 0;
        asked->left = n++;
        asked->for_ever = for_ever;
        pid_t child = fork();
        if (child == 0)
            _exit(live(options));
        waitpid(child, &status, 0);
        if (!CHECK(WIFEXITED(status) && WEXITSTATUS(status) < 2)) {
            fprintf(stderr, "# %s: request %ld, status %x\n", options, n,
                    (unsigned)status);
            asked->left = -1;
            return;
        }
        none += WEXITSTATUS(status) == 1;
    } while (asked->asked >= n);
    asked->left = -1;
    CHECK(n > 20 && none < n);
    fprintf(stderr, "# %ld requests, %ld without a recording\n", n, none);
}
#endif

#ifdef UNABLE
static void fail_each(const char *options, int for_ever)
{
    (void)options, (void)for_ever;
    SKIP(UNABLE);
}
#endif

TEST(each_request_for_memory_may_fail) { fail_each("calls", 0); }
TEST(each_request_for_memory_may_fail_in_mode_exact)
{
    fail_each("exact,histogram,slowest=b1=3", 0);
}
TEST(memory_may_end_at_each_request) { fail_each("calls", 1); }
TEST(memory_may_end_at_each_request_in_mode_exact)
{
    fail_each("exact,histogram,slowest=b1=3", 1);
}
