/* SPDX-License-Identifier: MIT */
/* push-sender.h - sends what waits in a queue, and tries again where that may help. */
#ifndef TT_PUSH_SENDER_H
#define TT_PUSH_SENDER_H

#include "post.h"
#include "push-queue.h"

/* A way to send profiles. */
struct tt_push_way {
    const char *name, *path; /* path: of URLs without one */
    /* Headers of the request, up to a NULL. */
    const char *const *header;
    /* What the server's answer says although it took the profile; 0: nothing to complain of. */
    int (*complains)(const struct tt_answer *, char *reason, size_t size);
};

struct tt_sender {
    const struct tt_push_way *way;
    const char *command_url; /* borrowed: as the user gave it */
    char url[4096];
    uint64_t patience; /* ms without success */
    int follows;       /* adding does not wait for the server */
    uint64_t end; /* ns of the monotonic clock: no attempt is made later; 0: any time */
    struct tt_queue queue;
    struct tt_poster *poster; /* owned */
    uint64_t next,
        deadline;     /* ns of the monotonic clock: the next attempt, the last one */
    uint64_t pause;   /* ms between attempts; it grows */
    int is_over;      /* nothing more is sent in this run */
    char reason[400]; /* of the last failure */
    struct tt_vector failed; /* struct tt_queued: not tried again in this run */
    size_t sent, refused, dropped;
};

/* Is this an address to send to?  0, or complains of the flag, as "push: '--otlp'", and returns a
 * negative error. */
int tt_sender_check(const char *flag, const char *url);

/* Opens it, and its queue; complains and returns a negative error. */
int tt_sender_open(struct tt_sender *, const char *folder, uint64_t most,
                   const struct tt_post_options *);
void tt_sender_close(struct tt_sender *);

/* Puts a request in the queue: its query, and its body.  1: it is in it; 0: it was sent before,
 * unless `again`.  A full queue loses its oldest ones, which is complained of. */
int tt_sender_add(struct tt_sender *, const char *name, const char *query,
                  const void *body, size_t size, int again);

/* Sends what waits; without `patient`, only what can be sent at once. */
int tt_sender_send(struct tt_sender *, int patient);

/* Makes no attempt later than this many ms from now. */
void tt_sender_end_in(struct tt_sender *, uint64_t ms);
/* Is that time over? */
int tt_sender_has_ended(const struct tt_sender *);

/* What failed in this run may be tried again, as in a new one. */
void tt_sender_renew(struct tt_sender *);

/* The number of those that wait. */
size_t tt_sender_waiting(struct tt_sender *);

#endif
