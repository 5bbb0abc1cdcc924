/* SPDX-License-Identifier: MIT */
/* output.h - an output file that appears complete, or not at all. */
#ifndef TT_OUTPUT_H
#define TT_OUTPUT_H

#include <signal.h>
#include <stddef.h>

/* An output that grows: a file without a name in the folder of `path` (or of the target,
 * if that is a link), which gets that name in the end; if such files are not supported, a
 * temporary file.  A device or a pipe is written to directly; "-", "/dev/stdout" and NULL
 * are standard output. */
enum { TT_OUTPUT_HOLD = 32 };
struct tt_output {
    const char *path; /* borrowed; for complaints */
    char *target;     /* owned: the same without links; NULL: it is written in place */
    char *name;       /* owned: the temporary file's; NULL: it has none yet */
    int fd;
    int is_standard; /* whatever its number: that of a file is 1 where nothing else is */
    int is_gone;     /* its reader has closed it, which is no error */
    int is_terminal; /* what it would obey is shown instead */
    int has_colors;  /* keep our own colours */
    size_t held;     /* bytes that are not whole yet */
    char hold[TT_OUTPUT_HOLD];
    struct sigaction before; /* of SIGPIPE */
};

/* Each complains and returns -TT_ERR_FILE if it fails. */
int tt_output_open(struct tt_output *, const char *path);
int tt_output_put(void *output, const void *bytes, size_t size);
/* Ends it: with `keep` it replaces the file at `path` (see replacing.h); otherwise that
 * is unchanged. */
int tt_output_close(struct tt_output *, int keep);

/* A folder in the same way; there may be nothing at `path`, or an empty folder. */
struct tt_folder {
    const char *path; /* borrowed */
    char *name;       /* owned: the temporary one's */
};
int tt_folder_open(struct tt_folder *, const char *path);
char *tt_folder_path(const struct tt_folder *,
                     const char *file); /* to be freed, or NULL */
int tt_folder_close(struct tt_folder *, int keep);

/* All of that at once. */
int tt_output_write(const char *path, const void *bytes, size_t size);

#endif
