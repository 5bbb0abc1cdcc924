/* SPDX-License-Identifier: MIT */
/* cmd-serve.c - `tallytree serve --pprof`: a live recording at the same addresses as in
 * Go programs, for tools that collect profiles from many machines.
 *
 * A request for N seconds reads the recording twice, N seconds apart; the program does
 * not take part.  Requests wait in parallel, and read one at a time. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "command.h"
#include "complain.h"
#include "drops.h"
#include "filter.h"
#include "finish.h"
#include "formats.h"
#include "growth.h"
#include "http.h"
#include "live-snapshot.h"
#include "pack.h"
#include "scratch.h"
#include "token-file.h"

enum { PPROF = 1, LISTEN, PROCESS, HOST, TOKEN, INSECURE };
enum {
    SECONDS = 30,
    MOST_SECONDS = 600,
    MOST_WAITING = 32, /* requests: others are refused, so that there are threads left */
};

static const struct tt_flag serve_flags[] = {
    {"pprof", 0, PPROF, NULL, NULL, "serve /debug/pprof/profile?seconds=N and .../heap"},
    {"listen", 0, LISTEN, "ADDR", NULL, "HOST:PORT, or :PORT on all addresses"},
    {"pid", 'p', PROCESS, "PID", NULL, "serve the recording of this process"},
    {"token-file", 0, TOKEN, "FILE", "@files", "require the bearer token in FILE"},
    {"host", 0, HOST, "NAME", NULL, "also accept requests for the host NAME"},
    {"insecure", 0, INSECURE, NULL, NULL, "listen beyond this machine without a token"},
    {NULL, 0, 0, NULL, NULL, NULL},
};

struct serving {
    char **file;
    int files;
    char found[4200], *found_file[1];
    char host[256];
    uint16_t port;
    struct tt_hosts hosts;
    char name[256];            /* this machine's, one of the hosts */
    char token[TT_TOKEN_MOST]; /* "": none */
    int is_insecure;
    pthread_mutex_t lock;         /* for reading: there is one scratch file */
    pthread_cond_t ending;        /* by the lock */
    int ends;                     /* by the lock: no request waits any more */
    int waiting;                  /* by the lock: requests that wait */
    struct tt_names_wanted names; /* by the lock: looked up once for all requests */
};

/* ── Profiles ─────────────────────────────────────────────────────────────────────── */

struct packed {
    char *bytes;
    size_t size, room;
};

static int put_packed(void *arg, const void *bytes, size_t size)
{
    struct packed *p = arg;

    if (p->size + size > p->room) {
        size_t room = 2 * (p->size + size);
        char *more = realloc(p->bytes, room);
        if (!more)
            return -TT_ERR_MEMORY;
        p->bytes = more;
        p->room = room;
    }
    memcpy(p->bytes + p->size, bytes, size);
    p->size += size;
    return 0;
}

/* As Go calls them.  CPU time is what samples found; what was timed is time. */
static const char *time_name(const struct tt_profile *p,
                             const struct tt_metric_columns *m)
{
    (void)p;
    if (m->flags & (TT_METRIC_SPACE | TT_METRIC_PEAK))
        return NULL;
    return m->flags & TT_METRIC_SAMPLED && m->flags & TT_METRIC_TIME ? "cpu" : m->name;
}

static const char *heap_name(const struct tt_profile *p,
                             const struct tt_metric_columns *m)
{
    static const char *const names[][2] = {
        {"objects", "alloc_objects"},
        {"allocated", "alloc_space"},
        {"live", "inuse_space"},
        {"live objects", "inuse_objects"},
    };

    (void)p;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(m->name, names[i][0]) == 0)
            return names[i][1];
    return m->flags & (TT_METRIC_SPACE | TT_METRIC_PEAK) ? m->name : NULL;
}

static int write_pprof(const struct tt_profile *p, const char *first, struct packed *out)
{
    static struct tt_writer writer; /* under the lock */
    struct tt_export e = {.profile = p, .metric = TT_NONE, .first = first};
    struct tt_pack *pack = tt_pack_new(put_packed, out);
    int error = pack ? 0 : -TT_ERR_MEMORY;

    tt_writer_init(&writer, tt_pack_put, pack);
    error = error ?: tt_format_pprof.write(&e, &writer);
    error = error ?: tt_writer_flush(&writer);
    error = error ?: tt_pack_finish(pack);
    tt_pack_free(pack);
    return error;
}

/* tt_growth of profiles that have contexts for the pushes that their policy dropped, as
 * `export` writes them. */
