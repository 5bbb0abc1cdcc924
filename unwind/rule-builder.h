/* SPDX-License-Identifier: MIT */
/* rule-builder.h - the rows of one function while they are made: frame-info.c reads,
 * rule-builder.c stores. */
#ifndef TT_RULE_BUILDER_H
#define TT_RULE_BUILDER_H

#include "rules.h"

/* How to find the caller's registers at one place. */
struct tt_leaving {
    uint8_t base, flags, ra; /* as in struct tt_rule; base 255: no CFA yet */
    int64_t offset;
    uint32_t set;
    struct {
        uint8_t how;
        int64_t n;
    } reg[32]; /* only those in `set` mean anything */
};

/* Longer functions are skipped; gcc's own longest has 2,000 rows. */
enum { TT_ROWS_MAX = 1 << 14, TT_RULE_WORDS_MAX = 1 << 14, TT_RULES_RECENT = 32 };

struct tt_rule_builder {
    uint32_t rows, words, rules;
    uint32_t recent[TT_RULES_RECENT]; /* where the last rules start */
    struct tt_unwind_row row[TT_ROWS_MAX];
    uint32_t word[TT_RULE_WORDS_MAX];
};

/* Drops all rows. */
void tt_rule_builder_begin(struct tt_rule_builder *);

/* 0, or -TT_ERR_FORMAT: it cannot be expressed, so leave the function out. */
int tt_rule_builder_row(struct tt_rule_builder *, uint32_t at, const struct tt_leaving *);

#endif
