/* SPDX-License-Identifier: MIT */
/* cmd-complete.h - completions of a line. */
#ifndef TT_CMD_COMPLETE_H
#define TT_CMD_COMPLETE_H

/* Prints completions of the last word of a line: `tallytree --complete WORD…`. */
int tt_command_complete(int argc, char **argv);

#endif
