/* SPDX-License-Identifier: MIT */
/* name-blocks.h - a profile with names, from one with addresses.
 *
 *      before   main+0x52 ─ libc.so.6+0x3a1f0         kind native, one an address
 *      after    main ─ run ─ sort ─ qsort             kind function, one a function
 *
 * A native block's module is the path of its ELF file, its file the build-id in hex, its
 * offset the address in that file (of a call: of its last byte), its name
 * "basename+0xOFFSET"; a function block that is called so is named as a whole function, the
 * offset being where it begins.  Afterwards a function's block has its name, its module,
 * and the file and line of its declaration, so that all its call sites are one block.
 * What has no name stays as it was, to be named another time. */
#ifndef TT_NAME_BLOCKS_H
#define TT_NAME_BLOCKS_H

#include "builder.h"
#include "symbols.h"

/* Where people want names to be looked for, and how many; all zero: as ever. */
struct tt_names_wanted {
    struct tt_symbols_options options;
    const char **folder; /* owned; its texts are not */
    int lines, no_inlines;
};

/* Makes an image of a profile, which has been checked, with names, in memory of tt_scratch;
 * facts called "unresolved" say of how many blocks of which module there are none, and why.
 * With `lines` of what is wanted there is a block of kind statement for each line below its function:
 * "file.c:12".  What the profile tells of when and where it was recorded is filled in.
 * `unseen`: what it lacks, for its header, NULL at the end; or NULL.  0 or a negative error. */
int tt_symbolize_image(struct tt_names_wanted *, const struct tt_profile *,
                       char *const unseen[], void **image, size_t *size);

/* Looks in this folder too.  0, or complains and returns a negative error. */
int tt_names_folder(struct tt_names_wanted *, const char *folder);
void tt_names_fini(struct tt_names_wanted *);

/* Has it blocks that wait for names? */
int tt_is_unnamed(const struct tt_profile *);

#endif
