/* SPDX-License-Identifier: MIT */
/* loaded-symbol.h - what an object that is loaded exports. */
#ifndef TT_LOADED_SYMBOL_H
#define TT_LOADED_SYMBOL_H

#include <link.h>
#include <stdint.h>

/* Its run-time address, and its size where that is wanted; 0: it exports no such thing.  Not
 * dlsym: that takes the loader's lock, and a failed one leaves a message. */
uint64_t tt_loaded_symbol(const struct dl_phdr_info *, const char *name, uint64_t *size);

#endif
