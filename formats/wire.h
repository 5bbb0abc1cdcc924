/* SPDX-License-Identifier: MIT */
/* wire.h - protocol buffers: decoding, and messages that are put together.
 *
 *      field << 3 | kind │ value                     numbers, 7 bits a byte
 *      field << 3 | 2    │ length │ bytes …          texts and messages
 *
 * A message is written after its length, so each is put together in memory first. */
#ifndef TT_WIRE_H
#define TT_WIRE_H

#include "pairs.h"
#include "profile.h"
#include "writer.h"

enum { TT_WIRE_VARINT = 0, TT_WIRE_64 = 1, TT_WIRE_BYTES = 2, TT_WIRE_32 = 5 };

/* A message that is being read, and a field of it. */
struct tt_wire {
    const unsigned char *at, *end;
};

struct tt_wire_field {
    uint32_t number, wire;
    uint64_t value;        /* TT_WIRE_VARINT, TT_WIRE_64; 0 of TT_WIRE_32 */
    struct tt_wire inside; /* TT_WIRE_BYTES */
};

int tt_wire_varint(struct tt_wire *, uint64_t *value); /* 1: there is one, 0: none */
/* 1: there is a field, 0: the message ends, -1: it is damaged. */
int tt_wire_next(struct tt_wire *, struct tt_wire_field *);

/* The numbers of a repeated field, packed or one by one; `wire`: TT_WIRE_VARINT or TT_WIRE_64. */
struct tt_wire_numbers {
    struct tt_wire message;
    uint32_t field, wire;
    struct tt_wire packed; /* at first empty */
};
/* 1: there is one, 0: there are no more, -1: the message is damaged. */
int tt_wire_next_number(struct tt_wire_numbers *, uint64_t *number);

struct tt_message {
    struct tt_vector bytes; /* char */
    int *failed;            /* borrowed: set when there is no memory */
};

void tt_message_init(struct tt_message *, const struct tt_memory *, int *failed);
void tt_message_fini(struct tt_message *);
void tt_message_bytes(struct tt_message *, const void *bytes, size_t size);
void tt_message_varint(struct tt_message *, uint64_t value);
/* Writes a field that is a number; 0 is left out. */
void tt_message_number(struct tt_message *, uint32_t field, uint64_t value);
void tt_message_text(struct tt_message *, uint32_t field, const char *text);
/* Writes a message within another, and empties it. */
void tt_message_within(struct tt_message *, uint32_t field, struct tt_message *inner);

void tt_put_number_field(struct tt_writer *, uint32_t field, uint64_t value);
/* Writes what precedes the bytes of a text or a message: the tag and the length. */
void tt_put_head(struct tt_writer *, uint32_t field, uint64_t size);
/* Writes a field of the outermost message, and empties the message. */
void tt_put_message(struct tt_writer *, uint32_t field, struct tt_message *);

/* A repeated field of texts; strings of the profile get their numbers in it. */
struct tt_texts {
    const struct tt_profile *p; /* borrowed */
    uint32_t field, count;
    struct tt_pairs number; /* of strings of the profile */
    struct tt_message table;
};

void tt_texts_init(struct tt_texts *, const struct tt_profile *, uint32_t field,
                   int *failed);
void tt_texts_fini(struct tt_texts *);
uint32_t tt_texts_new(struct tt_texts *, const char *text);
uint32_t tt_texts_of(struct tt_texts *, uint32_t string); /* 0 is 0 */

#endif
