/* SPDX-License-Identifier: MIT */
/* utf8.h - characters of text that may be anything. */
#ifndef TT_UTF8_H
#define TT_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* How many bytes the UTF-8 character at `text` has, and which it is; 0 when none begins
 * there, and *code is the byte.  Reads no further than a NUL. */
size_t tt_utf8(const char *text, uint32_t *code);

/* Puts a character as UTF-8: up to four bytes; returns how many. */
size_t tt_utf8_put(char *to, uint32_t code);

#endif
