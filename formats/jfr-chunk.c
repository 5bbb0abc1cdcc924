/* SPDX-License-Identifier: MIT */
/* jfr-chunk.c - a chunk of a recording of Java's Flight Recorder: its types, constants and
 * values. */
#include <stdio.h>
#include <string.h>

#include "builder.h"
#include "jfr-chunk.h"
#include "utf8.h"

enum { HEAD = 68, MOST_DEPTH = 32, METADATA = 0, CHECKPOINT = 1 };

void tt_jfr_init(struct tt_jfr *j, struct tt_source *s)
{
    *j = (struct tt_jfr){.s = s};
    tt_vector_init(&j->class, s->memory, sizeof(struct tt_jfr_class));
    tt_vector_init(&j->field, s->memory, sizeof(struct tt_jfr_field));
    tt_vector_init(&j->string, s->memory, sizeof(size_t));
    tt_vector_init(&j->text, s->memory, 1);
    tt_vector_init(&j->word, s->memory, 1);
    tt_pairs_init(&j->classes, s->memory);
    tt_pairs_init(&j->pool, s->memory);
}

int tt_jfr_wrong(struct tt_jfr *j, size_t at, const char *what)
{
    return tt_source_fail_at(j->s, j->start + at, "%s", what);
}

/* ── Bytes ────────────────────────────────────────────────────────────────────────── */

static int take(struct tt_jfr *j, size_t *at, size_t size)
{
    if (size > j->size - *at)
        return tt_jfr_wrong(j, *at, "the chunk ends within a value");
    *at += size;
    return 0;
}

static uint64_t big(const unsigned char *at, int size)
{
    uint64_t n = 0;

    for (int i = 0; i < size; i++)
        n = n << 8 | at[i];
    return n;
}

int tt_jfr_number(struct tt_jfr *j, size_t *at, uint64_t *number)
{
    *number = 0;
    for (unsigned shift = 0; *at < j->size; shift += 7) {
        unsigned char c = j->bytes[(*at)++];
        if (shift == 56 || c < 0x80) {
            *number |= (uint64_t)c << shift;
            return 0;
        }
        *number |= (uint64_t)(c & 0x7f) << shift;
    }
    return tt_jfr_wrong(j, *at, "the chunk ends within a number");
}

/* ── Texts ────────────────────────────────────────────────────────────────────────── */

enum { TEXT_NULL, TEXT_EMPTY, TEXT_CONSTANT, TEXT_UTF8, TEXT_UTF16, TEXT_LATIN1 };

static int put_code(struct tt_jfr *j, struct tt_vector *to, uint32_t code)
{
    char bytes[TT_STREAM_ROOM], *at;
    size_t size = tt_utf8_put(bytes, code ? code : 0xfffd);

    if (!(at = tt_vector_add(to, size)))
        return tt_source_no_memory(j->s);
    memcpy(at, bytes, size);
    return 0;
}

static int put_utf16(struct tt_jfr *j, size_t *at, uint64_t count, struct tt_vector *to)
{
    uint64_t unit;
    uint32_t high = 0, pair;
    int error = 0;

    for (uint64_t i = 0; !error && i < count; i++) {
        if ((error = tt_jfr_number(j, at, &unit)) != 0)
            return error;
        unit = unit < 0x10000 ? unit : 0xfffd;
        pair = tt_utf16_pair(high, (uint32_t)unit);
        if (pair || !tt_utf16_is_half((uint32_t)unit))
            error = put_code(j, to, pair ? pair : (uint32_t)unit);
        high = (uint32_t)unit;
    }
    return error;
}

/* Appends the text at `at` to `to`, without a NUL.  *is_null: there is no text; it may be
 * a constant, and then *key is its key. */
