/* SPDX-License-Identifier: MIT */
/* finish-run.h - merges the recordings of a program's processes into one profile. */
#ifndef TT_FINISH_RUN_H
#define TT_FINISH_RUN_H

#include "name-blocks.h"

struct tt_gathering {
    const char *folder;  /* hidden, beside the output */
    const char *inner;   /* where its processes put their recordings: it, or in it */
    const char *out;     /* the profile to write */
    const char *program; /* what people call it */
    int is_quiet;        /* only what goes wrong is said */
    int reports;         /* shows it too: the most important of it */
    int is_only_shown;   /* the file was not asked for */
    int is_killed;       /* a signal ended the program */
    struct tt_names_wanted naming; /* borrowed */
};

/* Makes the profile, with names, prints where it is, and removes the folder unless a
 * process still writes there.  0, or a negative error after a complaint; then the folder
 * is kept. */
int tt_finish_run(const struct tt_gathering *);

#endif
