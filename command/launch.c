/* SPDX-License-Identifier: MIT */
/* launch.c - runs a program as if nobody stood between it and who started it. */
#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"

/* Those of the terminal go to all of the foreground; the others to whom they are sent. */
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

static void give_signals_back(void)
{
    for (int i = 0; i < TERMINAL; i++)
        (void)sigaction(from_terminal[i], &before[i], NULL);
    for (int i = 0; i < SENT; i++)
        (void)sigaction(sent_on[i], &before[TERMINAL + i], NULL);
}

/* In the child: `end` closes when the program begins; before, it says what went wrong. */
static void become(const char *path, char **argv, int (*prepare)(void *), void *arg,
                   int end)
{
    int status = TT_LAUNCH_FAILED;

    give_signals_back();
    if (prepare(arg) == 0) {
        (void)execv(path, argv);
        if (errno == ENOEXEC) { /* no #!: what execvp and shells do with it */
            argv[-1] = (char *)(uintptr_t) "/bin/sh";
            argv[0] = (char *)(uintptr_t)path;
            (void)execv("/bin/sh", argv - 1);
        }
        status = errno == ENOENT ? 127 : 126;
        tt_complain("%s: %s", path, strerror(errno));
    }
    if (write(end, &status, sizeof status) < 0)
        status = TT_LAUNCH_FAILED;
    _exit(status);
}

pid_t tt_launch(const char *path, char **argv, int (*prepare)(void *), void *arg)
{
    int ends[2], status = TT_LAUNCH_FAILED;
    ssize_t n;
    pid_t child;

    if (pipe2(ends, O_CLOEXEC) != 0) {
        tt_complain("%s", strerror(errno));
        return -TT_LAUNCH_FAILED;
    }
    take_signals();
    child = fork();
    if (child == 0) {
        close(ends[0]);
        become(path, argv, prepare, arg, ends[1]);
    }
    running = child > 0 ? child : 0;
    if (child < 0)
        tt_complain("%s", strerror(errno));
    close(ends[1]);
    do
        n = child < 0 ? 1 : read(ends[0], &status, sizeof status);
    while (n < 0 && errno == EINTR);
    close(ends[0]);
    if (n == 0)
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
    /* Its memory was dumped, if anybody's is to be. */
    (void)setrlimit(RLIMIT_CORE, &none);
    (void)signal(WTERMSIG(status), SIG_DFL);
    sigemptyset(&set);
    sigaddset(&set, WTERMSIG(status));
    (void)sigprocmask(SIG_UNBLOCK, &set, NULL);
    (void)raise(WTERMSIG(status));
    exit(128 + WTERMSIG(status));
}
