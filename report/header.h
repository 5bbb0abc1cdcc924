/* SPDX-License-Identifier: MIT */
/* header.h - how a profile was made. */
#ifndef TT_HEADER_H
#define TT_HEADER_H

#include "profile.h"
#include "text.h"

/* Prints how a profile was made, and what it lost, before a table: a line for each
 * fact. */
void tt_text_header(struct tt_text *, const struct tt_profile *, int color);

#endif
