/* SPDX-License-Identifier: MIT */
/* heap-oracle.c LOG [OFFSET] - sums up what heap-log.c has noted, one figure a line.
 *
 * number bytes      made, by whatever call
 * freed             bytes; of an object that changes its size, its old one too
 * live              bytes, in the end
 * peak              the most bytes that were alive
 * temporary         objects that the thread's next event freed
 * resized moved     objects whose size was changed, in place or not
 *
 * With an OFFSET it reads numbers of bytes, and says whether each of them was alive, but for
 * the offset, at some moment that is not before that of the one before it. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "heap-log.h"

enum { PLACES = 1 << 22, THREADS = 1 << 16 };

static struct object {
    uint64_t address, size;
} * object;
static uint64_t last[THREADS]; /* by thread: what it made last */
static uint64_t number, bytes, freed, peak, temporary, resized, moved;

static struct object *find(uint64_t address)
{
    uint64_t i = (address >> 4) * 0x9e3779b97f4a7c15u >> 42;

    while (object[i % PLACES].address && object[i % PLACES].address != address)
        i++;
    return &object[i % PLACES];
}

static void made(uint32_t thread, uint64_t address, uint64_t size)
{
    struct object *o = find(address);

    if (o->address && o->size != UINT64_MAX)
        fprintf(stderr, "%llx was made twice\n", (unsigned long long)address);
    *o = (struct object){address, size};
    number++;
    bytes += size;
    if (bytes - freed > peak)
        peak = bytes - freed;
    last[thread % THREADS] = address;
}

/* Its place in the table stays, so that others are found. */
static void gone(uint32_t thread, uint64_t address)
{
    struct object *o = find(address);

    if (o->address && o->size != UINT64_MAX) {
        freed += o->size;
        o->size = UINT64_MAX;
        temporary += last[thread % THREADS] == address;
    }
    last[thread % THREADS] = 0;
}

static void take(const struct log_event *e)
{
    static struct object moving[THREADS];
    static uint64_t before_moving[THREADS];
    uint32_t thread = e->thread % THREADS;

    switch ((enum log_kind)e->kind) {
    case LOG_MADE:
        made(e->thread, e->address, e->size);
        break;
    case LOG_FREED:
        gone(e->thread, e->address);
        break;
    case LOG_MOVING:
        moving[thread] = *find(e->address);
        before_moving[thread] = temporary;
        gone(e->thread, e->address);
        break;
    case LOG_MOVED:
        resized += e->before && e->before == e->address;
        moved += e->before && e->before != e->address;
        made(e->thread, e->address, e->size);
        break;
    case LOG_STAYED:
        *find(e->address) = moving[thread];
        last[thread] = temporary > before_moving[thread] ? e->address : last[thread];
        freed -= moving[thread].size;
        temporary = before_moving[thread];
        break;
    }
}

/* ── Over time ────────────────────────────────────────────────────────────────────── */

static uint64_t wanted, seen;
static int is_wanted;

static void want_next(void)
{
    unsigned long long n;

    is_wanted = scanf("%llu", &n) == 1;
    wanted = n;
}

static void see_moment(uint64_t offset)
{
    while (is_wanted && bytes - freed == wanted + offset) {
        seen++;
        want_next();
    }
}

static int all_seen(void)
{
    if (is_wanted)
        printf("%llu bytes, the %lluth, were alive at no moment that could be\n",
               (unsigned long long)wanted, (unsigned long long)seen + 1);
    else
        printf("all %llu\n", (unsigned long long)seen);
    return is_wanted || !seen;
}

int main(int argc, char **argv)
{
    int fd = argc > 1 ? open(argv[1], O_RDONLY) : -1;
    uint64_t count;
    const char *p;

    if (fd < 0 || (p = mmap(NULL, LOG_BYTES, PROT_READ, MAP_SHARED, fd, 0)) == MAP_FAILED)
        return 2;
    object = calloc(PLACES, sizeof *object);
    memcpy(&count, p, sizeof count);
    if (!object || count > LOG_EVENTS)
        return 2;
    if (argc > 2)
        want_next();
    for (uint64_t i = 0; i < count; i++) {
        take((const struct log_event *)(const void *)(p + 64) + i);
        if (argc > 2)
            see_moment(strtoull(argv[2], NULL, 10));
    }
    if (argc > 2)
        return all_seen();
    printf("number %llu\nbytes %llu\nfreed %llu\nlive %llu\npeak %llu\ntemporary %llu\n"
           "resized %llu\nmoved %llu\n",
           (unsigned long long)number, (unsigned long long)bytes,
           (unsigned long long)freed, (unsigned long long)(bytes - freed),
           (unsigned long long)peak, (unsigned long long)temporary,
           (unsigned long long)resized, (unsigned long long)moved);
    return 0;
}
