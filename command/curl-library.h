/* SPDX-License-Identifier: MIT */
/* curl-library.h - libcurl, loaded when something is sent and not with the command.
 *
 * Most users send nothing, and it brings TLS and a dozen libraries: nothing is linked with
 * it, and it need not be installed.  Its numbers below are the same in all versions of
 * libcurl.so.4. */
#ifndef TT_CURL_LIBRARY_H
#define TT_CURL_LIBRARY_H

#include <stddef.h>

struct tt_curl {
    int (*global_init)(long);
    void *(*easy_init)(void);
    int (*easy_setopt)(void *, int, ...); /* long, a pointer, or int64_t */
    int (*easy_perform)(void *);
    int (*easy_getinfo)(void *, int, ...);
    void (*easy_cleanup)(void *);
    const char *(*easy_strerror)(int);
    void *(*slist_append)(void *, const char *);
    void (*slist_free_all)(void *);
};

enum { TT_CURL_ERROR_SIZE = 256 };

enum tt_curl_option {
    TT_CURL_POST = 47,
    TT_CURL_FOLLOWLOCATION = 52,
    TT_CURL_NOSIGNAL = 99,
    TT_CURL_TIMEOUT_MS = 155,
    TT_CURL_CONNECTTIMEOUT_MS = 156,
    TT_CURL_PROTOCOLS = 181,
    TT_CURL_WRITEDATA = 10001,
    TT_CURL_URL = 10002,
    TT_CURL_ERRORBUFFER = 10010,
    TT_CURL_POSTFIELDS = 10015,
    TT_CURL_USERAGENT = 10018,
    TT_CURL_HTTPHEADER = 10023,
    TT_CURL_CAINFO = 10065,
    TT_CURL_WRITEFUNCTION = 20011,
    TT_CURL_POSTFIELDSIZE_LARGE = 30120
};
enum { TT_CURL_HTTP = 1, TT_CURL_HTTPS = 2 }; /* protocols */
enum { TT_CURL_RESPONSE_CODE = 0x200002, TT_CURL_RETRY_AFTER = 0x600039 };
enum tt_curl_error {
    TT_CURL_OK = 0,
    TT_CURL_UNSUPPORTED_PROTOCOL = 1,
    TT_CURL_URL_MALFORMED = 3,
    TT_CURL_NOT_BUILT_IN = 4,
    TT_CURL_UNKNOWN_OPTION = 48,
    TT_CURL_PEER_FAILED_VERIFICATION = 60,
    TT_CURL_BAD_CA_FILE = 77
};

/* Its functions; NULL: it is not installed. */
const struct tt_curl *tt_curl_load(void);
/* Is it installed?  It does not stay loaded. */
int tt_curl_is_there(void);

#endif
