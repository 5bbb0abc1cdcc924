/* SPDX-License-Identifier: MIT */
/* page.h - the server's side of the viewer's page: the page, answers, sources,
 * changes. */
#ifndef TT_PAGE_H
#define TT_PAGE_H

#include <pthread.h>

#include "answer.h"
#include "http.h"

enum { TT_REPLY_MOST = 1 << 20 }; /* bytes of an answer, unless all is asked for */

enum tt_page_end {
    TT_PAGE_WHOLE, /* it did not grow */
    TT_PAGE_ENDED, /* while it was shown; all of it is there */
    TT_PAGE_LOST   /* its process has gone without ending it, or the file has */
};

enum { TT_PAGE_UNCHANGED = 1 };

struct tt_page {
    struct tt_profile *profile; /* borrowed */
    struct tt_profile *before;  /* borrowed: what it is compared with, or NULL */
    const struct tt_memory *memory;
    int live; /* it grows: `reload` makes a newer one */
    enum tt_page_end end;
    /* Replaces *profile, says whether it still grows, and if not, how it ended.  0; or an
     * error, or TT_PAGE_UNCHANGED, and then all three are unchanged.  It is not used by
     * others meanwhile. */
    int (*reload)(void *arg, struct tt_profile **profile, int *live,
                  enum tt_page_end *end);
    /* Of one that does not grow: is there another one in its place, for `reload`?  NULL: there
     * is none. */
    int (*is_replaced)(void *arg);
    /* Returns the text of a file that the profile names, to be freed, with a NUL after
     * its `size` bytes, and none in them; NULL: *reason says why. */
    char *(*source)(void *arg, const char *file, size_t *size, const char **reason);
    void *arg;
    const struct tt_listing *listing; /* borrowed: of its code; used by one at a time */

    pthread_mutex_t lock; /* of all below; not held by a query while it works */
    pthread_cond_t change;
    /* Is this reply still wanted?  Set by tt_page_init; a test may replace it. */
    int (*is_wanted)(const struct tt_reply *);
    unsigned users; /* queries that are being answered: the profile stays as it is */
    struct tt_turns turns;
    struct tt_answers answers;
    uint64_t version;     /* how often it was replaced */
    int64_t loaded, cost; /* when, and how long that took, in ns */
    /* It is to be read again, but is used: new queries wait until then, or until `open`. */
    int is_due;
    int64_t hold, open; /* for how long, and until when, in ns */
    int failed;         /* readings since the last one that was possible */
};

void tt_page_init(struct tt_page *);
void tt_page_fini(struct tt_page *);
/* The answer function of a tt_http; `page` is a struct tt_page. */
void tt_page_answer(void *page, const char *path, const char *query, struct tt_reply *);

/* What needs no worker, and is answered even if all workers wait. */
int tt_page_is_quick(const char *path);

#endif
