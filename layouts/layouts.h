/* SPDX-License-Identifier: MIT */
/* layouts.h - reports in the layouts of older systems, each with separate flags. */
#ifndef TT_LAYOUTS_H
#define TT_LAYOUTS_H

#include <stddef.h>

#include "flags.h"
#include "profile.h"

struct tt_text;

/* Writes a report to `out`. argv[0] is the layout's name; only flags of its table follow,
 * long ones as "--name=value", letters as "-o" and "value".  Returns 0, -TT_ERR_OPTION
 * with `error`, or -TT_ERR_MEMORY. */
typedef int tt_report_function(const struct tt_profile *, int argc, char **argv,
                               struct tt_text *out, char *error, size_t size);

struct tt_layout {
    const char *name, *about;
    const struct tt_flag *flags;
    tt_report_function *run;
    const char *output; /* a flag for the output file; NULL: none */
};

extern const struct tt_flag tt_fble_flags[], tt_ghc_flags[], tt_mlworks_flags[],
    tt_ocr_flags[], tt_tdk_flags[];
tt_report_function tt_report_fble, tt_report_ghc, tt_report_mlworks, tt_report_ocr,
    tt_report_tdk;

/* Ends with one whose name is NULL. */
extern const struct tt_layout tt_layouts[];

/* Calls `run` with names in which '?' replaces each byte that controls a terminal, ends a
 * line or is not UTF-8. */
int tt_layout_run(const struct tt_layout *, const struct tt_profile *, int argc,
                  char **argv, struct tt_text *out, char *error, size_t size);

#endif
