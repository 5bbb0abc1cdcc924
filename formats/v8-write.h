/* SPDX-License-Identifier: MIT */
/* v8-write.h - the writer of the format that v8-file.c reads. */
#ifndef TT_V8_WRITE_H
#define TT_V8_WRITE_H

#include "formats.h"

int tt_v8_write(struct tt_export *, struct tt_writer *);

#endif
