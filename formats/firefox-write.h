/* SPDX-License-Identifier: MIT */
/* firefox-write.h - the writer of the format that firefox.c reads. */
#ifndef TT_FIREFOX_WRITE_H
#define TT_FIREFOX_WRITE_H

#include "formats.h"

int tt_firefox_write(struct tt_export *, struct tt_writer *);

#endif
