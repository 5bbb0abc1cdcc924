/* SPDX-License-Identifier: MIT */
/* input.h - profiles from files of any kind; several are merged. */
#ifndef TT_INPUT_H
#define TT_INPUT_H

#include "profile.h"

struct tt_input {
    struct tt_profile profile;
    void *image; /* owned: of a file, or made by a builder */
    size_t size;
    int is_profile;    /* it is one profile, as the file has it */
    int has_addresses; /* it may have: of recordings, or of a format with native code */
};

enum tt_input_how {
    TT_INPUT_UNNAMED = 1, /* blocks of recordings keep their addresses */
    TT_INPUT_QUIET = 2,   /* files of a folder that are left out are only noted in the
                          header */
    TT_INPUT_ANEW = 4,    /* a single profile is made again too */
    TT_INPUT_RUNS = 16,   /* each file is a run: tt_builder_run */
    TT_INPUT_SUMMARY = 8  /* figures are not kept by strand, only how they spread, as they
                             never are of more than 4096 strands, or where those of several
                             files have more than 100 MB */
};

/* Opens files: profiles, recordings, files in foreign formats, or folders of them; the
 * kind of a file is detected from its content.  "-" is standard input, for foreign
 * formats.  Several are merged.  Functions of recordings get names.  If a file in a
 * folder cannot be read, such as a recording that was only begun, it is left out: a
 * complaint and a fact "missing" say which and why.  Complains and returns a negative
 * error if another file cannot be read, or none can; nothing is open then. */
int tt_input_open(struct tt_input *, char *const *paths, int count, unsigned how);
/* The same for several, read by several processes at the same time, or by several ranks; the profile
 * does not depend on their number.  The other ranks than 0 get an error, as rank 0 has the profile; they
 * complain of nothing, as it does that for them. */
struct tt_ranks;
struct tt_readers {
    unsigned jobs;          /* at most TT_JOBS_MAX */
    struct tt_ranks *ranks; /* NULL: there is no other rank */
};
int tt_input_merge(struct tt_input *, char *const *paths, int count, unsigned how,
                   struct tt_readers);
void tt_input_close(struct tt_input *);

struct tt_names_wanted;
/* Gives names to what was opened with TT_INPUT_UNNAMED, as it is done without that. */
void tt_input_name(struct tt_input *, struct tt_names_wanted *);

#endif
