/* SPDX-License-Identifier: MIT */
/* utf8.h - characters of text that may be anything. */
#ifndef TT_UTF8_H
#define TT_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Returns the number of bytes of the UTF-8 character at `text`, and its *code; 0 if there
 * is none, and *code is the byte.  Does not read beyond a NUL. */
size_t tt_utf8(const char *text, uint32_t *code);

/* Puts a character as UTF-8: up to four bytes; returns their number. */
size_t tt_utf8_put(char *to, uint32_t code);

#endif
