/* SPDX-License-Identifier: MIT */
/* pe-symbols.h - the functions of a program of Windows, by address. */
#ifndef TT_PE_SYMBOLS_H
#define TT_PE_SYMBOLS_H

#include "elf-symbols.h"

/* Adds them, unsorted, and sets where the program lies.  0, or an error that the source
 * then has noted. */
int tt_pe_read(struct tt_elf *, struct tt_source *, const char *bytes, size_t size);

#endif
