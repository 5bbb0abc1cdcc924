/* SPDX-License-Identifier: MIT */
/* perfdata.h - declarations for the parts of the reader of perf.data.
 *
 *      source ─ records ─ in order of time ─┬─ spaces: the mappings of each process
 *               (perfdata-packed.c)         └─ samples ─ tree ─ builder
 *
 * Names of events and build-ids of files come after the samples.  So samples are gathered
 * in a tree of addresses in files, which goes to the builder in the end. */
#ifndef TT_PERFDATA_H
#define TT_PERFDATA_H

#include "builder.h"
#include "frames.h"
#include "pairs.h"
#include "source.h"

/* Reads a number of that many bytes, in the byte order of the file. */
static inline uint64_t tt_perfdata_number(const char *at, int size, int is_big)
{
    uint64_t n = 0;

    for (int i = 0; i < size; i++)
        n |= (uint64_t)(unsigned char)at[i] << 8 * (is_big ? size - 1 - i : i);
    return n;
}

/* A record without its head.  Borrowed. */
struct tt_perfdata_record {
    uint32_t type, misc;
    const char *body;
    size_t size;
};

/* ── Events: perfdata-events.c ────────────────────────────────────────────────────── */

struct tt_perfdata_event {
    uint32_t type;
    uint64_t config, period, holds, reads, branches, registers;
    int is_frequency, has_trailer;
    char name[64];
    uint64_t sum;             /* of the periods of its samples */
    uint32_t samples, amount; /* metrics */
};

struct tt_perfdata_events {
    struct tt_vector event; /* struct tt_perfdata_event */
    struct tt_pairs by_id;  /* event + 1 */
    int is_big;
};

struct tt_perfdata_sample {
    uint64_t ip, time, period;
    uint32_t pid, tid, event;
    const char *chain; /* NULL: none was taken */
    uint64_t chains;
    const char *registers; /* those of the event's mask, or NULL */
    const char *stack;     /* a copy, or NULL */
    size_t stack_size;
};

void tt_perfdata_events_init(struct tt_perfdata_events *, const struct tt_memory *, int);
/* Adds an event, from its attributes and ids: 0; -TT_ERR_FORMAT: it is none;
 * -TT_ERR_MEMORY. */
int tt_perfdata_event_add(struct tt_perfdata_events *, const char *attributes,
                          size_t size, const char *ids, size_t ids_size);
/* The event of an id, or NULL. */
struct tt_perfdata_event *tt_perfdata_event_of(struct tt_perfdata_events *, uint64_t id);
void tt_perfdata_event_name(struct tt_perfdata_event *, const char *name, size_t);
/* perf's name of a counter of hardware (type 0) or software (1); NULL: unknown. */
const char *tt_perfdata_counter(uint32_t type, uint64_t config);
/* Returns the name of an event; made up in `text` if it has none in the file. */
const char *tt_perfdata_event_called(const struct tt_perfdata_event *, char text[64]);
/* Returns the time of a record; 0: unknown. */
uint64_t tt_perfdata_time(struct tt_perfdata_events *, const struct tt_perfdata_record *);
/* Reads the fields of a sample: 1; 0: it is incomplete, or of an unknown event. */
int tt_perfdata_sample(struct tt_perfdata_events *, const struct tt_perfdata_record *,
                       struct tt_perfdata_sample *);

/* ── Spaces: perfdata-spaces.c ────────────────────────────────────────────────────── */

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

/* ── The tree: perfdata-tree.c ────────────────────────────────────────────────────── */

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

/* ── What -z packed: perfdata-packed.c ────────────────────────────────────────────── */

struct tt_perfdata_packed;
struct tt_perfdata_packed *tt_perfdata_packed_new(const struct tt_memory *);
void tt_perfdata_packed_free(struct tt_perfdata_packed *);
void tt_perfdata_packed_put(struct tt_perfdata_packed *, const char *bytes, size_t);
/* Sets *bytes to the next `size` decompressed bytes, valid until the next call: 1; 0:
 * there are not yet enough; -TT_ERR_FORMAT: the data are damaged; -TT_ERR_MEMORY. */
int tt_perfdata_packed_want(struct tt_perfdata_packed *, size_t size, const char **bytes);
void tt_perfdata_packed_skip(struct tt_perfdata_packed *, size_t size);

/* ── The whole ────────────────────────────────────────────────────────────────────── */

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

/* Takes a record; all records before it in time have been taken: 0 or an error
 * (perfdata-take.c). */
int tt_perfdata_take(struct tt_perfdata *, const struct tt_perfdata_record *);
int tt_perfdata_short(struct tt_perfdata *); /* "a record is not whole": the error */

#endif