static int put_text(struct tt_jfr *j, size_t *at, struct tt_vector *to, int *is_null,
                    uint64_t *key)
{
    size_t start = *at;
    uint64_t size = 0;
    unsigned char kind;
    char *bytes;
    int error = take(j, at, 1);

    *is_null = 0;
    *key = 0;
    if (error)
        return error;
    kind = j->bytes[start];
    if (kind == TEXT_NULL || kind == TEXT_CONSTANT)
        *is_null = 1;
    if (kind == TEXT_CONSTANT)
        return tt_jfr_number(j, at, key);
    if (kind <= TEXT_EMPTY)
        return 0;
    if (kind > TEXT_LATIN1)
        return tt_jfr_wrong(j, start, "no text begins so");
    if ((error = tt_jfr_number(j, at, &size)) != 0)
        return error;
    if (kind == TEXT_UTF16)
        return put_utf16(j, at, size, to);
    start = *at;
    if ((error = take(j, at, (size_t)size)) != 0)
        return error;
    for (size_t i = 0; kind == TEXT_LATIN1 && !error && i < size; i++)
        error = put_code(j, to, j->bytes[start + i]);
    if (kind == TEXT_LATIN1 || !size)
        return error;
    if (!(bytes = tt_vector_add(to, (size_t)size)))
        return tt_source_no_memory(j->s);
    memcpy(bytes, j->bytes + start, (size_t)size);
    return 0;
}

static int end_text(struct tt_jfr *j, struct tt_vector *to)
{
    return tt_vector_add(to, 1) ? 0 : tt_source_no_memory(j->s);
}

static int skip_text(struct tt_jfr *j, size_t *at)
{
    uint64_t size = 0, unit;
    size_t start = *at;
    unsigned char kind;
    int error = take(j, at, 1);

    if (error)
        return error;
    kind = j->bytes[start];
    if (kind > TEXT_LATIN1)
        return tt_jfr_wrong(j, start, "no text begins so");
    if (kind >= TEXT_CONSTANT)
        error = tt_jfr_number(j, at, &size);
    if (kind == TEXT_UTF16)
        for (; !error && size; size--)
            error = tt_jfr_number(j, at, &unit);
    return error || kind <= TEXT_CONSTANT || kind == TEXT_UTF16
               ? error
               : take(j, at, (size_t)size);
}

/* ── Metadata ─────────────────────────────────────────────────────────────────────── */

static const char *string_at(const struct tt_jfr *j, uint64_t i)
{
    return i < j->string.count
               ? (const char *)j->text.item + ((const size_t *)j->string.item)[i]
               : "";
}

static int read_strings(struct tt_jfr *j, size_t *at)
{
    uint64_t count, key;
    int error = tt_jfr_number(j, at, &count), is_null;

    for (uint64_t i = 0; !error && i < count; i++) {
        error = tt_source_append(j->s, &j->string, &j->text.count);
        error = error ?: put_text(j, at, &j->text, &is_null, &key);
        error = error ?: end_text(j, &j->text);
    }
    return error;
}

struct attributes {
    uint64_t name, id, class; /* name: of the strings */
    int is_constant, is_array;
};

static uint64_t digits(const char *text)
{
    uint64_t n = 0;

    return tt_take_digits(&text, &n) ? n : 0;
}

static int read_attributes(struct tt_jfr *j, size_t *at, struct attributes *a)
{
    uint64_t count, key, value;
    int error = tt_jfr_number(j, at, &count);

    for (*a = (struct attributes){0}; !error && count; count--) {
        error = tt_jfr_number(j, at, &key);
        error = error ?: tt_jfr_number(j, at, &value);
        if (error)
            return error;
        if (strcmp(string_at(j, key), "name") == 0)
            a->name = value;
        else if (strcmp(string_at(j, key), "id") == 0)
            a->id = digits(string_at(j, value));
        else if (strcmp(string_at(j, key), "class") == 0)
            a->class = digits(string_at(j, value));
        else if (strcmp(string_at(j, key), "constantPool") == 0)
            a->is_constant = strcmp(string_at(j, value), "true") == 0;
        else if (strcmp(string_at(j, key), "dimension") == 0)
            a->is_array = digits(string_at(j, value)) > 0;
    }
    return error;
}

static int add_class(struct tt_jfr *j, const struct attributes *a, size_t at)
{
    struct tt_jfr_class *c = tt_vector_add(&j->class, 1);
    int is_new;
    uint32_t *number = c ? tt_pairs_get(&j->classes, a->id, 0, &is_new) : NULL;

    if (!number)
        return tt_source_no_memory(j->s);
    if (!is_new)
        return tt_jfr_wrong(j, at, "two classes have one id");
    *number = (uint32_t)j->class.count;
    *c = (struct tt_jfr_class){string_at(j, a->name), a->id, j->field.count, 0};
    return 0;
}

