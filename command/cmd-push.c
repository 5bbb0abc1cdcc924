/* SPDX-License-Identifier: MIT */
/* cmd-push.c - `tallytree push`: sends profiles to servers that keep those of a fleet.
 *
 *      F... ── otlp, pprof ──► queue ── libcurl ──► https://…
 *
 * A profile is in the queue, on the disk, before it is sent, and leaves it when the server has
 * it.  Recorded programs are not touched. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "command.h"
#include "complain.h"
#include "drops.h"
#include "file-list.h"
#include "input.h"
#include "push-body.h"
#include "push-follow.h"
#include "push-pairs.h"
#include "push-sender.h"
#include "scratch.h"
#include "wire.h"

enum {
    OTLP = 1,
    PYROSCOPE,
    HEADERS,
    SERVICE,
    ATTRIBUTE,
    CERTIFICATES,
    QUEUE,
    QUEUE_SIZE,
    PATIENCE,
    TIMEOUT,
    AGAIN,
    FOLLOW
};

static const struct tt_flag push_flags[] = {
    {"otlp", 0, OTLP, "URL", NULL, "send OpenTelemetry's profiles to this collector"},
    {"pyroscope", 0, PYROSCOPE, "URL", NULL, "send pprof files to this Pyroscope"},
    {"headers", 0, HEADERS, "FILE", "@files",
     "add the headers in FILE, such as a token, a line each"},
    {"service", 0, SERVICE, "NAME", NULL,
     "the service (default: the program, or each process)"},
    {"attribute", 0, ATTRIBUTE, "KEY=VALUE", NULL,
     "add an attribute, or a label; may be repeated"},
    {"certificates", 0, CERTIFICATES, "FILE", "@files",
     "trust the authorities in FILE (default: the system's)"},
    {"queue", 0, QUEUE, "DIR", "@files",
     "keep what waits in DIR, not in your state folder"},
    {"queue-size", 0, QUEUE_SIZE, "SIZE", NULL,
     "let at most SIZE wait; drop the oldest (default: 64M)"},
    {"patience", 0, PATIENCE, "TIME", NULL,
     "try again for TIME without success (default: 30s)"},
    {"timeout", 0, TIMEOUT, "TIME", NULL, "wait TIME for an answer (default: 10s)"},
    {"follow", 0, FOLLOW, "DIR", "@files", "send what `record --interval` writes to DIR"},
    {"again", 0, AGAIN, NULL, NULL, "send profiles that were sent before, too"},
    {NULL, 0, 0, NULL, NULL, NULL},
};

struct pushing {
    struct tt_sender sender;
    struct tt_post_options post;
    int (*make)(struct tt_export *, uint64_t until, struct tt_push_body *);
    const char *environment; /* the variable with headers */
    const char *service, *folder;
    const char *chain; /* a folder to follow, or NULL */
    struct tt_pair_list headers, attributes;
    uint64_t most;
    int again;
    size_t unread; /* files that could not be read */
};

/* ── Ways ─────────────────────────────────────────────────────────────────────────── */

/* The answer of a collector that took only a part: ExportProfilesServiceResponse. */
static int complains(const struct tt_answer *a, char *reason, size_t size)
{
    enum { PARTIAL = 1, REJECTED = 1, MESSAGE = 2 };
    struct tt_wire m = {(const unsigned char *)a->body,
                        (const unsigned char *)a->body + a->size};
    struct tt_wire_field f, inner;
    uint64_t rejected = 0;
    char text[300] = "";

    while (tt_wire_next(&m, &f) > 0)
        while (f.number == PARTIAL && f.wire == TT_WIRE_BYTES &&
               tt_wire_next(&f.inside, &inner) > 0)
            if (inner.number == REJECTED && inner.wire == TT_WIRE_VARINT)
                rejected = inner.value;
            else if (inner.number == MESSAGE && inner.wire == TT_WIRE_BYTES)
                (void)snprintf(text, sizeof text, ": %.*s",
                               (int)(inner.inside.end - inner.inside.at < 290
                                         ? inner.inside.end - inner.inside.at
                                         : 290),
                               (const char *)inner.inside.at);
    (void)snprintf(reason, size, "%llu profiles were rejected%s",
                   (unsigned long long)rejected, text);
    return rejected != 0;
}

