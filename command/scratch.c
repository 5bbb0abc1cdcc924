/* SPDX-License-Identifier: MIT */
/* scratch.c - memory for the engine that the kernel can write to disk.
 *
 * A piece of a nameless file, mapped shared, is memory that the kernel may write out if
 * it is short of memory: a filter over a profile larger than the machine only gets
 * slower. */
#include "scratch.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "large-pages.h"

/* Smaller pieces come from malloc, and the largest from a file. */
enum { MAPPED = 1 << 20, OF_A_FILE = 64 << 20, SPARED = 8 << 20, SPARES = 2 };

int tt_scratch_file(void)
{
    const char *folder = getenv("TMPDIR");
    int fd = open(folder && *folder ? folder : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC,
                  0600);

    return fd < 0 ? open("/var/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600) : fd;
}

/* Space in the file is allocated at once, so that a full disk means no memory, and not
 * SIGBUS. */
static void *map_file(size_t size)
{
    int fd = tt_scratch_file();
    void *p = MAP_FAILED;

    if (fd < 0)
        return NULL;
    if (posix_fallocate(fd, 0, (off_t)size) == 0)
        p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return p == MAP_FAILED ? NULL : p;
}

static void *map_nothing(size_t size)
{
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                   0);

    if (p == MAP_FAILED)
        return NULL;
    return tt_large_pages(p, size);
}

/* Pieces that were put back, begun by their sizes.  A merge gets and puts pieces of about one
 * size for each file, and mapping their pages again takes longer than reading the file. */
static size_t *_Atomic spare[SPARES];

static size_t *any_spare(void)
{
    size_t *p = NULL;

    for (int i = 0; i < SPARES && !p; i++)
        p = atomic_exchange(&spare[i], NULL);
    return p;
}

/* A spare piece, as large as wanted; NULL: there is none.  Zero up to the end of its last
 * page, which it has as a whole: it may grow. */
static void *take_spare(size_t size)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t *p = any_spare(), old, used;
    void *moved;

    if (!p)
        return NULL;
    old = *p;
    moved = mremap(p, old, size, MREMAP_MAYMOVE);
    if (moved == MAP_FAILED) {
        munmap(p, old);
        return NULL;
    }
    used = old < size ? old : size;
    memset(moved, 0, (used + page - 1) / page * page);
    return moved;
}

static int keep_spare(size_t *p, size_t size)
{
    *p = size;
    for (int i = 0; i < SPARES; i++) {
        size_t *none = NULL;
        if (atomic_compare_exchange_strong(&spare[i], &none, p))
            return 1;
    }
    return 0;
}

static void drop_spares(void)
{
    for (size_t *p = any_spare(); p; p = any_spare())
        munmap(p, *p);
}

static void *get(void *arg, size_t size)
{
    void *p = NULL;

    (void)arg;
    if (size < MAPPED)
        return calloc(1, size);
    if (size >= OF_A_FILE)
        p = map_file(size);
    else if (size <= SPARED)
        p = take_spare(size);
    if (!p)
        p = map_nothing(size);
    if (p)
        return p;
    drop_spares();
    return map_nothing(size);
}

static void put(void *arg, void *p, size_t size)
{
    (void)arg;
    if (size < MAPPED)
        free(p);
    else if (size > SPARED || !keep_spare(p, size))
        munmap(p, size);
}

/* Copied into a file bit by bit, so that it is not there twice. */
static void *move(char *p, size_t size, size_t larger)
{
    char *to = map_file(larger);

    for (size_t at = 0; to && at < size; at += MAPPED) {
        size_t n = size - at < MAPPED ? size - at : MAPPED;
        memcpy(to + at, p + at, n);
        munmap(p + at, n);
    }
    return to;
}

/* Its pages are moved to the larger one: they are neither there twice nor copied. */
static void *grow(void *arg, void *p, size_t size, size_t larger)
{
    (void)arg;
    if (size < MAPPED)
        return NULL;
    if (larger >= OF_A_FILE)
        return move(p, size, larger);
    p = mremap(p, size, larger, MREMAP_MAYMOVE);
    return p == MAP_FAILED ? NULL : p;
}

/* Whole pages are freed, of a file too. */
static void forget(void *arg, void *p, size_t size)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), at = (uintptr_t)p;
    const uintptr_t from = (at + page - 1) / page * page, to = (at + size) / page * page;
    char *first = (char *)p + (from - at);

    (void)arg;
    if (from < to && madvise(first, to - from, MADV_REMOVE) != 0)
        (void)madvise(first, to - from, MADV_DONTNEED);
}

const struct tt_memory tt_scratch = {
    .get = get, .put = put, .grow = grow, .forget = forget};
