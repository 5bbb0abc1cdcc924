/* SPDX-License-Identifier: MIT */
/* text.h - where a script's text stands in the file that it came from. */
#ifndef TT_TCL_TEXT_H
#define TT_TCL_TEXT_H

#include <stddef.h>
#include <stdint.h>

struct tt_tcl_place {
    uint64_t index;        /* of its first character in the file, from 0 */
    uint32_t line, column; /* from 1 */
    int found;             /* else it counts from the text's own beginning */
};

/* Looks for a text of `size` bytes that begins on this line of the file.  The file is read
 * at most once, and again when it has changed. */
void tt_tcl_text_find(struct tt_tcl_place *, const char *path, uint32_t line,
                      const char *text, size_t size);

/* The place of a byte of that text. */
struct tt_tcl_place tt_tcl_text_at(const struct tt_tcl_place *, const char *text,
                                   size_t byte);

/* Characters of so many bytes of UTF-8. */
size_t tt_tcl_text_length(const char *text, size_t size);

#endif
