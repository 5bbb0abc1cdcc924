/* SPDX-License-Identifier: MIT */
/* connections.c - limits connections, so that idle strangers cannot block others. */
#include "connections.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>

void tt_connections_init(struct tt_connections *s, unsigned most)
{
    *s = (struct tt_connections){.most = most};
    pthread_mutex_init(&s->lock, NULL);
}

void tt_connections_fini(struct tt_connections *s)
{
    while (s->first)
        tt_connections_drop(s, s->first);
    pthread_mutex_destroy(&s->lock);
}

/* The server sees that it has ended, and drops it.  A known connection is ended only if
 * there is no other. */
static void end_one(struct tt_connections *s)
{
    struct tt_connection *known = NULL, *c;

    for (c = s->first; c; c = c->after) {
        if (c->is_busy || c->fd < 0)
            continue;
        if (!c->is_known)
            break;
        known = known ? known : c;
    }
    c = c ? c : known;
    if (!c)
        return;
    (void)shutdown(c->fd, SHUT_RDWR);
    c->fd = -1;
}

struct tt_connection *tt_connections_add(struct tt_connections *s, int fd)
{
    struct tt_connection *c = calloc(1, sizeof *c);

    if (!c)
        return NULL;
    c->fd = fd;
    pthread_mutex_lock(&s->lock);
    if (++s->count > s->most)
        end_one(s);
    c->before = s->last;
    *(s->last ? &s->last->after : &s->first) = c;
    s->last = c;
    pthread_mutex_unlock(&s->lock);
    return c;
}

void tt_connections_drop(struct tt_connections *s, struct tt_connection *c)
{
    if (!c)
        return;
    pthread_mutex_lock(&s->lock);
    *(c->before ? &c->before->after : &s->first) = c->after;
    *(c->after ? &c->after->before : &s->last) = c->before;
    s->count--;
    pthread_mutex_unlock(&s->lock);
    free(c);
}

void tt_connections_begin(struct tt_connections *s, struct tt_connection *c)
{
    if (!c)
        return;
    pthread_mutex_lock(&s->lock);
    c->is_busy = 1;
    pthread_mutex_unlock(&s->lock);
}

void tt_connections_end(struct tt_connections *s, struct tt_connection *c, int is_known)
{
    if (!c)
        return;
    pthread_mutex_lock(&s->lock);
    c->is_busy = 0;
    c->is_known |= is_known;
    pthread_mutex_unlock(&s->lock);
}

static int has_event(int fd, int events)
{
    struct pollfd p = {.fd = fd, .events = (short)events};

    return fd >= 0 && poll(&p, 1, 0) == 1 &&
           (p.revents & (events | POLLHUP | POLLERR | POLLNVAL)) != 0;
}

int tt_connection_is_gone(int fd) { return has_event(fd, POLLRDHUP); }

int tt_connection_is_reset(int fd) { return has_event(fd, 0); }
