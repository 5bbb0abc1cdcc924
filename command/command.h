/* SPDX-License-Identifier: MIT */
/* command.h - what the subcommands share. */
#ifndef TT_COMMAND_H
#define TT_COMMAND_H

#include "picture.h"

enum { TT_EXIT_DONE = 0, TT_EXIT_NO = 1, TT_EXIT_FAILED = 2 };

/* Says what is wrong on standard error, after "tallytree: ". */
void tt_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Reads a recording from a file; complains and returns an error when it cannot.  A file
 * that is still being written is read until it is whole. */
int tt_load(struct tt_picture *, const char *path);
void tt_unload(struct tt_picture *);

/* The subcommands; each returns an exit status. */
int tt_command_dump(int argc, char **argv);
int tt_command_replay(int argc, char **argv);

#endif
