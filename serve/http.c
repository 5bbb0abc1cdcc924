/* SPDX-License-Identifier: MIT */
/* http.c - pages over HTTP for one person on one machine.
 *
 * Access is decided here, before the content of a request is read; no path ever becomes a
 * file name. */
#include "http.h"

#include "http-library.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <zlib.h>

enum {
    CONNECTIONS = 4000, /* slow ones wait here without keeping others from a thread */
    OPEN_CONNECTIONS = 100,
    TIMEOUT = 30, /* seconds without a byte */
    SPARE = 2,    /* of one in so many of them, old strangers give way to new ones */
    THREADS = 4,
    HEADERS = 64 << 10,    /* bytes of a request, with what the library needs, */
    MOST_ASKED = 40 << 10, /* and the headers of both sides */
    WORTH_PACKING = 2048
};

/* ── Access ───────────────────────────────────────────────────────────────────────── */

static const char *header_of(struct MHD_Connection *c, const char *name)
{
    return MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);
}

/* Returns the rest of the path after the token; NULL: the token is wrong.  Takes the same
 * time for a token that is nearly right. */
static const char *behind_token(const struct tt_http *s, const char *uri)
{
    size_t length = strlen(s->token);

    if (strnlen(uri, length + 2) < length + 2 || uri[0] != '/' || uri[length + 1] != '/')
        return NULL;
    return tt_access_equal(uri + 1, s->token, length) ? uri + length + 2 : NULL;
}

/* Does it name this host, and come from no other site's page? */
static int is_ours(const struct tt_http *s, struct MHD_Connection *c)
{
    const char *host = header_of(c, MHD_HTTP_HEADER_HOST);

    return tt_access_host(&s->hosts, host) &&
           tt_access_site(host, header_of(c, "Origin"), header_of(c, "Sec-Fetch-Site"));
}

/* ── Replies ──────────────────────────────────────────────────────────────────────── */

static void refuse(struct tt_reply *r, unsigned status, const char *text)
{
    size_t size = strlen(text);

    *r = (struct tt_reply){.status = status,
                           .type = "text/plain; charset=utf-8",
                           .body = strdup(text),
                           .size = size};
    if (!r->body)
        r->size = 0;
}

/* Replaces the body of a reply. */
static void replace_body(struct tt_reply *r, char *body, size_t size, int is_gzipped)
{
    if (!r->fixed)
        free(r->body);
    r->body = body;
    r->size = size;
    r->fixed = 0;
    r->gzipped = is_gzipped;
}

