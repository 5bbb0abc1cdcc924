/* SPDX-License-Identifier: MIT */
/* show.h - prints tables for people and for machines: the form, the terminal, the
 * file. */
#ifndef TT_SHOW_H
#define TT_SHOW_H

#include "flags.h"
#include "table-print.h"

enum tt_form { TT_FORM_TEXT, TT_FORM_JSON, TT_FORM_CSV };

struct tt_show {
    const char *command; /* for complaints */
    const char *out;     /* NULL: standard output */
    const char *width,
        *color; /* as they were given; NULL: not at all, or without a value */
    int color_given, without_header;
    enum tt_form form;
};

/* The flags that this takes, in a row of every table of flags that wants them. */
enum {
    TT_SHOW_JSON = 1000,
    TT_SHOW_CSV,
    TT_SHOW_WIDTH,
    TT_SHOW_COLOR,
    TT_SHOW_OUTPUT,
    TT_SHOW_BARE
};
extern const struct tt_flag tt_show_flags[];

/* Takes one of them; 0: it is another. */
int tt_show_take(struct tt_show *, int id, const char *value);
/* Takes from the flags and the terminal: columns (0: unlimited), and whether to colour.
 * Complains, and returns -TT_ERR_OPTION, if a flag's value is wrong. */
int tt_show_terminal(const struct tt_show *, uint32_t *width, int *color);
/* Is this a terminal that shows colours? */
int tt_show_is_colored(int fd);
/* Writes a table, as text with the header of `profile` before it; or a ready text.
 * Complains and returns an error if this fails. */
int tt_show_table(const struct tt_show *, const struct tt_table *,
                  const struct tt_profile *profile);
int tt_show_text(const struct tt_show *, const struct tt_text *);

#endif
