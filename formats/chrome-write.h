/* SPDX-License-Identifier: MIT */
/* chrome-write.h - the writer of the format that chrome.c reads. */
#ifndef TT_CHROME_WRITE_H
#define TT_CHROME_WRITE_H

#include "formats.h"

int tt_chrome_write(struct tt_export *, struct tt_writer *);

#endif
