/* SPDX-License-Identifier: MIT */
/* launch.c - runs a program as if its parent had started it directly. */
#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "command.h"
#include "complain.h"

/* ── Signals ──────────────────────────────────────────────────────────────────────── */

enum { SIGNALS = 65 };

static volatile pid_t running; /* 0: not yet, or no more */
static volatile pid_t waker;   /* 0: none */
static struct sigaction before[SIGNALS];

/* The system sends these to the process whose instruction or call fails, which then repeats it. */
static int is_ours(int number, const siginfo_t *info)
{
    return info->si_code > 0 &&
           (number == SIGILL || number == SIGTRAP || number == SIGBUS ||
            number == SIGFPE || number == SIGSEGV || number == SIGSYS ||
            number == SIGTTIN || number == SIGTTOU);
}

/* Has another process sent it?  What the terminal sends reaches the program anyway, as it goes
 * to all processes in the foreground. */
static int is_sent(const siginfo_t *info)
{
    return (info->si_code == SI_USER || info->si_code == SI_TKILL ||
            info->si_code == SI_QUEUE) &&
           info->si_pid != getpid() && info->si_pid != waker;
}

static void send_on(int number, siginfo_t *info, void *context)
{
    const int saved = errno;

    (void)context;
    if (is_ours(number, info))
        (void)signal(number, SIG_DFL);
    else if (!running || (!is_sent(info) && number != SIGHUP))
        ;
    else if (info->si_code == SI_QUEUE)
        (void)sigqueue(running, number, info->si_value);
    else
        (void)kill(running, number);
    errno = saved;
}

/* The program may catch what is ignored now.  If SIGCHLD is ignored, no status is kept. */
static void take_signals(void)
{
    struct sigaction action = {.sa_sigaction = send_on,
                               .sa_flags = SA_RESTART | SA_SIGINFO},
                     usual = {.sa_handler = SIG_DFL};

    for (int i = 1; i < SIGNALS; i++)
        (void)sigaction(i, i == SIGCHLD ? &usual : &action, &before[i]);
}

static void give_signals_back(void)
{
    for (int i = 1; i < SIGNALS; i++)
        (void)sigaction(i, &before[i], NULL);
}

/* Signals that arrive before the child's id is known wait. */
static void hold_signals(sigset_t *mask)
{
    sigset_t set;

    sigfillset(&set);
    (void)sigprocmask(SIG_BLOCK, &set, mask);
}

/* ── The start ────────────────────────────────────────────────────────────────────── */

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

/* It may be stopped before it begins. */
static void await_answer(pid_t child, int end)
{
    struct pollfd p = {.fd = end, .events = POLLIN};
    int ready;

    while ((ready = poll(&p, 1, 50)) == 0 || (ready < 0 && errno == EINTR))
        tt_launch_follow(child);
}

/* Returns 0 if the program has begun, or was killed before; or the status to exit
 * with. */
static int let_go(pid_t child, const struct tt_launching *l, int end)
{
    int status = TT_LAUNCH_FAILED;

    if (!l->started || l->started(l->arg, child) == 0)
        (void)send(end, "", 1, MSG_NOSIGNAL);
    (void)shutdown(end, SHUT_WR);
    await_answer(child, end);
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

/* ── Stops ────────────────────────────────────────────────────────────────────────── */

static int is_stopped(pid_t pid)
{
    char path[32], text[256];
    const char *state;
    ssize_t n;
    int fd;

    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    state = strrchr(text, ')');
    return state && strncmp(state, ") T", 3) == 0;
}

/* Something may continue the program alone, and does not know of us. */
static pid_t start_waker(pid_t child)
{
    const struct timespec pause = {0, 50000000};
    const pid_t us = getpid(), pid = fork();
    sigset_t all;

    if (pid != 0)
        return pid;
    sigfillset(&all);
    (void)sigprocmask(SIG_BLOCK, &all, NULL);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (getppid() == us) {
        if (is_stopped(us) && !is_stopped(child))
            (void)kill(us, SIGCONT);
        (void)nanosleep(&pause, NULL);
    }
    _exit(0);
}

/* Our parent shall see what it would see of the program. */
static void stop_as(pid_t child, int number)
{
    struct sigaction usual = {.sa_handler = SIG_DFL}, ours;
    const int is_caught = sigaction(number, &usual, &ours) == 0;

    waker = start_waker(child);
    (void)raise(number);
    if (is_caught)
        (void)sigaction(number, &ours, NULL);
    if (waker > 0) {
        (void)kill(waker, SIGKILL);
        while (waitpid(waker, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    waker = 0;
}

void tt_launch_follow(pid_t child)
{
    siginfo_t info = {.si_pid = 0};

    if (waitid(P_PID, (id_t)child, &info, WSTOPPED | WNOHANG) == 0 && info.si_pid)
        stop_as(child, info.si_status);
}

int tt_launch_wait(pid_t child)
{
    int status = 0;
    pid_t seen;

    while ((seen = waitpid(child, &status, WUNTRACED)) < 0 || WIFSTOPPED(status))
        if (seen > 0) {
            stop_as(child, WSTOPSIG(status));
        } else if (errno != EINTR) {
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
