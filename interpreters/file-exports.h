/* SPDX-License-Identifier: MIT */
/* file-exports.h - what the file of another process exports. */
#ifndef TT_FILE_EXPORTS_H
#define TT_FILE_EXPORTS_H

#include <stdint.h>
#include <sys/types.h>

struct tt_module;
struct tt_region;

enum { TT_EXPORTS_MOST = 5, TT_EXPORTS_FILES = 512 };

struct tt_exports {
    const struct tt_module *module; /* NULL: the slot is free */
    uint64_t address[TT_EXPORTS_MOST];
};

/* The link-time addresses of these symbols, in their order; 0: the file does not have it.
 * Without the first one, the others are not looked for.  All processes share a file's module, so
 * most files are read once; one that cannot be opened has none, for this process.  `known` has
 * TT_EXPORTS_FILES slots, and is used by one thread. */
const uint64_t *tt_exports_of(struct tt_exports *known, const char *const *names,
                              uint32_t count, const struct tt_module *,
                              const struct tt_region *, pid_t);

#endif
