/* SPDX-License-Identifier: MIT */
/* answer.h - answers queries with JSON: everything that the viewer's page asks, natively
 * and as WebAssembly.
 *
 * Filtering a large profile takes longer than a view of it, and a page requests many
 * views with the same filters; so the last few filtered profiles are kept.
 *
 * Several threads may ask at once.  One waits for another only for the same filter, for a place
 * among the filters that work, and for what one thread uses at a time.  Meanwhile nothing changes
 * the profile. */
#ifndef TT_ANSWER_H
#define TT_ANSWER_H

#include "filter.h"
#include "query.h"
#include "text.h"

enum {
    TT_ANSWERS_KEPT = 3,
    TT_ANSWERS_WORKED = 2 /* filters at a time: others wait, as each takes memory */
};
/* What one thread uses at a time. */
enum tt_answers_shared {
    TT_SHARED_CHECK,
    TT_SHARED_LISTING,
    TT_SHARED_BURSTS,
    TT_ANSWERS_SHARED
};

/* How threads take turns: a lock of what answers share, which none holds while it works. */
struct tt_turns {
    void (*lock)(void *arg);
    void (*unlock)(void *arg);
    /* Unlocks until `wake`, or for a moment; then locks again. */
    void (*wait)(void *arg);
    void (*wake)(void *arg);
    void *arg;
};

struct tt_kept; /* a filtered profile */

struct tt_answers {
    struct tt_profile *profile;       /* borrowed */
    struct tt_profile *before;        /* borrowed: what it is compared with, or NULL */
    const struct tt_memory *memory;   /* borrowed */
    const struct tt_listing *listing; /* borrowed, set after init; NULL: no code */
    const struct tt_turns *turns;     /* borrowed, set after init; NULL: of one thread */
    struct tt_kept *kept;
    uint64_t clock;           /* of their use */
    struct tt_bursts *bursts; /* of the profile: owned; NULL: nothing was asked */
    int used[TT_ANSWERS_SHARED];
};

void tt_answers_init(struct tt_answers *, struct tt_profile *, struct tt_profile *before,
                     const struct tt_memory *);
void tt_answers_fini(struct tt_answers *);

/* How many filtered profiles are there? */
unsigned tt_answers_kept(struct tt_answers *);

struct tt_asked {
    const char *query;
    size_t most; /* bytes of the JSON; 0: any length */
    /* Is the answer still wanted?  NULL: yes.  It is called often, and must be quick. */
    int (*is_wanted)(void *asker);
    void *asker;
};

/* Answers "view=flat&metric=time&…", or "diff&view=flat&…" and "diff&normalise&…" about
 * the changes since `before`, or "diff&rest&time=…" about a range of time and the rest of
 * the run, with the JSON of doc/json.md.  "part" does a part of the work of "view=bursts",
 * and its answer is {"tallytree":1,"more":true} until all is done.  If the JSON is longer
 * than `most` bytes (0, or a query that begins with "all&": any length), it has fewer rows,
 * and the remainder says how many.
 * Otherwise {"tallytree":1,"error":"…"}, and -TT_ERR_OPTION, -TT_ERR_FORMAT, -TT_ERR_MEMORY, or
 * -TT_ERR_STATE if it is not wanted any more. */
int tt_answer(struct tt_answers *, const struct tt_asked *, struct tt_text *);

#endif
