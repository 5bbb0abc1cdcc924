/* SPDX-License-Identifier: MIT */
/* perfdata-tree.h - samples as a tree of addresses in files. */
#ifndef TT_PERFDATA_TREE_H
#define TT_PERFDATA_TREE_H

#include "builder.h"
#include "frames.h"
#include "pairs.h"
#include "perfdata-events.h"
#include "perfdata-spaces.h"

enum { TT_PERFDATA_ID = 20 }; /* bytes of a build-id, at most */

struct tt_perfdata_tree {
    struct tt_source *s;
    struct tt_builder *b;
    struct tt_frames texts;                /* of files and names: their numbers */
    struct tt_vector file, place, node;    /* structs of perfdata-tree.c */
    struct tt_vector strand, amount, text; /* text: size_t, where each is; char below */
    struct tt_vector chars;
    struct tt_pairs places, nodes, strands, amounts;
    uint64_t text_at;   /* the kernel's: where its text began */
    char kernel[64];    /* its build-id, or else its release */
    uint64_t moved;     /* distance from that address to where it is now */
    int is_same_kernel; /* is that known? */
    uint32_t timed;     /* the event whose samples are kept by time */
};

void tt_perfdata_tree_init(struct tt_perfdata_tree *, struct tt_source *,
                           struct tt_builder *);
/* The number of a text; TT_NONE: no memory. */
uint32_t tt_perfdata_text(struct tt_perfdata_tree *, const char *, size_t);
/* Returns the number of a mapped file; id: the bytes of its build-id, or none. */
uint32_t tt_perfdata_file(struct tt_perfdata_tree *, const char *path, size_t,
                          uint32_t pid, const char *id, size_t id_size);
/* Notes the build-id of a file whose mappings came without one. */
int tt_perfdata_file_id(struct tt_perfdata_tree *, const char *path, size_t,
                        const char *id, size_t id_size);
const char *tt_perfdata_file_path(const struct tt_perfdata_tree *, uint32_t file,
                                  char id[2 * TT_PERFDATA_ID + 1]);
/* Returns the context of an address below `node`: in a region of a file, in the kernel
 * (where the region may be one of its modules) or in no region (NULL, and not the
 * kernel). */
uint32_t tt_perfdata_below(struct tt_perfdata_tree *, uint32_t node, uint64_t address,
                           const struct tt_perfdata_region *, int is_kernel);
/* Adds a sample.  0; -TT_ERR_FORMAT: the sum is too large; -TT_ERR_MEMORY. */
/* `time`: in ns; 0: not known. */
int tt_perfdata_add(struct tt_perfdata_tree *, uint32_t node, uint32_t pid, uint32_t tid,
                    uint32_t comm, struct tt_perfdata_event *, uint32_t event,
                    uint64_t period, uint64_t time);
/* Adds everything to the builder.  0 or -TT_ERR_MEMORY. */
int tt_perfdata_finish(struct tt_perfdata_tree *, struct tt_perfdata_events *);

#endif
