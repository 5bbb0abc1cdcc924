/* SPDX-License-Identifier: MIT */
/* cmd-view.c - `tallytree view`: recordings and profiles in a browser, also while they grow. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "chain.h"
#include "command.h"
#include "complain.h"
#include "file-list.h"
#include "index.h"
#include "input.h"
#include "live-snapshot.h"
#include "page.h"
#include "read-listing.h"
#include "scratch.h"
#include "source-text.h"
#include "token-file.h"

enum { PORT = 1, TOKEN, OPEN, BEFORE, HOST, SOURCE, SYMBOLS, DEBUGINFOD };

static const struct tt_flag view_flags[] = {
    {"port", 0, PORT, "N", NULL, "listen on port N (default: any free port)"},
    {"token-file", 0, TOKEN, "FILE", "@files",
     "keep the token in FILE, for the same address"},
    {"open", 0, OPEN, NULL, NULL, "open a browser"},
    {"host", 0, HOST, "NAME", NULL,
     "also accept requests for the host NAME, as of a proxy"},
    {"source", 0, SOURCE, "DIR", "@files", "look for source text here"},
    {"symbols", 0, SYMBOLS, "DIR", "@files", "look for the files that ran here"},
    {"debuginfod", 0, DEBUGINFOD, NULL, NULL,
     "fetch debug information from $DEBUGINFOD_URLS"},
    {"before", 0, BEFORE, "FILE", "@files", "show the changes since FILE"},
    {NULL, 0, 0, NULL, NULL, NULL},
};

struct viewing {
    struct tt_input input, before;
    char *before_file; /* NULL: none */
    char **file;       /* owned, with its texts: recordings move when they end */
    int files;
    unsigned port;
    char token[TT_TOKEN_MOST]; /* "": a new one */
    struct tt_hosts hosts;
    struct tt_source_folders folders;
    struct tt_names_wanted names; /* where the files that ran are looked for */
    struct tt_read_listing *listing;
    uint64_t chains; /* changes with the profiles of chains */
    uint64_t places; /* changes when a file is replaced */
    int live;        /* is the profile still recorded? */
    int open;
};

/* ── Recordings that grow ─────────────────────────────────────────────────────────── */

/* "DIR/.OUT.PID.live" or "DIR/.OUT.PID-N.live", the folder in which `tallytree record`
 * keeps a program's recordings, becomes "DIR/OUT" in the end.  Returns that name, to be
 * freed; NULL: it is no such folder. */
static char *live_target(const char *path)
{
    static const char suffix[] = ".live";
    size_t length = strlen(path);
    char *out, *base;

    while (length > 1 && path[length - 1] == '/')
        length--;
    if (length < sizeof suffix ||
        strncmp(path + length - (sizeof suffix - 1), suffix, sizeof suffix - 1) != 0)
        return NULL;
    length -= sizeof suffix - 1;
    while (length && strchr("-0123456789", path[length - 1]))
        length--;
    if (length < 2 || path[length - 1] != '.' || !(out = strndup(path, length - 1)))
        return NULL;
    base = strrchr(out, '/');
    base = base ? base + 1 : out;
    if (*base == '.')
        memmove(base, base + 1, strlen(base));
    return out;
}

static int is_live_folder(const char *path)
{
    char *target = live_target(path);
    int is = target != NULL;
    struct stat s;

    free(target);
    return is && stat(path, &s) == 0;
}

/* Is a recorder adding profiles to a folder? */
static int has_live_chain(const struct viewing *v)
{
    for (int i = 0; i < v->files; i++)
        if (tt_chain_is_recorded(v->file[i]))
            return 1;
    return 0;
}

static uint64_t state_of_chains(const struct viewing *v)
{
    uint64_t state = 0;

    for (int i = 0; i < v->files; i++)
        if (tt_is_folder(v->file[i]))
            state += tt_chain_state(v->file[i]);
    return state;
}