static void pack(struct tt_reply *r)
{
    z_stream z;
    char *packed;
    size_t room;

    memset(&z, 0, sizeof z);
    if (deflateInit2(&z, 3, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return;
    room = deflateBound(&z, r->size);
    packed = malloc(room);
    z.next_in = (unsigned char *)r->body;
    z.avail_in = (unsigned)r->size;
    z.next_out = (unsigned char *)packed;
    z.avail_out = (unsigned)room;
    if (packed && deflate(&z, Z_FINISH) == Z_STREAM_END)
        replace_body(r, packed, z.total_out, 1);
    else
        free(packed);
    (void)deflateEnd(&z);
}

/* The last word of gzip data is the size; only small data of our own are kept packed. */
static void unpack(struct tt_reply *r)
{
    uint32_t size;
    z_stream z;
    char *text;

    memset(&z, 0, sizeof z);
    memcpy(&size, r->body + r->size - sizeof size, sizeof size);
    text = malloc((size_t)size + 1);
    if (inflateInit2(&z, 15 + 16) != Z_OK) {
        free(text);
        return;
    }
    z.next_in = (unsigned char *)r->body;
    z.avail_in = (unsigned)r->size;
    z.next_out = (unsigned char *)text;
    z.avail_out = size;
    if (text && inflate(&z, Z_FINISH) == Z_STREAM_END)
        replace_body(r, text, size, 0);
    else
        free(text);
    (void)inflateEnd(&z);
}

/* Sends gzip if that is accepted and worthwhile, and only then. */
static void encode(struct MHD_Connection *c, struct tt_reply *r)
{
    int accepted = tt_access_gzip(header_of(c, MHD_HTTP_HEADER_ACCEPT_ENCODING));

    if (r->gzipped && !accepted)
        unpack(r);
    else if (!r->gzipped && accepted && !r->fixed && r->size >= WORTH_PACKING &&
             r->size <= 1u << 30)
        pack(r);
}

static const char *const headers[][2] = {
    {"Cache-Control", "no-store"},
    {"Content-Security-Policy",
     "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: "
     "blob:; "
     "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Referrer-Policy", "no-referrer"},
    {"Vary", "Accept-Encoding"},
    {"X-Content-Type-Options", "nosniff"},
};

static enum MHD_Result send_reply(struct MHD_Connection *c, struct tt_reply *r)
{
    struct MHD_Response *response;
    enum MHD_Result result;

    encode(c, r);
    response = MHD_create_response_from_buffer(
        r->size, r->body, r->fixed ? MHD_RESPMEM_PERSISTENT : MHD_RESPMEM_MUST_FREE);
    if (!response) {
        if (!r->fixed)
            free(r->body);
        return MHD_NO;
    }
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        MHD_add_response_header(response, headers[i][0], headers[i][1]);
    MHD_add_response_header(response, "Content-Type", r->type);
    if (r->gzipped)
        MHD_add_response_header(response, "Content-Encoding", "gzip");
    if (r->status == MHD_HTTP_METHOD_NOT_ALLOWED)
        MHD_add_response_header(response, "Allow", "GET, HEAD");
    if (r->status == MHD_HTTP_UNAUTHORIZED)
        MHD_add_response_header(response, "WWW-Authenticate", "Bearer");
    if (r->status == MHD_HTTP_SERVICE_UNAVAILABLE)
        MHD_add_response_header(response, "Retry-After", "10");
    result = MHD_queue_response(c, r->status, response);
    MHD_destroy_response(response);
    return result;
}

/* Returns the request after the token; NULL: it is refused, and the reply says why.
 * Links to the page itself work from anywhere, as they have the token. */
static char *asked_here(struct tt_http *s, struct MHD_Connection *c, char *uri,
                        struct tt_reply *r)
{
    char *path = (char *)(uintptr_t)behind_token(s, uri);

    if (!tt_access_host(&s->hosts, header_of(c, MHD_HTTP_HEADER_HOST)))
        refuse(r, MHD_HTTP_MISDIRECTED_REQUEST,
               "This server does not know that host: `tallytree view --host NAME` adds a "
               "name.\n");
    else if (!is_ours(s, c) && (!path || *path || header_of(c, "Origin") ||
                                !tt_access_navigation(header_of(c, "Sec-Fetch-Mode"),
                                                      header_of(c, "Sec-Fetch-Dest"))))
        refuse(r, MHD_HTTP_FORBIDDEN, "Requests of other sites' pages are refused.\n");
    else if (!path)
        refuse(r, MHD_HTTP_FORBIDDEN,
               "The address has no token, or not this one: open the one that "
               "`tallytree view` has printed.\n");
    else
        return path;
    return NULL;
}

/* The same for an address that others may reach: a header has the token, if there is
 * one. */
static char *asked_openly(struct tt_http *s, struct MHD_Connection *c, char *uri,
                          struct tt_reply *r)
{
    if (s->bearer &&
        !tt_access_bearer(s->bearer, header_of(c, MHD_HTTP_HEADER_AUTHORIZATION))) {
        refuse(r, MHD_HTTP_UNAUTHORIZED,
               "Requests need the header 'Authorization: Bearer TOKEN'.\n");
        return NULL;
    }
    if (!s->bearer && !tt_access_host(&s->hosts, header_of(c, MHD_HTTP_HEADER_HOST))) {
        refuse(r, MHD_HTTP_MISDIRECTED_REQUEST,
               "This server does not know that host: `tallytree serve --host NAME` adds "
               "a name.\n");
        return NULL;
    }
    if (!s->bearer && (header_of(c, "Origin") || !is_ours(s, c))) {
        refuse(r, MHD_HTTP_FORBIDDEN, "Requests of other sites' pages are refused.\n");
        return NULL;
    }
    return uri + (uri[0] == '/');
}

/* Returns the path of an accepted request, and its query; NULL: the reply says why not. */
static char *accept_request(struct tt_http *s, struct MHD_Connection *c,
                            const char *method, char *uri, char **query,
                            struct tt_reply *r)
{
    char *path;

    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0) {
        refuse(r, MHD_HTTP_METHOD_NOT_ALLOWED,
               "Method not allowed: this server answers GET and HEAD.\n");
        return NULL;
    }
    if (strlen(uri) > MOST_ASKED) { /* the library might have no memory for the reply */
        refuse(r, MHD_HTTP_URI_TOO_LONG, "This address is too long.\n");
        return NULL;
    }
    path = s->address ? asked_openly(s, c, uri, r) : asked_here(s, c, uri, r);
    *query = path ? strchr(path, '?') : NULL;
    if (*query)
        *(*query)++ = '\0';
    return path;
}

/* ── The library's callbacks ──────────────────────────────────────────────────────── */

enum stage {
    BEGUN, /* its headers are there; the next call is for the answer */
    ASKED,
    MADE /* the answer is, and has not been sent */
};

struct request {
    struct tt_job job; /* the first field */
    struct tt_http *server;
    struct MHD_Connection *c;
    enum stage stage;
    char *path, *query;
    struct tt_reply reply;
    char uri[];
};

/* The library would store each word of the query, and the connection hangs if it has no room
 * for all of them.  We read the query ourselves, so cut it, where the library does, too. */
static void hide_query(const char *uri)
{
    char *query = strchr(uri, '?');

    if (query && query[1])
        query[1] = '\0';
}

/* Gets the address as it was sent; the result becomes on_request's *state. */
static void *on_uri(void *arg, const char *uri, struct MHD_Connection *c)
{
    size_t size = strlen(uri) + 1;
    struct request *r = malloc(sizeof *r + size);

    if (r) {
        *r = (struct request){.server = arg, .c = c};
        memcpy(r->uri, uri, size);
        hide_query(uri);
    }
    return r;
}

static struct tt_connection *connection_of(struct MHD_Connection *c)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(
        c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

    return info ? info->socket_context : NULL;
}

static void on_connection(void *arg, struct MHD_Connection *c, void **context,
                          enum MHD_ConnectionNotificationCode code)
{
    struct tt_http *s = arg;
    const union MHD_ConnectionInfo *info;

    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
        tt_connections_drop(&s->connections, *context);
        *context = NULL;
        return;
    }
    info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
    *context = info ? tt_connections_add(&s->connections, info->connect_fd) : NULL;
}

