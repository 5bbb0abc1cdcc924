/* SPDX-License-Identifier: MIT */
/* curl-library.c - looks up the functions of libcurl. */
#include "curl-library.h"

#include <dlfcn.h>
#include <string.h>

enum { INIT_DEFAULT = 3 };

/* ISO C has no conversion from an object's address to a function's. */
static int look_up(void *library, const char *name, void *to)
{
    void *found = dlsym(library, name);

    memcpy(to, &found, sizeof found);
    return found ? 0 : -1;
}

static int look_up_all(void *library, struct tt_curl *c)
{
    return look_up(library, "curl_global_init", &c->global_init) |
           look_up(library, "curl_easy_init", &c->easy_init) |
           look_up(library, "curl_easy_setopt", &c->easy_setopt) |
           look_up(library, "curl_easy_perform", &c->easy_perform) |
           look_up(library, "curl_easy_getinfo", &c->easy_getinfo) |
           look_up(library, "curl_easy_cleanup", &c->easy_cleanup) |
           look_up(library, "curl_easy_strerror", &c->easy_strerror) |
           look_up(library, "curl_slist_append", &c->slist_append) |
           look_up(library, "curl_slist_free_all", &c->slist_free_all);
}

static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};

int tt_curl_is_there(void)
{
    void *library = NULL;

    for (size_t i = 0; i < sizeof names / sizeof *names && !library; i++)
        library = dlopen(names[i], RTLD_LAZY | RTLD_LOCAL);
    if (library)
        (void)dlclose(library);
    return library != NULL;
}

const struct tt_curl *tt_curl_load(void)
{
    static struct tt_curl curl;

    for (size_t i = 0; i < sizeof names / sizeof *names && !curl.easy_init; i++) {
        void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        struct tt_curl found;
        if (!library)
            continue;
        if (look_up_all(library, &found) == 0 && found.global_init(INIT_DEFAULT) == 0)
            curl = found;
        else
            (void)dlclose(library);
    }
    return curl.easy_init ? &curl : NULL;
}
