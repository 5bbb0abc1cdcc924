/* SPDX-License-Identifier: MIT */
/* unicode.c - characters in UTF-8 and punycode, of names that need not be right. */
#include "unicode.h"

#include <string.h>

size_t tt_utf8_encode(uint32_t c, char bytes[4])
{
    if (c < 0x80) {
        bytes[0] = (char)c;
        return 1;
    }
    if (c >= 0x110000 || (c >= 0xd800 && c < 0xe000))
        return 0;
    if (c < 0x800) {
        bytes[0] = (char)(0xc0 | c >> 6);
        bytes[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        bytes[0] = (char)(0xe0 | c >> 12);
        bytes[1] = (char)(0x80 | (c >> 6 & 0x3f));
        bytes[2] = (char)(0x80 | (c & 0x3f));
        return 3;
    }
    bytes[0] = (char)(0xf0 | c >> 18);
    bytes[1] = (char)(0x80 | (c >> 12 & 0x3f));
    bytes[2] = (char)(0x80 | (c >> 6 & 0x3f));
    bytes[3] = (char)(0x80 | (c & 0x3f));
    return 4;
}

size_t tt_utf8_decode(const unsigned char *bytes, size_t count, uint32_t *c)
{
    size_t length = *bytes < 0x80 ? 1 : *bytes < 0xe0 ? 2 : *bytes < 0xf0 ? 3 : 4;
    char again[4];

    if (length > count || (*bytes >= 0x80 && *bytes < 0xc2) || *bytes >= 0xf5)
        return 0;
    *c = length == 1 ? *bytes : *bytes & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((bytes[i] & 0xc0) != 0x80)
            return 0;
        *c = *c << 6 | (bytes[i] & 0x3f);
    }
    return tt_utf8_encode(*c, again) == length ? length : 0;
}

static int is_digit(char c) { return c >= '0' && c <= '9'; }
static int is_small(char c) { return c >= 'a' && c <= 'z'; }

static uint32_t adapt(uint32_t delta, uint32_t count, int first)
{
    uint32_t k = 0;

    delta /= first ? 700 : 2;
    for (delta += delta / count; delta > 455; k += 36)
        delta /= 35;
    return k + 36 * delta / (delta + 38);
}

size_t tt_punycode_decode(const char *text, size_t length, uint32_t *out, size_t room)
{
    const char *delimiter = memrchr(text, '_', length),
               *in = delimiter ? delimiter + 1 : text, *end = text + length;
    size_t count = 0;
    uint32_t n = 0x80, i = 0, bias = 72;

    for (const char *c = text; delimiter && c < delimiter; c++) {
        if (count == room)
            return 0;
        out[count++] = (unsigned char)*c;
    }
    while (in < end) {
        uint32_t before = i, weight = 1;
        for (uint32_t k = 36;; k += 36) {
            uint32_t limit = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias, digit;
            if (in == end || (!is_small(*in) && !is_digit(*in)))
                return 0;
            digit = (uint32_t)(is_small(*in) ? *in - 'a' : 26 + *in - '0');
            in++;
            if (__builtin_mul_overflow(digit, weight, &digit) ||
                __builtin_add_overflow(i, digit, &i))
                return 0;
            if ((uint32_t)(is_small(in[-1]) ? in[-1] - 'a' : 26 + in[-1] - '0') < limit)
                break;
            if (__builtin_mul_overflow(weight, 36 - limit, &weight))
                return 0;
        }
        if (count == room)
            return 0;
        count++;
        bias = adapt(i - before, (uint32_t)count, before == 0);
        n += i / (uint32_t)count;
        i %= (uint32_t)count;
        if (n >= 0x110000)
            return 0;
        memmove(out + i + 1, out + i, (count - 1 - i) * sizeof *out);
        out[i++] = n;
    }
    return count;
}