static const char *const otlp_header[] = {"Content-Type: application/x-protobuf",
                                          "Content-Encoding: gzip", NULL};
static const char *const pyroscope_header[] = {"Content-Type: application/octet-stream",
                                               NULL};
static const struct tt_push_way otlp = {"otlp", "/v1development/profiles", otlp_header,
                                        complains},
                                pyroscope = {"pyroscope", "/ingest", pyroscope_header,
                                             NULL};

static int set_way(struct pushing *x, const struct tt_push_way *way, const char *url)
{
    if (x->sender.way) {
        tt_complain("push: it sends to one address at a time: '--otlp' or '--pyroscope'");
        return -TT_ERR_OPTION;
    }
    x->sender.way = way;
    x->sender.command_url = url;
    x->make = way == &otlp ? tt_push_otlp : tt_push_pyroscope;
    return 0;
}

/* ── Arguments ────────────────────────────────────────────────────────────────────── */

static int take(struct pushing *x, const struct tt_flags *f, int id)
{
    switch (id) {
    case OTLP:
        return set_way(x, &otlp, f->value);
    case PYROSCOPE:
        return set_way(x, &pyroscope, f->value);
    case HEADERS:
        return tt_pair_list_file(&x->headers, f->value);
    case SERVICE:
        x->service = f->value;
        return 0;
    case ATTRIBUTE:
        return tt_pair_list_add(&x->attributes, "attribute", f->value);
    case CERTIFICATES:
        x->post.certificates = f->value;
        return 0;
    case QUEUE:
        x->folder = f->value;
        return 0;
    case QUEUE_SIZE:
        return tt_command_bytes(&tt_command_push, f, 1, 1ull << 50, &x->most);
    case PATIENCE:
        return tt_command_time(&tt_command_push, f, &x->sender.patience);
    case TIMEOUT:
        return tt_command_time(&tt_command_push, f, &x->post.timeout);
    case FOLLOW:
        x->chain = f->value;
        return 0;
    default:
        x->again = 1;
        return 0;
    }
}

/* What flags do not say, OpenTelemetry's variables may. */
static int take_environment(struct pushing *x)
{
    int error = tt_pair_list_environment(&x->headers, "TALLYTREE_HEADERS", ": ");

    if (!error && x->sender.way == &otlp)
        error = tt_pair_list_environment(&x->headers, "OTEL_EXPORTER_OTLP_HEADERS", ": ");
    if (!error)
        error = tt_pair_list_environment(&x->attributes, "OTEL_RESOURCE_ATTRIBUTES", "=");
    if (!x->service)
        x->service = getenv("OTEL_SERVICE_NAME");
    if (x->service && !*x->service)
        x->service = NULL;
    return error;
}

/* The folder of the queue, where users keep the state of programs, or a service's. */
static int find_folder(struct pushing *x, char folder[PATH_MAX])
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME"),
               *service = getenv("STATE_DIRECTORY");
    int n = 0;

    if (x->folder)
        n = snprintf(folder, PATH_MAX, "%s", x->folder);
    else if (service && *service == '/')
        n = snprintf(folder, PATH_MAX, "%.*s/.push", (int)strcspn(service, ":"), service);
    else if (state && *state == '/')
        n = snprintf(folder, PATH_MAX, "%s/tallytree/push", state);
    else if (home && *home == '/')
        n = snprintf(folder, PATH_MAX, "%s/.local/state/tallytree/push", home);
    if (n > 0 && n < PATH_MAX)
        return 0;
    tt_complain("push: there is no folder for what waits: name one by '--queue DIR'");
    return -TT_ERR_OPTION;
}

/* ── Profiles ─────────────────────────────────────────────────────────────────────── */

static uint64_t written_at(const char *path)
{
    struct stat s;

    return stat(path, &s) == 0 ? (uint64_t)s.st_mtim.tv_sec * 1000000000u
                               : (uint64_t)time(NULL) * 1000000000u;
}

static int queue_profile(struct pushing *x, const struct tt_profile *p, uint64_t until)
{
    struct tt_export e = {.profile = p,
                          .metric = TT_NONE,
                          .service = x->service,
                          .attribute = (const char *const *)x->attributes.pair,
                          .attributes = x->attributes.count};
    static struct tt_push_body body;
    int error;

    tt_vector_init(&body.bytes, NULL, 1);
    error = x->make(&e, until, &body);
    if (!error)
        error = tt_sender_add(&x->sender, body.name, body.query, body.bytes.item,
                              body.bytes.count, x->again);
    tt_vector_fini(&body.bytes);
    return error;
}