static void make_reply(struct request *r)
{
    struct tt_http *s = r->server;

    s->answer(s->arg, r->path, r->query ? r->query : "", &r->reply);
    tt_connections_end(&s->connections, connection_of(r->c), 1);
}

/* By a worker, while the library does nothing with the connection. */
static void run_job(struct tt_job *job)
{
    struct request *r = (struct request *)job;

    make_reply(r);
    r->stage = MADE;
    MHD_resume_connection(r->c);
}

static void begin_reply(struct request *r)
{
    struct tt_http *s = r->server;
    struct tt_connection *connection = connection_of(r->c);

    r->reply.connection = connection ? connection->fd : -1;
    r->reply.is_browser = header_of(r->c, "Sec-Fetch-Mode") != NULL;
    r->reply.workers = s->address ? NULL : &s->workers;
    tt_connections_begin(&s->connections, connection);
}

/* Threads of the library serve many connections each: workers make the replies. */
static enum MHD_Result answer(struct request *r)
{
    struct tt_http *s = r->server;

    begin_reply(r);
    if (s->address || (s->is_quick && s->is_quick(r->path))) {
        make_reply(r);
        return send_reply(r->c, &r->reply);
    }
    r->job.run = run_job;
    MHD_suspend_connection(r->c);
    if (tt_workers_give(&s->workers, &r->job) == 0)
        return MHD_YES;
    tt_connections_end(&s->connections, connection_of(r->c), 1);
    refuse(&r->reply, MHD_HTTP_SERVICE_UNAVAILABLE, "This server is ending.\n");
    r->stage = MADE;
    MHD_resume_connection(r->c);
    return MHD_YES;
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *c, const char *url,
                                  const char *method, const char *version,
                                  const char *data, size_t *size, void **state)
{
    struct request *r = *state;

    (void)url;
    (void)version;
    (void)data;
    if (!r)
        return MHD_NO;
    if (r->stage == BEGUN || *size) { /* uploaded data are ignored */
        r->stage = ASKED;
        *size = 0;
        return MHD_YES;
    }
    if (r->stage == ASKED) {
        r->reply.status = MHD_HTTP_OK;
        r->path = accept_request(arg, c, method, r->uri, &r->query, &r->reply);
        if (r->path)
            return answer(r);
    }
    r->stage = ASKED; /* the library owns the body then */
    return send_reply(c, &r->reply);
}

/* A reply that was made is not sent if the server ends first. */
static void on_done(void *arg, struct MHD_Connection *c, void **state,
                    enum MHD_RequestTerminationCode code)
{
    struct request *r = *state;

    (void)arg;
    (void)c;
    (void)code;
    if (r && r->stage == MADE && !r->reply.fixed)
        free(r->reply.body);
    free(r);
    *state = NULL;
}

int tt_http_is_wanted(const struct tt_reply *r)
{
    return !(r->is_browser ? tt_connection_is_gone(r->connection)
                           : tt_connection_is_reset(r->connection)) &&
           !(r->workers && tt_workers_are_ending(r->workers));
}

/* ── Start and stop ───────────────────────────────────────────────────────────────── */

