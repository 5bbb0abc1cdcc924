/* SPDX-License-Identifier: MIT */
/* embedded-profile.c - packs images, and unpacks them.
 *
 * An image has room for the largest figures, in running sums, so that any view finds a
 * sum in one step.  A packed image has each figure by itself, in seven bits a byte; the
 * eighth bit marks that another byte follows.  Most figures take one or two bytes instead
 * of eight. */
#include "embedded-profile.h"

#include <string.h>

enum coding {
    AS_IT_IS,
    NUMBERS,     /* each */
    DIFFERENCES, /* each less the one before */
    CODINGS
};

static enum coding coding_of(const struct tt_section *s)
{
    switch (s->kind) {
    case TT_SECTION_SELF:
    case TT_SECTION_ELSEWHERE:
    case TT_SECTION_LOW:
        return s->width == sizeof(uint64_t) ? DIFFERENCES : AS_IT_IS;
    case TT_SECTION_CONTEXT_BLOCK:
    case TT_SECTION_CONTEXT_SIZE:
        return s->width == sizeof(uint32_t) ? NUMBERS : AS_IT_IS;
    case TT_SECTION_MISSED:
        return s->width == sizeof(uint64_t) ? NUMBERS : AS_IT_IS;
    default:
        return AS_IT_IS;
    }
}

static const struct tt_section *table_of(const void *image)
{
    const struct tt_file_header *h = image;

    return (const void *)(h + 1);
}

/* ── Packing ──────────────────────────────────────────────────────────────────────── */

enum { LONGEST = 10, AT_ONCE = 4096 }; /* bytes of a number; numbers */

static size_t put_number(unsigned char *to, uint64_t n)
{
    size_t length = 0;

    for (; n >= 0x80; n >>= 7)
        to[length++] = (unsigned char)(n | 0x80);
    to[length++] = (unsigned char)n;
    return length;
}

static int pack_numbers(const struct tt_section *s, const void *items,
                        struct tt_vector *bytes)
{
    const int is_wide = s->width == sizeof(uint64_t),
              is_sum = coding_of(s) == DIFFERENCES;
    uint64_t before = 0;

    for (uint64_t i = 0; i < s->count;) {
        const uint64_t end = s->count - i < AT_ONCE ? s->count : i + AT_ONCE;
        const size_t room = (size_t)(end - i) * LONGEST;
        unsigned char *to = tt_vector_add(bytes, room);
        size_t used = 0;
        if (!to)
            return -TT_ERR_MEMORY;
        for (; i < end; i++) {
            uint64_t n = is_wide ? ((const uint64_t *)items)[i]
                                 : ((const uint32_t *)items)[i];
            used += put_number(to + used, n - before);
            before = is_sum ? n : 0;
        }
        bytes->count -= room - used;
    }
    return 0;
}

static int pack_bytes(const void *from, size_t size, struct tt_vector *bytes)
{
    char *to = size ? tt_vector_add(bytes, size) : NULL;

    if (size && !to)
        return -TT_ERR_MEMORY;
    if (size)
        memcpy(to, from, size);
    return 0;
}

/* Clears texts that no view uses, in the strings that were packed last; their length is
 * kept. */
static void blank_kept_texts(const struct tt_profile *p, char *strings)
{
    for (uint32_t i = 0; i < p->facts; i++) {
        const char *name = tt_profile_string(p, p->fact[i].name);
        if (tt_fact_is_kept(&p->fact[i]) && strcmp(name, TT_SERIES_CLOCK) != 0)
            memset(strings + p->fact[i].text, 0,
                   strlen(tt_profile_string(p, p->fact[i].text)));
    }
}

static int pack_section(const struct tt_profile *p, const struct tt_section *s,
                        struct tt_vector *bytes)
{
    const char *items = p->image + s->offset;
    const size_t size = (size_t)(s->count * s->width);
    int error;

    if (coding_of(s) != AS_IT_IS)
        return pack_numbers(s, items, bytes);
    error = pack_bytes(items, size, bytes);
    if (!error && s->kind == TT_SECTION_STRINGS)
        blank_kept_texts(p, (char *)bytes->item + bytes->count - size);
    return error;
}

int tt_embedded_pack(const struct tt_profile *p, struct tt_vector *bytes)
{
    const struct tt_file_header *h = (const void *)p->image;
    const struct tt_section *s = table_of(h);
    const uint32_t sections = h->sections + (h->sections ? s->reserved : 0);
    int error = pack_bytes(h, sizeof *h + sections * sizeof *s, bytes);

    for (uint32_t i = 0; !error && i < sections; i++)
        error = pack_section(p, &s[i], bytes);
    return error;
}

/* ── Unpacking ────────────────────────────────────────────────────────────────────── */

struct embedded {
    const unsigned char *at, *end;
    char *image;
    size_t size, first; /* after the table of sections */
};

/* Returns the byte after a number, or NULL: it does not end. */
static inline const unsigned char *take_number(const unsigned char *at,
                                               const unsigned char *end, uint64_t *n)
{
    uint64_t sum = 0;

    if (at < end && *at < 0x80) { /* most of them */
        *n = *at;
        return at + 1;
    }
    for (unsigned shift = 0; at < end && shift < 64; shift += 7) {
        unsigned char byte = *at++;
        sum |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *n = sum;
            return at;
        }
    }
    return NULL;
}

