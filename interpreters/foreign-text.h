/* SPDX-License-Identifier: MIT */
/* foreign-text.h - words and names that were copied from an interpreter's memory.
 * Async-signal-safe. */
#ifndef TT_FOREIGN_TEXT_H
#define TT_FOREIGN_TEXT_H

#include <stdint.h>
#include <string.h>

#include "utf8.h"

static inline uint64_t tt_foreign_word(const char *bytes, uint32_t at)
{
    uint64_t v;

    memcpy(&v, bytes + at, sizeof v);
    return v;
}

static inline uint64_t tt_foreign_mix(uint64_t h, uint64_t n)
{
    return (h ^ n) * 0x9e3779b97f4a7c15u;
}

/* Appends bytes up to a NUL, as UTF-8.  Other bytes are Latin-1.  Control characters become
 * '?'.  Returns the end. */
static inline char *tt_foreign_put(const char *bytes, char *to, const char *end)
{
    enum { LATIN_BEGIN = 0xa0, LONGEST = 4 };

    while (*bytes && end - to > LONGEST) {
        uint32_t code;
        const size_t size = tt_utf8(bytes, &code);
        const int is_shown = size ? code >= ' ' && code != 0x7f : code >= LATIN_BEGIN;
        to += tt_utf8_put(to, is_shown ? code : '?');
        bytes += size ? size : 1;
    }
    *to = '\0';
    return to;
}

#endif
