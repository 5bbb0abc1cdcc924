/* SPDX-License-Identifier: MIT */
/* post.h - sends bytes to a server by HTTP, and says what to do next. */
#ifndef TT_POST_H
#define TT_POST_H

#include <stddef.h>
#include <stdint.h>

enum tt_posted {
    TT_POSTED,         /* the server has it */
    TT_POST_LATER,     /* try again: it is busy, or gives no answer */
    TT_POST_FAILED,    /* it failed with this one: do not try again at once */
    TT_POST_REFUSED,   /* it will never take this one */
    TT_POST_NOT_AT_ALL /* it takes none: the address, the token or the certificate */
};

struct tt_post_options {
    const char *certificates; /* a file of authorities; NULL: the system's */
    char *const *header;      /* "Name: value" */
    size_t headers;
    uint64_t timeout; /* ms, of one request */
};

struct tt_answer {
    uint64_t after;   /* seconds until it may be tried again; 0: not said */
    char reason[400]; /* why it was not taken */
    char body[2000];  /* its beginning, `size` bytes and a NUL */
    size_t size;
};

struct tt_poster;

/* NULL, after a complaint of `command`: libcurl is missing, or there is no memory.  The
 * options are borrowed. */
struct tt_poster *tt_poster_new(const char *command, const struct tt_post_options *);
void tt_poster_free(struct tt_poster *);
/* Complains of it. */
void tt_poster_lacks_curl(const char *command);

/* Sends a body with more headers, up to a NULL, and waits for the answer, for `most` ms at
 * most. */
enum tt_posted tt_post(struct tt_poster *, const char *url, const char *const *header,
                       const void *body, size_t size, uint64_t most, struct tt_answer *);

#endif