/* 0: not all of them are files. */
static uint64_t state_of_places(const struct viewing *v)
{
    uint64_t state = 1;

    for (int i = 0; i < v->files; i++) {
        struct stat s;
        if (stat(v->file[i], &s) != 0 || !S_ISREG(s.st_mode))
            return 0;
        state = tt_mix(tt_mix(state, (uint64_t)s.st_ino), (uint64_t)s.st_size);
        state = tt_mix(tt_mix(state, (uint64_t)s.st_mtim.tv_sec),
                       (uint64_t)s.st_mtim.tv_nsec);
    }
    return state ? state : 1;
}

static int is_replaced(void *arg)
{
    const struct viewing *v = arg;
    const uint64_t places = state_of_places(v);

    return places && places != v->places;
}

/* A profile is finished, but not a chain that is recorded.  Recordings are live while one of them is being written, or
 * until `record` has made a profile of them. */
static int is_live(const struct viewing *v)
{
    const struct tt_input *in = &v->input;

    if (has_live_chain(v))
        return 1;
    for (int i = 0; i < v->files; i++)
        if (is_live_folder(v->file[i]))
            return !tt_live_snapshot_is_gone(&in->profile);
    return !in->is_profile && tt_fact_number(&in->profile, "open") > 0 &&
           !tt_live_snapshot_is_gone(&in->profile);
}

/* Replaces folders that are gone by the profiles that they became.  0, or -TT_ERR_FILE
 * while one is missing. */
static int follow(struct viewing *v)
{
    int error = 0;

    for (int i = 0; i < v->files; i++) {
        struct stat s;
        char *to = stat(v->file[i], &s) == 0 ? NULL : live_target(v->file[i]);
        if (!to)
            continue;
        if (stat(to, &s) == 0) {
            free(v->file[i]);
            v->file[i] = to;
        } else {
            free(to);
            error = -TT_ERR_FILE;
        }
    }
    return error;
}

static int is_same_fact(const struct tt_profile *p, const struct tt_profile *q,
                        const char *name)
{
    const char *a = tt_fact_text(p, name), *b = tt_fact_text(q, name);

    return strcmp(a ? a : "", b ? b : "") == 0;
}

/* The output file of the recording may still be that of an earlier run.  A chain loses its
 * beginning as time goes on. */
static int is_of_same_run(const struct viewing *v, const struct tt_profile *p,
                          const struct tt_profile *q)
{
    if (v->chains)
        return is_same_fact(p, q, "host");
    return tt_fact_number(p, "started") == tt_fact_number(q, "started") &&
           is_same_fact(p, q, "host");
}

/* The old one is closed only after its successor is open. */
static int read_again(struct viewing *v)
{
    const uint64_t places = state_of_places(v);
    struct tt_input next;
    int error = tt_input_open(&next, v->file, v->files, TT_INPUT_QUIET);

    if (error)
        return error;
    if (v->live && !is_of_same_run(v, &next.profile, &v->input.profile)) {
        tt_input_close(&next);
        return -TT_ERR_FILE;
    }
    tt_input_close(&v->input);
    tt_read_listing_refresh(v->listing);
    v->input = next;
    v->places = places;
    return 0;
}

/* A chain is read again when its folder has changed; that is looked at after the question whether
 * its recorder has ended, which adds a last profile. */
static int reload(void *arg, struct tt_profile **profile, int *live,
                  enum tt_page_end *end)
{
    struct viewing *v = arg;
    int is_recorded = has_live_chain(v), error = follow(v);
    const uint64_t chains = error ? 0 : state_of_chains(v);

    if (!error && is_recorded && chains == v->chains)
        return TT_PAGE_UNCHANGED;
    error = error ?: read_again(v);
    if (error)
        return error;
    v->chains = chains;
    *profile = &v->input.profile;
    *live = is_recorded || is_live(v);
    if (!*live)
        *end = !v->live                           ? TT_PAGE_WHOLE
               : tt_fact_number(*profile, "open") ? TT_PAGE_LOST
                                                  : TT_PAGE_ENDED;
    v->live = *live;
    return 0;
}

static char *read_source(void *arg, const char *file, size_t *size, const char **reason)
{
    const struct viewing *v = arg;

    return tt_source_text(&v->folders, file, size, reason);
}

