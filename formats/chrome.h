/* SPDX-License-Identifier: MIT */
/* chrome.h - the writer of the format that chrome.c reads. */
#ifndef TT_CHROME_H
#define TT_CHROME_H

#include "formats.h"

int tt_chrome_write(struct tt_export *, struct tt_writer *);

#endif
