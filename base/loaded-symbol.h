/* SPDX-License-Identifier: MIT */
/* loaded-symbol.h - the symbols that a loaded object exports and uses. */
#ifndef TT_LOADED_SYMBOL_H
#define TT_LOADED_SYMBOL_H

#include <link.h>
#include <stdint.h>

/* Returns the run-time address of an exported symbol, and its size if `size` is not NULL; 0 if
 * the object exports no such symbol.  dlsym would take the loader's lock, and leave a message
 * when it fails. */
uint64_t tt_loaded_symbol(const struct dl_phdr_info *, const char *name, uint64_t *size);

/* Does the object use a symbol with such a name, whichever object exports it? */
int tt_loaded_uses(const struct dl_phdr_info *, int (*is_wanted)(const char *name));

#endif
