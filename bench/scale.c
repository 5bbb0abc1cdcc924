/* SPDX-License-Identifier: MIT */
/* scale.c - how long a large profile takes to open and to look at.
 *
 *      scale CONTEXTS FILE [make]
 *
 * Makes a profile of so many contexts, 24 bytes each, in FILE, which is removed in the end; with
 * `make`, that is all, and it stays.  Times the first flame view and a flat view, the file's pages
 * dropped from memory before (cold) and then again (warm), and counts what the engine needs beyond
 * the map. Exit status 1 when a view fails or the engine takes more than 256 MB. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "digest.h"
#include "query.h"
#include "view.h"

enum { BLOCKS = 20000, NAME = 24, DEPTH = 200, MOST_BYTES = 256 << 20 };

/* ── The profile ──────────────────────────────────────────────────────────────────── */

enum part {
    STRINGS,
    BLOCK_ROWS,
    METRICS,
    BLOCK_OF,
    SIZE_OF,
    SELF,
    CALLS,
    DIGEST,
    LEAST,
    BLOCK_CONTEXTS,
    TALLY,
    CALLS_TALLY,
    DIGEST_SELF,
    DIGEST_CALLS,
    EDGES,
    EDGE_TALLY,
    EDGE_CALLS_TALLY,
    PARTS
};

struct making {
    uint32_t contexts, depth, edges;
    struct tt_section section[PARTS];
    char *image;
    size_t size;
};

static void plan(struct making *m)
{
    const uint64_t n = m->contexts;
    const struct tt_section section[PARTS] = {
        {TT_SECTION_STRINGS, 0, 0, 64 + BLOCKS * NAME, 1, 0},
        {TT_SECTION_BLOCKS, 0, 0, BLOCKS, sizeof(struct tt_block_row), 0},
        {TT_SECTION_METRICS, 0, 0, 2, sizeof(struct tt_metric_row), 0},
        {TT_SECTION_CONTEXT_BLOCK, 0, 0, n, 4, 0},
        {TT_SECTION_CONTEXT_SIZE, 0, 0, n, 4, 0},
        {TT_SECTION_SELF, 1, 0, n + 1, 8, 0},
        {TT_SECTION_SELF, 0, 0, n + 1, 8, 0},
        {TT_SECTION_DIGEST, 0, 0, TT_DIGEST_ROWS, sizeof(struct tt_digest_row), 0},
        {TT_SECTION_DIGEST_LEAST, 0, 0, 2, 8, 0},
        {TT_SECTION_BLOCK_CONTEXTS, 0, 0, BLOCKS, 4, 0},
        {TT_SECTION_BLOCK_TALLIES, 1, 0, BLOCKS, sizeof(struct tt_block_tally), 0},
        {TT_SECTION_BLOCK_TALLIES, 0, 0, BLOCKS, sizeof(struct tt_block_tally), 0},
        {TT_SECTION_DIGEST_SELF, 1, 0, TT_DIGEST_ROWS, sizeof(struct tt_digest_figure),
         0},
        {TT_SECTION_DIGEST_SELF, 0, 0, TT_DIGEST_ROWS, sizeof(struct tt_digest_figure),
         0},
        {TT_SECTION_EDGES, 0, 0, m->edges, sizeof(struct tt_edge_row), 0},
        {TT_SECTION_EDGE_TALLIES, 1, 0, m->edges, sizeof(struct tt_edge_tally), 0},
        {TT_SECTION_EDGE_TALLIES, 0, 0, m->edges, sizeof(struct tt_edge_tally), 0},
    };

    m->size = 4096;
    for (int i = 0; i < PARTS; i++) {
        m->section[i] = section[i];
        m->section[i].offset = m->size;
        m->size = (m->size + section[i].count * section[i].width + 4095) / 4096 * 4096;
    }
}