/* What became of a file. */
enum outcome {
    QUEUED,    /* it waits, or was sent before */
    UNUSABLE,  /* it cannot be read, or the server's format has no place for it */
    NOT_QUEUED /* the disk is full, or there is no memory: it may be tried again */
};

/* Pushes that were dropped are a part of paths, as in exports. */
static enum outcome queue_file(struct pushing *x, char *path)
{
    struct tt_filtered shown;
    struct tt_input in;
    int error = tt_input_open(&in, &path, 1, 0), is_kept = 0;

    if (error)
        return error == -TT_ERR_MEMORY ? NOT_QUEUED : UNUSABLE;
    error = tt_profile_check(&in.profile);
    if (error) {
        tt_complain("%s: %s", path, in.profile.error);
    } else if ((error = tt_drops_apply(&in.profile, &tt_scratch, &shown)) != 0) {
        tt_complain("push: %s", tt_error_text(error));
    } else {
        error = queue_profile(x, shown.profile, written_at(path));
        is_kept = error == -TT_ERR_FILE;
        tt_filter_close(&shown, &tt_scratch);
    }
    tt_input_close(&in);
    if (error >= 0)
        return QUEUED;
    return is_kept || error == -TT_ERR_MEMORY ? NOT_QUEUED : UNUSABLE;
}

static int push_files(struct pushing *x, char *const *paths, int count)
{
    struct tt_file_list list = {0};
    const struct tt_list_file *file;
    int error = count ? tt_file_list_make(&list, paths, count) : 0;

    file = list.file.item;
    for (size_t i = 0; !error && i < list.file.count; i++) {
        if (queue_file(x, file[i].path) != QUEUED)
            x->unread++;
        if (!x->sender.failed.count) /* or else each one would be looked at, each time */
            error = tt_sender_send(&x->sender, 0);
    }
    tt_file_list_free(&list);
    return error ?: tt_sender_send(&x->sender, 1);
}

/* ── A chain ──────────────────────────────────────────────────────────────────────── */

enum {
    PERIOD = 1, /* seconds between two readings of the folder */
    LAST = 3000 /* ms in the end */
};

/* Puts one into the queue.  What cannot be queued, or is gone, is not taken: 0.  Several such
 * failures in a row are said once. */
static int take_profile(struct pushing *x, struct tt_follow *f, char *path, int *is_stuck)
{
    char text[1000];
    struct tt_complaints former = {NULL, 0};
    enum outcome outcome;

    if (*is_stuck)
        former = tt_complain_into((struct tt_complaints){text, sizeof text});
    outcome = queue_file(x, path);
    if (*is_stuck)
        (void)tt_complain_into(former);
    *is_stuck = outcome == NOT_QUEUED;
    if (*is_stuck || (outcome == UNUSABLE && access(path, F_OK) != 0))
        return 0;
    if (outcome == UNUSABLE)
        x->unread++;
    tt_follow_took(f);
    return 1;
}

/* What follows a chain has failed, and has said so. */
struct trouble {
    int is_stuck;   /* nothing more can be queued */
    int is_waiting; /* the server does not take it */
};

/* Sends what is new, and what waits.  The first failure of several is said. */
static int follow_once(struct pushing *x, struct tt_follow *f, int is_last,
                       struct trouble *t)
{
    char path[PATH_MAX];
    int error, waits;

    while (tt_follow_next(f, path)) {
        tt_sender_renew(&x->sender);
        if (!take_profile(x, f, path, &t->is_stuck))
            break;
    }
    error = tt_sender_send(&x->sender, is_last);
    if (error)
        return error;
    waits = tt_sender_waiting(&x->sender) != 0;
    if (waits && !t->is_waiting)
        tt_complain("push: %s: %s; profiles wait in %s", x->sender.url, x->sender.reason,
                    x->sender.queue.folder);
    t->is_waiting = waits;
    return 0;
}

/* Waits until the queue is this process's again, or the time is over: 0. */
static int await_queue(struct pushing *x)
{
    const struct timespec pause = {0, 50000000};
    int has_it;

    while (!(has_it = tt_queue_return(&x->sender.queue)) &&
           !tt_sender_has_ended(&x->sender))
        (void)nanosleep(&pause, NULL);
    return has_it;
}

