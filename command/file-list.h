/* SPDX-License-Identifier: MIT */
/* file-list.h - the files that are read when a user names files and folders. */
#ifndef TT_FILE_LIST_H
#define TT_FILE_LIST_H

#include "memory.h"

struct tt_list_file {
    char *path;   /* owned */
    int is_named; /* by the user; else it is one of a folder */
};

struct tt_file_list {
    struct tt_vector file; /* struct tt_list_file */
};

/* Lists them in the order of reading: named ones as they are named, those of a folder, and of folders
 * in it, by name.  A folder that is one recording is one file.  Of a chain, what a coarser profile
 * has is left out.  Complains and returns a negative error if a folder is empty or cannot be read;
 * the list has to be freed in any case. */
int tt_file_list_make(struct tt_file_list *, char *const *paths, int count);
void tt_file_list_free(struct tt_file_list *);

/* Is it a folder, of any content? */
int tt_is_folder(const char *path);

#endif
