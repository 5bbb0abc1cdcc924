/* SPDX-License-Identifier: MIT */
/* unseen.h - programs that a recorded one started, and that were not recorded. */
#ifndef TT_UNSEEN_H
#define TT_UNSEEN_H

/* How the links begin that processes recorded from outside leave. */
#define TT_UNSEEN_EVENTS ".events."

/* Of what was noted in the folder, which is taken out of it: a sentence for each, NULL at the
 * end, to be freed; NULL without memory. */
char **tt_unseen_take(const char *folder);
void tt_unseen_free(char **);

#endif
