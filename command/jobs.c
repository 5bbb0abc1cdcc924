/* SPDX-License-Identifier: MIT */
/* jobs.c - work that several processes do at the same time.
 *
 * Processes, and not threads: a file that makes its reader fail takes down no other work, and memory of
 * the engine needs no locks. */
#include "jobs.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "command.h"
#include "complain.h"
#include "profile.h"

static pid_t start(unsigned job, void (*work)(void *arg, unsigned job), void *arg)
{
    const pid_t parent = getpid(), pid = fork();

    if (pid != 0)
        return pid;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == parent)
        work(arg, job);
    _exit(0);
}

/* Returns the status of a process, and calls `meanwhile` until it has one. */
static int await(pid_t pid, void (*meanwhile)(void *arg), void *arg)
{
    const struct timespec pause = {0, 10000000};
    int status = 0;
    pid_t ended;

    while ((ended = waitpid(pid, &status, WNOHANG)) == 0 ||
           (ended < 0 && errno == EINTR)) {
        meanwhile(arg);
        (void)nanosleep(&pause, NULL);
    }
    return status;
}

int tt_jobs_run(unsigned jobs, void (*work)(void *arg, unsigned job),
                void (*meanwhile)(void *arg), void *arg)
{
    pid_t pid[TT_JOBS_MAX];
    unsigned started = 0;
    int status, error = 0;

    (void)signal(SIGCHLD, SIG_DFL); /* if it is ignored, no status is kept */
    while (started < jobs && (pid[started] = start(started, work, arg)) > 0)
        started++;
    if (!started) {
        tt_complain("a process cannot be started: %s", strerror(errno));
        return -TT_ERR_MEMORY;
    }
    for (unsigned i = 0; i < started; i++) {
        status = await(pid[i], meanwhile, arg);
        if (WIFSIGNALED(status) && !error)
            tt_complain("a job was killed by signal %d; fewer --jobs need less memory",
                        WTERMSIG(status));
        error = status ? -TT_ERR_MEMORY : error;
    }
    return error;
}
