/* SPDX-License-Identifier: MIT */
/* command.c - finds commands, reads their flags, and prints their help pages, from the same tables that the flags are read by.
 *
 *      usage: tallytree dump RECORDING
 *
 *      What it does.
 *
 *        -o, --output FILE    write it there
 *
 * A page has to fit a screen: 40 lines of 80 columns; a test looks at all of them. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "complain.h"
#include "filters.h"
#include "hints.h"
#include "options.h"
#include "replacing.h"
#include "show.h"

const struct tt_command *const tt_commands[] = {
    &tt_command_check,
    &tt_command_diff,
    &tt_command_doctor,
    &tt_command_dump,
    &tt_command_export,
    &tt_command_lua,
    &tt_command_merge,
    &tt_command_off,
    &tt_command_on,
    &tt_command_push,
    &tt_command_record,
    &tt_command_replay,
    &tt_command_report,
    &tt_command_serve,
    &tt_command_symbolize,
    &tt_command_tcl,
    &tt_command_top,
    &tt_command_view,
    NULL,
};

const struct tt_command *tt_command_find(const char *name)
{
    for (size_t i = 0; tt_commands[i]; i++)
        if (strcmp(tt_commands[i]->name, name) == 0)
            return tt_commands[i];
    return NULL;
}

enum { ABOUT_COLUMN = 25 };

enum { MORE, OWN, HELP, SHOW, FILTERS }; /* tables of a command's flags */

static const struct tt_flag help_flag[] = {
    {"help", 'h', 1, NULL, NULL, NULL},
    {NULL, 0, 0, NULL, NULL, NULL},
};

static void show_flag(const struct tt_flag *flag)
{
    char left[80], value[40] = "";

    if (!flag->about)
        return;
    if (flag->value && flag->value[0] == '[')
        (void)snprintf(value, sizeof value, "[=%s", flag->value + 1);
    else if (flag->value)
        (void)snprintf(value, sizeof value, " %s", flag->value);
    if (flag->letter && flag->name)
        (void)snprintf(left, sizeof left, "-%c, --%s%s", flag->letter, flag->name, value);
    else if (flag->letter)
        (void)snprintf(left, sizeof left, "-%c%s", flag->letter, value);
    else
        (void)snprintf(left, sizeof left, "--%s%s", flag->name, value);
    if (strlen(left) > ABOUT_COLUMN - 4)
        printf("  %s\n%*s%s\n", left, ABOUT_COLUMN, "", flag->about);
    else
        printf("  %-*s%s\n", ABOUT_COLUMN - 2, left, flag->about);
}

static void show_usage(const struct tt_command *c)
{
    const char *form = c->synopsis, *before = "usage:";

    for (size_t length; (length = strcspn(form, "\n")); before = "      ") {
        printf("%s tallytree %s %.*s\n", before, c->name, (int)length, form);
        form += length + (form[length] == '\n');
    }
}

static void show_flags(const struct tt_flag *flag)
{
    if (flag && flag->id)
        putchar('\n');
    for (; flag && flag->id; flag++)
        show_flag(flag);
}

static void show_own_flags(const struct tt_command *c)
{
    show_flags(c->flags);
    for (const struct tt_flag *f = tt_filter_flags; c->takes_filters && f->id; f++)
        show_flag(f);
    for (const struct tt_flag *f = tt_show_flags; c->shows_tables && f->id; f++)
        show_flag(f);
}

void tt_command_help(const struct tt_command *c)
{
    show_usage(c);
    if (c->details)
        printf("\n%s", c->details);
    if (c->show) {
        putchar('\n');
        c->show();
    }
    show_own_flags(c);
}

int tt_command_offers(const struct tt_command *c, const struct tt_flags *f, int table,
                      const struct tt_flag *flag)
{
    for (int i = 0; i < table && flag->name; i++)
        if (tt_flag_named(f->table[i], flag->name))
            return 0;
    return !c->takes_flag || f->argc < 2 || c->takes_flag(f->argv[1], flag);
}

static void show_table(const struct tt_command *c, const struct tt_flags *f, int table)
{
    for (const struct tt_flag *flag = f->table[table]; flag && flag->id; flag++)
        if (tt_command_offers(c, f, table, flag))
            show_flag(flag);
}

/* Prints the page of a command with flags that its first argument has added. */
static void show_more(const struct tt_command *c, const struct tt_flags *f)
{
    const struct tt_flag *more = f->table[MORE];

    while (more && more->id && !more->about)
        more++;
    if (!more || !more->id) {
        tt_command_help(c);
        return;
    }
    printf("usage: tallytree %s %s [FLAGS] FILE...\n\n", c->name, f->argv[1]);
    show_table(c, f, MORE);
    putchar('\n');
    show_table(c, f, OWN);
    show_table(c, f, FILTERS);
    show_table(c, f, SHOW);
}

void tt_command_flags(const struct tt_command *c, struct tt_flags *f, int argc,
                      char **argv)
{
    tt_flags_init(f, argc, argv, NULL);
    f->table[MORE] = c->more_flags && argc > 1 ? c->more_flags(argv[1]) : NULL;
    f->table[OWN] = c->flags;
    f->table[HELP] = help_flag;
    f->table[SHOW] = c->shows_tables ? tt_show_flags : NULL;
    f->program = c->runs_program;
    f->table[FILTERS] = c->takes_filters ? tt_filter_flags : NULL;
}

