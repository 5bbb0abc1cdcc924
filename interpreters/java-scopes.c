/* SPDX-License-Identifier: MIT */
/* java-scopes.c - the methods that a place in compiled code belongs to. */
#include "java-scopes.h"

#include "java-code.h"
#include "java-method.h"

enum {
    PLACE = 16, /* bytes of a place: its offset, its scope, and others */
    PLACES = 1 << 20,
    SCOPE = 15, /* bytes of a scope, at most */
};

struct tables { /* of a compiled method: addresses */
    uint64_t places, scopes, methods;
    uint32_t count; /* of places */
};

static int set_places(struct tables *t, uint64_t base, uint64_t begin, uint64_t end)
{
    if (end < begin || (end - begin) / PLACE > PLACES)
        return 0;
    t->places = base + begin;
    t->count = (uint32_t)((end - begin) / PLACE);
    return 1;
}

/* From version 25 on the tables are in two other pieces of memory, fixed and variable. */
static int find_separate(const struct tt_java_layout *l, const struct tt_peek *peek,
                         uint64_t blob, struct tables *t)
{
    uint64_t fixed, variable, relocation, places, scopes;

    if (l->compiled.variable == TT_JAVA_ABSENT ||
        l->compiled.relocation == TT_JAVA_ABSENT || l->compiled.pcs == TT_JAVA_ABSENT ||
        l->compiled.scopes_offset == TT_JAVA_ABSENT ||
        !tt_safe_word(peek, blob + l->compiled.fixed, &fixed) ||
        !tt_safe_word(peek, blob + l->compiled.variable, &variable) ||
        !tt_java_number(peek, blob + l->compiled.relocation, 4, &relocation) ||
        !tt_java_number(peek, blob + l->compiled.pcs, 4, &places) ||
        !tt_java_number(peek, blob + l->compiled.scopes_offset, 4, &scopes))
        return 0;
    t->scopes = fixed + scopes;
    t->methods = variable + relocation;
    return set_places(t, fixed, places, scopes);
}

static int find_tables(const struct tt_java *j, const struct tt_peek *peek, uint64_t blob,
                       struct tables *t)
{
    const struct tt_java_layout *l = &j->layout;
    uint64_t begin, end, methods;

    if (l->compiled.fixed != TT_JAVA_ABSENT)
        return find_separate(l, peek, blob, t);
    if (l->compiled.scopes == TT_JAVA_ABSENT || l->compiled.pcs == TT_JAVA_ABSENT ||
        l->compiled.pcs_end == TT_JAVA_ABSENT || l->compiled.metadata == TT_JAVA_ABSENT ||
        !tt_safe_word(peek, blob + l->compiled.scopes, &t->scopes) ||
        !tt_java_number(peek, blob + l->compiled.pcs, 4, &begin) ||
        !tt_java_number(peek, blob + l->compiled.pcs_end, 4, &end) ||
        !tt_java_number(peek, blob + l->compiled.metadata, 4, &methods))
        return 0;
    t->methods = blob + methods;
    return set_places(t, blob, begin, end);
}

static int32_t offset_of(uint64_t place) { return (int32_t)place; }

/* The scope of the first place at or after the offset.  -1: it cannot be read.  The last few
 * places that it may be are read at once. */
static int64_t find_scope(const struct tt_peek *peek, const struct tables *t,
                          uint32_t offset)
{
    enum { FEW = 8, WORDS = PLACE / 8 };
    uint32_t low = 0, high = t->count, i = 0;
    uint64_t place[FEW * WORDS];

    while (high - low >= FEW) {
        const uint32_t middle = low + (high - low) / 2;
        if (!tt_safe_word(peek, t->places + (uint64_t)PLACE * middle, place))
            return -1;
        if ((int64_t)offset_of(*place) < (int64_t)offset)
            low = middle + 1;
        else
            high = middle;
    }
    /* That at `high` itself, if there is one, is the first if those before it are not. */
    high += high < t->count;
    if (low == high || !tt_safe_read(peek, t->places + (uint64_t)PLACE * low, place,
                                     (size_t)PLACE * (high - low)))
        return -1;
    while (i < high - low && (int64_t)offset_of(place[i * WORDS]) < (int64_t)offset)
        i++;
    if (i == high - low || offset_of(place[i * WORDS]) == INT32_MAX) /* the end */
        return -1;
    return (int64_t)(place[i * WORDS] >> 32);
}

static int read_scope(const struct tt_java *j, const struct tt_peek *peek,
                      const struct tables *t, uint32_t scope, uint32_t out[3])
{
    const uint32_t base = j->version >= 20;
    uint8_t bytes[SCOPE + 1] = {0};
    const uint8_t *at = bytes;
    size_t size = SCOPE;

    while (size && !tt_java_bytes(peek, t->scopes + scope, bytes, size))
        size -= size < 5 ? size : 5;
    for (int i = 0; i < 3; i++)
        if (!tt_java_compressed(&at, bytes + size, base, &out[i]))
            return 0;
    return 1;
}

uint32_t tt_java_scopes(const struct tt_java *j, const struct tt_peek *peek,
                        uint64_t blob, uint32_t offset, struct tt_java_scope *out,
                        uint32_t room)
{
    enum { OUTER, METHOD, AT };
    struct tables t;
    uint32_t count = 0, number[3];
    int64_t scope = find_tables(j, peek, blob, &t) ? find_scope(peek, &t, offset) : -1;

    if (scope <= 0) /* 0: no method runs there */
        return 0;
    do {
        if (count == room || !read_scope(j, peek, &t, (uint32_t)scope, number) ||
            !number[METHOD] ||
            !tt_safe_word(peek, t.methods + 8 * ((uint64_t)number[METHOD] - 1),
                          &out[count].method))
            return 0;
        /* The compiler stores one more than the index; 0 is the method's entry. */
        out[count++].at = number[AT];
        scope = number[OUTER];
    } while (scope);
    return count;
}
