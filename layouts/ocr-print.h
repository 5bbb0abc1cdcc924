/* SPDX-License-Identifier: MIT */
/* ocr-print.h - OCR's flat profile and call graph, in its own columns. */
#ifndef TT_OCR_PRINT_H
#define TT_OCR_PRINT_H

#include "ocr.h"

struct tt_text;

struct ocr_style {
    int stats;     /* -s: each line with averages and deviations over threads below it */
    int recurse;   /* -r: the time of calls to itself, in brackets */
    int shipped;   /* figures of recursive functions as the program computes them, not as
                    * its documentation says */
    int average;   /* a column with the average without calls to itself */
    int all_calls; /* a column with the calls that were not collapsed */
    const char *unit;
};

/* Prints one section; stats only if the sum is of several threads' files.
 * -TT_ERR_MEMORY. */
int tt_ocr_print(const struct ocr *, const struct ocr_sum *, const struct ocr_style *,
                 const char *heading, struct tt_text *out);

#endif
