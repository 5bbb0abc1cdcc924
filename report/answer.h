/* SPDX-License-Identifier: MIT */
/* answer.h - answers a query with JSON: everything that the viewer's page asks, natively
 * and as WebAssembly.
 *
 * Filtering a large profile takes longer than a view of it, and a page requests many
 * views with the same filters; so the last few filtered profiles are kept. */
#ifndef TT_ANSWER_H
#define TT_ANSWER_H

#include "filter.h"
#include "query.h"
#include "text.h"

enum { TT_ANSWERS_KEPT = 3 };

struct tt_answers {
    struct tt_profile *profile;       /* borrowed */
    struct tt_profile *before;        /* borrowed: what it is compared with, or NULL */
    const struct tt_memory *memory;   /* borrowed */
    const struct tt_listing *listing; /* borrowed, set after init; NULL: no code */
    struct tt_kept {
        char *key; /* owned: the filters, as text; NULL: an empty slot */
        size_t key_size;
        struct tt_filtered filtered;
        uint64_t used; /* when, by `clock` */
    } kept[TT_ANSWERS_KEPT];
    uint64_t clock;
    /* Set after init: is the answer to the question at hand still wanted?  NULL: yes. */
    int (*is_wanted)(void *asker);
    void *asker;
    struct tt_bursts *bursts; /* of the profile: owned; NULL: nothing was asked */
};

void tt_answers_init(struct tt_answers *, struct tt_profile *, struct tt_profile *before,
                     const struct tt_memory *);
void tt_answers_fini(struct tt_answers *);

/* Answers "view=flat&metric=time&…", or "diff&view=flat&…" and "diff&normalise&…" about
 * the changes since `before`, or "diff&rest&time=…" about a range of time and the rest of
 * the run, with the JSON of doc/json.md.  "part" does a part of the work of "view=bursts",
 * and its answer is {"tallytree":1,"more":true} until all is done.  If the JSON is longer
 * than `most` bytes (0, or a query that begins with "all&": any length), it has fewer rows,
 * and the remainder says how many.
 * Otherwise {"tallytree":1,"error":"…"}, and -TT_ERR_OPTION, -TT_ERR_FORMAT, -TT_ERR_MEMORY, or
 * -TT_ERR_STATE if it is not wanted any more. */
int tt_answer(struct tt_answers *, const char *query, size_t most, struct tt_text *);

#endif
