/* SPDX-License-Identifier: MIT */
/* journal.h - words of a recording that change together, or not at all. */
#ifndef TT_JOURNAL_H
#define TT_JOURNAL_H

#include "tree.h"

struct tt_change {
    struct tt_journal *redo; /* of a strand; no other thread moves its figures */
    char *base;
    uint32_t count;
};

/* Begins a change in the journal of this tree's strand. */
static inline struct tt_change tt_change_begin(struct tt_tree *t)
{
    return (struct tt_change){&t->record->redo, t->base, 0};
}

/* The new value of an aligned word of the recording; initially its present one.  At most
 * TT_JOURNAL_WORDS of them. */
uint64_t *tt_change_word(struct tt_change *, void *word);

/* The same for half a word: sets its new value. */
void tt_change_half(struct tt_change *, uint32_t *half, uint32_t value);

/* Adds to three of them. */
void tt_change_amounts(struct tt_change *, struct tt_amounts *to,
                       const struct tt_amounts *from);

/* A figure leaves its place for another. */
void tt_change_move(struct tt_change *, uint64_t *to, uint64_t *from);

/* Carries it out.  Whoever dies in the middle has carried it out. */
void tt_change_make(struct tt_change *);

#ifdef TT_CHECKED
/* The first error in a journal of the recording at `base`; "" if there is none. */
const char *tt_journal_check(const struct tt_journal *, const char *base);
#endif

#endif
