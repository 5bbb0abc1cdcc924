/* SPDX-License-Identifier: MIT */
/* wire.c - messages of protocol buffers, in memory and out of it. */
#include "wire.h"

#include "source.h"

void tt_message_init(struct tt_message *m, const struct tt_memory *memory, int *failed)
{
    tt_vector_init(&m->bytes, memory, 1);
    m->failed = failed;
}

void tt_message_fini(struct tt_message *m) { tt_vector_fini(&m->bytes); }

void tt_message_bytes(struct tt_message *m, const void *bytes, size_t size)
{
    char *to = size ? tt_vector_add(&m->bytes, size) : NULL;

    if (to)
        memcpy(to, bytes, size);
    else if (size)
        *m->failed = 1;
}

void tt_message_varint(struct tt_message *m, uint64_t value)
{
    unsigned char bytes[10];
    size_t size = 0;

    for (; value >= 0x80; value >>= 7)
        bytes[size++] = (unsigned char)(value | 0x80);
    bytes[size++] = (unsigned char)value;
    tt_message_bytes(m, bytes, size);
}

void tt_message_number(struct tt_message *m, uint32_t field, uint64_t value)
{
    if (!value)
        return;
    tt_message_varint(m, field << 3 | TT_WIRE_VARINT);
    tt_message_varint(m, value);
}

static void add_field(struct tt_message *m, uint32_t field, const void *bytes,
                      size_t size)
{
    tt_message_varint(m, field << 3 | TT_WIRE_BYTES);
    tt_message_varint(m, size);
    tt_message_bytes(m, bytes, size);
}

void tt_message_text(struct tt_message *m, uint32_t field, const char *text)
{
    add_field(m, field, text, strlen(text));
}

void tt_message_within(struct tt_message *m, uint32_t field, struct tt_message *inner)
{
    add_field(m, field, inner->bytes.item, inner->bytes.count);
    inner->bytes.count = 0;
}

/* ── Reading ──────────────────────────────────────────────────────────────────────── */

int tt_wire_varint(struct tt_wire *m, uint64_t *value)
{
    *value = 0;
    for (int shift = 0; m->at < m->end && shift < 64; shift += 7) {
        unsigned char byte = *m->at++;
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return shift < 63 || byte < 2;
    }
    return 0;
}

int tt_wire_next(struct tt_wire *m, struct tt_wire_field *f)
{
    uint64_t tag, size;

    if (m->at == m->end)
        return 0;
    if (!tt_wire_varint(m, &tag) || tag >> 3 == 0 || tag >> 3 > UINT32_MAX)
        return -1;
    f->number = (uint32_t)(tag >> 3);
    f->wire = tag & 7;
    switch (f->wire) {
    case TT_WIRE_VARINT:
        return tt_wire_varint(m, &f->value) ? 1 : -1;
    case TT_WIRE_BYTES:
        if (!tt_wire_varint(m, &size) || size > (uint64_t)(m->end - m->at))
            return -1;
        f->inside = (struct tt_wire){m->at, m->at + size};
        m->at += size;
        return 1;
    case TT_WIRE_64:
    case TT_WIRE_32:
        size = f->wire == TT_WIRE_64 ? 8 : 4;
        if (size > (uint64_t)(m->end - m->at))
            return -1;
        f->value = size == 8 ? tt_number_at((const char *)m->at, 8) : 0;
        m->at += size;
        return 1;
    default:
        return -1;
    }
}

int tt_wire_next_number(struct tt_wire_numbers *n, uint64_t *number)
{
    struct tt_wire_field f = {0};

    while (n->packed.at == n->packed.end) {
        const int more = tt_wire_next(&n->message, &f);
        if (more <= 0)
            return more;
        if (f.number != n->field)
            continue;
        *number = f.value;
        if (f.wire != TT_WIRE_BYTES)
            return 1;
        n->packed = f.inside;
    }
    if (n->wire == TT_WIRE_VARINT)
        return tt_wire_varint(&n->packed, number) ? 1 : -1;
    if (n->packed.end - n->packed.at < 8)
        return -1;
    *number = tt_number_at((const char *)n->packed.at, 8);
    n->packed.at += 8;
    return 1;
}

/* ── To the file ──────────────────────────────────────────────────────────────────── */

static void put_varint(struct tt_writer *w, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        tt_put_char(w, (char)(value | 0x80));
    tt_put_char(w, (char)value);
}

void tt_put_number_field(struct tt_writer *w, uint32_t field, uint64_t value)
{
    if (!value)
        return;
    put_varint(w, field << 3 | TT_WIRE_VARINT);
    put_varint(w, value);
}

void tt_put_head(struct tt_writer *w, uint32_t field, uint64_t size)
{
    put_varint(w, field << 3 | TT_WIRE_BYTES);
    put_varint(w, size);
}

void tt_put_message(struct tt_writer *w, uint32_t field, struct tt_message *m)
{
    tt_put_head(w, field, m->bytes.count);
    tt_put_bytes(w, m->bytes.item, m->bytes.count);
    m->bytes.count = 0;
}

/* ── Texts ────────────────────────────────────────────────────────────────────────── */

void tt_texts_init(struct tt_texts *t, const struct tt_profile *p, uint32_t field,
                   int *failed)
{
    t->p = p;
    t->field = field;
    t->count = 0;
    tt_pairs_init(&t->number, p->memory);
    tt_message_init(&t->table, p->memory, failed);
}

void tt_texts_fini(struct tt_texts *t)
{
    tt_message_fini(&t->table);
    tt_pairs_fini(&t->number);
}

uint32_t tt_texts_new(struct tt_texts *t, const char *text)
{
    tt_message_text(&t->table, t->field, text);
    return t->count++;
}

uint32_t tt_texts_of(struct tt_texts *t, uint32_t string)
{
    int is_new;
    uint32_t *number = string ? tt_pairs_get(&t->number, string, 0, &is_new) : NULL;

    if (!number) {
        *t->table.failed |= string != 0;
        return 0;
    }
    if (is_new)
        *number = tt_texts_new(t, tt_profile_string(t->p, string));
    return *number;
}
