/* SPDX-License-Identifier: MIT */
/* folder.h - where each of several processes puts its recording. */
#ifndef TT_FOLDER_H
#define TT_FOLDER_H

#include "options.h"

/* Chooses o->output: FOLDER/PROGRAM.PID, or with a number behind it where that is taken.  0, or
 * -TT_ERR_FILE, -TT_ERR_OPTION. */
int tt_folder_output(struct tt_options *o, const char *folder);

#endif
