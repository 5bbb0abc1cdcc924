/* SPDX-License-Identifier: MIT */
/* wake-board.c - which threads of a run wait for a pipe or the like, and what has ended
 * their waits. */
#include "wake-board.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "folder.h"

enum { UNREAD_MAX = 1 << 12 };

static const uint64_t recent = 50000000; /* ns */

struct tt_wake_board *tt_wake_board;

/* ── The memory ───────────────────────────────────────────────────────────────────── */

/* A file of another user could be made shorter while we use it. */
static int is_ours(int fd)
{
    struct stat s;

    return fstat(fd, &s) == 0 && S_ISREG(s.st_mode) && s.st_uid == geteuid() &&
           s.st_nlink == 1;
}

/* Its blocks exist from the start: a full disk must not end the program. */
static void *map_file(const char *folder)
{
    char path[1024];
    const int length = snprintf(path, sizeof path, "%s/" TT_FOLDER_WAKES, folder);
    void *map = MAP_FAILED;
    int fd;

    if (length < 0 || (size_t)length >= sizeof path)
        return MAP_FAILED;
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0 && is_ours(fd) && fallocate(fd, 0, 0, sizeof *tt_wake_board) == 0)
        map = mmap(NULL, sizeof *tt_wake_board, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                   0);
    if (fd >= 0)
        close(fd);
    return map;
}

