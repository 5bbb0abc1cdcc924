/* SPDX-License-Identifier: MIT */
/* wakes-guest.c - threads and processes that wait for pipes, sockets, eventfds and children,
 * and say themselves for how long.
 *
 *      wait KIND/ORIGIN/WAITER/WAKER NS DELAY
 *
 * WAKER is the function that ended the wait.  Of the time, the thread may have waited DELAY
 * for a processor, before the call or after it; wakes.t compares. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
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
#include <time.h>
#include <unistd.h>

#define APART __attribute__((noinline))
#define END() __asm__ volatile("") /* what was called before is no tail call */

static int pipe_fd[2], back_fd[2], socket_fd[2], event_fd;
static const char *kind, *origin;

static long long now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static void nap(double ms)
{
    struct timespec t = {(time_t)(ms / 1000), (long)(ms * 1e6) % 1000000000};

    nanosleep(&t, NULL);
}

struct moment {
    long long time, delay; /* ns; delay: that the thread could have run so far */
};

static struct moment begin(void)
{
    struct moment m = {now(), 0};
    FILE *f = fopen("/proc/thread-self/schedstat", "re");

    if (f && fscanf(f, "%*d %lld", &m.delay) != 1)
        m.delay = 0;
    if (f)
        fclose(f);
    return m;
}

/* In one write, as several processes print. */
static void note(const char *waiter, const char *waker, struct moment from)
{
    const struct moment to = begin();
    char line[200];
    int size = snprintf(line, sizeof line, "wait %s/%s/%s/%s %lld %lld\n", kind, origin,
                        waiter, waker, to.time - from.time, to.delay - from.delay);

    if (write(STDOUT_FILENO, line, (size_t)size) != size)
        abort();
}

static void run_two(void *(*first)(void *), void *(*second)(void *))
{
    pthread_t thread[2];

    pthread_create(&thread[0], NULL, first, NULL);
    pthread_create(&thread[1], NULL, second, NULL);
    pthread_join(thread[0], NULL);
    pthread_join(thread[1], NULL);
}

static APART void make_pipe(void)
{
    if (pipe(pipe_fd) != 0 || pipe(back_fd) != 0)
        abort();
    kind = "[waits: pipe of]";
    origin = "make_pipe";
    END();
}

/* ── A reader, and a writer that is slow on one of five paths ─────────────────────── */

static APART void put_item(double ms)
{
    nap(ms);
    if (write(pipe_fd[1], "x", 1) != 1)
        abort();
    END();
}

#define PATH(n, ms)                                                                      \
    static APART void path##n(void)                                                      \
    {                                                                                    \
        put_item(ms);                                                                    \
        END();                                                                           \
    }
PATH(0, 1)
PATH(1, 1)
PATH(2, 40)
PATH(3, 1)
PATH(4, 1)

static void (*const path[])(void) = {path0, path1, path2, path3, path4};

/* The reader asks for each item, so that it always waits. */
static void *write_items(void *arg)
{
    char c;

    for (int i = 0; i < 25 && read(back_fd[0], &c, 1) == 1; i++)
        path[i * 3 % 5]();
    return arg;
}

static APART void take_item(int i)
{
    static const char *const name[] = {"path0", "path1", "path2", "path3", "path4"};
    const struct moment from = begin();
    char c;

    if (read(pipe_fd[0], &c, 1) != 1)
        abort();
    note("take_item", name[i * 3 % 5], from);
    END();
}

static void *read_items(void *arg)
{
    for (int i = 0; i < 25; i++) {
        if (write(back_fd[1], "x", 1) != 1)
            abort();
        take_item(i);
    }
    return arg;
}

/* The same, with the writer in a child. */
static void run_processes(void)
{
    make_pipe();
    if (fork() == 0) {
        write_items(NULL);
        _exit(0);
    }
    read_items(NULL);
    wait(NULL);
}

/* ── One of each call that waits ──────────────────────────────────────────────────── */

static int epoll_fd;

static APART void wait_by_read(void)
{
    char c;

    if (read(pipe_fd[0], &c, 1) != 1)
        abort();
    END();
}

static APART void wait_by_poll(void)
{
    struct pollfd p[] = {{back_fd[0], POLLIN, 0}, {pipe_fd[0], POLLIN, 0}};

    if (poll(p, 2, -1) != 1)
        abort();
    END();
}

