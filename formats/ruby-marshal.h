/* SPDX-License-Identifier: MIT */
/* ruby-marshal.h - values that Ruby has written by Marshal.dump, as JSON. */
#ifndef TT_RUBY_MARSHAL_H
#define TT_RUBY_MARSHAL_H

#include "source.h"

#define TT_RUBY_MARSHAL "\4\10" /* the first bytes: version 4.8 */

/* Appends the text to `json` (char).  0, or an error, noted. */
int tt_ruby_json(struct tt_source *, const char *bytes, size_t size,
                 struct tt_vector *json);

#endif
