/* SPDX-License-Identifier: MIT */
/* push-queue.h - profiles that wait to be sent, in a folder: see push-queue.c. */
#ifndef TT_PUSH_QUEUE_H
#define TT_PUSH_QUEUE_H

#include <limits.h>

#include "content-hash.h"
#include "memory.h"

struct tt_queue {
    char folder[PATH_MAX]; /* of one address */
    int lock;              /* of the folder, as long as it is open */
    uint64_t most;         /* bytes that may wait */
    uint64_t size;         /* bytes that wait */
};

struct tt_queued {
    char name[TT_CONTENT_HASH_DIGITS + 1]; /* of its content */
    uint64_t time, size;
};

/* Opens the folder below `base` for profiles that go to this address in this way, makes it
 * if needed, and waits until no other process has it open.  Complains as of "push" and
 * returns a negative error. */
int tt_queue_open(struct tt_queue *, const char *base, const char *way, const char *url,
                  uint64_t most);
void tt_queue_close(struct tt_queue *);

/* Lets other processes have the folder for a while; or has it again: 0: another one has it. */
void tt_queue_leave(const struct tt_queue *);
int tt_queue_return(struct tt_queue *);

/* Was this one sent? */
int tt_queue_was_sent(const struct tt_queue *, const char *name);
/* Does this one wait? */
int tt_queue_waits(const struct tt_queue *, const char *name);
/* Adds one; it is on the disk then. */
int tt_queue_add(struct tt_queue *, const char *name, const void *bytes, size_t size);
/* Files that got their names in this folder have them on the disk, too. */
int tt_queue_sync(const char *folder);
/* Lists those that wait, oldest first: struct tt_queued; the vector is the caller's. */
int tt_queue_list(struct tt_queue *, struct tt_vector *);
/* Reads one: *bytes is to be freed. */
int tt_queue_read(const struct tt_queue *, const struct tt_queued *, char **bytes,
                  size_t *size);
/* Removes one that was sent, and remembers that it was; or one that was not. */
void tt_queue_sent(struct tt_queue *, const struct tt_queued *);
void tt_queue_drop(struct tt_queue *, const struct tt_queued *);

#endif
