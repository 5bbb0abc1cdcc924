/* SPDX-License-Identifier: MIT */
/* perfdata-packed.c - records that `perf record -z` compressed: one stream of zstd, in
 * pieces.
 *
 * A piece is decompressed only as far as it is needed, so that a small file that expands
 * to a huge one takes no more memory than any other. */
#include <string.h>
#include <zstd.h>

#include "perfdata-packed.h"
#include "perfdata.h"

enum { ROOM = 1 << 17 }; /* a record has 64 KiB at most */

struct tt_perfdata_packed {
    const struct tt_memory *memory;
    ZSTD_DStream *zstd;
    ZSTD_inBuffer in;
    size_t at, end;
    char out[ROOM];
};

struct tt_perfdata_packed *tt_perfdata_packed_new(const struct tt_memory *memory)
{
    struct tt_perfdata_packed *p = tt_memory_get(memory, sizeof *p);

    if (!p)
        return NULL;
    p->memory = memory;
    p->zstd = ZSTD_createDStream();
    if (p->zstd)
        return p;
    tt_memory_put(memory, p);
    return NULL;
}

void tt_perfdata_packed_free(struct tt_perfdata_packed *p)
{
    if (!p)
        return;
    (void)ZSTD_freeDStream(p->zstd);
    tt_memory_put(p->memory, p);
}

void tt_perfdata_packed_put(struct tt_perfdata_packed *p, const char *bytes, size_t size)
{
    p->in = (ZSTD_inBuffer){bytes, size, 0};
}

int tt_perfdata_packed_want(struct tt_perfdata_packed *p, size_t size, const char **bytes)
{
    while (p->end - p->at < size) {
        ZSTD_outBuffer out;
        size_t left, before = p->in.pos;
        memmove(p->out, p->out + p->at, p->end - p->at);
        p->end -= p->at;
        p->at = 0;
        out = (ZSTD_outBuffer){p->out, ROOM, p->end};
        left = ZSTD_decompressStream(p->zstd, &out, &p->in);
        if (ZSTD_isError(left))
            return -TT_ERR_FORMAT;
        if (out.pos == p->end && p->in.pos == before)
            return 0;
        p->end = out.pos;
    }
    *bytes = p->out + p->at;
    return 1;
}

void tt_perfdata_packed_skip(struct tt_perfdata_packed *p, size_t size) { p->at += size; }
