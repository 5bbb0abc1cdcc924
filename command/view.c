/* SPDX-License-Identifier: MIT */
/* view.c - `tallytree view`: recordings and profiles in a browser, also while they grow. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "input.h"
#include "page.h"
#include "scratch.h"

enum { PORT = 1, OPEN, BEFORE };

static const struct tt_flag view_flags[] = {
    {"port", 0, PORT, "N", NULL, "listen there; otherwise at any free port"},
    {"open", 0, OPEN, NULL, NULL, "start a browser too"},
    {"before", 0, BEFORE, "FILE", "@files", "show what has changed since then"},
    {NULL, 0, 0, NULL, NULL, NULL},
};

struct viewing {
    struct tt_input input, before;
    char *before_file; /* NULL: none */
    char **file;
    int files;
    unsigned port;
    int open;
};

/* A profile is finished; what is made of recordings is not, as long as one is written. */
static int is_live(const struct tt_input *in)
{
    return tt_fact_number(&in->profile, "open") > 0;
}

/* What was there goes only when its successor is open. */
static int reload(void *arg, struct tt_profile **profile, int *live)
{
    struct viewing *v = arg;
    struct tt_input next;
    int error = tt_input_open(&next, v->file, v->files);

    if (error)
        return error;
    tt_input_close(&v->input);
    v->input = next;
    *profile = &v->input.profile;
    *live = is_live(&next);
    return 0;
}

/* ── Serving ──────────────────────────────────────────────────────────────────────── */

/* It goes on without us, with signals as they were before, and says nothing where ours is read. */
static void open_browser(const char *address, const sigset_t *ends)
{
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);

    if (fork() == 0) {
        (void)dup2(nowhere, STDOUT_FILENO);
        (void)dup2(nowhere, STDERR_FILENO);
        (void)signal(SIGPIPE, SIG_DFL);
        (void)signal(SIGCHLD, SIG_DFL);
        (void)sigprocmask(SIG_UNBLOCK, ends, NULL);
        execlp("xdg-open", "xdg-open", address, (char *)NULL);
        _exit(127);
    }
    if (nowhere >= 0)
        close(nowhere);
}

/* Until Ctrl-C, or whoever started it goes away. */
static void wait_for_end(const sigset_t *ends)
{
    int number;

    while (sigwait(ends, &number) != 0)
        ;
}

static int serve(struct viewing *v, const sigset_t *ends)
{
    struct tt_page page = {.profile = &v->input.profile,
                           .before = v->before_file ? &v->before.profile : NULL,
                           .memory = &tt_scratch,
                           .live = is_live(&v->input),
                           .reload = reload,
                           .arg = v};
    struct tt_http http = {
        .port = (uint16_t)v->port, .answer = tt_page_answer, .arg = &page};
    char token[33], address[80];

    http.token = token;
    if (tt_http_token(token) != 0) {
        tt_complain("view: no random numbers: %s", strerror(errno));
        return TT_EXIT_FAILED;
    }
    tt_page_init(&page);
    if (tt_http_start(&http) != 0) {
        tt_complain("view: cannot listen on port %u: %s", v->port, strerror(errno));
        tt_page_fini(&page);
        return TT_EXIT_FAILED;
    }
    (void)snprintf(address, sizeof address, "http://127.0.0.1:%u/%s/", http.port, token);
    printf("%s\n", address);
    (void)fflush(stdout);
    if (isatty(STDERR_FILENO))
        fputs("Open this address in a browser on this machine; Ctrl-C ends it.\n",
              stderr);
    if (v->open)
        open_browser(address, ends);
    wait_for_end(ends);
    tt_http_stop(&http);
    tt_page_fini(&page);
    return TT_EXIT_DONE;
}

/* ── The command ──────────────────────────────────────────────────────────────────── */

/* The status when that was all, less than 0 when it goes on. */
static int read_flags(struct viewing *v, int argc, char **argv)
{
    struct tt_flags f;
    uint64_t port = 0;
    int id, status;

    tt_command_flags(&tt_command_view, &f, argc, argv);
    while ((id = tt_command_next(&tt_command_view, &f, &status)) > 0) {
        if (id == OPEN)
            v->open = 1;
        else if (id == BEFORE)
            v->before_file = (char *)(uintptr_t)f.value;
        else if (tt_command_number(&tt_command_view, &f, "a number up to 65535", 0, 65535,
                                   &port) != 0)
            return TT_EXIT_FAILED;
    }
    v->port = (unsigned)port;
    if (id < 0)
        return status;
    v->file = argv + 1;
    v->files = f.count;
    return f.count ? -1 : tt_command_wants(&tt_command_view, "a recording or a profile");
}

static int run(int argc, char **argv)
{
    struct viewing v = {0};
    int status = read_flags(&v, argc, argv);
    sigset_t ends;

    if (status >= 0)
        return status;
    if (tt_input_open(&v.input, v.file, v.files) != 0)
        return TT_EXIT_FAILED;
    if (v.before_file && tt_input_open(&v.before, &v.before_file, 1) != 0) {
        tt_input_close(&v.input);
        return TT_EXIT_FAILED;
    }
    /* Blocked here, before there are threads, so that only wait_for_end sees them. */
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &ends, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGCHLD, SIG_IGN);
    status = serve(&v, &ends);
    tt_input_close(&v.input);
    if (v.before_file)
        tt_input_close(&v.before);
    return status;
}

const struct tt_command tt_command_view = {
    .name = "view",
    .synopsis = "[--port N] [--open] [--before FILE] FILE...",
    .about = "look at recordings and profiles in a browser",
    .details =
        "Prints an address of this machine, with a token in it that nobody guesses,\n"
        "and shows what is there until Ctrl-C.  A recording that still grows is\n"
        "shown as it grows.\n",
    .flags = view_flags,
    .operands = "@files",
    .run = run,
};
