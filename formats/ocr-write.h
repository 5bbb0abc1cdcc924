/* SPDX-License-Identifier: MIT */
/* ocr-write.h - the writer of the format that ocr-read.c reads. */
#ifndef TT_OCR_WRITE_H
#define TT_OCR_WRITE_H

#include "formats.h"

int tt_ocr_write(struct tt_export *, struct tt_writer *);
int tt_ocr_part(struct tt_export *, char name[TT_PART_NAME]);

#endif
