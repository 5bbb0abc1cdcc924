/* SPDX-License-Identifier: MIT */
/* retain.h - sets of retainers; see retain.c. */
#ifndef TT_RETAIN_H
#define TT_RETAIN_H

/* In the child of fork. */
void tt_retainers_forget(void);

#endif