/* ── Serving ──────────────────────────────────────────────────────────────────────── */

/* Makes a page that redirects to the address, so that no list of processes shows the
 * token: a file that only its owner can read, in a separate folder. */
struct redirect {
    char folder[4096], file[4096 + 32];
};

static void remove_redirect(struct redirect *r)
{
    (void)unlink(r->file);
    (void)rmdir(r->folder);
}

static int write_redirect(struct redirect *r, const char *address)
{
    const char *folder = getenv("XDG_RUNTIME_DIR");
    int fd, failed;
    FILE *f;

    folder = folder && *folder ? folder : getenv("TMPDIR");
    (void)snprintf(r->folder, sizeof r->folder, "%s/tallytree-XXXXXX",
                   folder && *folder ? folder : "/tmp");
    if (!mkdtemp(r->folder))
        return -1;
    (void)snprintf(r->file, sizeof r->file, "%s/view.html", r->folder);
    fd = open(r->file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    f = fd < 0 ? NULL : fdopen(fd, "w");
    if (!f) {
        remove_redirect(r);
        return -1;
    }
    failed = fprintf(
                 f,
                 "<!doctype html>\n<meta charset=\"utf-8\">\n<title>Tallytree</title>\n"
                 "<meta http-equiv=\"refresh\" content=\"0; url=%s\">\n"
                 "<p><a href=\"%s\">The viewer</a></p>\n",
                 address, address) < 0;
    return fclose(f) != 0 || failed ? -1 : 0;
}

/* It runs on by itself, with the original signal mask, and its output does not mix with
 * ours. */
static void open_browser(const char *file, const sigset_t *ends)
{
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);

    pid_t child = fork();

    /* Its parent exits at once, so that this process need not wait for it. */
    if (child == 0 && fork() != 0)
        _exit(0);
    if (child == 0) {
        (void)dup2(nowhere, STDOUT_FILENO);
        (void)dup2(nowhere, STDERR_FILENO);
        (void)signal(SIGPIPE, SIG_DFL);
        (void)sigprocmask(SIG_UNBLOCK, ends, NULL);
        execlp("xdg-open", "xdg-open", file, (char *)NULL);
        _exit(127);
    }
    if (child > 0)
        (void)waitpid(child, NULL, 0);
    if (nowhere >= 0)
        close(nowhere);
}

/* Waits until Ctrl-C, or until the parent ends. */
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
                           .live = v->live,
                           .reload = reload,
                           .is_replaced = is_replaced,
                           .source = read_source,
                           .arg = v,
                           .listing = tt_read_listing_of(v->listing)};
    struct tt_http http = {.port = (uint16_t)v->port,
                           .hosts = v->hosts,
                           .answer = tt_page_answer,
                           .is_quick = tt_page_is_quick,
                           .arg = &page};
    struct redirect redirect;
    char address[TT_TOKEN_MOST + 40];

    http.token = v->token;
    if (!v->token[0] && tt_http_token(v->token) != 0) {
        tt_complain("view: no random numbers: %s", strerror(errno));
        return TT_EXIT_FAILED;
    }
    tt_page_init(&page);
    if (tt_http_start(&http) != 0) {
        tt_complain("view: cannot listen on port %u: %s", v->port, tt_http_reason());
        tt_page_fini(&page);
        return TT_EXIT_FAILED;
    }
    (void)snprintf(address, sizeof address, "http://127.0.0.1:%u/%s/", http.port,
                   v->token);
    printf("%s\n", address);
    if (fflush(stdout) != 0) { /* main complains */
        tt_http_stop(&http);
        tt_page_fini(&page);
        return TT_EXIT_FAILED;
    }
    if (isatty(STDERR_FILENO))
        fputs("Open this address in a browser on this machine; Ctrl-C ends it.\n",
              stderr);
    if (v->open && write_redirect(&redirect, address) != 0) {
        tt_complain("view: no browser is started: %s: %s", redirect.folder,
                    strerror(errno));
        v->open = 0;
    }
    if (v->open)
        open_browser(redirect.file, ends);
    wait_for_end(ends);
    if (v->open)
        remove_redirect(&redirect);
    tt_http_stop(&http);
    tt_page_fini(&page);
    return TT_EXIT_DONE;
}