/* `before` is the sum so far of a running sum, or NULL. */
static __attribute__((noinline)) const unsigned char *take_wide(const unsigned char *at,
                                                                const unsigned char *end,
                                                                uint64_t *to,
                                                                size_t count,
                                                                uint64_t *before)
{
    uint64_t sum = before ? *before : 0, n = 0;

    for (size_t i = 0; at && i < count; i++) {
        at = take_number(at, end, &n);
        to[i] = sum + n;
        if (before)
            sum += n;
    }
    if (before)
        *before = sum;
    return at;
}

static __attribute__((noinline)) const unsigned char *take_narrow(
    const unsigned char *at, const unsigned char *end, uint32_t *to, size_t count)
{
    uint64_t n = 0;

    for (size_t i = 0; at && i < count; i++) {
        at = take_number(at, end, &n);
        if (n > UINT32_MAX)
            at = NULL;
        to[i] = (uint32_t)n;
    }
    return at;
}

/* Piece by piece: a browser optimizes a function that is called often, but not one that
 * loops for long. */
static int unpack_numbers(struct embedded *x, const struct tt_section *s, void *to)
{
    uint64_t sum = 0, *before = coding_of(s) == DIFFERENCES ? &sum : NULL;

    for (uint64_t i = 0; x->at && i < s->count; i += AT_ONCE) {
        const size_t count = s->count - i < AT_ONCE ? (size_t)(s->count - i) : AT_ONCE;
        if (s->width == sizeof(uint64_t))
            x->at = take_wide(x->at, x->end, (uint64_t *)to + i, count, before);
        else
            x->at = take_narrow(x->at, x->end, (uint32_t *)to + i, count);
    }
    if (x->at)
        return 0;
    x->at = x->end;
    return -TT_ERR_FORMAT;
}

static int unpack_section(struct embedded *x, const struct tt_section *s)
{
    uint64_t bytes;
    void *to;

    if (__builtin_mul_overflow(s->count, (uint64_t)s->width, &bytes) || s->offset % 8 ||
        s->offset < x->first || s->offset > x->size || bytes > x->size - s->offset)
        return -TT_ERR_FORMAT;
    to = x->image + s->offset;
    if (coding_of(s) != AS_IT_IS)
        return unpack_numbers(x, s, to);
    if (bytes > (size_t)(x->end - x->at))
        return -TT_ERR_FORMAT;
    memcpy(to, x->at, (size_t)bytes);
    x->at += bytes;
    return 0;
}

/* Includes the sections that may be skipped; `h` is in `bytes` bytes. */
static uint64_t sections_of(const struct tt_file_header *h, const void *embedded,
                            size_t bytes)
{
    struct tt_section first = {.reserved = 0};

    if (h->sections && bytes >= sizeof *h + sizeof first)
        memcpy(&first, (const char *)embedded + sizeof *h, sizeof first);
    return (uint64_t)h->sections + first.reserved;
}

/* Returns the size of the unpacked image; 0: invalid.  A number takes at least one byte,
 * and eight in the image, so small input cannot allocate much. */
static size_t size_of_image(const struct tt_file_header *h, uint64_t sections,
                            size_t bytes)
{
    enum { GROWTH = 8, BETWEEN = 4096 };
    uint64_t most = (uint64_t)bytes * GROWTH + (sections + 1) * BETWEEN;

    if (memcmp(h->magic, TT_PROFILE_MAGIC, sizeof h->magic) != 0 ||
        h->section_size != sizeof(struct tt_section) ||
        sections > (bytes - sizeof *h) / sizeof(struct tt_section) ||
        h->size < sizeof *h + sections * sizeof(struct tt_section) || h->size > most ||
        h->size > SIZE_MAX)
        return 0;
    return (size_t)h->size;
}

int tt_embedded_unpack(const void *embedded, size_t bytes, const struct tt_memory *memory,
                       void **image, size_t *size)
{
    struct embedded x = {.at = embedded};
    struct tt_file_header h;
    uint64_t sections;
    int error = 0;

    *image = NULL;
    *size = 0;
    if (bytes < sizeof h)
        return -TT_ERR_FORMAT;
    memcpy(&h, embedded, sizeof h);
    x.end = x.at + bytes;
    sections = sections_of(&h, embedded, bytes);
    x.size = size_of_image(&h, sections, bytes);
    if (!x.size)
        return -TT_ERR_FORMAT;
    x.image = tt_memory_get(memory, x.size);
    if (!x.image)
        return -TT_ERR_MEMORY;
    x.first = sizeof h + (size_t)sections * sizeof(struct tt_section);
    memcpy(x.image, embedded, x.first);
    x.at += x.first;
    for (uint64_t i = 0; !error && i < sections; i++)
        error = unpack_section(&x, &table_of(x.image)[i]);
    if (!error && x.at != x.end)
        error = -TT_ERR_FORMAT;
    if (error) {
        tt_memory_put(memory, x.image);
        return error;
    }
    *image = x.image;
    *size = x.size;
    return 0;
}
