/* SPDX-License-Identifier: MIT */
/* journal.c - words of a recording that change together, or not at all.
 *
 *      written            shown          carried out        over
 *      where, value ──▶ count = n ──▶ *where = value ──▶ count = 0
 *
 * A process may be killed between any two instructions.  Before `count` is stored,
 * nothing has changed.  After that, a reader carries out the changes in the journal,
 * which does no harm if they were made already.  Stores of a killed thread are seen in
 * the order of its instructions on every processor, so only the compiler has to keep that
 * order. */
#include "journal.h"

#include <string.h>

uint64_t *tt_change_word(struct tt_change *c, void *word)
{
    uint32_t where = (uint32_t)((size_t)((char *)word - c->base) / sizeof(uint64_t)),
             i = 0;

    TT_ASSERT((uintptr_t)word % sizeof(uint64_t) == 0);
    TT_ASSERT((char *)word >= c->base + TT_HEADER_SIZE);
    TT_ASSERT((size_t)((char *)word - c->base) < tt_base_size(c->base));
    TT_ASSERT(c->redo->count == 0);
    while (i < c->count && c->redo->where[i] != where)
        i++;
    if (i == c->count) {
        TT_ASSERT(c->count < TT_JOURNAL_WORDS);
        c->redo->where[c->count++] = where;
        c->redo->value[i] = *(tt_word *)word;
    }
    return &c->redo->value[i];
}

void tt_change_half(struct tt_change *c, uint32_t *half, uint32_t value)
{
    size_t at = (uintptr_t)half % sizeof(uint64_t);

    TT_ASSERT(at % sizeof value == 0);
    memcpy((char *)tt_change_word(c, (char *)half - at) + at, &value, sizeof value);
}

void tt_change_amounts(struct tt_change *c, struct tt_amounts *to,
                       const struct tt_amounts *from)
{
    *tt_change_word(c, &to->calls) += from->calls;
    *tt_change_word(c, &to->self) += from->self;
    *tt_change_word(c, &to->samples) += from->samples;
}

void tt_change_move(struct tt_change *c, uint64_t *to, uint64_t *from)
{
    uint64_t amount = *tt_change_word(c, from);

    TT_ASSERT(to != from);
    *tt_change_word(c, to) += amount;
    *tt_change_word(c, from) = 0;
}

#ifdef TT_CHECKED
const char *tt_journal_check(const struct tt_journal *redo, const char *base)
{
    const uint64_t words = tt_base_size(base) / sizeof(uint64_t);

    if (redo->count > TT_JOURNAL_WORDS)
        return "a journal has more words than it has room for";
    for (uint32_t i = 0; i < redo->count; i++) {
        if (redo->where[i] < TT_HEADER_SIZE / sizeof(uint64_t) || redo->where[i] >= words)
            return "a journal's word is the header's, or outside of the recording";
        for (uint32_t k = 0; k < i; k++)
            if (redo->where[k] == redo->where[i])
                return "a word is twice in a journal";
    }
    return "";
}
#endif

void tt_change_make(struct tt_change *c)
{
    struct tt_journal *redo = c->redo;

    TT_ASSERT(c->count <= TT_JOURNAL_WORDS && redo->count == 0);
    TT_BARRIER();
    __atomic_store_n(&redo->count, c->count, __ATOMIC_SEQ_CST);
    TT_BARRIER();
#ifdef TT_CHECKED
    TT_ASSERT_NOTHING(tt_journal_check(redo, c->base));
#endif
    for (uint32_t i = 0; i < c->count; i++)
        __atomic_store_n((tt_word *)(void *)(c->base + 8 * (size_t)redo->where[i]),
                         redo->value[i], __ATOMIC_RELAXED);
    TT_BARRIER();
    __atomic_store_n(&redo->count, 0, __ATOMIC_SEQ_CST);
    TT_BARRIER();
    c->count = 0;
}
