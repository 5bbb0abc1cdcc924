/* SPDX-License-Identifier: MIT */
/* punycode.c - decodes punycode (RFC 3492). */
#include "punycode.h"

#include <string.h>

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
