/* SPDX-License-Identifier: MIT */
/* perfdata.h - what the parts of the reader of perf.data share.
 *
 *      source ─ records ─ in order of time ─┬─ spaces: the mappings of each process
 *               (perfdata-packed.c)         └─ samples ─ tree ─ builder
 *
 * Names of events and build-ids of files come after the samples.  So samples are gathered
 * in a tree of addresses in files, which goes to the builder in the end. */
#ifndef TT_PERFDATA_H
#define TT_PERFDATA_H

#include "perfdata-events.h"
#include "perfdata-packed.h"
#include "perfdata-spaces.h"
#include "perfdata-tree.h"

/* The types from ATTRIBUTES on are perf's own, and have no time. */
enum tt_perfdata_type {
    TT_PERFDATA_MMAP = 1,
    TT_PERFDATA_LOST = 2,
    TT_PERFDATA_COMM = 3,
    TT_PERFDATA_EXIT = 4,
    TT_PERFDATA_FORK = 7,
    TT_PERFDATA_SAMPLE = 9,
    TT_PERFDATA_MMAP2 = 10,
    TT_PERFDATA_LOST_SAMPLES = 13,
    TT_PERFDATA_ATTRIBUTES = 64,
    TT_PERFDATA_TRACING_DATA = 66,
    TT_PERFDATA_BUILD_ID = 67,
    TT_PERFDATA_FINISHED_ROUND = 68,
    TT_PERFDATA_AUXTRACE = 71,
    TT_PERFDATA_EVENT_UPDATE = 78,
    TT_PERFDATA_FEATURE = 80,
    TT_PERFDATA_PACKED = 81,
    TT_PERFDATA_PACKED_2 = 83,
};

enum { TT_PERFDATA_FRAMES = 1024 };

struct tt_perfdata {
    struct tt_source *s;
    struct tt_builder *b;
    int is_big;
    struct tt_perfdata_events events;
    struct tt_perfdata_spaces spaces;
    struct tt_perfdata_tree tree;
    struct tt_perfdata_packed *packed; /* owned; NULL: no compressed data so far */
    struct tt_vector waiting, bytes;   /* struct waiting; char */
    struct tt_vector rest, regions;    /* char; struct tt_walk_region */
    uint64_t number, latest, round;    /* latest: time; round: that of the last mark */
    uint64_t lost, lost_samples, no_walk;
    uint64_t frame[TT_PERFDATA_FRAMES];
};

#endif
