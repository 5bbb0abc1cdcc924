/* SPDX-License-Identifier: MIT */
/* text.h - text that grows: what reports are written to, in place of a file. */
#ifndef TT_TEXT_H
#define TT_TEXT_H

#include "memory.h"

struct tt_text {
    struct tt_vector bytes; /* char; tt_text_string adds a NUL that is not counted */
    int failed;             /* no memory: it is not whole */
};

void tt_text_init(struct tt_text *, const struct tt_memory *);
void tt_text_fini(struct tt_text *);
void tt_text_bytes(struct tt_text *, const char *bytes, size_t count);
void tt_text_put(struct tt_text *, const char *string);
void tt_text_repeat(struct tt_text *, char, size_t count);
void tt_text_printf(struct tt_text *, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
const char *tt_text_string(struct tt_text *);

/* Columns that a terminal shows text in; characters that are not UTF-8 count as one. */
size_t tt_text_width(const char *string);

#endif
