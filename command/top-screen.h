/* SPDX-License-Identifier: MIT */
/* top-screen.h - `tallytree top` on the terminal. */
#ifndef TT_TOP_SCREEN_H
#define TT_TOP_SCREEN_H

#include "cmd-top.h"

/* Runs on the terminal, until a key ends it.  Complains. */
int tt_watch_screen(struct tt_watch *);

#endif
