/* SPDX-License-Identifier: MIT */
/* symbols.h - names for addresses: of ELF files, of JIT code, of the kernel.
 *
 *      libm.so.6+0x1234  ──►  ieee754_pow  e_pow.c:42   at e_pow.c:61
 *                              └ log_inline e_pow.c:20   at e_pow.c:33    (inlined)
 *
 * A module is the path of an ELF file, or one of "[vdso]", "[kernel]" and "[jit]".  Its
 * id is the build-id in hex; "[kernel]" has the id of a boot, or the kernel's build-id,
 * and "[jit]" the path of a perf map (perf-PID.map) or a jitdump (jit-PID.dump).  An
 * empty id is unknown.  A file with another build-id is never used.
 *
 * For one thread.  Looking up one module's addresses in ascending order is fastest. */
#ifndef TT_SYMBOLS_H
#define TT_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

struct tt_symbols;

struct tt_symbols_options {
    const char *const *folder; /* where modules are looked for first; borrowed */
    size_t folders;
    int brief;        /* no DWARF of separate files: inflating it takes tens of ms */
    int debuginfod;   /* may the servers of $DEBUGINFOD_URLS be used? */
    uint64_t started; /* ns since 1970: a jitdump in a shared folder that was last written
                       * before is of an earlier process; 0: not known */
    uint64_t recorded; /* ns since 1970: a file without build-id that was written later is
                        * not used; 0: not known */
    uint64_t pid;      /* process of JIT code without id, and of the files, while it runs;
                        * 0: not known */
};

/* A function, and the place in it of the address or of the next inlined function. */
struct tt_spot {
    const char *function;  /* demangled */
    const char *file;      /* of its declaration; "": not known */
    uint32_t line, column; /* the same; 0: not known */
    uint64_t start; /* 0 unless it is needed to distinguish namesakes in the module */
    const char *at_file;
    uint32_t at_line, at_column;
};

struct tt_spots {
    const struct tt_spot *spot; /* from the outermost function inwards */
    size_t count;               /* 0: no name, for the reason in `reason` */
    const char *module;         /* if there is a better one: a kernel module's name */
    const char *reason;
    uint64_t start; /* where the function without a name starts; 0: not known */
};

/* The code of the function at an address. */
struct tt_code {
    uint64_t start;
    size_t size;
    unsigned char *bytes; /* to be freed; NULL: unreadable, see `reason` */
    unsigned machine;     /* of ELF: EM_X86_64... */
    const char *reason;
};

/* NULL: no memory.  Folders are borrowed until tt_symbols_free.  Without `debuginfod` it
 * removes DEBUGINFOD_URLS from the environment: libdwfl would use these servers by
 * itself. */
struct tt_symbols *tt_symbols_new(const struct tt_symbols_options *);
void tt_symbols_free(struct tt_symbols *);
/* Forgets files that grow: those of run-time compilers. */
void tt_symbols_refresh(struct tt_symbols *);

/* Names an address of a module; everything in *spots lives until the next call. */
void tt_symbols_find(struct tt_symbols *, const char *module, const char *id,
                     uint64_t address, struct tt_spots *spots);
/* The same for the start of a function: its own name, whatever was inlined there. */
void tt_symbols_function(struct tt_symbols *, const char *module, const char *id,
                         uint64_t address, struct tt_spots *spots);

/* Returns the file with the names of generated code: the jitdump of the process of a perf
 * map, if there is one; it has lines and code, too.  Valid until the next call. */
const char *tt_symbols_jit(struct tt_symbols *, const char *id);

/* The code around an address of an ELF file, or of a jitdump. */
void tt_symbols_code(struct tt_symbols *, const char *module, const char *id,
                     uint64_t address, struct tt_code *);

#endif
