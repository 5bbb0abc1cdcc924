/* SPDX-License-Identifier: MIT */
/* next-function.c - the way from functions of ours to the C library's. */
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

/* It finds what has no version too: the functions that a sanitizer, or another library that
 * is loaded first, has in the C library's place.  The program must not see the loader's
 * message about one that is not there. */
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
