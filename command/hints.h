/* SPDX-License-Identifier: MIT */
/* hints.h - words of other tools, and what they are called here. */
#ifndef TT_HINTS_H
#define TT_HINTS_H

/* Returns a sentence for a word that is unknown here: `where` is the command whose flag
 * it would be, or what tt_complain_of looked for.  NULL: there is none. */
const char *tt_hint_find(const char *where, const char *word);

#endif
