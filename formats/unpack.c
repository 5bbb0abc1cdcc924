/* SPDX-License-Identifier: MIT */
/* unpack.c - gzip, zstd, bzip2, lz4, xz and UTF-16, as they arrive.
 *
 * Output is not gathered here: the caller says how much it wants at a time, so that a
 * small file that expands to a huge one takes no more memory than any other. */
#include "unpack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "inflate.h"
#include "utf8.h"

enum kind { UNKNOWN, PLAIN, GZIP, ZSTD, BZIP2, LZ4, XZ, UTF16_LITTLE, UTF16_BIG };

struct unpack {
    struct tt_stream stream;
    struct tt_stream *from; /* borrowed */
    enum kind kind;
    int ended;  /* nothing more comes from `from` */
    int inside; /* a member or frame that is not complete */
    z_stream z;
    ZSTD_DStream *zstd;
    struct tt_inflate *inflate; /* owned: of bzip2, lz4 and xz */
    size_t at, have;
    unsigned char in[1 << 16];
};

static int64_t say(struct unpack *u, const char *what)
{
    (void)snprintf(u->stream.error, sizeof u->stream.error, "%s", what);
    return -TT_ERR_FORMAT;
}

/* Has at least `want` bytes in `in`, or all there are.  0 or an error. */
static int64_t fill(struct unpack *u, size_t want)
{
    if (u->have - u->at >= want || u->ended)
        return 0;
    memmove(u->in, u->in + u->at, u->have - u->at);
    u->have -= u->at;
    u->at = 0;
    while (u->have < want && !u->ended) {
        int64_t n = u->from->read(u->from->arg, u->in + u->have, sizeof u->in - u->have);
        if (n < 0) {
            (void)say(u, u->from->error);
            return n;
        }
        u->have += (size_t)n;
        u->ended = n == 0;
    }
    return 0;
}

/* ── What it is ───────────────────────────────────────────────────────────────────── */

static int begins_with(const struct unpack *u, const char *magic, size_t size)
{
    return u->have - u->at >= size && memcmp(u->in + u->at, magic, size) == 0;
}

static int64_t open_inflate(struct unpack *u)
{
    const char *why;

    u->inflate = tt_inflate_new(u->kind == XZ    ? TT_INFLATE_XZ
                                : u->kind == LZ4 ? TT_INFLATE_LZ4
                                                 : TT_INFLATE_BZIP2,
                                &why);
    return u->inflate ? 0 : say(u, why);
}

static int64_t find_kind(struct unpack *u)
{
    int64_t error = fill(u, 10);

    if (error)
        return error;
    u->kind = PLAIN;
    if (begins_with(u, "\x1f\x8b", 2)) {
        if (inflateInit2(&u->z, 16 + MAX_WBITS) != Z_OK)
            return say(u, "no memory to unpack it");
        u->kind = GZIP;
    } else if (begins_with(u, "\x28\xb5\x2f\xfd", 4)) {
        if (!(u->zstd = ZSTD_createDStream()))
            return say(u, "no memory to unpack it");
        u->kind = ZSTD;
    } else if (begins_with(u, "BZh", 3) && u->have - u->at >= 10 &&
               memcmp(u->in + u->at + 4, "1AY&SY", 6) == 0) {
        u->kind = BZIP2;
        return open_inflate(u);
    } else if (begins_with(u, "\4\"M\x18", 4)) {
        u->kind = LZ4;
        return open_inflate(u);
    } else if (begins_with(u,
                           "\xfd"
                           "7zXZ\0",
                           6)) {
        u->kind = XZ;
        return open_inflate(u);
    } else if (begins_with(u, "\xef\xbb\xbf", 3)) {
        u->at += 3;
    } else if (begins_with(u, "\xff\xfe", 2) || begins_with(u, "\xfe\xff", 2)) {
        u->kind = u->in[u->at] == 0xff ? UTF16_LITTLE : UTF16_BIG;
        u->at += 2;
    }
    return 0;
}

/* ── Each kind ────────────────────────────────────────────────────────────────────── */

static int64_t read_plain(struct unpack *u, void *to, size_t size)
{
    size_t n = u->have - u->at;

    if (!n)
        return u->ended ? 0 : u->from->read(u->from->arg, to, size);
    n = n < size ? n : size;
    memcpy(to, u->in + u->at, n);
    u->at += n;
    return (int64_t)n;
}

static int64_t read_gzip(struct unpack *u, void *to, size_t size)
{
    const size_t most = 1u << 30;

    u->z.next_out = to;
    u->z.avail_out = (uInt)(size < most ? size : most);
    while ((void *)u->z.next_out == to) {
        int64_t error = fill(u, 1);
        int result;
        if (error)
            return error;
        if (u->at == u->have)
            return u->inside ? say(u, "the gzip data ends before it is complete") : 0;
        u->z.next_in = u->in + u->at;
        u->z.avail_in = (uInt)(u->have - u->at);
        result = inflate(&u->z, Z_NO_FLUSH);
        u->at = u->have - u->z.avail_in;
        u->inside = result != Z_STREAM_END;
        if (result == Z_STREAM_END)
            (void)inflateReset(&u->z); /* another member may follow */
        else if (result != Z_OK && result != Z_BUF_ERROR)
            return say(u, "the gzip data is damaged");
    }
    return (int64_t)(u->z.next_out - (Bytef *)to);
}