static void write_names(struct making *m)
{
    char *strings = m->image + m->section[STRINGS].offset;
    struct tt_block_row *row = (void *)(m->image + m->section[BLOCK_ROWS].offset);
    struct tt_metric_row *metric = (void *)(m->image + m->section[METRICS].offset);

    memcpy(strings, "\0calls\0time\0ns\0[root]", 22);
    metric[0] = (struct tt_metric_row){1, 0, TT_METRIC_CALLS, 0};
    metric[1] = (struct tt_metric_row){7, 12, TT_METRIC_TIME, 0};
    row[0].name = 15;
    for (uint32_t i = 1; i < BLOCKS; i++) {
        row[i].name = 64 + i * NAME;
        snprintf(strings + row[i].name, NAME, "function_%05u", i);
    }
}

struct open_context {
    uint32_t end, last, block; /* last: the block of the child before */
};

/* The next block that a block calls: twenty or so of all, always the same ones. */
static uint32_t next_callee(uint32_t block, uint32_t last)
{
    uint64_t h = ((uint64_t)block << 32 | last) * 0x9e3779b97f4a7c15u;

    return last + 1 + (uint32_t)((h >> 40) % (BLOCKS / 10));
}

/* In preorder: a context's first child takes a random share of its subtree, mostly a
 * small one; the next takes one of the rest, the last takes all of it. */
static void write_contexts(struct making *m)
{
    uint32_t *block = (void *)(m->image + m->section[BLOCK_OF].offset);
    uint32_t *size = (void *)(m->image + m->section[SIZE_OF].offset);
    uint64_t *self = (void *)(m->image + m->section[SELF].offset);
    uint64_t *calls = (void *)(m->image + m->section[CALLS].offset);
    uint64_t state = BENCH_SEED;
    struct open_context stack[DEPTH + 2] = {{m->contexts, 0, 0}};
    uint32_t depth = 1;

    block[0] = 0;
    size[0] = m->contexts;
    self[0] = self[1] = calls[0] = calls[1] = 0;
    for (uint32_t c = 1; c < m->contexts; c++) {
        uint64_t r = bench_random(&state);
        uint32_t left;
        double u = (double)(r >> 40) / (1 << 24);
        while (stack[depth - 1].end <= c)
            depth--;
        left = stack[depth - 1].end - c;
        block[c] = next_callee(stack[depth - 1].block, stack[depth - 1].last);
        if (block[c] >= BLOCKS - 1) {
            block[c] = BLOCKS - 1;
            size[c] = left;
        } else {
            size[c] = 1 + (uint32_t)((double)(left - 1) * u * u);
        }
        if (depth >= DEPTH)
            size[c] = 1;
        stack[depth - 1].last = block[c];
        stack[depth++] = (struct open_context){c + size[c], 0, block[c]};
        if (depth - 1 > m->depth)
            m->depth = depth - 1;
        self[c + 1] = self[c] + r % 1000;
        calls[c + 1] = calls[c] + 1;
    }
}

static void write_header(struct making *m)
{
    struct tt_file_header h = {.version = TT_PROFILE_VERSION,
                               .header_size = sizeof h,
                               .size = m->size,
                               .sections = PARTS,
                               .section_size = sizeof(struct tt_section),
                               .contexts = m->contexts,
                               .blocks = BLOCKS,
                               .metrics = 2,
                               .depth = m->depth};

    memcpy(h.magic, TT_PROFILE_MAGIC, sizeof h.magic);
    memcpy(m->image, &h, sizeof h);
    memcpy(m->image + sizeof h, m->section, sizeof m->section);
}

