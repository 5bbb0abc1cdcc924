/* SPDX-License-Identifier: MIT */
/* perfdata-events.h - events of perf.data, and the fields of their samples. */
#ifndef TT_PERFDATA_EVENTS_H
#define TT_PERFDATA_EVENTS_H

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

#endif
