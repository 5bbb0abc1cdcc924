/* SPDX-License-Identifier: MIT */
/* json-reader.h - JSON from a source, piece by piece; keeps only the last string and the
 * depth.
 *
 *      for (e = tt_json_object(j); e > 0 && (e = tt_json_key(j)) > 0;)
 *          if (strcmp(j->text, "weights") == 0)
 *              e = read_weights(j);
 *          else
 *              e = tt_json_skip(j);
 *
 * Every function returns less than 0 for an error, which the source has noted. */
#ifndef TT_JSON_READER_H
#define TT_JSON_READER_H

#include <string.h>

#include "source.h"

enum tt_json_kind {
    TT_JSON_OBJECT = 1,
    TT_JSON_ARRAY,
    TT_JSON_STRING, /* in `text` */
    TT_JSON_NUMBER, /* in `text`, as it was written */
    TT_JSON_TRUE,
    TT_JSON_FALSE,
    TT_JSON_NULL,
};

struct tt_json {
    struct tt_source *s;
    char *text; /* of the last string, number or key; ends with a NUL */
    size_t length;
    struct tt_vector bytes; /* char */
    struct tt_vector open;  /* char: '{' or '[' of each level */
    int is_first;           /* nothing has come in the innermost one */
    int is_cut_off;         /* the error is the end of the file */
    int is_lenient;         /* a backslash before any other character is literal */
};

void tt_json_init(struct tt_json *, struct tt_source *);
void tt_json_fini(struct tt_json *);

int tt_json_value(struct tt_json *);  /* the kind of the next value, which is taken */
int tt_json_object(struct tt_json *); /* 1; an error if the next value is none */
int tt_json_array(struct tt_json *);
int tt_json_key(struct tt_json *);  /* 1: in `text`; 0: the object has ended */
int tt_json_item(struct tt_json *); /* 1: a value is next; 0: the array has ended */
int tt_json_skip(struct tt_json *); /* 1; the next value is left out */
/* The same, and sets `at` to where it begins. */
int tt_json_place(struct tt_json *, uint64_t *at);
int tt_json_close(struct tt_json *); /* 1; leaves the innermost object or array */
int tt_json_end(struct tt_json *);   /* 0; an error when anything follows */

/* Reads the next value: a string (1, in `text`); a whole number (1; null sets *is_null if
 * that is given); a number, multiplied by 10^shift and rounded (1). */
int tt_json_string(struct tt_json *);
int tt_json_whole(struct tt_json *, uint64_t *, int *is_null);
int tt_json_scaled(struct tt_json *, int shift, int64_t *);
/* The same for a text: 1, or 0 if it is no such number, or too large. */
int tt_decimal(const char *text, int shift, int64_t *);

/* Reads the next value, a string, into a copy in the source's memory; the old text is
 * freed (1).  The second function skips values of other types. */
int tt_json_copy(struct tt_json *, char **text);
int tt_json_copy_if(struct tt_json *, char **text);

int tt_json_wrong(struct tt_json *, const char *what); /* -TT_ERR_FORMAT */

static inline int tt_json_is(const struct tt_json *j, const char *text)
{
    return strcmp(j->text, text) == 0;
}

/* A separate reader that begins at some byte of a text that is in memory. */
struct tt_json_part {
    struct tt_bytes bytes;
    struct tt_source source;
    struct tt_json json;
};

void tt_json_part_open(struct tt_json_part *, const struct tt_source *, const char *text,
                       size_t size, uint64_t at);
/* Passes an error, and its message, on to the source of the whole. */
int tt_json_part_close(struct tt_json_part *, struct tt_source *, int error);

#endif
