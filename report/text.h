/* SPDX-License-Identifier: MIT */
/* text.h - text that grows: the output of reports, in place of a file. */
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
/* Writes a finite number for machines: 15 significant digits, a point in every locale. */
void tt_text_real(struct tt_text *, double);
const char *tt_text_string(struct tt_text *);

/* ── Characters ───────────────────────────────────────────────────────────────────── */

struct tt_character {
    size_t bytes;
    uint32_t code;  /* U+FFFD for a byte that is no UTF-8 */
    uint32_t width; /* columns of a terminal: 0, 1 or 2 */
};

/* Takes the first character of a string that is not empty, in a printable form: itself,
 * or "\\x1b", "\\u009b", "\\n" for control characters, line ends and bytes that are not
 * UTF-8.  Writes up to TT_TEXT_PLAIN bytes and a NUL; returns the bytes of the string
 * that it took. */
enum { TT_TEXT_PLAIN = 12 };
size_t tt_text_plain(const char *string, char out[TT_TEXT_PLAIN + 1]);

/* Returns the first character of a string that is not empty. */
struct tt_character tt_text_character(const char *string);

/* Characters of a string, and the columns that a terminal shows it in. */
size_t tt_text_length(const char *string);
size_t tt_text_width(const char *string);

/* Writes a string for a terminal, without its middle if it is wider than `room`.  The
 * result stays on one line and has no control characters: blanks are spaces, and control
 * characters and bytes that are not UTF-8 become U+FFFD.  Returns its columns. */
size_t tt_text_show(struct tt_text *, const char *string, size_t room);
/* Writes a sentence the same way, whole, in lines of this width and with a newline; 0: in one.
 * Words are not cut. */
void tt_text_wrap(struct tt_text *, const char *string, size_t width);

#endif
