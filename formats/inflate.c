/* SPDX-License-Identifier: MIT */
/* inflate.c - bzip2, lz4 and xz, by libraries that are loaded when such a file is read.
 *
 * Few files are compressed so; without one, these libraries are not needed.  Their
 * structures are copied here from their interface, which has not changed in libbz2.so.1.0,
 * liblz4.so.1 and liblzma.so.5. */
#include "inflate.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>

struct bz_stream {
    const char *next_in;
    unsigned avail_in, total_in[2];
    char *next_out;
    unsigned avail_out, total_out[2];
    void *state, *alloc, *free, *opaque;
};
enum { BZ_OK = 0, BZ_STREAM_END = 4 };

struct lzma_stream {
    const uint8_t *next_in;
    size_t avail_in;
    uint64_t total_in;
    uint8_t *next_out;
    size_t avail_out;
    uint64_t total_out;
    const void *allocator;
    void *internal, *reserved[4];
    uint64_t reserved_number[2];
    size_t reserved_size[2];
    int reserved_enum[2];
};
enum { LZMA_OK = 0, LZMA_STREAM_END = 1, LZMA_BUF_ERROR = 10 };
enum { LZ4F_VERSION = 100 };
#define XZ_MEMORY (1ull << 30) /* xz -9 needs 65 MiB */

struct bzip2 {
    int (*init)(struct bz_stream *, int verbosity, int small);
    int (*step)(struct bz_stream *);
    int (*end)(struct bz_stream *);
};
struct lz4 {
    size_t (*init)(void **context, unsigned version);
    size_t (*step)(void *context, void *to, size_t *out, const void *from, size_t *in,
                   const void *options);
    unsigned (*is_error)(size_t);
    size_t (*end)(void *context);
};
struct xz {
    int (*init)(struct lzma_stream *, uint64_t memory, uint32_t flags);
    int (*step)(struct lzma_stream *, int action);
    void (*end)(struct lzma_stream *);
};

struct tt_inflate {
    enum tt_inflate_kind kind;
    void *library;
    struct bzip2 bzip2;
    struct lz4 lz4;
    struct xz xz;
    struct bz_stream b;
    void *context; /* of lz4 */
    struct lzma_stream l;
    int is_open;
};

static void *find(struct tt_inflate *i, const char *name)
{
    return i->library ? dlsym(i->library, name) : NULL;
}

static int open_bzip2(struct tt_inflate *i)
{
    i->library = dlopen("libbz2.so.1.0", RTLD_NOW);
    *(void **)&i->bzip2.init = find(i, "BZ2_bzDecompressInit");
    *(void **)&i->bzip2.step = find(i, "BZ2_bzDecompress");
    *(void **)&i->bzip2.end = find(i, "BZ2_bzDecompressEnd");
    return i->bzip2.init && i->bzip2.step && i->bzip2.end &&
           i->bzip2.init(&i->b, 0, 0) == BZ_OK;
}

static int open_lz4(struct tt_inflate *i)
{
    i->library = dlopen("liblz4.so.1", RTLD_NOW);
    *(void **)&i->lz4.init = find(i, "LZ4F_createDecompressionContext");
    *(void **)&i->lz4.step = find(i, "LZ4F_decompress");
    *(void **)&i->lz4.is_error = find(i, "LZ4F_isError");
    *(void **)&i->lz4.end = find(i, "LZ4F_freeDecompressionContext");
    return i->lz4.init && i->lz4.step && i->lz4.is_error && i->lz4.end &&
           !i->lz4.is_error(i->lz4.init(&i->context, LZ4F_VERSION));
}

static int open_xz(struct tt_inflate *i)
{
    i->library = dlopen("liblzma.so.5", RTLD_NOW);
    *(void **)&i->xz.init = find(i, "lzma_stream_decoder");
    *(void **)&i->xz.step = find(i, "lzma_code");
    *(void **)&i->xz.end = find(i, "lzma_end");
    return i->xz.init && i->xz.step && i->xz.end &&
           i->xz.init(&i->l, XZ_MEMORY, 0) == LZMA_OK;
}

