/* SPDX-License-Identifier: MIT */
/* name-blocks.h - gives names to the addresses of a profile.
 *
 *      before   main+0x52 ─ libc.so.6+0x3a1f0         kind native, one an address
 *      after    main ─ run ─ sort ─ qsort             kind function, one a function
 *
 * A native block's module is the path of its ELF file, its file the build-id in hex, its
 * offset the address in that file (of a call: of its last byte), its name
 * "basename+0xOFFSET".  A function block with such a name is named as a whole function;
 * its offset is where the function begins.  Afterwards a function's block has its name,
 * its module, and the file and line of its declaration, so that all its call sites are
 * one block.  Blocks without a name are unchanged, and can be named later. */
#ifndef TT_NAME_BLOCKS_H
#define TT_NAME_BLOCKS_H

#include "builder.h"
#include "known-names.h"
#include "symbols.h"

/* Options for looking up names; all zero: the defaults. */
struct tt_names_wanted {
    struct tt_symbols_options options;
    const char **folder; /* owned; its texts are not */
    struct tt_known_names
        *known; /* borrowed: names of earlier readings; NULL: none are */
    int lines, no_inlines;
    uint64_t until,
        gap; /* of one interval of many, for its header, in ns: when it ended, and how
                            long nothing was recorded before it; 0: not known, there is none */
};

/* Makes an image of a checked profile, with names, in memory of tt_scratch; facts called
 * "unresolved" have the number of blocks without a name in each module, and why.  With
 * `lines`, there is a block of kind statement for each line below its function:
 * "file.c:12".  Fills in when and where the profile was recorded.  `unseen`: texts for
 * its header on what it lacks, NULL at the end; or NULL.  0 or a negative error. */
int tt_symbolize_image(struct tt_names_wanted *, const struct tt_profile *,
                       char *const unseen[], void **image, size_t *size);

/* Sets what a profile says about its files: those without a build-id that were written later
 * are not those that ran, nor are jitdumps that were written before; a perf map belongs to a
 * process. */
void tt_names_ask(struct tt_symbols_options *, const struct tt_profile *);

/* Adds a folder to search.  0, or complains and returns a negative error. */
int tt_names_folder(struct tt_names_wanted *, const char *folder);
/* The same for one that need not be there yet. */
int tt_names_add(struct tt_names_wanted *, const char *folder);
void tt_names_fini(struct tt_names_wanted *);

/* Does it have blocks without names? */
int tt_is_unnamed(const struct tt_profile *);

#endif
