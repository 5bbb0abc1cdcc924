/* SPDX-License-Identifier: MIT */
/* http.c - pages over HTTP for one person on one machine.
 *
 * What a request may do is decided here, before anything looks at what it asks; no path is
 * ever made into a file's name. */
#include "http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
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
    THREADS = 4,
    HEADERS = 16 << 10, /* bytes of a request, with what the library needs */
    WORTH_PACKING = 2048
};

/* ── Who may ask ──────────────────────────────────────────────────────────────────── */

static const char *header_of(struct MHD_Connection *c, const char *name)
{
    return MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);
}

static int is_ours(const struct tt_http *s, const char *host)
{
    for (size_t i = 0; host && i < sizeof s->hosts / sizeof *s->hosts; i++)
        if (strcasecmp(host, s->hosts[i]) == 0)
            return 1;
    return 0;
}

/* Does it come from our own page, or from an address that somebody opened? */
static int is_same_site(const struct tt_http *s, struct MHD_Connection *c)
{
    const char *origin = header_of(c, "Origin"), *site = header_of(c, "Sec-Fetch-Site");
    static const char scheme[] = "http://";

    if (origin && (strncasecmp(origin, scheme, sizeof scheme - 1) != 0 ||
                   !is_ours(s, origin + sizeof scheme - 1)))
        return 0;
    return !site || strcmp(site, "same-origin") == 0 || strcmp(site, "none") == 0;
}

/* What stands behind the token; NULL when it is not ours.  Takes as long for a token that
 * is nearly right. */
static const char *behind_token(const struct tt_http *s, const char *uri)
{
    size_t length = strlen(s->token);
    unsigned wrong = 0;

    if (strnlen(uri, length + 2) < length + 2 || uri[0] != '/' || uri[length + 1] != '/')
        return NULL;
    for (size_t i = 0; i < length; i++)
        wrong |= (unsigned char)(uri[i + 1] ^ s->token[i]);
    return wrong ? NULL : uri + length + 2;
}

/* What is asked of an open address; NULL: by a page of some site, in a browser. */
static const char *asked_openly(struct MHD_Connection *c, const char *uri)
{
    const char *site = header_of(c, "Sec-Fetch-Site");

    if (header_of(c, "Origin") ||
        (site && strcmp(site, "none") != 0 && strcmp(site, "same-origin") != 0))
        return NULL;
    return uri + (uri[0] == '/');
}

/* ── Replies ──────────────────────────────────────────────────────────────────────── */

static void refuse(struct tt_reply *r, unsigned status, const char *text)
{
    size_t size = strlen(text);

    *r = (struct tt_reply){status, "text/plain; charset=utf-8", strdup(text), size, 0, 0};
    if (!r->body)
        r->size = 0;
}

