/* SPDX-License-Identifier: MIT */
/* utf8.h - characters of text that may be anything. */
#ifndef TT_UTF8_H
#define TT_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Returns the number of bytes of the UTF-8 character at `text`, and its *code; 0 if there
 * is none, and *code is the byte.  Does not read beyond a NUL. */
size_t tt_utf8(const char *text, uint32_t *code);

/* Puts a character as UTF-8: up to four bytes; returns their number; 0 if there is no such
 * character. */
size_t tt_utf8_put(char *to, uint32_t code);

/* Returns the character of two units of UTF-16, 0 if they are no pair. */
static inline uint32_t tt_utf16_pair(uint32_t high, uint32_t low)
{
    return high >> 10 == 0x36 && low >> 10 == 0x37
               ? 0x10000 + ((high & 0x3ff) << 10 | (low & 0x3ff))
               : 0;
}
/* Is it half a pair? */
static inline int tt_utf16_is_half(uint32_t unit) { return unit >> 11 == 0x1b; }

#endif
