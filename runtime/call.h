/* SPDX-License-Identifier: MIT */
/* call.h - kinds of calls, and the contexts that tail calls left. */
#ifndef TT_CALL_H
#define TT_CALL_H

#include "strand.h"

/* Enters the context that a tail call from the top left; NULL: there is none. */
struct tt_frame *tt_tail_take(struct tt_thread *);

/* Counts a kind of call in the top's context. */
enum { TT_CALL_LEFT = TT_CALL_CURRIED + 1, TT_CALLS };
void tt_call_count(struct tt_thread *, int call);

#endif
