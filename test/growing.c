/* SPDX-License-Identifier: MIT */
/* growing.c - a recording that never rests, and a copy of one with wrong bytes; see growing.t.
 *
 *     growing write OPTIONS      threads come and go, push, resume fibers, make objects
 *     growing mirror FROM TO     copies it again and again, each time with a few bits flipped,
 *                                or not to its end
 *     growing move FILE          says that figures move, again and again
 *
 * They end when their standard input does. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "layout.h"
#include "tallytree.h"

enum { THREADS = 3, NAMES = 40, FIBERS = 4, DEPTH = 30 };

static uint32_t dice(uint64_t *state, uint32_t sides)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33) % sides;
}

static int is_over(void)
{
    struct pollfd in = {.fd = 0, .events = POLLIN};

    return poll(&in, 1, 0) > 0;
}

/* ── The writer ───────────────────────────────────────────────────────────────────── */

static void wander(uint64_t *state, const tt_block *block, int depth)
{
    for (int i = 0; i < 3; i++) {
        tt_mark mark = tt_push(block[dice(state, NAMES)]);
        if (depth && dice(state, 3))
            wander(state, block, depth - 1);
        tt_pop(mark);
    }
}

static void make_objects(uint64_t *state, tt_type type)
{
    size_t bytes = 16 * (1 + dice(state, 100));
    tt_context at = tt_alloc(type, bytes, 8);

    if (dice(state, 2))
        tt_free(at, type, bytes, 8, 0);
}

static void run_fiber(uint64_t *state, const tt_block *block, tt_fiber **fiber)
{
    tt_fiber *own;

    if (!*fiber)
        *fiber = tt_fiber_new();
    own = tt_fiber_switch(*fiber);
    tt_push(block[dice(state, NAMES)]);
    wander(state, block, 2);
    (void)tt_fiber_switch(own);
    if (dice(state, 50) == 0) {
        tt_fiber_free(*fiber);
        *fiber = NULL;
    }
}

static void *work(void *arg)
{
    static const char *const types[] = {"pair", "string", "table"};
    uint64_t state = (uint64_t)(uintptr_t)arg;
    tt_metric metric = tt_metric_get("bytes read", "bytes");
    tt_fiber *fiber[FIBERS] = {NULL};
    tt_block block[NAMES];
    char name[32];

    (void)snprintf(name, sizeof name, "worker %u", dice(&state, 20));
    tt_thread_name(name);
    for (int i = 0; i < NAMES; i++) {
        (void)snprintf(name, sizeof name, "block %d", i);
        block[i] = tt_block_get(name, "growing.c", (uint32_t)i, 1);
    }
    for (int i = 0; i < 2000 && !is_over(); i++) {
        wander(&state, block, 5);
        tt_add(metric, dice(&state, 100));
        make_objects(&state, tt_type_get(types[dice(&state, 3)]));
        run_fiber(&state, block, &fiber[dice(&state, FIBERS)]);
    }
    for (int i = 0; i < FIBERS; i++)
        if (fiber[i])
            tt_fiber_free(fiber[i]);
    return NULL;
}

static int write_recording(const char *options)
{
    pthread_t thread[THREADS];
    uintptr_t round = 0;
    int made = 0;

    if (tt_start(options) != 0)
        return 3;
    puts("begun");
    (void)fflush(stdout);
    while (!is_over()) {
        for (made = 0; made < THREADS; made++)
            if (pthread_create(&thread[made], NULL, work, (void *)++round) != 0)
                break;
        while (made--)
            pthread_join(thread[made], NULL);
    }
    puts("well");
    return tt_stop() == 0 ? 0 : 3;
}

/* ── The mirror ───────────────────────────────────────────────────────────────────── */

static void copy(int from, int to, uint64_t *state)
{
    enum { PART = 65536 };
    static unsigned char part[PART];
    uint32_t left_out = dice(state, 8), number = 0;
    ssize_t n;

    for (off_t at = 0; (n = pread(from, part, PART, at)) > 0; at += n, number++) {
        if (dice(state, 6) == 0)
            part[dice(state, (uint32_t)n)] ^= (unsigned char)(1u << dice(state, 8));
        if (number != left_out && pwrite(to, part, (size_t)n, at) != n)
            return;
    }
    if (dice(state, 10) == 0)
        (void)!ftruncate(to, (off_t)dice(state, 1u << 20));
}

static int mirror(const char *from, const char *to)
{
    int in = open(from, O_RDONLY), out = open(to, O_RDWR | O_CREAT, 0600);
    uint64_t state = 1;

    if (in < 0 || out < 0)
        return 3;
    while (!is_over()) {
        copy(in, out, &state);
        usleep(1000);
    }
    return 0;
}

/* ── What never rests ─────────────────────────────────────────────────────────────── */

static int move(const char *path)
{
    int fd = open(path, O_RDWR);
    struct tt_strand_record *strand = NULL;
    struct tt_header *h;
    const uint32_t *map;
    struct stat s;
    char *file;

    if (fd < 0 || fstat(fd, &s) != 0)
        return 3;
    file = mmap(NULL, (size_t)s.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (file == MAP_FAILED)
        return 3;
    h = (void *)file;
    h->state = TT_RECORDING_OPEN;
    map = (const void *)(file + h->map);
    for (uint32_t i = 0; i < h->used && !strand; i++)
        if ((map[i] & 0xff) == TT_PAGE_STRAND)
            strand = (void *)(file + h->first + (size_t)i * TT_PAGE_SIZE);
    if (!strand)
        return 3;
    puts("begun");
    (void)fflush(stdout);
    while (!is_over())
        for (int i = 0; i < 1000; i++)
            __atomic_fetch_add(&strand->moves, 2, __ATOMIC_RELAXED);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "write") == 0)
        return write_recording(argv[2]);
    if (argc == 3 && strcmp(argv[1], "move") == 0)
        return move(argv[2]);
    return argc == 4 && strcmp(argv[1], "mirror") == 0 ? mirror(argv[2], argv[3]) : 2;
}
