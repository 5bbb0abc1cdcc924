/* SPDX-License-Identifier: MIT */
/* report-layout.h - reports that are files of other tools, as formats to write. */
#ifndef TT_REPORT_LAYOUT_H
#define TT_REPORT_LAYOUT_H

#include "formats.h"

extern const struct tt_format tt_format_csv_tree, tt_format_ghc_json, tt_format_json_tree,
    tt_format_tdk_csv;

#endif
