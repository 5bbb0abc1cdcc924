/* SPDX-License-Identifier: MIT */
/* byte-reader.h - taking numbers off a stretch of bytes that may be anything. */
#ifndef TT_BYTE_READER_H
#define TT_BYTE_READER_H

#include <stdint.h>
#include <string.h>

struct tt_byte_reader {
    const uint8_t *at, *end;
    int bad; /* a read went beyond the end; numbers are then 0 */
};

/* There are too few bytes for a number: uses up the span. */
static inline uint64_t tt_byte_reader_fail(struct tt_byte_reader *s)
{
    s->bad = 1;
    s->at = s->end;
    return 0;
}

/* A number of 1, 2, 4 or 8 bytes, little-endian. */
static inline uint64_t tt_byte_reader_number(struct tt_byte_reader *s, unsigned bytes)
{
    uint64_t value = 0;

    if ((size_t)(s->end - s->at) < bytes)
        return tt_byte_reader_fail(s);
    memcpy(&value, s->at, bytes);
    s->at += bytes;
    return value;
}

static inline int64_t tt_byte_reader_signed(struct tt_byte_reader *s, unsigned bytes)
{
    unsigned shift = 64 - 8 * bytes;

    return (int64_t)(tt_byte_reader_number(s, bytes) << shift) >> shift;
}

static inline uint64_t tt_byte_reader_uleb(struct tt_byte_reader *s)
{
    uint64_t value = 0;
    uint8_t byte;

    for (unsigned shift = 0;; shift += 7) {
        if (s->at == s->end)
            return tt_byte_reader_fail(s);
        byte = *s->at++;
        value |= shift < 64 ? (uint64_t)(byte & 0x7f) << shift : 0;
        if (!(byte & 0x80))
            return value;
    }
}

static inline int64_t tt_byte_reader_sleb(struct tt_byte_reader *s)
{
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte;

    do {
        if (s->at == s->end)
            return (int64_t)tt_byte_reader_fail(s);
        byte = *s->at++;
        value |= shift < 64 ? (uint64_t)(byte & 0x7f) << shift : 0;
        shift += 7;
    } while (byte & 0x80);
    if ((byte & 0x40) && shift < 64)
        value |= ~(uint64_t)0 << shift;
    return (int64_t)value;
}

/* The next `size` bytes; NULL when they are not there. */
static inline const uint8_t *tt_byte_reader_bytes(struct tt_byte_reader *s, uint64_t size)
{
    const uint8_t *at = s->at;

    if ((uint64_t)(s->end - s->at) < size) {
        tt_byte_reader_fail(s);
        return NULL;
    }
    s->at += size;
    return at;
}

#endif
