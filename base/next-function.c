/* SPDX-License-Identifier: MIT */
/* next-function.c - finds the C library's functions that ours replace. */
#include "next-function.h"

#include <dlfcn.h>
#include <stddef.h>

/* The C library's own function, even if other definitions come first: its version shows
 * whose it is. */
static void *find_in_library(const char *name)
{
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"};
    void *found = NULL;

    for (size_t i = 0; !found && i < sizeof versions / sizeof *versions; i++)
        found = dlvsym(RTLD_NEXT, name, versions[i]);
    return found;
}

/* Also finds functions without a version: those of a sanitizer, or of another library
 * that is loaded first, which replace the C library's.  The program must not see the
 * loader's message about a missing one. */
void *tt_next_function(const char *name)
{
    static __typeof__(dlsym) *find;
    static __typeof__(dlerror) *forget;
    void *found;

    if (!find) {
        forget = (__typeof__(dlerror) *)find_in_library("dlerror");
        find = (__typeof__(dlsym) *)find_in_library("dlsym");
    }
    found = find ? find(RTLD_NEXT, name) : NULL;
    if (!found && forget)
        (void)forget();
    return found;
}