/* As gzip, when that is accepted and worth while. */
static void pack(struct MHD_Connection *c, struct tt_reply *r)
{
    const char *accepted = header_of(c, "Accept-Encoding");
    z_stream z;
    char *packed;
    size_t room;

    if (r->gzipped || r->fixed || r->size < WORTH_PACKING || r->size > 1u << 30 ||
        !accepted || !strstr(accepted, "gzip"))
        return;
    memset(&z, 0, sizeof z);
    if (deflateInit2(&z, 3, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return;
    room = deflateBound(&z, r->size);
    packed = malloc(room);
    z.next_in = (unsigned char *)r->body;
    z.avail_in = (unsigned)r->size;
    z.next_out = (unsigned char *)packed;
    z.avail_out = (unsigned)room;
    if (packed && deflate(&z, Z_FINISH) == Z_STREAM_END) {
        free(r->body);
        r->body = packed;
        r->size = z.total_out;
        r->gzipped = 1;
    } else {
        free(packed);
    }
    (void)deflateEnd(&z);
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
    {"X-Content-Type-Options", "nosniff"},
};

static enum MHD_Result send_reply(struct MHD_Connection *c, struct tt_reply *r)
{
    struct MHD_Response *response;
    enum MHD_Result result;

    pack(c, r);
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
    result = MHD_queue_response(c, r->status, response);
    MHD_destroy_response(response);
    return result;
}

static void answer(struct tt_http *s, struct MHD_Connection *c, const char *method,
                   char *uri, struct tt_reply *r)
{
    char *path = NULL, *query;

    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0) {
        refuse(r, MHD_HTTP_METHOD_NOT_ALLOWED, "This server only shows.\n");
    } else if (s->address && !(path = (char *)(uintptr_t)asked_openly(c, uri))) {
        refuse(r, MHD_HTTP_FORBIDDEN, "Other sites may not ask.\n");
    } else if (!s->address && !is_ours(s, header_of(c, "Host"))) {
        refuse(r, MHD_HTTP_MISDIRECTED_REQUEST, "No such host.\n");
    } else if (!s->address && !is_same_site(s, c)) {
        refuse(r, MHD_HTTP_FORBIDDEN, "Other sites may not ask.\n");
    } else if (!s->address && !(path = (char *)(uintptr_t)behind_token(s, uri))) {
        refuse(r, MHD_HTTP_FORBIDDEN,
               "The address has no token, or not this one: open the one that "
               "`tallytree view` has printed.\n");
    } else {
        query = strchr(path, '?');
        if (query)
            *query++ = '\0';
        s->answer(s->arg, path, query ? query : "", r);
    }
}

/* ── The library's callbacks ──────────────────────────────────────────────────────── */

struct request {
    int begun; /* its headers are there; the next call is for the answer */
    char uri[];
};

/* The address as it was sent; what this returns is on_request's *state. */
static void *on_uri(void *arg, const char *uri, struct MHD_Connection *c)
{
    size_t size = strlen(uri) + 1;
    struct request *r = malloc(sizeof *r + size);

    (void)arg;
    (void)c;
    if (r) {
        r->begun = 0;
        memcpy(r->uri, uri, size);
    }
    return r;
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *c, const char *url,
                                  const char *method, const char *version,
                                  const char *data, size_t *size, void **state)
{
    struct tt_reply reply = {.status = MHD_HTTP_OK};
    struct request *request = *state;

    (void)url;
    (void)version;
    (void)data;
    if (!request)
        return MHD_NO;
    if (!request->begun || *size) { /* what is uploaded is not looked at */
        request->begun = 1;
        *size = 0;
        return MHD_YES;
    }
    answer(arg, c, method, request->uri, &reply);
    return send_reply(c, &reply);
}

static void on_done(void *arg, struct MHD_Connection *c, void **state,
                    enum MHD_RequestTerminationCode code)
{
    (void)arg;
    (void)c;
    (void)code;
    free(*state);
    *state = NULL;
}

/* ── Start and stop ───────────────────────────────────────────────────────────────── */

/* Room for the connections among our descriptors; how many there may be. */
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

/* By IPv4 if the host has an address there, else by IPv6; errno when it has none. */
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

/* Where to listen, and how, as the library has it; less than 0 with errno. */
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

/* Questions to an open address wait for what they ask about, each in a thread of its own. */
int tt_http_start(struct tt_http *s)
{
    struct sockaddr_storage address;
    static const char *const names[] = {"127.0.0.1", "localhost"};
    const union MHD_DaemonInfo *info;
    unsigned mode = s->address ? MHD_USE_THREAD_PER_CONNECTION : MHD_USE_AUTO;
    int family = find_address(s, &address);

    if (family < 0)
        return -1;
    s->daemon = MHD_start_daemon(
        mode | (unsigned)family | MHD_USE_INTERNAL_POLLING_THREAD, s->port, NULL, NULL,
        on_request, s, MHD_OPTION_SOCK_ADDR, &address, MHD_OPTION_CONNECTION_LIMIT,
        s->address ? OPEN_CONNECTIONS : make_room(), MHD_OPTION_CONNECTION_TIMEOUT,
        TIMEOUT, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEADERS,
        MHD_OPTION_URI_LOG_CALLBACK, on_uri, NULL, MHD_OPTION_NOTIFY_COMPLETED, on_done,
        NULL, s->address ? MHD_OPTION_END : MHD_OPTION_THREAD_POOL_SIZE, THREADS,
        MHD_OPTION_END);
    if (!s->daemon)
        return -1;
    info = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_BIND_PORT);
    if (info && info->port)
        s->port = info->port;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        (void)snprintf(s->hosts[i], sizeof s->hosts[i], "%s:%u", names[i], s->port);
    return 0;
}

void tt_http_stop(struct tt_http *s)
{
    if (s->daemon)
        MHD_stop_daemon(s->daemon);
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