/* ── The command ──────────────────────────────────────────────────────────────────── */

static int keep_files(struct viewing *v, char *const *file, int files)
{
    v->file = calloc((size_t)files, sizeof *v->file);
    for (v->files = 0; v->file && v->files < files; v->files++)
        if (!(v->file[v->files] = strdup(file[v->files])))
            break;
    if (v->files == files)
        return -1;
    tt_complain("view: no memory");
    return TT_EXIT_FAILED;
}

static void free_files(struct viewing *v)
{
    for (int i = 0; i < v->files; i++)
        free(v->file[i]);
    free(v->file);
}

/* Returns the status if that was all, less than 0 to continue. */
static int read_flags(struct viewing *v, int argc, char **argv)
{
    struct tt_flags f;
    uint64_t port = 0;
    int id, status;

    tt_command_flags(&tt_command_view, &f, argc, argv);
    while ((id = tt_command_next(&tt_command_view, &f, &status)) > 0) {
        if (id == OPEN)
            v->open = 1;
        else if (id == TOKEN && tt_token_keep("view", f.value, v->token) != 0)
            return TT_EXIT_FAILED;
        else if (id == TOKEN)
            continue;
        else if (id == BEFORE)
            v->before_file = (char *)(uintptr_t)f.value;
        else if (id == HOST && v->hosts.count < TT_HOSTS)
            v->hosts.name[v->hosts.count++] = f.value;
        else if (id == HOST)
            return tt_command_wants(&tt_command_view, "fewer hosts");
        else if (id == SOURCE && tt_source_folders_add(&v->folders, f.value) == 0)
            continue;
        else if (id == SYMBOLS && tt_names_folder(&v->names, f.value) == 0)
            continue;
        else if (id == SOURCE || id == SYMBOLS)
            return TT_EXIT_FAILED;
        else if (id == DEBUGINFOD)
            v->names.options.debuginfod = 1;
        else if (tt_command_number(&tt_command_view, &f, "a number up to 65535", 0, 65535,
                                   &port) != 0)
            return TT_EXIT_FAILED;
    }
    v->port = (unsigned)port;
    if (id < 0)
        return status;
    return f.count ? keep_files(v, argv + 1, f.count)
                   : tt_command_wants(&tt_command_view, "a recording or a profile");
}

/* Blocks signals before there are threads, so that only wait_for_end receives them. */
static int serve_until(struct viewing *v)
{
    sigset_t ends;

    v->live = is_live(v);
    tt_names_ask(&v->names.options, &v->input.profile);
    v->listing = tt_read_listing_new(&v->names.options, &v->folders);
    if (!v->listing) {
        tt_complain("view: no memory");
        return TT_EXIT_FAILED;
    }
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &ends, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    return serve(v, &ends);
}

static int run(int argc, char **argv)
{
    struct viewing v = {0};
    int status = read_flags(&v, argc, argv);

    if (status >= 0)
        goto done;
    status = TT_EXIT_FAILED;
    v.chains = state_of_chains(&v);
    v.places = state_of_places(&v);
    if (tt_input_open(&v.input, v.file, v.files, 0) != 0)
        goto done;
    if (!v.before_file || tt_input_open(&v.before, &v.before_file, 1, 0) == 0) {
        status = serve_until(&v);
        if (v.before_file)
            tt_input_close(&v.before);
    }
    tt_input_close(&v.input);
done:
    tt_read_listing_free(v.listing);
    tt_names_fini(&v.names);
    free_files(&v);
    return status;
}

const struct tt_command tt_command_view = {
    .name = "view",
    .synopsis = "[--port N] [--open] [--before FILE] FILE...",
    .about = "show recordings and profiles in a browser",
    .details =
        "Prints a local address with a secret token, and serves the pages there until\n"
        "Ctrl-C. A recording that still grows is shown with names, and is refreshed\n"
        "until it ends.\n",
    .flags = view_flags,
    .operands = "@files",
    .run = run,
};
