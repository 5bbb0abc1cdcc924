/* SPDX-License-Identifier: MIT */
/* ruby-code.h - what Ruby knows of code: of a script's, its name, file and lines; of a
 * method that is written in C, its name.
 *
 *      code ─► body ─► location: file, name, first line      "block in each"
 *        │       └───► instructions, and their lines
 *      method ─► class ─► its name                            "List"
 *        └► name, as a number                                 "each"
 *
 * Async-signal-safe. */
#ifndef TT_RUBY_CODE_H
#define TT_RUBY_CODE_H

#include "interpreters.h"

enum {
    /* An object: what it is, in its first word. */
    TT_RUBY_KIND = 31,
    TT_RUBY_INTERNAL = 26, /* of this kind; what it is is in further bits */
    TT_RUBY_INTERNAL_SHIFT = 12,
    TT_RUBY_VARIABLES = 2,
    TT_RUBY_METHOD = 6,
    TT_RUBY_CODE = 7,
    /* A script's code, and its body. */
    TT_RUBY_BODY = 16,
    TT_RUBY_BODY_SIZE = 152,
};

/* The kind of an internal object; 0: it is none that is used here. */
uint32_t tt_ruby_internal(const struct tt_peek *, uint64_t object);

/* What distinguishes code of a script from other code that was at the same address.  0: it is
 * none.  `method`: whose code it is, or 0. */
uint64_t tt_ruby_print(const struct tt_peek *, uint64_t code, uint64_t method);

/* The function of a method that is written in C; 0: it is none. */
uint64_t tt_ruby_function(const struct tt_peek *, uint64_t method, uint64_t *print);

/* The array of all names, which are numbers in methods.  It is among the interpreter's own
 * data.  0: it is not found. */
uint64_t tt_ruby_names(const struct tt_peek *, uint64_t data, uint64_t end);

/* As struct tt_interpreter has them.  A frame whose code is its method is written in C.
 * `names`: only for those. */
int tt_ruby_describe(const struct tt_interpreted *, uint64_t names, struct tt_peek *,
                     struct tt_interpreted_text *);
uint32_t tt_ruby_line(const struct tt_interpreted *, struct tt_peek *);

#endif
