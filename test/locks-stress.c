/* SPDX-License-Identifier: MIT */
/* locks-stress.c - all kinds of locks, and pipes and the like, at a time, with signals,
 * cancellation, forks, jumps, and code that goes; what it prints is the same in each run. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 4, ROUNDS = 60, KINDS = 6 };

static pthread_mutex_t
    mutex[KINDS]; /* normal, recursive, checking, adaptive, robust, PI */
static pthread_mutex_t initialised = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t queue = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t in_handler = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t forking = PTHREAD_MUTEX_INITIALIZER;
static mtx_t plain;
static sem_t posts;
static long total[KINDS], recursive_total, written, queued, plain_total, wrong, passed;
static int handled, done, interrupted;
static int ring[2], silent[2], pair[2], event, from_handler[2];

static void moment(long ns)
{
    const struct timespec t = {0, ns};

    nanosleep(&t, NULL);
}

static void check(int is_right, int line)
{
    if (is_right)
        return;
    __atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
    fprintf(stderr, "locks-stress: line %d is wrong, errno %d\n", line, errno);
}
#define must(is_right) check(is_right, __LINE__)

/* ── Handlers that lock ───────────────────────────────────────────────────────────── */

static void on_signal(int number)
{
    int saved = errno;

    (void)number;
    pthread_mutex_lock(&in_handler);
    __atomic_fetch_add(&handled, 1, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&in_handler);
    sem_post(&posts);
    (void)!write(from_handler[1], "x", 1); /* it may be full */
    errno = saved;
}

/* Without SA_RESTART. */
static void on_interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

static __thread sigjmp_buf *away;

static void on_jump(int number)
{
    (void)number;
    if (away)
        siglongjmp(*away, 1);
}

/* ── Mutexes of all kinds ─────────────────────────────────────────────────────────── */

static void make_mutexes(void)
{
    static const int type[KINDS] = {PTHREAD_MUTEX_NORMAL,     PTHREAD_MUTEX_RECURSIVE,
                                    PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_ADAPTIVE_NP,
                                    PTHREAD_MUTEX_NORMAL,     PTHREAD_MUTEX_NORMAL};
    pthread_mutexattr_t a;

    for (int i = 0; i < KINDS; i++) {
        pthread_mutexattr_init(&a);
        pthread_mutexattr_settype(&a, type[i]);
        if (i == 4)
            pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
        if (i == 5)
            pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_INHERIT);
        pthread_mutex_init(&mutex[i], &a);
        pthread_mutexattr_destroy(&a);
    }
}

static void take(int i)
{
    int error = pthread_mutex_lock(&mutex[i]);

    if (error == EOWNERDEAD)
        pthread_mutex_consistent(&mutex[i]);
    else
        must(error == 0);
}

static void use_mutexes(int round)
{
    struct timespec soon;

    for (int i = 0; i < KINDS; i++) {
        take(i);
        if (i == 2)
            must(pthread_mutex_lock(&mutex[i]) == EDEADLK);
        if (i == 1)
            must(pthread_mutex_lock(&mutex[i]) == 0 &&
                 pthread_mutex_unlock(&mutex[i]) == 0);
        total[i]++;
        if (round % 8 == i)
            moment(100000);
        must(pthread_mutex_unlock(&mutex[i]) == 0);
    }
    must(pthread_mutex_unlock(&mutex[2]) == EPERM);
    clock_gettime(CLOCK_REALTIME, &soon);
    if (pthread_mutex_timedlock(&mutex[0], &soon) == 0)
        pthread_mutex_unlock(&mutex[0]);
    pthread_mutex_lock(&initialised);
    pthread_mutex_lock(&initialised);
    recursive_total++;
    pthread_mutex_unlock(&initialised);
    pthread_mutex_unlock(&initialised);
    mtx_lock(&plain);
    plain_total++;
    mtx_unlock(&plain);
}

