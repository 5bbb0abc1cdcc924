/* SPDX-License-Identifier: MIT */
/* utf8.c - characters of text that may be anything. */
#include "utf8.h"

size_t tt_utf8(const char *text, uint32_t *code)
{
    static const uint8_t first_bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *u = (const unsigned char *)text;
    size_t length = u[0] < 0x80   ? 1
                    : u[0] < 0xc0 ? 0
                    : u[0] < 0xe0 ? 2
                    : u[0] < 0xf0 ? 3
                    : u[0] < 0xf8 ? 4
                                  : 0;
    uint32_t c = u[0] & first_bits[length];

    *code = u[0];
    for (size_t i = 1; i < length; i++) {
        if ((u[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (u[i] & 0x3f);
    }
    if (!length || c < least[length] || c > 0x10ffff || tt_utf16_is_half(c))
        return 0;
    *code = c;
    return length;
}

size_t tt_utf8_put(char *to, uint32_t code)
{
    size_t size = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;

    if (code > 0x10ffff || tt_utf16_is_half(code))
        return 0;
    if (size == 1) {
        to[0] = (char)code;
        return 1;
    }
    for (size_t i = size; --i; code >>= 6)
        to[i] = (char)(0x80 | (code & 0x3f));
    to[0] = (char)((0xf0 << (4 - size) & 0xff) | code);
    return size;
}