static int grow_shown(struct tt_builder *b, const struct tt_profile *now,
                      const struct tt_profile *then, tt_growth_name *name)
{
    struct tt_filtered after, before = {.profile = NULL};
    int error = tt_drops_apply(now, &tt_scratch, &after);

    if (error)
        return error;
    error = then ? tt_drops_apply(then, &tt_scratch, &before) : 0;
    if (!error) {
        error = tt_growth(b, after.profile, before.profile, name);
        if (then)
            tt_filter_close(&before, &tt_scratch);
    }
    tt_filter_close(&after, &tt_scratch);
    return error;
}

/* Writes the growth between two readings, or all of one, in pprof's format. */
static int pack_growth(const struct tt_live_snapshot *now,
                       const struct tt_live_snapshot *then, tt_growth_name *name,
                       const char *first, struct packed *out)
{
    struct tt_builder *b = tt_builder_new(&tt_scratch);
    struct tt_profile p;
    void *image = NULL;
    size_t size = 0;
    int error = b ? 0 : -TT_ERR_MEMORY;

    if (!error)
        error = grow_shown(b, &now->in.profile, then ? &then->in.profile : NULL, name);
    if (!error && then)
        tt_builder_fact(b, "lasted", TT_FACT_MAX,
                        (uint64_t)((now->time - then->time) * 1e9), "");
    error = error ?: tt_builder_finish(b, &image, &size);
    tt_builder_free(b);
    if (error)
        return error;
    error = tt_profile_open(&p, image, size, &tt_scratch);
    if (!error) {
        error = tt_profile_check(&p);
        error = error ?: write_pprof(&p, first, out);
        tt_profile_close(&p);
    }
    tt_memory_put(&tt_scratch, image);
    return error;
}

static struct tt_live_snapshot *look(struct serving *s)
{
    struct tt_live_snapshot *m = tt_live_snapshot_read(s->file, s->files, &s->names);

    if (m && tt_profile_check(&m->in.profile) != 0) {
        tt_live_snapshot_free(m);
        m = NULL;
    }
    return m;
}

/* ── Answers ──────────────────────────────────────────────────────────────────────── */

static void say(struct tt_reply *r, unsigned status, const char *text)
{
    *r = (struct tt_reply){.status = status,
                           .type = "text/plain; charset=utf-8",
                           .body = strdup(text),
                           .size = strlen(text)};
    if (!r->body)
        r->size = 0;
}

/* "seconds=N" among the words of a query; -1: not a number of them. */
static long seconds_of(const char *query, long otherwise)
{
    const char *at = query;
    char *end;
    long n;

    while (at && strncmp(at, "seconds=", 8) != 0)
        at = (at = strchr(at, '&')) ? at + 1 : NULL;
    if (!at)
        return otherwise;
    n = strtol(at + 8, &end, 10);
    return end == at + 8 || (*end && *end != '&') || n < 0 || n > MOST_SECONDS ? -1 : n;
}

/* Waits under the lock, which is released meanwhile.  Returns 0 if the server ends before
 * that, or the client has gone: then nothing is read. */
static int nap(struct serving *s, long seconds, int connection)
{
    struct timespec now, until;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    seconds += now.tv_sec;
    for (until = now; !s->ends && !tt_connection_is_gone(connection);) {
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        if (now.tv_sec > seconds ||
            (now.tv_sec == seconds && now.tv_nsec >= until.tv_nsec))
            return 1;
        now.tv_sec = now.tv_sec < seconds ? now.tv_sec + 1 : now.tv_sec;
        now.tv_nsec = now.tv_sec == seconds ? until.tv_nsec : now.tv_nsec;
        (void)pthread_cond_timedwait(&s->ending, &s->lock, &now);
    }
    return 0;
}

/* As nap, but only for a limited number of requests at a time. */
static int wait_for(struct serving *s, long seconds, int connection)
{
    int is_over;

    s->waiting++;
    is_over = nap(s, seconds, connection);
    s->waiting--;
    return is_over;
}

static int has_heap(const struct tt_profile *p)
{
    int has = 0;

    for (uint32_t i = 0; i < p->metrics; i++)
        has |= heap_name(p, &p->metric[i]) != NULL;
    return has;
}