static int open_kind(struct tt_inflate *i)
{
    switch (i->kind) {
    case TT_INFLATE_BZIP2:
        return open_bzip2(i);
    case TT_INFLATE_LZ4:
        return open_lz4(i);
    default:
        return open_xz(i);
    }
}

struct tt_inflate *tt_inflate_new(enum tt_inflate_kind kind, const char **why)
{
    static const char *const missing[] = {
        [TT_INFLATE_BZIP2] =
            "it is packed by bzip2, and libbz2.so.1.0 is not installed: bunzip2 it",
        [TT_INFLATE_LZ4] =
            "it is packed by lz4, and liblz4.so.1 is not installed: unlz4 it",
        [TT_INFLATE_XZ] =
            "it is packed by xz, and liblzma.so.5 is not installed: unxz it",
    };
    struct tt_inflate *i = calloc(1, sizeof *i);

    *why = "no memory to unpack it";
    if (!i)
        return NULL;
    i->kind = kind;
    i->is_open = open_kind(i);
    if (i->is_open)
        return i;
    if (!i->library)
        *why = missing[kind];
    tt_inflate_free(i);
    return NULL;
}

void tt_inflate_free(struct tt_inflate *i)
{
    if (!i)
        return;
    if (i->is_open && i->kind == TT_INFLATE_BZIP2)
        (void)i->bzip2.end(&i->b);
    if (i->is_open && i->kind == TT_INFLATE_LZ4)
        (void)i->lz4.end(i->context);
    if (i->is_open && i->kind == TT_INFLATE_XZ)
        i->xz.end(&i->l);
    if (i->library)
        (void)dlclose(i->library);
    free(i);
}

static int step_bzip2(struct tt_inflate *i, const void *from, size_t *in, void *to,
                      size_t *out)
{
    unsigned had = *in < UINT_MAX ? (unsigned)*in : UINT_MAX;
    unsigned room = *out < UINT_MAX ? (unsigned)*out : UINT_MAX;
    int result;

    i->b.next_in = from;
    i->b.avail_in = had;
    i->b.next_out = to;
    i->b.avail_out = room;
    result = i->bzip2.step(&i->b);
    *in = had - i->b.avail_in;
    *out = room - i->b.avail_out;
    if (result != BZ_STREAM_END)
        return result == BZ_OK ? 0 : -1;
    (void)i->bzip2.end(&i->b); /* another member may follow */
    i->b = (struct bz_stream){0};
    i->is_open = i->bzip2.init(&i->b, 0, 0) == BZ_OK;
    return i->is_open ? 1 : -1;
}

/* The end of a frame is reported by 0; another may follow. */
static int step_lz4(struct tt_inflate *i, const void *from, size_t *in, void *to,
                    size_t *out)
{
    size_t left = i->lz4.step(i->context, to, out, from, in, NULL);

    return i->lz4.is_error(left) ? -1 : left == 0;
}

static int step_xz(struct tt_inflate *i, const void *from, size_t *in, void *to,
                   size_t *out)
{
    size_t had = *in, room = *out;
    int result;

    i->l.next_in = from;
    i->l.avail_in = had;
    i->l.next_out = to;
    i->l.avail_out = room;
    result = i->xz.step(&i->l, 0);
    *in = had - i->l.avail_in;
    *out = room - i->l.avail_out;
    if (result != LZMA_STREAM_END)
        return result == LZMA_OK || result == LZMA_BUF_ERROR ? 0 : -1;
    i->xz.end(&i->l);
    i->l = (struct lzma_stream){0};
    i->is_open = i->xz.init(&i->l, XZ_MEMORY, 0) == LZMA_OK;
    return i->is_open ? 1 : -1;
}

int tt_inflate_step(struct tt_inflate *i, const void *from, size_t *in, void *to,
                    size_t *out)
{
    switch (i->kind) {
    case TT_INFLATE_BZIP2:
        return step_bzip2(i, from, in, to, out);
    case TT_INFLATE_LZ4:
        return step_lz4(i, from, in, to, out);
    default:
        return step_xz(i, from, in, to, out);
    }
}
