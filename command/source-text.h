/* SPDX-License-Identifier: MIT */
/* source-text.h - the text of source files that a profile names. */
#ifndef TT_SOURCE_TEXT_H
#define TT_SOURCE_TEXT_H

#include "profile.h"
#include "text.h"

enum { TT_SOURCE_FOLDERS = 16 };
struct tt_source_folders {                 /* from '--source DIR' */
    const char *folder[TT_SOURCE_FOLDERS]; /* borrowed */
    size_t count;
};

/* 0, or -TT_ERR_OPTION with a message: there are too many. */
int tt_source_folders_add(struct tt_source_folders *, const char *folder);

/* Reads a file from the folders or, if none has it, by its name.  Returns the text, to be
 * freed, with a NUL after its `size` bytes and none in them; NULL: *reason says why. */
char *tt_source_text(const struct tt_source_folders *, const char *file, size_t *size,
                     const char **reason);

struct tt_source_counts {
    size_t put, missing, left; /* files; left: for lack of room */
    char *first_missing;       /* owned; NULL: none */
};

/* Puts the files that have figures as JSON, {"FILE":"TEXT",...}: those with the most self
 * first, up to TT_SOURCES_MOST bytes.  0, or an error. */
enum { TT_SOURCES_MOST = 16 << 20 };
int tt_source_texts_put(const struct tt_profile *, const struct tt_source_folders *,
                        struct tt_text *, struct tt_source_counts *);

#endif
