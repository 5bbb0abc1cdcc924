/* SPDX-License-Identifier: MIT */
/* command.h - declarations for all subcommands. */
#ifndef TT_COMMAND_H
#define TT_COMMAND_H

#include <sys/types.h>

#include "flags.h"
#include "picture.h"

enum { TT_EXIT_DONE = 0, TT_EXIT_NO = 1, TT_EXIT_FAILED = 2 };

/* A subcommand, its help page, and its completions.  Each is at the end of its file;
 * command.c has the list. */
struct tt_command {
    const char *name;
    const char *synopsis; /* the text after its name; '\n' begins another form */
    const char *about;    /* one line, for `tallytree help`; without a full stop */
    const char *details;  /* lines of the page between synopsis and flags; or NULL */
    void (*show)(void);   /* prints more of them, or NULL */
    const struct tt_flag *flags;
    int shows_tables;     /* takes the flags of show.h too */
    int takes_filters;    /* and those of filters.h */
    const char *operands; /* for completion, as tt_flag.words; NULL: none */
    int runs_program; /* the first operand is one, and what follows is the program's */
    int (*run)(int argc, char **argv); /* argv[0] is its name; returns an exit status */
    /* Flags that the first argument adds, as `report ocr` does; or NULL. */
    const struct tt_flag *(*more_flags)(const char *first);
    /* Does a flag act with this first argument?  Those that do not are left out of its page
     * and its completions; run() refuses them.  NULL: all do. */
    int (*takes_flag)(const char *first, const struct tt_flag *);
};

extern const struct tt_command tt_command_check, tt_command_diff, tt_command_doctor,
    tt_command_dump, tt_command_export, tt_command_lua, tt_command_merge, tt_command_off,
    tt_command_on, tt_command_push, tt_command_record, tt_command_replay,
    tt_command_report, tt_command_serve, tt_command_symbolize, tt_command_tcl,
    tt_command_top, tt_command_view;

/* All of them, up to a NULL; and one by its name, or NULL. */
extern const struct tt_command *const tt_commands[];
const struct tt_command *tt_command_find(const char *name);

/* tt_flags_init and tt_flags_next for a command.  The latter shows its page for --help
 * and -h, and complains of errors; in both cases it returns less than 0, and sets
 * *status. */
void tt_command_flags(const struct tt_command *, struct tt_flags *, int argc,
                      char **argv);
int tt_command_next(const struct tt_command *, struct tt_flags *, int *status);
/* Is the flag of this table one to offer?  Not if it does not act, or an earlier table has its
 * name. */
int tt_command_offers(const struct tt_command *, const struct tt_flags *, int table,
                      const struct tt_flag *);
/* "COMMAND wants WHAT; see 'tallytree COMMAND --help'"; returns TT_EXIT_FAILED. */
int tt_command_wants(const struct tt_command *, const char *what);
/* Reads the whole number that is a flag's value; or complains that it "wants WHAT", sets
 * *out to 0 and returns -TT_ERR_OPTION. */
int tt_command_number(const struct tt_command *, const struct tt_flags *,
                      const char *what, uint64_t least, uint64_t most, uint64_t *out);
/* The same for bytes, as "512K". */
int tt_command_bytes(const struct tt_command *, const struct tt_flags *, uint64_t least,
                     uint64_t most, uint64_t *out);
/* The same for a time as "90s", "1m", "24h", "7d", at least a second: in ms. */
int tt_command_time(const struct tt_command *, const struct tt_flags *, uint64_t *out);
/* The same for the number of a process. */
int tt_command_process(const struct tt_command *, const struct tt_flags *, pid_t *out);
/* Complains of a value, and lists the valid ones: -TT_ERR_OPTION. */
int tt_command_cannot(const struct tt_command *, const char *flag, const char *value);
int tt_command_refuse(const char *command, const struct tt_flag *, const char *value);
/* Is the value a word of the flag's table; or does the runtime accept it for its option
 * of this name?  0, or complains and returns -TT_ERR_OPTION. */
int tt_command_word(const struct tt_command *, const struct tt_flags *);
int tt_command_option(const struct tt_command *, const struct tt_flags *);
void tt_command_help(const struct tt_command *); /* shows its page */

#endif