void tt_wake_board_open(const char *folder)
{
    void *map = folder ? map_file(folder) : MAP_FAILED;

    if (map == MAP_FAILED)
        map = mmap(NULL, sizeof *tt_wake_board, PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    tt_wake_board = map == MAP_FAILED ? NULL : map;
}

/* ── Waiters ──────────────────────────────────────────────────────────────────────── */

/* A slot without waiters may be taken over by another key at any time before this. */
static int is_joined(struct tt_wake_slot *s, uint64_t key, uint32_t process)
{
    const uint32_t before = __atomic_fetch_add(&s->waiters, 1, __ATOMIC_SEQ_CST);

    if (__atomic_load_n(&s->key, __ATOMIC_SEQ_CST) != key) {
        tt_wake_leave(s);
        return 0;
    }
    if (!before)
        __atomic_store_n(&s->process, process, __ATOMIC_RELAXED);
    else if (__atomic_load_n(&s->process, __ATOMIC_RELAXED) != process)
        __atomic_store_n(&s->process, UINT32_MAX, __ATOMIC_RELAXED);
    return 1;
}

/* A process that ended or was killed while a thread waited has left its slot. */
static int is_left(struct tt_wake_slot *s, uint32_t process)
{
    const int saved = errno;
    const pid_t of = (pid_t)__atomic_load_n(&s->process, __ATOMIC_RELAXED);
    const int is_gone = of > 0 && of != (pid_t)process && kill(of, 0) != 0 &&
                        errno == ESRCH;

    errno = saved;
    if (is_gone)
        __atomic_store_n(&s->waiters, 0, __ATOMIC_SEQ_CST);
    return is_gone;
}

/* First looks for its slot, then for one without waiters.  Two threads may add a key at the
 * same time: the second slot is never found, and replaced later. */
struct tt_wake_slot *tt_wake_join(uint64_t key, uint32_t process)
{
    struct tt_wake_slot *bucket, *s;

    if (!tt_wake_board)
        return NULL;
    bucket = tt_wake_bucket(key);
    for (int i = 0; i < 2 * TT_WAKE_WAYS; i++) {
        uint64_t found;
        s = &bucket[i % TT_WAKE_WAYS];
        found = __atomic_load_n(&s->key, __ATOMIC_ACQUIRE);
        if (found != key &&
            (i < TT_WAKE_WAYS ||
             (__atomic_load_n(&s->waiters, __ATOMIC_SEQ_CST) && !is_left(s, process)) ||
             !__atomic_compare_exchange_n(&s->key, &found, key, 0, __ATOMIC_SEQ_CST,
                                          __ATOMIC_RELAXED)))
            continue;
        if (is_joined(s, key, process))
            return s;
    }
    return NULL;
}

void tt_wake_leave(struct tt_wake_slot *s)
{
    uint32_t waiters = __atomic_load_n(&s->waiters, __ATOMIC_RELAXED);

    while (waiters && !__atomic_compare_exchange_n(&s->waiters, &waiters, waiters - 1, 0,
                                                   __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
        ;
    if (waiters == 1)
        __atomic_store_n(&s->unread, 0, __ATOMIC_RELAXED);
}

/* ── Events ───────────────────────────────────────────────────────────────────────── */

void tt_wake_store(struct tt_wake_slot *s, const struct tt_wake_event *e)
{
    uint32_t i = __atomic_fetch_add(&s->count, 1, __ATOMIC_ACQ_REL) % TT_WAKE_EVENTS;
    struct tt_wake_event *out = &s->event[i];

    __atomic_store_n(&out->when, 0, __ATOMIC_SEQ_CST);
    __atomic_store_n(&out->key, e->key, __ATOMIC_RELAXED);
    __atomic_store_n(&out->path, e->path, __ATOMIC_RELAXED);
    __atomic_store_n(&out->process, e->process, __ATOMIC_RELAXED);
    __atomic_store_n(&out->type, e->type, __ATOMIC_RELAXED);
    __atomic_store_n(&out->when, e->when, __ATOMIC_RELEASE);
    if (__atomic_add_fetch(&s->unread, 1, __ATOMIC_RELAXED) > UNREAD_MAX)
        __atomic_store_n(&s->waiters, 0, __ATOMIC_RELAXED);
}

static int read_event(const struct tt_wake_slot *s, uint32_t i, struct tt_wake_event *out)
{
    const struct tt_wake_event *e = &s->event[i % TT_WAKE_EVENTS];

    out->when = __atomic_load_n(&e->when, __ATOMIC_ACQUIRE);
    out->key = __atomic_load_n(&e->key, __ATOMIC_ACQUIRE);
    out->path = __atomic_load_n(&e->path, __ATOMIC_ACQUIRE);
    out->process = __atomic_load_n(&e->process, __ATOMIC_ACQUIRE);
    out->type = __atomic_load_n(&e->type, __ATOMIC_ACQUIRE);
    return out->when && __atomic_load_n(&e->when, __ATOMIC_ACQUIRE) == out->when;
}

/* An end of another writer does not end the wait, and the last one may not have been seen:
 * of ends, only a recent one counts. */
static int fits(const struct tt_wake_event *e, const struct tt_wake_search *want)
{
    return e->key == want->key && e->type == (uint32_t)want->type &&
           (!want->process || e->process == want->process) && e->when >= want->from &&
           e->when <= want->to &&
           (e->type == TT_WAKE_BY_DATA || want->process || want->to - e->when <= recent);
}

/* One reader goes on with the first data.  Of several, each goes on with some: the last
 * counts. */
int tt_wake_find(const struct tt_wake_slot *s, const struct tt_wake_search *want,
                 struct tt_wake_event *out)
{
    const uint32_t count = __atomic_load_n(&s->count, __ATOMIC_ACQUIRE);
    const uint32_t had = count - want->first;
    const int is_first = want->is_alone && want->type == TT_WAKE_BY_DATA &&
                         had <= TT_WAKE_EVENTS;
    struct tt_wake_event e;
    int found = 0;

    for (uint32_t i = had < TT_WAKE_EVENTS ? had : TT_WAKE_EVENTS; i > 0; i--) {
        if (!read_event(s, count - i, &e) || !fits(&e, want))
            continue;
        *out = e;
        found = 1;
        if (is_first)
            break;
    }
    return found;
}

/* ── Connected sockets ────────────────────────────────────────────────────────────── */

static size_t pair_of(uint64_t key)
{
    return (size_t)(key * 0x9e3779b97f4a7c15u >> 32) % TT_WAKE_PAIRS;
}

void tt_wake_connect(uint64_t key, uint64_t peer)
{
    const size_t i = pair_of(key);

    if (!tt_wake_board)
        return;
    __atomic_store_n(&tt_wake_board->pair[i].key, 0, __ATOMIC_SEQ_CST);
    __atomic_store_n(&tt_wake_board->pair[i].peer, peer, __ATOMIC_RELEASE);
    __atomic_store_n(&tt_wake_board->pair[i].key, key, __ATOMIC_RELEASE);
}

uint64_t tt_wake_peer(uint64_t key)
{
    const size_t i = pair_of(key);
    uint64_t peer;

    if (!tt_wake_board ||
        __atomic_load_n(&tt_wake_board->pair[i].key, __ATOMIC_ACQUIRE) != key)
        return 0;
    peer = __atomic_load_n(&tt_wake_board->pair[i].peer, __ATOMIC_ACQUIRE);
    return __atomic_load_n(&tt_wake_board->pair[i].key, __ATOMIC_ACQUIRE) == key ? peer
                                                                                 : 0;
}
