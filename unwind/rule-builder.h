/* SPDX-License-Identifier: MIT */
/* rule-builder.h - a table of rules while it is made: frame-info.c reads, rule-builder.c stores. */
#ifndef TT_RULE_BUILDER_H
#define TT_RULE_BUILDER_H

#include "mapped-array.h"
#include "rules.h"

/* What is known of the caller at one place. */
struct tt_leaving {
    uint8_t base, flags, ra; /* as in struct tt_rule; base 255: no CFA yet */
    int64_t offset;
    uint32_t set;
    struct {
        uint8_t how;
        int64_t n;
    } reg[32]; /* only those in `set` mean anything */
};

struct tt_indexed {
    uint32_t place; /* of the rule's first word, + 1; 0: nothing */
    uint32_t hash;
};

struct tt_rule_builder {
    struct tt_mapped_array function, row, word, expression;
    struct tt_mapped_array
        index; /* hash of a rule → its first word + 1; a power of two of them */
    uint32_t rules;
};

/* 0, -TT_ERR_FORMAT: cannot be expressed, so leave the function out; -TT_ERR_MEMORY. */
int tt_rule_builder_row(struct tt_rule_builder *, uint32_t at, const struct tt_leaving *);

/* Begins a function; the rows that follow are its own.  Drops them again. */
int tt_rule_builder_function(struct tt_rule_builder *, uint32_t start, uint32_t end);
void tt_rule_builder_drop(struct tt_rule_builder *);

/* Keeps the expression, and says in *place what rules call it. */
int tt_rule_builder_expression(struct tt_rule_builder *, const uint8_t *bytes,
                               size_t size, int64_t *place);

/* All of it in one mapping, owned by the caller. */
int tt_rule_builder_finish(struct tt_rule_builder *, uint64_t base, struct tt_rules **);
void tt_rule_builder_fini(struct tt_rule_builder *);

#endif
