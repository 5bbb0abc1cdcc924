/* SPDX-License-Identifier: MIT */
/* watch-machine.c - a recording of all processes, which lasts as long as `tallytree top -a` shows it.
 *
 * The recorder gets SIGTERM when this process ends, in whatever way, and then removes what it
 * has written.  It has its own process group, so that Ctrl-Z stops only this process. */
#include "watch-machine.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"
#include "complain.h"
#include "outside.h"

/* A sample of each processor takes less than 100 us. */
static const char words[] = "sampled=100,native=sampled=100,budget=16M";

/* ── The recorder ─────────────────────────────────────────────────────────────────── */

/* From here on it says nothing: the terminal shows something else.  And a reader of the output waits until
 * nothing has it open any more. */
static void began(void *arg, const char *recording)
{
    const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC), *to = arg;

    (void)!write(*to, recording, strlen(recording) + 1);
    close(*to);
    for (int fd = 0; nowhere >= 0 && fd <= 2; fd++)
        (void)dup2(nowhere, fd);
    if (nowhere > 2)
        close(nowhere);
}

static void record(int to, pid_t parent)
{
    const char *folder = getenv("TMPDIR");
    char out[PATH_MAX];
    struct tt_running run = {.out = out, .is_quiet = 1};
    const struct tt_outside_options options = {.words = words,
                                               .is_asked_for = 1,
                                               .is_machine = 1,
                                               .stack = TT_PERF_STACK,
                                               .began = began,
                                               .arg = &to};

    (void)setpgid(0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(TT_EXIT_FAILED);
    (void)snprintf(out, sizeof out, "%.2000s/tallytree-top",
                   folder && *folder ? folder : "/tmp");
    _exit(tt_outside_machine(&run, &options));
}

/* ── The process that shows it ────────────────────────────────────────────────────── */

/* The recorder writes the path and a NUL, or ends.  A process that it has started may have the pipe
 * open for longer, so its end is not waited for. */
static int read_path(struct tt_watched_machine *m, int from)
{
    size_t have = 0;
    ssize_t n = 1;

    m->recording[0] = '\0';
    while (!memchr(m->recording, '\0', have) && have < sizeof m->recording) {
        n = read(from, m->recording + have, sizeof m->recording - have);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        have += (size_t)n;
    }
    if (!memchr(m->recording, '\0', have)) {
        m->recording[0] = '\0';
        return -TT_ERR_STATE;
    }
    (void)snprintf(m->files, sizeof m->files, "%.*s/.files",
                   (int)(strrchr(m->recording, '/') - m->recording), m->recording);
    return 0;
}

int tt_watch_machine(struct tt_watched_machine *m)
{
    const pid_t parent = getpid();
    int fd[2], error;

    if (pipe2(fd, O_CLOEXEC) != 0) {
        tt_complain("top: %s", strerror(errno));
        return -TT_ERR_FILE;
    }
    m->recorder = fork();
    if (m->recorder == 0) {
        close(fd[0]);
        record(fd[1], parent);
    }
    close(fd[1]);
    if (m->recorder < 0) {
        tt_complain("top: %s", strerror(errno));
        m->recorder = 0;
        close(fd[0]);
        return -TT_ERR_MEMORY;
    }
    error = read_path(m, fd[0]);
    close(fd[0]);
    if (error)
        tt_unwatch_machine(m); /* it has complained */
    return error;
}

/* A recorder that was killed has not done it. */
static void remove_rest(struct tt_watched_machine *m)
{
    if (!m->recording[0] || access(m->recording, F_OK) != 0)
        return;
    *strrchr(m->files, '/') = '\0';
    tt_outside_drop(m->files, m->recording);
}

int tt_watched_machine_is_gone(struct tt_watched_machine *m)
{
    siginfo_t info = {.si_pid = 0};

    return m->recorder &&
           (waitid(P_PID, (id_t)m->recorder, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
            info.si_pid != 0);
}

void tt_unwatch_machine(struct tt_watched_machine *m)
{
    if (!m->recorder)
        return;
    (void)kill(m->recorder, SIGTERM);
    while (waitpid(m->recorder, NULL, 0) < 0)
        if (errno != EINTR)
            break;
    m->recorder = 0;
    remove_rest(m);
}
