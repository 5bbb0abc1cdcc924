/* SPDX-License-Identifier: MIT */
/* cmd-record.h - records a program, and reports. */
#ifndef TT_CMD_RECORD_H
#define TT_CMD_RECORD_H

/* `tallytree PROGRAM ARGS`, and `tallytree --flag PROGRAM ARGS`: ignores argv[0]. */
int tt_record_and_report(int argc, char **argv);

#endif
