/* SPDX-License-Identifier: MIT */
/* layouts.c - the layouts that `tallytree report` knows beside its views; a line each. */
#include "report.h"

const struct tt_layout tt_layouts[] = {
    {"ocr", "OCR's: flat profiles and call graphs of threads, nodes, all", tt_ocr_flags,
     tt_report_ocr},
    {NULL, NULL, NULL, NULL},
};