static int add_field(struct tt_jfr *j, const struct attributes *a)
{
    struct tt_jfr_class *c = j->class.item;
    const struct tt_jfr_field f = {a->name, a->class, TT_NONE, a->is_constant,
                                   a->is_array};

    c[j->class.count - 1].fields++;
    return tt_source_append(j->s, &j->field, &f);
}

/* Reads an element and its children.  `in_class`: it is a direct child of a class; only
 * these can be fields. */
static int read_element(struct tt_jfr *j, size_t *at, int depth, int in_class)
{
    struct attributes a;
    size_t start = *at;
    uint64_t name, count;
    int error = tt_jfr_number(j, at, &name), is_class;

    if (!error && depth > MOST_DEPTH)
        return tt_jfr_wrong(j, start, "the metadata are too deep");
    error = error ?: read_attributes(j, at, &a);
    error = error ?: tt_jfr_number(j, at, &count);
    if (error)
        return error;
    is_class = strcmp(string_at(j, name), "class") == 0;
    if (is_class && in_class)
        return tt_jfr_wrong(j, start, "a class lies within another");
    if (is_class)
        error = add_class(j, &a, start);
    else if (in_class && strcmp(string_at(j, name), "field") == 0)
        error = add_field(j, &a);
    for (; !error && count; count--)
        error = read_element(j, at, depth + 1, is_class);
    return error;
}

static int read_metadata(struct tt_jfr *j, size_t at)
{
    struct tt_jfr_field *f;
    uint64_t number = 0;
    int error = 0;

    for (int i = 0; !error && i < 5; i++) { /* size, type, start, duration, id */
        error = tt_jfr_number(j, &at, &number);
        if (!error && i == 1 && number != METADATA)
            return tt_jfr_wrong(j, at, "the head of the chunk names no metadata here");
    }
    error = error ?: read_strings(j, &at);
    error = error ?: read_element(j, &at, 0, 0);
    f = j->field.item;
    for (size_t i = 0; i < j->field.count; i++)
        f[i].class = tt_jfr_class_of(j, f[i].class_id);
    return error;
}

/* ── Values ───────────────────────────────────────────────────────────────────────── */

uint32_t tt_jfr_class_of(const struct tt_jfr *j, uint64_t id)
{
    const uint32_t *i = tt_pairs_find(&j->classes, id, 0);

    return i && *i ? *i - 1 : TT_NONE;
}

const char *tt_jfr_field_name(const struct tt_jfr *j, const struct tt_jfr_field *f)
{
    return string_at(j, f->name);
}

static const struct tt_jfr_field *field_of(const struct tt_jfr *j, uint32_t class,
                                           size_t i)
{
    return (const struct tt_jfr_field *)j->field.item + tt_jfr_class(j, class)->first + i;
}

static int is_text(const struct tt_jfr *j, uint32_t class)
{
    return strcmp(tt_jfr_class(j, class)->name, "java.lang.String") == 0;
}

/* Returns the bytes of a primitive; 0: a number of variable length; less than 0: no
 * primitive. */
static int width_of(const char *name)
{
    static const struct {
        const char *name;
        int width;
    } primitives[] = {{"boolean", 1}, {"byte", 1}, {"float", 4}, {"double", 8},
                      {"short", 0},   {"char", 0}, {"int", 0},   {"long", 0}};

    for (size_t i = 0; i < sizeof primitives / sizeof *primitives; i++)
        if (strcmp(name, primitives[i].name) == 0)
            return primitives[i].width;
    return -1;
}

static int skip_field(struct tt_jfr *j, const struct tt_jfr_field *f, size_t *at,
                      int depth);

static int skip_object(struct tt_jfr *j, uint32_t class, size_t *at, int depth)
{
    const struct tt_jfr_class *c = tt_jfr_class(j, class);
    int width = c->fields ? -1 : width_of(c->name), error = 0;
    uint64_t number;

    if (depth > MOST_DEPTH)
        return tt_jfr_wrong(j, *at, "a class is within itself");
    if (is_text(j, class))
        return skip_text(j, at);
    if (width >= 0)
        return width ? take(j, at, (size_t)width) : tt_jfr_number(j, at, &number);
    for (size_t i = 0; !error && i < c->fields; i++)
        error = skip_field(j, field_of(j, class, i), at, depth + 1);
    return error;
}

