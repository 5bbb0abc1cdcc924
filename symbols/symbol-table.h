/* SPDX-License-Identifier: MIT */
/* symbol-table.h - the functions of an ELF file by its symbols.
 *
 * The first addresses are looked for by reading all symbols from the file's pages, and only what is
 * found is kept.  After some of these, all are put in order. */
#ifndef TT_SYMBOL_TABLE_H
#define TT_SYMBOL_TABLE_H

#include <elfutils/libdwfl.h>
#include <stddef.h>
#include <stdint.h>

#include "spans.h"

struct tt_symbol {
    const char *symbol;        /* borrowed */
    uint64_t low, high;        /* of those found first, `high` is only the symbol's */
    unsigned char rank;        /* of several at one address the highest is taken */
    unsigned char is_sized;    /* or its end is only a guess */
    unsigned char is_local;    /* there may be others of this name */
    unsigned char is_namesake; /* there are; of those found first: 0 */
    unsigned char is_stub;
    char *name; /* owned; NULL: not made yet */
};

struct tt_found_symbol;

struct tt_symbol_table {
    Dwfl_Module *module;  /* borrowed */
    struct tt_spans code; /* sections with code; item: it has stubs */
    const GElf_Sym
        *all;       /* borrowed; as they are in the file; NULL: these cannot be used */
    size_t count;   /* of these */
    Elf *elf;       /* borrowed; where they are, and */
    size_t strings; /* the section of their names */
    unsigned looks; /* at all of them */
    struct tt_found_symbol *found; /* owned */
    int is_read;                   /* the rest is there */
    struct tt_symbol *symbol;      /* owned; in order */
    size_t symbols, room;
    struct tt_spans spans; /* of these */
};

/* The module is borrowed.  0 or -1: no memory; then, too, the caller calls fini. */
int tt_symbol_table_init(struct tt_symbol_table *, Dwfl_Module *);
void tt_symbol_table_fini(struct tt_symbol_table *);

/* The innermost symbol around an address; NULL: there is none, or no memory.  It lives until
 * fini. */
struct tt_symbol *tt_symbol_table_find(struct tt_symbol_table *, uint64_t address);

/* The same, with its end. */
const struct tt_symbol *tt_symbol_table_whole(struct tt_symbol_table *, uint64_t address);

/* Is there another local one of this name? */
int tt_symbol_has_namesake(struct tt_symbol_table *, const struct tt_symbol *);

/* Demangled; NULL: no memory. */
const char *tt_symbol_name(struct tt_symbol *);

#endif