static void *die_with_it(void *arg)
{
    take(4);
    return arg;
}

/* ── Readers, writers, a queue ────────────────────────────────────────────────────── */

static void use_others(int round)
{
    if (round % 4 == 0) {
        must(pthread_rwlock_wrlock(&rwlock) == 0);
        written++;
        moment(50000);
    } else {
        must(pthread_rwlock_rdlock(&rwlock) == 0);
    }
    must(pthread_rwlock_unlock(&rwlock) == 0);
    pthread_mutex_lock(&queue);
    queued++;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&queue);
}

static void unlock_queue(void *arg) { pthread_mutex_unlock(arg); }

/* Until it is cancelled: then it has the mutex, and gives it back. */
static void *await_change(void *arg)
{
    pthread_mutex_lock(&queue);
    pthread_cleanup_push(unlock_queue, &queue);
    for (;;)
        pthread_cond_wait(&changed, &queue);
    pthread_cleanup_pop(1);
    return arg;
}

static void *await_post(void *arg)
{
    static sem_t never;

    sem_wait(&never);
    return arg;
}

static void cancel_one(void *(*run)(void *))
{
    pthread_t thread;
    void *result;

    must(pthread_create(&thread, NULL, run, NULL) == 0);
    moment(300000);
    must(pthread_cancel(thread) == 0);
    must(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
}

/* A handler leaves the wait. */
static void jump_away(void)
{
    static sem_t never;
    sigjmp_buf here;

    if (sigsetjmp(here, 1) == 0) {
        away = &here;
        pthread_kill(pthread_self(), SIGUSR2);
        sem_wait(&never);
    }
    away = NULL;
}

/* ── Pipes, sockets, eventfds ─────────────────────────────────────────────────────── */

#define AGAIN(call)                                                                      \
    ({                                                                                   \
        long result_;                                                                    \
        do                                                                               \
            result_ = call;                                                              \
        while (result_ < 0 && errno == EINTR);                                           \
        result_;                                                                         \
    })

static void make_channels(void)
{
    struct sigaction a;

    memset(&a, 0, sizeof a);
    a.sa_handler = on_interrupt;
    sigaction(SIGWINCH, &a, NULL);
    signal(SIGPIPE, SIG_IGN);
    must(pipe(ring) == 0 && pipe2(silent, O_CLOEXEC) == 0 &&
         pipe2(from_handler, O_NONBLOCK) == 0 &&
         socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 &&
         (event = eventfd(0, EFD_SEMAPHORE)) >= 0);
}

/* Each thread gives one, and takes one: maybe that of another. */
static void pass_around(int round)
{
    const uint64_t one = 1;
    struct pollfd p = {ring[0], POLLIN, 0};
    char c = 0;
    uint64_t value = 0;

    if (round % 3 == 0)
        moment(20000);
    must(AGAIN(write(ring[1], "a", 1)) == 1);
    if (round % 2)
        must(AGAIN(poll(&p, 1, -1)) == 1);
    must(AGAIN(read(ring[0], &c, 1)) == 1 && c == 'a');
    must(AGAIN(write(event, &one, sizeof one)) == sizeof one);
    must(AGAIN(read(event, &value, sizeof value)) == sizeof value && value == 1);
    must(AGAIN(send(pair[1], "b", 1, 0)) == 1);
    must(AGAIN(recv(pair[0], &c, 1, 0)) == 1 && c == 'b');
    __atomic_fetch_add(&passed, 1, __ATOMIC_RELAXED);
}

#define EXPECT(call, want, wanted)                                                       \
    do {                                                                                 \
        const long got_ = AGAIN(call);                                                   \
        must(got_ == (want) && (got_ >= 0 || errno == (wanted)));                        \
    } while (0)

static void make_errors(void)
{
    struct pollfd p = {silent[0], POLLIN, 0};
    struct timeval soon = {0, 100};
    struct epoll_event e = {.events = EPOLLIN};
    const int set = epoll_create1(EPOLL_CLOEXEC), own = dup(silent[0]);
    void *volatile nowhere = (void *)16;
    fd_set reads;
    int fd[2];
    char c;

    EXPECT(read(-1, &c, 1), -1, EBADF);
    EXPECT(read(silent[1], &c, 1), -1, EBADF);
    EXPECT(write(silent[0], &c, 1), -1, EBADF);
    EXPECT(poll(nowhere, 1, 1), -1, EFAULT);
    EXPECT(select(silent[0] + 1, nowhere, NULL, NULL, NULL), -1, EFAULT);
    EXPECT(poll(&p, 1, 1), 0, 0);
    FD_ZERO(&reads);
    FD_SET(silent[0], &reads);
    must(select(silent[0] + 1, &reads, NULL, NULL, &soon) <= 0);
    must(epoll_ctl(set, EPOLL_CTL_ADD, own, &e) == 0);
    EXPECT(epoll_wait(set, &e, 1, 1), 0, 0);
    must(close(own) == 0 && close(set) == 0);
    EXPECT(recv(pair[1], &c, 1, MSG_DONTWAIT), -1, EAGAIN);
    EXPECT(waitpid(1, NULL, 0), -1, ECHILD);
    pthread_mutex_lock(&forking); /* no child may have a copy of the ends */
    must(pipe2(fd, O_NONBLOCK) == 0);
    EXPECT(read(fd[0], &c, 1), -1, EAGAIN);
    close(fd[1]);
    EXPECT(read(fd[0], &c, 1), 0, 0);
    errno = 77;
    must(read(fd[0], &c, 0) == 0 && errno == 77);
    close(fd[0]);
    must(pipe(fd) == 0);
    close(fd[0]);
    EXPECT(write(fd[1], "x", 1), -1, EPIPE);
    close(fd[1]);
    pthread_mutex_unlock(&forking);
}

static void *await_data(void *arg)
{
    char c;

    (void)!read(silent[0], &c, 1);
    return arg;
}

static void *await_any(void *arg)
{
    struct pollfd p = {silent[0], POLLIN, 0};

    for (;;)
        (void)poll(&p, 1, -1);
    return arg;
}

/* A handler leaves the read. */
static void jump_from_read(void)
{
    sigjmp_buf here;
    char c;

    if (sigsetjmp(here, 1) == 0) {
        away = &here;
        pthread_kill(pthread_self(), SIGUSR2);
        (void)!read(silent[0], &c, 1);
    }
    away = NULL;
}

/* The child writes, ends, and with it the pipe. */
static void read_from_child(void)
{
    char text[16];
    int fd[2], status = -1;
    long n, sum = 0;
    pid_t pid;

    must(pipe2(fd, O_CLOEXEC) == 0);
    pid = fork();
    if (pid == 0) {
        close(fd[0]);
        for (int i = 0; i < 10; i++) {
            moment(20000);
            if (AGAIN(write(fd[1], "x", 1)) != 1)
                _exit(1);
        }
        exit(41);
    }
    close(fd[1]);
    while ((n = AGAIN(read(fd[0], text, sizeof text))) > 0)
        sum += n;
    must(n == 0 && sum == 10 && close(fd[0]) == 0);
    must(AGAIN(waitpid(pid, &status, 0)) == pid && WIFEXITED(status) &&
         WEXITSTATUS(status) == 41);
}

static void start_programs(void)
{
    static char name[] = "true";
    char *argv[] = {name, NULL};
    siginfo_t info;
    pid_t pid;

    must(posix_spawnp(&pid, "true", NULL, NULL, argv, environ) == 0);
    must(AGAIN(waitid(P_PID, (id_t)pid, &info, WEXITED)) == 0 && info.si_pid == pid &&
         info.si_status == 0);
    pid = vfork();
    if (pid == 0)
        _exit(40);
    must(AGAIN(wait4(pid, &info.si_status, 0, NULL)) == pid &&
         WEXITSTATUS(info.si_status) == 40);
}

/* ── Forks, and code that goes ────────────────────────────────────────────────────── */

static void *in_child(void *arg)
{
    pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;

    for (int i = 0; i < 50; i++) {
        pthread_mutex_lock(&own);
        pthread_mutex_unlock(&own);
        pthread_mutex_lock(arg);
        moment(10000);
        pthread_mutex_unlock(arg);
    }
    return NULL;
}

static void fork_one(void)
{
    int status = -1;
    pid_t pid;

    pthread_mutex_lock(&forking);
    pid = fork();
    if (pid)
        pthread_mutex_unlock(&forking);
    if (pid == 0) {
        static pthread_mutex_t shared = PTHREAD_MUTEX_INITIALIZER;
        pthread_t thread;
        if (pthread_create(&thread, NULL, in_child, &shared) != 0)
            _exit(1);
        in_child(&shared);
        pthread_join(thread, NULL);
        _exit(42);
    }
    must(pid > 0 && AGAIN(waitpid(pid, &status, 0)) == pid && WIFEXITED(status) &&
         WEXITSTATUS(status) == 42);
}

static int (*count_in_plugin)(int);

static void *call_plugin(void *arg)
{
    for (int i = 0; i < 5; i++)
        count_in_plugin(1);
    return arg;
}

static void load_plugin(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    pthread_t thread[2];
    void (*keep)(void);

    must(library != NULL);
    if (!library)
        return;
    *(void **)&count_in_plugin = dlsym(library, "plugin_count");
    *(void **)&keep = dlsym(library, "plugin_keep");
    for (int i = 0; i < 2; i++)
        pthread_create(&thread[i], NULL, call_plugin, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    must(count_in_plugin(0) == 11);
    keep();
    must(dlclose(library) == 0);
}

/* ── All at a time ────────────────────────────────────────────────────────────────── */

static void *work(void *arg)
{
    for (int i = 0; i < ROUNDS; i++) {
        use_mutexes(i + (int)(long)arg);
        use_others(i);
        pass_around(i);
        if (i % 20 == 10 && !arg)
            fork_one();
        if (i % 10 == 5)
            jump_away();
        if (i % 10 == 7)
            jump_from_read();
    }
    return arg;
}

static void *send_signals(void *arg)
{
    const pthread_t *thread = arg;
    int round = 0;

    while (!__atomic_load_n(&done, __ATOMIC_ACQUIRE)) {
        for (int i = 0; i < THREADS; i++)
            pthread_kill(thread[i], SIGUSR1);
        pthread_kill(thread[++round % THREADS], SIGWINCH);
        moment(150000);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread[THREADS], sender, dead;

    signal(SIGUSR1, on_signal);
    signal(SIGUSR2, on_jump);
    make_mutexes();
    mtx_init(&plain, mtx_plain);
    sem_init(&posts, 0, 0);
    make_channels();
    for (long i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, work, (void *)i);
    pthread_create(&sender, NULL, send_signals, thread);
    for (int i = 0; i < 4; i++) {
        cancel_one(await_change);
        cancel_one(await_post);
        cancel_one(await_data);
        cancel_one(await_any);
        make_errors();
        pthread_create(&dead, NULL, die_with_it, NULL);
        pthread_join(dead, NULL);
        if (argc > 1)
            load_plugin(argv[1]);
        fork_one();
        read_from_child();
        start_programs();
    }
    sem_wait(&posts);
    __atomic_store_n(&done, 1, __ATOMIC_RELEASE);
    pthread_join(sender, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; i < KINDS; i++)
        printf("%ld ", total[i]);
    printf("%ld %ld %ld %ld %ld, wrong %ld, handled %d\n", recursive_total, written,
           queued, plain_total, passed, wrong, handled > 0);
    return wrong ? 1 : 7;
}