static APART void wait_by_select(void)
{
    fd_set set;

    FD_ZERO(&set);
    FD_SET(pipe_fd[0], &set);
    FD_SET(back_fd[0], &set);
    if (select(back_fd[1] + 1, &set, NULL, NULL, NULL) != 1)
        abort();
    END();
}

static APART void wait_by_epoll(void)
{
    struct epoll_event e;

    if (epoll_wait(epoll_fd, &e, 1, -1) != 1)
        abort();
    END();
}

static void watch(void)
{
    struct epoll_event e = {.events = EPOLLIN};

    epoll_fd = epoll_create1(0);
    if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, pipe_fd[0], &e) != 0)
        abort();
}

static const struct {
    const char *name;
    void (*run)(void);
} calls[] = {{"wait_by_read", wait_by_read},
             {"wait_by_poll", wait_by_poll},
             {"wait_by_select", wait_by_select},
             {"wait_by_epoll", wait_by_epoll}};

static APART void feed(void)
{
    if (write(pipe_fd[1], "x", 1) != 1)
        abort();
    END();
}

static void *feed_calls(void *arg)
{
    char c;

    for (int i = 0; i < 4 && read(back_fd[0], &c, 1) == 1; i++) {
        nap(15 + 5 * i);
        feed();
    }
    return arg;
}

static void *make_calls(void *arg)
{
    char c;

    for (int i = 0; i < 4; i++) {
        struct moment from;
        if (write(back_fd[1], "x", 1) != 1)
            abort();
        nap(3); /* the other thread has taken it */
        from = begin();
        calls[i].run();
        note(calls[i].name, "feed", from);
        if (i && read(pipe_fd[0], &c, 1) != 1)
            abort();
    }
    return arg;
}

/* ── A pool that an eventfd wakes ─────────────────────────────────────────────────── */

static APART void make_event(void)
{
    event_fd = eventfd(0, EFD_SEMAPHORE);
    kind = "[waits: eventfd of]";
    origin = "make_event";
    END();
}

static APART void take_task(void)
{
    const struct moment from = begin();
    eventfd_t value;

    if (eventfd_read(event_fd, &value) != 0)
        abort();
    note("take_task", "give_task", from);
    END();
}

static APART void give_task(void)
{
    const uint64_t one = 1;

    if (write(event_fd, &one, sizeof one) != sizeof one)
        abort();
    END();
}

static void *in_pool(void *arg)
{
    for (int i = 0; i < 5; i++)
        take_task();
    return arg;
}

static void *give_tasks(void *arg)
{
    for (int i = 0; i < 5; i++) {
        nap(12);
        give_task();
    }
    return arg;
}

/* ── Two connected sockets ────────────────────────────────────────────────────────── */

static APART void make_sockets(void)
{
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, socket_fd) != 0)
        abort();
    kind = "[waits: socket of]";
    origin = "make_sockets";
    END();
}

static APART void take_answer(void)
{
    const struct moment from = begin();
    char c;

    if (recv(socket_fd[0], &c, 1, 0) != 1)
        abort();
    note("take_answer", "answer", from);
    END();
}

static APART void answer(void)
{
    if (send(socket_fd[1], "x", 1, 0) != 1)
        abort();
    END();
}

static void *ask(void *arg)
{
    for (int i = 0; i < 5; i++)
        take_answer();
    return arg;
}

static void *answer_all(void *arg)
{
    for (int i = 0; i < 5; i++) {
        nap(10);
        answer();
    }
    return arg;
}

/* ── A full pipe, and a slow reader ───────────────────────────────────────────────── */

static char large[4096];

static APART void fill_pipe(void)
{
    const struct moment from = begin();

    if (write(pipe_fd[1], large, sizeof large) != sizeof large)
        abort();
    note("fill_pipe", "drain_pipe", from);
    END();
}

static APART void drain_pipe(void)
{
    char room[sizeof large];

    if (read(pipe_fd[0], room, sizeof room) != sizeof room)
        abort();
    END();
}

static void *drain_slowly(void *arg)
{
    for (int i = 0; i < 21; i++) {
        nap(3);
        drain_pipe();
    }
    return arg;
}

