/* SPDX-License-Identifier: MIT */
/* otlp-owners.h - the processes that OpenTelemetry's profiles are of, and their figures. */
#ifndef TT_OTLP_OWNERS_H
#define TT_OTLP_OWNERS_H

#include "formats.h"
#include "wire.h"

/* What a process has of the self of a context. */
struct tt_share {
    uint32_t owner, metric, context, reserved;
    uint64_t amount;
};

struct tt_owners {
    const struct tt_export *e; /* borrowed */
    struct tt_pairs number;    /* host and process, pid: which one it is */
    struct tt_vector strand;   /* uint32_t: one of each */
    struct tt_vector share;    /* struct tt_share, sorted; none: there is one process */
};

/* Finds the processes of a profile, and their shares if there are several and the profile
 * has them by thread.  0 or -TT_ERR_MEMORY; it has to be freed in any case. */
int tt_owners_make(struct tt_owners *, const struct tt_export *);
void tt_owners_free(struct tt_owners *);

/* Returns the first share of a process and a metric, and sets *count. */
const struct tt_share *tt_owners_shares(const struct tt_owners *, uint32_t owner,
                                        uint32_t metric, size_t *count);

/* Writes the attributes of a process; `owner` TT_NONE: those that all processes have. */
void tt_owners_resource(const struct tt_owners *, uint32_t owner, int *failed,
                        struct tt_message *resource);

#endif
