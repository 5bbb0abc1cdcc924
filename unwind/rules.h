/* SPDX-License-Identifier: MIT */
/* rules.h - how to unwind each function of a module, from its .eh_frame or .debug_frame.
 *
 *      entry      [start at] [start at] ...         sorted; `at`: of its bytes in the sections
 *                        │ read when its function is looked up first
 *      function   [start end  row row ...  rule rule ...]    in the bucket of its entry
 *                             │            │
 *      row        [at rule]   at: from the function's start
 *      rule       [cfa set how how]        equal ones of one function are stored once
 *
 * A table is in one mapping, with a copy of the bytes that it is read from: the module may
 * be unloaded while its table is in use.  Tables of mapped files have no copy, nor have those
 * of modules that stay, which share mappings and are never freed.  Functions are added without
 * a lock, also in signal handlers, and never change. */
#ifndef TT_RULES_H
#define TT_RULES_H

#include <stddef.h>
#include <stdint.h>

struct tt_unwind_row {
    uint32_t at;
    uint32_t rule; /* word after the rows where it starts */
};

struct tt_function {
    const struct tt_function *next; /* in its bucket */
    uint32_t entry;
    uint32_t start, end; /* [start, end), addresses from `base` */
    uint32_t rows;       /* 0: its entry is damaged, or rules cannot express it */
    struct tt_unwind_row row[];
};

/* Where the caller's value of a register is; `how` of a rule, low three bits. */
enum tt_how {
    TT_HOW_SAVED,    /* in memory at CFA + n, n being the other bits */
    TT_HOW_OFFSET,   /* is CFA + n */
    TT_HOW_REGISTER, /* in register n */
    TT_HOW_AT,       /* in memory at the result of expression n */
    TT_HOW_IS,       /* is the result of expression n; n: its place in the sections */
    TT_HOW_LOST,     /* not known */
    TT_HOW_BITS = 3,
};

enum {
    TT_RULE_PLAIN = 1,      /* CFA is register + offset, every `how` SAVED */
    TT_RULE_SIGNAL = 2,     /* frame of a signal trampoline */
    TT_RULE_ROOT = 4,       /* has no caller */
    TT_RULE_EXPRESSION = 8, /* CFA is the result of expression `offset` */
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

/* As .eh_frame_hdr has them: both numbers count from something. */
struct tt_frame_entry {
    int32_t start, at;
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
    const void *table; /* of .eh_frame_hdr, counting from `header`, sorted; NULL: none */
    uint32_t entries;  /* in the table */
    int stays;         /* all of this is readable for as long as the process lives */
    int is_lent;       /* or for as long as its table is used */
};

struct tt_rule_store;

struct tt_rules {
    uint64_t base;             /* link-time address that the table counts from */
    uint32_t functions;        /* entries */
    const void *entry;         /* struct tt_frame_entry, not aligned */
    int64_t start_shift;       /* entry's start + this: from `base` */
    uint32_t at_shift;         /* its at + this: offset in the sections, modulo 2^32 */
    struct tt_frame_info info; /* the bytes that functions are read from */
    struct tt_rule_store *store;
    size_t size; /* of this, in a separate mapping unless the module stays */
};

/* Any bytes give a table, maybe an empty one: a damaged entry is skipped, and bytes after
 * a damaged length are not read.  The caller owns *rules.  Not in a handler.  Returns 0,
 * or -TT_ERR_MEMORY and *rules is NULL. */
int tt_rules_new(struct tt_rules **rules, const struct tt_frame_info *);
void tt_rules_free(struct tt_rules *);

/* The bytes of code that have rules: roughly, if they are most of the code or few. */
uint64_t tt_rules_covered(const struct tt_rules *);

/* The function of an entry; NULL: it cannot be read, or there is no memory.
 * Async-signal-safe. */
const struct tt_function *tt_rules_function(const struct tt_rules *, uint32_t entry);

/* The rule of a row.  Async-signal-safe. */
static inline const struct tt_rule *tt_function_rule(const struct tt_function *f,
                                                     const struct tt_unwind_row *row)
{
    return (const struct tt_rule *)(const void *)((const uint32_t *)&f->row[f->rows] +
                                                  row->rule);
}

/* The rule of a place, counted from `base`, and its function; NULL if there is none, and
 * *function is NULL.  Async-signal-safe; three binary searches. */
const struct tt_rule *tt_rules_find(const struct tt_rules *, uint64_t at,
                                    const struct tt_function **function);

/* The bytes of an expression, and in *size the most that follow; NULL: none. */
const uint8_t *tt_frame_bytes(const struct tt_frame_info *, uint32_t at, size_t *size);

#endif
