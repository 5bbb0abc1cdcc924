/* SPDX-License-Identifier: MIT */
/* text-hash.h - a hash of long texts, faster than that of short keys (index.h). */
#ifndef TT_TEXT_HASH_H
#define TT_TEXT_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t tt_text_hash(const char *text, size_t length)
{
    const uint64_t factor = 0x9e3779b97f4a7c15u; /* 2^64 / golden ratio */
    uint64_t h = length * factor, word;

    for (; length >= sizeof word; text += sizeof word, length -= sizeof word) {
        memcpy(&word, text, sizeof word);
        h = (h ^ word) * factor;
        h ^= h >> 32;
    }
    word = 0;
    memcpy(&word, text, length);
    h = (h ^ word) * factor;
    return h ^ h >> 32;
}

#endif
