/* SPDX-License-Identifier: MIT */
/* post.c - one request after the other, by one connection if the server keeps it.
 *
 * Redirections are not followed: headers may have a token, which only the named server
 * should see. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "complain.h"
#include "curl-library.h"
#include "post.h"
#include "tallytree.h"

struct tt_poster {
    const struct tt_curl *curl;
    const struct tt_post_options *o;
    void *handle;
    char error[TT_CURL_ERROR_SIZE];
};

void tt_poster_lacks_curl(const char *command)
{
    tt_complain("%s: libcurl is not installed, and sends the profiles: install Debian's "
                "package libcurl4",
                command);
}

struct tt_poster *tt_poster_new(const char *command, const struct tt_post_options *o)
{
    struct tt_poster *p = calloc(1, sizeof *p);

    if (!p) {
        tt_complain("no memory");
        return NULL;
    }
    p->o = o;
    p->curl = tt_curl_load();
    if (!p->curl)
        tt_poster_lacks_curl(command);
    else if (!(p->handle = p->curl->easy_init()))
        tt_complain("no memory");
    if (p->handle)
        return p;
    free(p);
    return NULL;
}

void tt_poster_free(struct tt_poster *p)
{
    if (p)
        p->curl->easy_cleanup(p->handle);
    free(p);
}

/* libcurl calls it with parts of the body. */
static size_t keep_body(char *bytes, size_t size, size_t count, void *answer)
{
    struct tt_answer *a = answer;
    const size_t all = size * count, room = sizeof a->body - 1 - a->size,
                 kept = all < room ? all : room;

    memcpy(a->body + a->size, bytes, kept);
    a->size += kept;
    a->body[a->size] = '\0';
    return all;
}

/* NULL: no memory. */
static void *list_headers(struct tt_poster *p, const char *const *header)
{
    /* Without it, a server that does not know this word costs a second. */
    void *list = p->curl->slist_append(NULL, "Expect:"), *more = list;

    for (size_t i = 0; more && header[i]; i++)
        if ((more = p->curl->slist_append(list, header[i])))
            list = more;
    for (size_t i = 0; more && i < p->o->headers; i++)
        if ((more = p->curl->slist_append(list, p->o->header[i])))
            list = more;
    if (more)
        return list;
    p->curl->slist_free_all(list);
    return NULL;
}

/* In ms. */
static void set_timeout(struct tt_poster *p, uint64_t most)
{
    const uint64_t ms = p->o->timeout < most ? p->o->timeout : most;
    const long timeout = ms < INT_MAX ? (long)ms : INT_MAX;

    (void)p->curl->easy_setopt(p->handle, TT_CURL_TIMEOUT_MS, timeout);
    (void)p->curl->easy_setopt(p->handle, TT_CURL_CONNECTTIMEOUT_MS, timeout);
}

static void set_options(struct tt_poster *p, const char *url, const void *body,
                        size_t size, void *list, struct tt_answer *a)
{
    const struct tt_curl *c = p->curl;
    void *h = p->handle;

    (void)c->easy_setopt(h, TT_CURL_URL, url);
    (void)c->easy_setopt(h, TT_CURL_PROTOCOLS, (long)(TT_CURL_HTTP | TT_CURL_HTTPS));
    (void)c->easy_setopt(h, TT_CURL_FOLLOWLOCATION, 0L);
    (void)c->easy_setopt(h, TT_CURL_NOSIGNAL, 1L);
    (void)c->easy_setopt(h, TT_CURL_USERAGENT, "tallytree/" TT_VERSION);
    (void)c->easy_setopt(h, TT_CURL_ERRORBUFFER, p->error);
    (void)c->easy_setopt(h, TT_CURL_HTTPHEADER, list);
    (void)c->easy_setopt(h, TT_CURL_POST, 1L);
    (void)c->easy_setopt(h, TT_CURL_POSTFIELDS, body);
    (void)c->easy_setopt(h, TT_CURL_POSTFIELDSIZE_LARGE, (int64_t)size);
    (void)c->easy_setopt(h, TT_CURL_WRITEFUNCTION, keep_body);
    (void)c->easy_setopt(h, TT_CURL_WRITEDATA, a);
    if (p->o->certificates)
        (void)c->easy_setopt(h, TT_CURL_CAINFO, p->o->certificates);
}

static enum tt_posted judge_error(struct tt_poster *p, int error, struct tt_answer *a)
{
    (void)snprintf(a->reason, sizeof a->reason, "%s",
                   p->error[0] ? p->error : p->curl->easy_strerror(error));
    switch (error) {
    case TT_CURL_UNSUPPORTED_PROTOCOL:
    case TT_CURL_URL_MALFORMED:
    case TT_CURL_NOT_BUILT_IN:
    case TT_CURL_UNKNOWN_OPTION:
    case TT_CURL_PEER_FAILED_VERIFICATION:
    case TT_CURL_BAD_CA_FILE:
        return TT_POST_NOT_AT_ALL;
    default:
        return TT_POST_LATER;
    }
}

/* Reasons are for people: the first line, without control characters. */
static void note_reason(long status, struct tt_answer *a)
{
    char *at;

    (void)snprintf(a->reason, sizeof a->reason, "status %ld%s%.300s", status,
                   a->size ? ": " : "", a->body);
    a->reason[strcspn(a->reason, "\r\n")] = '\0';
    for (at = a->reason; *at; at++)
        if ((unsigned char)*at < 0x20 || (unsigned char)*at >= 0x7f)
            *at = '?';
}

static enum tt_posted judge_status(long status, struct tt_answer *a)
{
    if (status >= 200 && status < 300)
        return TT_POSTED;
    note_reason(status, a);
    switch (status) {
    case 408: /* request timeout */
    case 429: /* too many requests */
    case 502: /* bad gateway */
    case 503: /* service unavailable */
    case 504: /* gateway timeout */
        return TT_POST_LATER;
    case 401: /* unauthorised */
    case 403: /* forbidden */
    case 404: /* not found */
    case 405: /* not this method */
    case 407: /* the proxy's token */
        return TT_POST_NOT_AT_ALL;
    default:
        if (status >= 500)
            return TT_POST_FAILED;
        return status >= 400 ? TT_POST_REFUSED : TT_POST_NOT_AT_ALL;
    }
}

enum tt_posted tt_post(struct tt_poster *p, const char *url, const char *const *header,
                       const void *body, size_t size, uint64_t most, struct tt_answer *a)
{
    void *list = list_headers(p, header);
    int64_t after = 0;
    long status = 0;
    int error;

    *a = (struct tt_answer){.after = 0};
    if (!list) {
        (void)snprintf(a->reason, sizeof a->reason, "no memory");
        return TT_POST_LATER;
    }
    p->error[0] = '\0';
    set_options(p, url, body, size, list, a);
    set_timeout(p, most);
    error = p->curl->easy_perform(p->handle);
    if (!error) {
        (void)p->curl->easy_getinfo(p->handle, TT_CURL_RESPONSE_CODE, &status);
        (void)p->curl->easy_getinfo(p->handle, TT_CURL_RETRY_AFTER, &after);
        a->after = after > 0 ? (uint64_t)after : 0;
    }
    p->curl->slist_free_all(list);
    return error ? judge_error(p, error, a) : judge_status(status, a);
}
