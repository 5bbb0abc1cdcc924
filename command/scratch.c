/* SPDX-License-Identifier: MIT */
/* scratch.c - memory for the engine that need not be memory.
 *
 * A piece of a nameless file, mapped shared, is memory that the kernel may write out when
 * it is short of some: a filter over a profile larger than the machine only gets slower. */
#include "scratch.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Smaller pieces are malloc's, and the largest are of a file. */
enum { MAPPED = 1 << 20, OF_A_FILE = 64 << 20 };

static int open_nameless(void)
{
    const char *folder = getenv("TMPDIR");
    int fd = open(folder && *folder ? folder : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC,
                  0600);

    return fd < 0 ? open("/var/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600) : fd;
}

/* Space in the file is taken at once, so that a full disk is no memory, and not SIGBUS. */
static void *map_file(size_t size)
{
    int fd = open_nameless();
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

    return p == MAP_FAILED ? NULL : p;
}

static void *get(void *arg, size_t size)
{
    void *p = NULL;

    (void)arg;
    if (size < MAPPED)
        return calloc(1, size);
    if (size >= OF_A_FILE)
        p = map_file(size);
    return p ? p : map_nothing(size);
}

static void put(void *arg, void *p, size_t size)
{
    (void)arg;
    if (size < MAPPED)
        free(p);
    else
        munmap(p, size);
}

/* Its pages are given to the larger one: they are not there twice, and not copied. */
static void *grow(void *arg, void *p, size_t size, size_t larger)
{
    (void)arg;
    if (size < MAPPED || larger >= OF_A_FILE)
        return NULL;
    p = mremap(p, size, larger, MREMAP_MAYMOVE);
    return p == MAP_FAILED ? NULL : p;
}

const struct tt_memory tt_scratch = {.get = get, .put = put, .grow = grow};
