/* SPDX-License-Identifier: MIT */
/* http.h - pages over HTTP for one person on one machine.
 *
 * It listens on loopback, and answers only requests with the token in their address,
 * because any user of the machine can connect, and any page in a browser can try.  A
 * request must name this host (see access.h), must not come from another site's page, and
 * only reads.
 *
 * With an address, it serves programs that collect profiles, maybe on other machines: a
 * request has the bearer token or, if there is none, names this host and comes from no
 * other site's page. */
#ifndef TT_HTTP_H
#define TT_HTTP_H

#include <stddef.h>
#include <stdint.h>

#include "access.h"
#include "connections.h"
#include "workers.h"

struct tt_reply {
    unsigned status; /* 200 … */
    const char *type;
    char *
        body; /* malloc'ed; freed when it was sent; or, with `fixed`, borrowed for good */
    size_t size;
    int fixed, gzipped;
    int connection; /* given: where it is sent to, for tt_connection_is_gone; or -1 */
    int is_browser; /* given: does a browser ask? */
    struct tt_workers *workers; /* given: those that make it, or NULL */
};

struct tt_http {
    const char *token;   /* the first part of every path; not looked at with an address */
    const char *address; /* a host to listen on; "::": all addresses; NULL: loopback */
    const char *bearer;  /* with an address: what the header has; NULL: nothing */
    struct tt_hosts hosts;
    uint16_t port; /* 0: any that is free; then the one that it is */
    /* Answers a request for `path` ("" or "query") with `query` (the text after '?', or
     * ""), both as they were sent, with %XX.  Called by several threads at once. */
    void (*answer)(void *arg, const char *path, const char *query, struct tt_reply *);
    int (*is_quick)(const char *path); /* answered without a worker; NULL: none is */
    void *arg;
    void *daemon;
    struct tt_connections connections;
    struct tt_workers workers; /* without an address */
};

/* 0, or -1 with errno. */
int tt_http_start(struct tt_http *);
/* Returns the reason of errno after a failed start, as text. */
const char *tt_http_reason(void);
void tt_http_stop(struct tt_http *);
/* While a reply is made: is it still wanted?  A browser closes the connection of a request
 * that it cancels; other programs may close the half on which they send, and then read. */
int tt_http_is_wanted(const struct tt_reply *);
/* Can only this machine reach the address?  -1 with errno if the host is unknown. */
int tt_http_is_local(const char *address);

/* Makes a token that cannot be guessed: 32 hexadecimal digits and a NUL.  0, or -1 with
 * errno. */
int tt_http_token(char token[33]);

#endif
