/* SPDX-License-Identifier: MIT */
/* layouts.c - the layouts that `tallytree report` knows beside its views; a line each. */
#include "report.h"

const struct tt_layout tt_layouts[] = {
    {NULL, NULL, NULL, NULL},
};
