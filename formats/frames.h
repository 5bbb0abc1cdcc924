/* SPDX-License-Identifier: MIT */
/* frames.h - frames that come as text, and amounts on contexts, into a builder, fast.
 *
 * The builder finds a block by its whole identity and keeps a line for each addition; a
 * reader that meets the same few names a hundred million times does better to look the text
 * up here, and to add up amounts before they go there. */
#ifndef TT_FRAMES_H
#define TT_FRAMES_H

#include "builder.h"
#include "index.h"
#include "source.h"

struct tt_frames {
    struct tt_builder *b; /* borrowed */
    const struct tt_memory *memory;
    struct tt_vector name;   /* texts, and their numbers */
    struct tt_index index;   /* of names */
    struct tt_vector text;   /* char: all names */
    struct tt_vector amount; /* uint64_t, by context */
    uint64_t total;          /* of all that was added since the last flush */
    int failed;              /* no memory */
};

void tt_frames_init(struct tt_frames *, struct tt_builder *, const struct tt_memory *);
void tt_frames_fini(struct tt_frames *);

/* Returns the place of the number for a text; NULL: no memory.  *is_new: the text is new,
 * and the caller sets the number.  Valid until the next call. */
uint32_t *tt_frames_find(struct tt_frames *, const char *text, size_t length,
                         int *is_new);
/* Returns the block that has this name and nothing else; TT_NONE: no memory.  A NUL in
 * the text becomes a question mark. */
uint32_t tt_frames_block(struct tt_frames *, const char *name, size_t length);

/* Sets *block to the function of a line that Go prints below a stack,
 * "#\t0x4b3f37\tmain.f+0x57\tf.go:6" (name and file; lines are added up).  1; 0: it is no
 * such line; -TT_ERR_MEMORY.  Writes into the line. */
int tt_frames_go(struct tt_frames *, char *line, uint32_t *block);

/* Adds to a context.  0; -TT_ERR_FORMAT if the sum does not fit 64 bits (for `return
 * tt_source_fail(s, TT_TOO_MUCH)`); or -TT_ERR_MEMORY. */
int tt_frames_add(struct tt_frames *, uint32_t context, uint64_t amount);
/* The same; the source notes the error. */
int tt_frames_count(struct tt_frames *, struct tt_source *, uint32_t context,
                    uint64_t amount);
#define TT_TOO_MUCH "the figures add up to more than 64 bits hold"
/* Adds the amounts to the builder, as self of the current strand. */
void tt_frames_flush(struct tt_frames *, uint32_t metric);

#endif
