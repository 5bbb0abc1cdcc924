/* SPDX-License-Identifier: MIT */
/* events.h - traces of events go through the tree of a live run.
 *
 * The events drive the runtime itself, under the recursion policy and the budget that are
 * asked for, and with statistics of activations: however long the trace, the tree is no
 * larger than that of a program that did the same.  One at a time. */
#ifndef TT_EVENTS_H
#define TT_EVENTS_H

#include "builder.h"
#include "source.h"

struct tt_events;

/* Its content is for the builder.  NULL: an error, which the source then has noted. */
struct tt_events *tt_events_open(struct tt_source *, struct tt_builder *);
void tt_events_close(struct tt_events *); /* NULL: nothing */

/* The number of a thread of the trace, new at its first time; TT_NONE: no memory. */
uint32_t tt_events_strand(struct tt_events *, const char *process, const char *name,
                          uint64_t pid, uint64_t thread);
/* Its process, or its thread, has a name in the file, and no number. */
void tt_events_hide_numbers(struct tt_events *, uint32_t strand, int of_process,
                            int of_thread);
/* The events that follow are of that thread. */
void tt_events_switch(struct tt_events *, uint32_t strand);
/* Charges [from, to), in ns, to its innermost open block; `is_timed`: keeps it as a stretch. */
void tt_events_pass(struct tt_events *, uint64_t from, uint64_t to, int is_timed);
/* Blocks are numbers of the runtime's; their names may be of any length. */
uint32_t tt_events_block(struct tt_events *, const struct tt_block_info *);
int tt_events_push(struct tt_events *, uint32_t block); /* -TT_ERR_MEMORY */
/* Pops the innermost open block; does nothing if none is open. */
void tt_events_pop(struct tt_events *);

/* Closes open blocks, and adds everything to the builder.  0 or an error, noted. */
int tt_events_finish(struct tt_events *);

#endif
