/* SPDX-License-Identifier: MIT */
/* tcl-text.h - finds a script's text in the file that it came from. */
#ifndef TT_TCL_TEXT_H
#define TT_TCL_TEXT_H

#include <stddef.h>
#include <stdint.h>

struct tt_tcl_place {
    uint64_t index;        /* of its first character in the file, from 0 */
    uint32_t line, column; /* from 1 */
    int found;             /* else it counts from the text's own beginning */
};

/* When Tcl takes a body out of its braces, it replaces a line's end after a backslash,
 * and the blanks that follow, by one blank. */
struct tt_tcl_join {
    size_t at;               /* the blank, in the text */
    uint32_t longer, indent; /* characters of the file, but one; those of the next line */
};

struct tt_tcl_text { /* a text, and its place in a file */
    struct tt_tcl_place start;
    struct tt_tcl_join *join; /* owned */
    uint32_t joins;
};

/* Finds a text of `size` bytes that begins on this line of the file.  The file is read
 * once, and again if it has changed. */
void tt_tcl_text_find(struct tt_tcl_text *, const char *path, uint32_t line,
                      const char *text, size_t size);

/* For one that is only once in the file; it must not be found yet.  0: it is not in the file; else
 * it may be. */
int tt_tcl_text_search(struct tt_tcl_text *, const char *path, const char *text,
                       size_t size);

/* Only in this column; whether it is there. */
int tt_tcl_text_find_at(struct tt_tcl_text *, const char *path, uint32_t line,
                        uint32_t column, const char *text, size_t size);

void tt_tcl_text_fini(struct tt_tcl_text *);

/* From the place of a byte of that text to the place of another, further on. */
void tt_tcl_text_move(const struct tt_tcl_text *, struct tt_tcl_place *, const char *text,
                      size_t from, size_t to);

/* Returns the place of a byte of a text that begins there, and is unchanged in the
 * file. */
struct tt_tcl_place tt_tcl_text_at(const struct tt_tcl_place *, const char *text,
                                   size_t byte);

/* Characters of so many bytes of UTF-8. */
size_t tt_tcl_text_length(const char *text, size_t size);

#endif
