/* SPDX-License-Identifier: MIT */
/* calls.h - the other side of a call that waits, and what the call must come to. */
#ifndef CALLS_H
#define CALLS_H

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { BIG = 600000, PIECES = 6, MS = 25 };

extern char *pattern;        /* the bytes that are sent */
extern __thread long came;   /* of the call, when it was not right */
extern __thread double took; /* ms, of one that has a limit */

static inline double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static inline void rest(int ms)
{
    struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};

    while (nanosleep(&t, &t) != 0)
        ;
}

static inline struct timespec after(clockid_t clock, int ms)
{
    struct timespec t;

    clock_gettime(clock, &t);
    t.tv_nsec += (long)ms * 1000000;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return t;
}

static inline int is(long result, long right)
{
    came = result < 0 ? -errno : result;
    return came == right;
}

/* The limit was kept: the wait was neither shorter nor restarted. */
static inline int lasted(double begin)
{
    took = (now() - begin) * 1e3;
    return took >= MS - 0.1 && took < MS + 30e3;
}

/* The same of a socket's limit.  The system counts it in ticks of up to 10 ms, and ticks that
 * a virtual machine was late with come all at once. */
static inline int lasted_ticks(double begin)
{
    return lasted(begin) || (took >= MS / 3.0 && took < MS);
}

/* ── The other side ───────────────────────────────────────────────────────────────── */

struct other {
    pthread_t thread, waiter;
    int fd, fds[2], wants;
    long size;
    int wrong;
    void (*does)(struct other *);
};

static inline void *run_other(void *arg)
{
    struct other *o = arg;

    o->does(o);
    return NULL;
}

static inline void begin(struct other *o, void (*does)(struct other *), int fd)
{
    o->does = does;
    o->fd = fd;
    o->wrong = 0;
    o->waiter = pthread_self();
    if (pthread_create(&o->thread, NULL, run_other, o) != 0)
        abort();
}

static inline int end(struct other *o)
{
    pthread_join(o->thread, NULL);
    return !o->wrong;
}

/* In pieces, with rests, so that the other side has to wait for each. */
static inline void drain(struct other *o)
{
    char *all = malloc(BIG);
    long n, got = 0;

    while (got < o->size) {
        long piece = o->size / PIECES + 1;
        rest(MS / PIECES);
        for (n = 1; piece > 0 && got < o->size && n > 0; got += n, piece -= n)
            n = read(o->fd, all + got, (size_t)(o->size - got));
        if (n <= 0)
            break;
    }
    o->wrong = got != o->size || memcmp(all, pattern, (size_t)o->size) != 0;
    free(all);
}

static inline void feed(struct other *o)
{
    for (long done = 0; done < o->size; done += o->size / PIECES) {
        rest(MS / PIECES);
        o->wrong |= write(o->fd, pattern + done, (size_t)(o->size / PIECES)) !=
                    o->size / PIECES;
    }
}

static inline void feed_one(struct other *o)
{
    rest(MS);
    o->wrong = write(o->fd, "x", 1) != 1;
}

static inline void send_messages(struct other *o)
{
    for (int i = 0; i < PIECES; i++) {
        rest(MS / PIECES);
        o->wrong |= send(o->fd, "x", 1, 0) != 1;
    }
}

static inline void send_signal(struct other *o)
{
    rest(MS);
    pthread_kill(o->waiter, o->wants);
}

struct ends {
    int in, out;
};

struct ends open_ends(int socket);
void close_ends(struct ends);

struct call {
    const char *name;
    int (*is_right)(void);
};
#define CALL(f)                                                                          \
    {                                                                                    \
#f, f                                                                            \
    }
extern const struct call byte_calls[];
extern const size_t byte_calls_count;

#endif
