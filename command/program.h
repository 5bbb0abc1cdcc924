/* SPDX-License-Identifier: MIT */
/* program.h - a program that is to be run: its file, and which library can be loaded into
 * it. */
#ifndef TT_PROGRAM_H
#define TT_PROGRAM_H

#include <limits.h>

struct tt_program {
    char path[PATH_MAX];         /* of the file that is executed */
    const char *base;            /* its name, in `path` */
    char reason[PATH_MAX + 100]; /* why nothing can be loaded into it; "": it can */
    const char *outside; /* that in few words, where it can be looked at from outside */
};

/* Searches $PATH as a shell does.  0; or 127: there is none, 126: it cannot be executed,
 * and `reason` says why. */
int tt_program_find(struct tt_program *, const char *name);

/* Was it compiled with a no-op at the beginning of each function? */
int tt_program_is_patchable(const struct tt_program *);

/* Is the loader asked for a function whose name ends so?  It is in programs with a sanitizer. */
int tt_program_names(const struct tt_program *, const char *end);

#endif
