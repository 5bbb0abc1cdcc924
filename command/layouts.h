/* SPDX-License-Identifier: MIT */
/* layouts.h - reports that are files of other tools, as formats to write. */
#ifndef TT_LAYOUTS_H
#define TT_LAYOUTS_H

#include "formats.h"

extern const struct tt_format tt_format_csv_tree, tt_format_ghc_json, tt_format_json_tree,
    tt_format_tdk_csv;

#endif
