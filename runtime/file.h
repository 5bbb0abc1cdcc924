/* SPDX-License-Identifier: MIT */
/* file.h - the file of a recording. */
#ifndef TT_FILE_H
#define TT_FILE_H

#include <sys/types.h>

#include "options.h"

struct tt_file {
    int fd; /* -1: none, the recording is in memory; INT_MAX: closed */
    dev_t device;
    ino_t inode; /* the program may have closed ours, and opened its own there */
};

/* Makes a new file with room for `size` bytes, and makes the path absolute.  With `replaces`
 * it takes the place of an old recording or profile, but of no other file, and the process's
 * id is appended to the path where a recording is under way.  Otherwise no file goes: "-2" and
 * so on is appended where there is one.  On failure errno is the reason. */
int tt_file_make(struct tt_file *, char path[TT_PATH_SIZE], uint64_t size, int replaces);

/* Its descriptor, opened again if the program has closed it; -1: the file is gone. */
int tt_file_descriptor(struct tt_file *, const char *path);

/* Closes it until its next use, if the limit of open files is so low that the program may
 * want its number. */
void tt_file_rest(struct tt_file *);

/* Makes room for the bytes from start to end.  Keeps errno, raises no signal.  At most one
 * thread at a time. */
int tt_file_reserve(struct tt_file *, const char *path, uint64_t start, uint64_t end);

/* Lets others use the file and closes it; only closes it; removes it as well. */
void tt_file_end(struct tt_file *, const char *path);
void tt_file_close(struct tt_file *);
void tt_file_remove(struct tt_file *, const char *path);

/* Writes all bytes to an open file; sets errno on failure. */
int tt_file_put(int fd, const void *bytes, size_t size);
/* Writes a whole file: under a temporary name first, then renamed. */
int tt_file_write(const char *path, const void *bytes, size_t size);

#endif
