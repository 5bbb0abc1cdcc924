/* SPDX-License-Identifier: MIT */
/* building.h - a table of rules while it is made: frame-info.c reads, building.c stores. */
#ifndef TT_BUILDING_H
#define TT_BUILDING_H

#include "pile.h"
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

struct tt_building {
    struct tt_pile function, row, word, expression;
    struct tt_pile
        index; /* hash of a rule → its first word + 1; a power of two of them */
    uint32_t rules;
};

/* 0, -TT_ERR_FORMAT: cannot be expressed, so leave the function out; -TT_ERR_MEMORY. */
int tt_building_row(struct tt_building *, uint32_t at, const struct tt_leaving *);

/* Begins a function; the rows that follow are its own.  Drops them again. */
int tt_building_function(struct tt_building *, uint32_t start, uint32_t end);
void tt_building_drop(struct tt_building *);

/* Keeps the expression, and says in *place what rules call it. */
int tt_building_expression(struct tt_building *, const uint8_t *bytes, size_t size,
                           int64_t *place);

/* All of it in one mapping, owned by the caller. */
int tt_building_finish(struct tt_building *, uint64_t base, struct tt_rules **);
void tt_building_fini(struct tt_building *);

#endif