static int skip_field(struct tt_jfr *j, const struct tt_jfr_field *f, size_t *at,
                      int depth)
{
    uint64_t count = 1, key;
    int error = f->is_array ? tt_jfr_number(j, at, &count) : 0;

    for (; !error && count; count--) {
        size_t before = *at;
        if (f->is_constant)
            error = tt_jfr_number(j, at, &key);
        else if (f->class == TT_NONE)
            error = tt_jfr_wrong(j, *at, "a field is of a class that there is not");
        else
            error = skip_object(j, f->class, at, depth);
        if (*at == before) /* such values take no bytes, whatever their number */
            break;
    }
    return error;
}

int tt_jfr_skip(struct tt_jfr *j, const struct tt_jfr_field *f, size_t *at)
{
    return skip_field(j, f, at, 0);
}

int tt_jfr_follow(struct tt_jfr *j, const struct tt_jfr_field *f, size_t at,
                  struct tt_jfr_place *to)
{
    const uint32_t *offset;
    uint64_t key;
    int error;

    *to = (struct tt_jfr_place){f->class, at};
    if (!f->is_constant || f->is_array)
        return 0;
    error = tt_jfr_number(j, &at, &key);
    offset = error ? NULL : tt_pairs_find(&j->pool, f->class_id, key);
    *to = offset ? (struct tt_jfr_place){f->class, *offset}
                 : (struct tt_jfr_place){TT_NONE, 0};
    return error;
}

/* Finds the field of that name, and where its value is; NULL: there is none. */
static int find_field(struct tt_jfr *j, struct tt_jfr_place of, const char *name,
                      const struct tt_jfr_field **field, size_t *at)
{
    int error = 0;

    *field = NULL;
    *at = of.at;
    for (size_t i = 0; of.class != TT_NONE && i < tt_jfr_class(j, of.class)->fields;
         i++) {
        const struct tt_jfr_field *f = field_of(j, of.class, i);
        if (strcmp(tt_jfr_field_name(j, f), name) == 0) {
            *field = f;
            return 0;
        }
        if ((error = tt_jfr_skip(j, f, at)) != 0)
            return error;
    }
    return 0;
}

int tt_jfr_get(struct tt_jfr *j, struct tt_jfr_place of, const char *name,
               struct tt_jfr_place *to)
{
    const struct tt_jfr_field *f;
    size_t at;
    int error = find_field(j, of, name, &f, &at);

    *to = (struct tt_jfr_place){TT_NONE, 0};
    return error || !f ? error : tt_jfr_follow(j, f, at, to);
}

int tt_jfr_key(struct tt_jfr *j, struct tt_jfr_place of, const char *name, uint64_t *key)
{
    const struct tt_jfr_field *f;
    size_t at;
    int error = find_field(j, of, name, &f, &at);

    *key = 0;
    return error || !f || !f->is_constant ? error : tt_jfr_number(j, &at, key);
}

int tt_jfr_text(struct tt_jfr *j, struct tt_jfr_place of, const char **text)
{
    const uint32_t *offset;
    int error = 0, is_null = 1;
    uint64_t key = 0;

    *text = NULL;
    /* A symbol has its text in its first field. */
    for (int i = 0; of.class != TT_NONE && !is_text(j, of.class) && i < MOST_DEPTH; i++) {
        if (!tt_jfr_class(j, of.class)->fields)
            return 0;
        error = tt_jfr_follow(j, field_of(j, of.class, 0), of.at, &of);
        if (error)
            return error;
    }
    if (of.class == TT_NONE || !is_text(j, of.class))
        return 0;
    j->word.count = 0;
    error = put_text(j, &of.at, &j->word, &is_null, &key);
    offset = error || !key ? NULL
                           : tt_pairs_find(&j->pool, tt_jfr_class(j, of.class)->id, key);
    if (offset) {
        of.at = *offset;
        error = put_text(j, &of.at, &j->word, &is_null, &key);
    }
    error = error ?: end_text(j, &j->word);
    *text = error || is_null ? NULL : j->word.item;
    return error;
}

/* ── The chunk ────────────────────────────────────────────────────────────────────── */

