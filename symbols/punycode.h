/* SPDX-License-Identifier: MIT */
/* punycode.h - decodes punycode (RFC 3492). */
#ifndef TT_PUNYCODE_H
#define TT_PUNYCODE_H

#include <stddef.h>
#include <stdint.h>

/* Decodes punycode, with "_" for "-"; returns the number of characters, 0: invalid, or more
 * than `room`. */
size_t tt_punycode_decode(const char *text, size_t length, uint32_t *out, size_t room);

#endif
