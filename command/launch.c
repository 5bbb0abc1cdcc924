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

/* What is sent before it is known to whom waits. */
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

/* Between parent and child until the program begins. */
struct handshake {
    int end[2];  /* closes when it begins; before, it says what went wrong */
    int gate[2]; /* closes without a word when it shall not begin */
};

static int open_handshake(struct handshake *h)
{
    if (pipe2(h->end, O_CLOEXEC) != 0)
        return -1;
    if (pipe2(h->gate, O_CLOEXEC) == 0)
        return 0;
    close(h->end[0]);
    close(h->end[1]);
    return -1;
}

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

static void become(const char *path, char **argv, const struct tt_launching *l,
                   const struct handshake *h, const sigset_t *mask)
{
    int status = TT_LAUNCH_FAILED;
    char word;

    close(h->end[0]);
    close(h->gate[1]);
    give_signals_back();
    (void)sigprocmask(SIG_SETMASK, mask, NULL);
    if (l->prepare(l->arg) == 0 && read_again(h->gate[0], &word, 1) == 1)
        status = execute(path, argv);
    if (write(h->end[1], &status, sizeof status) < 0)
        status = TT_LAUNCH_FAILED;
    _exit(status);
}

/* 0 when the program has begun; or the status to exit with. */
static int let_go(pid_t child, const struct tt_launching *l, const struct handshake *h)
{
    int status = TT_LAUNCH_FAILED;

    if (!l->started || l->started(l->arg, child) == 0)
        (void)!write(h->gate[1], "", 1);
    close(h->gate[1]);
    return read_again(h->end[0], &status, sizeof status) == 0 ? 0 : status;
}

pid_t tt_launch(const char *path, char **argv, const struct tt_launching *l)
{
    struct handshake h;
    int status = TT_LAUNCH_FAILED;
    sigset_t mask;
    pid_t child;

    if (open_handshake(&h) != 0) {
        tt_complain("%s", strerror(errno));
        return -TT_LAUNCH_FAILED;
    }
    hold_signals(&mask);
    take_signals();
    child = fork();
    if (child == 0)
        become(path, argv, l, &h, &mask);
    running = child > 0 ? child : 0;
    (void)sigprocmask(SIG_SETMASK, &mask, NULL);
    close(h.end[1]);
    if (child < 0) {
        tt_complain("%s", strerror(errno));
        close(h.gate[1]);
    } else {
        status = let_go(child, l, &h);
    }
    close(h.end[0]);
    close(h.gate[0]); /* not before: no word to a child that is gone may end us */
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
    /* Its memory was dumped, if anybody's is to be. */
    (void)setrlimit(RLIMIT_CORE, &none);
    (void)signal(WTERMSIG(status), SIG_DFL);
    sigemptyset(&set);
    sigaddset(&set, WTERMSIG(status));
    (void)sigprocmask(SIG_UNBLOCK, &set, NULL);
    (void)raise(WTERMSIG(status));
    exit(128 + WTERMSIG(status));
}
