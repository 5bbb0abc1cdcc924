/* SPDX-License-Identifier: MIT */
/* rule-builder.c - storing rows and rules.
 *
 * A function has many rows and few ways to be left: a row points to its rule, and a rule that
 * equals one of the last is not stored again. */
#include "rule-builder.h"

#include <string.h>

#include "assertion.h"
#include "tallytree.h"

enum {
    RULE_WORDS = sizeof(struct tt_rule) / sizeof(uint32_t),
};

_Static_assert(sizeof(struct tt_rule) % sizeof(uint32_t) == 0, "a rule is words");

static int fits(int64_t n, unsigned bits)
{
    return n >= -((int64_t)1 << (bits - 1)) && n < (int64_t)1 << (bits - 1);
}

/* Encodes the rule and returns its number of words; 0 if it cannot be expressed. */
static unsigned encode(const struct tt_leaving *l, uint32_t word[RULE_WORDS + 32])
{
    struct tt_rule rule = {
        .flags = l->flags, .base = l->base, .ra = l->ra, .set = l->set};
    unsigned n = RULE_WORDS, plain = !l->flags;

    if (l->base == 255 || !fits(l->offset, 32))
        return 0;
    if ((l->set & (uint32_t)1 << l->ra) && l->reg[l->ra].how == TT_HOW_LOST)
        rule.flags |= TT_RULE_ROOT;
    for (uint32_t set = l->set; set; set &= set - 1) {
        unsigned r = (unsigned)__builtin_ctz(set);
        if (!fits(l->reg[r].n, 32 - TT_HOW_BITS))
            return 0;
        word[n++] = (uint32_t)l->reg[r].n << TT_HOW_BITS | l->reg[r].how;
        plain &= l->reg[r].how == TT_HOW_SAVED;
    }
    rule.offset = (int32_t)l->offset;
    rule.flags |= plain ? TT_RULE_PLAIN : 0;
    memcpy(word, &rule, sizeof rule);
    return n;
}

/* The first word of the rule, new or not. */
static int intern(struct tt_rule_builder *b, const uint32_t *word, unsigned n,
                  uint32_t *rule)
{
    uint32_t oldest = b->rules > TT_RULES_RECENT ? b->rules - TT_RULES_RECENT : 0;

    for (uint32_t i = b->rules; i-- > oldest;) {
        *rule = b->recent[i % TT_RULES_RECENT];
        if (b->words - *rule >= n && memcmp(b->word + *rule, word, n * sizeof *word) == 0)
            return 0;
    }
    if (TT_RULE_WORDS_MAX - b->words < n)
        return -TT_ERR_FORMAT;
    memcpy(b->word + b->words, word, n * sizeof *word);
    b->recent[b->rules++ % TT_RULES_RECENT] = *rule = b->words;
    b->words += n;
    return 0;
}

void tt_rule_builder_begin(struct tt_rule_builder *b)
{
    b->rows = b->words = b->rules = 0;
}

int tt_rule_builder_row(struct tt_rule_builder *b, uint32_t at,
                        const struct tt_leaving *l)
{
    uint32_t word[RULE_WORDS + 32], rule;
    unsigned n = encode(l, word);

    if (!n || intern(b, word, n, &rule) != 0)
        return -TT_ERR_FORMAT;
    TT_ASSERT(!b->rows || b->row[b->rows - 1].at < at);
    if (b->rows && b->row[b->rows - 1].rule == rule)
        return 0;
    if (b->rows == TT_ROWS_MAX)
        return -TT_ERR_FORMAT;
    b->row[b->rows++] = (struct tt_unwind_row){at, rule};
    return 0;
}
