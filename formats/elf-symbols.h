/* SPDX-License-Identifier: MIT */
/* elf-symbols.h - where the functions of a program lie, from its symbol table. */
#ifndef TT_ELF_SYMBOLS_H
#define TT_ELF_SYMBOLS_H

#include "source.h"

struct tt_elf_function {
    uint64_t start, end; /* end: where the next one begins */
    size_t name;         /* in the text */
};

struct tt_elf {
    struct tt_vector function, text; /* struct tt_elf_function, by address; char */
    int width;                       /* of an address, in bytes */
    uint64_t base, size; /* of Windows: where it lies if it was not moved; size 0: not of
                            Windows */
};

/* Reads an ELF file, little-endian, of 4 or 8 bytes an address, or a program of Windows.
 * The symbols are in `memory`: the source may be closed.  0, or an error that the source then
 * has noted. */
int tt_elf_read(struct tt_elf *, struct tt_source *, const struct tt_memory *);
/* Returns the function that contains an address; if none does, the first one after it
 * with `next`, else NULL. */
const struct tt_elf_function *tt_elf_find(const struct tt_elf *, uint64_t, int next);

#endif
