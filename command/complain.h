/* SPDX-License-Identifier: MIT */
/* complain.h - errors, for people. */
#ifndef TT_COMPLAIN_H
#define TT_COMPLAIN_H

#include <stddef.h>

/* Prints an error to standard error, after "tallytree: ". */
void tt_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* From now on, errors are written to `text`, which is borrowed, as the terminal shows
 * something else; NULL: to standard error.  Returns the former one. */
struct tt_complaints {
    char *text;
    size_t size;
};
struct tt_complaints tt_complain_into(struct tt_complaints);
/* "there is no WHAT 'WORD'; did you mean …?"; returns TT_EXIT_FAILED. */
int tt_complain_of(const char *what, const char *word, const char *const *known,
                   size_t count);

#endif
