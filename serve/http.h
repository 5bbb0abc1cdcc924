/* SPDX-License-Identifier: MIT */
/* http.h - pages over HTTP for one person on one machine.
 *
 * Listens on loopback, and answers only who knows the token in the address: any user of
 * the machine can connect, and any page in a browser can try.  So a request must name this
 * host (no name that was bound to 127.0.0.1 in the meantime), must not come from another
 * site's page, and only reads.
 *
 * With an address, for programs on other machines: there whoever can connect may ask, but
 * for pages of other sites in a browser. */
#ifndef TT_HTTP_H
#define TT_HTTP_H

#include <stddef.h>
#include <stdint.h>

struct tt_reply {
    unsigned status; /* 200 … */
    const char *type;
    char *
        body; /* malloc'ed; freed when it was sent; or, with `fixed`, borrowed for good */
    size_t size;
    int fixed, gzipped;
};

struct tt_http {
    const char *token;   /* the first part of every path; not looked at with an address */
    const char *address; /* a host to listen on; "::": all addresses; NULL: loopback */
    uint16_t port;       /* 0: any that is free; then the one that it is */
    /* What is at `path` ("" or "query"), asked with `query` (what stands behind '?', or
     * ""), both as they were sent, %XX and all.  Called by several threads at once. */
    void (*answer)(void *arg, const char *path, const char *query, struct tt_reply *);
    void *arg;
    void *daemon;
    char hosts[2][32];
};

/* 0, or -1 with errno. */
int tt_http_start(struct tt_http *);
void tt_http_stop(struct tt_http *);

/* A token that nobody guesses: 32 hexadecimal digits and a NUL.  0, or -1 with errno. */
int tt_http_token(char token[33]);

#endif
