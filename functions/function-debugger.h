/* SPDX-License-Identifier: MIT */
/* function-debugger.h - registers thunks with debuggers. */
#ifndef TT_FUNCTION_DEBUGGER_H
#define TT_FUNCTION_DEBUGGER_H

#include <elf.h>
#include <stddef.h>

#include "function.h"

enum { TT_DEBUGGER_SECTIONS = 6 };

/* An object file in memory, of an area; its unwind information follows it. */
struct tt_debugger_file {
    Elf64_Ehdr header;
    Elf64_Shdr section[TT_DEBUGGER_SECTIONS];
    Elf64_Sym symbol[2];
    char names[64], strings[32];
    struct tt_debugger_entry {
        struct tt_debugger_entry *next, *previous;
        const void *file;
        uint64_t size;
    } entry;
};

/* Fills it in, and registers it, for ever.  One call at a time. */
void tt_debugger_tell(struct tt_debugger_file *, const struct tt_function_area *,
                      size_t size_of_frames);

#endif
