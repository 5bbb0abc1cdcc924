/* SPDX-License-Identifier: MIT */
/* debug-file.h - names and lines from an ELF file and its debug information. */
#ifndef TT_DEBUG_FILE_H
#define TT_DEBUG_FILE_H

#include "symbols.h"

struct tt_debug_file;

enum { TT_BUILD_ID_SIZE = 2 * 64 + 1 }; /* in hex, with a NUL */

/* The build-id of an ELF file, "" if it has none.  Returns 0; -1: no such file. */
int tt_build_id_of(int fd, char id[TT_BUILD_ID_SIZE]);

/* Opens a file; `path` serves to find its debug information, in the folders of
 * `debug_path` (in libdwfl's form).  `brief`: does not read DWARF in a separate file.
 * Takes the descriptor, in any case.  NULL: it cannot be read, or no memory. */
struct tt_debug_file *tt_debug_file_open(int fd, const char *path, const char *debug_path,
                                         int brief);
void tt_debug_file_close(struct tt_debug_file *);

/* Names an address, as tt_symbols_find does, or tt_symbols_function when `whole`; *spots
 * lives until the next call. */
void tt_debug_file_find(struct tt_debug_file *, uint64_t address, int whole,
                        struct tt_spots *spots);

/* The code of the function there, as tt_symbols_code. */
void tt_debug_file_code(struct tt_debug_file *, uint64_t address, struct tt_code *);

#endif