/* `first` is the metric to show first; NULL: the main metric. */
static void answer_growth(struct serving *s, long seconds, tt_growth_name *name,
                          const char *first, struct tt_reply *r)
{
    struct tt_live_snapshot *then = NULL, *now;
    struct packed out = {NULL, 0, 0};
    int failed = 1, lacks_heap = 0, goes_on;

    pthread_mutex_lock(&s->lock);
    if (seconds && s->waiting >= MOST_WAITING) {
        pthread_mutex_unlock(&s->lock);
        say(r, 503, "Too many requests are waiting; try again later.\n");
        return;
    }
    goes_on = !seconds || ((then = look(s)) && wait_for(s, seconds, r->connection));
    now = goes_on ? look(s) : NULL;
    if (now && then && !tt_live_snapshot_is_of(now, then)) {
        tt_live_snapshot_free(then);
        then = NULL; /* another run: all of it has come since */
    }
    lacks_heap = now && name == heap_name && !has_heap(&now->in.profile);
    if (now && !lacks_heap)
        failed = pack_growth(now, then, name, first, &out);
    tt_live_snapshot_free(then);
    tt_live_snapshot_free(now);
    pthread_mutex_unlock(&s->lock);
    if (lacks_heap) {
        say(r, 404,
            "No allocations have been recorded so far: `tallytree record --heap` "
            "records them.\n");
        return;
    }
    if (failed) {
        free(out.bytes);
        say(r, 500, "The recording cannot be read.\n");
        return;
    }
    *r = (struct tt_reply){.status = 200,
                           .type = "application/octet-stream",
                           .body = out.bytes,
                           .size = out.size};
}

static void answer(void *arg, const char *path, const char *query, struct tt_reply *r)
{
    struct serving *s = arg;
    static const char root[] = "debug/pprof";
    const char *name = path + sizeof root - 1;
    long seconds;

    if (strncmp(path, root, sizeof root - 1) != 0 || (*name && *name != '/')) {
        say(r, 404, "Profiles are below /debug/pprof/.\n");
        return;
    }
    name += *name == '/';
    seconds = seconds_of(query, strcmp(name, "profile") == 0 ? SECONDS : 0);
    if (seconds < 0)
        say(r, 400, "seconds: a number up to 600.\n");
    else if (strcmp(name, "profile") == 0)
        answer_growth(s, seconds, time_name, NULL, r);
    else if (strcmp(name, "heap") == 0) /* as of Go programs */
        answer_growth(s, seconds, heap_name, "inuse_space", r);
    else if (strcmp(name, "allocs") == 0)
        answer_growth(s, seconds, heap_name, "alloc_space", r);
    else if (strcmp(name, "cmdline") == 0)
        say(r, 200, s->file[0]);
    else if (!*name)
        say(r, 200,
            "profile?seconds=N  what was recorded in N seconds (default: 30)\n"
            "heap               what was allocated so far, and what is alive\n");
    else
        say(r, 404, "There are profile and heap.\n");
}

/* ── The command ──────────────────────────────────────────────────────────────────── */

static int read_address(struct serving *s, const char *text)
{
    const char *colon = strrchr(text, ':');
    const char *port = colon ? colon + 1 : text;
    int has_brackets = colon && *text == '[' && colon > text + 1 && colon[-1] == ']';
    const char *host = text + has_brackets;
    size_t length = colon ? (size_t)(colon - has_brackets - host) : 0;
    uint64_t n;

    if (tt_flag_number(port, 0, 65535, &n) != 0 || length >= sizeof s->host) {
        tt_complain("serve: '--listen' wants HOST:PORT or :PORT, not '%s'", text);
        return -TT_ERR_OPTION;
    }
    (void)snprintf(s->host, sizeof s->host, "%.*s", length ? (int)length : 2,
                   length ? host : "::");
    s->port = (uint16_t)n;
    return 0;
}

static int find_process(struct serving *s, const struct tt_flags *f)
{
    pid_t pid;
    int error = tt_command_process(&tt_command_serve, f, &pid);

    return error ?: tt_live_snapshot_find(pid, s->found, sizeof s->found);
}

