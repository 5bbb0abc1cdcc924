/* SPDX-License-Identifier: MIT */
/* json-text.h - text within a JSON string. */
#ifndef TT_JSON_TEXT_H
#define TT_JSON_TEXT_H

#include <stddef.h>

enum { TT_JSON_ESCAPE = 8 };
/* Returns how many bytes of `text` are shown in a JSON string as they are.  The character
 * after them is shown as `escape`, "" at the end.  *taken is the bytes of both. */
size_t tt_json_text(const char *text, char escape[TT_JSON_ESCAPE], size_t *taken);

#endif
