/* SPDX-License-Identifier: MIT */
/* rules.h - how to leave each function of a module: its .eh_frame, or .debug_frame, made
 * ready to look up.
 *
 *      function   [start end row]  [start end row]  ...    sorted; addresses from `base`
 *                             │               │
 *      row             [at rule] [at rule] [at rule] ...   at: from the function's start
 *                           │        │        │
 *      rule            [cfa set how how] [cfa set how] ...  equal ones stand there once
 *                                 │
 *      expression            [length bytes] ...             the few that need evaluation
 *
 * A table is made once, outside of handlers, lies in one mapping of its own, and never
 * changes; it needs nothing of the module it was made from. */
#ifndef TT_RULES_H
#define TT_RULES_H

#include <stddef.h>
#include <stdint.h>

struct tt_function {
    uint32_t start, end; /* [start, end) */
    uint32_t row;        /* its first; the last is before the next function's first */
};

struct tt_unwind_row {
    uint32_t at;
    uint32_t rule; /* word where it starts */
};

/* Where a register's value of the caller is; `how` of a rule, low three bits. */
enum tt_how {
    TT_HOW_SAVED,    /* in memory at CFA + n, n being the other bits */
    TT_HOW_OFFSET,   /* is CFA + n */
    TT_HOW_REGISTER, /* in register n */
    TT_HOW_AT,       /* in memory at what expression n gives */
    TT_HOW_IS,       /* is what expression n gives */
    TT_HOW_LOST,     /* not known */
    TT_HOW_BITS = 3,
};

enum {
    TT_RULE_PLAIN = 1,      /* CFA is register + offset, every `how` SAVED */
    TT_RULE_SIGNAL = 2,     /* frame of a signal trampoline */
    TT_RULE_ROOT = 4,       /* has no caller */
    TT_RULE_EXPRESSION = 8, /* CFA is what expression `offset` gives */
};

struct tt_rule {
    uint8_t flags;
    uint8_t base;   /* CFA is this register ... */
    uint8_t ra;     /* the column of the return address */
    uint8_t spare;  /* 0 */
    int32_t offset; /* ... + offset */
    uint32_t set;   /* a bit for each register that has a `how`, in order */
    uint32_t how[];
};

struct tt_rules {
    uint64_t base; /* link-time address that the table counts from */
    uint32_t functions, rows, words, bytes;
    const struct tt_function *function; /* one more, for the end of rows */
    const struct tt_unwind_row *row;
    const uint32_t *word;
    const uint8_t *expression;
    size_t size; /* of the mapping that this is in */
};

/* Where .eh_frame was found, in memory that is readable during the call. */
struct tt_frame_info {
    const uint8_t *bytes; /* borrowed */
    size_t size;
    uint64_t address; /* the link-time address of the first byte */
    uint64_t header;  /* that of .eh_frame_hdr, to which some encodings count; or 0 */
    uint64_t low;     /* code of the module: [low, high); the rest is not believed */
    uint64_t high;
    const uint8_t *debug; /* .debug_frame, readable and borrowed too; NULL: none */
    size_t debug_size;
};

/* Compiles.  A damaged entry is skipped, and what follows a damaged length is not read, so
 * that any bytes give a table, if an empty one.  *rules is owned by the caller.  Not in a
 * handler.  -TT_ERR_MEMORY, and then *rules is NULL. */
int tt_rules_new(struct tt_rules **rules, const struct tt_frame_info *);
void tt_rules_free(struct tt_rules *);

/* The rule of a place, counted from `base`, and its function; NULL when there is none, and
 * then *function is NULL.  Async-signal-safe; two binary searches. */
const struct tt_rule *tt_rules_find(const struct tt_rules *, uint64_t at,
                                    const struct tt_function **function);

#endif
