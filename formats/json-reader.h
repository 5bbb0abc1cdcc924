/* SPDX-License-Identifier: MIT */
/* json-reader.h - JSON from a source, piece by piece; keeps only the last string and the
 * depth.
 *
 *      for (tt_json_object(j); tt_json_key(j);)
 *          if (tt_json_is(j, "weights"))
 *              read_weights(j);
 *          else
 *              tt_json_skip(j);
 *
 * The source keeps the first error.  After it nothing is read: there
 * are no more keys and items, values have no kind, and numbers are 0.  So a reader looks
 * for errors (tt_json_failed) only before it uses what may be missing. */
#ifndef TT_JSON_READER_H
#define TT_JSON_READER_H

#include <string.h>

#include "source.h"

enum tt_json_kind {
    TT_JSON_NONE, /* an error */
    TT_JSON_OBJECT,
    TT_JSON_ARRAY,
    TT_JSON_STRING, /* in `text` */
    TT_JSON_NUMBER, /* in `text`, as it was written */
    TT_JSON_TRUE,
    TT_JSON_FALSE,
    TT_JSON_NULL,
};

struct tt_json {
    struct tt_source *s;
    char *text; /* of the last string, number or key; ends with a NUL; never NULL */
    size_t length;
    struct tt_vector bytes; /* char */
    struct tt_vector open;  /* char: '{' or '[' of each level */
    int is_first;           /* nothing has come in the innermost one */
    int is_cut_off;         /* the error is the end of the file */
    int is_lenient;         /* a backslash before any other character is literal */
};

void tt_json_init(struct tt_json *, struct tt_source *);
void tt_json_fini(struct tt_json *);

/* The next value is taken. */
enum tt_json_kind tt_json_value(struct tt_json *);
int tt_json_object(struct tt_json *); /* 1; an error if the next value is none */
int tt_json_array(struct tt_json *);
/* The same without an error: 0, and other values are left out. */
int tt_json_open_if(struct tt_json *, enum tt_json_kind);
int tt_json_key(struct tt_json *);  /* 1: in `text`; 0: the object has ended */
int tt_json_item(struct tt_json *); /* 1: a value is next; 0: the array has ended */
void tt_json_skip(struct tt_json *);
uint64_t tt_json_place(struct tt_json *); /* the same: where the next value begins */
void tt_json_close(struct tt_json *);     /* leaves the innermost object or array */
void tt_json_end(struct tt_json *);       /* an error when anything follows */

/* Read the next value: a string (1: in `text`); a whole number, or what stands for
 * null; a number, multiplied by 10^shift and rounded. */
int tt_json_string(struct tt_json *);
uint64_t tt_json_whole(struct tt_json *);
uint64_t tt_json_whole_or(struct tt_json *, uint64_t null);
int64_t tt_json_scaled(struct tt_json *, int shift);
/* The kind of the next value; objects and arrays are left out: TT_JSON_NONE. */
enum tt_json_kind tt_json_plain(struct tt_json *);
/* A number of a text: 1, or 0 if it is no such number, or too large. */
int tt_decimal(const char *text, int shift, int64_t *);

/* Read the next value, a string, into a copy in the source's memory; the old text is
 * freed.  The second function skips values of other types. */
void tt_json_copy(struct tt_json *, char **text);
void tt_json_copy_if(struct tt_json *, char **text);

void tt_json_wrong(struct tt_json *, const char *what);
static inline int tt_json_failed(const struct tt_json *j)
{
    return tt_source_failed(j->s);
}

static inline int tt_json_is(const struct tt_json *j, const char *text)
{
    return strcmp(j->text, text) == 0;
}

/* A separate reader that begins at some byte of a text that is in memory.  Its errors are
 * those of the whole's source. */
struct tt_json_part {
    struct tt_bytes bytes;
    struct tt_source source;
    struct tt_json json;
};

void tt_json_part_open(struct tt_json_part *, struct tt_source *, const char *text,
                       size_t size, uint64_t at);
void tt_json_part_close(struct tt_json_part *);

#endif
