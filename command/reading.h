/* SPDX-License-Identifier: MIT */
/* reading.h - files of any kind, read into one builder. */
#ifndef TT_READING_H
#define TT_READING_H

#include <limits.h>

#include "builder.h"
#include "file-list.h"
#include "input.h"

/* What came of a file. */
enum tt_outcome {
    TT_UNREAD,
    TT_TAKEN,
    TT_ONLY_BEGUN, /* a recording with nothing in it */
    TT_UNREADABLE, /* and it is left out, as it is one of a folder */
    TT_FAILED      /* and the user named it */
};

enum { TT_READING_REASON = PATH_MAX + 300 };

/* What is read, and what could not be. */
struct tt_files_read {
    struct tt_builder *b;
    unsigned how;           /* enum tt_input_how */
    int once;               /* a file is a pipe, and cannot be read again */
    struct tt_ranks *ranks; /* others read a part of the files; NULL: none */
    size_t at, said;        /* the file; what is left out before this one was said */
    int recordings;         /* there was one */
    unsigned formats;       /* flags of the foreign ones */
    uint32_t files;         /* in folders */
    uint32_t taken;         /* of all files, those that could be read */
    uint32_t begun;         /* recordings with nothing in them */
    uint32_t bad;           /* files that cannot be read */
    char name[PATH_MAX];    /* of the folder that the last of these was in */
    char reason[TT_READING_REASON]; /* of the first bad one */
};

enum { TT_READING_NAMED = 8 }; /* bad files; more are counted */
/* As errors are returned: a recording was only begun; figures by strand are too many. */
enum { TT_READING_BEGUN = 1, TT_READING_MANY };

enum tt_content {
    TT_CONTENT_RECORDING,
    TT_CONTENT_PROFILE,
    TT_CONTENT_FOREIGN,
    TT_CONTENT_NOTHING
};

/* Opens a file and detects its kind; returns the descriptor, or a negative error.  Does
 * not wait for a pipe without a writer, unless the user has named it. */
int tt_reading_open(const char *path, int is_named, enum tt_content *, size_t *size);
/* Opens a profile; complains. */
int tt_reading_profile(struct tt_input *, const char *path, int fd, size_t size);
/* Frees the image, wherever it is. */
void tt_reading_drop(struct tt_input *);

/* Reads a file that the user named; complains. */
int tt_reading_named(struct tt_files_read *, const char *path);
/* Reads a file of a folder, which may be invalid: then the complaint is in `reason`. */
int tt_reading_member(struct tt_files_read *, const char *path, char *reason, size_t size,
                      enum tt_outcome *);
/* Reads either, without a complaint: into a profile that is made apart.  See reading.c. */
int tt_reading_file(struct tt_files_read *, const char *path, int is_named);
/* Checks that the sums fit 64 bits and memory; otherwise reading ends.  A strand's figures are
 * summarised with those of its file, so that the order of files does not matter: if there are
 * too many, it is TT_READING_MANY and all is read again. */
int tt_reading_check(struct tt_files_read *, const char *path);
/* The same after the last file: until then, too many figures may not have been noticed. */
int tt_reading_end(struct tt_files_read *);
/* Notes what came of a file of a folder. */
void tt_reading_note(struct tt_files_read *, const char *path, enum tt_outcome,
                     const char *reason);
/* Reads a file, and notes and checks it; or all of them. */
int tt_reading_listed(struct tt_files_read *, const struct tt_list_file *);
int tt_reading_in_turn(struct tt_files_read *, const struct tt_file_list *);
/* After the last file: says what was left out, where this was not said. */
void tt_reading_rest(struct tt_files_read *);
/* Forgets all that was read. */
int tt_reading_again(struct tt_files_read *);

#endif
