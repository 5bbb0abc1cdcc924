/* SPDX-License-Identifier: MIT */
/* hints.h - what other tools call something, and what it is called here. */
#ifndef TT_HINTS_H
#define TT_HINTS_H

/* A sentence for a word that is nothing here: `where` is the command whose flag it would be, or
 * what tt_complain_of looked for.  NULL: there is none. */
const char *tt_hint_find(const char *where, const char *word);

#endif
