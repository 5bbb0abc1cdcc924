/* SPDX-License-Identifier: MIT */
/* perfdata-packed.h - what -z packed. */
#ifndef TT_PERFDATA_PACKED_H
#define TT_PERFDATA_PACKED_H

#include "memory.h"

struct tt_perfdata_packed;
struct tt_perfdata_packed *tt_perfdata_packed_new(const struct tt_memory *);
void tt_perfdata_packed_free(struct tt_perfdata_packed *);
void tt_perfdata_packed_put(struct tt_perfdata_packed *, const char *bytes, size_t);
/* Sets *bytes to the next `size` decompressed bytes, valid until the next call: 1; 0:
 * there are not yet enough; -TT_ERR_FORMAT: the data are damaged; -TT_ERR_MEMORY. */
int tt_perfdata_packed_want(struct tt_perfdata_packed *, size_t size, const char **bytes);
void tt_perfdata_packed_skip(struct tt_perfdata_packed *, size_t size);

#endif
