/* SPDX-License-Identifier: MIT */
/* connections.h - limits connections, so that idle strangers cannot block others.
 *
 * Any user of the machine can connect and stay idle.  When there are many connections,
 * each new one ends the oldest that has not been accepted, and is not being answered. */
#ifndef TT_CONNECTIONS_H
#define TT_CONNECTIONS_H

#include <pthread.h>

struct tt_connection {
    struct tt_connection *before, *after; /* in the order in which they came */
    int fd;
    int is_known; /* it has asked what it may ask */
    int is_busy;  /* it is being answered */
};

struct tt_connections {
    pthread_mutex_t lock; /* of all, the connections too */
    struct tt_connection *first, *last;
    unsigned count, most; /* most: beyond it, each new one costs an old one */
};

void tt_connections_init(struct tt_connections *, unsigned most);
void tt_connections_fini(struct tt_connections *);
/* Returns NULL if there is no memory; then it is not counted. */
struct tt_connection *tt_connections_add(struct tt_connections *, int fd);
/* Call it before the descriptor is closed.  NULL is accepted. */
void tt_connections_drop(struct tt_connections *, struct tt_connection *);
void tt_connections_begin(struct tt_connections *, struct tt_connection *);
void tt_connections_end(struct tt_connections *, struct tt_connection *, int is_known);

/* Has the other side closed a connection? */
int tt_connection_is_gone(int fd);

/* Neither half of it is open. */
int tt_connection_is_reset(int fd);

#endif
