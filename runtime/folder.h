/* SPDX-License-Identifier: MIT */
/* folder.h - where each of several processes puts its recording. */
#ifndef TT_FOLDER_H
#define TT_FOLDER_H

#include "options.h"

/* A file there on which processes that record waits meet (wake-board.h). */
#define TT_FOLDER_WAKES ".wakes"

/* Sets o->output to FOLDER/PROGRAM.PID, with a number appended if that exists.  Returns
 * 0, -TT_ERR_FILE or -TT_ERR_OPTION. */
int tt_folder_output(struct tt_options *o, const char *folder);

#endif
