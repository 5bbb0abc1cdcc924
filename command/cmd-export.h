/* SPDX-License-Identifier: MIT */
/* cmd-export.h - the formats that are written. */
#ifndef TT_CMD_EXPORT_H
#define TT_CMD_EXPORT_H

#include "formats.h"

/* Returns the i-th format that can be written, or NULL. */
const struct tt_format *tt_export_format(size_t i);

#endif