static int serve(struct serving *s, const sigset_t *ends)
{
    struct tt_http http = {.address = s->host,
                           .port = s->port,
                           .bearer = s->token[0] ? s->token : NULL,
                           .hosts = s->hosts,
                           .answer = answer,
                           .arg = s};
    int number, error = tt_http_start(&http);
    const char *open, *close;

    if (error && strcmp(s->host, "::") == 0) { /* a system without IPv6 */
        http.address = "0.0.0.0";
        error = tt_http_start(&http);
    }
    open = strchr(http.address, ':') ? "[" : "";
    close = *open ? "]" : "";
    if (error) {
        tt_complain("serve: cannot listen on %s%s%s:%u: %s", open, http.address, close,
                    s->port, tt_http_reason());
        return TT_EXIT_FAILED;
    }
    printf("http://%s%s%s:%u/debug/pprof/\n", open, http.address, close, http.port);
    if (fflush(stdout) != 0) { /* main complains */
        tt_http_stop(&http);
        return TT_EXIT_FAILED;
    }
    while (sigwait(ends, &number) != 0)
        ;
    pthread_mutex_lock(&s->lock);
    s->ends = 1;
    pthread_cond_broadcast(&s->ending);
    pthread_mutex_unlock(&s->lock);
    tt_http_stop(&http);
    return TT_EXIT_DONE;
}

static int add_host(struct serving *s, const char *name)
{
    if (s->hosts.count == TT_HOSTS) {
        tt_complain("serve: more than %d times '--host'", TT_HOSTS - 2);
        return -TT_ERR_OPTION;
    }
    s->hosts.name[s->hosts.count++] = name;
    return 0;
}

/* An address that others can reach needs a token, or --insecure. */
static int check_reach(struct serving *s)
{
    int is_local = tt_http_is_local(s->host);

    if (is_local < 0) {
        tt_complain("serve: no address is called '%s'", s->host);
        return -TT_ERR_OPTION;
    }
    if (is_local || s->token[0] || s->is_insecure)
        return 0;
    tt_complain("serve: other machines can reach '%s': give '--token-file FILE', or "
                "'--insecure' where the network is trusted",
                s->host);
    return -TT_ERR_OPTION;
}

static int take_flag(struct serving *s, const struct tt_flags *f, int id)
{
    switch (id) {
    case LISTEN:
        return read_address(s, f->value);
    case TOKEN:
        return tt_token_read("serve", f->value, s->token);
    case HOST:
        return add_host(s, f->value);
    case INSECURE:
        s->is_insecure = 1;
        return 0;
    default:
        return find_process(s, f);
    }
}

/* Returns the status if that was all, less than 0 to continue. */
static int read_flags(struct serving *s, int argc, char **argv)
{
    struct tt_flags f;
    int id, status, pprof = 0, error = 0;

    tt_command_flags(&tt_command_serve, &f, argc, argv);
    while (!error && (id = tt_command_next(&tt_command_serve, &f, &status)) > 0) {
        if (id == PPROF)
            pprof = 1;
        else
            error = take_flag(s, &f, id);
    }
    if (error || id < 0)
        return error ? TT_EXIT_FAILED : status;
    s->file = s->found[0] ? s->found_file : argv + 1;
    s->files = s->found[0] ? 1 : f.count;
    s->found_file[0] = s->found;
    if (!pprof)
        return tt_command_wants(&tt_command_serve, "--pprof");
    if (!s->host[0])
        return tt_command_wants(&tt_command_serve, "--listen ADDR");
    if (s->found[0] ? f.count != 0 : f.count == 0)
        return tt_command_wants(&tt_command_serve, "a recording, or -p PID");
    if (check_reach(s) != 0)
        return TT_EXIT_FAILED;
    (void)add_host(s, s->host);
    if (gethostname(s->name, sizeof s->name - 1) == 0)
        (void)add_host(s, s->name);
    return -1;
}

static void init_lock(struct serving *s)
{
    pthread_condattr_t monotonic;

    pthread_mutex_init(&s->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&s->ending, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

static int run(int argc, char **argv)
{
    static struct serving s;
    int status = read_flags(&s, argc, argv);
    struct tt_live_snapshot *first;
    sigset_t ends;

    if (status >= 0)
        return status;
    s.names.known = tt_known_names_new();
    if (!(first = tt_live_snapshot_read(s.file, s.files, &s.names)))
        return TT_EXIT_FAILED;
    tt_live_snapshot_free(first);
    init_lock(&s);
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &ends, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    return serve(&s, &ends);
}

const struct tt_command tt_command_serve = {
    .name = "serve",
    .synopsis = "--pprof --listen ADDR [FLAGS] (-p PID | FILE...)",
    .about = "serve a live recording to scrapers of pprof",
    .details =
        "Answers /debug/pprof/profile?seconds=N with the samples of these seconds, and\n"
        "/debug/pprof/heap with the allocations, as Go programs do. An address that\n"
        "other machines can reach needs a token, or --insecure.\n",
    .flags = serve_flags,
    .operands = "@files",
    .run = run,
};