/* Returns how many connections there may be, by the limit of descriptors. */
static unsigned make_room(void)
{
    struct rlimit l;
    rlim_t want = CONNECTIONS + 100;

    if (getrlimit(RLIMIT_NOFILE, &l) != 0)
        return 500;
    if (l.rlim_cur < want) {
        l.rlim_cur = want < l.rlim_max ? want : l.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &l);
        (void)getrlimit(RLIMIT_NOFILE, &l);
    }
    return l.rlim_cur < want ? (unsigned)(l.rlim_cur / 2) : CONNECTIONS;
}

/* Finds an IPv4 address of the host, or else an IPv6 address; errno if there is none. */
static int find_host(const char *host, struct sockaddr_storage *to)
{
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *found;

    if (getaddrinfo(host, NULL, &hints, &found) != 0) {
        hints.ai_family = AF_INET6;
        if (getaddrinfo(host, NULL, &hints, &found) != 0) {
            errno = EADDRNOTAVAIL;
            return -1;
        }
    }
    memcpy(to, found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    return 0;
}

int tt_http_is_local(const char *address)
{
    struct sockaddr_storage found;
    const struct sockaddr_in *four = (const struct sockaddr_in *)(const void *)&found;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)(const void *)&found;

    if (find_host(address, &found) != 0)
        return -1;
    return found.ss_family == AF_INET ? ntohl(four->sin_addr.s_addr) >> 24 == 127
                                      : IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
}

/* Finds the address and the library's flags to listen with; less than 0 with errno. */
static int find_address(const struct tt_http *s, struct sockaddr_storage *to)
{
    struct sockaddr_in *four = (struct sockaddr_in *)(void *)to;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)(void *)to;

    memset(to, 0, sizeof *to);
    four->sin_family = AF_INET;
    four->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (s->address && find_host(s->address, to) != 0)
        return -1;
    if (to->ss_family == AF_INET) {
        four->sin_port = htons(s->port);
        return 0;
    }
    six->sin6_port = htons(s->port);
    return IN6_IS_ADDR_UNSPECIFIED(&six->sin6_addr) ? MHD_USE_DUAL_STACK : MHD_USE_IPv6;
}

/* Requests to an open address wait for their results, each in a separate thread.  Those of a
 * browser on this machine are answered by workers. */
int tt_http_start(struct tt_http *s)
{
    struct sockaddr_storage address;
    const union MHD_DaemonInfo *info;
    unsigned mode = s->address ? MHD_USE_THREAD_PER_CONNECTION
                               : MHD_USE_AUTO | MHD_ALLOW_SUSPEND_RESUME;
    unsigned connections = s->address ? OPEN_CONNECTIONS : make_room();
    int family = find_address(s, &address);

    if (family < 0 || tt_microhttpd_load() != 0 ||
        (!s->address && tt_workers_start(&s->workers) != 0))
        return -1;
    tt_connections_init(&s->connections, connections / SPARE);
    s->daemon = MHD_start_daemon(
        mode | (unsigned)family | MHD_USE_INTERNAL_POLLING_THREAD, s->port, NULL, NULL,
        on_request, s, MHD_OPTION_SOCK_ADDR, &address, MHD_OPTION_CONNECTION_LIMIT,
        connections, MHD_OPTION_NOTIFY_CONNECTION, on_connection, s,
        MHD_OPTION_CONNECTION_TIMEOUT, TIMEOUT, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)HEADERS, MHD_OPTION_URI_LOG_CALLBACK, on_uri, s,
        MHD_OPTION_NOTIFY_COMPLETED, on_done, NULL,
        s->address ? MHD_OPTION_END : MHD_OPTION_THREAD_POOL_SIZE, THREADS,
        MHD_OPTION_END);
    if (!s->daemon) {
        if (!s->address)
            tt_workers_end(&s->workers);
        tt_connections_fini(&s->connections);
        return -1;
    }
    info = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_BIND_PORT);
    if (info && info->port)
        s->port = info->port;
    return 0;
}

const char *tt_http_reason(void)
{
    return errno == ELIBACC ? "libmicrohttpd.so.12 cannot be loaded; install the package "
                              "libmicrohttpd12"
                            : strerror(errno);
}

void tt_http_stop(struct tt_http *s)
{
    if (!s->daemon)
        return;
    if (!s->address)
        tt_workers_end(&s->workers);
    MHD_stop_daemon(s->daemon);
    tt_connections_fini(&s->connections);
    s->daemon = NULL;
}

int tt_http_token(char token[33])
{
    unsigned char bytes[16];

    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return -1;
    for (int i = 0; i < 16; i++)
        (void)snprintf(token + (ptrdiff_t)2 * i, 3, "%02x", bytes[i]);
    return 0;
}
