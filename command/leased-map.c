/* SPDX-License-Identifier: MIT */
/* leased-map.c - large files that are read where they are, and do not change while they are.
 *
 * A program that writes into a mapped file would change what was checked; if it cuts the file,
 * pages disappear.  The kernel breaks a lease before it lets such a program open the file: it sends
 * SIGIO and waits, at least for the seconds of /proc/sys/fs/lease-break-time. */
#include "leased-map.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "brief-lock.h"
#include "scratch.h"

enum { LEASES = 8, PART = 1 << 16 };

struct leased {
    void *at; /* NULL: free */
    size_t size;
    int fd; /* which has the lease; -1: it was broken, and a copy is there */
};

/* Of both; SIGIO is blocked where it is held. */
static uint32_t lock;
static struct leased leased[LEASES];

static void fail(int fd, const char *reason)
{
    char link[32], path[PATH_MAX] = "";

    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    (void)readlink(link, path, sizeof path - 1);
    dprintf(
        STDERR_FILENO,
        "tallytree: %s: another program writes into this file, and it cannot be copied "
        "before: %s\n",
        path, reason);
    _exit(2);
}

static int copy_file(int to, int from, size_t size)
{
    char part[PART];

    for (size_t at = 0; at < size;) {
        ssize_t n = pread(from, part, size - at < PART ? size - at : PART, (off_t)at);
        if (n > 0)
            n = pwrite(to, part, (size_t)n, (off_t)at);
        if (n <= 0)
            return -1;
        at += (size_t)n;
    }
    return 0;
}

/* Other threads may read it meanwhile: the mapping is replaced at once. */
static void put_copy(struct leased *l)
{
    int to = tt_scratch_file();

    if (to < 0 || copy_file(to, l->fd, l->size) != 0 ||
        mmap(l->at, l->size, PROT_READ, MAP_PRIVATE | MAP_FIXED, to, 0) == MAP_FAILED)
        fail(l->fd, strerror(errno));
    if (fcntl(l->fd, F_SETLEASE, F_UNLCK) != 0)
        fail(l->fd, "that took longer than the kernel lets the other program wait");
    close(to);
    close(l->fd);
    l->fd = -1;
}

/* One signal may stand for several leases. */
static void break_leases(int signal)
{
    int saved = errno;

    (void)signal;
    tt_brief_lock(&lock);
    for (struct leased *l = leased; l < leased + LEASES; l++) {
        if (l->at && l->fd >= 0 && fcntl(l->fd, F_GETLEASE) != F_RDLCK)
            put_copy(l);
    }
    tt_brief_unlock(&lock);
    errno = saved;
}

static void lock_leases(sigset_t *before)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGIO);
    pthread_sigmask(SIG_BLOCK, &set, before);
    tt_brief_lock(&lock);
}

static void unlock_leases(sigset_t *before)
{
    tt_brief_unlock(&lock);
    sigdelset(before, SIGIO); /* it may be blocked since the command began */
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

static struct leased *find(const void *at)
{
    for (struct leased *l = leased; l < leased + LEASES; l++) {
        if (l->at == at)
            return l;
    }
    return NULL;
}

static void *map(int fd, size_t size)
{
    void *at = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);

    return at == MAP_FAILED ? NULL : at;
}

/* It may have become shorter before the lease. */
static int take_lease(int fd, size_t size)
{
    struct sigaction action = {.sa_handler = break_leases, .sa_flags = SA_RESTART};
    struct stat s;

    return sigaction(SIGIO, &action, NULL) == 0 && fcntl(fd, F_SETLEASE, F_RDLCK) == 0 &&
           fstat(fd, &s) == 0 && (size_t)s.st_size == size;
}

void *tt_leased_map(int fd, size_t size)
{
    const int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    void *at = NULL;
    struct leased *l;
    sigset_t before;

    lock_leases(&before);
    l = find(NULL);
    if (l && own >= 0 && take_lease(own, size) && (at = map(own, size)))
        *l = (struct leased){.at = at, .size = size, .fd = own};
    unlock_leases(&before);
    if (!at && own >= 0) {
        (void)fcntl(own, F_SETLEASE, F_UNLCK);
        close(own);
    }
    return at;
}

int tt_leased_unmap(const void *at)
{
    struct leased *l;
    sigset_t before;

    if (!at)
        return 0;
    lock_leases(&before);
    l = find(at);
    if (l) {
        munmap(l->at, l->size);
        if (l->fd >= 0) {
            (void)fcntl(l->fd, F_SETLEASE, F_UNLCK);
            close(l->fd);
        }
        l->at = NULL;
    }
    unlock_leases(&before);
    return l != NULL;
}
