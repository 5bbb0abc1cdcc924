/* SPDX-License-Identifier: MIT */
/* content-hash.h - 128 bits that name a content: FNV-1a.
 *
 * The same bytes have the same name on every machine.  It does not protect from bytes that
 * were chosen to collide. */
#ifndef TT_CONTENT_HASH_H
#define TT_CONTENT_HASH_H

#include <stddef.h>
#include <stdint.h>

enum { TT_CONTENT_HASH_SIZE = 16, TT_CONTENT_HASH_DIGITS = 32 };

struct tt_content_hash {
    uint64_t high, low;
};

static const struct tt_content_hash TT_CONTENT_HASH_OF_NOTHING = {0x6c62272e07bb0142u,
                                                                  0x62b821756295c58du};

/* Continues a hash by more bytes. */
static inline struct tt_content_hash tt_content_hash_add(struct tt_content_hash h,
                                                         const void *bytes, size_t size)
{
    enum { PRIME_LOW = 0x13b, PRIME_SHIFT = 24 }; /* the prime: 2^88 + 0x13b */
    const unsigned char *at = bytes;

    for (size_t i = 0; i < size; i++) {
        const uint64_t low = h.low ^ at[i];
        const unsigned __int128 product = (unsigned __int128)low * PRIME_LOW;
        h.high = h.high * PRIME_LOW + (uint64_t)(product >> 64) + (low << PRIME_SHIFT);
        h.low = (uint64_t)product;
    }
    return h;
}

/* Writes it with its highest byte first. */
static inline void tt_content_hash_bytes(struct tt_content_hash h,
                                         unsigned char out[TT_CONTENT_HASH_SIZE])
{
    for (int i = 0; i < 8; i++) {
        out[i] = (unsigned char)(h.high >> (56 - 8 * i));
        out[8 + i] = (unsigned char)(h.low >> (56 - 8 * i));
    }
}

#endif