static int64_t read_inflate(struct unpack *u, void *to, size_t size)
{
    static const char *const damaged[] = {[BZIP2] = "the bzip2 data is damaged",
                                          [LZ4] = "the lz4 data is damaged",
                                          [XZ] = "the xz data is damaged"};
    static const char *const ended[] = {
        [BZIP2] = "the bzip2 data ends before it is complete",
        [LZ4] = "the lz4 data ends before it is complete",
        [XZ] = "the xz data ends before it is complete"};
    size_t out = 0;

    while (!out) {
        int64_t error = fill(u, 1);
        size_t in;
        int result;
        if (error)
            return error;
        while (u->kind == XZ && !u->inside && u->at < u->have && !u->in[u->at])
            u->at++; /* padding before the next member */
        in = u->have - u->at;
        if (!in && !u->ended)
            continue;
        if (!in && !u->inside)
            return 0;
        out = size;
        result = tt_inflate_step(u->inflate, u->in + u->at, &in, to, &out);
        if (!result && !in && !out && u->at == u->have)
            return say(u, ended[u->kind]);
        if (result < 0 || (!result && !in && !out))
            return say(u, damaged[u->kind]);
        u->at += in;
        u->inside = !result;
    }
    return (int64_t)out;
}

static int64_t read_zstd(struct unpack *u, void *to, size_t size)
{
    ZSTD_outBuffer out = {to, size, 0};

    while (out.pos == 0) {
        ZSTD_inBuffer in;
        int64_t error = fill(u, 1);
        size_t left;
        if (error)
            return error;
        in = (ZSTD_inBuffer){u->in, u->have, u->at};
        if (u->at == u->have && !u->inside)
            return 0;
        left = ZSTD_decompressStream(u->zstd, &out, &in);
        if (ZSTD_isError(left))
            return say(u, "the zstd data is damaged");
        if (in.pos == u->at && out.pos == 0 && u->at == u->have)
            return say(u, "the zstd data ends before it is complete");
        u->at = in.pos;
        u->inside = left != 0;
    }
    return (int64_t)out.pos;
}

static uint32_t unit(const struct unpack *u, size_t at)
{
    const unsigned char *c = u->in + at;

    return u->kind == UTF16_BIG ? (uint32_t)c[0] << 8 | c[1] : (uint32_t)c[1] << 8 | c[0];
}

/* Returns the next character; an unpaired surrogate becomes U+FFFD. */
static uint32_t take_character(struct unpack *u)
{
    const uint32_t first = unit(u, u->at);
    uint32_t pair;

    u->at += 2;
    if (!tt_utf16_is_half(first))
        return first;
    pair = u->have - u->at >= 2 ? tt_utf16_pair(first, unit(u, u->at)) : 0;
    u->at += pair ? 2 : 0;
    return pair ? pair : 0xfffd;
}

static int64_t read_utf16(struct unpack *u, char *to, size_t size)
{
    size_t n = 0;

    while (n + TT_STREAM_ROOM <= size) {
        int64_t error = fill(u, 4);
        if (error)
            return error;
        if (u->have == u->at)
            break;
        if (u->have - u->at == 1)
            return say(u, "the UTF-16 text ends within a character");
        n += tt_utf8_put(to + n, take_character(u));
    }
    return (int64_t)n;
}

static int64_t read_unpacked(void *arg, void *to, size_t size)
{
    struct unpack *u = arg;
    int64_t error = u->kind == UNKNOWN ? find_kind(u) : 0;

    if (error || !size)
        return error;
    switch (u->kind) {
    case GZIP:
        return read_gzip(u, to, size);
    case ZSTD:
        return read_zstd(u, to, size);
    case BZIP2:
    case LZ4:
    case XZ:
        return read_inflate(u, to, size);
    case UTF16_LITTLE:
    case UTF16_BIG:
        return read_utf16(u, to, size);
    default:
        error = read_plain(u, to, size);
        if (error < 0)
            (void)say(u, u->from->error);
        return error;
    }
}

/* ── Life ─────────────────────────────────────────────────────────────────────────── */

struct tt_stream *tt_unpack_new(struct tt_stream *from)
{
    struct unpack *u = calloc(1, sizeof *u);

    if (!u)
        return NULL;
    u->stream.read = read_unpacked;
    u->stream.arg = u;
    u->from = from;
    return &u->stream;
}

void tt_unpack_free(struct tt_stream *stream)
{
    struct unpack *u = stream ? stream->arg : NULL;

    if (!u)
        return;
    if (u->kind == GZIP)
        (void)inflateEnd(&u->z);
    (void)ZSTD_freeDStream(u->zstd);
    tt_inflate_free(u->inflate);
    free(u);
}
