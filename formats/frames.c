/* SPDX-License-Identifier: MIT */
/* frames.c - a hash table from names to numbers, and a column of amounts. */
#include "frames.h"

#include <string.h>

#include "text-hash.h"

struct name {
    size_t offset; /* in the text; a NUL follows it */
    uint32_t length, value;
};

void tt_frames_init(struct tt_frames *f, struct tt_builder *b,
                    const struct tt_memory *memory)
{
    *f = (struct tt_frames){.b = b, .memory = memory};
    tt_vector_init(&f->name, memory, sizeof(struct name));
    tt_vector_init(&f->text, memory, 1);
    tt_vector_init(&f->amount, memory, sizeof(uint64_t));
}

void tt_frames_fini(struct tt_frames *f)
{
    tt_index_fini(&f->index, f->memory);
    tt_vector_fini(&f->name);
    tt_vector_fini(&f->text);
    tt_vector_fini(&f->amount);
}

/* ── Names ────────────────────────────────────────────────────────────────────────── */

static uint32_t *add_name(struct tt_frames *f, uint64_t hash, const char *text,
                          size_t length)
{
    struct name n = {.length = (uint32_t)length};
    uint32_t at;

    n.offset = length < UINT32_MAX ? tt_vector_text(&f->text, text, length) : TT_NO_PLACE;
    if (n.offset == TT_NO_PLACE)
        return NULL;
    at = tt_index_append(&f->index, &f->name, hash, &n, sizeof n);
    return at == TT_NO_NUMBER ? NULL : &((struct name *)f->name.item)[at].value;
}

uint32_t *tt_frames_find(struct tt_frames *f, const char *text, size_t length,
                         int *is_new)
{
    const uint64_t hash = tt_text_hash(text, length);
    uint32_t at, *value;

    *is_new = 0;
    for (size_t i = 0; (at = tt_index_next(&f->index, hash, &i)) != TT_NO_NUMBER;) {
        struct name *n = (struct name *)f->name.item + at;
        if (n->length == length &&
            memcmp((const char *)f->text.item + n->offset, text, length) == 0)
            return &n->value;
    }
    value = add_name(f, hash, text, length);
    *is_new = value != NULL;
    f->failed |= !value;
    return value;
}

/* Returns the text that was noted last, as a string. */
static const char *last_text(struct tt_frames *f, size_t length)
{
    char *text = (char *)f->text.item + f->text.count - length - 1;

    if (!memchr(text, '\0', length))
        return text;
    for (size_t i = 0; i < length; i++)
        if (!text[i])
            text[i] = '?';
    return text;
}

uint32_t tt_frames_block(struct tt_frames *f, const char *name, size_t length)
{
    int is_new;
    uint32_t *value = tt_frames_find(f, name, length, &is_new);

    if (!value)
        return TT_NONE;
    if (is_new)
        *value = tt_builder_block(f->b,
                                  &(struct tt_block_info){.name = last_text(f, length)});
    return *value;
}

/* ── Amounts ──────────────────────────────────────────────────────────────────────── */

int tt_frames_go(struct tt_frames *f, char *line, uint32_t *block)
{
    static const char blanks[] = " \t";
    struct tt_block_info info = {.kind = TT_KIND_FUNCTION};
    char *name = line + strspn(line, "#"), *offset = NULL, *file, *colon;
    uint32_t *known;
    int is_new;

    name += strspn(name, blanks);
    if (line[0] != '#' || strncmp(name, "0x", 2) != 0)
        return 0;
    name += strcspn(name, blanks);
    name += strspn(name, blanks);
    file = strchr(name, '\t'); /* names of generic functions may have blanks */
    for (char *c = name; file && c < file; c++)
        if (strncmp(c, "+0x", 3) == 0)
            offset = c;
    if (!offset || offset == name)
        return 0;
    *offset = '\0';
    file += strspn(file, blanks);
    colon = strrchr(file, ':');
    if (colon)
        *colon = '\0';
    info.name = name;
    info.file = memmove(offset + 1, file, strlen(file) + 1);
    offset[0] = '\n'; /* one text of both, which no name has */
    known = tt_frames_find(f, name, strlen(name), &is_new);
    offset[0] = '\0';
    if (known && is_new)
        *known = tt_builder_block(f->b, &info);
    if (!known || *known == TT_NONE)
        return -TT_ERR_MEMORY;
    *block = *known;
    return 1;
}

int tt_frames_add(struct tt_frames *f, uint32_t context, uint64_t amount)
{
    if (context == TT_NONE)
        return -TT_ERR_MEMORY;
    if (__builtin_add_overflow(f->total, amount, &f->total))
        return -TT_ERR_FORMAT;
    if (context >= f->amount.count &&
        !tt_vector_add(&f->amount, context + 1 - f->amount.count)) {
        f->failed = 1;
        return -TT_ERR_MEMORY;
    }
    ((uint64_t *)f->amount.item)[context] += amount;
    return 0;
}

int tt_frames_count(struct tt_frames *f, struct tt_source *s, uint32_t context,
                    uint64_t amount)
{
    const int error = tt_frames_add(f, context, amount);

    if (error == -TT_ERR_MEMORY)
        return tt_source_no_memory(s);
    return error ? tt_source_fail(s, TT_TOO_MUCH) : 0;
}

void tt_frames_flush(struct tt_frames *f, uint32_t metric)
{
    const uint64_t *amount = f->amount.item;

    for (size_t i = 0; i < f->amount.count; i++) {
        tt_builder_add(f->b, TT_ROLE_SELF, (uint32_t)i, metric, amount[i]);
        tt_vector_forget(&f->amount, i + 1);
    }
    f->amount.count = 0;
    f->total = 0;
}