/* A writer's first wait for room is not seen. */
static void *fill_more(void *arg)
{
    if (write(pipe_fd[1], large, sizeof large) != sizeof large)
        abort();
    for (int i = 0; i < 20; i++)
        fill_pipe();
    return arg;
}

static void run_full(void)
{
    make_pipe();
    kind = "[waits: room in pipe of]";
    fcntl(pipe_fd[1], F_SETPIPE_SZ, sizeof large);
    if (write(pipe_fd[1], large, sizeof large) != sizeof large)
        abort();
    run_two(drain_slowly, fill_more);
}

/* ── The last writer closes ───────────────────────────────────────────────────────── */

static APART void await_end(void)
{
    const struct moment from = begin();
    char c;

    if (read(pipe_fd[0], &c, 1) != 0)
        abort();
    note("await_end", "close_late", from);
    END();
}

static APART void close_late(void)
{
    close(pipe_fd[1]);
    END();
}

static void *closes(void *arg)
{
    nap(40);
    close_late();
    return arg;
}

static void *awaits_end(void *arg)
{
    await_end();
    return arg;
}

/* ── Children ─────────────────────────────────────────────────────────────────────── */

static APART void end_child(int status) { _exit(status); }

static APART pid_t start_child(double ms)
{
    pid_t pid = fork();

    if (pid == 0) {
        nap(ms);
        end_child(3);
    }
    END();
    return pid;
}

static APART pid_t start_program(void)
{
    static char name[] = "sleep", time[] = "0.05";
    char *argv[] = {name, time, NULL};
    pid_t pid;

    if (posix_spawnp(&pid, "sleep", NULL, NULL, argv, environ) != 0)
        abort();
    END();
    return pid;
}

static APART void await_child(pid_t pid)
{
    const struct moment from = begin();
    int status;

    if (waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) != 3)
        abort();
    note("await_child", "end_child", from);
    END();
}

static APART void await_program(pid_t pid)
{
    const struct moment from = begin();

    if (waitpid(-1, NULL, 0) != pid)
        abort();
    origin = "start_program";
    note("await_program", "[process sleep]", from);
    END();
}

/* It has ended before the call: by a system call that is not seen. */
static APART void await_late(pid_t pid)
{
    siginfo_t info;

    if (syscall(SYS_waitid, P_PID, pid, &info, WEXITED | WNOWAIT, NULL) != 0 ||
        waitpid(pid, NULL, 0) != pid)
        abort();
    END();
}

static void run_children(void)
{
    kind = "[waits: child of]";
    origin = "start_child";
    await_child(start_child(40));
    await_child(start_child(60));
    await_late(start_child(20));
    await_program(start_program());
}

/* ── No waits ─────────────────────────────────────────────────────────────────────── */

static void *fill_first(void *arg)
{
    for (int i = 0; i < 1000; i++) {
        char c;
        struct pollfd p = {pipe_fd[0], POLLIN, 0};
        feed();
        if (poll(&p, 1, -1) != 1 || read(pipe_fd[0], &c, 1) != 1)
            abort();
    }
    return arg;
}

static void *send_first(void *arg)
{
    for (int i = 0; i < 1000; i++) {
        eventfd_t value;
        char c;
        give_task();
        answer();
        if (eventfd_read(event_fd, &value) != 0 || recv(socket_fd[0], &c, 1, 0) != 1)
            abort();
    }
    return arg;
}

static void run_ready(void)
{
    make_pipe();
    make_event();
    make_sockets();
    run_two(fill_first, send_first);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";

    if (strcmp(what, "paths") == 0) {
        make_pipe();
        run_two(read_items, write_items);
    } else if (strcmp(what, "processes") == 0) {
        run_processes();
    } else if (strcmp(what, "calls") == 0) {
        make_pipe();
        watch();
        run_two(make_calls, feed_calls);
    } else if (strcmp(what, "event") == 0) {
        make_event();
        run_two(in_pool, give_tasks);
    } else if (strcmp(what, "sockets") == 0) {
        make_sockets();
        run_two(ask, answer_all);
    } else if (strcmp(what, "full") == 0) {
        run_full();
    } else if (strcmp(what, "end") == 0) {
        make_pipe();
        run_two(awaits_end, closes);
    } else if (strcmp(what, "children") == 0) {
        run_children();
    } else if (strcmp(what, "ready") == 0) {
        run_ready();
    } else {
        return 2;
    }
    return 0;
}
