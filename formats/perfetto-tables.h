/* SPDX-License-Identifier: MIT */
/* perfetto-tables.h - the tables of Perfetto's traces.
 *
 *      packets ─┬─ tables: texts, mappings, frames, stacks by number ─▶ contexts
 *               └─ samples of stacks, and figures of heaps
 *
 * A number belongs to a state: that of the sequence of packets it came in, until the
 * sequence clears it.  Names of addresses come at the end of a trace, so that it is read
 * twice. */
#ifndef TT_PERFETTO_TABLES_H
#define TT_PERFETTO_TABLES_H

#include "builder.h"
#include "frames.h"
#include "pairs.h"
#include "source.h"
#include "wire.h"

/* What a number is of.  Old packets of heaps have one table for all texts. */
enum tt_perfetto_kind {
    TT_PERFETTO_NAME,
    TT_PERFETTO_PATH,
    TT_PERFETTO_ID,
    TT_PERFETTO_FILE,
    TT_PERFETTO_MAPPING,
    TT_PERFETTO_FRAME,
    TT_PERFETTO_STACK,
    TT_PERFETTO_KINDS
};

struct tt_perfetto_tables {
    struct tt_source *s; /* borrowed */
    struct tt_builder *b;
    struct tt_pairs number;  /* by state and kind, and number: an index + 1 below */
    struct tt_vector text;   /* char: texts, each with its end */
    struct tt_vector start;  /* size_t: where a text begins */
    struct tt_vector module; /* struct tt_perfetto_module, by number */
    struct tt_frames known;  /* modules, places and frames by their content */
    struct tt_vector frame;  /* struct tt_perfetto_frame, by content */
    struct tt_vector block;  /* uint32_t: the functions of frames, outermost first */
    struct tt_pairs place;   /* by module and address: what it is called */
    struct tt_vector named;  /* struct tt_perfetto_frame: the blocks of such a place */
    struct tt_pairs stack;   /* by caller and frame: a node + 1 */
    struct tt_vector node;   /* uint32_t: the context of a node */
    struct tt_vector key;    /* char */
};

struct tt_perfetto_module {
    size_t path, id; /* in `text` */
    uint32_t number; /* by content */
};

struct tt_perfetto_frame {
    uint32_t first, count; /* in `block` */
};

void tt_perfetto_tables_init(struct tt_perfetto_tables *, struct tt_source *,
                             struct tt_builder *);

/* These take a message, or return an error, noted.  `old`: of a packet of heaps. */
int tt_perfetto_take(struct tt_perfetto_tables *, struct tt_wire, uint64_t state,
                     int old);
/* Takes the names of addresses in a module. */
int tt_perfetto_symbols(struct tt_perfetto_tables *, struct tt_wire);
/* Copies a text; returns where it begins, or TT_PERFETTO_NO_TEXT without memory. */
size_t tt_perfetto_text(struct tt_perfetto_tables *, struct tt_wire);
#define TT_PERFETTO_NO_TEXT SIZE_MAX
static inline const char *tt_perfetto_text_at(const struct tt_perfetto_tables *t,
                                              size_t at)
{
    return (const char *)t->text.item + at;
}

/* Sets the node of a stack, and its context: 1; 0: there is no such stack, or it is
 * empty. */
int tt_perfetto_stack(const struct tt_perfetto_tables *, uint64_t state, uint64_t number,
                      uint32_t *node, uint32_t *context);

#endif
