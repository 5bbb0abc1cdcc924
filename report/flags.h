/* SPDX-License-Identifier: MIT */
/* flags.h - command lines by tables of flags and their values.
 *
 *      static const struct tt_flag flags[] = {
 *          {"output", 'o', OUTPUT, "FILE", "@files", "write it there"},
 *          {"json", 0, JSON, NULL, NULL, "as JSON"},
 *          {NULL, 0, 0, NULL, NULL, NULL},
 *      };
 *
 * Long flags are written --name VALUE, --name=VALUE, or with one dash as pprof's are;
 * letters -o VALUE, -oVALUE, and, if they take none, several in one word.  "--" ends
 * them; a word without a dash, and "-" alone, is an operand, at any position.  The same
 * tables make help pages and completions. */
#ifndef TT_FLAGS_H
#define TT_FLAGS_H

#include <stddef.h>
#include <stdint.h>

struct tt_flag {
    const char *name;  /* without dashes; NULL: there is only the letter */
    char letter;       /* 0: there is only the name */
    int id;            /* above 0; 0 ends a table */
    const char *value; /* what its value is called: "FILE"; "[WHEN]" may be left out:
                          then = brings one, or the next word does when it is a number, or
                          one of `words`; NULL: it takes none */
    const char *words; /* values to choose from, between blanks, for completion: "auto
                          always", "@files", "@views", "@formats"; NULL: anything */
    const char *about; /* NULL: not in the help page, as it is an alias */
};

enum { TT_FLAG_TABLES = 5 };

struct tt_flags {
    const struct tt_flag *table[TT_FLAG_TABLES]; /* the first goes before; NULL: none */
    int count;   /* of operands: argv[1] to argv[count] when all has been read */
    char **argv; /* borrowed; operands are moved to its front */
    const struct tt_flag *flag; /* what was read last, */
    const char *value;          /* and its value, NULL: none */
    int argc, next, ended;
    int program;         /* the first operand ends the flags: what follows is its own */
    const char *letters; /* that are left of the word */
    char error[160];
};

void tt_flags_init(struct tt_flags *, int argc, char **argv, const struct tt_flag *);
/* Returns the id of the next flag; 0: there are no more, only operands.  -TT_ERR_OPTION
 * with `error`, which suggests the nearest flag. */
int tt_flags_next(struct tt_flags *);
/* Finds a flag by its name (up to a '=' in `text`) or its letter; NULL: there is none. */
const struct tt_flag *tt_flag_named(const struct tt_flag *table, const char *text);
const struct tt_flag *tt_flag_lettered(const struct tt_flag *table, char letter);
/* Is its value optional? */
int tt_flag_may_lack_value(const struct tt_flag *);

/* Reads a value that is a whole number, in digits alone; -TT_ERR_OPTION if it is none, or
 * out of these bounds, and then *out is 0. */
int tt_flag_number(const char *text, uint64_t least, uint64_t most, uint64_t *out);
/* The same for bytes, with an optional K, M or G: "512K". */
int tt_flag_bytes(const char *text, uint64_t least, uint64_t most, uint64_t *out);

#endif
