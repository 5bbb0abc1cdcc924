/* SPDX-License-Identifier: MIT */
/* http-library.c - looks up the functions of libmicrohttpd. */
#define TT_MICROHTTPD_NAMES
#include "http-library.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

struct tt_microhttpd tt_microhttpd;

/* ISO C has no conversion from an object's address to a function's. */
static int look_up(void *library, const char *name, void *to)
{
    void *found = dlsym(library, name);

    memcpy(to, &found, sizeof found);
    return found ? 0 : -1;
}

int tt_microhttpd_load(void)
{
    struct tt_microhttpd found;
    void *library;
    int missing = 0;

    if (tt_microhttpd.at_MHD_start_daemon)
        return 0;
    library = dlopen("libmicrohttpd.so.12", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        errno = ELIBACC;
        return -1;
    }
#define TT_LOOK_UP(name) missing |= look_up(library, #name, &found.at_##name);
    TT_MICROHTTPD(TT_LOOK_UP)
#undef TT_LOOK_UP
    if (missing) {
        (void)dlclose(library);
        errno = ELIBBAD;
        return -1;
    }
    tt_microhttpd = found;
    return 0;
}
