/* SPDX-License-Identifier: MIT */
/* layouts.c - the layouts that `tallytree report` knows beside its views; a line each. */
#include "report.h"

const struct tt_layout tt_layouts[] = {
    {"fble", "Fble's: overall and self times, call graph, sequences", tt_fble_flags,
     tt_report_fble, NULL},
    {"ghc", "GHC's: cost centres and their stacks, -p -P -pa -pj", tt_ghc_flags,
     tt_report_ghc, NULL},
    {"mlworks", "MLWorks': time by functions and callers, space by generations",
     tt_mlworks_flags, tt_report_mlworks, "profile"},
    {"ocr", "OCR's: flat profiles and call graphs of threads, nodes, all", tt_ocr_flags,
     tt_report_ocr, NULL},
    {"tdk", "TDK's: a line for each statement, covered or not", tt_tdk_flags,
     tt_report_tdk, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
