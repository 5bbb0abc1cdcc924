/* SPDX-License-Identifier: MIT */
/* table.h - the answer of a view: columns, rows, and notes on what it could not show.
 *
 * Every view returns one; report/ makes text, CSV and JSON of it.  A value is always the
 * exact figure in the column's unit; the code that prints it does the rounding. */
#ifndef TT_TABLE_H
#define TT_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "memory.h"

enum tt_column_type {
    TT_COLUMN_TEXT,   /* text */
    TT_COLUMN_AMOUNT, /* n, in `unit` ("ns", "bytes", "" for plain numbers) */
    TT_COLUMN_CHANGE, /* change, in `unit`: a difference, with its sign */
    TT_COLUMN_REAL,   /* real, in `unit` */
    TT_COLUMN_SHARE   /* real: 0.25 is 25 % */
};

enum tt_column_flags {
    TT_COLUMN_LOW = 1,    /* the least that the column before may truly be: a bracket */
    TT_COLUMN_ERROR = 2,  /* the column before is give or take this: a 95 % interval */
    TT_COLUMN_NAME = 4,   /* what the row is about; text indents it by the row's depth */
    TT_COLUMN_DETAIL = 8, /* for machines; text leaves it out unless asked */
    TT_COLUMN_SPARE = 16, /* text leaves it out where names would have no room, the last
                             such column first */
    TT_COLUMN_JSON = 32   /* CSV leaves it out, where scripts go by a column's place */
};

struct tt_column {
    const char *key, *title, *unit; /* key: of JSON, CSV and --sort; never translated */
    enum tt_column_type type;
    uint32_t flags;
};

enum tt_row_role {
    TT_ROW_ENTRY,     /* an ordinary one; in a group: what the group is about */
    TT_ROW_CALLER,    /* in a group: what led to its entry */
    TT_ROW_CALLEE,    /* in a group: where its entry led to */
    TT_ROW_HEADING,   /* begins a section; its name column says which */
    TT_ROW_REMAINDER, /* what the rows above do not show: columns still add up */
    TT_ROW_TOTAL
};
const char *tt_row_role_word(enum tt_row_role); /* "entry", … */

union tt_value {
    uint64_t n;
    int64_t change;
    double real;
    const char *text;
};

struct tt_row {
    enum tt_row_role role;
    uint32_t depth, group; /* group: rows of one number belong together */
    uint64_t left;         /* of a remainder: how many rows a limit left out; or 0 */
    uint64_t missing;      /* bit i: column i has no value */
    size_t first;          /* its values in `value` */
};

struct tt_argument { /* of a note: any type but a share */
    enum tt_column_type type;
    union tt_value value;
};

struct tt_note {
    const char *kind, *text; /* a word for programs, a sentence for people */
    size_t first, arguments; /* in `argument` */
};

struct tt_table {
    const char *view;
    struct tt_vector column, row, value, note, argument;
    struct tt_vector piece; /* of memory for texts */
    int failed;             /* no memory: the table is not whole */
};

void tt_table_init(struct tt_table *, const char *view, const struct tt_memory *);
void tt_table_fini(struct tt_table *);

enum { TT_TABLE_COLUMNS = 64 }; /* at most: the bits of `missing` */

/* Columns first, then rows; texts are borrowed, unless tt_table_text copies them. */
void tt_table_column(struct tt_table *, const char *key, const char *title,
                     const char *unit, enum tt_column_type, uint32_t flags);
/* A row whose values are all missing until they are set. */
void tt_table_row(struct tt_table *, enum tt_row_role, uint32_t depth, uint32_t group);
/* The last row is the sum of that many rows that a limit or a threshold left out. */
void tt_table_left(struct tt_table *, uint64_t rows);
void tt_table_amount(struct tt_table *, uint32_t column, uint64_t);
void tt_table_change(struct tt_table *, uint32_t column, int64_t);
void tt_table_real(struct tt_table *, uint32_t column, double); /* infinite: missing */
void tt_table_string(struct tt_table *, uint32_t column, const char *); /* NULL too */
/* Returns a copy that the table owns; never NULL ("" if there is no memory). */
const char *tt_table_text(struct tt_table *, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The kind is borrowed; doc/json.md has the kinds.  The values that the format prints become
 * the note's arguments.  `%-s` prints a part of the sentence, such as a plural's "s": it is
 * no argument. */
void tt_table_note(struct tt_table *, const char *kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static inline size_t tt_table_columns(const struct tt_table *t)
{
    return t->column.count;
}
static inline size_t tt_table_rows(const struct tt_table *t) { return t->row.count; }
const struct tt_column *tt_table_column_at(const struct tt_table *, size_t);
const struct tt_row *tt_table_row_at(const struct tt_table *, size_t);
const struct tt_note *tt_table_note_at(const struct tt_table *, size_t);
/* NULL when it is missing. */
const union tt_value *tt_table_value(const struct tt_table *, size_t row, size_t column);
/* By key; TT_NONE (UINT32_MAX) when there is none. */
uint32_t tt_table_find(const struct tt_table *, const char *key);

/* Stable; rows of other roles than TT_ROW_ENTRY, and groups, keep their position relative
 * to their entry.  Missing values come last. */
void tt_table_sort(struct tt_table *, uint32_t column, int descending);

#endif
