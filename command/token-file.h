/* SPDX-License-Identifier: MIT */
/* token-file.h - a secret token in the first line of a file, so that no list of processes
 * shows it. */
#ifndef TT_TOKEN_FILE_H
#define TT_TOKEN_FILE_H

enum { TT_TOKEN_LEAST = 16, TT_TOKEN_MOST = 513 }; /* with the NUL */

/* Reads the token.  0; -TT_ERR_FILE or -TT_ERR_OPTION: printed, as of `command`. */
int tt_token_read(const char *command, const char *path, char token[TT_TOKEN_MOST]);

/* The same; a file that is not there is made, with a new token, for its owner alone.  The
 * token has only letters, digits, '-', '_' and '.', as it is part of an address. */
int tt_token_keep(const char *command, const char *path, char token[TT_TOKEN_MOST]);

#endif
