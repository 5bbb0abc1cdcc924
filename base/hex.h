/* SPDX-License-Identifier: MIT */
/* hex.h - values of hexadecimal digits.  Async-signal-safe. */
#ifndef TT_HEX_H
#define TT_HEX_H

/* -1: it is no digit, or its letter is not a small one. */
static inline int tt_hex_small(int c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The same for letters of either case. */
static inline int tt_hex(int c)
{
    return tt_hex_small(c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c);
}

/* The character of a text that begins "%XX"; -1: it does not. */
static inline int tt_hex_character(const char *text)
{
    const int high = text[0] == '%' ? tt_hex(text[1]) : -1,
              low = high < 0 ? -1 : tt_hex(text[2]);

    return low < 0 ? -1 : high << 4 | low;
}

#endif