static int map(struct making *m, int fd)
{
    plan(m);
    if (posix_fallocate(fd, 0, (off_t)m->size) != 0)
        return -1;
    m->image = mmap(NULL, m->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return m->image == MAP_FAILED ? -1 : 0;
}

/* The edges come last, so that all else stays where it is once they are counted. */
static int count_edges(struct making *m)
{
    const struct tt_profile tree = {
        .block_of = (void *)(m->image + m->section[BLOCK_OF].offset),
        .size_of = (void *)(m->image + m->section[SIZE_OF].offset),
        .contexts = m->contexts,
        .blocks = BLOCKS,
        .depth = m->depth};

    return tt_digest_edges(&tree, &m->edges);
}

static int make(struct making *m, int fd)
{
    if (map(m, fd) != 0)
        return -1;
    write_names(m);
    write_contexts(m);
    if (count_edges(m) != 0)
        return -1;
    munmap(m->image, m->size);
    if (map(m, fd) != 0)
        return -1;
    write_header(m);
    if (tt_digest_fill(m->image, m->size, TT_DIGEST_ROWS, NULL) != 0)
        return -1;
    munmap(m->image, m->size);
    return fsync(fd);
}

/* ── Looking at it ────────────────────────────────────────────────────────────────── */

static size_t held, most;

static void *get(void *arg, size_t size)
{
    (void)arg;
    held += size;
    if (held > most)
        most = held;
    return calloc(1, size);
}

static void put(void *arg, void *p, size_t size)
{
    (void)arg;
    held -= size;
    free(p);
}

static const struct tt_memory counted = {.get = get, .put = put};

static double now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static uint64_t sum_of_self(const struct tt_table *t)
{
    uint32_t self = tt_table_find(t, "self");
    uint64_t sum = 0;

    for (size_t i = 0; self != TT_NONE && i < tt_table_rows(t); i++) {
        const union tt_value *v = tt_table_value(t, i, self);
        if (v && tt_table_row_at(t, i)->role != TT_ROW_TOTAL)
            sum += v->n;
    }
    return sum;
}

/* Opens the file and answers one query; the time of both together, or < 0. */
static double look(int fd, size_t size, const char *text)
{
    double began = now_ms(), took = -1;
    void *image = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    struct tt_profile p;
    struct tt_query q;
    struct tt_table t;

    if (image == MAP_FAILED)
        return -1;
    tt_query_init(&q, &counted);
    if (tt_profile_open(&p, image, size, &counted) == 0) {
        if (tt_query_parse(&q, text) == 0 && tt_view(&p, &q, &t) == 0) {
            took = now_ms() - began;
            if (sum_of_self(&t) != tt_grand_total(&p, &p.metric[1]))
                took = -1;
            tt_table_fini(&t);
        }
        tt_profile_close(&p);
    }
    tt_query_fini(&q);
    munmap(image, size);
    return took;
}

static int look_both(int fd, size_t size, const char *name, const char *text)
{
    enum { WARM = 5 };
    double warm[WARM], cold;

    (void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    most = 0;
    cold = look(fd, size, text);
    for (int i = 0; i < WARM; i++)
        warm[i] = look(fd, size, text);
    printf("| %-14s | %9.1f | %9.1f | %7.1f |\n", name, cold, bench_median(warm, WARM),
           (double)most / 1e6);
    return cold >= 0 && most <= MOST_BYTES ? 0 : 1;
}

int main(int argc, char **argv)
{
    struct making m = {.contexts = argc > 2 ? (uint32_t)strtoul(argv[1], NULL, 10) : 0};
    int fd, status = 0;

    if (m.contexts < 2) {
        fputs("usage: scale CONTEXTS FILE [make]\n", stderr);
        return 2;
    }
    fd = open(argv[2], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || make(&m, fd) != 0) {
        perror(argv[2]);
        return 2;
    }
    if (argc > 3)
        return close(fd) != 0;
    printf("%u contexts, %.2f GB\n\n", m.contexts, (double)m.size / 1e9);
    printf("| view           | cold, ms | warm, ms | beyond the map, MB |\n");
    printf("|:---------------|---------:|---------:|-------------------:|\n");
    status |= look_both(fd, m.size, "flame", "view=flame");
    status |= look_both(fd, m.size, "flat", "view=flat");
    status |= look_both(fd, m.size, "tree", "view=tree");
    status |= look_both(fd, m.size, "graph", "view=graph");
    close(fd);
    unlink(argv[2]);
    return status;
}
