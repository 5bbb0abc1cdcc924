/* SPDX-License-Identifier: MIT */
/* launch.c - runs a program as if its parent had started it directly. */
#include "launch.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"
#include "complain.h"

/* The terminal sends these to all processes in the foreground; others are sent to single
 * processes. */
static const int from_terminal[] = {SIGINT, SIGQUIT};
static const int sent_on[] = {SIGHUP, SIGTERM, SIGUSR1, SIGUSR2, SIGCONT};
enum { TERMINAL = 2, SENT = 5 };

static volatile pid_t running; /* 0: not yet, or no more */
static struct sigaction before[TERMINAL + SENT];

static void send_on(int number)
{
    int saved = errno;

    if (running)
        (void)kill(running, number);
    errno = saved;
}

static void take_signals(void)
{
    struct sigaction action = {.sa_handler = SIG_IGN};

    for (int i = 0; i < TERMINAL; i++)
        (void)sigaction(from_terminal[i], &action, &before[i]);
    action.sa_handler = send_on;
    action.sa_flags = SA_RESTART;
    for (int i = 0; i < SENT; i++) {
        (void)sigaction(sent_on[i], &action, &before[TERMINAL + i]);
        if (before[TERMINAL + i].sa_handler == SIG_IGN)
            (void)sigaction(sent_on[i], &before[TERMINAL + i], NULL);
    }
}

/* Signals that arrive before the child's id is known wait. */
static void hold_signals(sigset_t *mask)
{
    sigset_t set;

    sigemptyset(&set);
    for (int i = 0; i < SENT; i++)
        sigaddset(&set, sent_on[i]);
    (void)sigprocmask(SIG_BLOCK, &set, mask);
}

static void give_signals_back(void)
{
    for (int i = 0; i < TERMINAL; i++)
        (void)sigaction(from_terminal[i], &before[i], NULL);
    for (int i = 0; i < SENT; i++)
        (void)sigaction(sent_on[i], &before[TERMINAL + i], NULL);
}

/* Connects parent and child until the program begins, by two descriptors, as there may be
 * no room for more.  The child's end closes when the program begins; an error is written
 * before that.  If the parent's end closes without a word, the program shall not
 * begin. */
enum { PARENT, CHILD };

static ssize_t read_again(int fd, void *to, size_t size)
{
    ssize_t n;

    do
        n = read(fd, to, size);
    while (n < 0 && errno == EINTR);
    return n;
}

/* In the child. */
static int execute(const char *path, char **argv)
{
    (void)execv(path, argv);
    if (errno == ENOEXEC) { /* no #!: what execvp and shells do with it */
        argv[-1] = (char *)(uintptr_t) "/bin/sh";
        argv[0] = (char *)(uintptr_t)path;
        (void)execv("/bin/sh", argv - 1);
    }
    tt_complain("%s: %s", path, strerror(errno));
    return errno == ENOENT ? 127 : 126;
}

/* A signal that ends it waits until the parent can know what was prepared, and remove it. */
static int prepare(const struct tt_launching *l, const sigset_t *mask)
{
    sigset_t all;
    int error;

    sigfillset(&all);
    (void)sigprocmask(SIG_BLOCK, &all, NULL);
    give_signals_back();
    error = l->prepare(l->arg);
    (void)sigprocmask(SIG_SETMASK, mask, NULL);
    return error;
}

static void become(const char *path, char **argv, const struct tt_launching *l,
                   const int pair[2], const sigset_t *mask)
{
    int status = TT_LAUNCH_FAILED;
    char word;

    close(pair[PARENT]);
    if (prepare(l, mask) == 0 && read_again(pair[CHILD], &word, 1) == 1)
        status = execute(path, argv);
    if (send(pair[CHILD], &status, sizeof status, MSG_NOSIGNAL) < 0)
        status = TT_LAUNCH_FAILED;
    _exit(status);
}

/* Returns 0 if the program has begun, or was killed before; or the status to exit
 * with. */
static int let_go(pid_t child, const struct tt_launching *l, int end)
{
    int status = TT_LAUNCH_FAILED;

    if (!l->started || l->started(l->arg, child) == 0)
        (void)send(end, "", 1, MSG_NOSIGNAL);
    (void)shutdown(end, SHUT_WR);
    return read_again(end, &status, sizeof status) > 0 ? status : 0;
}

pid_t tt_launch(const char *path, char **argv, const struct tt_launching *l)
{
    int pair[2], status = TT_LAUNCH_FAILED;
    sigset_t mask;
    pid_t child;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
        tt_complain("%s: cannot be started: %s%s", path, strerror(errno),
                    errno == EMFILE ? "; raise the limit of open files, 'ulimit -n'"
                                    : "");
        return -TT_LAUNCH_FAILED;
    }
    hold_signals(&mask);
    take_signals();
    child = fork();
    if (child == 0)
        become(path, argv, l, pair, &mask);
    running = child > 0 ? child : 0;
    (void)sigprocmask(SIG_SETMASK, &mask, NULL);
    close(pair[CHILD]);
    if (child < 0)
        tt_complain("%s: cannot be started: %s", path, strerror(errno));
    else
        status = let_go(child, l, pair[PARENT]);
    close(pair[PARENT]);
    if (!status)
        return child;
    if (child > 0)
        (void)tt_launch_wait(child);
    return -status;
}

int tt_launch_wait(pid_t child)
{
    int status;

    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) {
            status = TT_LAUNCH_FAILED << 8;
            break;
        }
    running = 0;
    give_signals_back();
    return status;
}

void tt_launch_end(int status)
{
    struct rlimit none = {0, 0};
    sigset_t set;

    if (!WIFSIGNALED(status))
        exit(WEXITSTATUS(status));
    /* The program has dumped core already, if this is allowed. */
    (void)setrlimit(RLIMIT_CORE, &none);
    (void)signal(WTERMSIG(status), SIG_DFL);
    sigemptyset(&set);
    sigaddset(&set, WTERMSIG(status));
    (void)sigprocmask(SIG_UNBLOCK, &set, NULL);
    (void)raise(WTERMSIG(status));
    exit(128 + WTERMSIG(status));
}
