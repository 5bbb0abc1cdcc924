/* SPDX-License-Identifier: MIT */
/* ocr-files.h - declarations for the reader and the writer of OCR's format. */
#ifndef TT_OCR_FILES_H
#define TT_OCR_FILES_H

#include "formats.h"

int tt_ocr_write(struct tt_export *, struct tt_writer *);
int tt_ocr_part(struct tt_export *, char name[TT_PART_NAME]);

#endif
