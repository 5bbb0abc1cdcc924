/* SPDX-License-Identifier: MIT */
/* v8.h - CPU samples of JavaScript: trees of nodes, and which node each sample was in.
 *
 *      {"nodes": [{"id": 2, "parent": 1, "callFrame": {"functionName": …}}, …],
 *       "samples": [2, 2, 3], "timeDeltas": [120, 130, 125]}
 *
 * There may be several profiles, each in several pieces.  A sample lasts until the next
 * one. */
#ifndef TT_V8_H
#define TT_V8_H

#include "builder.h"
#include "formats.h"
#include "json-reader.h"
#include "pairs.h"

struct tt_v8 {
    struct tt_source *s;
    struct tt_builder *b;
    struct tt_pairs nodes, profiles; /* (profile, id), (pid, id): + 1 */
    struct tt_vector node, profile;
    struct tt_vector now,
        elapsed;             /* the piece that was read last: uint64_t nodes, int64_t */
    struct tt_vector piece;  /* its nodes */
    struct tt_vector parent; /* the parents that they state for their children */
    uint64_t samples;        /* in all */
    uint64_t lost;           /* of them: in nodes that are missing */
};

void tt_v8_init(struct tt_v8 *, struct tt_source *, struct tt_builder *);

/* These functions note errors in the source.
 *
 * Takes a member of a piece, whose key is in j->text; others are left out.  tt_v8_forget:
 * drops the piece that was taken. */
void tt_v8_member(struct tt_v8 *, struct tt_json *);
void tt_v8_forget(struct tt_v8 *);
/* The same for a node that is not in a list, and for the time of each sample. */
void tt_v8_node(struct tt_v8 *, uint64_t id, uint32_t block, const uint64_t *parent);
void tt_v8_times(struct tt_v8 *, struct tt_json *);
/* Adds the piece that was taken to this profile; its strand is that of its first
 * piece. */
void tt_v8_piece(struct tt_v8 *, uint64_t pid, uint64_t id, uint64_t thread);
/* Add one sample of a thread, in a frame that all threads share; and such a frame. */
void tt_v8_sample(struct tt_v8 *, uint64_t pid, uint64_t thread, uint64_t id, int64_t us);
void tt_v8_shared(struct tt_v8 *, uint64_t id, uint32_t block, const uint64_t *parent);
/* A block: name, file, line from 1, or 0. */
uint32_t tt_v8_block(struct tt_v8 *, const char *name, const char *file, int64_t line,
                     int64_t column);
/* Returns the block of a node that has a parent, which is not the root of the profile. */
uint32_t tt_v8_inner(struct tt_v8 *, uint32_t block);
/* Reads a callFrame, and returns its block. */
uint32_t tt_v8_frame(struct tt_v8 *, struct tt_json *);

/* Adds the samples; counts lost ones in "lost.nodes".  `who` names a thread.  `is_main`:
 * their time is the main metric. */
struct tt_v8_names {
    void (*who)(void *arg, uint64_t pid, uint64_t thread, const char **process,
                const char **name);
    void *arg;
};
int tt_v8_finish(struct tt_v8 *, const struct tt_v8_names *, int is_main);

#endif
