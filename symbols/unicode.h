/* SPDX-License-Identifier: MIT */
/* unicode.h - characters in UTF-8 and punycode, of names that need not be right. */
#ifndef TT_UNICODE_H
#define TT_UNICODE_H

#include <stddef.h>
#include <stdint.h>

/* The bytes of a character; 0: there is no such character. */
size_t tt_utf8_encode(uint32_t c, char bytes[4]);
/* Decodes the first character of at least one byte; returns its size; 0: invalid. */
size_t tt_utf8_decode(const unsigned char *bytes, size_t count, uint32_t *c);

/* Decodes punycode (RFC 3492, with "_" for "-"); returns the number of characters, 0:
 * invalid, or more than `room`. */
size_t tt_punycode_decode(const char *text, size_t length, uint32_t *out, size_t room);

#endif
