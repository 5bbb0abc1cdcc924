/* SPDX-License-Identifier: MIT */
/* unseen.h - programs that a recorded one started, and that were not recorded. */
#ifndef TT_UNSEEN_H
#define TT_UNSEEN_H

/* The prefix of the links for processes recorded from outside. */
#define TT_UNSEEN_EVENTS ".events."

/* Takes the links out of the folder: returns a sentence for each, NULL at the end, to be
 * freed; NULL: no memory. */
char **tt_unseen_take(const char *folder);
void tt_unseen_free(char **);

#endif