/* Lets others have the queue for a period, or longer as long as they do; 1: a signal came. */
static int pause_following(struct pushing *x, const sigset_t *ends)
{
    const struct timespec period = {PERIOD, 0};
    int is_over;

    tt_queue_leave(&x->sender.queue);
    do
        is_over = sigtimedwait(ends, NULL, &period) > 0;
    while (!is_over && !tt_queue_return(&x->sender.queue));
    return is_over;
}

/* Until a signal ends it; what is there then is sent, or waits.  A second signal ends it at
 * once. */
static int follow(struct pushing *x)
{
    struct tt_follow f;
    struct trouble t = {0};
    sigset_t ends;
    int error = tt_follow_open(&f, x->chain, x->sender.queue.folder);

    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGHUP);
    (void)sigprocmask(SIG_BLOCK, &ends, NULL);
    x->sender.follows = 1;
    while (!error && !(error = follow_once(x, &f, 0, &t)))
        if (pause_following(x, &ends))
            break;
    if (!error) {
        tt_sender_end_in(&x->sender, LAST);
        (void)sigprocmask(SIG_UNBLOCK, &ends, NULL);
        if (await_queue(x))
            error = follow_once(x, &f, 1, &t);
        x->unread += t.is_stuck != 0;
    }
    tt_follow_close(&f);
    return error;
}

/* ── The command ──────────────────────────────────────────────────────────────────── */

static int report(struct pushing *x)
{
    struct tt_sender *s = &x->sender;
    const size_t waiting = tt_sender_waiting(s);

    printf("sent %zu, waiting %zu\n", s->sent, waiting);
    if (s->dropped)
        tt_complain("push: the queue was full, and the oldest %zu profiles were dropped: "
                    "'--queue-size' lets more wait",
                    s->dropped);
    if (waiting)
        tt_complain("push: %s: %s; the same command without files sends what waits in %s",
                    s->url, s->reason, s->queue.folder);
    if (waiting || s->dropped || s->refused || x->unread)
        return TT_EXIT_FAILED;
    return s->sent ? TT_EXIT_DONE : TT_EXIT_NO;
}

static int push(struct pushing *x, char *const *paths, int count)
{
    char folder[PATH_MAX];
    int status = TT_EXIT_FAILED;

    if (take_environment(x) != 0 || find_folder(x, folder) != 0)
        return status;
    x->post.header = x->headers.pair;
    x->post.headers = x->headers.count;
    if (tt_sender_open(&x->sender, folder, x->most, &x->post) != 0)
        return status;
    if ((x->chain ? follow(x) : push_files(x, paths, count)) == 0)
        status = report(x);
    tt_sender_close(&x->sender);
    return status;
}

static int run(int argc, char **argv)
{
    struct pushing x = {
        .sender.patience = 30000, .post.timeout = 10000, .most = 64u << 20};
    struct tt_flags f;
    int id, status, error = 0;

    tt_command_flags(&tt_command_push, &f, argc, argv);
    while (!error && (id = tt_command_next(&tt_command_push, &f, &status)) > 0)
        error = take(&x, &f, id);
    if (error)
        status = TT_EXIT_FAILED;
    else if (id == 0 && x.chain && f.count)
        status = tt_command_wants(&tt_command_push, "no FILE with --follow");
    else if (id == 0 && !x.sender.way)
        status = tt_command_wants(&tt_command_push, "--otlp URL or --pyroscope URL");
    else if (id == 0)
        status = push(&x, argv + 1, f.count);
    tt_pair_list_free(&x.attributes);
    tt_pair_list_free(&x.headers);
    return status;
}

const struct tt_command tt_command_push = {
    .name = "push",
    .synopsis = "--otlp URL [FLAGS] [FILE...]\n--pyroscope URL [FLAGS] [FILE...]",
    .about = "send profiles to a server for many machines",
    .details =
        "Sends each FILE, and what still waits from before. What cannot be sent waits "
        "in\n"
        "a queue on the disk. A profile that the server has confirmed is not sent "
        "again.\n"
        "The exit status is 0 if all was sent, 1 if there was nothing to send, and 2 if\n"
        "something waits or was refused.\n",
    .flags = push_flags,
    .operands = "@files",
    .run = run,
};
