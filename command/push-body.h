/* SPDX-License-Identifier: MIT */
/* push-body.h - a profile as a request: its query and its body. */
#ifndef TT_PUSH_BODY_H
#define TT_PUSH_BODY_H

#include "content-hash.h"
#include "formats.h"

struct tt_push_body {
    char name[TT_CONTENT_HASH_DIGITS + 1]; /* of its content */
    char query[2048];                      /* without '?' */
    struct tt_vector bytes;                /* char; has to be freed */
};

/* Makes the request of OTLP, or of Pyroscope.  `until`: the time in ns when the profile ended at
 * the latest, if it does not say.  0, or complains and returns a negative error. */
int tt_push_otlp(struct tt_export *, uint64_t until, struct tt_push_body *);
int tt_push_pyroscope(struct tt_export *, uint64_t until, struct tt_push_body *);

#endif
