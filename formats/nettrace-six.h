/* SPDX-License-Identifier: MIT */
/* nettrace-six.h - walks over the blocks of a .nettrace file of version 6. */
#ifndef TT_NETTRACE_SIX_H
#define TT_NETTRACE_SIX_H

#include "nettrace.h"

/* 0, or an error, noted. */
int tt_nettrace_walk_six(struct tt_nettrace *, const struct tt_nettrace_calls *);

#endif
