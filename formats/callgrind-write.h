/* SPDX-License-Identifier: MIT */
/* callgrind-write.h - the writer of the format that callgrind.c reads. */
#ifndef TT_CALLGRIND_WRITE_H
#define TT_CALLGRIND_WRITE_H

#include "formats.h"

int tt_callgrind_write(struct tt_export *, struct tt_writer *);

#endif