static int read_pool(struct tt_jfr *j, size_t *at)
{
    uint64_t id, count, key;
    int error = tt_jfr_number(j, at, &id), is_new;
    uint32_t class = tt_jfr_class_of(j, id), *offset;

    error = error ?: tt_jfr_number(j, at, &count);
    if (!error && class == TT_NONE)
        return tt_jfr_wrong(j, *at, "there are constants of a class that there is not");
    for (; !error && count; count--) {
        if ((error = tt_jfr_number(j, at, &key)) != 0)
            break;
        offset = tt_pairs_get(&j->pool, id, key, &is_new);
        if (!offset)
            return tt_source_no_memory(j->s);
        *offset = (uint32_t)*at;
        error = skip_object(j, class, at, 0);
    }
    return error;
}

/* `at` is after the type. */
static int read_checkpoint(struct tt_jfr *j, size_t at)
{
    uint64_t number, pools = 0;
    int error = 0;

    for (int i = 0; !error && i < 3; i++) /* start, duration, how far the one before is */
        error = tt_jfr_number(j, &at, &number);
    error = error ?: take(j, &at, 1); /* its kind */
    error = error ?: tt_jfr_number(j, &at, &pools);
    for (; !error && pools; pools--)
        error = read_pool(j, &at);
    return error;
}

static int read_checkpoints(struct tt_jfr *j)
{
    uint64_t size, type;
    int error = 0;

    for (size_t at = HEAD, start = at; !error && at < j->size; start = at) {
        error = tt_jfr_number(j, &at, &size);
        error = error ?: tt_jfr_number(j, &at, &type);
        if (error)
            return error;
        if (size < at - start || size > j->size - start)
            return tt_jfr_wrong(j, start, "an event is as long as it cannot be");
        if (type == CHECKPOINT)
            error = read_checkpoint(j, at);
        at = start + (size_t)size;
    }
    return error;
}

static void forget(struct tt_jfr *j)
{
    j->class.count = j->field.count = j->string.count = j->text.count = 0;
    tt_pairs_fini(&j->classes);
    tt_pairs_fini(&j->pool);
    tt_pairs_init(&j->classes, j->s->memory);
    tt_pairs_init(&j->pool, j->s->memory);
}

static int read_head(struct tt_jfr *j, const unsigned char *head, uint64_t *metadata)
{
    const unsigned compressed = 1;
    uint64_t major = big(head + 4, 2), size = big(head + 8, 8);

    *metadata = big(head + 24, 8);
    j->clock = (struct tt_ticks){big(head + 32, 8), big(head + 48, 8), big(head + 56, 8)};
    if (memcmp(head, "FLR\0", 4) != 0)
        return tt_jfr_wrong(j, 0, "a chunk does not begin here");
    if (major != 2)
        return tt_jfr_wrong(j, 4,
                            "this is not version 2, which Java 8u262, 9 and later "
                            "write; JDK Mission Control reads it");
    if (!(head[67] & compressed))
        return tt_jfr_wrong(j, 64, "its numbers are not compressed");
    if (!size)
        return tt_jfr_wrong(j, 8,
                            "the chunk was not finished: 'jfr' has no end of it either");
    if (size < HEAD || size >= UINT32_MAX || *metadata < HEAD || *metadata >= size ||
        !j->clock.rate)
        return tt_jfr_wrong(j, 8, "the head of the chunk is damaged");
    j->size = (size_t)size;
    return 0;
}

int tt_jfr_chunk(struct tt_jfr *j)
{
    uint64_t metadata;
    int64_t have;
    int error;

    tt_source_skip(j->s, j->taken);
    j->taken = 0;
    forget(j);
    j->start = tt_source_offset(j->s);
    have = tt_source_want(j->s, HEAD);
    if (have <= 0)
        return (int)have;
    if (have < HEAD)
        return tt_jfr_wrong(j, (size_t)have, "the file ends within a chunk");
    error = read_head(j, (const unsigned char *)tt_source_at(j->s), &metadata);
    if (error)
        return error;
    have = tt_source_want(j->s, j->size);
    if (have < 0)
        return (int)have;
    if ((uint64_t)have < j->size)
        return tt_jfr_wrong(j, (size_t)have, "the file ends within a chunk");
    j->bytes = (const unsigned char *)tt_source_at(j->s);
    j->taken = j->size;
    error = read_metadata(j, (size_t)metadata);
    error = error ?: read_checkpoints(j);
    return error ?: 1;
}
