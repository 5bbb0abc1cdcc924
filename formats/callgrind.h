/* SPDX-License-Identifier: MIT */
/* callgrind.h - the writer of the format that callgrind.c reads. */
#ifndef TT_CALLGRIND_H
#define TT_CALLGRIND_H

#include "formats.h"

int tt_callgrind_write(struct tt_export *, struct tt_writer *);

#endif
