/* SPDX-License-Identifier: MIT */
/* jfr-chunk.h - a chunk of a recording of Java's Flight Recorder: its types, constants and
 * values.
 *
 *      ┌──────┬───────────────────┬─────────────┬──────────┐
 *      │ head │ events …          │ checkpoints │ metadata │      in any order after the head
 *      └──────┴───────────────────┴─────────────┴──────────┘
 *
 * Metadata are a tree of elements: classes with their fields, so a value can be read only
 * with its class.  Checkpoints are pools of constants, (class, key) to value.  Nothing is
 * unpacked: a place is a class and an offset in the chunk, and fields are found by
 * walking. */
#ifndef TT_JFR_CHUNK_H
#define TT_JFR_CHUNK_H

#include "pairs.h"
#include "source.h"

struct tt_jfr_class {
    const char *name; /* of the metadata's strings */
    uint64_t id;
    size_t first, fields;
};

struct tt_jfr_field {
    uint64_t name, class_id; /* name: of the strings */
    uint32_t class;          /* TT_NONE: it has not been looked up, or there is none */
    int is_constant, is_array;
};

struct tt_jfr {
    struct tt_source *s;        /* borrowed */
    const unsigned char *bytes; /* the chunk; valid until the next one */
    size_t size;
    uint64_t start;                        /* where the chunk is in the file */
    struct tt_ticks clock;                 /* from the chunk's beginning on */
    struct tt_pairs classes;               /* by id: index + 1 */
    struct tt_vector class, field, string; /* string: size_t, of `text` */
    struct tt_vector text;                 /* char: the metadata's strings */
    struct tt_pairs pool;                  /* (class, key): the offset of the value */
    struct tt_vector word;                 /* char: the text that was read last */
    size_t taken;                          /* bytes of the chunk before this one */
};

/* A value: of a class, at a byte of the chunk; class TT_NONE: it is null, or missing. */
struct tt_jfr_place {
    uint32_t class;
    size_t at;
};

void tt_jfr_init(struct tt_jfr *, struct tt_source *);
/* Takes the next chunk, with its types and constants.  1: it was there; 0: there are no
 * more; less than 0: an error, noted. */
int tt_jfr_chunk(struct tt_jfr *);

int tt_jfr_wrong(struct tt_jfr *, size_t at, const char *what); /* -TT_ERR_FORMAT */
/* Takes a number of 7 bits a byte, 8 in the ninth.  0, or an error, noted. */
int tt_jfr_number(struct tt_jfr *, size_t *at, uint64_t *number);
uint32_t tt_jfr_class_of(const struct tt_jfr *, uint64_t id); /* TT_NONE: there is none */
static inline const struct tt_jfr_class *tt_jfr_class(const struct tt_jfr *j, uint32_t i)
{
    return (const struct tt_jfr_class *)j->class.item + i;
}
const char *tt_jfr_field_name(const struct tt_jfr *, const struct tt_jfr_field *);
/* Moves *at past a value. */
int tt_jfr_skip(struct tt_jfr *, const struct tt_jfr_field *, size_t *at);
/* Gets the value of a field at `at`: a constant is looked up; an array is at its
 * count. */
int tt_jfr_follow(struct tt_jfr *, const struct tt_jfr_field *, size_t at,
                  struct tt_jfr_place *);
/* Gets the field of that name of an object. */
int tt_jfr_get(struct tt_jfr *, struct tt_jfr_place, const char *name,
               struct tt_jfr_place *);
/* Gets the key of the constant in such a field; 0: it has none. */
int tt_jfr_key(struct tt_jfr *, struct tt_jfr_place, const char *name, uint64_t *key);
/* Gets a text, or the first text of an object.  *text is NULL if it is null; it is valid
 * until the next call. */
int tt_jfr_text(struct tt_jfr *, struct tt_jfr_place, const char **text);

#endif
