/* SPDX-License-Identifier: MIT */
/* perfdata-spaces.h - the mappings of each process, as they change. */
#ifndef TT_PERFDATA_SPACES_H
#define TT_PERFDATA_SPACES_H

#include "pairs.h"

struct tt_perfdata_region {
    uint64_t start, end, offset;
    uint32_t file; /* of tt_perfdata_tree */
};

/* The mappings of one or more processes that have forked and not changed them since. */
struct tt_perfdata_map {
    struct tt_vector region; /* by address; they do not overlap */
    uint32_t users;          /* processes */
    uint64_t version;        /* changes with every change, never 0 */
};

struct tt_perfdata_spaces {
    const struct tt_memory *memory;
    struct tt_vector process, thread, free; /* free: uint32_t, unused maps */
    struct tt_vector map;                   /* struct tt_perfdata_map; 0: the kernel's */
    struct tt_pairs by_pid, by_tid;
    uint64_t version;
};

int tt_perfdata_spaces_init(struct tt_perfdata_spaces *, const struct tt_memory *);
/* Returns the map of a process, valid until the next call; NULL: no memory. */
const struct tt_perfdata_map *tt_perfdata_space(struct tt_perfdata_spaces *,
                                                uint32_t pid);
const struct tt_perfdata_map *tt_perfdata_kernel(const struct tt_perfdata_spaces *);
const struct tt_perfdata_region *tt_perfdata_find(const struct tt_perfdata_map *,
                                                  uint64_t address);
/* 0 or -TT_ERR_MEMORY. */
int tt_perfdata_mapped(struct tt_perfdata_spaces *, uint32_t pid, int is_kernel,
                       const struct tt_perfdata_region *);
int tt_perfdata_forked(struct tt_perfdata_spaces *, uint32_t pid, uint32_t parent,
                       uint32_t tid, uint32_t parent_tid, int with_maps);
/* A thread of the process has ended. */
int tt_perfdata_exited(struct tt_perfdata_spaces *, uint32_t pid);
/* Sets the name of a thread from here on. */
int tt_perfdata_called(struct tt_perfdata_spaces *, uint32_t tid, uint32_t comm);
/* Returns the name that was set; TT_NONE: none. */
uint32_t tt_perfdata_comm(const struct tt_perfdata_spaces *, uint32_t tid);

#endif
