/* SPDX-License-Identifier: MIT */
/* linked.h - which loaded objects a program is linked with, directly or through others.
 * The loader never unloads these.  To be asked before the program begins: an object that dlopen
 * loads may have a name under which the loader had no object, as one file may have several. */
#ifndef TT_LINKED_H
#define TT_LINKED_H

#include <link.h>

enum { TT_LINKED_MAX = 256 };

/* Names of the objects so far, and those that they need.  All zero: none. */
struct tt_linked {
    const char *name[TT_LINKED_MAX];
    unsigned char found[TT_LINKED_MAX]; /* an object of that name was there */
    unsigned count;
};

/* Whether the program is linked with the object, `first` being the program.  To be called
 * for each object in the loader's order: there an object follows those that need it, and
 * what dlopen loads comes last.  0 may also mean that there are too many names. */
int tt_linked_add(struct tt_linked *, const struct dl_phdr_info *, int first);

#endif