/* Explains another tool's word for it, or else suggests the nearest flag. */
static void complain_of_flag(const struct tt_command *c, const struct tt_flags *f)
{
    const char *word = f->argv[f->next - 1], *hint = tt_hint_find(c->name, word);

    if (hint && !f->flag)
        tt_complain("%s: there is no option '%.*s': %s", c->name, (int)strcspn(word, "="),
                    word, hint);
    else
        tt_complain("%s: %s", c->name, f->error);
}

int tt_command_next(const struct tt_command *c, struct tt_flags *f, int *status)
{
    int id = tt_flags_next(f);

    while (id == TT_REPLACING_FORCE) {
        tt_replacing_force();
        id = tt_flags_next(f);
    }
    *status = id < 0 ? TT_EXIT_FAILED : TT_EXIT_DONE;
    if (id > 0 && f->flag == help_flag) {
        show_more(c, f);
        return -1;
    }
    if (id < 0)
        complain_of_flag(c, f);
    return id;
}

int tt_command_wants(const struct tt_command *c, const char *what)
{
    tt_complain("%s wants %s; see 'tallytree %s --help'", c->name, what, c->name);
    return TT_EXIT_FAILED;
}

int tt_command_number(const struct tt_command *c, const struct tt_flags *f,
                      const char *what, uint64_t least, uint64_t most, uint64_t *out)
{
    int error = tt_flag_number(f->value, least, most, out);

    if (error)
        tt_complain("%s: '--%s' wants %s, not '%s'", c->name, f->flag->name, what,
                    f->value);
    return error;
}

int tt_command_bytes(const struct tt_command *c, const struct tt_flags *f, uint64_t least,
                     uint64_t most, uint64_t *out)
{
    int error = tt_flag_bytes(f->value, least, most, out);

    if (error)
        tt_complain("%s: '--%s' wants bytes, as 512K, not '%s'", c->name, f->flag->name,
                    f->value);
    return error;
}

int tt_command_time(const struct tt_command *c, const struct tt_flags *f, uint64_t *out)
{
    static const struct {
        char unit;
        uint64_t seconds;
    } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
    char *end;
    const double number = strtod(f->value, &end);

    for (size_t i = 0; end != f->value && i < sizeof units / sizeof *units; i++)
        if (end[0] == units[i].unit && !end[1] &&
            number * (double)units[i].seconds >= 1 &&
            number * (double)units[i].seconds < 1e9) {
            *out = (uint64_t)(number * (double)units[i].seconds * 1000);
            return 0;
        }
    *out = 0;
    tt_complain("%s: '--%s' wants a time of at least a second, as 30s, 1m, 24h or 7d, "
                "not '%s'",
                c->name, f->flag->name, f->value);
    return -TT_ERR_OPTION;
}

int tt_command_process(const struct tt_command *c, const struct tt_flags *f, pid_t *out)
{
    uint64_t n;
    int error = tt_command_number(c, f, "the number of a process", 1, INT_MAX, &n);

    *out = (pid_t)n;
    return error;
}

/* What a flag's value may be, if it is none of some words. */
static const char *range_of(const char *name)
{
    static const char *const ranges[][2] = {
        {"budget", "128K to 16G, or 64nodes to 268435456nodes"},
        {"log", "none, or 16K to 16G"},
    };

    for (size_t i = 0; name && i < sizeof ranges / sizeof *ranges; i++)
        if (strcmp(ranges[i][0], name) == 0)
            return ranges[i][1];
    return NULL;
}

int tt_command_refuse(const char *command, const struct tt_flag *flag, const char *value)
{
    const char *range = range_of(flag->name);

    if (range)
        tt_complain("%s: '--%s' cannot be '%s'; it may be %s", command, flag->name, value,
                    range);
    else if (flag->words && flag->words[0] != '@')
        tt_complain("%s: '--%s' cannot be '%s'; there are: %s", command, flag->name,
                    value, flag->words);
    else
        tt_complain("%s: '--%s' cannot be '%s'; see 'tallytree %s --help'", command,
                    flag->name, value, command);
    return -TT_ERR_OPTION;
}

int tt_command_cannot(const struct tt_command *c, const char *name, const char *value)
{
    const struct tt_flag *flag = tt_flag_named(c->flags, name), other = {.name = name};

    return tt_command_refuse(c->name, flag ? flag : &other, value);
}

int tt_command_word(const struct tt_command *c, const struct tt_flags *f)
{
    size_t length = strlen(f->value);

    for (const char *word = f->flag->words; *word; word += *word == ' ') {
        size_t its = strcspn(word, " ");
        if (its == length && memcmp(word, f->value, length) == 0)
            return 0;
        word += its;
    }
    return tt_command_cannot(c, f->flag->name, f->value);
}

int tt_command_option(const struct tt_command *c, const struct tt_flags *f)
{
    struct tt_options o;
    char words[256];
    int n = snprintf(words, sizeof words, "%s=%s", f->flag->name, f->value);

    if (n < (int)sizeof words && !strpbrk(f->value, ", \t\n") &&
        tt_options_read(&o, words, NULL) == 0)
        return 0;
    return tt_command_cannot(c, f->flag->name, f->value);
}
