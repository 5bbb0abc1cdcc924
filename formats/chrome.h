/* SPDX-License-Identifier: MIT */
/* chrome.h - what the files of the format share. */
#ifndef TT_CHROME_H
#define TT_CHROME_H

#include "formats.h"
#include "v8.h"

uint64_t tt_chrome_id(const char *text); /* a number, or a hash of the text */
/* Reads the id of a process, a thread or a frame. */
uint64_t tt_chrome_read_id(struct tt_json *);

#endif
